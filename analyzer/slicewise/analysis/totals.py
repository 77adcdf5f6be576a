"""What a profile holds in sum: the job's totals by layer and by object, and how much of the kernel's count they cover.

Profile in, dataclass out. Which counters there are, and their units, is taken from the profile's own schema.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl

from slicewise.analysis.activity import OWN_LAYERS
from slicewise.analysis.coverage import KERNEL_LAYER, Coverage, count_processes, coverage, job_processes
from slicewise.profile.damage import Damage
from slicewise.profile.reader import Profile

MPIIO_LAYERS = ("mpiio", "mpiio_coll")
OBJECTS = ("file", "device", "pipe", "socket", "other")


@dataclass(frozen=True)
class ProfilerCost:
    """The profiler's own time, of all processes together, and its share of their runtimes (None: no runtime known)."""

    seconds: float
    share_of_runtime: float | None


@dataclass(frozen=True)
class Summary:
    """A profile in sum; the keys of `slicewise info --json`, see docs/commands.md.

    All is over the job's processes: in an MPI job those with a rank, else all. `other_processes` are the rest (mpirun
    and its helpers); mishaps are theirs too. `ranks_of` is the size of MPI_COMM_WORLD.
    """

    job: str
    slice_seconds: float
    processes: int
    other_processes: int
    ranks: int
    ranks_of: int
    hosts: list[str]
    programs: list[str]
    start: str | None
    end: str | None
    slices: int
    first_slice: int | None
    end_slice: int | None
    totals: dict[str, dict[str, Any]]
    by_object: dict[str, dict[str, Any]]
    mounts: list[dict[str, Any]]
    calls: dict[str, int]
    coverage: Coverage
    profiler: ProfilerCost
    mishaps: dict[str, int]
    damage: list[Damage]


def summarize(profile: Profile) -> Summary:
    """Add up a profile."""
    processes = job_processes(profile)
    sums = _sums_by_place(profile, processes)
    own = sums.filter(pl.col("layer").is_in(OWN_LAYERS))
    of_files = sums.filter(pl.col("object") == "file")
    active = _active_slices(profile, processes)
    ranked = processes.filter(pl.col("rank") >= 0)
    return Summary(
        job=profile.job,
        slice_seconds=profile.slice_ns / 1e9,
        processes=count_processes(processes),
        other_processes=count_processes(profile.processes) - count_processes(processes),
        ranks=ranked["rank"].n_unique(),
        ranks_of=ranked["ranks"].max() or 0,
        hosts=processes["host"].unique().sort().to_list(),
        programs=processes["program"].unique().sort().to_list(),
        start=_iso(processes["start_ns"].min()),
        end=_iso(processes["end_ns"].max()),
        slices=len(active),
        first_slice=active.min(),
        end_slice=None if active.is_empty() else active.max() + 1,
        totals={
            name: _record(of_files.filter(pl.col("layer").is_in(layers)), profile)
            for name, layers in [*((layer, [layer]) for layer in OWN_LAYERS), ("mpiio", MPIIO_LAYERS)]
        },
        by_object={name: _record(own.filter(pl.col("object") == name), profile) for name in OBJECTS},
        mounts=_mounts(own.filter(pl.col("object") == "file"), profile),
        calls=dict(_added_up(profile.calls.join(processes, on="process", how="semi"), "operation", "calls")),
        coverage=coverage(profile, processes),
        profiler=profiler_cost(profile, processes),
        mishaps=dict(_added_up(profile.mishaps, "mishap", "count")),
        damage=profile.damage,
    )


def profiler_cost(profile: Profile, processes: pl.DataFrame) -> ProfilerCost:
    """The time of the profiler's slow paths, and its calibrated cost of each counted call, against the runtimes."""
    calls = profile.calls.group_by("process").agg(pl.col("calls").sum())
    costs = processes.join(calls, on="process", how="left").select(
        cost_ns=pl.col("profiler_ns") + pl.col("calls").fill_null(0) * (pl.col("call_cost_ps") / 1000),
        runtime_ns=(pl.col("end_ns").cast(pl.Int64) - pl.col("start_ns").cast(pl.Int64)).clip(0),
    )
    cost_ns, runtime_ns = costs["cost_ns"].sum(), costs["runtime_ns"].sum()
    return ProfilerCost(cost_ns / 1e9, cost_ns / runtime_ns if runtime_ns else None)


