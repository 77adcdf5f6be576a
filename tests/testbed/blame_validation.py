"""Holds what blame tells against what was recorded: the figures of `testbed.blame_tables` and of the golden tests.

A recording is a directory that `testbed.blame_campaign` made: profiles, and truth.jsonl with what each job's own clock
said. True is the difference to the job's standalone runs by that clock; nothing of the profiles is in it.
"""

import functools
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.result import Blame, Source
from slicewise.analysis.calls import Rows, job_rows
from slicewise.digest.digest import Digest
from slicewise.digest.shared import several
from slicewise.profile.files import job_places

from testbed.blame_plans import JOBS, STORAGES, recording_of

# Losses below this share of the time in calls are not counted among the errors: a per cent of such a loss is little.
LEAST_LOSS = 0.20
# Mean and largest error that are aimed at, in per cent of the true loss.
AIMS: dict[Source, tuple[float, float]] = {
    "standalone runs": (1.5, 8), "quiet slices": (4, 10), "line": (6, 12), "shared slices": (20, 40),
    "envelope": (4, 15),
}  # fmt: skip
POINTS_AIM = 15
LEAST_CLAIM = 0.02
UNPROFILED_AIM = 10


@dataclass(frozen=True)
class Truth:
    """What a job's own clock said. began: when; in_calls: seconds of the process with most; bytes: that it moved."""

    job: str
    profile: str
    began: float
    seconds: float
    in_calls: float | None
    bytes: int | None


@dataclass(frozen=True)
class Recorded:
    """A run: its jobs, in their places. members: JOB or JOB@DELAY of each, as the plans have it; attempts: how often it
    was done until its jobs began together.
    """

    name: str
    storage: str
    members: list[str]
    slice_seconds: float
    attempts: int
    jobs: list[Truth]

    @property
    def text(self) -> str:
        return " + ".join(self.members)


@dataclass(frozen=True)
class Case:
    """A job of a run that was recorded alone too: what it truly lost, and what blame tells of it.

    lost: seconds of the runtime; io_lost: in the calls of the process with most, None where the job has no clock of its
    own for that. told: with its standalone runs; told_without: where they are withheld.
    """

    run: Recorded
    job: Truth
    lost: float
    io_lost: float | None
    told: Blame
    told_without: Blame

    @property
    def is_counted(self) -> bool:
        """Whether its loss is among those whose errors are summed up."""
        return self.io_lost is not None and self.io_lost >= LEAST_LOSS * (self.job.in_calls or 0)

    def error(self, source: Source) -> float | None:
        """Per cent of the true loss in calls that a source is off; None where it refuses."""
        told = self.told if source == "standalone runs" else self.told_without
        found = next(each.seconds for each in told.sources if each.source == source)
        if found is None or self.io_lost is None:
            return None
        return 100 * ((self.told.io_seconds - found.value) / self.io_lost - 1)


@functools.cache
def runs_of(directory: Path) -> list[Recorded]:
    found = []
    for line in (directory / "truth.jsonl").read_text().splitlines():
        run = json.loads(line)
        jobs = [
            Truth(job["job"], job["profile"], job["began"], job["seconds"], job.get("in_calls"), job.get("bytes"))
            for job in run["jobs"]
        ]
        members = [job["job"] + (f"@{job['delay']:g}" if job["delay"] else "") for job in run["jobs"]]
        found.append(Recorded(run["run"], run["storage"], members, run["slice_seconds"], run["attempts"], jobs))
    return found


@functools.cache
def _digests(directory: Path) -> dict[str, Digest]:
    """The digests of a recording, by the names of their places: what was done again has the job's name once more."""
    found = {digest.path.name: digest for digest in several(job_places([directory]))}
    for digest in found.values():
        digest.job = digest.own_name
    return found


def digest_of(profile: Path) -> Digest:
    """A job's digest."""
    return _digests(profile.parent)[profile.name]


class _Rows(Rows):
    """Rows of the same jobs are asked for again and again: with runs alone, and where these are withheld."""

    def of(self, digests: Sequence[Digest], grid_ns: int) -> pl.DataFrame:
        return _rows_of(tuple(digests), grid_ns)


_rows_of = functools.cache(job_rows)


def _told(job: Digest, others: Sequence[Digest], alone: Sequence[Digest] = ()) -> Blame:
    return blame(job, others, alone, rows=_Rows())


def alone_of(directory: Path, job: str) -> list[Truth]:
    """A job's standalone runs."""
    return [run.jobs[0] for run in runs_of(directory) if [truth.job for truth in run.jobs] == [job]]


@functools.cache
def cases(directory: Path) -> list[Case]:
    """Every job that had company, if it was recorded alone too."""
    return [
        _case(directory, run, job, alone)
        for run in runs_of(directory)
        for job in run.jobs
        if len(run.jobs) > 1 and (alone := alone_of(directory, job.job))
    ]


def _case(directory: Path, run: Recorded, job: Truth, alone: list[Truth]) -> Case:
    digest, others = _with_others(directory, run, job)
    return Case(
        run,
        job,
        job.seconds - statistics.median(truth.seconds for truth in alone),
        _more_in_calls(job, alone),
        _told(digest, others, [digest_of(directory / truth.profile) for truth in alone]),
        _told(digest, others),
    )


