"""A coordinator's decision log (docs/coordination.md), decided once more: whether each decision is the policy's."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from slicewise.analysis.policies.decisions import ALL_TARGETS, Present, decide, progress
from slicewise.errors import UserError
from slicewise.kinds import METRICS, POLICIES, Metric, Policy

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
