"""What many jobs are, read together and in sum: when each ran, what program, and which storages it used.

Paths in, dataclasses out. A job costs about a millisecond here, and a digest of its own ten times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from slicewise.digest import processes as members
from slicewise.digest import slices
from slicewise.digest.layers import is_own
from slicewise.digest.storages import mounts_with_storage
from slicewise.errors import UserError
from slicewise.profile.many import batches
from slicewise.profile.plan import SOURCE, Want
from slicewise.profile.plausible import MOST_SLICES_ON_AXIS
from slicewise.profile.reading import Reading, read_jobs

MOVED = [f"{way}_{what}" for way in members.DIRECTIONS for what in ("bytes", "ops")]
WANTED = {
    "processes": Want("processes", ("host", "rank", "program", "start_ns", "end_ns")),
    "mounts": Want("mounts", ("object", "type", "source", "point")),
    "sums": Want("slices", (*slices.BYTES, *slices.OPS, *slices.TIMES), last_of=("slice",)),
    "slices": slices.IN_WHICH,
}
# So many at a time, so that whoever waits can be told how far it is.
JOBS_AT_ONCE = 100
# Runs of one program that differ by more than this factor do something else. Less than this share of a job's bytes does
# not count.
MOST_APART = 2.0
LEAST_SHARE_OF_JOB = 0.05
# Told how many jobs of how many are read.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Work:
    """What a job did: how many processes matter, and by direction how many bytes they moved in how many calls."""

    processes: int
    moved: Mapping[str, tuple[int, int]]

    def is_as(self, other: Work) -> bool:
        """Whether both do the same kind of work, which one program (an interpreter, a shell) need not: as large calls
        in the same directions, and, with as many processes, as many bytes.
        """
        whole = [sum(count for count, _ in job.moved.values()) for job in (self, other)]
        for way, (count, calls) in self.moved.items():
            counts, all_calls = (count, other.moved[way][0]), (calls, other.moved[way][1])
            shares = [one / max(total, 1) for one, total in zip(counts, whole, strict=True)]
            if max(shares) < LEAST_SHARE_OF_JOB:
                continue
            sizes = [one / max(number, 1) for one, number in zip(counts, all_calls, strict=True)]
            if _differ(sizes) or _differ(shares) or (self.processes == other.processes and _differ(counts)):
                return False
        return True


@dataclass(frozen=True)
class Outline:
    """A job: its main program, what it did, when it ran, the storages that it moved bytes on, and the ids of its
    processes. All are what its digest says.
    """

    place: Path
    program: str
    work: Work
    start_ns: int
    end_ns: int
    storages: frozenset[int]
    ids: frozenset[int]

    def meets(self, other: Outline) -> bool:
        """Whether both used one storage and ran at one time."""
        return (
            self.start_ns < other.end_ns
            and other.start_ns < self.end_ns
            and not self.storages.isdisjoint(other.storages)
        )


def _differ(values: Sequence[float]) -> bool:
    return max(values) > MOST_APART * min(values)


def outlines(places: Sequence[Path], progress: Progress | None = None) -> list[Outline]:
    """The jobs at these places, in their order; what cannot be read, or be laid on an axis of time, is left out."""
    found: list[Outline] = []
    for first in range(0, len(places), JOBS_AT_ONCE):
        some = places[first : first + JOBS_AT_ONCE]
        found += _readable(some)
        if progress is not None:
            progress(first + len(some), len(places))
    return found


def _readable(places: Sequence[Path]) -> list[Outline]:
    try:
        return [job for some in batches(places) for job in _outlined(read_jobs(some, WANTED))]
    except UserError:
        if len(places) == 1:
            return []
        middle = len(places) // 2
        return [*_readable(places[:middle]), *_readable(places[middle:])]


def _outlined(reading: Reading) -> list[Outline]:
    processes = _who(reading)
    if processes.is_empty():
        return []
    mounts = mounts_with_storage(_numbered(reading, "mounts"), processes.select("process", "node"))
    sums = _numbered(reading, "sums")
    known = processes.join(slices.process_sums(sums, mounts), on="process", how="left").with_columns(
        pl.col(slices.SUMS).fill_null(0)
    )
    known = known.with_columns(matters=members.matters())
    of_job = known.filter("is_of_job")
    jobs = of_job.group_by("job").agg(
        pl.col("matters").sum().alias("processes"),
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
        pl.col(MOVED).filter("matters").sum(),
    )
    used = (
        sums.filter(is_own(), (pl.col("read_bytes") + pl.col("write_bytes")) > 0)
        .join(mounts, on=["process", "mount"])
        .join(processes.select("process", "job"), on="process")
        .group_by("job")
        .agg(pl.col("storage").unique())
    )
    frame = (
        jobs.join(members.main_programs(of_job), on="job")
        .join(used, on="job", how="left")
        .join(processes.group_by("job").agg(pl.col("id").unique()), on="job")
        .join(_spans(reading), on="job", how="left")
        .filter(pl.col("span").fill_null(0) <= MOST_SLICES_ON_AXIS)
        .sort("job")
    )
    return [
        Outline(
            reading.sources[row["job"]].path,
            row["program"],
            Work(
                row["processes"],
                {way: (row[f"{way}_bytes"], row[f"{way}_ops"]) for way in members.DIRECTIONS},
            ),
            row["start_ns"],
            row["end_ns"],
            frozenset(row["storage"] or ()),
            frozenset(row["id"]),
        )
        for row in frame.iter_rows(named=True)
    ]


def _who(reading: Reading) -> pl.DataFrame:
    """The processes of all jobs as in a digest. job: the job's number; process: one that no two processes have, of
    whatever jobs; id: the process's own.
    """
    ends = reading.tables["sums"].group_by(SOURCE, "process").agg(pl.col("slice").max())
    lengths = pl.DataFrame(
        {SOURCE: [source.number for source in reading.sources], "slice_ns": [one.slice_ns for one in reading.sources]},
        schema={SOURCE: pl.UInt32, "slice_ns": pl.Int64},
    )
    return (
        reading.tables["processes"]
        .with_row_index("number")
        .join(ends, on=[SOURCE, "process"], how="left", maintain_order="left")
        .join(lengths, on=SOURCE, maintain_order="left")
        .with_columns(pl.col("rank", "start_ns", "end_ns").cast(pl.Int64), job=pl.col(SOURCE))
        .select(
            "job",
            "rank",
            "start_ns",
            pl.col("process").alias("id"),
            pl.col("number").alias("process"),
            pl.col("host").cast(pl.String).alias("node"),
            program=members.program(),
            end_ns=members.end_ns(pl.col("slice_ns")),
            is_of_job=members.is_of_job(),
        )
    )


def _numbered(reading: Reading, table: str) -> pl.DataFrame:
    """A table with the processes' numbers in place of their ids."""
    numbers = reading.tables["processes"].select(SOURCE, "process").with_row_index("number")
    return (
        reading.tables[table]
        .join(numbers, on=[SOURCE, "process"])
        .drop("process", SOURCE)
        .rename({"number": "process"})
    )


def _spans(reading: Reading) -> pl.DataFrame:
    """How many slices lie from the first to the last one of each job."""
    rows = reading.tables["slices"]
    return rows.group_by(pl.col(SOURCE).alias("job")).agg(span=pl.col("slice").max() - pl.col("slice").min())
