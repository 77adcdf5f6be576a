"""What each of several runs lost to neighbours, by blame, with those of the others that were alone as standalone runs.

Paths in, dataclasses out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.case import Case, case_of
from slicewise.analysis.blame.result import Blame
from slicewise.analysis.compare.difference import Loss
from slicewise.analysis.runs.matching import company
from slicewise.digest.beside import Surroundings
from slicewise.digest.digest import Digest
from slicewise.digest.outlines import Progress
from slicewise.estimate import Estimate

UNPROFILED = "traffic without a profile"
HIDDEN = "another job"
# Who cost less than this fraction of the loss is not named.
LEAST_SHARE = 0.1


def losses(
    runs: Sequence[Path], neighbours: Sequence[Path] = (), progress: Progress | None = None
) -> list[Loss | None]:
    """What each run lost to those who are known to have used a storage while it did; None where that is unknown.

    neighbours: who may have; none: they are looked for beside each run. A run whose neighbours nobody knows may have
    had some. progress: told how many profiles beside the runs are read.
    """
    around = Surroundings(progress=progress)
    cases = [case_of(run, neighbours, surroundings=around) for run in runs]
    told = [blame(case.job, case.neighbours, (), _alone(case, cases), counted=case.counted) for case in cases]
    return [_loss(one, case.hides_names) for one, case in zip(told, cases, strict=True)]


def _alone(case: Case, cases: Sequence[Case]) -> list[Digest]:
    """Runs of a case's program that had no known company: those that were found, and those that it is compared with."""
    program = case.job.jobs["program"].item()
    compared = [
        other.job
        for other in cases
        if other.job.jobs["program"].item() == program
        and not other.job.jobs["is_running"].item()
        and not company(other.job, other.neighbours)
    ]
    known = [case.job.path.resolve()]
    found = []
    for run in [*case.found, *compared]:
        if run.path.resolve() not in known:
            known.append(run.path.resolve())
            found.append(run)
    return found


def _loss(told: Blame, hides_names: bool) -> Loss | None:
    """What neighbours are blamed for; None where nobody is known to have been there, or the loss is unknown."""
    if told.lost is None or not told.neighbours:
        return None
    value = sum(neighbour.lost.value for neighbour in told.neighbours)
    low, high = value - (told.lost.value - told.lost.low), value + (told.lost.high - told.lost.value)
    worth_a_word = [one for one in told.neighbours if one.lost.value > 0 and one.lost.value >= LEAST_SHARE * value]
    names = [(HIDDEN if hides_names else one.job) if one.job else UNPROFILED for one in worth_a_word]
    return Loss(Estimate(value, low, high, told.lost.how), names, told.confidence)
