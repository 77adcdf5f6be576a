"""What a job is to be compared with: those named, and where none are, what lies beside its profile.

Paths in, digests out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.result import Blame
from slicewise.digest.beside import MOST_PROFILES, Beside, Surroundings
from slicewise.digest.digest import Digest, read_digests


@dataclass(frozen=True)
class Case:
    """A job, those who may have slowed it down, its runs alone that were given, and those that were found. looked_at:
    how many profiles lie beside the job's; 0 where nobody looked. unread: those that cannot be read.
    """

    job: Digest
    neighbours: Sequence[Digest]
    alone: Sequence[Digest]
    found: Sequence[Digest]
    looked_at: int
    unread: Sequence[Path] = ()

    def result(self) -> Blame:
        """What the job lost, and to whom."""
        result = blame(self.job, self.neighbours, self.alone, self.found)
        notes = []
        if self.looked_at > MOST_PROFILES:
            many = f"{self.looked_at:,} profiles lie beside this one"
            notes.append(f"{many}, too many to look for neighbours among them: name them")
        if self.unread:
            count = len(self.unread)
            what = f"{self.unread[0]} cannot be read and" if count == 1 else f"{count} profiles cannot be read and"
            notes.append(f"{what} may be missing among the neighbours: slicewise info {self.unread[0]}")
        return replace(result, notes=[*result.notes, *notes])

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
    around = surroundings or Surroundings()
    beside = Beside([], [], 0) if neighbours and alone else around.beside(job)
    company = [around.place(one) for one in neighbours] or beside.neighbours
    quiet = [] if alone else [run for run in beside.quiet if not _is_in(run, company)]
    # Read together, so that no two of them have one name.
    digests = iter(read_digests([around.place(job), *company, *alone, *quiet]))
    own, *rest = digests
    ends = len(company), len(company) + len(alone)
    return Case(own, rest[: ends[0]], rest[ends[0] : ends[1]], rest[ends[1] :], beside.looked_at, beside.unread)


def _is_in(place: Path, places: Sequence[Path]) -> bool:
    return any(place.resolve() == other.resolve() for other in places)
