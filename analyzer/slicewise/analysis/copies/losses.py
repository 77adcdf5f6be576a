"""What each of so many copies of a job loses, beside all of some other jobs.

Demands in, plain numbers out. A storage of one capacity is one of which all calls are of one kind.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from slicewise.analysis.calls import KINDS, Kind
from slicewise.analysis.capacity.by_kind import Capacities, fullness
from slicewise.analysis.capacity.capacity import Capacity
from slicewise.analysis.copies.demand import Demand
from slicewise.analysis.predict.side_by_side import Member, Rules, Segment, ends, joined, shares
from slicewise.constants import TAKES_TURNS
from slicewise.estimate import Estimate

# A job computes at least this fraction of its runtime, so that it comes to the storage at all.
LEAST_COMPUTING = 1e-6
# Each more makes twice as many states.
MOST_OTHERS = 3
Numbers = npt.NDArray[np.float64]
ROUNDS = 12
SETTLED = 1e-6
# The low end, the middle and the high end of what jobs ask for against what the storage serves.
End = Literal[-1, 0, 1]
Weight = Literal["processes", "nodes"]


@dataclass(frozen=True)
class Customer:
    """A job: s in I/O alone, and s besides."""

    io_seconds: float
    computing: float

    @property
    def runtime(self) -> float:
        """Alone."""
        return self.computing + self.io_seconds

    @property
    def away(self) -> float:
        """How long it does not come to the storage, on average."""
        return max(self.computing, LEAST_COMPUTING * self.runtime)


# How fast one of so many copies in I/O, and each of the others that are (their places), gets on: 1 is as fast as alone.
Service = Callable[[int, Sequence[int]], list[float]]


def expected_loss(copies: int, job: Customer, others: Sequence[Customer], service: Service) -> float:
    """By what fraction of its runtime alone each of so many copies is slowed down on average, where nobody waits for
    anybody else: all phases are random.

    The stationary distribution of how many copies are in I/O, and which of the others: each computes for its mean time
    and comes back with its mean work. It depends on these means alone where there are no others (processor sharing is
    insensitive), and with others nearly so. Without others it is a closed network of one queue and one delay.
    """
    states = [(active, mask) for active in range(copies + 1) for mask in range(1 << len(others))]
    number = {state: place for place, state in enumerate(states)}
    generator = np.zeros((len(states), len(states)))
    done = np.zeros(len(states))
    for state, place in number.items():
        active, mask = state
        working = [other for other in range(len(others)) if mask >> other & 1]
        speeds = service(active, working)
        done[place] = active * speeds[0] / job.io_seconds
        if active < copies:
            generator[place, number[active + 1, mask]] = (copies - active) / job.away
        if active:
            generator[place, number[active - 1, mask]] = done[place]
        for other, customer in enumerate(others):
            is_there = mask >> other & 1
            rate = speeds[1 + working.index(other)] / customer.io_seconds if is_there else 1 / customer.away
            generator[place, number[active, mask ^ 1 << other]] += rate
    finished = float(stationary(generator) @ done)
    return copies / finished / job.runtime - 1


def stationary(generator: Numbers) -> Numbers:
    """The stationary distribution of a Markov chain by its rates (the diagonal does not count), without taking one
    number from another: Grassmann, Taksar and Heyman, Operations Research 33(5), 1985.
    """
    rates = generator.copy()
    np.fill_diagonal(rates, 0.0)
    count = len(rates)
    for place in range(count - 1, 0, -1):
        out = rates[place, :place].sum()
        rates[:place, place] /= out
        rates[:place, :place] += np.outer(rates[:place, place], rates[place, :place])
    found: Numbers = np.zeros(count)
    found[0] = 1.0
    for place in range(1, count):
        found[place] = found[:place] @ rates[:place, place]
    share: Numbers = found / found.sum()
    return share


def progress(
    active: int, job: Sequence[Segment], weight: float, others: Sequence[tuple[Segment, float]], exponent: float
) -> list[float]:
    """How fast one of so many copies gets on in its I/O, and each of the others: 1 is as fast as alone.

    job: what a copy does alone, one kind of call after the other, or a single segment. others: segment and weight of
    each. Copies are in each segment by chance, as often as that takes its time: the more, the slower it is.
    """
    if active + len(others) <= 1:
        return [1.0 if active else 0.0, *(1.0 for _ in others)]
    counts = _compositions(active, len(job))
    speeds = np.array([_speeds(row, job, weight, others, exponent) for row in counts.tolist()])
    of_kinds, of_others = speeds[:, : len(job)], speeds[:, len(job) :].T
    if not active:
        return [0.0, *of_others[:, 0].tolist()]
    own = np.array([segment.seconds for segment in job])
    chance = own / own.sum()
    slow = np.ones_like(own)
    for _ in range(ROUNDS):
        for kind in range(len(job)):
            rest = counts.copy()
            rest[:, kind] -= 1
            slow[kind] = float((_multinomial(rest, chance) / of_kinds[:, kind]).sum())
        new = own * slow / (own * slow).sum()
        if np.abs(new - chance).max() < SETTLED:
            break
        chance = new
    among = _multinomial(counts, chance)
    return [float(own.sum() / (own * slow).sum()), *(float(1 / (among / speed).sum()) for speed in of_others)]


def _speeds(
    counts: Sequence[float],
    job: Sequence[Segment],
    weight: float,
    others: Sequence[tuple[Segment, float]],
    exponent: float,
) -> list[float]:
    """How fast a copy gets on in each segment where so many are in each, and each of the others."""
    copies = [(segment, weight, count) for segment, count in zip(job, counts, strict=True)]
    there = (*(one for one in copies if one[2]), *((segment, its, 1.0) for segment, its in others))
    free = shares(there, exponent)
    return [_speed(segment, its, free) for segment, its, _ in (*copies, *there[len(there) - len(others) :])]


def _speed(segment: Segment, weight: float, free: Sequence[float]) -> float:
    took = 0.0
    for part, use, share in zip(segment.calls, segment.use, free, strict=True):
        took += max(part, use / (weight * share))
    return sum(segment.calls) / took


@cache
def _compositions(count: int, kinds: int) -> Numbers:
    """All ways to part so many copies among kinds of call, a row each."""
    if kinds == 1:
        return np.array([[float(count)]])
    parts = [
        np.column_stack([np.full(len(rest), float(first)), rest])
        for first in range(count + 1)
        for rest in (_compositions(count - first, kinds - 1),)
    ]
    return np.concatenate(parts)


def _multinomial(counts: Numbers, chance: Numbers) -> Numbers:
    """The probability of each row of counts; 0 of rows with a negative count."""
    possible = np.asarray((counts >= 0).all(1) & ((chance > 0) | (counts <= 0)).all(1))
    sure = np.where(possible[:, None], counts, 0).astype(int)
    log_factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, sure.sum(1).max(initial=0) + 2)))])
    logs = log_factorials[sure.sum(1)] - log_factorials[sure].sum(1)
    logs += (sure * np.log(np.where(chance > 0, chance, 1.0))).sum(1)
    return np.where(possible, np.exp(logs), 0.0)


@dataclass(frozen=True)
class Losses:
    """What each of so many copies loses, as a fraction of its runtime alone."""

    demand: Demand
    others: Sequence[Demand]
    capacity: Capacity
    _known: dict[tuple[End, Weight, int, tuple[int, ...]], list[float]] = field(default_factory=dict)

    def expected(self, copies: int, end: End, weight: Weight) -> float:
        """Where all phases are random."""
        job, *others = (Customer(_io_seconds(one, end), one.computing_seconds) for one in (self.demand, *self.others))
        return expected_loss(copies, job, others, lambda active, working: self._service(end, weight, active, working))

    def in_step(self, copies: int) -> float:
        """If all begin their I/O at one time and do all of it in one go; those who do one kind of call after the other
        all do the same one.
        """
        if copies + len(self.others) == 1:
            return 0.0
        level = self._level(0, copies, range(len(self.others)))
        jobs = [self.demand] * copies + list(self.others)
        members = [Member(0.0, _weight(one, "processes"), self._timeline(one, 0, level)) for one in jobs]
        longest = max(ends(members, Rules(self._exponent))[:copies])
        return (self.demand.computing_seconds + longest) / self.demand.runtime_seconds - 1

    def rate(self, copies: int) -> float:
        """The bytes/s that each gets while all, and all others, are in I/O."""
        return self.demand.rate.value * self._service(0, "processes", copies, range(len(self.others)))[0]

    @property
    def _exponent(self) -> float:
        return TAKES_TURNS if self.capacity.region is None else self.capacity.region.p

    def _service(self, end: End, weight: Weight, copies: int, working: Sequence[int]) -> list[float]:
        key = (end, weight, copies, tuple(working))
        if key not in self._known:
            level = self._level(end, copies, working)
            others = [self.others[place] for place in working]
            self._known[key] = progress(
                copies,
                self._timeline(self.demand, end, level),
                _weight(self.demand, weight),
                [(joined(self._timeline(one, end, level)), _weight(one, weight)) for one in others],
                self._exponent,
            )
        return self._known[key]

    def _level(self, end: End, copies: int, working: Sequence[int]) -> float:
        """How much of its time the full storage serves, with so many clients."""
        region = self.capacity.region
        if region is not None and region.level is not None:
            return _end(region.level, -end)
        present = [self.demand] * copies + [self.others[place] for place in working]
        processes, nodes = sum(one.processes for one in present), sum(one.job.nodes for one in present)
        return self.capacity.at(len(present), processes, nodes, -end) / self.capacity.rate.value

    def _timeline(self, demand: Demand, end: End, level: float) -> tuple[Segment, ...]:
        """A job's I/O in one go, on a storage that serves so much of its time: one kind of call after the other, or all
        at once.
        """
        whole, region = _io_seconds(demand, end), self.capacity.region
        if region is None:
            return (_segment(whole, {"read": demand.volume / self.capacity.rate.value / level}, {"read": whole}),)
        parts = {kind: part / level for kind, part in region.parts(demand.amounts).items()}
        # A kind that no process was busiest with has no time of its own, and took next to nothing.
        slower = whole / demand.io_seconds
        calls = {kind: demand.seconds[kind] * slower for kind in parts if demand.seconds.get(kind, 0.0) > 0}
        if demand.is_at_once:
            return (_segment(whole, parts, calls),)
        return tuple(_segment(own, {kind: parts[kind]}, {kind: own}) for kind, own in calls.items())


def together(demand: Demand, region: Capacities) -> Estimate:
    """The bytes/s that a full storage serves of what a job does."""
    assert region.level is not None
    one = demand.volume / float(fullness(list(region.parts(demand.amounts).values()), region.p))
    return region.level.through(lambda level: level * one, region.level.how)


def _segment(seconds: float, taken: Mapping[Kind, float], calls: Mapping[Kind, float]) -> Segment:
    """So long in calls. taken: seconds of the storage's time; calls: in what proportion kinds of call part the time."""
    whole = sum(calls.values())
    read, write, meta = (taken.get(kind, 0.0) / seconds for kind in KINDS)
    in_read, in_write, in_meta = (calls.get(kind, 0.0) / whole for kind in KINDS)
    return Segment(seconds, (read, write, meta), (in_read, in_write, in_meta))


def _weight(demand: Demand, weight: Weight) -> float:
    return float(demand.processes if weight == "processes" else demand.job.nodes)


def _end(estimate: Estimate, end: End) -> float:
    """end: -1 is the case with the least loss, where jobs ask for little and the storage serves much."""
    return (estimate.value, estimate.high, estimate.low)[end]


def _io_seconds(demand: Demand, end: End) -> float:
    return demand.io_seconds * demand.rate.value / _end(demand.rate, end)
