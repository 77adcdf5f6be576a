"""What `slicewise predict` says of every run of several jobs of `testbed.blame_plans`, as tables.

Each is predicted from runs of each job alone. The law is the one that explains the other runs best. Runs of the same
jobs, repeats too, are left out there.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slicewise.analysis.predict import predict as foretold
from slicewise.analysis.predict.fitted import SeenJob, SeenRun
from slicewise.analysis.runs.on_storage import AloneRun, run_there
from slicewise.analysis.runs.storage import storage_of
from support.held_out import held_out
from support.told import Told

from testbed import blame_validation as recorded
from testbed.blame_plans import JOBS, STORAGES, recording_of
from testbed.blame_validation import Recorded
from testbed.tables import Table, listed
from testbed.usual_tables import figures_table

# Largest and mean error of runtimes that are aimed at.
AIM = (0.20, 0.07)


@dataclass(frozen=True, kw_only=True)
class Outcome(Told):
    """A job of a run; alone: as long as it took by itself (s)."""

    run: Recorded
    alone: float


@functools.cache
def outcomes(directory: Path) -> list[Outcome]:
    """Every job of every run of several, where each was recorded alone too."""
    recorded_runs, seen, served, storage, quiet = _seen(directory)
    return [
        Outcome(
            runs=run.text, place=job.seen.job, jobs=len(one.jobs), took=job.seen.seconds, seconds=job.seconds,
            doubt=job.doubt, is_warned=job.is_warned, run=run,
            alone=job.seen.alone.seconds,
        )
        for run, one in zip(recorded_runs, held_out(storage, seen, served, quiet), strict=True)
        for job in one.jobs
    ]  # fmt: skip


def _seen(directory: Path) -> tuple[list[Recorded], list[SeenRun], foretold.ServiceRates, int, list[AloneRun]]:
    everything = recorded.runs_of(directory)
    storage = storage_of(
        [recorded.digest_of(directory / run.jobs[0].profile) for run in everything[:2]], "none is seen"
    )
    alone: dict[str, list[AloneRun]] = {}
    for run in everything:
        if len(run.jobs) == 1:
            one = run_there(recorded.digest_of(directory / run.jobs[0].profile), storage)
            if one is not None:
                alone.setdefault(run.jobs[0].job, []).append(one)
    found, runs = list[SeenRun](), list[Recorded]()
    for run in everything:
        jobs = [job for job in run.jobs if not JOBS[job.job].is_elsewhere]
        if len(jobs) < 2 or any(job.job not in alone for job in jobs):
            continue
        everywhere = [run_there(recorded.digest_of(directory / job.profile), storage) for job in jobs]
        there = [one for one in everywhere if one is not None]
        if len(there) < len(jobs):
            continue
        origin = min(one.span[0] for one in there)
        seen = [
            SeenJob(
                job.job,
                (one.span[0] - origin) / 1e9,
                job.seconds if JOBS[job.job].has_clock else one.seconds,
                min(alone[job.job], key=lambda other: other.digest.slice_ns != one.digest.slice_ns),
                one,
            )
            for job, one in zip(jobs, there, strict=True)
        ]
        runs.append(run)
        found.append(SeenRun(seen))
    quiet = [one for each in alone.values() for one in each]
    return runs, found, foretold.served_by(quiet), storage, quiet


def tables(campaigns: Path) -> list[Table]:
    """How far off predictions are, by storage; then every job of each storage."""
    by_storage = {storage: outcomes(campaigns / recording_of(storage)) for storage in STORAGES}
    told = {(storage, "all"): found for storage, found in by_storage.items()}
    told |= {
        (storage, "without a doubt"): [one for one in found if not one.doubt] for (storage, _), found in told.items()
    }
    return [
        figures_table("errors", ["storage", "jobs"], told),
        *(listed(storage, found, JOB) for storage, found in by_storage.items()),
    ]


JOB: dict[str, Callable[[Outcome], Any]] = {
    "run": lambda one: f"{one.run.text}, {one.run.slice_seconds:g} s slices",
    "job": lambda one: one.place,
    "alone, s": lambda one: one.alone,
    "took, s": lambda one: one.took,
    "foretold, s": lambda one: one.seconds.value,
    "between": lambda one: f"{one.seconds.low:.0f}-{one.seconds.high:.0f}",
    "RE": lambda one: one.error,
    "within": lambda one: one.is_within,
    "doubted": lambda one: bool(one.doubt),
    "told afterwards": lambda one: one.is_warned,
}
