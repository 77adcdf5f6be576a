"""A blame as JSON."""

from pathlib import Path
from typing import Any

from slicewise.analysis.blame.result import Baseline, Blame, LowerLimit, Neighbour, Outside
from slicewise.report.blame import blame_words
from slicewise.report.records import or_none, picked
from slicewise.report.split.split_words import split_record
from slicewise.text import words


def blame_record(blame: Blame, page: Path | None) -> dict[str, Any]:
    job, limited, cost = blame.job, blame.time_limited, blame.by_waiting
    turn = blame.turn and picked(blame.turn, "seconds", "waits", "had_it", "slices")
    of_ranks = ("io_seconds", "waited_seconds", "lost_io_seconds", "lost_waited_seconds")
    moved = {"profiled_bytes": "profiled", "counted_bytes": "counted"}
    return {
        **picked(job, "job", "program"),
        **or_none(job, "command", "directory"),
        **picked(job, "processes", "nodes"),
        "start": words.iso_time(job.start_ns),
        "end": None if blame.is_running else words.iso_time(job.end_ns),
        "is_running": blame.is_running,
        "as_of": words.iso_time(blame.as_of_ns) if blame.is_running else None,
        "sentences": [*blame_words.opening(blame), *blame_words.further_lines(blame)],
        **picked(blame, "runtime_seconds", "io_seconds", "io_processes", "mapped_seconds"),
        **picked(blame, alone_seconds="alone", lost_seconds="lost", io_lost_seconds="io_lost"),
        **picked(blame, "slowdown", "confidence", "is_claimed"),
        "neighbours": [_neighbour(neighbour) for neighbour in blame.neighbours],
        "unexplained_seconds": blame.unexplained_seconds if blame.lost else None,
        "apart_seconds": blame.apart_seconds if blame.lost else None,
        "outside": blame.outside and outside_record(blame.outside),
        **picked(blame, "delayed_seconds", "memory_seconds"),
        "lower_limit": blame.lower_limit and lower_limit_record(blame.lower_limit),
        "time_limited": limited and picked(limited, "what", "done", "alone_done", less_share="less"),
        "turn": turn,
        "own_processes_seconds": blame.own_processes and blame.own_processes.seconds,
        "split": split_record(cost.split) if cost else None,
        "by_waiting": cost and picked(cost, *of_ranks),
        "waits": blame.waits,
        **or_none(blame, "unknown_because", "next_step"),
        "baseline": blame.baseline and _baseline(blame.baseline),
        "sources": [_baseline(source) for source in blame.sources],
        "standalone_runs": [picked(run, "job", "is_taken") | or_none(run, "why_not") for run in blame.runs],
        **or_none(blame, "contradiction"),
        "traffic": [
            picked(each, "storage", **moved)
            | or_none(each, "counter")
            | picked(each, "covered", "exponent", mixed_slices="mixed")
            for each in blame.traffic
        ],
        **picked(blame, "missing", "notes"),
        "slice_seconds": blame.slice_ns / 1e9,
        **picked(blame, "slices", "shares", "regions"),
        "page": str(page) if page else None,
    }


def outside_record(outside: Outside) -> dict[str, Any]:
    return {
        **picked(outside, "seconds", "computed_seconds", "waited_seconds", "io_seconds", stall_share="stall"),
        **picked(outside, "memory_seconds", "loaded_seconds", "slept_seconds", "slept_at", major_faults="faults"),
        **picked(outside, "pages_bytes", "hidden_bytes"),
    }


def lower_limit_record(limit: LowerLimit) -> dict[str, Any]:
    of = {"group": limit.group, "storage": limit.storage.point, "what": "requests" if limit.is_requests else "bytes"}
    return of | picked(limit, "rate", alone_rate="alone", seconds="seconds")


def _neighbour(neighbour: Neighbour) -> dict[str, Any]:
    end = neighbour.without_it_end
    return {
        "job": neighbour.job,
        **or_none(neighbour, "program"),
        **picked(neighbour, "processes", "nodes", lost_seconds="lost", kinds="kinds", storage="storage"),
        "start": words.iso_time(neighbour.start_ns),
        "end": words.iso_time(neighbour.end_ns),
        **picked(neighbour, "seconds", "read_bytes", "write_bytes", "meta_ops"),
        "without_it_end_seconds": end.value if end else None,
        "without_it_end": end,
        **or_none(neighbour, "no_model"),
    }


def _baseline(baseline: Baseline) -> dict[str, Any]:
    told = picked(baseline, "source", "seconds", "confidence")
    return told | or_none(baseline, "refused") | picked(baseline, "runs")
