"""Runs that are at hand: of jobs that had no company, and of jobs in company of each of which there is one without.

Digests' runs in, dataclasses out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slicewise.analysis.calls import KINDS, Kind
from slicewise.analysis.runs.alone import AloneRun
from slicewise.analysis.runs.matching import run_of
from slicewise.constants import EQUAL_VOLUMES
from slicewise.digest.company import groups_in_time

MOVES: tuple[Kind, ...] = ("read", "write")
# A run of a program is one of the same job if its bytes are equal (EQUAL_VOLUMES), and its calls as close as this.
ALIKE_CALLS = 0.2


@dataclass(frozen=True)
class SeenJob:
    """A job that ran in company: when (s after the first one's I/O began), for how long, a run of it alone, and what it
    did there.
    """

    job: str
    start: float
    seconds: float
    alone: AloneRun
    seen: AloneRun


@dataclass(frozen=True)
class SeenRun:
    """Jobs that ran side by side. sizes: the same for its repeats."""

    jobs: list[SeenJob]

    @property
    def sizes(self) -> tuple[str, ...]:
        return tuple(sorted(one.alone.digest.job for one in self.jobs))


def seen_runs(there: Sequence[AloneRun]) -> tuple[list[AloneRun], list[SeenRun]]:
    """The jobs that had no company, and those in company of each of which there is a run without."""
    numbers = groups_in_time([run.span for run in there])
    in_order = sorted(zip(numbers, there, strict=True), key=lambda one: one[1].span, reverse=True)
    groups = [[run for at, run in in_order if at == number] for number in sorted(set(numbers))]
    quiet = [group[0] for group in groups if len(group) == 1]
    runs = []
    for group in groups:
        origin = min(one.span[0] for one in group)
        found = [(one, _alike(one, quiet)) for one in group]
        if len(group) > 1 and all(other is not None for _, other in found):
            runs.append(
                SeenRun(
                    [
                        SeenJob(one.digest.job, (one.span[0] - origin) / 1e9, one.seconds, other, one)
                        for one, other in found
                        if other is not None
                    ]
                )
            )
    return quiet, runs


def _alike(job: AloneRun, quiet: Sequence[AloneRun]) -> AloneRun | None:
    """A run alone of the same program on as many processes and nodes, with the same bytes and calls."""
    fitting = [one for one in quiet if _is_alike(job, one)]
    # One with the same slices, if there is one: their ends are known as well as the job's.
    fitting.sort(key=lambda one: one.digest.slice_ns != job.digest.slice_ns)
    return fitting[0] if fitting else None


def _is_alike(one: AloneRun, other: AloneRun) -> bool:
    same = (one.processes, one.nodes) == (other.processes, other.nodes)
    if not same or run_of(one.digest).job.program != run_of(other.digest).job.program:
        return False
    bytes_ = all(_is_near(one.bytes[kind], other.bytes[kind], EQUAL_VOLUMES) for kind in MOVES)
    return bytes_ and all(_is_near(one.calls[kind], other.calls[kind], ALIKE_CALLS) for kind in KINDS)


def _is_near(one: float, other: float, fraction: float) -> bool:
    return abs(one - other) <= max(fraction * max(one, other), 16)
