"""Tables of a report: said once, shown on the terminal, in a page, and copied as tab-separated values.

A cell has the text that is shown and the value that is copied; a column's unit is part of its copied heading.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import rich.table
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from slicewise.text import safe_text

if TYPE_CHECKING:  # it brings numpy along
    from slicewise.report.over_time import OverTime

GAP = 2
# A column of text may be as narrow as this, if its words are; its cells then go on in further lines.
NARROW_TEXT = 24


@dataclass(frozen=True)
class Column:
    """A column: its heading, the unit that its copied values are in, and whether it holds figures (set flush right).

    spare: how soon it is left out where a terminal has no room for all; the highest first, of equal ones the rightmost.
    """

    heading: str
    unit: str = ""
    is_figure: bool = True
    spare: int = 0

    @property
    def copied_heading(self) -> str:
        return f"{self.heading} ({self.unit})" if self.unit else self.heading


@dataclass(frozen=True)
class Cell:
    """A cell: `text` as shown, `value` as copied (the text where it is None). `colour` marks a job by its colour.
    `over_time`: what it is of a chosen time, on the page's axis."""

    text: str
    value: float | int | str | None = None
    colour: str = ""
    over_time: OverTime | None = None

    @property
    def copied(self) -> str:
        text = (
            self.text
            if self.value is None
            else f"{self.value:.10g}"
            if isinstance(self.value, float)
            else str(self.value)
        )
        text = safe_text.visible(" ".join(text.split()))
        return f"'{text}" if text.startswith(("=", "@")) else text

    @property
    def in_csv(self) -> str:
        """As copied; but no text is a formula to a spreadsheet, whatever it begins with."""
        return self.copied if isinstance(self.value, int | float) else safe_text.csv_cell(self.value or self.text)


NOTHING = Cell("-", "")


@dataclass(frozen=True)
class Table:
    """Columns and rows of cells; `title` names it on the page and may be empty. greyed: numbers of rows. times: of rows
    by their numbers, from when to when they are about (ns); a page shows those that reach into the chosen time."""

    columns: Sequence[Column]
    rows: list[Sequence[Cell]] = field(default_factory=list)
    title: str = ""
    greyed: set[int] = field(default_factory=set)
    times: dict[int, tuple[int, int]] = field(default_factory=dict)

    def add(self, *cells: Cell | str, is_greyed: bool = False, time: tuple[int, int] | None = None) -> None:
        """Add a row; a bare string is a cell that is copied as it is shown. is_greyed: it is not one to go by. time: as
        of `times`."""
        if len(cells) != len(self.columns):
            raise ValueError(f"a row of {len(cells)} cells in a table of {len(self.columns)} columns")
        if is_greyed:
            self.greyed.add(len(self.rows))
        if time is not None:
            self.times[len(self.rows)] = time
        self.rows.append([cell if isinstance(cell, Cell) else Cell(cell) for cell in cells])

    def without_empty_columns(self) -> Table:
        """The table without the columns in which no row says anything."""
        kept = [place for place in range(len(self.columns)) if any(row[place].text for row in self.rows)]
        rows: list[Sequence[Cell]] = [[row[place] for place in kept] for row in self.rows]
        return Table([self.columns[place] for place in kept], rows, self.title, self.greyed, self.times)

    def csv_rows(self) -> list[list[str]]:
        return [
            [column.copied_heading for column in self.columns],
            *([cell.in_csv for cell in row] for row in self.rows),
        ]


class FittingTable(rich.table.Table):
    """A table of rich's whose columns may be left out. spare: of each column, how soon; the highest goes first, and of
    equal ones the rightmost. The first column always stays."""

    def __init__(self, spare: Sequence[int], says_what_is_left_out: bool) -> None:
        super().__init__(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="dim")
        self.spare = spare
        self.says_what_is_left_out = says_what_is_left_out

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        places = fitting([_least(column) for column in self.columns], self.spare, options.max_width)
        shown = copy.copy(self)
        shown.columns = [replace(self.columns[place], _index=at) for at, place in enumerate(places)]
        room = options.max_width - sum(_least(column) + GAP for column in shown.columns) + GAP
        for column in shown.columns:
            least, natural = _least(column), max(map(cell_len, [str(column.header), *_texts(column)]))
            column.width = least + max(0, min(natural - least, room))
            room -= column.width - least
        yield from rich.table.Table.__rich_console__(shown, console, options)
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


def _texts(column: rich.table.Column) -> list[str]:
    return [str(cell) for cell in column._cells]


def _least(column: rich.table.Column) -> int:
    """The narrowest that breaks neither a word nor a figure and its unit."""
    heading = max(map(cell_len, str(column.header).split()), default=0)
    texts = _texts(column)
    widest = max(map(cell_len, texts), default=0)
    if column.justify == "right":
        return max(heading, widest)
    words = max((cell_len(word) for text in texts for word in text.split()), default=0)
    return max(heading, words, min(widest, NARROW_TEXT))


def line_for_terminal(*parts: str | tuple[str, str], is_folded: bool = True) -> Text:
    """One line as a terminal may have it: without markup, and with what is not plainly seen spelled out.

    parts: texts, or texts with their styles. is_folded: whether a line that is too long goes on in the next one. The
    one place where a Text is made of a text that others wrote: Text drops some controls in silence.
    """
    pairs = [(part, "") if isinstance(part, str) else part for part in parts]
    line = Text(overflow=None if is_folded else "ignore", no_wrap=None if is_folded else True)
    for text, style in pairs:
        line.append(safe_text.visible(text), style)
    return line


def for_terminal(table: Table, says_what_is_left_out: bool = True) -> FittingTable:
    """The table for a rich console: no lines, narrow gaps, no markup in what the cells say, and no more columns than
    there is room for. says_what_is_left_out: in a line below the table."""
    shown = FittingTable([column.spare for column in table.columns], says_what_is_left_out)
    for column in table.columns:
        justify: Literal["right", "left"] = "right" if column.is_figure else "left"
        shown.add_column(line_for_terminal(column.heading), justify=justify, overflow="fold")
    for number, row in enumerate(table.rows):
        style = "dim" if number in table.greyed else ""
        shown.add_row(*(Text(safe_text.visible(cell.text), style=cell.colour) for cell in row), style=style)
    return shown
