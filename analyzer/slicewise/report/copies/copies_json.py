"""Copies of a job as JSON, with the keys that docs/commands.md documents: rates in MiB/s, losses as fractions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slicewise.analysis.capacity.by_kind import Capacities
from slicewise.analysis.copies.copies import Copies
from slicewise.analysis.copies.demand import Demand
from slicewise.estimate import Estimate
from slicewise.report.copies import copies_words, limits
from slicewise.text import words


def copies_record(found: Copies, page: Path | None) -> dict[str, Any]:
    """What `slicewise predict --copies --json` prints."""
    rate = limits.rate_per_copy(found)
    return {
        **_demand(found.demand),
        "beside": [_demand(other) for other in found.others],
        "storage": found.storage,
        "capacity": {
            **_rate(found.capacity.rate),
            "source": found.capacity.source,
            "is_floor": found.capacity.is_floor,
            "runs": list(found.capacity.runs),
            "region": None if found.capacity.region is None else _region(found.capacity.region),
        },
        "most_loss": found.most_loss,
        "copies": found.most,
        "copies_low": found.fewest_sure,
        "copies_high": found.most_possible if found.is_bounded and not found.capacity.is_floor else None,
        "confidence": found.confidence,
        "rows": [
            {"copies": row.copies, "loss": row.loss, "in_step_loss": row.in_step, "mib_s": row.rate / words.MIB}
            for row in found.rows
        ],
        "slurm": limits.licence(found),
        "lustre": limits.token_bucket_rule(found),
        "lustre_requests_per_second": limits.requests_per_second(found),
        "copy_mib_s": None if rate is None else rate / words.MIB,
        "notes": copies_words.notes(found),
        "page": str(page) if page else None,
    }


def _demand(demand: Demand) -> dict[str, Any]:
    return {
        "job": demand.job.job,
        "program": demand.job.program,
        "processes": demand.job.processes,
        "nodes": demand.job.nodes,
        "runtime_seconds": demand.runtime_seconds,
        "io_seconds": demand.io_seconds,
        "io_share": demand.duty,
        "bytes": demand.volume,
        "demand": _rate(demand.rate),
    }


def _region(region: Capacities) -> dict[str, Any]:
    return {
        "read_mib_s": region.most["read"] / words.MIB,
        "write_mib_s": region.most["write"] / words.MIB,
        "metadata_calls_s": region.most.get("meta"),
        "exponent": region.exponent,
        "slices": region.mixed,
        "never_full_of": sorted(region.unfilled),
    }


def _rate(estimate: Estimate) -> dict[str, Any]:
    return {
        "mib_s": estimate.value / words.MIB,
        "low_mib_s": estimate.low / words.MIB,
        "high_mib_s": estimate.high / words.MIB,
        "how": estimate.how,
    }
