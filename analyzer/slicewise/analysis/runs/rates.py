"""Rates with their intervals: of slices, of a run alone, of repeats."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise.analysis.job.io_span import IoSpan
from slicewise.constants import EQUAL_VOLUMES, FEWEST_FOR_A_MEAN, FEWEST_REPEATS
from slicewise.digest.full import full_slices
from slicewise.estimate import Estimate
from slicewise.statistics import mean_of_runs, mean_of_slices

Rates = npt.NDArray[np.float64]
MOST_DEVIATIONS = 1.5
# A spread below this fraction of the mean is the same figure: dropping one of such repeats would only be arithmetic.
NO_SPREAD = 0.01


@dataclass(frozen=True)
class StandaloneRun:
    """A job's run alone, or several: names, bytes, I/O time span, bytes/s; dropped: those that stood out."""

    job: str
    bytes: int
    seconds: Estimate
    bytes_per_second: Estimate
    dropped: list[str] = field(default_factory=list)


def rates_of(slices: pl.DataFrame, slice_ns: int) -> Rates:
    return slices["bytes"].to_numpy() * (1e9 / slice_ns)


def mean_rate(rates: Rates) -> Estimate | None:
    """The mean of slices' rates with its 95 % interval, slices taken to be independent; None of fewer than two."""
    if len(rates) < FEWEST_FOR_A_MEAN:
        return None
    return mean_of_slices(rates, f"mean of {len(rates)} slices, 95 % by their spread")


def rate_alone(activity: pl.DataFrame, span: IoSpan, slice_ns: int) -> Estimate:
    """The rate of a run from its activity on its own grid: bytes over its I/O time span. It may lie as far off as the
    bounds of the span, or the spread of the full slices, allow.
    """
    moved = int(activity["bytes"].sum())
    rate = span.seconds.through(lambda seconds: moved / seconds, "bytes over the I/O time span")
    over_slices = mean_rate(rates_of(full_slices(activity), slice_ns))
    if over_slices is None:
        return rate
    factor = over_slices.high / over_slices.value
    return Estimate(
        rate.value,
        min(rate.low, rate.value / factor),
        max(rate.high, rate.value * factor),
        f"{rate.how}, within that span's bounds or the error of its slices' mean, whichever is wider",
    )


def mean_of_repeats(rates: Sequence[Estimate]) -> tuple[Estimate, list[bool]]:
    """The mean rate of repeats, no narrower than theirs, and which stood out and are left out (`outliers`)."""
    stood_out = outliers([rate.value for rate in rates])
    kept = [rate for rate, is_out in zip(rates, stood_out, strict=True) if not is_out]
    if len(kept) == 1:
        return kept[0], stood_out
    how = f"mean of {len(kept)} standalone runs, within their own intervals or the error of their mean"
    mean = mean_of_runs([rate.value for rate in kept], how)
    low = min(mean.low, fmean(rate.low for rate in kept))
    high = max(mean.high, fmean(rate.high for rate in kept))
    return Estimate(mean.value, low, high, how), stood_out


def as_one_run(runs: Sequence[StandaloneRun]) -> StandaloneRun | None:
    """Several standalone runs of one job as one, without those that stood out; None without any."""
    if len(runs) <= 1:
        return runs[0] if runs else None
    rate, stood_out = mean_of_repeats([run.bytes_per_second for run in runs])
    kept = [run for run, is_out in zip(runs, stood_out, strict=True) if not is_out]
    return StandaloneRun(
        job=", ".join(run.job for run in kept),
        bytes=round(fmean(run.bytes for run in kept)),
        seconds=Estimate(
            fmean(run.seconds.value for run in kept),
            min(run.seconds.low for run in kept),
            max(run.seconds.high for run in kept),
            f"mean of {len(kept)} runs, with the extremes of all of them",
        ),
        bytes_per_second=rate,
        dropped=[run.job for run, is_out in zip(runs, stood_out, strict=True) if is_out],
    )


def is_like(volume: int, other: int) -> bool:
    return abs(volume - other) <= EQUAL_VOLUMES * max(volume, other)


def outliers(values: Sequence[float]) -> list[bool]:
    """Which values lie more than 1.5 standard deviations off their mean (Kuo et al., section 2.4), and 1 %."""
    found = np.asarray(values, dtype=np.float64)
    if len(found) < FEWEST_REPEATS:
        return [False] * len(found)
    deviation = float(found.std())
    if deviation <= NO_SPREAD * abs(float(found.mean())):
        return [False] * len(found)
    return [bool(is_far) for is_far in np.abs(found - found.mean()) > MOST_DEVIATIONS * deviation]
