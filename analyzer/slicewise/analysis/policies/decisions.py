"""Who may go, by a policy of taking turns: the rules of the coordinator (`turns/`), for simulations."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from slicewise.analysis.sharing.proportional import fair_rates
from slicewise.constants import NO_SECONDS
from slicewise.kinds import Metric, Simulable

# `shortest` is one more that only `dynamic` considers.
Rule = Literal["interfere", "fcfs", "interrupt", "delay", "shortest"]
RULES: tuple[Rule, ...] = get_args(Rule)

# Demands may exceed the capacity by rounding.
FULL = 1 + 1e-9
# A cost must be less by this fraction to be better.
SAME_COST = 1e-6
# A job that does not say what it uses: all bits.
ALL_TARGETS = -1
# `dynamic` looks at so many jobs, so that a decision stays cheap however many wait.
MOST_CONSIDERED = 16
# The least and the largest are also of those beyond.
SETS = range(-6, 13)


@dataclass(frozen=True)
class Present:
    """A job from the beginning of an I/O phase to its end, whether it may go or waits. sequence: its place in the order
    of arrival; all ties are broken by it. arrived: s. asked: s that the phase takes alone; remaining: what is left of
    them. weight: of its share. demand: the share of the storage that it fills alone. period: s from the beginning of
    one phase to that of the next; 0: not known. targets: of the storage, a bit each.
    """

    sequence: int
    arrived: float
    asked: float
    remaining: float
    processes: int
    weight: float
    demand: float = 1.0
    period: float = 0.0
    targets: int = ALL_TARGETS


def set_of(period: float) -> int | None:
    """The set of a job by its period (s): the rounded decimal logarithm (Set-10; Boito, Pallez, Teylo and Vidal, TPDS
    2023). None: the jobs whose period is not known are a set of their own.
    """
    return min(max(math.floor(math.log10(period) + 0.5), SETS.start), SETS.stop - 1) if period > 0 else None


def decide(
    policy: Simulable | Rule, jobs: Sequence[Present], now: float, metric: Metric = "cpu_seconds", delay: float = 0.0
) -> set[int]:
    """The sequence numbers of the jobs that may go, by a policy. delay: how long a job waits for earlier ones under
    `delay` (s). Nobody where there is no job; else at least one.
    """
    if policy == "dynamic":
        return _dynamic(jobs, now, metric, delay)
    return _by_rule(policy, jobs, now, metric, delay)


def progress(jobs: Sequence[Present], going: set[int]) -> dict[int, float]:
    """By sequence number, how fast what remains of each job that goes falls: s of I/O alone in a second. Shares are
    weighted max-min shares of a capacity of 1, with demands as caps.
    """
    active = [job for job in jobs if job.sequence in going]
    if not active:
        return {}
    rates = fair_rates(1.0, [job.weight for job in active], [job.demand for job in active])
    return {job.sequence: rate / job.demand for job, rate in zip(active, rates, strict=True)}


def predict(rule: Rule, jobs: Sequence[Present], now: float, metric: Metric, delay: float) -> dict[int, float]:
    """When each job's phase would end (s) if nobody else came and the rule were followed from now on."""
    ends: dict[int, float] = {}
    left = list(jobs)
    while True:
        ends |= {job.sequence: now for job in left if job.remaining <= NO_SECONDS}
        left = [job for job in left if job.remaining > NO_SECONDS]
        if not left:
            return ends
        speeds = progress(left, _by_rule(rule, left, now, metric, delay))
        step = min(job.remaining / speeds[job.sequence] for job in left if speeds.get(job.sequence))
        if rule == "delay":
            step = min([step, *(time - now for time in turns_by_delay(left, now, delay))])
        now += step
        left = [replace(job, remaining=job.remaining - speeds.get(job.sequence, 0.0) * step) for job in left]


def cost(metric: Metric, jobs: Sequence[Present], ends: dict[int, float], now: float) -> float:
    """What a prediction costs by a metric; less is better."""
    took = [(job.processes, ends[job.sequence] - job.arrived, job.asked) for job in jobs]
    return machine_cost(metric, took, max(ends.values()) - now)


def machine_cost(metric: Metric, jobs: Iterable[tuple[int, float, float]], makespan: float) -> float:
    """CPU seconds in I/O, sum of interference, makespan, or worst slowdown (Dorier et al., II.C and IV.D). jobs: of
    each processes, seconds in I/O, and seconds in I/O alone.
    """
    if metric == "makespan":
        return makespan
    if metric == "cpu_seconds":
        return math.fsum(processes * seconds for processes, seconds, _ in jobs)
    factors = [seconds / alone for _, seconds, alone in jobs]
    return math.fsum(factors) if metric == "sum_interference" else max(factors)


def turns_by_delay(jobs: Sequence[Present], now: float, delay: float) -> list[float]:
    """The times to come at which a job's delay is over."""
    return [job.arrived + delay for job in jobs if job.arrived + delay > now + NO_SECONDS]


def _by_rule(rule: Simulable | Rule, jobs: Sequence[Present], now: float, metric: Metric, delay: float) -> set[int]:
    if rule == "interfere":
        return {job.sequence for job in jobs}
    if rule == "shortest":
        return _those_that_fit(_shortest_first(jobs, metric))
    first = _first(sorted(jobs, key=lambda job: job.sequence, reverse=rule == "interrupt"), rule.startswith("set10"))
    if rule == "delay":
        return first | {job.sequence for job in jobs if now >= job.arrived + delay - NO_SECONDS}
    return first


def _first(ordered: Iterable[Present], by_sets: bool) -> set[int]:
    """Who comes before all (by_sets: of its set) that share a target with it."""
    going = set()
    taken: dict[int | None, int] = {}
    for job in ordered:
        number = set_of(job.period) if by_sets else None
        if not taken.get(number, 0) & job.targets:
            going.add(job.sequence)
        taken[number] = taken.get(number, 0) | job.targets
    return going


def _shortest_first(jobs: Sequence[Present], metric: Metric) -> list[Present]:
    """By what remains over what a second of waiting costs: Smith's rule, the best order where one goes at a time."""

    def index(job: Present) -> float:
        return job.remaining / job.processes if metric == "cpu_seconds" else job.remaining * job.asked

    return sorted(jobs, key=lambda job: (index(job), job.sequence))


def _those_that_fit(ordered: Sequence[Present]) -> set[int]:
    """From the first on, as many as the storage serves without any of them being held up."""
    going = set()
    for place, job in enumerate(ordered):
        demand = sum(other.demand for other in ordered[:place] if other.targets & job.targets)
        if demand <= 0 or demand + job.demand <= FULL:
            going.add(job.sequence)
    return going


def _dynamic(jobs: Sequence[Present], now: float, metric: Metric, delay: float) -> set[int]:
    if len(jobs) > MOST_CONSIDERED:
        jobs = _shortest_first(jobs, metric)[:MOST_CONSIDERED]
    if len(jobs) <= 1:
        return {job.sequence for job in jobs}
    best: Rule = "interfere"
    least = math.inf
    for rule in RULES:
        if rule == "delay" and delay <= 0:
            continue
        found = cost(metric, jobs, predict(rule, jobs, now, metric, delay), now)
        if found < least * (1 - SAME_COST):
            best, least = rule, found
    return _by_rule(best, jobs, now, metric, delay)
