"""A table that fits the terminal: where there is no room for all, the least important columns go; words stay whole."""

import copy
import dataclasses
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Column
from rich.table import Table as RichTable
from rich.text import Text

GAP = 2
# A column of text may be as narrow as this, if its words are; its cells then go on in further lines.
NARROW_TEXT = 24


class FittingTable(RichTable):
    """A table of rich's whose columns may be left out. spare: of each column, how soon; the highest goes first, and of
    equal ones the rightmost. The first column always stays."""

    def __init__(self, spare: Sequence[int], says_what_is_left_out: bool) -> None:
        super().__init__(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="dim")
        self.spare = spare
        self.says_what_is_left_out = says_what_is_left_out

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        places = fitting([_least(column) for column in self.columns], self.spare, options.max_width)
        shown = copy.copy(self)
        shown.columns = [dataclasses.replace(self.columns[place], _index=at) for at, place in enumerate(places)]
        room = options.max_width - sum(_least(column) + GAP for column in shown.columns) + GAP
        for column in shown.columns:
            least, natural = _least(column), max(map(cell_len, [str(column.header), *_texts(column)]))
            column.width = least + max(0, min(natural - least, room))
            room -= column.width - least
        yield from RichTable.__rich_console__(shown, console, options)
        left_out = [str(column.header) for place, column in enumerate(self.columns) if place not in places]
        if self.says_what_is_left_out and any(left_out):
            named = ", ".join(heading for heading in left_out if heading)
            yield Text(f"(no room for: {named}; a wider terminal has them)", style="dim")


def fitting(least: Sequence[int], spare: Sequence[int], room: int) -> list[int]:
    """The places of the columns that stay, where columns need at least so much of `room`."""
    places = list(range(len(least)))
    while len(places) > 1 and sum(least[place] + GAP for place in places) - GAP > room:
        places.remove(max(places[1:], key=lambda place: (spare[place], place)))
    return places


def _texts(column: Column) -> list[str]:
    return [str(cell) for cell in column._cells]


def _least(column: Column) -> int:
    """The narrowest that breaks neither a word nor a figure and its unit."""
    heading = max(map(cell_len, str(column.header).split()), default=0)
    texts = _texts(column)
    widest = max(map(cell_len, texts), default=0)
    if column.justify == "right":
        return max(heading, widest)
    words = max((cell_len(word) for text in texts for word in text.split()), default=0)
    return max(heading, words, min(widest, NARROW_TEXT))
