"""What profiles could not see or have lost, a line each: the same lines on every page."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from slicewise.analysis.coverage import coverage, job_processes
from slicewise.profile.reader import Profile
from slicewise.report import coverage_words, words


def unseen_lines(profiles: Iterable[Profile]) -> list[str]:
    """What share of the kernel's bytes was seen and what the rest may be, damage, trouble that the profiler met,
    processes that were killed."""
    lines = []
    for profile in profiles:
        seen = coverage(profile, job_processes(profile))
        lines.append(f"{profile.job}: {coverage_words.seen(seen)}")
        lines.extend(f"{profile.job}: {line}" for line in coverage_words.gap_lines(seen))
        lines.extend(damage.message for damage in profile.damage)
        lines.extend(_mishaps(profile))
        killed = profile.processes.filter(pl.col("ending") == "killed").height
        if killed:
            lines.append(
                f"{profile.job}: {words.count(killed, 'process')} ended without a word (killed, or out of time or "
                "memory): what they counted is here, the kernel's own last count of them is not"
            )
    return lines


def _mishaps(profile: Profile) -> list[str]:
    meanings = profile.schema.meanings["mishaps"]
    met = profile.mishaps.group_by("mishap").agg(pl.col("count").sum(), pl.col("process").n_unique()).sort("mishap")
    return [
        f"{profile.job}: {meanings[name]} ({words.count(times, 'time')} in {words.count(processes, 'process')})"
        for name, times, processes in met.iter_rows()
        if times
    ]
