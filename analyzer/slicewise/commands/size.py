"""Find the best transfer size: bandwidth and latency by size."""

import sys
from pathlib import Path

import polars as pl

from slicewise.analysis.size.points import read_table, write_table
from slicewise.analysis.size.size import Requirements, SizeResult, size_result
from slicewise.errors import UserError
from slicewise.report.page import page_path, write_page
from slicewise.report.size import size_report
from slicewise.report.tables import for_terminal, line_for_terminal
from slicewise.running.size_campaign import SizePlan, run_size_campaign
from slicewise.terminal.output import page_line, write_answer
from slicewise.text.amounts import amount, duration
from slicewise.text.safe_text import visible


def read(
    table: list[Path], own: str | None, latency_below: str | None, bandwidth_above: str | None, html: Path | None
) -> None:
    bounds, own_size = _bounds(latency_below, bandwidth_above), None if own is None else _bytes("--own", own)
    found = size_result(pl.concat([read_table(path) for path in table]), bounds, own_size)
    page = html or page_path(table[0], f"size-{table[0].stem}")
    write_page(size_report.size_page(found, "Which transfer size to take"), page)
    _show(found, page)


def run(
    directory: Path,
    sizes: str,
    processes: str,
    repeat: int,
    seconds: float,
    file_size: str,
    second: bool,
    launcher: str | None,
    own: str | None,
    latency_below: str | None,
    bandwidth_above: str | None,
    html: Path | None,
) -> None:
    bounds, own_size = _bounds(latency_below, bandwidth_above), None if own is None else _bytes("--own", own)
    plan = SizePlan(
        directory,
        sorted({_bytes("--sizes", size) for size in sizes.split(",")}),
        sorted({_count(number) for number in processes.split(",")}),
        repeat,
        seconds,
        _bytes("--file-size", file_size),
        second,
        launcher,
    )
    if any(plan.file_bytes % size for size in plan.sizes):
        raise UserError(f"--file-size {file_size}: give a multiple of each size of --sizes")
    campaign = run_size_campaign(plan, lambda line: print(visible(line), file=sys.stderr))
    kept = directory / "slicewise-size.csv"
    write_table(campaign.points, kept, campaign.notes)
    page = html or directory / "slicewise-size.html"
    found = size_result(campaign.points, bounds, own_size, [*campaign.notes, f"The measurements are in {kept}."])
    write_page(size_report.size_page(found, f"Transfer sizes on {found.first.curve.curve.mount}"), page)
    _show(found, page)


def _bytes(option: str, text: str) -> int:
    size = amount(text, option, is_rate=False)[0]
    if size < 1 or size != int(size):
        raise UserError(f"{option} {text}: give whole bytes, such as 64KiB")
    return int(size)


def _count(text: str) -> int:
    if not (text.strip().isdecimal() and int(text)):
        raise UserError(f"--processes {text}: give whole numbers above 0, such as 1,4")
    return int(text)


def _bounds(latency_below: str | None, bandwidth_above: str | None) -> Requirements:
    rate = None
    if bandwidth_above is not None:
        rate, has_unit = amount(f"{bandwidth_above.removesuffix('/s')}/s", "--bandwidth-above", is_rate=True)
        if not has_unit or rate <= 0:
            raise UserError(f"--bandwidth-above {bandwidth_above}: give a rate with its unit, such as 200MiB")
    return Requirements(None if latency_below is None else duration(latency_below, "--latency-below"), rate)


def _show(found: SizeResult, page: Path) -> None:
    tables = [size_report.sizes_table(found.first)]
    tables += [size_report.curves_table(found.advices)] if len(found.advices) > 1 else []
    write_answer(
        lambda: size_report.size_record(found, page),
        [
            *size_report.opening(found),
            "",
            line_for_terminal(size_report.curve_words(found.first.curve.curve)),
            *(part for table in tables for part in (for_terminal(table), "")),
            *size_report.effects(found),
            *size_report.notes(found),
            page_line(page),
        ],
    )
