"""What a policy makes of jobs that alternate between computing and I/O on one storage: an event simulation. Any unit of
volume, as long as capacity and caps are that unit a second. Who may go is what `decisions.decide` says; the rates are
the sharing model's (`sharing/proportional.py`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from slicewise.analysis.policies.decisions import Present, decide, machine_cost, set_of, turns_by_delay
from slicewise.analysis.sharing.proportional import VOLUME_ROUNDING, checked_capacity, fair_rates, require_sound
from slicewise.constants import NO_SECONDS
from slicewise.kinds import Metric, Simulable

Doing = Literal["computing", "io", "waiting"]
# What the storage serves while these jobs (places in the list) are in I/O.
Capacity = float | Callable[[Sequence[int]], float]


@dataclass(frozen=True)
class IoPhase:
    """I/O in one go: computing: s before it; volume; cap: the rate that it reaches alone (inf: the whole capacity)."""

    computing: float
    volume: float
    cap: float = math.inf


@dataclass(frozen=True)
class PolicyJob:
    """A job to simulate. weight: of its share; computing_after: s after its last phase; unit: it can only stop after
    a whole multiple of this volume of a phase (a call, a round, a file); 0: anywhere. period: s from the beginning of
    one phase to that of the next, by which `set10` decides; 0: that of its phases with nobody else.
    """

    job: str
    processes: int
    weight: float
    start: float
    phases: tuple[IoPhase, ...]
    computing_after: float = 0.0
    unit: float = 0.0
    period: float = 0.0

    def __post_init__(self) -> None:
        require_sound(self.job, self.start, weight=[self.weight], volume=[phase.volume for phase in self.phases])
        for phase in self.phases:
            if not (phase.cap > 0 and phase.computing >= 0 and math.isfinite(phase.computing)):
                raise ValueError(f"{self.job} has a phase with a cap of {phase.cap:g} after {phase.computing:g} s")
        if not self.phases:
            raise ValueError(f"{self.job} has no I/O phase")
        if self.processes < 1:
            raise ValueError(f"{self.job} has {self.processes} processes; it must have 1 or more")
        for name, value in (("unit", self.unit), ("period", self.period)):
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} of {self.job} is {value:g}; it must be 0 or more")


@dataclass(frozen=True)
class Stretch:
    """A stretch of a job's time in which nothing changed for it; rate: of its I/O."""

    start: float
    end: float
    doing: Doing
    rate: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What became of a job: start and end (s, on the axis of starts), io_seconds: from the beginning of each I/O phase
    to its end, with waiting, all added up; io_alone: the same with nobody else. phases: begin and end of each.
    """

    job: str
    processes: int
    start: float
    end: float
    io_seconds: float
    io_alone: float
    phases: tuple[tuple[float, float], ...]
    stretches: tuple[Stretch, ...]

    @property
    def interference(self) -> float:
        return self.io_seconds / self.io_alone

    @property
    def moved(self) -> float:
        """Volume, as it was moved stretch by stretch."""
        return math.fsum((one.end - one.start) * one.rate for one in self.stretches)


@dataclass(frozen=True)
class Simulated:
    """Jobs under a policy, in the order given. delay: s, of `delay` and `dynamic`."""

    policy: Simulable
    jobs: list[Outcome]
    delay: float = 0.0

    @property
    def utilisation(self) -> float:
        """The share of the jobs' CPU seconds (processes times runtime) that computes (Boito et al., 2023)."""
        held = [(job.processes * (job.end - job.start), job.processes * job.io_seconds) for job in self.jobs]
        return 1 - math.fsum(io for _, io in held) / math.fsum(runtime for runtime, _ in held)

    @property
    def slowdown(self) -> float:
        """Of I/O: the mean interference factor."""
        return self.cost("sum_interference") / len(self.jobs)

    def cost(self, metric: Metric) -> float:
        """The run by a metric of the whole machine; less is better."""
        makespan = max(job.end for job in self.jobs) - min(job.start for job in self.jobs)
        return machine_cost(metric, [(job.processes, job.io_seconds, job.io_alone) for job in self.jobs], makespan)


def simulate(
    capacity: Capacity, jobs: Sequence[PolicyJob], policy: Simulable, metric: Metric = "cpu_seconds", delay: float = 0.0
) -> Simulated:
    """Run the jobs under a policy. metric: what `dynamic` goes by. delay: s that a job waits under `delay`. Jobs that
    arrive at one time are in the order of their names. Raises ValueError for a capacity that is not a number above 0,
    or without a job.
    """
    if not jobs:
        raise ValueError("there is no job to simulate")
    return _Run(capacity, jobs, policy, metric, delay).to_the_end()


