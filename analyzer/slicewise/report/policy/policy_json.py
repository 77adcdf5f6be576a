"""Policies as JSON, with the keys that docs/commands.md documents: times in seconds."""

from __future__ import annotations

from typing import Any

from slicewise.analysis.policies.comparison import Comparison
from slicewise.analysis.policies.simulation import Outcome, Simulated


def comparison_record(comparison: Comparison, chosen: str) -> dict[str, Any]:
    """What every comparison of policies has in JSON."""
    return {
        "metric": comparison.metric,
        "policies": [_policy(comparison, one) for one in comparison.simulated],
        "chosen": chosen,
    }


def _policy(comparison: Comparison, simulated: Simulated) -> dict[str, Any]:
    won = comparison.seconds_won(simulated)
    return {
        "policy": simulated.policy,
        "sum_interference": simulated.cost("sum_interference"),
        "cpu_seconds": simulated.cost("cpu_seconds"),
        "makespan": simulated.cost("makespan"),
        "worst_slowdown": simulated.cost("worst_slowdown"),
        "gain": comparison.gain(simulated),
        **({"delay_seconds": simulated.delay} if simulated.policy == "delay" else {}),
        "jobs": [_job(job, seconds) for job, seconds in zip(simulated.jobs, won, strict=True)],
    }


def _job(job: Outcome, won: float) -> dict[str, Any]:
    return {
        "job": job.job,
        "start": job.start,
        "end": job.end,
        "io_seconds": job.io_seconds,
        "interference": job.interference,
        "gained_seconds": won,
    }
