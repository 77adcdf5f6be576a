"""What a job waited for its turn at I/O, where jobs take turns (docs/coordination.md)."""

from __future__ import annotations

from collections.abc import Iterator

from slicewise.analysis.job.totals import JobTotals
from slicewise.text import words


def turn_lines(summary: JobTotals) -> Iterator[str]:
    """A sentence where the job waited: "It waited 12 s for its turn at I/O."."""
    if summary.waited_seconds > 0:
        yield f"It waited {words.duration(summary.waited_seconds)} for its turn at I/O."
