"""How far a figure may be off: every interval (95 %, to both sides) and every small fit of the analyses. An error is
half of an interval's width, relative to the value unless its name says otherwise.
"""

import math
from collections.abc import Sequence
from statistics import fmean

import numpy as np
import numpy.typing as npt

from slicewise.estimate import Estimate

Floats = npt.NDArray[np.float64]

# Student's t by degrees of freedom from 1 on; beyond, that of the normal distribution.
STUDENT_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
NORMAL = 1.96
BOUNDS = (0.025, 0.975)
# Runs of one program differ by so much (a standard deviation) without any company. That is known as if so many runs
# beyond the first one had shown it, so that two runs that happen to be alike do not seem to repeat exactly.
RUNS_DIFFER = 0.015
KNOWN_AS_BY = 4
# Slices that a bootstrap keeps together, for neighbours in time are alike; and how often it draws.
BLOCK = 3
DRAWS = 300


def student_t(freedom: int) -> float:
    """Standard deviations to either side, by degrees of freedom (1 or more; Student 1908)."""
    return STUDENT_T[freedom - 1] if freedom <= len(STUDENT_T) else NORMAL


def error_of_mean(relative_deviation: float, count: int) -> float:
    """The error of a mean of `count` independent values, two or more, from their standard deviation."""
    return student_t(count - 1) * relative_deviation / math.sqrt(count)


def error_of_ratio(over: Floats, under: Floats) -> float:
    """The error of sum(over) / sum(under) of a few slices (Cochran 1977, ch. 6); infinite where unknown."""
    if len(over) < 2 or not over.sum() or not under.sum():
        return math.inf
    return error_of_rest(over - over.sum() / under.sum() * under, over)


def error_of_rest(left: Floats, total: Floats) -> float:
    """The error of sum(total) over slices, by what a fit leaves over in each."""
    return error_of_mean(float(left.std(ddof=1) / total.mean()), len(left))


def error_of_next_run(relative_deviation: float, count: int) -> float:
    """How far the next run may be from the mean of `count` runs with this standard deviation."""
    return _of_runs(relative_deviation, count, 1 + 1 / count)


def error_of_mean_run(relative_deviation: float, count: int) -> float:
    """The error of the mean of `count` runs with this standard deviation; of one run, too."""
    return _of_runs(relative_deviation, count, 1 / count)


def _of_runs(relative_deviation: float, count: int, variances: float) -> float:
    """`variances`: of how many runs' variances the error is made. What is known of runs is pooled with these."""
    freedom = KNOWN_AS_BY + count - 1
    squares = KNOWN_AS_BY * RUNS_DIFFER**2 + (count - 1) * relative_deviation**2
    return student_t(freedom) * math.sqrt(squares / freedom * variances)


def deviation_of(values: Sequence[float] | Floats) -> float:
    """The standard deviation of a sample, relative to its mean; 0 of a single value."""
    return float(np.std(values, ddof=1) / np.mean(values)) if len(values) > 1 else 0.0


def mean_of_slices(values: Floats, how: str) -> Estimate:
    """The mean of two or more values that are above 0, taken to be independent; as a factor, so that it stays so."""
    return within(float(values.mean()), error_of_mean(deviation_of(values), len(values)), how)


def mean_of_runs(values: Sequence[float], how: str) -> Estimate:
    """The mean of a value of one run or more."""
    return within(fmean(values), error_of_mean_run(deviation_of(values), len(values)), how)


def within(value: float, error: float, how: str) -> Estimate:
    """A value that is above 0, and a relative error as a factor to both sides."""
    return Estimate(value, value / (1 + error), value * (1 + error), how)


def block_draws(count: int) -> npt.NDArray[np.int64]:
    """Places of values drawn anew, (DRAWS, about count), BLOCK at a time (Politis and Romano 1992)."""
    length = min(BLOCK, count)
    starts = np.random.default_rng(1).integers(0, count, size=(DRAWS, -(-count // length)))
    return ((starts[..., None] + np.arange(length)) % count).reshape(DRAWS, -1)


def block_error(over: Floats, under: Floats) -> float:
    """The error of sum(over) / sum(under) of slices in order of time, by `block_draws`; infinite: unknown."""
    if len(over) < 2 or not under.sum() or over.sum() <= 0:
        return math.inf
    drawn = block_draws(len(over))
    sums = under[drawn].sum(1)
    ratios = over[drawn].sum(1)[sums > 0] / sums[sums > 0]
    return error_of_draws(ratios, float(over.sum() / under.sum()))


def error_of_draws(drawn: Floats, value: float) -> float:
    """The error of a value that is above 0, by what it was of values drawn anew: the wider side."""
    low, high = np.quantile(drawn, BOUNDS)
    return float(max(high - value, value - low) / value)


def group_draws(groups: Sequence[npt.NDArray[np.float64]], draws: int, seed: int) -> list[npt.NDArray[np.float64]]:
    """Each group's rows drawn anew: (draws, rows, ...)."""
    random = np.random.default_rng(seed)
    return [group[random.integers(len(group), size=(draws, len(group)))] for group in groups]


def sum_draws(groups: Sequence[npt.NDArray[np.float64]], seed: int) -> npt.NDArray[np.float64]:
    """The sum over groups of draws (draws, ...), groups themselves being drawn anew: (draws, ...)."""
    draws = len(groups[0])
    drawn = np.random.default_rng(seed).integers(len(groups), size=(len(groups), draws))
    stacked = np.stack(groups)
    summed: npt.NDArray[np.float64] = sum(stacked[draw, np.arange(draws)] for draw in drawn)
    return summed


def two_prices(one: Floats, other: Floats, total: Floats) -> tuple[float, float]:
    """The prices of two goods, neither below 0, that come nearest (least squares) to totals of so many of each."""
    prices, *_ = np.linalg.lstsq(np.column_stack([one, other]), total, rcond=None)
    if (prices >= 0).all():
        return float(prices[0]), float(prices[1])
    # One of them is 0 then: whichever leaves less over.
    alone = [max(0.0, float(good @ total) / float(good @ good)) if good.any() else 0.0 for good in (one, other)]
    left = [float(((total - price * good) ** 2).sum()) for price, good in zip(alone, (one, other), strict=True)]
    return (alone[0], 0.0) if left[0] <= left[1] else (0.0, alone[1])
