"""Policies side by side: what each makes of the same jobs, which is best by a metric, and with offsets."""

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np
import polars as pl

from slicewise.analysis.policies.replay import SAME_COST, with_decisions
from slicewise.analysis.policies.simulation import Capacity, PolicyJob, Simulated, simulate
from slicewise.constants import SECOND_NS
from slicewise.digest.digest import Digest
from slicewise.digest.slices import with_mapped
from slicewise.errors import UserError
from slicewise.kinds import POLICIES, Metric, Policy, Simulable
from slicewise.scalars import whole

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


# A job that moved so many times what it claimed, or so little of it, gained or lost turns by its claims.
FAR_OFF = 2.0


@dataclass(frozen=True)
class Claimed:
    """phases: that the log has of the job; compared: all but the first, in which a job does not know yet how much its
    phases move. claimed_bytes, moved_bytes: over those; moved are all bytes of its files in the slices of these phases,
    read and written. needed_seconds: how long it went in them. ratio: moved over claimed; None without either.
    """

    job: str
    phases: int
    compared: int
    claimed_bytes: int
    moved_bytes: int
    needed_seconds: float
    ratio: float | None

    @property
    def is_far_off(self) -> bool:
        return self.ratio is not None and not 1 / FAR_OFF <= self.ratio <= FAR_OFF


@dataclass(frozen=True)
class Claims:
    """jobs: those of which there is a profile, the one that claimed least of what it moved first. unknown: jobs of the
    log without a profile; absent: profiles of jobs that are not in the log.
    """

    jobs: list[Claimed]
    unknown: int
    absent: list[str]


@dataclass
class _Phase:
    """start, end: UNIX time in seconds."""

    start: float
    end: float = 0.0
    claimed: int = 0
    went: float = 0.0


@dataclass
class _Logged:
    """A job of a log. goes_since: since when its present phase goes; None: it waits, or there is none."""

    key: str = ""
    phases: list[_Phase] = field(default_factory=list)
    is_in_phase: bool = False
    goes_since: float | None = None

    def take(self, record: Mapping[str, Any], now: float) -> None:
        event = record["event"]
        if event == "inform":
            self.key = record.get("key", self.key)
            if not self.is_in_phase:
                self.is_in_phase = True
                self.phases.append(_Phase(now))
            self.phases[-1].claimed = max(self.phases[-1].claimed, int(record.get("bytes", 0)))
        elif event in ("leave", "deadline") or (event == "release" and not record.get("remaining", 0.0)):
            self.end_phase(now)

    def decide(self, decision: str, now: float) -> None:
        if self.is_in_phase:
            if self.goes_since is not None:
                self.phases[-1].went += now - self.goes_since
            self.goes_since = None if decision == "pause" else now

    def end_phase(self, now: float) -> None:
        if self.is_in_phase:
            self.decide("pause", now)
            self.phases[-1].end = now
        self.is_in_phase = False


def claims(lines: Iterable[str], name: str, digests: Sequence[Digest], secret: bytes) -> Claims:
    """Compare. name: what to call the log in complaints; secret: the text that the coordinator and its jobs share.
    Raises UserError for lines that are not of a decision log, and for a log of a version that kept no time of day.
    """
    logged = _logged(lines, name)
    by_key = {_key(secret, digest): digest for digest in digests}
    found = [_claimed(by_key[one.key], one.phases) for one in logged if one.key in by_key]
    there = {one.key for one in logged}
    return Claims(
        sorted(found, key=lambda one: (one.ratio is None, -(one.ratio or 0.0), one.job)),
        sum(one.key not in by_key for one in logged),
        [digest.job for key, digest in by_key.items() if key not in there],
    )


def _key(secret: bytes, digest: Digest) -> str:
    """The number that a job is known by to a coordinator (`turn_job` in store/turn.h)."""
    row = digest.jobs.row(0, named=True)
    mixed = hmac.new(
        hashlib.sha256(secret.rstrip(b"\n\r \t")).digest(), f"{row['user']} {digest.job}".encode(), "sha256"
    )
    return f"{int.from_bytes(mixed.digest()[:8], 'little'):016x}"


def _logged(lines: Iterable[str], name: str) -> list[_Logged]:
    jobs: dict[int, _Logged] = {}
    clock = 0.0
    now = 0.0
    for number, record, decisions in with_decisions(lines, name):
        if record["event"] == "start":
            if "unix_seconds" not in record:
                raise UserError(
                    f"{name}: line {number}: has no unix_seconds; give a log that a newer coordinator wrote"
                )
            clock = float(record["unix_seconds"]) - record["time_seconds"]
        now = clock + record["time_seconds"]
        if "job" in record:
            jobs.setdefault(record["job"], _Logged()).take(record, now)
        for turn, decision in decisions.items():
            jobs.setdefault(turn, _Logged()).decide(decision, now)
    for job in jobs.values():
        job.end_phase(now)
    return list(jobs.values())


def _claimed(digest: Digest, phases: Sequence[_Phase]) -> Claimed:
    compared = phases[1:]
    slice_ns = digest.slice_ns
    spans = [
        range(int(one.start * SECOND_NS) // slice_ns, int(one.end * SECOND_NS) // slice_ns + 1) for one in compared
    ]
    first_phase = {int(phases[0].end * SECOND_NS) // slice_ns} if phases else set()
    slices = sorted({number for span in spans for number in span} - first_phase)
    moved = with_mapped(digest.process_slices, digest.fetched).filter(pl.col("slice").is_in(slices))
    claimed_bytes = sum(one.claimed for one in compared)
    moved_bytes = whole(moved["read_bytes"].sum()) + whole(moved["write_bytes"].sum())
    is_comparable = claimed_bytes > 0 and moved_bytes > 0
    return Claimed(
        digest.job,
        len(phases),
        len(compared),
        claimed_bytes,
        moved_bytes,
        sum(one.went for one in compared),
        moved_bytes / claimed_bytes if is_comparable else None,
    )
