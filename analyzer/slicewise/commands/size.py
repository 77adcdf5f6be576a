"""Find the best transfer size: bandwidth and latency by size, and what a job's own sizes cost it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.console import RenderableType
from typer.core import TyperGroup

from slicewise.analysis.size.job import JobSizes, job_sizes
from slicewise.analysis.size.points import POINTS, curves
from slicewise.analysis.size.profiles import accesses_of, points_of
from slicewise.analysis.size.recommend import Bounds
from slicewise.analysis.size.size import SizeResult, size_result
from slicewise.analysis.size.table import read_table, write_table
from slicewise.catalog.sources import beside as find_beside
from slicewise.catalog.sources import job_identity, read_digests
from slicewise.digest.beside import Surroundings
from slicewise.errors import UserError
from slicewise.report.coverage.unseen import unseen_lines
from slicewise.report.page import Page, page_path, write_page
from slicewise.report.size import size_words
from slicewise.report.size.job_words import (
    costs_table,
    job_lines,
    job_record,
    job_sections,
    profile_notes,
    sites_table,
)
from slicewise.report.size.size_json import size_record
from slicewise.report.size.size_page import size_page
from slicewise.report.size.size_tables import curves_table, sizes_table
from slicewise.report.tables import for_terminal, line_for_terminal
from slicewise.running.size_campaign import SizePlan, run_size_campaign
from slicewise.terminal.output import AsJson, OutputFile, PageFile, write_json, write_text
from slicewise.text.amounts import amount, duration
from slicewise.text.safe_text import visible


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
    """Find the best transfer size, and what a job's own sizes cost it.

    slicewise size PROFILE... and slicewise size --table FILE.csv read what was measured (their options: slicewise size
    read --help); slicewise size run DIR measures.
    """


@app.command()
def read(
    profiles: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PROFILE...", help="Jobs' directories or .swz files; the first is told what it loses."),
    ] = None,
    table: Table = None,
    own: Own = None,
    latency_below: LatencyBelow = None,
    bandwidth_above: BandwidthAbove = None,
    html: PageFile = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Say which transfer size to take, and what a job's own sizes cost it: from profiles, tables of measurements, or
    both.

    Example: slicewise size slicewise/48213 --table /scratch/slicewise-size.csv --latency-below 5ms
    """
    bounds, own_size = _bounds(latency_below, bandwidth_above), _own_size(own)
    places, tables = profiles or [], table or []
    if not places and not tables:
        raise UserError(
            "nothing to read: give profiles, or a table with --table FILE.csv, or measure: slicewise size run DIR"
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
        _show_job(job, page, unseen, json, output)
        return
    notes = profile_notes() if places else []
    found = size_result(points, bounds, own_size, notes, None if busiest is None else busiest.curve)
    sections = job_sections(job) if job is not None else []
    title = "Which transfer size to take" if job is None else f"Transfer sizes of {job.digest.job}"
    write_page(size_page(found, title, sections, unseen), page)
    if json:
        write_json(size_record(found, page) | {"job": job_record(job) if job is not None else None}, output)
        return
    _show(found, page, output, job)


@app.command()
def run(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A directory on the file system; files are made there, and removed.")
    ],
    sizes: Annotated[
        str, typer.Option(metavar="SIZE,...", help="Transfer sizes.")
    ] = "4KiB,16KiB,64KiB,256KiB,1MiB,4MiB",
    processes: Annotated[str, typer.Option(metavar="N,...", help="Numbers of processes.")] = "1,2",
    repeat: Annotated[int, typer.Option(metavar="N", min=1, help="How often each configuration is measured.")] = 3,
    seconds: Annotated[float, typer.Option(metavar="S", min=1.0, help="Seconds that all of it may take.")] = 100.0,
    file_size: Annotated[str, typer.Option(metavar="SIZE", help="How large each process's file is.")] = "32MiB",
    second: Annotated[bool, typer.Option(help="Measure beside a second job, too.")] = True,
    launcher: Annotated[
        str | None, typer.Option(metavar="CMD", help="What starts {n} processes of an MPI program, as 'srun -n {n}'.")
    ] = None,
    own: Own = None,
    latency_below: LatencyBelow = None,
    bandwidth_above: BandwidthAbove = None,
    html: PageFile = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Measure bandwidth and latency by transfer size on a file system, in less than two minutes.

    It measures sequential and random access, a file for each process and a shared one, reads and writes, alone
    and beside a second job. The measurements are kept in DIR/slicewise-size.csv, for slicewise size --table.

    Example: slicewise size run /scratch/me
    """
    bounds, own_size = _bounds(latency_below, bandwidth_above), _own_size(own)
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
    write_page(size_page(found, f"Transfer sizes on {found.first.curve.curve.mount}"), page)
    if json:
        write_json(size_record(found, page), output)
        return
    _show(found, page, output)


def _jobs(places: list[Path], measured: pl.DataFrame) -> tuple[JobSizes | None, pl.DataFrame, list[str]]:
    """The first job's sizes and what they cost it, all jobs' points, and what their profiles could not see."""
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


def _show_job(job: JobSizes, page: Path, unseen: list[str], json: bool, output: Path | None) -> None:
    """A job whose calls make no point: they are of several sizes."""
    lines = job_lines(job)
    write_page(
        Page(f"Transfer sizes of {job.digest.job}", "Slicewise size", lines, sections=job_sections(job), unseen=unseen),
        page,
    )
    if json:
        write_json({"curves": [], "job": job_record(job), "page": page}, output)
        return
    write_text([*lines, "", *_job_tables(job), line_for_terminal(f"Page: {page}", is_folded=False)], output)


def _job_tables(job: JobSizes) -> list[RenderableType]:
    tables = [costs_table(job.costs), *([sites_table(job)] if job.site_sizes else [])] if job.costs else []
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


def _bounds(latency_below: str | None, bandwidth_above: str | None) -> Bounds:
    rate = None
    if bandwidth_above is not None:
        text = bandwidth_above if bandwidth_above.endswith("/s") else f"{bandwidth_above}/s"
        rate, has_unit = amount(text, "--bandwidth-above", is_rate=True)
        if not has_unit or rate <= 0:
            raise UserError(f"--bandwidth-above {bandwidth_above}: give a rate with its unit, such as 200MiB")
    return Bounds(None if latency_below is None else duration(latency_below, "--latency-below"), rate)


def _own_size(own: str | None) -> int | None:
    return None if own is None else _bytes("--own", own)


def _show(found: SizeResult, page: Path, output: Path | None, job: JobSizes | None = None) -> None:
    several: list[RenderableType] = [for_terminal(curves_table(found.advices)), ""] if len(found.advices) > 1 else []
    write_text(
        [
            *(job_lines(job) if job is not None else []),
            *size_words.opening(found),
            "",
            *(_job_tables(job) if job is not None else []),
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
