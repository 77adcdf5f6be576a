"""Many profiles as one campaign: who ran beside whom, what each job was, and the slices that say how it was shared.
Models of sharing are fitted to these frames, which can as well be made by hand.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import polars as pl

from slicewise.analysis.runs import storage
from slicewise.analysis.runs.matching import Run, each_once, run_of
from slicewise.analysis.runs.on_storage import RunOnStorage, on_storage
from slicewise.analysis.runs.rates import Rates, outliers, rates_of
from slicewise.analysis.runs.storage import Storage
from slicewise.digest.activity import (
    Direction,
    bytes_by_storage,
    common_slice_ns,
    on_grid,
)
from slicewise.digest.company import groups_in_time
from slicewise.digest.digest import Digest
from slicewise.digest.full import full_slices
from slicewise.errors import UserError
from slicewise.estimate import Estimate
from slicewise.kinds import CampaignDirection
from slicewise.scalars import whole
from slicewise.text import words

# Which jobs ran together: those whose I/O overlapped in time; these, and those whose names say so; or all of them.
Together = Literal["by time", "by name", "all"]

# The two jobs of a run by name; what ran alone is no such job.
PARTNERS = re.compile(r"((?!.*\balone\b).+)-([ab12])")
PAIRS = {"a": "ab", "b": "ab", "1": "12", "2": "12"}
# Jobs share a storage in earnest if each moved so much of what it moved on the one that it used most.
LEAST_SHARED = 0.1
SIZE = ("program", "processes", "nodes", "mounts")
# Rows of a campaign's jobs: of those that ran alone, and of those that did not.
ALONE, TOGETHER = pl.len().over("run") == 1, pl.len().over("run") > 1
JOBS_SCHEMA = pl.Schema(
    dict.fromkeys(("run", "pair", "job", "program"), pl.String)
    | dict.fromkeys(("processes", "nodes", "mounts"), pl.Int64)
    | {"outstanding": pl.Float64, "bytes": pl.Int64}
    | dict.fromkeys(("start", "seconds", "seconds_low", "seconds_high", "rate", "rate_low", "rate_high"), pl.Float64)
)
SLICES_SCHEMA = pl.Schema(
    {"run": pl.String, "pair": pl.String, "slice": pl.Int64, "job": pl.String, "seconds": pl.Float64}
    | dict.fromkeys(("bytes", "processes", "nodes", "mounts"), pl.Int64)
    | {"outstanding": pl.Float64}
)


@dataclass(frozen=True)
class Campaign:
    """Runs of one job alone and of several together on one storage, in one direction.

    jobs (`JOBS_SCHEMA`), a row a job of a run: processes, nodes and mounts (of different nodes) that moved bytes there;
    outstanding, the bytes that it kept under way on average, by Little's law: time in calls over the slice's length
    times bytes a call; bytes; start (s after the first of its run); seconds (I/O time span, with its bounds; of writes
    it reaches to the end of the last sync); rate (bytes/s over that span, with its bounds; where a frame made by hand
    has none, they follow from those of seconds). `pair` names the sizes of the jobs of a run, and is the
    same for its repeats; a run of one job is that job alone.

    slices (`SLICES_SCHEMA`), a row a job and slice: of those slices alone in which every job that moved a byte was at
    work throughout, with nearly all of its processes, and in which no job waited for syncs alone: then the storage
    works for it, and what the others get is not all that there is.

    activity (`digest.activity.ACTIVITY_SCHEMA`): what each process of the jobs moved there in each slice of the grid.

    apart: empty; where the jobs share no storage, and may do so, the storage of each job that "there" is.
    """

    jobs: pl.DataFrame
    slices: pl.DataFrame
    activity: pl.DataFrame
    slice_seconds: float
    direction: Direction
    storage: Storage
    digests: list[Digest]
    apart: dict[str, Storage] = field(default_factory=dict)

    def rates_in_full_slices_of_all(self) -> dict[str, Rates]:
        """Each job's bytes/s in the slices, in order, that all jobs of the campaign were at work in throughout."""
        of_all = self.slices.filter(pl.len().over("slice") == self.jobs.height)
        slice_ns = round(self.slice_seconds * 1e9)
        return {job: rates_of(of_all.filter(pl.col("job") == job).sort("slice"), slice_ns) for job in self.jobs["job"]}


