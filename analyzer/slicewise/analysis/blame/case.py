"""What a job is to be compared with: those named, and where none are, what lies beside its profile.

Paths in, digests out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.result import Blame
from slicewise.analysis.blame.timeline import Rows
from slicewise.catalog.beside import Around
from slicewise.catalog.kept import KeptDigest, KeptJob
from slicewise.catalog.sources import kept_job, read_digests, with_names_of_their_own
from slicewise.catalog.store import Catalog
from slicewise.digest.beside import MOST_PROFILES, Beside, Surroundings
from slicewise.digest.digest import Digest
from slicewise.text import words

MOST_NAMED = 6


@dataclass(frozen=True)
class Case:
    """A job, those who may have slowed it down, its runs alone that were given, and those that were found. looked_at:
    how many profiles lie beside the job's; 0 where nobody looked. unread: those that cannot be read. catalog: where
    the job and what was looked for come from, if not from profiles. hides_names: whoever asks may not see others'.
    """

    job: Digest
    neighbours: Sequence[Digest]
    alone: Sequence[Digest]
    found: Sequence[Digest]
    looked_at: int
    unread: Sequence[Path] = ()
    catalog: Path | None = None
    hides_names: bool = False

    def losses(self, rows: Rows) -> Blame:
        """What the job lost, to whom, and how sure that is; and no more. rows: has what the jobs did."""
        return blame(self.job, self.neighbours, self.alone, self.found, rows, of_seconds_alone=True)

    def result(self) -> Blame:
        """What the job lost, and to whom."""
        result = blame(self.job, self.neighbours, self.alone, self.found)
        notes = [self._from_catalog()] if self.catalog is not None else []
        if self.looked_at > MOST_PROFILES:
            many = f"{self.looked_at:,} profiles lie beside this one"
            notes.append(f"{many}, too many to look for neighbours among them: name them")
        if self.unread:
            count = len(self.unread)
            what = f"{self.unread[0]} cannot be read and" if count == 1 else f"{count} profiles cannot be read and"
            notes.append(f"{what} may be missing among the neighbours: slicewise info {self.unread[0]}")
        return replace(result, notes=[*result.notes, *notes])

    def _from_catalog(self) -> str:
        """Which jobs of the catalog were taken."""
        runs = words.listing([run.job for run in self.found])
        near = [other.job for other in self.neighbours]
        beside = f"beside it {words.some(near, MOST_NAMED)}" if near else "nobody beside it"
        quiet = f"standalone runs {runs}" if runs else "no standalone run of the same program"
        return f"From the catalog {self.catalog}: {beside}, and {quiet}"

    def others(self) -> list[Digest]:
        """The digests of other people. A run that was found is the job's owner's if the same user ran it."""
        user = self.job.jobs["user"].item()
        return [*self.neighbours, *(run for run in self.found if run.jobs["user"].item() != user)]


def case_of(
    job: Path,
    neighbours: Sequence[Path] = (),
    alone: Sequence[Path] = (),
    surroundings: Surroundings | None = None,
) -> Case:
    """A job's case. What is not given is looked for beside the job. Raises UserError for what cannot be read.

    surroundings: those of several jobs in one directory, which is then read once.
    """
    kept = kept_job(job)
    if kept is not None:
        return kept_case(*kept, neighbours, alone)[0]
    around = surroundings or Surroundings()
    beside = Beside([], [], 0) if neighbours and alone else around.beside(job)
    company = [around.place(one) for one in neighbours] or beside.neighbours
    quiet = [] if alone else [run for run in beside.quiet if not _is_in(run, company)]
    # Read together, so that no two of them have one name.
    digests = iter(read_digests([around.place(job), *company, *alone, *quiet]))
    own, *rest = digests
    ends = len(company), len(company) + len(alone)
    return Case(own, rest[: ends[0]], rest[ends[0] : ends[1]], rest[ends[1] :], beside.looked_at, beside.unread)


def kept_case(
    catalog: Catalog,
    job: KeptJob,
    neighbours: Sequence[Path] = (),
    alone: Sequence[Path] = (),
    around: Around | None = None,
) -> tuple[Case, dict[str, KeptJob]]:
    """The case of a job that a catalog keeps; what is not given is looked for there, and of neighbours that were found
    it is told by name which jobs they are. around: looks for them, if that is not the catalog itself.
    """
    look = around or Around(catalog)
    company = [] if neighbours else look.neighbours_of(job)
    beside = {one.key for one in company}
    quiet = [] if alone else [run for run in look.quiet_runs(job) if run.key not in beside]
    given = read_digests([*neighbours, *alone])
    shelf = look.shelf(job, company, quiet)
    near = [*given[: len(neighbours)], *(KeptDigest(catalog, one, shelf) for one in company)]
    runs, found = given[len(neighbours) :], [KeptDigest(catalog, one, shelf) for one in quiet]
    own = KeptDigest(catalog, job, shelf)
    with_names_of_their_own([own, *near, *runs, *found])
    names = {digest.job: one for digest, one in zip(near if company else [], company, strict=True)}
    return Case(own, near, runs, found, 0, catalog=catalog.path, hides_names=not catalog.shows_names), names


def _is_in(place: Path, places: Sequence[Path]) -> bool:
    return any(place.resolve() == other.resolve() for other in places)
