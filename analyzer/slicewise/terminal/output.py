"""Where a command's result goes: the one home of `--json` and `-o FILE`.

No command takes the two options: it ends with `write_answer(record, renderables)`.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slicewise.errors import mended_by
from slicewise.text import safe_text

if TYPE_CHECKING:
    from rich.console import RenderableType

# Where there is no terminal, nothing wraps: a line of text stays one line for grep.
UNWRAPPED_WIDTH = 10_000


def wants_json() -> bool:
    return bool(click.get_current_context().meta.get("json"))


def output_file() -> Path | None:
    """The file of -o; None: the terminal."""
    file: Path | None = click.get_current_context().meta.get("output")
    return file


def page_file(html: Path | None) -> Path | None:
    """Where a page goes. A page's name after -o is the page's, unless --html names another: text is shown then."""
    output = output_file()
    if output is None or html is not None or output.suffix.lower() not in (".html", ".htm"):
        return html
    click.get_current_context().meta["output"] = None
    return output


def write_answer(record: Callable[[], Any], text: Sequence[RenderableType]) -> None:
    """Write the record as JSON where --json was given, else the text."""
    if wants_json():
        write_json(record())
    else:
        write_text(text)


def page_line(page: Path, more: str = "") -> RenderableType:
    """Where the page is: in one line, however long."""
    from slicewise.report.tables import line_for_terminal

    return line_for_terminal(f"Page: {page}{more}", is_folded=False)


def write_json(result: Any) -> None:
    """Write a result of dicts, lists, dataclasses, numbers and text as JSON, to the file of -o or to stdout. A number
    that JSON has no word for (nan, infinity) becomes null. Raises UserError if the file cannot be written."""
    _write(safe_text.json_text(_plain(result), indent=2, allow_nan=False) + "\n")


def write_text(renderables: Sequence[RenderableType]) -> None:
    """Print rich renderables to the terminal, or as plain text to the file of -o. Raises UserError if that cannot be. A
    string is one line, without markup; lines with styles and tables are those of `report.tables`."""
    from rich.console import Console  # help does without

    from slicewise.report.tables import line_for_terminal

    renderables = [line_for_terminal(item) if isinstance(item, str) else item for item in renderables]
    if output_file() is None:
        console = Console(highlight=False, width=None if sys.stdout.isatty() else UNWRAPPED_WIDTH)
        console.print(*renderables, sep="\n")
        return
    console = Console(width=UNWRAPPED_WIDTH, highlight=False, no_color=True, force_terminal=False)
    with console.capture() as captured:
        console.print(*renderables, sep="\n")
    _write("\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n")


def _write(text: str) -> None:
    output = output_file()
    if output is None:
        sys.stdout.write(text)
        return
    with mended_by(f"{output}: cannot be written", "give another file to -o"):
        output.write_text(text, encoding="utf-8", errors="backslashreplace")


def _plain(value: Any) -> Any:
    """`value` with nothing in it but what JSON knows."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # an array or a number of numpy, which is not imported where there is none
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Path):
        return str(value)
    return value
