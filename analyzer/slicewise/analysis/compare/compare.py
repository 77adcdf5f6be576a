"""Two runs or more: with which of them the others are compared, why each took another time, why all vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.case import Case, case_of
from slicewise.analysis.blame.limits import lowered
from slicewise.analysis.blame.memory import fetched_by, seconds_refetching
from slicewise.analysis.blame.outside import outside_of_io
from slicewise.analysis.blame.result import Blame, LowerLimit
from slicewise.analysis.blame.runs_taken import other_warmth
from slicewise.analysis.blame.to_runtime import chains_to_match, process_chains
from slicewise.analysis.compare.difference import Difference, Loss, difference
from slicewise.analysis.compare.work import Tasks, place_names, work_of
from slicewise.analysis.runs.limits import limits_of
from slicewise.analysis.runs.matching import company, require_different
from slicewise.analysis.runs.storage import busy_on, describe_all
from slicewise.digest.activity import runtime_of
from slicewise.digest.company import is_same_work
from slicewise.digest.digest import Digest
from slicewise.digest.outlines import Progress
from slicewise.digest.surroundings import Surroundings
from slicewise.estimate import Estimate

UNPROFILED = "traffic without a profile"
HIDDEN = "another job"
# Who cost less than this fraction of the loss is not named.
LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Comparison:
    """Runs in the order given, and why each but `against` took another time than that one. chosen: how `against` was.
    told: the difference to begin with: that of the second of two runs, of more that of the slowest. shares: of several,
    the share of the runtimes' variance that each part of `Difference.parts` has; they add up to 1; empty of two runs,
    and where runtimes do not vary. places: where each file system is mounted.
    """

    runs: list[Tasks]
    against: Tasks
    chosen: Literal["the first", "the median"]
    differences: list[Difference]
    told: Difference
    shares: dict[str, float]
    places: Mapping[str, str]


@dataclass(frozen=True)
class InCalls:
    """What blame says of a run's I/O calls, by which it divides what is longer: processes that made any, the seconds of
    the mean one in calls, how many of these were lost, whatever for, and the storage's time that neighbours took.
    """

    processes: int
    seconds: float
    lost: float
    taken: float


@dataclass(frozen=True)
class Blamed:
    """What blame says of a run: what it lost to neighbours, and of its calls; None where that is unknown."""

    loss: Loss | None = None
    in_calls: InCalls | None = None


def compare(digests: Sequence[Digest], blamed: Mapping[str, Blamed] | None = None) -> Comparison:
    """Compare runs: two against the first, more against the one of median runtime (of an even number the shorter).
    blamed: what blame says of runs, by job. Raises UserError for fewer than two runs, and for one that is given twice.
    """
    require_different(digests, "compare", "run")
    blamed = blamed or {}
    by_time = sorted(digests, key=runtime_of)
    reference = digests[0] if len(digests) == 2 else by_time[(len(digests) - 1) // 2]
    runs = [work_of(digest, reference) for digest in digests]
    against = next(run for run, digest in zip(runs, digests, strict=True) if digest is reference)
    differences = [
        _with_reasons(run, against, digest, reference, *(blamed.get(one.job.job, Blamed()) for one in (run, against)))
        for run, digest in zip(runs, digests, strict=True)
        if run is not against
    ]
    told = max(differences, key=lambda found: found.difference_seconds)
    return Comparison(
        runs=runs,
        against=against,
        chosen="the first" if len(runs) == 2 else "the median",
        differences=differences,
        told=told,
        shares=_shares(differences) if len(runs) > 2 else {},
        places=place_names(digests),
    )


def _with_reasons(
    run: Tasks, former_run: Tasks, of: Digest, against: Digest, blamed: Blamed, blamed_former: Blamed
) -> Difference:
    """A difference with what blame says of time outside of I/O calls, of memory that was short, and of warm caches."""
    found = difference(run, former_run, blamed.loss, blamed_former.loss)
    fetched = [fetched_by(run) for run in (of, against)]
    cached = [1 - one.from_storage for one in fetched if one is not None]
    processes = len(process_chains(of, of.slice_ns, chains_to_match(of, against, of.slice_ns)))
    io_seconds, former = (run.io_ns / 1e9 for run in (found.of, found.against))
    more = io_seconds - former
    calls = InCalls(processes, io_seconds, more, more)
    if blamed.in_calls is not None:
        lost_by_former = max(0.0, blamed_former.in_calls.lost) if blamed_former.in_calls is not None else 0.0
        calls = replace(blamed.in_calls, lost=blamed.in_calls.lost - lost_by_former)
    io_alone = max(0.0, calls.seconds - calls.lost)
    return replace(
        found,
        outside=outside_of_io(of, [against], calls.processes, io_alone, calls.lost, calls.taken),
        memory_seconds=seconds_refetching(of, processes),
        lower_limit=_lower_limit(of, against, former, found.unexplained_seconds.value),
        from_cache=(cached[0], cached[1]) if other_warmth(fetched[0], fetched[1]) else None,
    )


def _lower_limit(of: Digest, against: Digest, io_alone: float, unexplained: float) -> LowerLimit | None:
    """The limit that was higher for the other run and cost most, with the seconds of what is unexplained that it cost.
    io_alone: seconds of the other run in calls.
    """
    where = describe_all(busy_on(of), [of])
    found = lowered(where, limits_of(where, of), of, [against])
    cost = [replace(one, seconds=min(unexplained, io_alone * (one.alone / one.rate - 1))) for one in found]
    return max((one for one in cost if one.seconds > 0), key=lambda one: one.seconds, default=None)


def _shares(differences: Sequence[Difference]) -> dict[str, float]:
    """cov(part, difference) / var(difference) over all runs, that of the reference (0 by definition) included."""
    whole = np.array([0.0, *(found.difference_seconds for found in differences)])
    off = whole - whole.mean()
    if not off.any():
        return {}
    parts = [found.parts() for found in differences]
    return {name: float(off[1:] @ [each[name] for each in parts] / (off @ off)) for name in parts[0]}


def blamed_of(runs: Sequence[Path], neighbours: Sequence[Path] = (), progress: Progress | None = None) -> list[Blamed]:
    """What each run lost to those who are known to have used a storage while it did. neighbours: who may have; none:
    they are looked for beside each run. A run whose neighbours nobody knows may have had some. progress: told how many
    profiles beside the runs are read.
    """
    around = Surroundings(progress=progress)
    cases = [case_of(run, neighbours, surroundings=around) for run in runs]
    told = [blame(case.job, case.neighbours, (), _alone(case, cases), counted=case.counted) for case in cases]
    return [Blamed(_loss(one, case.hides_names), _in_calls(one)) for one, case in zip(told, cases, strict=True)]


def _alone(case: Case, cases: Sequence[Case]) -> list[Digest]:
    """Runs of a case's program that had no known company: those that were found, and those that it is compared with and
    that did the same kind of work, as those that are found do.
    """
    program = case.job.jobs["program"].item()
    compared = [
        other.job
        for other in cases
        if other.job.jobs["program"].item() == program
        and not other.job.jobs["is_running"].item()
        and is_same_work(case.job.about, other.job.about)
        and not company(other.job, other.neighbours)
    ]
    known = [case.job.path.resolve()]
    found = []
    for run in [*case.found, *compared]:
        if run.path.resolve() not in known:
            known.append(run.path.resolve())
            found.append(run)
    return found


def _in_calls(told: Blame) -> InCalls | None:
    if told.lost is None:
        return None
    waited = told.outside.io_seconds if told.outside is not None else 0.0
    taken = float(told.shares["storage_seconds"].sum())
    return InCalls(told.io_processes, told.io_seconds, told.lost.value + waited, taken)


def _loss(told: Blame, hides_names: bool) -> Loss | None:
    """What neighbours are blamed for; None where nobody is known to have been there, or the loss is unknown."""
    if told.lost is None or not told.neighbours:
        return None
    value = sum(neighbour.lost.value for neighbour in told.neighbours)
    low, high = (sum(getattr(one.lost, end) for one in told.neighbours) for end in ("low", "high"))
    if len(told.neighbours) > 1:  # they did not cost more than all that was lost, whoever of them did
        low = max(low, value - (told.lost.value - told.lost.low))
        high = min(high, value + (told.lost.high - told.lost.value))
    if not told.is_claimed:  # as far as is known they did no harm
        low = min(low, 0.0)
    worth_a_word = [one for one in told.neighbours if one.lost.value > 0 and one.lost.value >= LEAST_SHARE * value]
    names = {one.job: (HIDDEN if hides_names else one.job) if one.job else UNPROFILED for one in worth_a_word}
    unsure = [names[one.job] for one in worth_a_word if one.lost.low <= 0]
    return Loss(Estimate(value, low, high, told.lost.how), list(names.values()), told.confidence, unsure)
