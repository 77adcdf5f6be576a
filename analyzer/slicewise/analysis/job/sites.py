"""Where in the program the I/O was: samples of call sites with their frames as a reader knows them, and flame graphs.

Frames in, frames out. One sample stands for as much I/O time as the profile says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from slicewise.digest.digest import Digest
from slicewise.kinds import Cost
from slicewise.scalars import whole
from slicewise.symbols.resolve import Place, resolve

COSTS: dict[Cost, str] = {"time": "seconds", "bytes": "bytes", "calls": "calls"}
# What has no stack of its own: more call sites than there was room for.
ALL_OTHERS = (Place("(call sites beyond the table)"),)

SAMPLES_SCHEMA = pl.Schema(
    {
        "stack": pl.UInt32, "process": pl.UInt64, "slice": pl.Int64, "operation": pl.String, "samples": pl.Int64,
        "seconds": pl.Float64, "bytes": pl.Float64, "calls": pl.Float64,
    }
)  # fmt: skip


@dataclass(frozen=True)
class Sites:
    """stacks: each a tuple of places, the outermost first, the function that was called last. samples: one row a stack,
    process and slice, `SAMPLES_SCHEMA`; seconds, bytes and calls are what the samples stand for: estimates.

    sample_seconds: I/O time that one sample stands for; None where none were taken.
    """

    stacks: list[tuple[Place, ...]]
    samples: pl.DataFrame
    sample_seconds: float | None


def sites(digest: Digest, search: Sequence[Path] = ()) -> Sites:
    """The call sites of a job's own processes, resolved. search: directories with the programs or their debug
    information, for a machine that has them elsewhere.
    """
    processes = digest.processes.filter("is_of_job")
    own = digest.sites.join(processes, on="process", how="semi")
    if own.is_empty():
        return Sites([], pl.DataFrame(schema=SAMPLES_SCHEMA), None)
    site_stacks = _stacks(digest, search)
    keys = own.select("process", "site", "operation").unique().sort("process", "site", "operation")
    numbers: dict[tuple[Place, ...], int] = {}
    stack_of = [
        numbers.setdefault((*site_stacks.get((process, site), ALL_OTHERS), Place(operation)), len(numbers))
        for process, site, operation in keys.iter_rows()
    ]
    samples = (
        own.join(keys.with_columns(pl.Series("stack", stack_of, pl.UInt32)), on=["process", "site", "operation"])
        .group_by("stack", "process", "slice", "operation")
        .agg(pl.col("samples", "seconds", "bytes", "calls").sum())
        .select(pl.col(name).cast(dtype) for name, dtype in SAMPLES_SCHEMA.items())
        .sort("stack", "process", "slice")
    )
    return Sites(list(numbers), samples, whole(digest.processes["site_ns"].max()) / 1e9)


def _stacks(digest: Digest, search: Sequence[Path]) -> dict[tuple[int, int], tuple[Place, ...]]:
    """The frames of each (process, site), the outermost first."""
    frames = digest.site_frames.sort("process", "site", "depth", descending=[False, False, True])
    asked: dict[tuple[str, str], set[int]] = defaultdict(set)
    for module, build_id, offset in (
        frames.filter(pl.col("function") == "").select("module", "build_id", "offset").unique().iter_rows()
    ):
        asked[module, build_id].add(offset)
    known = {key: resolve(*key, offsets, search) for key, offsets in asked.items()}
    stacks: dict[tuple[int, int], tuple[Place, ...]] = {}
    for (process, site), group in frames.group_by("process", "site", maintain_order=True):
        places: list[Place] = []
        for frame in group.iter_rows(named=True):
            if frame["function"]:
                places.append(Place(frame["function"], "", frame["file"], frame["line"]))
            else:
                places.extend(reversed(known[frame["module"], frame["build_id"]][frame["offset"]]))
        stacks[process, site] = tuple(places)
    return stacks


def totals(found: Sites, slices: range | None = None) -> pl.DataFrame:
    """stack, samples, seconds, bytes, calls, first_slice, last_slice, processes of each stack, the longest first.

    slices: those alone that are told; None: all.
    """
    samples = found.samples
    if slices is not None:
        samples = samples.filter(pl.col("slice").is_between(slices.start, slices.stop, closed="left"))
    return (
        samples.group_by("stack")
        .agg(
            pl.col("samples", "seconds", "bytes", "calls").sum(),
            first_slice=pl.col("slice").min(),
            last_slice=pl.col("slice").max(),
            processes=pl.col("process").n_unique(),
        )
        .sort("seconds", "stack", descending=[True, False])
    )


def folded(found: Sites, cost: Cost, slices: range | None = None) -> list[tuple[tuple[str, ...], float]]:
    """Each stack as its frames' names, the outermost first, with what it cost; the same names added up, sorted."""
    summed: dict[tuple[str, ...], float] = defaultdict(float)
    for stack, value in totals(found, slices).select("stack", COSTS[cost]).iter_rows():
        summed[tuple(place.function for place in found.stacks[stack])] += value
    return sorted(summed.items())
