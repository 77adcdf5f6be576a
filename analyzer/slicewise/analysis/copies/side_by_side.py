"""Copies of a job that share a storage: what each may expect to lose.

Pure arithmetic on plain numbers. The storage is a queue that serves all jobs in I/O at once, by weighted max-min shares
(`sharing/proportional.py`); a job that computes comes back to it after its time. The formulas are in docs/models.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slicewise.analysis.sharing.proportional import SharingJob, fair_rates, share_out

Numbers = npt.NDArray[np.float64]
# A job computes at least this fraction of its runtime, so that it comes to the storage at all.
LEAST_COMPUTING = 1e-6
# Each more makes twice as many states.
MOST_OTHERS = 3


@dataclass(frozen=True)
class Customer:
    """A job: volume (bytes), rate (bytes/s that it reaches alone), computing (s besides), weight of its share."""

    volume: float
    rate: float
    computing: float
    weight: float = 1.0

    @property
    def runtime(self) -> float:
        """Alone."""
        return self.computing + self.volume / self.rate


# What the storage serves when so many copies, and these of the others (places), are in I/O.
Capacity = Callable[[int, Sequence[int]], float]
# What one of the copies, and each of these others, is served then.
Service = Callable[[int, Sequence[int]], list[float]]


def expected_loss(copies: int, job: Customer, others: Sequence[Customer], capacity: Capacity) -> float:
    """`expected_loss_at` where shares are those of one capacity."""
    return expected_loss_at(
        copies, job, others, lambda active, working: rates_of_all(active, working, job, others, capacity)
    )


def expected_loss_at(copies: int, job: Customer, others: Sequence[Customer], service: Service) -> float:
    """By what fraction of its runtime alone each of so many copies is slowed down on average, where nobody waits for
    anybody else: all phases are random.

    The stationary distribution of how many copies are in I/O, and which of the others: each computes for its mean time
    and comes back with its mean volume. It depends on these means alone where there are no others (processor sharing is
    insensitive), and with others nearly so. Without others it is a closed network of one queue and one delay.
    """
    states = [(active, mask) for active in range(copies + 1) for mask in range(1 << len(others))]
    number = {state: place for place, state in enumerate(states)}
    generator = np.zeros((len(states), len(states)))
    done = np.zeros(len(states))
    for state, place in number.items():
        active, mask = state
        working = [other for other in range(len(others)) if mask >> other & 1]
        rates = service(active, working)
        done[place] = active * rates[0] / job.volume
        if active < copies:
            computing = max(job.computing, LEAST_COMPUTING * job.runtime)
            generator[place, number[active + 1, mask]] = (copies - active) / computing
        if active:
            generator[place, number[active - 1, mask]] = done[place]
        for other, customer in enumerate(others):
            if mask >> other & 1:
                rate = rates[1 + working.index(other)] / customer.volume
            else:
                rate = 1 / max(customer.computing, LEAST_COMPUTING * customer.runtime)
            generator[place, number[active, mask ^ 1 << other]] += rate
    finished = float(stationary(generator) @ done)
    return copies / finished / job.runtime - 1


def loss_in_step(copies: int, job: Customer, others: Sequence[Customer], capacity: Capacity) -> float:
    """The same where all begin their I/O at one time, and do all of it at once: the most that they can lose."""
    jobs = [SharingJob(f"copy {place}", job.volume, job.weight, job.rate) for place in range(copies)]
    jobs += [SharingJob(f"other {place}", other.volume, other.weight, other.rate) for place, other in enumerate(others)]

    def serves(active: Sequence[int]) -> float:
        return capacity(
            sum(place < copies for place in active), [place - copies for place in active if place >= copies]
        )

    longest = max(served.t_co for served in share_out(serves, jobs).jobs[:copies])
    return (job.computing + longest) / job.runtime - 1


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


def rates_of_all(
    active: int, working: Sequence[int], job: Customer, others: Sequence[Customer], capacity: Capacity
) -> list[float]:
    """bytes/s of one of so many copies in I/O, and of each of the others that are (working: their places)."""
    if not active and not working:
        return [0.0]
    present = [job] * active + [others[other] for other in working]
    rates = fair_rates(capacity(active, working), [one.weight for one in present], [one.rate for one in present])
    return [rates[0] if active else 0.0, *rates[active:]]
