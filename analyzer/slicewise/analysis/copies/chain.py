"""Copies of a job that come to a storage and leave it again: what each may expect to lose.

Pure arithmetic on plain numbers. Jobs in I/O get on as fast as the storage lets them, all at once; a job that computes
comes back to it after its time. The formulas are in docs/models.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
# A job computes at least this fraction of its runtime, so that it comes to the storage at all.
LEAST_COMPUTING = 1e-6
# Each more makes twice as many states.
MOST_OTHERS = 3


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
