"""Policies in sentences: what each means, what the best one would change, for whom."""

from __future__ import annotations

from slicewise.analysis.policies.comparison import Comparison
from slicewise.analysis.policies.decisions import Metric, Policy
from slicewise.analysis.policies.replay import Replay
from slicewise.analysis.policies.simulation import Simulated
from slicewise.text import words

METRICS: dict[Metric, str] = {
    "cpu_seconds": "CPU seconds in I/O",
    "sum_interference": "sum of interference factors",
    "makespan": "makespan",
    "worst_slowdown": "worst slowdown",
}
MEANINGS: dict[Policy, str] = {
    "interfere": "all jobs do I/O when they want to, and share the storage",
    "fcfs": "one job at a time, in the order of arrival (first come, first served)",
    "interrupt": "one job at a time: who arrives last goes first, and who was interrupted goes on after it",
    "delay": "who arrives while others do I/O waits for a while, or until they are done, and then shares",
    "dynamic": "at each arrival and end, whichever of these, or the shortest I/O first, is expected to cost least",
}
# Less than this of a job's I/O time is no gain and no loss worth a word.
WORTH_A_WORD = 0.005


def value(metric: Metric, cost: float) -> str:
    """A cost with its unit, where it has one."""
    return words.seconds(cost) if metric == "makespan" else words.number(cost, 4)


def verdict(comparison: Comparison) -> str:
    """The first sentence: which policy costs least, and by how much."""
    best, metric = comparison.best, comparison.metric
    now = comparison.undisturbed.cost(metric)
    if comparison.gain(best) <= WORTH_A_WORD * now:
        return f"No policy lowers the {METRICS[metric]} ({value(metric, now)}) by more than 0.5 %."
    return (
        f"{best.policy} costs least: its {METRICS[metric]} would be {value(metric, best.cost(metric))} instead of "
        f"{value(metric, now)} ({words.signed_percent(-comparison.gain(best) / now)})."
    )


def for_whom(comparison: Comparison, simulated: Simulated) -> str:
    """Who gains and who loses I/O time under a policy."""
    gains, losses = [], []
    for job, won in zip(comparison.undisturbed.jobs, comparison.seconds_won(simulated), strict=True):
        if won > WORTH_A_WORD * job.io_seconds:
            gains.append(f"{job.job} {words.seconds(won)}")
        elif -won > WORTH_A_WORD * job.io_seconds:
            losses.append(f"{job.job} {words.seconds(-won)}")
    told = [f"{verb}: {words.listing(jobs)}" for verb, jobs in (("Gains", gains), ("Loses", losses)) if jobs]
    return f"{'. '.join(told)} of I/O time." if told else "No job gains or loses I/O time."


def meanings(comparison: Comparison) -> list[str]:
    """A line a policy."""
    lines = []
    for one in comparison.simulated:
        waits = f"; here {words.seconds(one.delay)}" if one.policy == "delay" else ""
        lines.append(f"{one.policy}: {MEANINGS[one.policy]}{waits}.")
    return lines


def replay_lines(found: Replay, name: str) -> list[str]:
    """What came of a replay, with the first disagreement."""
    if found.agrees:
        return [
            f"All decisions of {name} agree with the policy ({words.listing(found.policies)}): "
            f"{words.count(found.decisions, 'decision')} after {words.count(found.changes, 'event')}."
        ]
    first = found.disagreements[0]
    return [
        f"{words.count(len(found.disagreements), 'event')} of {found.changes:,} in {name} led to other decisions than "
        f"the policy's ({words.listing(found.policies)}).",
        f"The first: line {first.line}, {first.event} at {first.time_seconds:.6f} s. "
        f"Logged: {first.logged}. By the policy: {first.expected}.",
    ]
