"""What `slicewise run` says at the end of a command: what was seen, how much of it that is, and what to do next."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from slicewise.analysis.job.io_time import IoTime
from slicewise.analysis.job.totals import Summary
from slicewise.digest.layers import OWN_LAYERS
from slicewise.report.coverage import coverage_words
from slicewise.report.job.turn_words import turn_lines
from slicewise.text import words

# A command that is over sooner is told what it did, and no share of its runtime: profiling has a cost that comes once.
SHORT_SECONDS = 1.0


def run_lines(summary: Summary, io_time: IoTime, job_dir: Path) -> Iterator[str]:
    """Three lines, two of a short command, and one more for each damage to the profile."""
    who = words.processes_on_nodes(summary.processes, len(summary.hosts))
    did = words.wrote_and_read(*(_file_bytes(summary, direction) for direction in ("write", "read")))
    how_long = words.duration_between(summary.start, summary.end)
    yield f"{who} {did} in a runtime of {how_long}; {_in_calls(summary, io_time)}"
    yield from turn_lines(summary)
    shown = _as_named_from_here(job_dir)
    seen = coverage_words.seen(summary.coverage)
    share = summary.profiler.share_of_runtime
    if _is_short(summary):
        if not coverage_words.is_all_seen(summary.coverage):
            yield seen
        yield f"profile in {shown}; next: slicewise report {shown}"
        yield from (damage.message for damage in summary.damage)
        return
    cost = "" if share is None else f"; cost {words.percent(share, 2)} of the runtime"
    yield f"{seen}{cost}; profile in {shown}"
    yield f"next: slicewise report {shown}   or, who slowed it down:  slicewise blame {shown}"
    yield from (damage.message for damage in summary.damage)


def _is_short(summary: Summary) -> bool:
    seconds = words.seconds_between(summary.start, summary.end)
    return seconds is not None and seconds < SHORT_SECONDS


def _file_bytes(summary: Summary, direction: str) -> int:
    return sum(summary.totals[layer][f"{direction}_bytes"] for layer in OWN_LAYERS)


def _in_calls(summary: Summary, io_time: IoTime) -> str:
    if io_time.processes.is_empty():
        return "no time in I/O calls"
    slowest, median = words.duration(io_time.slowest), words.duration(io_time.median)
    if io_time.processes.height == 1:
        return f"{slowest} of it in I/O calls"
    return f"in I/O calls the slowest {'rank' if summary.ranks else 'process'} was {slowest}, the median one {median}"


def _as_named_from_here(path: Path) -> str:
    """The path as a user would type it: relative where it lies below the current directory."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
