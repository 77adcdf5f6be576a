"""Policies as JSON, with the keys that docs/commands.md documents: times in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slicewise.analysis.policies.after_the_fact import AfterTheFact
from slicewise.analysis.policies.comparison import Comparison
from slicewise.analysis.policies.simulation import Outcome, Simulated
from slicewise.report.policy import policy_words
from slicewise.text import words


def comparison_record(comparison: Comparison, chosen: str) -> dict[str, Any]:
    """What every comparison of policies has in JSON."""
    return {
        "metric": comparison.metric,
        "policies": [_policy(comparison, one) for one in comparison.simulated],
        "chosen": chosen,
    }


def after_the_fact_record(found: AfterTheFact, page: Path) -> dict[str, Any]:
    """What `slicewise turns policy JOB... --json` prints."""
    return {
        **comparison_record(found.comparison, found.chosen),
        "best": found.best.policy,
        "is_recommended": found.is_recommended,
        "error": found.error,
        "validation": [
            {
                "job": check.job,
                "processes": job.plan.processes,
                "phases": len(job.observed),
                "observed_io_seconds": check.observed,
                "simulated_io_seconds": check.simulated,
                "relative_error": check.relative_error,
                "rate_alone_from": job.source,
            }
            for job, check in zip(found.jobs, found.checks, strict=True)
        ],
        "storage": found.storage,
        "capacity": {
            "mib_s": found.capacity.rate.value / words.MIB,
            "low_mib_s": found.capacity.rate.low / words.MIB,
            "high_mib_s": found.capacity.rate.high / words.MIB,
            "source": found.capacity.source,
            "is_floor": found.capacity.is_floor,
        },
        "weight": found.weighting,
        "is_weight_fitted": found.is_weight_fitted,
        "notes": policy_words.basis(found),
        "page": page,
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
