"""The tables of one job, the same for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from slicewise.analysis.calls import SEEKS
from slicewise.analysis.job.totals import JobTotals
from slicewise.analysis.job.usage import Usage
from slicewise.constants import LEAST_OF_JOB, LITTLE_OF_RUNTIME
from slicewise.report import columns
from slicewise.report.columns import Made
from slicewise.report.tables import NOTHING, Cell, Table
from slicewise.text import words

if TYPE_CHECKING:
    from slicewise.report.over_time import FigureKind

OverTimeOf = Callable[[Cell, "FigureKind", str], Cell]
Row = tuple[Mapping[str, Any], OverTimeOf]
# Of the metadata calls: with more of them, seeks are named.
WORTH_A_HEADING = 0.1
NO_SLICES = range(0)
SAID: dict[str, Callable[[Any], str]] = {"size": words.size, "duration": words.duration, "count": "{:,}".format}
NOWHERE = "(on no file system)"
MOST_ROWS = 16
MANY_MAJOR_FAULTS = 100  # page faults that read from storage are worth a sentence from here on
NOTE = (
    "Counted by the kernel for each process (getrusage, and schedstat of its first thread: how long that was ready to "
    "run and waited for a processor). Processor given up: the process had to wait. Processor taken away: another "
    "thread got it, or the process offered it, as an MPI that spins does (sched_yield). Page faults that read: memory "
    "that came from storage; no call's time holds them."
)


def mounts_table(summary: JobTotals, by_slice: pl.DataFrame | None = None, slices: range = NO_SLICES) -> Table:
    """One row a file system that the job did I/O on. by_slice: as analysis.job.io_time.per_storage_slice gives it, for
    figures of a chosen time; slices: the axis of the page.
    """
    seeks = sum(summary.calls.get(name, 0) for name in SEEKS)
    has_seeks = seeks > WORTH_A_HEADING * sum(mount["meta_ops"] for mount in summary.mounts)
    how = summary.coverage.imported
    are_processes_known = how is None or not how.is_served
    rows = [(mount, _sums_of(mount, by_slice, slices)) for mount in summary.mounts]

    def text(heading: str, name: str, spare: int = 0, none: str = "") -> Made[Row]:
        return columns.text(heading, lambda row: row[0][name] or none, spare=spare)

    def figure(heading: str, name: str, kind: FigureKind, unit: str = "", spare: int = 0) -> Made[Row]:
        def cell(row: Row) -> Cell:
            value, over_time = row[0][name], row[1]
            return Cell("-") if value is None else over_time(Cell(SAID[kind](value), value), kind, name)

        return columns.figure(heading, cell, unit, spare)

    def processes(row: Row) -> Cell:
        count = row[0]["processes"]
        return Cell(f"{count:,}", count) if are_processes_known else NOTHING

    return columns.table(
        rows,
        text("file system", "point", none=NOWHERE),
        text("type", "type", 3),
        text("source", "source", 5),
        columns.figure("processes", processes, spare=4),
        figure("written", "write_bytes", "size", "bytes"),
        figure("in writes", "write_seconds", "duration", "s"),
        figure("read", "read_bytes", "size", "bytes"),
        figure("in reads", "read_seconds", "duration", "s"),
        figure("metadata calls, seeks" if has_seeks else "metadata calls", "meta_ops", "count", spare=1),
        figure("in metadata", "meta_seconds", "duration", "s", 2),
    )


def _sums_of(mount: Mapping[str, Any], by_slice: pl.DataFrame | None, slices: range) -> OverTimeOf:
    """Gives a cell of a mount's row the sums of a column by slice, where these come to what the cell says."""
    if by_slice is None or not slices:
        return lambda cell, _kind, _column: cell
    from slicewise.report.over_time import sums  # brings numpy along

    what = ("point", "type", "source")
    own = by_slice.filter(*(pl.col(name) == mount[name] for name in what))
    return lambda cell, kind, column: replace(cell, over_time=sums(kind, own, [column], slices, [mount[column]]))


def files_table(files: pl.DataFrame) -> Table:
    """One row a file: path, processes, opens, read_bytes, write_bytes, seconds, error_bytes.

    The last column says how much a file moved at most, where that is more than what is known by half a percent.
    """

    def at_most(row: dict[str, Any]) -> Cell | str:
        known, error = row["read_bytes"] + row["write_bytes"], row["error_bytes"]
        return Cell(words.size(known + error), known + error) if error > known / 200 else ""

    return columns.table(
        files.iter_rows(named=True),
        columns.text("file", lambda row: row["path"] or "(files without a row of their own)"),
        columns.count("processes", "processes"),
        columns.count("opens", "opens"),
        columns.size("written", "write_bytes"),
        columns.size("read", "read_bytes"),
        columns.duration("in reads and writes", "seconds"),
        columns.figure("written and read, at most", at_most, "bytes"),
    )


def calls_table(summary: JobTotals) -> Table:
    return columns.table(
        summary.calls.items(),
        columns.text("function", lambda called: called[0]),
        columns.count("calls", lambda called: called[1]),
    )


def usage_lines(usage: Usage | None) -> Iterator[str]:
    if usage is None:
        return
    faults = int(usage.processes["major_faults"].sum())
    if faults >= MANY_MAJOR_FAULTS:
        who, most = usage.most("major_faults")
        yield f"{faults:,} page faults read memory from storage, in no call's time; {who} had most of them, {most:,}."
    # Ranks that wait for others may be ready all the time.
    waited = usage.processes.filter(
        ~pl.col("label").str.starts_with("rank "),
        pl.col("delayed") >= LITTLE_OF_RUNTIME * pl.col("runtime"),
        pl.col("runtime") >= LEAST_OF_JOB * pl.col("runtime").max(),
    )
    for row in waited.sort("delayed", descending=True).head(1).iter_rows(named=True):
        of_it = f"{words.duration(row['delayed'])} of its {words.duration(row['runtime'])}"
        yield f"{row['label'][0].upper()}{row['label'][1:]} waited {of_it} for a processor."


def usage_table(usage: Usage) -> Table:
    def busy(row: dict[str, Any]) -> Cell:
        share = (row["user"] + row["system"]) / row["sampled"] if row["sampled"] > 0 else 0.0
        return Cell(words.percent(share), share)

    def delayed(row: dict[str, Any]) -> Cell:
        return Cell("-" if row["delayed"] is None else words.duration(row["delayed"]), row["delayed"])

    return columns.table(
        usage.processes.head(MOST_ROWS).iter_rows(named=True),
        columns.text("process", "label"),
        columns.duration("processor, program", "user"),
        columns.duration("processor, kernel", "system"),
        columns.figure("of the runtime", busy, spare=1),
        columns.figure("waited for one", delayed, "s"),
        columns.size("peak memory", "peak_bytes"),
        columns.count("page faults that read", "major_faults", spare=1),
        columns.count("other page faults", "minor_faults", spare=3),
        columns.count("processor given up", "voluntary_switches", spare=2),
        columns.count("processor taken away", "involuntary_switches", spare=2),
        more=usage.processes.height - MOST_ROWS,
    )


def usage_record(usage: Usage | None) -> list[dict[str, Any]] | None:
    return None if usage is None else usage.processes.drop("process").to_dicts()
