"""What `slicewise predict` says of every run of several jobs of `testbed.blame_plans`, as tables.

Each is predicted from runs of each job alone. The law is the one that explains the other runs best. Runs of the same
jobs, repeats too, are left out there.
"""

import functools
from dataclasses import dataclass
from pathlib import Path

from slicewise.analysis.predict import predict as foretold
from slicewise.analysis.predict.fitted import SeenJob, SeenRun
from slicewise.analysis.runs.on_storage import AloneRun, run_there
from slicewise.analysis.runs.storage import storage_of
from slicewise.text import words
from support.held_out import held_out
from support.told import Aims, Told, figures_of_told

from testbed import blame_validation as recorded
from testbed.blame_plans import JOBS, STORAGES, recording_of
from testbed.blame_validation import Recorded
from testbed.tables import Table, table
from testbed.usual_tables import width

# Largest and mean error of runtimes that are aimed at.
AIM = (0.20, 0.07)
AIMS = Aims(*AIM)


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
            doubt=job.doubt, is_warned=job.is_warned, is_off_in_time=job.is_off_in_time, run=run,
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
    """How far off predictions are, by storage; then every run of each storage."""
    by_storage = {storage: outcomes(campaigns / recording_of(storage)) for storage in STORAGES}
    return [_summary(by_storage), *(_jobs(storage, found) for storage, found in by_storage.items())]


def _summary(by_storage: dict[str, list[Outcome]]) -> Table:
    rows = []
    for storage, found in by_storage.items():
        kinds = {"all": found, "without a doubt told beforehand": [one for one in found if not one.doubt]}
        rows += [_row(storage, which, some) for which, some in kinds.items() if some]
    every = [one for found in by_storage.values() for one in found]
    for length in sorted({one.run.slice_seconds for one in every}):
        some = [one for one in every if one.run.slice_seconds == length]
        rows.append(_row("all", f"in slices of {length:g} s", some))
    headings = ["storage", "jobs", "count", "mean |RE|", "largest |RE|", "bias", "within the interval", "end / end"]
    return table("errors", headings, rows)


def _row(storage: str, which: str, found: list[Outcome]) -> list[str]:
    figures = figures_of_told(found, AIMS.largest)
    return [
        storage, which, str(figures.count), words.percent(figures.mean), words.percent(figures.largest),
        words.signed_percent(figures.bias), f"{figures.within} of {figures.count}", width(figures),
    ]  # fmt: skip


def _jobs(storage: str, found: list[Outcome]) -> Table:
    rows = [
        [
            f"{one.run.text}, {one.run.slice_seconds:g} s slices",
            one.place,
            f"{one.alone:.1f}",
            f"{one.took:.1f}",
            f"{one.seconds.value:.1f}",
            f"{one.seconds.low:.0f}-{one.seconds.high:.0f}" + ("" if one.is_within else " **outside**"),
            words.signed_percent(one.error),
            "metadata" if "metadata" in one.doubt else "law" if one.doubt else "",
            *("yes" if told else "" for told in (one.is_off_in_time, one.is_warned)),
        ]
        for one in found
    ]
    headings = ["run", "job", "alone, s", "took, s", "foretold, s", "between", "RE"]
    return table(storage, [*headings, "doubt told beforehand", "told while it ran", "told afterwards"], rows)
