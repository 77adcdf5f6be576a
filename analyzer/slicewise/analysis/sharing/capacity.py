"""How fast the shared storage is, and how fast each job is when nobody is in its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from slicewise.analysis.runs.rates import Rates, mean_rate, rates_of
from slicewise.digest.full import full_slices
from slicewise.estimate import Estimate
from slicewise.text import words

CapacitySource = Literal["standalone runs", "combined rate", "own slices", "envelope"]

# A standalone run below this fraction of the highest combined rate is held back by the job, not by the storage.
SATURATING_RUNS = 0.5
NO_RATES: Rates = np.empty(0)


@dataclass(frozen=True)
class Capacity:
    """The rate at which the storage serves all jobs together, bytes/s.

    source: "standalone runs": the fastest of them; "combined rate": what the jobs moved together, which was more than
    any moved alone; "own slices": the same of slices that one job had to itself; "envelope": the highest rate of a
    slice, there being nothing else. The estimate's `how` says it in words.
    """

    bytes_per_second: Estimate
    source: CapacitySource


@dataclass(frozen=True)
class Demand:
    """The rate that a job reaches alone, bytes/s. source: "standalone run" or "own slices" (slices of this very run
    that it had to itself).
    """

    bytes_per_second: Estimate
    source: Literal["standalone run", "own slices"]


def own_slices_demand(activity: pl.DataFrame, others: pl.DataFrame, slice_ns: int) -> Demand | None:
    """What a job reached in full slices in which none of the others moved a byte; None without two such."""
    rate = mean_rate(own_slices_rates(activity, others, slice_ns))
    return None if rate is None else Demand(rate, "own slices")


def own_slices_rates(activity: pl.DataFrame, others: pl.DataFrame, slice_ns: int) -> Rates:
    """A job's rates in full slices in which none of the others moved a byte (bytes/s)."""
    return rates_of(full_slices(activity).join(others, on="slice", how="anti"), slice_ns)


def capacity(demands: Sequence[Demand | None], combined: Rates, by_themselves: Rates = NO_RATES) -> Capacity | None:
    """The storage's capacity from what jobs reach alone and from their combined rates in the slices that they share
    (bytes/s); None without either. by_themselves: rates of all slices that one job had to itself.

    The fastest standalone run, unless the jobs together were faster than it can have been; without such a run the
    envelope: the highest combined rate (from the median to the highest), or the rate of a job's own slices where that
    is higher, or else the highest of these, where that is higher (from the highest combined rate to that one).
    """
    together = mean_rate(combined)
    standalone = [demand for demand in demands if demand and demand.source == "standalone run"]
    if standalone:
        best = max((demand.bytes_per_second for demand in standalone), key=lambda rate: rate.value)
        if together is not None and together.low > best.high:
            return Capacity(together, "combined rate")
        return Capacity(
            Estimate(best.value, best.low, best.high, f"the fastest standalone run: {best.how}"), "standalone runs"
        )
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