def campaign(
    digests: Sequence[Digest],
    direction: CampaignDirection = "auto",
    is_by_name: bool = False,
    may_be_apart: bool = False,
) -> Campaign:
    """The campaign that jobs are of: those whose I/O overlapped in time were one run. is_by_name: two jobs RUN-a and
    RUN-b, or RUN-1 and RUN-2, were one run even if their I/O never overlapped. may_be_apart: where jobs share no
    storage that is worth it, each counts with the one on which it moved most (`Campaign.apart`). Raises UserError where
    they otherwise share no storage, or moved nothing, or their slices fit no common grid.
    """
    if not digests:
        raise UserError("there is no profile; give those of jobs that ran alone and of jobs that ran together")
    digests = each_once(digests)
    grid_ns = common_slice_ns(digests)
    runs = [run_of(digest) for digest in digests]
    chosen = storage.busier_direction(digests) if direction == "auto" else direction
    moved = {run.name: bytes_by_storage(run.digest, chosen) for run in runs}
    for run in runs:
        if moved[run.name].is_empty():
            raise UserError(f"{run.digest.path}: moved no bytes of files ({chosen}); leave it out, or see --direction")
    together: Together = "by name" if is_by_name else "by time"
    key = storage.shared_storage(moved.values(), LEAST_SHARED if may_be_apart else 0.0)
    if key is not None:
        return campaign_of([on_storage(run, key, chosen) for run in runs], key, chosen, grid_ns, together)
    if not may_be_apart:
        raise UserError(_no_common_storage(moved, digests))
    keys = {name: int(own["storage"][0]) for name, own in moved.items()}
    found = campaign_of([on_storage(run, keys[run.name], chosen) for run in runs], keys, chosen, grid_ns, together)
    return replace(found, apart={run.name: storage.describe(keys[run.name], [run.digest]) for run in runs})


def _no_common_storage(moved: Mapping[str, pl.DataFrame], digests: Sequence[Digest]) -> str:
    """Why jobs are no campaign, with those to leave out where they are the fewer."""
    found = storage.apart_from_most(moved)
    if found is None:
        return "there is no file system on which all of these jobs moved bytes; give jobs that share one"
    most, others = found
    where = storage.describe(most, digests)
    return (
        f"{words.some(others)}: moved no bytes on {where.point} ({where.type}, {where.source}), as the other "
        f"{len(moved) - len(others)} jobs did; leave out what used another file system"
    )


def campaign_of(
    moved: Sequence[RunOnStorage], key: int | Mapping[str, int], direction: Direction, grid_ns: int, together: Together
) -> Campaign:
    """The campaign of runs that moved bytes on a storage, on a grid of slices of grid_ns. key: the storage's number, or
    each run's by its name; the campaign's is then the first run's. together: which of them were one run. `overlap` is
    the campaign of all runs that it is given.
    """
    jobs, slices, activities = [], [], []
    keys = {job.name: key if isinstance(key, int) else key[job.name] for job in moved}
    for job in moved:
        mounts = _mounts_in_use(job.run, keys[job.name], direction)
        jobs.append(_job_row(job, mounts))
        rows = on_grid(job.activity, job.run.digest.slice_ns, grid_ns)
        activities.append(rows)
        slices.append(rows.filter(pl.col("bytes") > 0).join(mounts, on="process"))
    table = _with_runs(pl.DataFrame(jobs), together)
    digests = [job.run.digest for job in moved]
    return Campaign(
        jobs=table.select(pl.col(name).cast(dtype) for name, dtype in JOBS_SCHEMA.items()),
        slices=_shared_in_full(pl.concat(slices), _syncing(pl.concat(activities)), table, grid_ns / 1e9),
        activity=pl.concat(activities),
        slice_seconds=grid_ns / 1e9,
        direction=direction,
        storage=storage.describe(keys[moved[0].name], digests),
        digests=digests,
    )


def campaign_there(digests: Sequence[Digest], key: int, direction: Direction) -> Campaign | None:
    """The campaign of those jobs that moved bytes on a storage; None of fewer than two."""
    moved = [on_storage(run_of(digest), key, direction) for digest in digests]
    moved = [job for job in moved if job.bytes and job.span is not None]
    if len(moved) < 2:
        return None
    return campaign_of(moved, key, direction, common_slice_ns([job.run.digest for job in moved]), "by time")


def rates_of_runs(jobs: pl.DataFrame) -> list[Estimate]:
    """The rate over its I/O time span (bytes/s) of each row of a campaign's jobs."""
    volume = pl.col("bytes")
    known = jobs.select(
        pl.col("rate").fill_null(volume / pl.col("seconds")),
        pl.col("rate_low").fill_null(volume / pl.col("seconds_high")),
        pl.col("rate_high").fill_null(volume / pl.col("seconds_low")),
    )
    how = "bytes over the I/O time span"
    return [Estimate(value, low, high, how) for value, low, high in known.iter_rows()]


def pair_of(sizes: Iterable[tuple[int, int, int]]) -> str:
    """The name of a combination of jobs by (processes, nodes, mounts): "1 + 12", "4 on 2 nodes + 8 on 4 nodes"."""
    return " + ".join(_size(*size) for size in sorted(sizes))


def _size(processes: int, nodes: int, mounts: int) -> str:
    where = f" on {nodes} nodes" if nodes > 1 else ""
    return f"{processes}{where}{f' by {mounts} mounts' if mounts != nodes else ''}"


def _mounts_in_use(run: Run, key: int, direction: Direction) -> pl.DataFrame:
    """The mounts of a storage through which each process moved bytes: process, mounts (lists of node and point)."""
    through = run.digest.mounts.filter((pl.col("storage") == key) & (pl.col(f"{direction}_bytes") > 0))
    return (
        through.join(run.members.select("process", "node"), on="process")
        .group_by("process")
        .agg(mounts=pl.struct("node", "point").unique())
    )


