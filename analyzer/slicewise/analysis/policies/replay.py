"""A coordinator's decision log (docs/coordination.md), decided once more: whether each decision is the policy's."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from slicewise.analysis.sharing.proportional import fair_rates
from slicewise.constants import NO_SECONDS
from slicewise.errors import UserError
from slicewise.kinds import METRICS, POLICIES, Metric, Policy, Simulable

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


CHANGES = ("inform", "release", "leave", "deadline", "timer")
DECISIONS = ("authorise", "pause", "resume")
LEAST_ASKED = 1e-6


@dataclass(frozen=True)
class Disagreement:
    """line: number of the event's line, from 1 on; logged and expected: what was decided, as "authorise 2, pause 1"."""

    line: int
    time_seconds: float
    event: str
    logged: str
    expected: str


@dataclass(frozen=True)
class Replay:
    """changes: events that a decision follows; decisions: the log's; agreeing: changes after which these are the
    rule's.
    """

    changes: int
    decisions: int
    agreeing: int
    disagreements: list[Disagreement]
    policies: list[Policy]

    @property
    def agrees(self) -> bool:
        return not self.disagreements


@dataclass
class _State:
    """The coordinator as far as the log tells: who is present, who goes, and since when what remains is known."""

    policy: Policy
    metric: Metric
    delay: float
    time: float
    present: dict[int, Present] = field(default_factory=dict)
    going: set[int] = field(default_factory=set)
    was_authorised: set[int] = field(default_factory=set)
    sequence: int = 0

    def advance(self, time: float) -> None:
        """Let what remains of those who go fall until `time`."""
        numbers = {job.sequence for name, job in self.present.items() if name in self.going}
        speeds = progress(list(self.present.values()), numbers)
        for name, job in self.present.items():
            fallen = speeds.get(job.sequence, 0.0) * (time - self.time)
            self.present[name] = replace(job, remaining=max(0.0, job.remaining - fallen))
        self.time = time

    def change(self, event: str, name: int | None, record: Mapping[str, Any]) -> None:
        """Apply an event of `CHANGES`."""
        if name is None:
            return
        if event == "inform":
            self._inform(name, record)
        elif event == "release" and record.get("remaining", 0.0) > 0 and name in self.present:
            self.present[name] = replace(self.present[name], remaining=float(record["remaining"]))
        else:
            self.present.pop(name, None)
            self.going.discard(name)
            self.was_authorised.discard(name)

    def _inform(self, name: int, record: Mapping[str, Any]) -> None:
        known = self.present.get(name)
        if known is None:
            self.sequence += 1
            asked = max(float(record["seconds"]), LEAST_ASKED)
            processes = int(record.get("processes", 1))
            known = Present(self.sequence, self.time, asked, asked, processes, float(processes))
        remaining = float(record.get("remaining", known.remaining))
        processes = int(record.get("processes", known.processes))
        weight = float(record.get("weight", known.weight if "processes" not in record else processes))
        demand = float(record.get("demand", known.demand))
        period = float(record.get("period", 0.0))
        is_sound = processes > 0 and weight > 0 and 0 < demand <= 1 and 0 <= remaining < math.inf
        if not (is_sound and 0 <= period < math.inf):
            raise ValueError(f"{processes} processes, weight {weight:g}, demand {demand:g}, remaining {remaining:g}")
        self.present[name] = replace(
            known,
            asked=max(known.asked, remaining),
            remaining=remaining,
            processes=processes,
            weight=weight,
            demand=demand,
            period=period,
            targets=int(record["targets"], 16) if "targets" in record else ALL_TARGETS,
        )

    def expected(self) -> dict[int, str]:
        chosen = decide(self.policy, list(self.present.values()), self.time, self.metric, self.delay)
        may_go = {name for name, job in self.present.items() if job.sequence in chosen}
        found = dict.fromkeys(self.going - may_go, "pause")
        return found | {name: "resume" if name in self.was_authorised else "authorise" for name in may_go - self.going}

    def take(self, decisions: Mapping[int, str]) -> None:
        """Take the decisions that were logged: what really happened goes on, so that a difference is told once."""
        paused = {name for name, decision in decisions.items() if decision == "pause"}
        self.going = ((self.going | set(decisions)) - paused) & set(self.present)
        self.was_authorised |= self.going