def _more_in_calls(job: Truth, alone: list[Truth]) -> float | None:
    """Seconds in calls more than in the middle one of its standalone runs; None without a clock."""
    known = [truth.in_calls for truth in alone if truth.in_calls is not None]
    return None if job.in_calls is None or not known else job.in_calls - statistics.median(known)


def _with_others(directory: Path, run: Recorded, job: Truth) -> tuple[Digest, list[Digest]]:
    others = [digest_of(directory / other.profile) for other in run.jobs if other is not job]
    return digest_of(directory / job.profile), others


def errors(directory: Path, source: Source) -> list[float]:
    """|error| of a source, in per cent, for the losses that count and that it does not refuse."""
    found = [case.error(source) for case in cases(directory) if case.is_counted]
    return [abs(error) for error in found if error is not None]


@dataclass(frozen=True)
class Share:
    """A neighbour's part of a loss, in per cent of the true loss: as told, and as the runs without it show."""

    case: Case
    neighbour: str
    told: float
    shown: float

    @property
    def points(self) -> float:
        """How far both are apart."""
        return self.told - self.shown


@functools.cache
def shares(directory: Path) -> list[Share]:
    """The part of each neighbour in each loss that counts and is told, if the run without that neighbour is there."""
    found = []
    for case in cases(directory):
        if not case.is_counted or case.io_lost is None or case.job.in_calls is None or case.told.lost is None:
            continue
        told = {one.job: one.lost.value for one in case.told.neighbours}
        for other in case.run.jobs:
            without = None if other is case.job else _in_calls_without(directory, case, other)
            if without is None:
                continue
            name = digest_of(directory / other.profile).job
            shown = 100 * (case.job.in_calls - without) / case.io_lost
            found.append(Share(case, other.job, 100 * told.get(name, 0.0) / case.io_lost, shown))
    return found


def _in_calls_without(directory: Path, case: Case, other: Truth) -> float | None:
    """The job's seconds in calls in the runs that lack another job; None where there is none."""
    place = case.run.jobs.index(other)
    own = case.run.jobs.index(case.job) - (place < case.run.jobs.index(case.job))
    members = [member for at, member in enumerate(case.run.members) if at != place]
    if len(members) == 1:
        members = [case.job.job]
    like = [run.jobs[own].in_calls for run in runs_of(directory) if run.members == members]
    known = [seconds for seconds in like if seconds is not None]
    return statistics.median(known) if known else None


@dataclass(frozen=True)
class Quiet:
    """A job that nobody can have cost anything: alone, or with others on another storage. told: with the standalone
    runs that are not this run, or without any. slower: seconds in calls more than in those, by its own clock.
    """

    run: Recorded
    job: Truth
    has_standalone: bool
    slower: float | None
    told: Blame

    @property
    def is_told(self) -> bool:
        """Whether a loss above 2 % of the I/O time is claimed, with whatever confidence."""
        lost = self.told.lost
        return self.told.is_claimed and lost is not None and lost.value > LEAST_CLAIM * self.told.io_seconds

    @property
    def is_false_alarm(self) -> bool:
        """Whether such a loss is claimed with confidence high or medium."""
        return self.is_told and self.told.confidence in ("high", "medium")


@functools.cache
def quiet(directory: Path) -> list[Quiet]:
    """All runs of jobs that nobody can have cost anything."""
    found = []
    for run in runs_of(directory):
        for job in run.jobs:
            elsewhere = JOBS[job.job].is_elsewhere
            if any(JOBS[other.job].is_elsewhere == elsewhere for other in run.jobs if other is not job):
                continue
            digest, others = _with_others(directory, run, job)
            found.append(Quiet(run, job, False, None, _told(digest, others)))
            alone = [truth for truth in alone_of(directory, job.job) if truth is not job]
            if alone:
                told = _told(digest, others, [digest_of(directory / truth.profile) for truth in alone])
                found.append(Quiet(run, job, True, _more_in_calls(job, alone), told))
    return found


@dataclass(frozen=True)
class Unprofiled:
    """A neighbour whose profile is withheld. moved: bytes that it moved while the job ran; told: how many more the
    storage's counter shows than the job's profile.
    """

    case: Case
    moved: int
    told: int


@functools.cache
def unprofiled(directory: Path) -> list[Unprofiled]:
    """Pairs on one storage of which the counters tell, seen by one job's profile and the counters alone."""
    found = []
    for case in cases(directory):
        both = case.told_without.traffic[0]
        if len(case.run.jobs) != 2 or both.counted is None:
            continue
        lone = _told(_with_others(directory, case.run, case.job)[0], []).traffic[0]
        moved = both.profiled - lone.profiled
        if moved > 0 and lone.counted is not None:
            found.append(Unprofiled(case, moved, lone.counted - lone.profiled))
    return found


@functools.cache
def directories(campaigns: Path) -> list[Path]:
    """The recordings among campaigns, as the plans name them."""
    return [found for storage in STORAGES if (found := campaigns / recording_of(storage)).is_dir()]