def _job_row(job: RunOnStorage, mounts: pl.DataFrame) -> dict[str, object]:
    own, span, rate = job.activity, job.span, job.rate()
    assert span is not None
    return {
        "job": job.name,
        "program": job.run.job.program,
        "processes": len(job.processes),
        "nodes": job.nodes,
        "mounts": mounts["mounts"].explode().n_unique(),
        "outstanding": whole(own["ns"].sum()) / 1e9 / span.seconds.value * job.bytes / max(whole(own["ops"].sum()), 1),
        "bytes": job.bytes,
        "start_ns": span.start_ns,
        "end_ns": span.end_ns,
        "seconds": span.seconds.value,
        "seconds_low": span.seconds.low,
        "seconds_high": span.seconds.high,
        "rate": rate.value,
        "rate_low": rate.low,
        "rate_high": rate.high,
    }


def _pair_by_name(name: str, names: Collection[str]) -> str:
    partners = PARTNERS.fullmatch(name)
    if partners is None or not all(f"{partners[1]}-{last}" in names for last in PAIRS[partners[2]]):
        return ""
    return partners[1]


def _with_runs(jobs: pl.DataFrame, together: Together) -> pl.DataFrame:
    """The jobs with `run`, `pair` and `start`: those whose I/O overlaps in time, directly or through others, ran
    together; by name those that are the two jobs of one run, however far apart, and nobody else.
    """
    ordered = jobs.sort("start_ns", "job")
    names = set(ordered["job"])
    pairs = [_pair_by_name(name, names) if together == "by name" else "" for name in ordered["job"]]
    numbered = ordered.with_columns(named=pl.Series(pairs, dtype=pl.String), number=pl.lit(0, pl.Int64))
    if together != "all":
        spans = numbered.select("start_ns", "end_ns").rows()
        others = [place for place, pair in enumerate(pairs) if not pair]
        groups = dict(zip(others, groups_in_time([spans[place] for place in others]), strict=True))
        numbers = [groups.get(place, 0) for place in range(len(pairs))]
        numbered = numbered.with_columns(number=pl.Series(numbers, dtype=pl.Int64))
    rows = []
    for _, with_number in numbered.group_by("named", "number", maintain_order=True):
        run = with_number.drop("named", "number")
        rows.append(
            run.sort("job").with_columns(
                run=pl.lit(" + ".join(run["job"].sort())),
                pair=pl.lit(pair_of(run.select("processes", "nodes", "mounts").iter_rows())),
                start=(pl.col("start_ns") - run["start_ns"].min()) / 1e9,
            )
        )
    return pl.concat(rows)


def _syncing(activity: pl.DataFrame) -> pl.DataFrame:
    """The slices in which jobs moved nothing and waited for syncs of what they had written: job, slice."""
    sums = activity.group_by("job", "slice").agg(pl.col("bytes", "io_ns").sum())
    return sums.filter(pl.col("bytes") == 0, pl.col("io_ns") > 0).select("job", "slice")


def _shared_in_full(
    rows: pl.DataFrame, syncing: pl.DataFrame, jobs: pl.DataFrame, slice_seconds: float
) -> pl.DataFrame:
    """The rows of slices in which every job that moved a byte did so throughout; see `Campaign.slices`."""
    runs = jobs.select("job", "run")
    in_flight = pl.col("ns").sum() / (slice_seconds * 1e9)
    return (
        rows.group_by("job", "slice")
        .agg(
            pl.col("bytes").sum(),
            processes=pl.col("process").n_unique(),
            nodes=pl.col("node").n_unique(),
            mounts=pl.col("mounts").explode().n_unique(),
            outstanding=in_flight * pl.col("bytes").sum() / pl.col("ops").sum().clip(1),
        )
        .join(jobs.select("job", "run", "pair"), on="job")
        .join(full_slices(rows).select("job", "slice", is_full=True), on=["job", "slice"], how="left")
        .filter(pl.col("is_full").fill_null(False).all().over("run", "slice"))
        .join(syncing.join(runs, on="job"), on=["run", "slice"], how="anti")
        .with_columns(seconds=pl.lit(slice_seconds))
        .select(pl.col(name).cast(dtype) for name, dtype in SLICES_SCHEMA.items())
        .sort("run", "slice", "job")
    )


def runs_that_stood_out(jobs: pl.DataFrame) -> set[str]:
    """The runs that stood out among repeats: same sizes, starts (to 1 s) and volumes (to 10 %)."""
    alike = pl.concat_str(pl.col("start").round(), pl.col("bytes").log().round(1), separator=" ")
    repeats = (
        jobs.filter(TOGETHER)
        .sort("run", *SIZE, "job")
        .with_columns(place=pl.int_range(pl.len()).over("run"), setting=alike.str.join("/").over("run"))
    )
    found = set()
    for _, runs in repeats.group_by("pair", "setting", "place"):
        found |= set(runs.filter(pl.Series(outliers(runs["seconds"].to_list()), dtype=pl.Boolean))["run"])
    return found