def replay(lines: Iterable[str], name: str) -> Replay:
    """Decide a log once more. name: what to call it in complaints. The end of a log that was cut within its last line
    does not count: that event's decisions may be missing. Raises UserError for any other line that is not of a decision
    log.
    """
    state: _State | None = None
    changes = decisions = agreeing = 0
    disagreements: list[Disagreement] = []
    policies: list[Policy] = []
    for number, record, logged in with_decisions(lines, name):
        event, time = record["event"], record["time_seconds"]
        if event == "start":
            try:
                state = _started(record, f"{name}: line {number}")
            except (TypeError, ValueError) as error:
                raise UserError(f"{name}: line {number}: start is not understood ({error})") from error
            policies += [state.policy] if state.policy not in policies else []
            continue
        if state is None:
            raise UserError(
                f"{name}: line {number}: the log does not open with a start; give it from its first line on"
            )
        if time < state.time:
            raise UserError(f"{name}: line {number}: time goes back from {state.time:g} s to {time:g} s")
        changes += 1
        decisions += len(logged)
        try:
            state.advance(time)
            state.change(event, record.get("job"), record)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{name}: line {number}: {event} is not understood ({error})") from error
        expected = state.expected()
        if expected == logged:
            agreeing += 1
        else:
            disagreements.append(Disagreement(number, time, event, _said(logged), _said(expected)))
        state.take(logged)
    if state is None:
        raise UserError(f"{name}: holds no decisions; give a log that slicewise-collect coordinate wrote")
    return Replay(changes, decisions, agreeing, disagreements, policies)


def with_decisions(lines: Iterable[str], name: str) -> Iterator[tuple[int, dict[str, Any], dict[int, str]]]:
    """Each change or start of a log: its line's number, its record, and the decisions that follow it."""
    last: tuple[int, dict[str, Any], dict[int, str]] | None = None
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    for number, line in numbered:
        try:
            record = _record(line, f"{name}: line {number}")
        except UserError:
            if last is not None and number == numbered[-1][0] and not line.rstrip().endswith("}"):
                return
            raise
        event = record["event"]
        if event in DECISIONS:
            if last is None:
                raise UserError(f"{name}: line {number}: a decision stands before any event that it could follow")
            last[2][int(record["job"])] = event
            continue
        if last is not None:
            yield last
        last = (number, record, {})
    if last is not None:
        yield last


def _record(line: str, where: str) -> dict[str, Any]:
    wrong = UserError(f"{where}: is no event of a decision log; give a log that slicewise-collect coordinate wrote")
    try:
        record = json.loads(line)
    except ValueError as error:
        raise wrong from error
    if not isinstance(record, dict) or not isinstance(record.get("time_seconds"), (int, float)):
        raise wrong
    event, job = record.get("event"), record.get("job")
    is_known = event == "start" or event in CHANGES or event in DECISIONS
    needs_job = event in DECISIONS or (event in CHANGES and event != "timer")
    if not is_known or not math.isfinite(record["time_seconds"]) or (needs_job and not isinstance(job, int)):
        raise wrong
    return record


def _started(record: Mapping[str, Any], where: str) -> _State:
    policy, metric = record.get("policy"), record.get("metric", METRICS[0])
    if policy not in POLICIES or metric not in METRICS:
        raise UserError(f"{where}: policy {policy} by {metric} is not known; it must be one of {', '.join(POLICIES)}")
    return _State(policy, metric, float(record.get("delay_seconds", 0.0)), record["time_seconds"])


def _said(decisions: Mapping[int, str]) -> str:
    return ", ".join(f"{decision} {job}" for job, decision in sorted(decisions.items())) or "nothing"
