"""Times that were told of jobs side by side, held against what these took: how far off, in intervals or not, warned of.

Dataclasses in and out. A time may be told by any model. Repeats are runs of the same jobs.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slicewise.estimate import Estimate
from support.binomial import is_as_often


@dataclass(frozen=True)
class Told:
    """A time that was told of a job in a run of several (seconds), and the one that was observed (took, s).

    runs: what ran together, the same for repeats; place: the job's there; jobs: how many; doubt: what was said against
    it beforehand; is_warned: what the run itself shows, said afterwards; repeat: of this run, from 1 on.
    """

    runs: str
    place: str
    jobs: int
    took: float
    seconds: Estimate
    doubt: str
    is_warned: bool
    repeat: int = 1

    @property
    def error(self) -> float:
        return self.seconds.value / self.took - 1

    @property
    def is_within(self) -> bool:
        return self.seconds.low <= self.took <= self.seconds.high

    @property
    def width(self) -> float:
        """The interval's upper end over its lower end."""
        return self.seconds.high / self.seconds.low if self.seconds.low > 0 else math.inf


@dataclass(frozen=True)
class Warned:
    """How many times came with a warning: of each kind, with any at all."""

    beforehand: int
    afterwards: int
    at_all: int


@dataclass(frozen=True)
class ToldFigures:
    """mean, largest: of |relative error|; bias: mean of the relative error. apart: the most that a time is off the mean
    of its repeats; largest_of_means: the largest |error| for these means. within, outside: how many lie in their
    intervals, and how many do not; of_outside, of_within: those that were warned of. bad: how many are off by more than
    was asked; bad_covered: those of them within an interval as wide, or doubted beforehand. width, widest: of intervals
    (`Told.width`), the median and the largest.
    """

    count: int
    mean: float
    largest: float
    bias: float
    apart: float
    largest_of_means: float
    within: int
    outside: int
    of_outside: Warned
    of_within: Warned
    bad: int
    bad_covered: int
    width: float
    widest: float

    @property
    def within_share(self) -> float:
        return self.within / self.count

    @property
    def is_as_intervals_say(self) -> bool:
        """Whether so many within may be chance where intervals hold 95 %."""
        return is_as_often(self.within, self.count)


def figures_of_told(told: Sequence[Told], bad: float) -> ToldFigures:
    """Figures of times, of which there must be one or more. bad: |relative error| beyond which one is bad."""
    errors = [one.error for one in told]
    outside, within = ([one for one in told if one.is_within == is_in] for is_in in (False, True))
    off = [one for one in told if abs(one.error) > bad]
    groups = repeats(told).values()
    return ToldFigures(
        count=len(told),
        mean=statistics.mean(map(abs, errors)),
        largest=max(map(abs, errors)),
        bias=statistics.mean(errors),
        apart=max(_apart(group) for group in groups),
        largest_of_means=max(abs(mean_error(group)) for group in groups),
        within=len(within),
        outside=len(outside),
        of_outside=_warned(outside),
        of_within=_warned(within),
        bad=len(off),
        bad_covered=sum(bool(one.doubt) or one.is_within for one in off),
        width=statistics.median(one.width for one in told),
        widest=max(one.width for one in told),
    )


def _warned(told: Sequence[Told]) -> Warned:
    return Warned(
        sum(bool(one.doubt) for one in told),
        sum(one.is_warned for one in told),
        sum(bool(one.doubt) or one.is_warned for one in told),
    )


def repeats(told: Iterable[Told]) -> dict[tuple[str, str], list[Told]]:
    """Times of the same job of the same runs, by what ran together and the job's place."""
    groups: dict[tuple[str, str], list[Told]] = {}
    for one in told:
        groups.setdefault((one.runs, one.place), []).append(one)
    return groups


def mean_error(group: Sequence[Told]) -> float:
    """The error for the mean of a run's repeats, without their scatter."""
    took = statistics.mean(one.took for one in group)
    return statistics.mean(one.seconds.value for one in group) / took - 1


def _apart(group: Sequence[Told]) -> float:
    mean = statistics.mean(one.took for one in group)
    return max(abs(one.took / mean - 1) for one in group)
