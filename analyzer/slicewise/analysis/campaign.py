"""Many profiles as one campaign: who ran beside whom, what each job was, and the slices that say how it was shared.

Profiles in, frames out. The frames are what the models of sharing are fitted to; they can as well be made by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from slicewise.analysis import storage
from slicewise.analysis.activity import DIRECTIONS, Direction, bytes_by_mount, common_slice_ns, own_rows
from slicewise.analysis.capacity import LEAST_AT_WORK
from slicewise.analysis.iospan import io_span
from slicewise.analysis.runs import Run, run_of
from slicewise.errors import UserError
from slicewise.profile.reader import Profile

CampaignDirection = Literal["auto", "read", "write"]

# The two jobs of a run by name; what ran alone is no such job.
PARTNERS = re.compile(r"((?!.*\balone\b).+)-([ab12])")
PAIRS = {"a": "ab", "b": "ab", "1": "12", "2": "12"}
SIZE = ("program", "processes", "nodes", "mounts")
JOBS_SCHEMA = pl.Schema(
    {
        "run": pl.String,
        "pair": pl.String,
        "job": pl.String,
        "program": pl.String,
        "processes": pl.Int64,
        "nodes": pl.Int64,
        "mounts": pl.Int64,
        "outstanding": pl.Float64,
        "bytes": pl.Int64,
        "start": pl.Float64,
        "seconds": pl.Float64,
        "seconds_low": pl.Float64,
        "seconds_high": pl.Float64,
    }
)
SLICES_SCHEMA = pl.Schema(
    {
        "run": pl.String,
        "pair": pl.String,
        "slice": pl.Int64,
        "job": pl.String,
        "seconds": pl.Float64,
        "bytes": pl.Int64,
        "processes": pl.Int64,
        "nodes": pl.Int64,
        "mounts": pl.Int64,
        "outstanding": pl.Float64,
    }
)


@dataclass(frozen=True)
class Campaign:
    """Runs of one job alone and of several together on one storage, in one direction.

    jobs (`JOBS_SCHEMA`), a row a job of a run: processes, nodes and mounts (of different nodes) that moved bytes there;
    outstanding, the bytes that it kept under way on average, by Little's law: time in calls over the slice's length
    times bytes a call; bytes; start (s after the first of its run); seconds (I/O time span, with its bounds; of writes
    it reaches to the end of the last sync). `pair` names the sizes of the jobs of a run, and is the same for its
    repeats; a run of one job is that job alone.

    slices (`SLICES_SCHEMA`), a row a job and slice: of those slices alone in which every job that moved a byte was at
    work throughout, with nearly all of its processes.
    """

    jobs: pl.DataFrame
    slices: pl.DataFrame
    slice_seconds: float
    direction: Direction
    storage: storage.Storage
    profiles: list[Profile]


def campaign(profiles: Sequence[Profile], direction: CampaignDirection = "auto", is_by_name: bool = False) -> Campaign:
    """The campaign that profiles are of: those whose I/O overlapped in time were one run.

    is_by_name: two jobs RUN-a and RUN-b, or RUN-1 and RUN-2, were one run even if their I/O never overlapped.
    Raises UserError where they share no storage, or moved nothing, or their slices fit no common grid.
    """
    if not profiles:
        raise UserError("there is no profile; give those of jobs that ran alone and of jobs that ran together")
    grid_ns = common_slice_ns(profiles)
    runs = [run_of(profile, name) for profile, name in zip(profiles, _names(profiles), strict=True)]
    chosen = _busier(runs) if direction == "auto" else direction
    moved = {run.name: _bytes_on_mounts(run, chosen) for run in runs}
    for run in runs:
        if moved[run.name].is_empty():
            raise UserError(f"{run.profile.path}: moved no bytes of files ({chosen}); leave it out, or see --direction")
    key = storage.shared_storage(moved)
    if key is None:
        raise UserError("there is no file system on which all of these jobs moved bytes; give jobs that share one")
    jobs, slices = [], []
    for run in runs:
        mounts = storage.on_storage(run.mounts, key)
        slices.append(_per_slice(run, mounts, chosen, grid_ns))
        jobs.append(_job_row(run, mounts, chosen, slices[-1]))
    table = _with_runs(pl.DataFrame(jobs), is_by_name)
    return Campaign(
        jobs=table.select(pl.col(name).cast(dtype) for name, dtype in JOBS_SCHEMA.items()),
        slices=_shared_in_full(pl.concat(slices), table, grid_ns / 1e9),
        slice_seconds=grid_ns / 1e9,
        direction=chosen,
        storage=storage.describe(key, moved),
        profiles=list(profiles),
    )


def pair_of(sizes: Iterable[tuple[int, int, int]]) -> str:
    """The name of a combination of jobs by (processes, nodes, mounts): "1 + 12", "4 on 2 nodes + 8 on 4 nodes"."""
    return " + ".join(_size(*size) for size in sorted(sizes))


def _size(processes: int, nodes: int, mounts: int) -> str:
    where = f" on {nodes} nodes" if nodes > 1 else ""
    return f"{processes}{where}{f' by {mounts} mounts' if mounts != nodes else ''}"


def _names(profiles: Sequence[Profile]) -> list[str]:
    names: list[str] = []
    for profile in profiles:
        namesakes = sum(other.job == profile.job for other in profiles[: len(names)])
        names.append(f"{profile.job} ({namesakes + 1})" if namesakes else profile.job)
    return names


def _busier(runs: Sequence[Run]) -> Direction:
    totals = {
        direction: sum(int(bytes_by_mount(run.profile, run.members, direction)["bytes"].sum()) for run in runs)
        for direction in DIRECTIONS
    }
    return max(DIRECTIONS, key=lambda direction: totals[direction])


def _bytes_on_mounts(run: Run, direction: Direction) -> pl.DataFrame:
    return bytes_by_mount(run.profile, run.members, direction).join(run.mounts, on=["process", "mount"])


def _per_slice(run: Run, mounts: pl.DataFrame, direction: Direction, grid_ns: int) -> pl.DataFrame:
    """A row a process, mount and slice of the grid: job, process, node, point, slice, bytes, ops, ns, threads."""
    return (
        own_rows(run.profile)
        .join(run.members.lazy().select("process", "node"), on="process")
        .join(mounts.lazy().select("process", "mount", "point"), on=["process", "mount"])
        .with_columns(pl.col("slice") // (grid_ns // run.profile.slice_ns))
        .group_by("process", "node", "point", "slice")
        .agg(
            pl.col(f"{direction}_bytes").sum().cast(pl.Int64).alias("bytes"),
            pl.col(f"{direction}_ops").sum().cast(pl.Int64).alias("ops"),
            pl.col(f"{direction}_ns").sum().cast(pl.Int64).alias("ns"),
            pl.col("threads").max().clip(1).cast(pl.Int64),
        )
        .filter(pl.col("bytes") > 0)
        .with_columns(job=pl.lit(run.name))
        .collect()
        .select("job", "process", "node", "point", "slice", "bytes", "ops", "ns", "threads")
        .sort("process", "point", "slice")
    )


def _job_row(run: Run, mounts: pl.DataFrame, direction: Direction, rows: pl.DataFrame) -> dict[str, object]:
    # What is written is not there before it is synced: where a file system writes back, the sync is part of the time.
    kinds = ("write", "sync") if direction == "write" else ("read",)
    own = (
        own_rows(run.profile)
        .join(run.members.lazy().select("process"), on="process")
        .join(mounts.lazy().select("process", "mount"), on=["process", "mount"], how="semi")
        .group_by("process", "slice")
        .agg(
            pl.col(f"{direction}_bytes").sum().alias("bytes").cast(pl.Int64),
            sum(pl.col(f"{kind}_ns").sum() for kind in kinds).cast(pl.Int64).alias("ns"),
            pl.col("threads").max().clip(1).cast(pl.Int64),
        )
        .filter((pl.col("bytes") > 0) | (pl.col("ns") > 0))
        .collect()
    )
    span = io_span(own, run.members, run.profile.slice_ns)
    return {
        "job": run.name,
        "program": run.job.program,
        "processes": rows["process"].n_unique(),
        "nodes": rows["node"].n_unique(),
        "mounts": rows.select("node", "point").n_unique(),
        "outstanding": rows["ns"].sum() / 1e9 / span.seconds.value * rows["bytes"].sum() / max(rows["ops"].sum(), 1),
        "bytes": int(rows["bytes"].sum()),
        "start_ns": span.start_ns,
        "end_ns": span.end_ns,
        "seconds": span.seconds.value,
        "seconds_low": span.seconds.low,
        "seconds_high": span.seconds.high,
    }


def _with_runs(jobs: pl.DataFrame, is_by_name: bool) -> pl.DataFrame:
    """The jobs with `run`, `pair` and `start`: those whose I/O overlaps in time, directly or through others, ran
    together; by name also those that are the two jobs of one run, however far apart.
    """
    ordered = jobs.sort("start_ns", "job")
    names = set(ordered["job"])
    number, latest, numbers, named = -1, 0, [], {}
    for name, start, end in ordered.select("job", "start_ns", "end_ns").iter_rows():
        partners = PARTNERS.fullmatch(name) if is_by_name else None
        is_one_of_two = partners is not None and {f"{partners[1]}-{last}" for last in PAIRS[partners[2]]} <= names
        if is_one_of_two and partners[1] in named:
            numbers.append(named[partners[1]])
        else:
            number += start >= latest or number < 0 or is_one_of_two
            numbers.append(number)
        if is_one_of_two:
            named[partners[1]] = numbers[-1]
        latest = max(latest, end)
    rows = []
    for _, run in ordered.with_columns(number=pl.Series(numbers)).group_by("number", maintain_order=True):
        rows.append(
            run.sort("job").with_columns(
                run=pl.lit(" + ".join(run["job"].sort())),
                pair=pl.lit(pair_of(run.select("processes", "nodes", "mounts").iter_rows())),
                start=(pl.col("start_ns") - run["start_ns"].min()) / 1e9,
            )
        )
    return pl.concat(rows)


def _shared_in_full(rows: pl.DataFrame, jobs: pl.DataFrame, slice_seconds: float) -> pl.DataFrame:
    """The rows of slices in which every job that moved a byte did so throughout; see `Campaign.slices`."""
    movers = rows.group_by("job").agg(
        pl.col("process").n_unique().alias("movers"),
        pl.col("slice").min().alias("first"),
        pl.col("slice").max().alias("last"),
    )
    in_flight = pl.col("ns").sum() / (slice_seconds * 1e9)
    per_slice = (
        rows.group_by("job", "slice")
        .agg(
            pl.col("bytes").sum(),
            processes=pl.col("process").n_unique().cast(pl.Int64),
            nodes=pl.col("node").n_unique().cast(pl.Int64),
            mounts=pl.struct("node", "point").n_unique().cast(pl.Int64),
            outstanding=in_flight * pl.col("bytes").sum() / pl.col("ops").sum().clip(1),
        )
        .join(movers, on="job")
        .join(jobs.select("job", "run", "pair"), on="job")
        .with_columns(
            is_full=pl.col("slice").is_between("first", "last", closed="none")
            & (pl.col("processes") >= LEAST_AT_WORK * pl.col("movers")),
            seconds=pl.lit(slice_seconds),
        )
    )
    return (
        per_slice.filter(pl.col("is_full").all().over("run", "slice"))
        .select(pl.col(name).cast(dtype) for name, dtype in SLICES_SCHEMA.items())
        .sort("run", "slice", "job")
    )
