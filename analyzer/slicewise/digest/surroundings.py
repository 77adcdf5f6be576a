"""Which other profiles lie beside a job's: its neighbours, and quiet runs of the same program. A directory is read
once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from slicewise.digest.company import NEVER, company_of, in_company, later_copies, runs_like
from slicewise.digest.outlines import Outline, Progress, outlines
from slicewise.profile.files import is_job_directory, is_of_servers

if TYPE_CHECKING:  # numpy would come along
    from slicewise.digest.large import Together

# More profiles than this in one directory are not looked through: a catalog is made for that.
MOST_PROFILES = 2000
# So many jobs that ran at once with one are asked what they computed.
MOST_AT_ONCE = 20


@dataclass(frozen=True)
class Nearby:
    """What lies beside a job's profile. neighbours: of jobs that were active on a storage while it was. quiet: of runs
    of its program that did the same kind of work and had no company. looked_at: how many profiles
    there are. unread: those of them that cannot be read. with_company: the same of runs that had company.
    """

    neighbours: list[Path]
    quiet: list[Path]
    looked_at: int
    unread: Sequence[Path] = ()
    with_company: Sequence[Path] = ()


@dataclass
class Surroundings:
    """The directories that a command's jobs lie in, each read once. copies: by jobs' directories, which need not be
    there, where to read those jobs instead: snapshots of what runs. progress: told how many profiles of how many are
    read. together_of: what is asked of large neighbours (`large_neighbour`), if they will be asked for.
    """

    copies: Mapping[Path, Path] = field(default_factory=dict)
    progress: Progress | None = None
    together_of: Together | None = None
    _known: dict[Path, _DirectoryJobs] = field(default_factory=dict)

    def place(self, job: Path) -> Path:
        """Where to read a job."""
        return self.copies.get(job_directory(job), job)

    def nearby(self, job: Path) -> Nearby:
        """What lies in the directory that a job's directory (or file) lies in."""
        directory = job_directory(job)
        try:
            places = self._places(directory)
        except OSError:
            return Nearby([], [], 0)
        if len(places) > MOST_PROFILES:
            return Nearby([], [], len(places))
        if not places:  # its own outline would be compared with nobody's
            return Nearby([], [], 0)
        if directory.parent not in self._known:
            own_place = self.place(directory)
            of_large = None
            if self.together_of is not None:
                from slicewise.digest.large import large_outline

                of_large = partial(large_outline, together_of=self.together_of)
            self._known[directory.parent] = _DirectoryJobs(
                outlines(sorted({*places, own_place}), self.progress, own_place, of_large)
            )
        jobs = self._known[directory.parent]
        own = next(iter(outlines([self.place(job)])), None) if job.is_file() else jobs.at(self.place(directory))
        if own is None:
            return Nearby([], [], len(places))
        return jobs.nearby(own, places)

    def at_once(self, job: Path, most: int = MOST_AT_ONCE) -> list[Path]:
        """The jobs of its directory that ran while it did, those first that did so for longest, if `nearby` looked."""
        directory = job_directory(job)
        jobs = self._known.get(directory.parent)
        own = jobs.at(self.place(directory)) if jobs is not None else None
        return jobs.at_once(own)[:most] if jobs is not None and own is not None else []

    def _places(self, directory: Path) -> list[Path]:
        there = {one for one in directory.parent.iterdir() if is_job_directory(one) and not is_of_servers(one)}
        running = {one for one in self.copies if one.parent == directory.parent}
        return sorted(self.copies.get(one, one) for one in there | running if one != directory)


class _DirectoryJobs:
    """The jobs of a directory that can be read."""

    def __init__(self, jobs: Sequence[Outline]) -> None:
        self.jobs = jobs
        ids = [(at, at, process) for at, job in enumerate(jobs) for process in job.ids]
        schema = {"job": pl.Int64, "place": pl.Int64, "process": pl.UInt64}
        self._copies = set(later_copies(pl.DataFrame(ids, schema, orient="row")))
        self._active = self._when({at: job for at, job in enumerate(jobs) if at not in self._copies})
        self._has_company = set(in_company(self._active))

    def _when(self, jobs: Mapping[int, Outline]) -> pl.DataFrame:
        """When jobs were active on each storage (see `company.active`)."""
        rows = pl.concat([NEVER.drop("job"), *(job.active for job in jobs.values())])
        lengths = pl.Series([job.active.height for job in jobs.values()], dtype=pl.UInt32)
        numbers = pl.Series("job", list(jobs), pl.Int64).repeat_by(lengths).explode(empty_as_null=False)
        return rows.select(numbers, pl.all())

    def at(self, place: Path) -> Outline | None:
        return next((job for job in self.jobs if job.place == place), None)

    def at_once(self, own: Outline) -> list[Path]:
        together = [
            (min(own.did["end_ns"], job.did["end_ns"]) - max(own.did["start_ns"], job.did["start_ns"]), job.place)
            for at, job in enumerate(self.jobs)
            if job.ids.isdisjoint(own.ids) and at not in self._copies
        ]
        return [place for ns, place in sorted(together, key=lambda one: (-one[0], one[1])) if ns > 0]

    def nearby(self, own: Outline, places: Sequence[Path]) -> Nearby:
        wanted = set(places)
        others = {
            at: job
            for at, job in enumerate(self.jobs)
            if job.place in wanted and job.ids.isdisjoint(own.ids) and at not in self._copies
        }
        near = set(company_of(self._when({0: own}), self._active))

        def like(had_company: bool) -> list[Path]:
            runs: Iterator[dict[str, Any]] = (
                {**job.did, "command": job.command, "shared": len(job.storages & own.storages), "place": job.place}
                for at, job in others.items()
                if job.program == own.program and (at in self._has_company) == had_company and at not in near
            )
            return [run["place"] for run in runs_like({**own.did, "command": own.command}, runs)]

        read = {job.place for job in self.jobs}
        return Nearby(
            [others[at].place for at in sorted(near) if at in others],
            like(had_company=False),
            len(places),
            [place for place in places if place not in read],
            like(had_company=True),
        )


def servers_nearby(place: Path) -> list[Path]:
    try:
        there = sorted(one for one in job_directory(place).parent.iterdir() if is_of_servers(one))
        return [one for one in there if os.access(one, os.R_OK | os.X_OK) and is_job_directory(one)]
    except OSError:
        return []


def job_directory(place: Path) -> Path:
    """The directory of a job that is named by it, or by a file in it; it need not be there."""
    return (place.parent if place.is_file() else place).resolve()
