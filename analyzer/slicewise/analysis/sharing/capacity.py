"""How fast the shared storage is, and how fast each job is when nobody is in its way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from slicewise.analysis.job.io_span import IoSpan
from slicewise.digest.full import full_slices
from slicewise.estimate import Estimate

CapacitySource = Literal["standalone runs", "combined rate", "own slices", "envelope"]

# A mean over fewer slices has no spread to speak of.
FEWEST_SLICES = 2
# A standalone run below this fraction of the highest combined rate is held back by the job, not by the storage.
SATURATING_RUNS = 0.5
# Standard errors to either side that hold 95 % of a normal distribution.
ERRORS_OF_95_PERCENT = 1.96


@dataclass(frozen=True)
class Capacity:
    """The rate at which the storage serves all jobs together, bytes/s.

    source: "standalone runs": the fastest of them; "combined rate": what the jobs moved together, which was more than
    any moved alone; "own slices": the same of slices that one job had to itself; "envelope": the highest combined rate
    of a slice, there being nothing else. The estimate's `how` says it in words.
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


@dataclass(frozen=True)
class StandaloneRun:
    """A job's run alone: job (the profile's name), bytes, seconds (its I/O time span), bytes_per_second."""

    job: str
    bytes: int
    seconds: Estimate
    bytes_per_second: Estimate


def standalone_run(job: str, activity: pl.DataFrame, span: IoSpan, slice_ns: int) -> StandaloneRun:
    """A run alone, from its activity on its own grid.

    Its rate may lie as far off as the bounds of its span, or the spread of its slices (see `mean_rate`), allow.
    """
    moved = int(activity["bytes"].sum())
    rate = span.seconds.through(lambda seconds: moved / seconds, "bytes over the I/O time span")
    over_slices = mean_rate(rates_of(full_slices(activity), slice_ns))
    if over_slices is not None:
        factor = over_slices.high / over_slices.value
        rate = Estimate(
            rate.value,
            min(rate.low, rate.value / factor),
            max(rate.high, rate.value * factor),
            f"{rate.how}, within that span's bounds or 1.96 standard errors of its slices, whichever is wider",
        )
    return StandaloneRun(job, moved, span.seconds, rate)


def mean_of_runs(runs: Sequence[StandaloneRun]) -> StandaloneRun | None:
    """Several standalone runs of one job as one: means, from the lowest low to the highest high; None without any."""
    if len(runs) <= 1:
        return runs[0] if runs else None
    how = f"mean of {len(runs)} runs, with the extremes of all of them"

    def mean(estimates: list[Estimate]) -> Estimate:
        values, lows, highs = zip(
            *((estimate.value, estimate.low, estimate.high) for estimate in estimates), strict=True
        )
        return Estimate(sum(values) / len(values), min(lows), max(highs), how)

    return StandaloneRun(
        job=", ".join(run.job for run in runs),
        bytes=round(sum(run.bytes for run in runs) / len(runs)),
        seconds=mean([run.seconds for run in runs]),
        bytes_per_second=mean([run.bytes_per_second for run in runs]),
    )


def rates_of(slices: pl.DataFrame, slice_ns: int) -> np.ndarray:
    """The bytes of slices as bytes/s."""
    return slices["bytes"].to_numpy() * (1e9 / slice_ns)


def mean_rate(rates: np.ndarray) -> Estimate | None:
    """The mean of slices' rates with its 95 % interval from their spread; None of fewer than two slices.

    The interval is 1.96 standard errors, slices taken to be independent, as a factor to both sides: no rate falls to 0.
    """
    if len(rates) < FEWEST_SLICES:
        return None
    mean = float(rates.mean())
    factor = 1 + ERRORS_OF_95_PERCENT * float(rates.std(ddof=1)) / math.sqrt(len(rates)) / mean
    how = f"mean of {len(rates)} slices, give or take 1.96 standard errors of their spread"
    return Estimate(mean, mean / factor, mean * factor, how)


def own_slices_demand(activity: pl.DataFrame, others: pl.DataFrame, slice_ns: int) -> Demand | None:
    """What a job reached in full slices in which none of the others moved a byte; None without two such."""
    rate = mean_rate(rates_of(full_slices(activity).join(others, on="slice", how="anti"), slice_ns))
    return None if rate is None else Demand(rate, "own slices")


def capacity(demands: Sequence[Demand | None], combined: np.ndarray) -> Capacity | None:
    """The storage's capacity from what jobs reach alone and from their combined rates in the slices that they share
    (bytes/s); None without either.

    The fastest standalone run, unless the jobs together were faster than it can have been; without such a run the
    highest combined rate (the envelope, from the median to the highest), or the rate of a job's own slices where that
    is higher.
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
            f"the highest combined rate of a slice, of {len(combined)}; from their median to their highest",
        )
    own = max((demand.bytes_per_second for demand in demands if demand), key=lambda rate: rate.value, default=None)
    if own is not None and (envelope is None or own.value > envelope.value):
        return Capacity(own, "own slices")
    return None if envelope is None else Capacity(envelope, "envelope")
