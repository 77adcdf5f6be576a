"""A figure that is not exact: its value, what it may lie between, and where both come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """value lies, by the rule that `how` states in words, between low and high; all three in one unit, which the field
    that holds it names.
    """

    value: float
    low: float
    high: float
    how: str

    def end(self, which: int) -> float:
        """The value, or an end of the interval: 0, -1 (low), 1 (high)."""
        return (self.value, self.high, self.low)[which]

    def through(self, function: Callable[[float], float], how: str) -> Estimate:
        """The estimate of a monotone function (rising or falling) of this one."""
        low, high = sorted((function(self.low), function(self.high)))
        return Estimate(function(self.value), low, high, how)


def relative_error(predicted: float, observed: float) -> float | None:
    """(predicted - observed) / observed; None where nothing was observed."""
    return (predicted - observed) / observed if observed else None
