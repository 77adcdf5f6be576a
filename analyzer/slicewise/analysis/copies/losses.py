"""What each of so many copies of a job loses, on a storage of one capacity or on one whose kinds of call differ.

Demands in, plain numbers out. Both classes answer the same three questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Protocol

from slicewise.analysis.blame.timeline import Kind
from slicewise.analysis.copies.demand import Demand
from slicewise.analysis.copies.known_capacity import KnownCapacity
from slicewise.analysis.copies.region import Region
from slicewise.analysis.copies.side_by_side import (
    Capacity,
    Customer,
    expected_loss,
    expected_loss_at,
    loss_in_step,
    rates_of_all,
)
from slicewise.analysis.copies.turns import Mixed, full_rate, progress
from slicewise.estimate import Estimate

# The low end, the middle and the high end of what jobs ask for against what the storage serves.
End = Literal[-1, 0, 1]
Weight = Literal["processes", "nodes"]


class Losses(Protocol):
    """What each of so many copies loses, as a fraction of its runtime alone."""

    def expected(self, copies: int, end: End, weight: Weight) -> float:
        """Where all phases are random."""

    def in_step(self, copies: int) -> float:
        """If all begin their I/O at one time and do all of it at once."""

    def rate(self, copies: int) -> float:
        """The bytes/s that each gets while all, and all others, are in I/O."""


@dataclass(frozen=True)
class OfOneCapacity:
    """A byte costs as much whichever way it goes."""

    demand: Demand
    others: Sequence[Demand]
    capacity: KnownCapacity

    def expected(self, copies: int, end: End, weight: Weight) -> float:
        """See Losses."""
        return expected_loss(copies, *self._customers(end, weight), self._serves(end))

    def in_step(self, copies: int) -> float:
        """See Losses."""
        return loss_in_step(copies, *self._customers(0, "processes"), self._serves(0))

    def rate(self, copies: int) -> float:
        """See Losses."""
        job, beside = self._customers(0, "processes")
        return rates_of_all(copies, range(len(beside)), job, beside, self._serves(0))[0]

    def _customers(self, end: End, weight: Weight) -> tuple[Customer, list[Customer]]:
        found = [
            Customer(one.volume, _end(one.rate, end), one.computing_seconds, _weight(one, weight))
            for one in (self.demand, *self.others)
        ]
        return found[0], found[1:]

    def _serves(self, end: End) -> Capacity:
        alone = max(_end(one.rate, end) for one in (self.demand, *self.others))
        return partial(self._served, end, alone)

    def _served(self, end: End, alone: float, copies: int, working: Sequence[int]) -> float:
        present = [self.demand] * copies + [self.others[place] for place in working]
        processes, nodes = sum(one.processes for one in present), sum(one.job.nodes for one in present)
        together = self.capacity.at(len(present), processes, nodes, -end)
        # One job by itself reaches what it did; several may well get less in all than it did alone.
        return together if len(present) > 1 else max(alone, together)


@dataclass(frozen=True)
class OfKinds:
    """Reads, writes and metadata calls cost differently, and meet by the storage's capacity region."""

    demand: Demand
    others: Sequence[Demand]
    region: Region
    _known: dict[tuple[End, Weight, int, tuple[int, ...]], list[float]] = field(default_factory=dict)

    def expected(self, copies: int, end: End, weight: Weight) -> float:
        """See Losses. A customer's volume is seconds in I/O alone, of which it does one a second alone."""
        job, *others = (
            Customer(_io_seconds(one, end), 1.0, one.computing_seconds) for one in (self.demand, *self.others)
        )
        return expected_loss_at(copies, job, others, partial(self._service, end, weight))

    def in_step(self, copies: int) -> float:
        """See Losses. Copies that do one kind of call after the other all do the same one."""
        job = self._mixed(self.demand, 0, "processes")
        level = self.region.level.value
        if job.is_at_once or self.others:
            beside = [self._mixed(other, 0, "processes") for other in self.others]
            everybody = [(job, copies), *((other, 1) for other in beside)]
            parts = [sum(one.taken[kind] * count for one, count in everybody) for kind in range(len(job.taken))]
            took = max(job.io_seconds, sum(parts) / (full_rate(parts, self.region.exponent) * level))
        else:
            took = sum(
                max(seconds, copies * taken / level) if copies > 1 else seconds
                for taken, seconds in zip(job.taken, job.seconds, strict=True)
            )
        return (self.demand.computing_seconds + took) / self.demand.runtime_seconds - 1

    def rate(self, copies: int) -> float:
        """See Losses."""
        return self.demand.rate.value * self._service(0, "processes", copies, range(len(self.others)))[0]

    def together(self) -> Estimate:
        """The bytes/s that a full storage serves of what the job does."""
        parts = list(self.region.parts(self.demand.amounts).values())
        one = self.demand.volume / sum(parts) * full_rate(parts, self.region.exponent)
        return self.region.level.through(lambda level: level * one, self.region.level.how)

    def _service(self, end: End, weight: Weight, copies: int, working: Sequence[int]) -> list[float]:
        key = (end, weight, copies, tuple(working))
        if key not in self._known:
            level = _end(self.region.level, -end)
            job = self._mixed(self.demand, end, weight)
            others = [self._mixed(self.others[place], end, weight) for place in working]
            self._known[key] = progress(copies, job, others, self.region.exponent, level)
        return self._known[key]

    def _mixed(self, demand: Demand, end: End, weight: Weight) -> Mixed:
        slower = _io_seconds(demand, end) / demand.io_seconds
        parts = self.region.parts(demand.amounts)
        seconds: dict[Kind, float] = {kind: demand.seconds.get(kind, 0.0) for kind in parts}
        # A kind that no process was busiest with has no time of its own, and took next to nothing.
        taken = tuple(part if seconds[kind] > 0 or demand.is_at_once else 0.0 for kind, part in parts.items())
        return Mixed(
            taken=taken,
            seconds=tuple(value * slower for value in seconds.values()),
            io_seconds=demand.io_seconds * slower,
            is_at_once=demand.is_at_once,
            weight=_weight(demand, weight),
        )


def _end(estimate: Estimate, end: End) -> float:
    """end: -1 is the case with the least loss, where jobs ask for little and the storage serves much."""
    return (estimate.value, estimate.high, estimate.low)[end]


def _io_seconds(demand: Demand, end: End) -> float:
    return demand.io_seconds * demand.rate.value / _end(demand.rate, end)


def _weight(demand: Demand, weight: Weight) -> float:
    """What its share goes by."""
    return float(demand.processes if weight == "processes" else demand.job.nodes)
