"""What was observed beside what was told."""

from __future__ import annotations

from slicewise.estimate import Estimate


class Against:
    """A time that was observed (took, s) beside the one that was told (seconds)."""

    took: float
    seconds: Estimate

    @property
    def error(self) -> float:
        return self.seconds.value / self.took - 1

    @property
    def is_within(self) -> bool:
        return self.seconds.low <= self.took <= self.seconds.high
