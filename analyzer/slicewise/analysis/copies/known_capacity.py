"""What a storage can serve, for copies of a job: as it was given, fitted, or seen while several jobs were at it.

Digests in, dataclasses out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from slicewise.analysis.copies.demand import Demand
from slicewise.analysis.copies.region import Region
from slicewise.analysis.runs.campaign import Campaign, campaign_of
from slicewise.analysis.runs.matching import run_of
from slicewise.analysis.runs.on_storage import on_storage
from slicewise.analysis.runs.rates import mean_rate, rates_of
from slicewise.analysis.runs.storage import Storage
from slicewise.analysis.sharing.capacity_curve import CapacityCurve
from slicewise.analysis.sharing.model import FittedModel
from slicewise.digest.activity import Direction, common_slice_ns
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.estimate import Estimate
from slicewise.text import words

Source = Literal["given", "fitted curve", "jobs side by side", "standalone run", "capacity region"]
# Jobs side by side that get at least this fraction of what they reach alone do not fill the storage.
NOT_SLOWED = 0.95
# A storage that serves one job alone so many times faster than others together was not asked for as much by these.
MUCH_FASTER = 1.25


@dataclass(frozen=True)
class KnownCapacity:
    """bytes/s that a storage serves. is_floor: it was never seen full, so it may well serve more. runs: the runs that
    show it. curve: where it changes with clients, and then `rate` is that of the most clients that were seen. region:
    where kinds of call cost differently, and then `rate` is that of what the job does.
    """

    rate: Estimate
    source: Source
    is_floor: bool = False
    runs: tuple[str, ...] = ()
    curve: CapacityCurve | None = None
    region: Region | None = None

    def at(self, jobs: int, processes: int, nodes: int, end: int = 0) -> float:
        """With so many clients; end: -1, 0, 1 for the low end, the middle, the high end of the interval."""
        if self.curve is None:
            return (self.rate.value, self.rate.high, self.rate.low)[end]
        clients = {"constant": 1, "jobs": jobs, "processes": processes, "nodes": nodes, "mounts": nodes}[self.curve.by]
        return (self.curve.at, self.curve.high, self.curve.low)[end](clients)


def given_capacity(bytes_per_second: float) -> KnownCapacity:
    """As the user says."""
    return KnownCapacity(
        Estimate(bytes_per_second, bytes_per_second, bytes_per_second, "as given with --capacity"), "given"
    )


def fitted_capacity(model: FittedModel) -> KnownCapacity | None:
    """The capacity of a fitted model; None where the model has none."""
    curve = model.capacity
    if curve is None:
        return None
    last = curve.points[-1].rate
    return KnownCapacity(Estimate(last.value, last.low, last.high, last.how), "fitted curve", curve=curve)


def seen_capacity(
    digests: Sequence[Digest], storage: Storage, direction: Direction, demands: Mapping[str, Demand]
) -> KnownCapacity | None:
    """What jobs that ran side by side got together on a storage; None where no two of them did.

    demands: what jobs reach alone, by their names. A run in which every job got what it reaches alone shows no more
    than that the storage serves so much.
    """
    moved = [on_storage(run_of(digest), storage.number, direction) for digest in digests]
    moved = [job for job in moved if job.bytes and job.span is not None]
    if len(moved) < 2:
        return None
    grid_ns = common_slice_ns([job.run.digest for job in moved])
    data = campaign_of(moved, storage.number, direction, grid_ns, "by time")
    found = list(_runs_together(data, demands, grid_ns))
    full = [rate for rate, _, is_full in found if is_full]
    chosen = full or [rate for rate, _, _ in found]
    if not chosen:
        return None
    names = tuple(name for rate, name, _ in found if rate in chosen)
    if full:
        value = sum(rate.value for rate in full) / len(full)
        rate = Estimate(value, min(one.low for one in full), max(one.high for one in full), _how(len(full), direction))
        alone = max((demand.rate for demand in demands.values()), key=lambda one: one.value, default=None)
        if alone is not None and alone.value > MUCH_FASTER * rate.value:
            return KnownCapacity(alone, "standalone run", runs=names)
        return KnownCapacity(rate, "jobs side by side", runs=names)
    return KnownCapacity(max(chosen, key=lambda one: one.value), "jobs side by side", is_floor=True, runs=names)


def refusal(storage: Storage, demand: Demand) -> UserError:
    """Says that the capacity is not known, and how to come to know it."""
    name = demand.job.job
    return UserError(
        f"how much {storage.point} can serve is not known: no two profiles show it with two jobs at work; run two of "
        f"{demand.job.program} side by side once and give both: slicewise copies {name} --seen A --seen B "
        "(or, where it is known: --capacity 2GiB/s)"
    )


def _runs_together(data: Campaign, demands: Mapping[str, Demand], grid_ns: int) -> Sequence[tuple[Estimate, str, bool]]:
    """A row for each run of several jobs: what they got together, the run's name, and whether the storage was full.

    Only slices that several jobs filled count. The storage was full if some job got less than it reaches alone, or if
    nobody knows what it reaches alone.
    """
    found = []
    for (run,), slices in data.slices.group_by("run", maintain_order=True):
        shared = slices.filter(pl.len().over("slice") > 1)
        together = shared.group_by("slice").agg(pl.col("bytes").sum(), pl.col("job").sort()).sort("slice")
        rate = mean_rate(rates_of(together, grid_ns))
        if rate is None:
            continue
        got = shared.group_by("job").agg(pl.col("bytes").mean() / (grid_ns / 1e9)).sort("job")
        is_full = any(
            job not in demands or rate_of < NOT_SLOWED * demands[job].rate.value for job, rate_of in got.iter_rows()
        )
        found.append((rate, str(run), is_full))
    return found


def _how(runs: int, direction: Direction) -> str:
    done = {"read": "read", "write": "wrote"}[direction]
    return f"what jobs {done} together in the slices that they filled, in {words.count(runs, 'run')}"
