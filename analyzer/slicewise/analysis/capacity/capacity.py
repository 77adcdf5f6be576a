"""What a storage gives to several jobs together, in bytes/s: given, fitted, or as jobs show it (docs/models.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from slicewise.analysis.capacity.by_clients import CapacityCurve
from slicewise.analysis.capacity.by_kind import Capacities
from slicewise.analysis.runs.rates import Rates, mean_rate, rates_of
from slicewise.constants import NOT_SLOWED
from slicewise.digest.full import full_slices
from slicewise.estimate import Estimate
from slicewise.text import words

Source = Literal[
    "given", "fitted curve", "jobs side by side", "standalone runs", "own slices", "envelope", "capacity region"
]
NO_RATES: Rates = np.empty(0)


@dataclass(frozen=True)
class Capacity:
    """The rate at which a storage serves all jobs together, bytes/s; its `how` says in words where it is from. source:
    "jobs side by side": what they got in slices that several filled; "standalone runs": the fastest of them; "own
    slices": slices that one job had to itself; "envelope": the highest rate of a slice, there being nothing else.
    is_floor: it was never seen full, so it may well serve more. runs: the runs that show it. curve: where it changes
    with clients, and then `rate` is that of the most clients that were seen. region: where kinds of call cost
    differently, and then `rate` is that of what the job does.
    """

    rate: Estimate
    source: Source
    is_floor: bool = False
    runs: tuple[str, ...] = ()
    curve: CapacityCurve | None = None
    region: Capacities | None = None

    def at(self, jobs: int, processes: int, nodes: int, end: int = 0, alone: float = 0.0) -> float:
        """With so many clients; end: -1, 0, 1 for the low end, the middle, the high end of the interval. alone: what is
        known of one job by itself, which reaches that; several may well get less in all.
        """
        if jobs <= 1 and alone > 0:
            return max(alone, self.at(jobs, processes, nodes, end))
        if self.curve is None:
            return self.rate.end(end)
        clients = {"constant": 1, "jobs": jobs, "processes": processes, "nodes": nodes, "mounts": nodes}[self.curve.by]
        return self.curve.at(clients, end)


@dataclass(frozen=True)
class RateAlone:
    """The rate that a job reaches alone, bytes/s. source: a standalone run, or its own slices of this very run."""

    bytes_per_second: Estimate
    source: Literal["standalone run", "own slices"]


def own_slices_demand(rates: Rates) -> RateAlone | None:
    """What a job reached in its `own_slices_rates`; None without two such."""
    rate = mean_rate(rates)
    return None if rate is None else RateAlone(rate, "own slices")


def own_slices_rates(activity: pl.DataFrame, slice_ns: int) -> dict[str, Rates]:
    """Jobs' rates in full slices in which none of the others moved a byte (bytes/s). activity: of all of them."""
    quiet = activity.group_by("slice").agg(jobs=pl.col("job").n_unique()).filter(pl.col("jobs") == 1)
    own = full_slices(activity).join(quiet, on="slice", how="semi", maintain_order="left")
    rates = own.partition_by("job", as_dict=True)
    return {job: rates_of(rates.get((job,), own.clear()), slice_ns) for job in activity["job"].unique()}


def given(bytes_per_second: float) -> Capacity:
    """As the user says."""
    return Capacity(Estimate(bytes_per_second, bytes_per_second, bytes_per_second, "as given with --capacity"), "given")


def fitted(curve: CapacityCurve | None) -> Capacity | None:
    return Capacity(curve.points[-1].rate, "fitted curve", curve=curve) if curve is not None else None


def got_together(slices: pl.DataFrame, did: str) -> Capacity | None:
    """What jobs got together in slices that several of them filled; None where no two slices show it. slices: run,
    slice, job, seconds, bytes, alone (bytes/s that the job reaches alone; null: unknown). The storage was full in a run
    in which some job got less than alone, or of which nobody knows it. Without such a run, the highest rate is a floor.
    did: what jobs did, a verb.
    """
    full, others = dict[str, Estimate](), dict[str, Estimate]()
    for (run,), rows in slices.filter(pl.len().over("run", "slice") > 1).group_by("run", maintain_order=True):
        sums = rows.group_by("slice").agg(rate=pl.col("bytes").sum() / pl.col("seconds").first()).sort("slice")
        rate = mean_rate(sums["rate"].to_numpy())
        if rate is None:
            continue
        got = rows.group_by("job").agg((pl.col("bytes") / pl.col("seconds")).mean(), pl.col("alone").mean())
        is_full = got.select((pl.col("bytes") < NOT_SLOWED * pl.col("alone")).fill_null(True).any()).item()
        (full if is_full else others)[str(run)] = rate
    found = full or others
    if not found:
        return None
    how = f"what jobs {did} together in the slices that several filled, in {words.count(len(found), 'run')}"
    rates = list(found.values())
    value = sum(rate.value for rate in rates) / len(rates) if full else max(rate.value for rate in rates)
    known = rates if full else [rate for rate in rates if rate.value == value]
    estimate = Estimate(value, min(rate.low for rate in known), max(rate.high for rate in known), how)
    return Capacity(estimate, "jobs side by side", is_floor=not full, runs=tuple(found))


def fastest_alone(demands: Sequence[Estimate]) -> Capacity | None:
    """What the fastest of jobs reaches alone: a floor of what the storage gives several."""
    if not demands:
        return None
    best = max(demands, key=lambda rate: rate.value)
    rate = Estimate(best.value, best.low, best.high, f"the fastest standalone run: {best.how}")
    return Capacity(rate, "standalone runs", is_floor=True)


def of_these_jobs(
    demands: Sequence[RateAlone | None], combined: Rates, by_themselves: Rates = NO_RATES
) -> Capacity | None:
    """The storage's capacity from what jobs reach alone and from their combined rates in the slices that they share
    (bytes/s); None without either. by_themselves: rates of all slices that one job had to itself. The fastest
    standalone run, unless the jobs together were faster than it can have been; without such a run the envelope: the
    highest combined rate (from the median to the highest), or the rate of a job's own slices where that is higher, or
    else the highest of these, where that is higher (from the highest combined rate to that one).
    """
    together = mean_rate(combined)
    standalone = [demand for demand in demands if demand and demand.source == "standalone run"]
    if standalone:
        best = fastest_alone([demand.bytes_per_second for demand in standalone])
        if best is not None and together is not None and together.low > best.rate.high:
            return Capacity(together, "jobs side by side")
        return best
    envelope = None
    if len(combined):
        highest, median = float(combined.max()), float(np.median(combined))
        envelope = Estimate(
            highest,
            median,
            highest,
            f"the highest combined rate of {words.count(len(combined), 'slice')}; from their median to their highest",
        )
    own = max((demand.bytes_per_second for demand in demands if demand), key=lambda rate: rate.value, default=None)
    if own is not None and (envelope is None or own.value > envelope.value):
        return Capacity(own, "own slices")
    if envelope is not None and len(by_themselves) and (fastest := float(by_themselves.max())) > envelope.high:
        how = "the highest rate of a slice that a job had to itself; from the highest combined rate to that one"
        return Capacity(Estimate(fastest, envelope.high, fastest, how), "envelope")
    return None if envelope is None else Capacity(envelope, "envelope")
