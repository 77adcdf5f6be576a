"""Find the best transfer size: bandwidth and latency by size, and what a job's own sizes cost it."""

import sys
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import RenderableType

from slicewise.analysis.size.job import JobSizes, job_sizes
from slicewise.analysis.size.points import POINTS, curves, read_table, write_table
from slicewise.analysis.size.profiles import accesses_of, points_of
from slicewise.analysis.size.size import Requirements, SizeResult, size_result
from slicewise.catalog.sources import beside as find_beside
from slicewise.catalog.sources import job_identity, read_digests
from slicewise.digest.beside import Surroundings
from slicewise.errors import UserError
from slicewise.report.coverage.unseen import unseen_lines
from slicewise.report.page import Page, page_path, write_page
from slicewise.report.size import own_sizes, size_report
from slicewise.report.tables import Table, for_terminal, line_for_terminal
from slicewise.running.size_campaign import SizePlan, run_size_campaign
from slicewise.terminal.output import page_line, write_answer
from slicewise.text.amounts import amount, duration
from slicewise.text.safe_text import visible


def read(
    profiles: list[Path],
    table: list[Path],
    own: str | None,
    latency_below: str | None,
    bandwidth_above: str | None,
    html: Path | None,
) -> None:
    bounds, own_size = _bounds(latency_below, bandwidth_above), None if own is None else _bytes("--own", own)
    places, tables = profiles or [], table or []
    if not places and not tables:
        raise UserError(
            "nothing to read: give profiles, or a table with --table FILE.csv, or measure: "
            "slicewise storage measure DIR"
        )
    measured = pl.concat([pl.DataFrame(schema=POINTS), *(read_table(path) for path in tables)])
    job, seen, unseen = _jobs(places, measured)
    first = places[0] if places else tables[0]
    page = html or page_path(first, f"size-{job.digest.job if job is not None else tables[0].stem}")
    busiest = job.costs[0].accesses if job is not None and job.costs else None
    if own_size is None and busiest is not None:
        own_size = busiest.size
    points = pl.concat([measured, seen])
    if points.is_empty():
        assert job is not None
        _show_job(job, page, unseen)
        return
    notes = own_sizes.PROFILE_NOTES if places else []
    found = size_result(points, bounds, own_size, notes, None if busiest is None else busiest.curve)
    sections = own_sizes.job_sections(job) if job is not None else []
    title = "Which transfer size to take" if job is None else f"Transfer sizes of {job.digest.job}"
    write_page(size_report.size_page(found, title, sections, unseen), page)
    _show(found, page, {"job": None if job is None else own_sizes.job_record(job)}, job)


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
    _show(found, page, {})


def _jobs(places: list[Path], measured: pl.DataFrame) -> tuple[JobSizes | None, pl.DataFrame, list[str]]:
    if not places:
        return None, pl.DataFrame(schema=POINTS), []
    digests = read_digests(places, distributions=True)
    given = {job_identity(place) for place in places}
    around = find_beside(places[0], Surroundings())
    neighbours = [place for place in around.neighbours if job_identity(place) not in given]
    others = [*digests, *(read_digests(neighbours) if neighbours else [])]
    beside = {digest.job: [other for other in others if other is not digest] for digest in digests}
    accesses = {digest.job: accesses_of(digest, beside[digest.job]) for digest in digests}
    seen = points_of([each for found in accesses.values() for each in found], beside)
    points = pl.concat([measured, seen])
    job = job_sizes(digests[0], accesses[digests[0].job], curves(points) if points.height else [])
    return job, seen, unseen_lines(digests)


def _show_job(job: JobSizes, page: Path, unseen: list[str]) -> None:
    """A job whose calls make no point: they are of several sizes."""
    title, lines = f"Transfer sizes of {job.digest.job}", own_sizes.job_lines(job)
    write_page(Page(title, "Slicewise size", lines, sections=own_sizes.job_sections(job), unseen=unseen), page)
    write_answer(
        lambda: {"curves": [], "job": own_sizes.job_record(job), "page": page},
        [*lines, "", *_shown(own_sizes.job_tables(job)), page_line(page)],
    )


def _shown(tables: list[Table]) -> list[RenderableType]:
    return [part for table in tables for part in (for_terminal(table), "")]


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


def _show(found: SizeResult, page: Path, more: dict[str, Any], job: JobSizes | None = None) -> None:
    several = [size_report.curves_table(found.advices)] if len(found.advices) > 1 else []
    write_answer(
        lambda: size_report.size_record(found, page) | more,
        [
            *(own_sizes.job_lines(job) if job is not None else []),
            *size_report.opening(found),
            "",
            *_shown(own_sizes.job_tables(job) if job is not None else []),
            line_for_terminal(size_report.curve_words(found.first.curve.curve)),
            *_shown([size_report.sizes_table(found.first), *several]),
            *size_report.effects(found),
            *size_report.notes(found),
            page_line(page),
        ],
    )
