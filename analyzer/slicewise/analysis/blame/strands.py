"""Processes that ran one after another, taken as one: where a script starts many short programs, each one waited for
the last, and what they all lost is what the script lost.

Frames in, frames out.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import polars as pl

from slicewise.analysis.blame.on_storage import OnStorage, on_storages
from slicewise.analysis.blame.timeline import AMOUNTS, CALLS, SECONDS, call_rows, slice_rows
from slicewise.analysis.blame.to_runtime import Waits, phase_of_slices
from slicewise.digest.activity import members
from slicewise.digest.digest import Digest
from slicewise.digest.processes import are_ranks

# A process that began so long before its predecessor's end began after it: clocks are read one after the other.
CLOCKS_NS = 1_000_000
LIFETIME = ("process", "start_ns", "end_ns")


@dataclass(frozen=True)
class Strands:
    """calls: of `timeline.call_rows` of a job, with the first process of its strand in place of each process. waits:
    whose I/O decides how long the job's takes.
    """

    calls: pl.DataFrame
    waits: Waits

    @cached_property
    def slices(self) -> pl.DataFrame:
        """The job as a whole: `timeline.slice_rows`."""
        return slice_rows(self.calls)

    @cached_property
    def phases(self) -> pl.DataFrame:
        """`to_runtime.phase_of_slices`."""
        return phase_of_slices(self.slices)

    @cached_property
    def by_itself(self) -> dict[int, OnStorage]:
        """The job by storage, as if it had each to itself."""
        return on_storages(self.slices)


# As a digest's frames, these are made when they are first asked for, and stay as long as it does: a run alone is held
# against many others.
_MADE: WeakKeyDictionary[Digest, dict[int, Strands]] = WeakKeyDictionary()


def job_strands(digest: Digest, grid_ns: int) -> Strands:
    """What a job's strands did. Ranks wait for each other, and stay what they are."""
    made = _MADE.setdefault(digest, {})
    if grid_ns not in made:
        made[grid_ns] = _strands(digest, grid_ns)
    return made[grid_ns]


def _strands(digest: Digest, grid_ns: int) -> Strands:
    calls, who = call_rows(digest, grid_ns), members(digest)
    if calls["process"].n_unique() < 2:
        return Strands(calls, "one process")
    if who.select(are_ranks()).item():
        return Strands(calls, "ranks")
    first = first_of_strand(who.join(calls, on="process", how="semi").select(LIFETIME).iter_rows())
    return Strands(by_strand(calls, first), "strands" if first else "processes")


def first_of_strand(lifetimes: Iterable[tuple[int, int, int]]) -> dict[int, int]:
    """The first process of its strand, of each process that is not that itself. lifetimes: of one job, LIFETIME.

    A process goes on where the one ended that ended last before it began. Those that ran side by side are in different
    strands: there are as many of these as processes ran at one time at most.
    """
    found: dict[int, int] = {}
    ended: list[tuple[int, int]] = []
    for process, start_ns, end_ns in sorted(lifetimes, key=lambda one: (one[1], one[2], one[0])):
        at = bisect_right(ended, start_ns + CLOCKS_NS, key=lambda one: one[0])
        first = process
        if at:
            _, first = ended.pop(at - 1)
            found[process] = first
        insort(ended, (end_ns, first))
    return found


def by_strand(calls: pl.DataFrame, first: Mapping[int, int]) -> pl.DataFrame:
    """Rows of calls with these processes' rows added to those of the first one of their strand."""
    if not first:
        return calls
    counts = (*SECONDS.values(), *AMOUNTS.values(), *CALLS.values())
    places = [name for name in calls.columns if name not in counts]
    return (
        calls.with_columns(pl.col("process").replace(first))
        .group_by(places, maintain_order=True)
        .agg(pl.col(counts).sum())
        .select(calls.columns)
        .sort("storage", "slice", "process")
    )
