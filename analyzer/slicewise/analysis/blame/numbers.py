"""The little arithmetic that blame needs: a zero, two prices, how far a few repeats may be off."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from slicewise.analysis.runs.student import student_t

HALVINGS = 50
# Runs of one program differ by so much (a standard deviation) without any company. That is known as if so many runs
# beyond the first one had shown it, so that two runs that happen to be alike do not seem to repeat exactly.
RUNS_DIFFER = 0.015
KNOWN_AS_BY = 4


def zero_between(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that changes its sign between two places is 0, by halving."""
    is_above = function(low) > 0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if (function(middle) > 0) == is_above:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def two_prices(
    one: npt.NDArray[np.float64], other: npt.NDArray[np.float64], total: npt.NDArray[np.float64]
) -> tuple[float, float]:
    """The prices of two goods, neither below 0, that come nearest (least squares) to totals of so many of each."""
    both = np.column_stack([one, other])
    prices, *_ = np.linalg.lstsq(both, total, rcond=None)
    if (prices >= 0).all():
        return float(prices[0]), float(prices[1])
    # One of them is 0 then: whichever leaves less over.
    alone = [max(0.0, float(good @ total) / float(good @ good)) if good.any() else 0.0 for good in (one, other)]
    left = [float(((total - price * good) ** 2).sum()) for price, good in zip(alone, (one, other), strict=True)]
    return (alone[0], 0.0) if left[0] <= left[1] else (0.0, alone[1])


def error_of_mean(relative_deviation: float, count: int) -> float:
    """How far a mean of `count` repeats may be off, 95 %, from their standard deviation: two say little of the next."""
    return float(student_t(count - 1) * relative_deviation / np.sqrt(count))


def error_of_next(relative_deviation: float, count: int) -> float:
    """How far the next run may be from `count` runs with this standard deviation, relative, 95 %."""
    freedom = KNOWN_AS_BY + count - 1
    squares = KNOWN_AS_BY * RUNS_DIFFER**2 + (count - 1) * relative_deviation**2
    return float(student_t(freedom) * np.sqrt(squares / freedom * (1 + 1 / count)))


def error_of_ratio(over: npt.NDArray[np.float64], under: npt.NDArray[np.float64]) -> float:
    """How far sum(over) / sum(under) of a few slices may be off, relative, 95 %, by how they scatter around it."""
    if len(over) < 2 or not over.sum() or not under.sum():
        return np.inf
    left = over - over.sum() / under.sum() * under
    return error_of_mean(float(left.std(ddof=1) / over.mean()), len(over))
