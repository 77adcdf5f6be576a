"""Where a job's time went: sentences, and a table of its processes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import polars as pl

from slicewise.analysis.job.split import Split
from slicewise.constants import SECOND_NS
from slicewise.report import columns
from slicewise.report.columns import Made
from slicewise.report.tables import Cell, Table
from slicewise.scalars import real
from slicewise.text import words

MOST_HOLDS = 3
MOST_PHASES = 3
MOST_ROWS = 64
MOST_RANK_SLICES = 25_000  # of more the page would be large, and it tells of the whole run alone
NO_SLICES = range(0)
Told = Callable[[Cell | str, str], Cell | str]
# Less than so many seconds, or than this share of the runtime, is no news.
LEAST_SECONDS, LEAST_SHARE_OF_RUNTIME = 0.01, 0.002
PARTS = ("computing", "idle", "mpi", "waiting", "begin_and_end")
LEAST_SHARE_OF_LONGER = 0.9  # by one thing alone, rather than mainly
DOES = {"read": "reads", "write": "writes", "meta": "metadata calls", "sync": "syncs", "mpi_io": "MPI-IO"}
TAKES = {"computing": "computing", "mpi": "moving data in MPI", **DOES}
COLUMNS_OF_PARTS = {
    "computing": "computing", "read": "reads", "write": "writes", "meta": "metadata", "sync": "syncs",
    "mpi_io": "MPI-IO", "mpi": "MPI",
}  # fmt: skip
SECONDS_OF_TENTHS = 60
LEAST_SHARE_OF_DIFFERENCE = 0.01
CRITICAL = "Whom the ranks waited for"
CRITICAL_NOTE = (
    "A phase ends where the ranks meet in a collective or barrier, and where the job's I/O begins or ends; both are "
    "known to a slice. The rank that took longest is named: all its time counts except waiting for others. The parts "
    "say by how much it exceeds the mean rank. Confidence is high where the same rank took longest in the slices that "
    "hold 90 % of the phase's waiting, medium from 50 % on and in a phase of one slice, else low; unknown where "
    "threads of a rank were in calls at once."
)
NOTE = (
    "Waiting: time in collectives and messages beyond that of the rank that spent least in them, slice by slice; the "
    "time that messages need at the job's shortest call and highest rate does not count. Idle: for at least so long "
    "the process had no processor outside of calls. Reads: also waits for pages of mapped files. "
    "MPI-IO: time in its calls beside the reads and writes within them. "
    "Main waited: what the first thread waited for others of its process, if that was counted; these computed, did I/O "
    "or waited, too, meanwhile."
)


def split_lines(split: Split | None) -> Iterator[str]:
    """How much of the runtime was computing, MPI and I/O, who held whom, and the efficiencies."""
    line = shares_line(split)
    if split is None or not line:
        return
    yield line
    yield from hold_lines(split, MOST_HOLDS)
    yield from critical_lines(split, MOST_PHASES)
    yield from efficiency_lines(split)


def efficiency_lines(split: Split) -> Iterator[str]:
    """Parallel efficiency and its factors if they are known, and of several worlds why they are not."""
    efficiency = split.efficiency
    if split.unknown_world:
        count = words.count(split.unknown_world, "rank", "ranks")
        yield (
            f"Unknown in which of several MPI worlds (MPI_COMM_WORLD) {count} ran, so nothing is said of whom they "
            "waited for, and no efficiency is given."
        )
    elif split.worlds > 1:
        yield (
            f"The job had {split.worlds} MPI worlds (MPI_COMM_WORLD). Waiting is judged within each, and no efficiency "
            "is given, for it compares ranks of one world."
        )
    if efficiency.parallel is not None:
        yield (
            f"Parallel efficiency {words.percent(efficiency.parallel)}: "
            f"load balance {words.percent(efficiency.load_balance)}, "
            f"I/O efficiency {words.percent(efficiency.io)}, communication efficiency "
            f"{words.percent(efficiency.communication)} (as POP defines them: docs/models.md)."
        )


def shares_line(split: Split | None) -> str:
    """How much of the runtime was computing, MPI and I/O; empty where that is not known."""
    runtime = real(split.processes["runtime"].sum()) if split else 0.0
    if split is None or runtime <= 0:
        return ""
    shares = {name: real(split.processes[name].sum()) / runtime for name in PARTS}
    io = real(split.processes.select(pl.sum_horizontal(*DOES).sum()).item()) / runtime
    waiting = words.UNKNOWN if split.unknown_world else words.percent(shares["waiting"])
    line = (
        f"Ranks computed for {words.percent(max(shares['computing'], 0))} of the runtime, were in MPI for "
        f"{words.percent(shares['mpi'])} (waiting for others: {waiting}), "
        f"in I/O for {words.percent(io)}, in MPI's begin and end for {words.percent(shares['begin_and_end'])}, "
        f"and idle for at least {words.percent(shares['idle'])}."
    )
    if not split.has_threads:
        return line
    count = words.count(split.has_threads, "rank had", "ranks had")
    return f"{line} {count} several threads in calls at once: what these computed meanwhile is not known."


def hold_lines(split: Split, most: int) -> Iterator[str]:
    for hold in split.holds[:most]:
        if hold.seconds >= _least(split):
            others = words.count(hold.held, "other rank", "other ranks")
            yield f"The {DOES[hold.kind]} of {hold.label} held {others} up for {words.duration(hold.seconds)}."


def _least(split: Split) -> float:
    """From how many seconds on something is worth a sentence."""
    return max(LEAST_SECONDS, LEAST_SHARE_OF_RUNTIME * real(split.processes["runtime"].max()))


def critical_lines(split: Split, most: int) -> Iterator[str]:
    """The critical ranks of the phases in which they took longest beyond the others."""
    worth = split.phases.filter(pl.col("longer") >= _least(split)).sort("longer", descending=True).head(most)
    for row in worth.iter_rows(named=True):
        mainly = "" if row[row["by"]] >= LEAST_SHARE_OF_LONGER * row["longer"] else "mainly "
        yield (
            f"From {_clock(row, 'start_ns')} to {_clock(row, 'end_ns')} others waited for {row['label']}: it took "
            f"{words.duration(row['longer'])} longer than the mean rank, {mainly}in {TAKES[row['by']]} "
            f"(confidence: {row['sureness']})."
        )


def _clock(row: dict[str, Any], name: str) -> str:
    return words.clock(row[name], 1 if row["seconds"] < SECONDS_OF_TENTHS else SECOND_NS)


def critical_table(split: Split) -> Table:
    """One row a phase that has a critical rank, in order of time; of many those in which it took longest."""

    def part(name: str, heading: str) -> Made[dict[str, Any]]:
        def cell(row: dict[str, Any]) -> Cell:
            seconds = row[name]
            sign = "-" if seconds < 0 else ""
            is_shown = abs(seconds) >= LEAST_SHARE_OF_DIFFERENCE * row["longer"]
            return Cell(f"{sign}{words.duration(abs(seconds))}" if is_shown else "", seconds)

        return columns.figure(heading, cell, "s", spare=1)

    return columns.table(
        split.phases.sort("longer", descending=True).head(MOST_ROWS).sort("start_ns").iter_rows(named=True),
        columns.text("from", lambda row: _clock(row, "start_ns")),
        columns.text("to", lambda row: _clock(row, "end_ns")),
        columns.text("the others waited for", "label"),
        columns.duration("longer than the mean rank", "longer"),
        *(part(name, heading) for name, heading in COLUMNS_OF_PARTS.items()),
        columns.text("confidence", "sureness"),
        time=lambda row: (row["start_ns"], row["end_ns"]),
        more=split.phases.height - MOST_ROWS,
    )


def split_table(split: Split, by_slice: pl.DataFrame | None = None, axis: range = NO_SLICES) -> Table:
    """One row a rank; of many ranks the first ones. by_slice: as analysis.job.split.by_slice gives it, for figures of a
    chosen time; axis: the slices of the page."""
    rows = [(row, _over_time(row, by_slice, axis)) for row in split.processes.head(MOST_ROWS).iter_rows(named=True)]

    def part(name: str, heading: str, spare: int = 0) -> Made[tuple[dict[str, Any], Told]]:
        return columns.figure(heading, lambda row: row[1](_seconds(row[0][name]), name), "s", spare)

    return columns.table(
        rows,
        columns.text("process", lambda row: row[0]["label"]),
        part("runtime", "runtime"),
        part("computing", "computing"),
        part("idle", "idle, at least", 2),
        part("mpi", "MPI"),
        part("waiting", "of that waiting"),
        part("begin_and_end", "begin and end", 3),
        part("read", "reads", 1),
        part("write", "writes", 1),
        part("meta", "metadata", 2),
        part("sync", "syncs", 2),
        part("mpi_io", "MPI-IO", 1),
        *([part("threads", "main waited", 1)] if (split.processes["threads"] > 0).any() else []),
        *([part("accelerators", "for accelerators", 1)] if (split.processes["accelerators"] > 0).any() else []),
        more=split.processes.height - MOST_ROWS,
    )


def _over_time(row: Mapping[str, Any], by_slice: pl.DataFrame | None, axis: range) -> Told:
    """Gives a cell of a rank's row the sums of a column by slice, where these come to what the cell says."""
    if by_slice is None or len(axis) * by_slice["process"].n_unique() > MOST_RANK_SLICES:
        return lambda cell, _: cell
    from slicewise.report.over_time import sums  # brings numpy along

    own = by_slice.filter(pl.col("process") == row["process"])

    def told(cell: Cell | str, name: str) -> Cell | str:
        if isinstance(cell, str) or name not in own.columns or not cell.value:
            return cell
        return replace(cell, over_time=sums("duration", own, [name], axis, [row[name]]))

    return told


def _seconds(seconds: float | None) -> Cell | str:
    return words.UNKNOWN if seconds is None or seconds < 0 else Cell(words.duration(seconds), seconds)


def split_record(split: Split | None) -> dict[str, Any] | None:
    if split is None:
        return None
    return {
        "processes": [_in_seconds(row, RANK_SECONDS) for row in split.processes.drop("process").to_dicts()],
        "holds": [_in_seconds(asdict(hold), ("waited",)) for hold in split.holds],
        "phases": [_in_seconds(row, ("longer", *COLUMNS_OF_PARTS)) for row in split.phases.drop("process").to_dicts()],
        "efficiency": asdict(split.efficiency),
        "worlds": split.worlds,
        "unknown_world": split.unknown_world,
    }


RANK_SECONDS = ("runtime", "computing", "idle", "mpi", "waiting", "begin_and_end", *DOES, "threads", "accelerators")


def _in_seconds(row: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The row with these seconds by keys that say so."""
    return {f"{name}_seconds" if name in names else name: value for name, value in row.items()}
