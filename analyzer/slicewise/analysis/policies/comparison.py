"""Policies side by side: what each makes of the same jobs, which is best by a metric, and with offsets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import polars as pl

from slicewise.analysis.policies.decisions import SAME_COST
from slicewise.analysis.policies.simulation import Capacity, PolicyJob, Simulated, simulate
from slicewise.kinds import POLICIES, Metric, Policy, Simulable

# So many delays are tried, up to what the longest phase takes alone.
DELAYS = 20
SWEEP_POINTS = 33
# A simulation takes about as long as there are phases, times the square of half the number of jobs. A sweep has so many
# of these at most, so that it stays a matter of seconds; but not fewer points than this.
PHASES_OF_SWEEP = 12_000
FEWEST_POINTS = 5

SWEEP_SCHEMA = pl.Schema(
    {"policy": pl.String, "dt": pl.Float64, "job": pl.String}
    | dict.fromkeys(("seconds", "interference", "cost"), pl.Float64)
)


@dataclass(frozen=True)
class PolicyComparison:
    """simulated: the policies asked for. undisturbed: the jobs under `interfere`, as they are without any policy."""

    metric: Metric
    simulated: list[Simulated]
    undisturbed: Simulated

    @property
    def best(self) -> Simulated:
        """The least cost by the metric of those that a coordinator can follow; of equal ones the simplest policy."""
        return least_cost([one for one in self.simulated if one.policy in POLICIES], self.metric)

    def gain(self, simulated: Simulated) -> float:
        """By how much a policy lowers the metric; below 0: raises it."""
        return self.undisturbed.cost(self.metric) - simulated.cost(self.metric)

    def seconds_won(self, simulated: Simulated) -> list[float]:
        """By how much a policy shortens each job's I/O (s)."""
        return [
            before.io_seconds - after.io_seconds
            for before, after in zip(self.undisturbed.jobs, simulated.jobs, strict=True)
        ]


def least_cost(simulated: Sequence[Simulated], metric: Metric) -> Simulated:
    """The one with the least cost; the first of those that are equal but for rounding."""
    best = simulated[0]
    for one in simulated[1:]:
        if one.cost(metric) < best.cost(metric) * (1 - SAME_COST):
            best = one
    return best


def compare(
    capacity: Capacity,
    jobs: Sequence[PolicyJob],
    metric: Metric = "cpu_seconds",
    policies: Sequence[Policy] = POLICIES,
    delay: float | None = None,
) -> PolicyComparison:
    """Simulate the jobs under each policy; `set10` also with the bandwidth shared by priorities. delay: s, of `delay`
    and `dynamic`; None: the best of `DELAYS`.
    """
    undisturbed = simulate(capacity, jobs, "interfere", metric)
    if delay is None:
        delay = best_delay(capacity, jobs, metric) if {"delay", "dynamic"} & set(policies) else 0.0
    simulated = [
        undisturbed if policy == "interfere" else simulate(capacity, jobs, policy, metric, delay)
        for policy in get_args(Simulable)
        if policy.removesuffix("_shares") in policies
    ]
    return PolicyComparison(metric, simulated, undisturbed)


def best_delay(capacity: Capacity, jobs: Sequence[PolicyJob], metric: Metric) -> float:
    """The delay of `DELAYS` with which `delay` costs least; the shortest of equal ones."""
    serves = capacity if callable(capacity) else lambda active: capacity
    longest = max(
        phase.volume / min(phase.cap, serves([place])) for place, job in enumerate(jobs) for phase in job.phases
    )
    tried = [longest * step / DELAYS for step in range(1, DELAYS + 1)]
    return least_cost([simulate(capacity, jobs, "delay", metric, delay) for delay in tried], metric).delay


@dataclass(frozen=True)
class Sweep:
    """The jobs with one of them shifted. moved: which; against: the job whose start dt counts from (s). rows: a row a
    policy, dt and job (`SWEEP_SCHEMA`); cost is the metric's of all jobs. actual: the dt that the jobs really have.
    """

    moved: str
    against: str
    actual: float
    rows: pl.DataFrame


def sweep(
    capacity: Capacity, jobs: Sequence[PolicyJob], comparison: PolicyComparison, points: int = SWEEP_POINTS
) -> Sweep | None:
    """Shift the job that began last against the one that began first, from where it would be over when the first one
    begins to where it begins when the first one is over. None for a single job.
    """
    if len(jobs) < 2:
        return None
    order = sorted(range(len(jobs)), key=lambda place: (jobs[place].start, jobs[place].job))
    first, last = order[0], order[-1]
    effort = sum(len(job.phases) for job in jobs) * (len(jobs) / 2) ** 2
    points = max(FEWEST_POINTS, min(points, int(PHASES_OF_SWEEP / effort)))
    actual = jobs[last].start - jobs[first].start
    low, high = (-_length_alone(capacity, jobs, last), _length_alone(capacity, jobs, first))
    offsets = sorted({*np.linspace(low, high, points).tolist(), 0.0, *([actual] if low <= actual <= high else [])})
    rows = []
    for offset in offsets:
        shifted = list(jobs)
        shifted[last] = replace(jobs[last], start=jobs[first].start + offset)
        for one in comparison.simulated:
            found = simulate(capacity, shifted, one.policy, comparison.metric, one.delay)
            cost = found.cost(comparison.metric)
            rows += [
                (one.policy, offset, outcome.job, outcome.io_seconds, outcome.interference, cost)
                for outcome in found.jobs
            ]
    frame = pl.DataFrame(rows, schema=SWEEP_SCHEMA, orient="row")
    return Sweep(jobs[last].job, jobs[first].job, actual, frame)


def _length_alone(capacity: Capacity, jobs: Sequence[PolicyJob], place: int) -> float:
    serves = capacity([place]) if callable(capacity) else capacity
    [alone] = simulate(serves, [jobs[place]], "interfere").jobs
    return alone.phases[-1][1] - alone.start
