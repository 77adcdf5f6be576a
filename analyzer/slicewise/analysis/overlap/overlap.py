"""Several jobs on one time axis: where they were active together, what each got there, what models of sharing say."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.analysis.job.turns import turns
from slicewise.analysis.overlap.comparison import compare
from slicewise.analysis.overlap.direction import DirectionOverlap
from slicewise.analysis.runs.matching import Job, match_standalone, runs_to_compare
from slicewise.constants import LEAST_DIRECTION
from slicewise.digest.activity import DIRECTIONS, Direction, common_slice_ns
from slicewise.digest.digest import Digest


@dataclass(frozen=True)
class Overlap:
    """Jobs in the order given. slice_ns: the common grid's slice. first_slice, end_slice: [first, end) holds all jobs
    from start to end. members: the jobs' processes that matter, as the digest's frame `processes` has them.
    main_direction: the one in which the jobs moved most bytes, of those in which they can be compared where there is
    one that is not negligible. waited_seconds: by job, how long it waited for its turn at I/O.
    """

    jobs: list[Job]
    slice_ns: int
    first_slice: int
    end_slice: int
    members: pl.DataFrame
    directions: dict[Direction, DirectionOverlap]
    main_direction: Direction
    waited_seconds: dict[str, float]


def overlap(digests: Sequence[Digest], alone: Sequence[Digest] = ()) -> Overlap:
    """Lay two or more jobs on one time axis and compare them, in both directions. alone: digests of standalone runs,
    matched to the jobs by program and number of processes. Raises UserError where a job overlaps none of the others in
    time, where the slices fit no common grid, where a job is given twice, and where a standalone run fits none of the
    jobs.
    """
    slice_ns = common_slice_ns(digests)
    runs = runs_to_compare(digests)
    jobs = [run.job for run in runs]
    standalone = match_standalone(alone, jobs)
    directions = {direction: compare(runs, standalone, direction, slice_ns) for direction in DIRECTIONS}
    return Overlap(
        jobs=jobs,
        slice_ns=slice_ns,
        first_slice=min(job.start_ns for job in jobs) // slice_ns,
        end_slice=-(-max(job.end_ns for job in jobs) // slice_ns),
        members=pl.concat([run.members for run in runs]),
        directions=directions,
        main_direction=max(directions, key=lambda name: _weight(directions[name], directions)),
        waited_seconds={run.name: turns(run.digest).seconds for run in runs},
    )


def moved(direction: DirectionOverlap) -> int:
    """Bytes that all jobs together moved in a direction."""
    return sum(job.bytes for job in direction.jobs)


def is_negligible(direction: DirectionOverlap, beside: DirectionOverlap) -> bool:
    """Whether a direction is hardly used beside another one: a start-up's reads beside a job's output."""
    return moved(direction) < LEAST_DIRECTION * moved(beside)


def _weight(direction: DirectionOverlap, directions: dict[Direction, DirectionOverlap]) -> tuple[bool, int]:
    is_used = not any(is_negligible(direction, other) for other in directions.values())
    return is_used and not direction.not_applicable, moved(direction)
