"""Which other profiles lie beside a job's: its neighbours, and quiet runs of the same program.

Paths in, paths out. A directory is read once for all jobs of a command, and anew by every command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from slicewise.digest.outlines import Outline, Progress, outlines
from slicewise.profile.files import SUFFIX

# More profiles than this in one directory are not looked through: a catalog is made for that.
MOST_PROFILES = 2000
# So many quiet runs of the job's size, and as many of other sizes: those on its storages, and nearest in time.
MOST_RUNS = 5


@dataclass(frozen=True)
class Beside:
    """What lies beside a job's profile. neighbours: of jobs that used one of its storages while it ran. quiet: of runs
    of its program that did the same kind of work, and that nobody shared a storage with. looked_at: how many profiles
    there are. unread: those of them that cannot be read.
    """

    neighbours: list[Path]
    quiet: list[Path]
    looked_at: int
    unread: Sequence[Path] = ()


@dataclass
class Surroundings:
    """The directories that a command's jobs lie in, each read once.

    copies: by jobs' directories, which need not be there, where to read those jobs instead: snapshots of what runs.
    progress: told how many profiles of how many are read.
    """

    copies: Mapping[Path, Path] = field(default_factory=dict)
    progress: Progress | None = None
    _known: dict[Path, _Jobs] = field(default_factory=dict)

    def place(self, job: Path) -> Path:
        """Where to read a job."""
        return self.copies.get(job_directory(job), job)

    def beside(self, job: Path) -> Beside:
        """What lies in the directory that a job's directory (or file) lies in."""
        directory = job_directory(job)
        try:
            places = self._places(directory)
        except OSError:
            return Beside([], [], 0)
        if len(places) > MOST_PROFILES:
            return Beside([], [], len(places))
        if directory.parent not in self._known:
            self._known[directory.parent] = _Jobs(outlines(sorted({*places, self.place(directory)}), self.progress))
        jobs = self._known[directory.parent]
        own = next(iter(outlines([self.place(job)])), None) if job.is_file() else jobs.at(self.place(directory))
        if own is None:
            return Beside([], [], len(places))
        return jobs.beside(own, places)

    def _places(self, directory: Path) -> list[Path]:
        """The other jobs of a job's directory."""
        there = {one for one in directory.parent.iterdir() if one.is_dir() and any(one.glob(f"*{SUFFIX}"))}
        running = {one for one in self.copies if one.parent == directory.parent}
        return sorted(self.copies.get(one, one) for one in there | running if one != directory)


class _Jobs:
    """The jobs of a directory that can be read."""

    def __init__(self, jobs: Sequence[Outline]) -> None:
        self.jobs = jobs
        self.start_ns = pl.Series([job.start_ns for job in jobs], dtype=pl.Int64)
        self.end_ns = pl.Series([job.end_ns for job in jobs], dtype=pl.Int64)

    def at(self, place: Path) -> Outline | None:
        return next((job for job in self.jobs if job.place == place), None)

    def beside(self, own: Outline, places: Sequence[Path]) -> Beside:
        """What of these places counts for a job."""
        wanted = set(places)
        others = [job for job in self.jobs if job.place in wanted and job.ids.isdisjoint(own.ids)]
        same = [job for job in others if job.program == own.program and job.work.is_as(own.work) and not job.meets(own)]
        like: list[Path] = []
        unlike: list[Path] = []
        # A run that used none of its storages says nothing of these.
        same.sort(key=lambda job: (-len(job.storages & own.storages), abs(job.start_ns - own.start_ns)))
        for job in same:
            into = like if job.work.processes == own.work.processes else unlike
            if len(into) < MOST_RUNS and not self._has_company(job):
                into.append(job.place)
        read = {job.place for job in self.jobs}
        return Beside(
            [job.place for job in others if job.meets(own)],
            [*like, *unlike],
            len(places),
            [place for place in places if place not in read],
        )

    def _has_company(self, job: Outline) -> bool:
        """Whether anybody used one of its storages while it ran."""
        at_once = ((self.start_ns < job.end_ns) & (self.end_ns > job.start_ns)).arg_true()
        return any(other is not job and other.meets(job) for other in (self.jobs[at] for at in at_once))


def job_directory(place: Path) -> Path:
    """The directory of a job that is named by it, or by a file in it; it need not be there."""
    return (place.parent if place.is_file() else place).resolve()
