"""Jobs on one time axis as JSON, with the keys that docs/commands.md documents: rates in MiB/s, times in seconds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slicewise.analysis.coverage import Coverage
from slicewise.analysis.overlap.overlap import DirectionOverlap, JobInDirection, Overlap
from slicewise.analysis.overlap.region import Region, Uniformity
from slicewise.estimate import Estimate
from slicewise.text import words


def overlap_record(
    overlap: Overlap, main: DirectionOverlap, coverages: Mapping[str, Coverage], page: Path | None
) -> dict[str, Any]:
    """What `slicewise overlap --json` prints: the keys of `main` at the top, all directions in `directions`."""
    directions = {name: _direction(overlap, direction) for name, direction in overlap.directions.items()}
    return {
        "slice_seconds": overlap.slice_ns / 1e9,
        "first_slice": overlap.first_slice,
        "end_slice": overlap.end_slice,
        "waited_seconds": overlap.waited_seconds,
        "direction": main.direction,
        **directions[main.direction],
        "directions": directions,
        "coverage": coverages,
        "page": str(page) if page else None,
    }


def _direction(overlap: Overlap, direction: DirectionOverlap) -> dict[str, Any]:
    programs = {job.job: job.program for job in overlap.jobs}
    uniformity = direction.uniformity
    variants = {
        kind: _region(overlap, region)
        for kind, region in (
            ("every_process", direction.regions.every_process),
            ("union", direction.regions.union),
            ("any_process", direction.regions.any_process),
            ("any_union", direction.regions.any_union),
        )
    }
    region = _region(overlap, direction.basis)
    return {
        "not_applicable": direction.not_applicable or None,
        "storage": direction.storage,
        "region": region and {**region, "variants": variants},
        "jobs": [_job(job, programs[job.job]) for job in direction.jobs],
        "ratio": direction.ratio and direction.ratio.region,
        "ratios": direction.ratio,
        "rsd": uniformity and uniformity.rsd,
        "jain": uniformity and uniformity.jain,
        "contended": direction.contention.contended,
        "contention": {
            "evidence": direction.contention.evidence,
            "share_of_alone": direction.contention.share_of_alone,
            "together_mib_s": _mib_s(direction.contention.together_bytes_per_second),
            "alone_mib_s": _mib_s(direction.contention.alone_bytes_per_second),
        },
        "model": {
            "capacity": direction.capacity
            and {**_rate_estimate(direction.capacity.rate), "source": direction.capacity.source},
            "predictions": direction.predictions,
            "inverses": direction.inverses,
        },
        "notes": direction.notes,
    }


def _job(job: JobInDirection, program: str) -> dict[str, Any]:
    return {
        "job": job.job,
        "program": program,
        "processes": job.processes,
        "nodes": job.nodes,
        "idle_processes": job.idle_processes,
        "bytes": job.bytes,
        "overall_mib_s": _mib_s(job.overall_bytes_per_second),
        "region_bytes": job.region_bytes,
        "region_mib_s": _mib_s(job.region_bytes_per_second),
        "region_share": job.region_share,
        "fair_share_by_process": job.fair_share_by_process,
        "fair_share_by_node": job.fair_share_by_node,
        "bytes_per_process": _uniformity(job.uniformity),
        "start": job.span and words.iso_time(job.span.start_ns),
        "end": job.span and words.iso_time(job.span.end_ns),
        "seconds": job.span and job.span.seconds,
        "busy_share": job.span and job.span.busy_share,
        "waited_seconds": job.waited_seconds,
        "alone_job": job.alone and job.alone.job,
        "alone_seconds": job.alone_seconds,
        "demand": job.demand and {**_rate_estimate(job.demand.bytes_per_second), "source": job.demand.source},
        "elsewhere_bytes": job.use.elsewhere_bytes,
        "elsewhere_share": job.use.elsewhere_share,
    }


def _region(overlap: Overlap, region: Region | None) -> dict[str, Any] | None:
    if region is None:
        return None
    return {
        "kind": region.kind.replace(" ", "_"),
        "meaning": region.meaning,
        "first_slice": region.first_slice,
        "end_slice": region.end_slice,
        "slices": region.slices,
        "seconds": region.seconds,
        "start": words.iso_time(region.first_slice * overlap.slice_ns),
        "end": words.iso_time(region.end_slice * overlap.slice_ns),
    }


def _uniformity(uniformity: Uniformity | None) -> dict[str, Any] | None:
    if uniformity is None:
        return None
    return {"mean": uniformity.mean_bytes, "rsd": uniformity.rsd, "jain": uniformity.jain}


def _rate_estimate(estimate: Estimate) -> dict[str, Any]:
    return {
        "mib_s": _mib_s(estimate.value),
        "low_mib_s": _mib_s(estimate.low),
        "high_mib_s": _mib_s(estimate.high),
        "how": estimate.how,
    }


def _mib_s(bytes_per_second: float | None) -> float | None:
    return None if bytes_per_second is None else bytes_per_second / words.MIB
