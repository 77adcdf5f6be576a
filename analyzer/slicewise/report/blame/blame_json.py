"""A blame as JSON, with the keys that docs/commands.md documents: times in seconds, amounts in bytes and calls."""

from pathlib import Path
from typing import Any

from slicewise.analysis.blame.result import (
    Baseline,
    Blame,
    CostByWaiting,
    LowerLimit,
    Neighbour,
    Outside,
    TimeLimited,
    Traffic,
    Turn,
)
from slicewise.report.blame.blame_words import further_lines, opening
from slicewise.report.split.split_words import split_record
from slicewise.text import words


def blame_record(blame: Blame, page: Path | None) -> dict[str, Any]:
    """What `slicewise blame --json` prints."""
    return {
        "job": blame.job.job,
        "program": blame.job.program,
        "command": blame.job.command or None,
        "directory": blame.job.directory or None,
        "processes": blame.job.processes,
        "nodes": blame.job.nodes,
        "start": words.iso_time(blame.job.start_ns),
        "end": None if blame.is_running else words.iso_time(blame.job.end_ns),
        "is_running": blame.is_running,
        "as_of": words.iso_time(blame.as_of_ns) if blame.is_running else None,
        "sentences": [*opening(blame), *further_lines(blame)],
        "runtime_seconds": blame.runtime_seconds,
        "io_seconds": blame.io_seconds,
        "io_processes": blame.io_processes,
        "mapped_seconds": blame.mapped_seconds,
        "alone_seconds": blame.alone,
        "lost_seconds": blame.lost,
        "io_lost_seconds": blame.io_lost,
        "slowdown": blame.slowdown,
        "confidence": blame.confidence,
        "is_claimed": blame.is_claimed,
        "neighbours": [_neighbour(neighbour) for neighbour in blame.neighbours],
        "unexplained_seconds": blame.unexplained_seconds if blame.lost else None,
        "apart_seconds": blame.apart_seconds if blame.lost else None,
        "outside": None if blame.outside is None else outside_record(blame.outside),
        "delayed_seconds": blame.delayed_seconds,
        "memory_seconds": blame.memory_seconds,
        "lower_limit": None if blame.lower_limit is None else _lower_limit(blame.lower_limit),
        "time_limited": None if blame.time_limited is None else _time_limited(blame.time_limited),
        "turn": None if blame.turn is None else _turn(blame.turn),
        "own_processes_seconds": blame.own_processes.seconds if blame.own_processes else None,
        "split": split_record(blame.by_waiting.split) if blame.by_waiting else None,
        "by_waiting": None if blame.by_waiting is None else _by_waiting(blame.by_waiting),
        "waits": blame.waits,
        "unknown_because": blame.unknown_because or None,
        "next_step": blame.next_step or None,
        "baseline": None if blame.baseline is None else _baseline(blame.baseline),
        "sources": [_baseline(source) for source in blame.sources],
        "standalone_runs": [
            {"job": run.job, "is_taken": run.is_taken, "why_not": run.why_not or None} for run in blame.runs
        ],
        "contradiction": blame.contradiction or None,
        "traffic": [_traffic(traffic) for traffic in blame.traffic],
        "missing": blame.missing,
        "notes": blame.notes,
        "slice_seconds": blame.slice_ns / 1e9,
        "slices": blame.slices.to_dicts(),
        "shares": blame.shares.to_dicts(),
        "page": str(page) if page else None,
    }


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "seconds": turn.seconds,
        "waits": turn.waits,
        "had_it": turn.had_it,
        "slices": turn.slices.to_dicts(),
    }


def _by_waiting(cost: CostByWaiting) -> dict[str, Any]:
    return {
        "io_seconds": cost.io_seconds,
        "waited_seconds": cost.waited_seconds,
        "lost_io_seconds": cost.lost_io_seconds,
        "lost_waited_seconds": cost.lost_waited_seconds,
    }


def outside_record(outside: Outside) -> dict[str, Any]:
    """What a job took longer than alone outside of I/O calls."""
    return {
        "seconds": outside.seconds,
        "computed_seconds": outside.computed_seconds,
        "waited_seconds": outside.waited_seconds,
        "io_seconds": outside.io_seconds,
        "stall_share": outside.stall,
        "memory_seconds": outside.memory_seconds,
        "loaded_seconds": outside.loaded_seconds,
        "slept_seconds": outside.slept_seconds,
        "slept_at": outside.slept_at,
        "major_faults": outside.faults,
        "pages_bytes": outside.pages_bytes,
        "hidden_bytes": outside.hidden_bytes,
    }


def _lower_limit(limit: LowerLimit) -> dict[str, Any]:
    return {
        "group": limit.group,
        "storage": limit.storage.point,
        "what": "requests" if limit.is_requests else "bytes",
        "rate": limit.rate,
        "alone_rate": limit.alone,
        "seconds": limit.seconds,
    }


def _time_limited(limited: TimeLimited) -> dict[str, Any]:
    return {"what": limited.what, "done": limited.done, "alone_done": limited.alone_done, "less_share": limited.less}


def _neighbour(neighbour: Neighbour) -> dict[str, Any]:
    end = neighbour.without_it_end
    return {
        "job": neighbour.job,
        "program": neighbour.program or None,
        "processes": neighbour.processes,
        "nodes": neighbour.nodes,
        "lost_seconds": neighbour.lost,
        "kinds": neighbour.kinds,
        "storage": neighbour.storage,
        "start": words.iso_time(neighbour.start_ns),
        "end": words.iso_time(neighbour.end_ns),
        "seconds": neighbour.seconds,
        "read_bytes": neighbour.read_bytes,
        "write_bytes": neighbour.write_bytes,
        "meta_ops": neighbour.meta_ops,
        "without_it_end_seconds": end.value if end else None,
        "without_it_end": end,
        "no_model": neighbour.no_model or None,
    }


def _baseline(baseline: Baseline) -> dict[str, Any]:
    return {
        "source": baseline.source,
        "seconds": baseline.seconds,
        "confidence": baseline.confidence,
        "refused": baseline.refused or None,
        "runs": baseline.runs,
    }


def _traffic(traffic: Traffic) -> dict[str, Any]:
    return {
        "storage": traffic.storage,
        "profiled_bytes": traffic.profiled,
        "counted_bytes": traffic.counted,
        "counter": traffic.counter or None,
        "covered": traffic.covered,
        "exponent": traffic.exponent,
        "mixed_slices": traffic.mixed,
    }
