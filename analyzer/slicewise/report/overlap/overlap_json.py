"""Jobs on one time axis as JSON, with the keys that docs/commands.md documents: rates in MiB/s, times in seconds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slicewise.analysis.coverage import Coverage
from slicewise.analysis.overlap.overlap import DirectionOverlap, JobInDirection, Overlap
from slicewise.analysis.overlap.region import Region
from slicewise.report.records import mib_s, or_none, picked, rate_record
from slicewise.text import words

VARIANTS = ("every_process", "union", "any_process", "any_union")


def overlap_record(
    overlap: Overlap, main: DirectionOverlap, coverages: Mapping[str, Coverage], page: Path | None
) -> dict[str, Any]:
    """What `slicewise overlap --json` prints: the keys of `main` at the top, all directions in `directions`."""
    directions = {name: _direction(overlap, direction) for name, direction in overlap.directions.items()}
    return {
        "slice_seconds": overlap.slice_ns / 1e9,
        **picked(overlap, "first_slice", "end_slice", "waited_seconds"),
        "direction": main.direction,
        **directions[main.direction],
        "directions": directions,
        "coverage": coverages,
        "page": str(page) if page else None,
    }


def _direction(overlap: Overlap, direction: DirectionOverlap) -> dict[str, Any]:
    programs = {job.job: job.program for job in overlap.jobs}
    uniformity, contention, capacity = direction.uniformity, direction.contention, direction.capacity
    variants = {kind: _region(overlap, getattr(direction.regions, kind)) for kind in VARIANTS}
    region = _region(overlap, direction.basis)
    return {
        **or_none(direction, "not_applicable"),
        "storage": direction.storage,
        "region": region and {**region, "variants": variants},
        "jobs": [_job(job, programs[job.job]) for job in direction.jobs],
        "ratio": direction.ratio and direction.ratio.region,
        "ratios": direction.ratio,
        "rsd": uniformity and uniformity.rsd,
        "jain": uniformity and uniformity.jain,
        "contended": contention.contended,
        "contention": {
            **picked(contention, "evidence", "share_of_alone"),
            "together_mib_s": mib_s(contention.together_bytes_per_second),
            "alone_mib_s": mib_s(contention.alone_bytes_per_second),
        },
        "model": {
            "capacity": capacity and {**rate_record(capacity.rate), "source": capacity.source},
            **picked(direction, "predictions", "inverses"),
        },
        "notes": direction.notes,
    }


def _job(job: JobInDirection, program: str) -> dict[str, Any]:
    even, span, demand = job.uniformity, job.span, job.demand
    return {
        "job": job.job,
        "program": program,
        **picked(job, "processes", "nodes", "idle_processes", "bytes"),
        "overall_mib_s": mib_s(job.overall_bytes_per_second),
        "region_bytes": job.region_bytes,
        "region_mib_s": mib_s(job.region_bytes_per_second),
        **picked(job, "region_share", "fair_share_by_process", "fair_share_by_node"),
        "bytes_per_process": even and {"mean": even.mean_bytes, **picked(even, "rsd", "jain")},
        "start": span and words.iso_time(span.start_ns),
        "end": span and words.iso_time(span.end_ns),
        "seconds": span and span.seconds,
        "busy_share": span and span.busy_share,
        "waited_seconds": job.waited_seconds,
        "alone_job": job.alone and job.alone.job,
        "alone_seconds": job.alone_seconds,
        "demand": demand and {**rate_record(demand.bytes_per_second), "source": demand.source},
        **picked(job.use, "elsewhere_bytes", "elsewhere_share"),
    }


def _region(overlap: Overlap, region: Region | None) -> dict[str, Any] | None:
    if region is None:
        return None
    return {
        "kind": region.kind.replace(" ", "_"),
        **picked(region, "meaning", "first_slice", "end_slice", "slices", "seconds"),
        "start": words.iso_time(region.first_slice * overlap.slice_ns),
        "end": words.iso_time(region.end_slice * overlap.slice_ns),
    }
