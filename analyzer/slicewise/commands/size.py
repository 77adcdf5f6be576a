"""Bandwidth and latency by transfer size: which size to take, how sure that is, and what a job's own sizes cost it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.console import RenderableType
from typer.core import TyperGroup

from slicewise.analysis.size.recommend import Bounds
from slicewise.analysis.size.size import SizeResult, size_result
from slicewise.analysis.size.table import read_table
from slicewise.errors import UserError
from slicewise.report.page import page_path, write_page
from slicewise.report.size import size_words
from slicewise.report.size.size_json import size_record
from slicewise.report.size.size_page import size_page
from slicewise.report.size.size_tables import curves_table, sizes_table
from slicewise.report.tables import for_terminal, line_for_terminal
from slicewise.terminal.output import AsJson, OutputFile, PageFile, write_json, write_text
from slicewise.text.amounts import amount, duration


class ReadsByDefault(TyperGroup):
    """A group whose `read` need not be said: `slicewise size PROFILE` is `slicewise size read PROFILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, *self.get_help_option_names(ctx)):
            args = ["read", *args]
        return list(super().parse_args(ctx, args))


app = typer.Typer(cls=ReadsByDefault, add_completion=False)

Table = Annotated[
    list[Path] | None,
    typer.Option("--table", metavar="FILE.csv", help="Measurements, with the columns of docs/size.md; repeatable."),
]
Own = Annotated[str | None, typer.Option("--own", metavar="SIZE", help="The size that you use now, as 64KiB.")]
LatencyBelow = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only sizes whose calls take no longer, as 5ms.")
]
BandwidthAbove = Annotated[
    str | None, typer.Option(metavar="RATE", help="Only sizes that give as much, as 200MiB (a second).")
]


@app.callback()
def _size() -> None:
    """Bandwidth and latency by transfer size: which size to take, and what a job's own sizes cost it.

    slicewise size PROFILE... and slicewise size --table FILE.csv read what was measured; slicewise size run DIR
    measures.
    """


@app.command()
def read(
    table: Table = None,
    own: Own = None,
    latency_below: LatencyBelow = None,
    bandwidth_above: BandwidthAbove = None,
    html: PageFile = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Which transfer size to take, from tables of measurements.

    Example: slicewise size --table scratch.csv --own 64KiB --latency-below 5ms
    """
    tables = table or []
    if not tables:
        raise UserError("nothing to read: give a table with --table FILE.csv, or measure: slicewise size run DIR")
    points = pl.concat(read_table(path) for path in tables)
    found = size_result(points, _bounds(latency_below, bandwidth_above), _own_size(own))
    page = html or page_path(tables[0], f"size-{tables[0].stem}")
    write_page(size_page(found, "Which transfer size to take"), page)
    if json:
        write_json(size_record(found, page), output)
        return
    _show(found, page, output)


def _bounds(latency_below: str | None, bandwidth_above: str | None) -> Bounds:
    rate = None
    if bandwidth_above is not None:
        text = bandwidth_above if bandwidth_above.endswith("/s") else f"{bandwidth_above}/s"
        rate, has_unit = amount(text, "--bandwidth-above", is_rate=True)
        if not has_unit or rate <= 0:
            raise UserError(f"--bandwidth-above {bandwidth_above}: give a rate with its unit, such as 200MiB")
    return Bounds(None if latency_below is None else duration(latency_below, "--latency-below"), rate)


def _own_size(own: str | None) -> int | None:
    if own is None:
        return None
    size = amount(own, "--own", is_rate=False)[0]
    if size < 1:
        raise UserError(f"--own {own}: give a size such as 64KiB")
    return round(size)


def _show(found: SizeResult, page: Path, output: Path | None) -> None:
    several: list[RenderableType] = [for_terminal(curves_table(found.advices)), ""] if len(found.advices) > 1 else []
    write_text(
        [
            *size_words.opening(found),
            "",
            line_for_terminal(size_words.curve_words(found.first.curve.curve)),
            for_terminal(sizes_table(found.first)),
            "",
            *several,
            *size_words.effects(found),
            *size_words.notes(found),
            line_for_terminal(f"Page: {page}", is_folded=False),
        ],
        output,
    )