def _active_slices(profile: Profile, processes: pl.DataFrame) -> pl.Series:
    """The numbers of the slices in which the job made any call."""
    calls = profile.slices.lazy().filter(pl.col("layer") != KERNEL_LAYER)
    return calls.join(processes.lazy(), on="process", how="semi").select(pl.col("slice").unique()).collect()["slice"]


def _sums_by_place(profile: Profile, processes: pl.DataFrame) -> pl.DataFrame:
    """The counters of the job by layer and by what its descriptors led to: object, point, type, source, layer,
    processes (a list), then every counter. Where the profile has lost what a descriptor led to, it is "other".

    The table of slices is large: it gets one narrow column more, and is never copied.
    """
    what = ["object", "point", "type", "source"]
    mounts = profile.mounts.select("process", "mount", *what)
    places = mounts.select(what).unique().with_row_index("place")
    keys = profile.slices.select("process", "mount").join(
        mounts.join(places, on=what).select("process", "mount", "place"),
        on=["process", "mount"], how="left", maintain_order="left",
    )  # fmt: skip
    is_of_job = profile.slices["process"].is_in(processes["process"].implode())
    sums = (
        profile.slices.with_columns(keys["place"], is_of_job.alias("is_of_job"))
        .group_by("is_of_job", "place", "layer")
        .agg(pl.col("process").unique().alias("processes"), *_merged_counters(profile))
        .filter("is_of_job")
    )
    return sums.join(places, on="place", how="left", nulls_equal=True).with_columns(
        pl.col("object").fill_null("other"), pl.col("point", "type", "source").fill_null("")
    )


def _merged_counters(profile: Profile) -> Iterable[pl.Expr]:
    """An expression for every counter of `slices`, bins aside, that merges it over slices as the schema asks."""
    for column in profile.schema.table("slices").columns:
        if column.unit == "threads":  # one thread is in many slices
            continue
        if column.merge == "SUM" and not column.bins:
            yield pl.col(column.name).sum()
        elif column.merge == "MAX" and not column.bins:
            yield pl.col(column.name).max().fill_null(0)


def _in_seconds(frame: pl.DataFrame, profile: Profile) -> pl.DataFrame:
    """Counters of nanoseconds as seconds, in their names too."""
    named = {
        column.name: f"{column.name.removesuffix('_ns')}_seconds"
        for column in profile.schema.table("slices").columns
        if column.unit == "ns" and column.name in frame.columns
    }
    return frame.with_columns(pl.col(list(named)) / 1e9).rename(named)


def _record(sums: pl.DataFrame, profile: Profile) -> dict[str, Any]:
    return _in_seconds(sums.select(_merged_counters(profile)), profile).row(0, named=True)


def _mounts(own: pl.DataFrame, profile: Profile) -> list[dict[str, Any]]:
    """Every file system that the job did I/O on, the most bytes first: what it is, how many processes, its sums."""
    what = ["point", "type", "source"]
    sums = own.group_by(what).agg(pl.col("processes").explode().n_unique(), *_merged_counters(profile))
    by_bytes = sums.sort(pl.col("read_bytes") + pl.col("write_bytes"), "point", descending=[True, False])
    return _in_seconds(by_bytes, profile).to_dicts()


def _added_up(frame: pl.DataFrame, name: str, number: str) -> Iterable[tuple[str, int]]:
    """Numbers added up by name, the largest first."""
    summed = frame.group_by(name).agg(pl.col(number).sum()).filter(pl.col(number) > 0)
    return summed.sort(number, name, descending=[True, False]).iter_rows()


def _iso(time_ns: int | None) -> str | None:
    """An instant as ISO 8601 in UTC, to the microsecond; None for an unknown one."""
    return datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat(timespec="microseconds") if time_ns else None