class _Job:
    """A job while it is simulated. ready: when its next phase begins, while it computes; then None."""

    def __init__(self, plan: PolicyJob, place: int, alone: float, origin: float) -> None:
        self.plan = plan
        self.place = place
        self.capacity_alone = alone
        # From the first start on, so that starts as large as the time of day cost no digits.
        self.since = plan.start - origin
        self.number = 0
        self.ready: float | None = self.since + plan.phases[0].computing
        self.sequence = 0
        self.left = 0.0
        self.arrived = 0.0
        self.phases: list[tuple[float, float]] = []
        self.stretches: list[Stretch] = []
        gaps = [
            before.volume / min(before.cap, alone) + phase.computing
            for before, phase in zip(plan.phases, plan.phases[1:], strict=False)
        ]
        self.period = plan.period or (math.fsum(gaps) / len(gaps) if gaps else 0.0)

    @property
    def phase(self) -> IoPhase:
        return self.plan.phases[self.number]

    @property
    def rate_alone(self) -> float:
        return min(self.phase.cap, self.capacity_alone)

    @property
    def to_stop(self) -> float:
        if not self.plan.unit:
            return 0.0
        over = (self.phase.volume - self.left) % self.plan.unit
        rounding = VOLUME_ROUNDING * self.phase.volume
        return 0.0 if min(over, self.plan.unit - over) <= rounding else self.plan.unit - over

    def arrive(self, sequence: int) -> None:
        assert self.ready is not None
        self.did("computing", self.ready)
        self.arrived, self.ready, self.sequence, self.left = self.ready, None, sequence, self.phase.volume

    def end_phase(self, now: float) -> None:
        self.phases.append((self.arrived, now))
        self.number += 1
        if self.number < len(self.plan.phases):
            self.ready = now + self.phase.computing

    @property
    def is_over(self) -> bool:
        return self.number == len(self.plan.phases)

    def did(self, doing: Doing, until: float, rate: float = 0.0) -> None:
        if until <= self.since:
            return
        last = self.stretches[-1] if self.stretches else None
        if last and (last.doing, last.rate) == (doing, rate):
            self.stretches[-1] = Stretch(last.start, until, doing, rate)
        else:
            self.stretches.append(Stretch(self.since, until, doing, rate))
        self.since = until


class _Run:
    def __init__(
        self, capacity: Capacity, jobs: Sequence[PolicyJob], policy: Simulable, metric: Metric, delay: float
    ) -> None:
        self.capacity_of = capacity if callable(capacity) else lambda active: capacity
        self.origin = min(job.start for job in jobs)
        self.jobs = [
            _Job(job, place, checked_capacity(self.capacity_of([place])), self.origin) for place, job in enumerate(jobs)
        ]
        self.by_name = sorted(self.jobs, key=lambda job: (job.plan.job, job.place))
        self.policy, self.metric, self.delay = policy, metric, delay
        self.sequence = 0
        self.going: set[int] = set()

    def to_the_end(self) -> Simulated:
        now = 0.0
        while True:
            self._arrivals(now)
            present = [job for job in self.jobs if job.ready is None and not job.is_over]
            coming = [job.ready for job in self.jobs if job.ready is not None]
            if not present:
                if not coming:
                    break
                now = min(coming)
                continue
            now = self._step(now, present, min(coming, default=math.inf))
        return Simulated(self.policy, [self._outcome(job) for job in self.jobs], self.delay)

    def _arrivals(self, now: float) -> None:
        ready = [job for job in self.by_name if job.ready is not None and job.ready <= now + NO_SECONDS]
        for job in sorted(ready, key=lambda job: job.ready or 0.0):
            self.sequence += 1
            job.arrive(self.sequence)

    def _step(self, now: float, present: list[_Job], next_arrival: float) -> float:
        views = self._views(present)
        chosen = decide(self.policy, views, now, self.metric, self.delay)
        stopping = [job for job in present if job.sequence in self.going - chosen and job.to_stop]
        # Who may not go any longer goes on to where it can stop, and whoever is new waits for it.
        self.going = chosen if not stopping else chosen & self.going | {job.sequence for job in stopping}
        active = [job for job in present if job.sequence in self.going]
        capacity = checked_capacity(self.capacity_of([job.place for job in active]))
        rates = fair_rates(capacity, self._weights(active), [job.phase.cap for job in active])
        times = [job.left / rate for job, rate in zip(active, rates, strict=True) if rate > 0]
        times += [job.to_stop / rate for job, rate in zip(active, rates, strict=True) if job in stopping and rate > 0]
        if self.policy in ("delay", "dynamic") and self.delay > 0:
            times += [time - now for time in turns_by_delay(views, now, self.delay)]
        step = min(times)
        # An arrival comes first only if it really cuts the step, so that every round ends a phase or reaches it.
        then = now + step if step < next_arrival - now else next_arrival
        step = then - now
        for job, rate in zip(active, rates, strict=True):
            job.did("io", then, rate)
            job.left -= rate * step
            if job.left <= max(VOLUME_ROUNDING * job.phase.volume, VOLUME_ROUNDING * max(then, 1.0) * rate):
                job.end_phase(then)
        for job in present:
            if job.sequence not in self.going:
                job.did("waiting", then)
        return then

    def _weights(self, active: Sequence[_Job]) -> list[float]:
        """By the sets' priorities (Boito et al., 2023); a period that is not known counts like the longest one."""
        if self.policy != "set10_shares":
            return [job.plan.weight for job in active]
        sets = [set_of(job.period) for job in active]
        last = max((number for number in sets if number is not None), default=0)
        return [10.0 ** -(last if number is None else number) for number in sets]

    def _views(self, present: Sequence[_Job]) -> list[Present]:
        whole = checked_capacity(self.capacity_of([job.place for job in present]))
        return [
            Present(
                job.sequence,
                job.arrived,
                job.phase.volume / job.rate_alone,
                job.left / job.rate_alone,
                job.plan.processes,
                job.plan.weight,
                min(1.0, job.rate_alone / whole),
                job.period,
            )
            for job in present
        ]

    def _outcome(self, job: _Job) -> Outcome:
        end = job.phases[-1][1] + job.plan.computing_after
        job.did("computing", end)
        return Outcome(
            job=job.plan.job,
            processes=job.plan.processes,
            start=job.plan.start,
            end=self.origin + end,
            io_seconds=math.fsum(last - first for first, last in job.phases),
            io_alone=math.fsum(phase.volume / min(phase.cap, job.capacity_alone) for phase in job.plan.phases),
            phases=tuple((self.origin + first, self.origin + last) for first, last in job.phases),
            stretches=tuple(
                Stretch(self.origin + one.start, self.origin + one.end, one.doing, one.rate) for one in job.stretches
            ),
        )
