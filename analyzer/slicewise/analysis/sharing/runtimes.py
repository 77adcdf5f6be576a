"""Runtimes that the models of sharing predict, and standalone runtimes estimated back, beside what was observed."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from operator import attrgetter, mul
from typing import Literal

from slicewise.analysis.capacity.capacity import Capacity
from slicewise.analysis.runs.rates import is_like
from slicewise.analysis.sharing.goodness import Misfit
from slicewise.analysis.sharing.proportional import (
    SharingJob,
    alone_from_spans,
    common_start_times,
    share_out,
)
from slicewise.constants import EQUAL_VOLUMES, FILLED
from slicewise.estimate import Estimate, relative_error
from slicewise.statistics import error_of_next_run

Weight = Literal["processes", "nodes"]
WEIGHTS: tuple[Weight, ...] = ("processes", "nodes")
ENDS: tuple[Callable[[Estimate], float], ...] = tuple(map(attrgetter, ("value", "low", "high")))
Method = Literal["pair model", "N-job solver", "N-job closed form", "work conservation"]


@dataclass(frozen=True)
class ObservedJob:
    """What is known of a job: bytes moved, start (s after the first job's), seconds (its I/O time span), processes,
    nodes. demand: the rate that it reaches alone, bytes/s (is_demand_of_run: from slices of this very run);
    alone_seconds: what a standalone run says that its bytes take alone; None: unknown.
    """

    job: str
    bytes: int
    start: float
    seconds: Estimate
    processes: int
    nodes: int
    demand: Estimate | None = None
    alone_seconds: Estimate | None = None
    is_demand_of_run: bool = False

    def weight(self, weight: Weight) -> float:
        return float(self.processes if weight == "processes" else self.nodes)


@dataclass(frozen=True)
class PredictedRuntime:
    """One job in a prediction. weight: its share's weight. seconds: predicted I/O time span. observed_seconds: the
    measured one. relative_error: (predicted - observed) / observed. alone_seconds: the standalone time that went into
    it; interference: seconds / alone_seconds.
    """

    job: str
    weight: float
    seconds: Estimate
    observed_seconds: float
    relative_error: float | None
    alone_seconds: float
    interference: float


@dataclass(frozen=True)
class Prediction:
    """What a model says of the concurrent run with shares by `weight`. method_reason: why not the pair model; empty if
    it was. jobs is empty where not_applicable says why. doubt: what the model takes for granted and does not hold of
    these jobs, in a clause; empty where all of it holds. Such a prediction is not one to go by. misfits: the jobs that
    took longer or shorter than their intervals allow, and how shares were otherwise. is_in_sample: the capacity, or
    what a job reaches alone, is from the very run that is predicted.
    """

    weight: Weight
    method: Method
    method_reason: str
    jobs: list[PredictedRuntime]
    not_applicable: str = ""
    doubt: str = ""
    misfits: list[Misfit] = field(default_factory=list)
    is_in_sample: bool = False

    @property
    def worst(self) -> PredictedRuntime | None:
        """The job that the model misses most; None where none was observed."""
        known = [
            (abs(job.relative_error), place) for place, job in enumerate(self.jobs) if job.relative_error is not None
        ]
        return self.jobs[max(known)[1]] if known else None


@dataclass(frozen=True)
class StandaloneEstimate:
    """What one job would have taken alone, estimated from the concurrent run only, without a look at standalone runs.
    observed_seconds: a standalone run's time for this volume, where one was given; relative_error: against it.
    """

    job: str
    seconds: Estimate
    observed_seconds: float | None
    relative_error: float | None


@dataclass(frozen=True)
class Inverse:
    """The models turned round, with shares by `weight` (None: by a method that needs no share). jobs is empty where
    not_applicable says why. disagreement: every job's bytes over its estimated time is an estimate of the one capacity;
    by what fraction the largest of them exceeds the smallest. 0 is agreement; a large one says that shares are not by
    this weight, or that a job cannot fill the storage alone. None where jobs is empty, and for a method that takes one
    capacity for granted. doubt: as of a `Prediction`.
    """

    weight: Weight | None
    method: Method
    jobs: list[StandaloneEstimate]
    not_applicable: str = ""
    disagreement: float | None = None
    doubt: str = ""


def predict(jobs: Sequence[ObservedJob], capacity: Capacity | None, weight: Weight, slice_seconds: float) -> Prediction:
    """Predict the jobs' I/O time spans beside each other: by the pair model where it applies, else by the N-job solver.
    The solver takes the measured volumes and starts, the capacity, and as a cap what each job reaches alone where that
    is known. Intervals: the same with everything at its low and at its high end.
    """
    obstacle = pair_obstacle(jobs, slice_seconds) or _alone_obstacle(jobs, capacity)
    method: Method = "N-job solver" if obstacle else "pair model"
    if obstacle and capacity is None:
        return Prediction(weight, method, obstacle, [], "the capacity of the storage is not known")
    weights = [job.weight(weight) for job in jobs]
    alone = [_alone_value(job, capacity, is_pair=not obstacle) for job in jobs]
    times = times_with(jobs, capacity, weights, slice_seconds, f"{method}, weights by {weight}")
    return Prediction(
        weight,
        method,
        obstacle,
        _predicted(jobs, weights, times, alone),
        is_in_sample=bool(obstacle) and is_of_this_run(jobs, capacity),
    )


def by_pair_model(
    jobs: Sequence[ObservedJob], capacity: Capacity | None, weight: Weight, tau: float
) -> list[Prediction]:
    """Equations 1 and 2 of Kuo et al. of two jobs with standalone times, where `predict` takes the solver for something
    that these take for granted: that is a doubt, and the figures stand beside the solver's.
    """
    obstacle = pair_obstacle(jobs, tau) or _alone_obstacle(jobs, capacity)
    known = [job.alone_seconds for job in jobs if job.alone_seconds is not None]
    if not obstacle or len(jobs) != 2 or len(known) != 2:
        return []
    weights = [job.weight(weight) for job in jobs]
    times = _pair_times(known, weights, f"pair model, weights by {weight}")
    found = _predicted(jobs, weights, times, [seconds.value for seconds in known])
    return [Prediction(weight, "pair model", "", found, doubt=f"equations 1 and 2 do not allow that {obstacle}")]


def is_of_this_run(jobs: Sequence[ObservedJob], capacity: Capacity | None) -> bool:
    """Whether what the solver takes was measured in the very run that it predicts."""
    is_capacity_of_run = capacity is not None and capacity.source != "standalone runs"
    return is_capacity_of_run or any(job.is_demand_of_run for job in jobs)


def _pair_times(alone: Sequence[Estimate], weights: Sequence[float], how: str) -> list[Estimate]:
    ends = [common_start_times(1.0, [end(seconds) for seconds in alone], weights) for end in ENDS]
    return _between(ends, f"{how}; from both standalone times' low to their high ends")


def times_with(
    jobs: Sequence[ObservedJob], capacity: Capacity | None, weights: Sequence[float], slice_seconds: float, how: str
) -> list[Estimate]:
    """The I/O time spans with shares by `weights`, as `predict`. Raises ValueError without a capacity."""
    if not (pair_obstacle(jobs, slice_seconds) or _alone_obstacle(jobs, capacity)):
        return _pair_times([job.alone_seconds for job in jobs if job.alone_seconds is not None], weights, how)
    if capacity is None:
        raise ValueError("the capacity of the storage is not known")

    def solve(end: Callable[[Estimate], float]) -> list[float]:
        together = [
            SharingJob(job.job, job.bytes, weight, end(job.demand) if job.demand else math.inf, job.start)
            for job, weight in zip(jobs, weights, strict=True)
        ]
        return [served.t_co for served in share_out(end(capacity.rate), together).jobs]

    how = f"{how}; capacity: {capacity.source}; from the capacity's and the demands' high to their low ends"
    times = _between([solve(end) for end in ENDS], how)
    if not is_of_this_run(jobs, capacity):
        return times
    # A capacity of one run says no more of another one than runs repeat.
    factor = 1 + error_of_next_run(0.0, 1)
    return [
        Estimate(time.value, time.low / factor, time.high * factor, f"{time.how}, as runs repeat") for time in times
    ]


def _between(ends: Sequence[Sequence[float]], how: str) -> list[Estimate]:
    """Values with those at both ends, which need not come out in order: a slower neighbour makes a job faster."""
    return [Estimate(times[0], min(times), max(times), how) for times in zip(*ends, strict=True)]


def _alone_value(job: ObservedJob, capacity: Capacity | None, is_pair: bool) -> float:
    if is_pair and job.alone_seconds is not None:
        return job.alone_seconds.value
    assert capacity is not None
    rate = capacity.rate.value
    return job.bytes / min(job.demand.value if job.demand else rate, rate)


def pair_obstacle(jobs: Sequence[ObservedJob], slice_seconds: float) -> str:
    """Why the jobs are no pair of equal volumes with a common start; empty if they are."""
    if len(jobs) != 2:
        return f"there are {len(jobs)} jobs"
    volumes = sorted(job.bytes for job in jobs)
    if not is_like(volumes[0], volumes[1]):
        return f"the volumes differ by {100 * (1 - volumes[0] / volumes[1]):.0f} %"
    return _start_obstacle(jobs, slice_seconds)


def invert(jobs: Sequence[ObservedJob], weight: Weight, slice_seconds: float) -> Inverse:
    """Estimate each job's time alone from when the jobs that ran together began and ended. A job's share of the
    capacity, added up over its span, is what it moved. It takes every job to fill the capacity alone and, of jobs with
    a common start, the jobs to end in the order of V/w; where they did not, that weight is refuted.
    """
    is_staggered = bool(_start_obstacle(jobs, slice_seconds))
    pair_or_more: Method = "N-job closed form" if pair_obstacle(jobs, slice_seconds) else "pair model"
    method: Method = "N-job solver" if is_staggered else pair_or_more
    obstacle = "" if is_staggered else _order_obstacle(jobs, weight, slice_seconds)
    if obstacle:
        return Inverse(weight, method, [], obstacle)

    def alone_with(seconds: Sequence[float]) -> list[float]:
        spans = [(job.start, job.start + taken) for job, taken in zip(jobs, seconds, strict=True)]
        return alone_from_spans(spans, weights)

    weights = [job.weight(weight) for job in jobs]
    observed = [job.seconds.value for job in jobs]
    # What each result becomes with one span after the other at its low and at its high end.
    deviations = [
        alone_with([*observed[:i], end, *observed[i + 1 :]])
        for i, job in enumerate(jobs)
        for end in (job.seconds.low, job.seconds.high)
    ]
    how = (
        f"{method}, weights by {weight}, from the concurrent run alone; "
        "each span at either end in turn, and the deviations added up in squares"
    )
    alone = alone_with(observed)
    capacities = [job.bytes / seconds for job, seconds in zip(jobs, alone, strict=True)]
    estimates = []
    for i, (job, value) in enumerate(zip(jobs, alone, strict=True)):
        above = math.sqrt(sum(max(deviation[i] - value, 0.0) ** 2 for deviation in deviations))
        below = math.sqrt(sum(max(value - deviation[i], 0.0) ** 2 for deviation in deviations))
        estimates.append(_standalone(job, Estimate(value, max(value - below, 0.0), value + above, how)))
    return Inverse(weight, method, estimates, disagreement=max(capacities) / min(capacities) - 1)


def conserve_work(jobs: Sequence[ObservedJob], rate_together: Estimate | None) -> Inverse:
    """Estimate each job's time alone as its volume over the mean rate of all jobs while any of them ran. Needs no share
    law, but a storage that was busy all that time, and jobs that fill it alone. rate_together: the jobs' combined rate
    where they overlapped; how much it varies over slices is part of the interval.
    """
    busy = 0.0
    covered = -math.inf
    for job in sorted(jobs, key=lambda job: job.start):
        end = job.start + job.seconds.value
        busy += max(0.0, end - max(job.start, covered))
        covered = max(covered, end)
    total = sum(job.bytes for job in jobs)
    spread = rate_together.high / rate_together.value - 1 if rate_together else 0.0
    doubt = math.hypot(busy * spread, max((job.seconds.high - job.seconds.low) / 2 for job in jobs))
    how = (
        "volume over the mean rate of all jobs while any was at it; "
        "give or take half the widest interval of an I/O time span, and the error of the mean combined rate"
    )
    time = Estimate(busy, max(busy - doubt, 0.0), busy + doubt, how)
    return Inverse(
        None,
        "work conservation",
        [_standalone(job, time.through(partial(mul, job.bytes / total), how)) for job in jobs],
    )


def _predicted(
    jobs: Sequence[ObservedJob], weights: Sequence[float], times: Sequence[Estimate], alone: Sequence[float]
) -> list[PredictedRuntime]:
    return [
        PredictedRuntime(
            job=job.job,
            weight=weight,
            seconds=time,
            observed_seconds=job.seconds.value,
            relative_error=relative_error(time.value, job.seconds.value),
            alone_seconds=alone_seconds,
            interference=time.value / alone_seconds,
        )
        for job, weight, time, alone_seconds in zip(jobs, weights, times, alone, strict=True)
    ]


def _alone_obstacle(jobs: Sequence[ObservedJob], capacity: Capacity | None) -> str:
    """Why standalone times cannot go into the pair model; empty if they can."""
    missing = [job.job for job in jobs if job.alone_seconds is None]
    if missing:
        return f"there is no standalone run of {' and '.join(missing)}"
    for job in jobs:
        reached = job.demand.value / capacity.rate.value if capacity and job.demand else 1.0
        if reached < FILLED:
            return f"{job.job} reaches {100 * reached:.0f} % of the capacity alone"
    return ""


def _start_obstacle(jobs: Sequence[ObservedJob], slice_seconds: float) -> str:
    starts = [job.start for job in jobs]
    apart = max(starts) - min(starts)
    return f"the jobs began {apart:.1f} s apart, which is more than a slice" if apart > slice_seconds else ""


def _order_obstacle(jobs: Sequence[ObservedJob], weight: Weight, slice_seconds: float) -> str:
    """Whether the jobs ended in another order than shares by this weight allow, by more than a slice."""
    by_share = sorted(jobs, key=lambda job: job.bytes / job.weight(weight))
    for earlier, later in pairwise(by_share):
        is_tie = earlier.bytes / earlier.weight(weight) > (1 - EQUAL_VOLUMES) * later.bytes / later.weight(weight)
        if not is_tie and earlier.seconds.value > later.seconds.value + slice_seconds:
            return f"{earlier.job} ended after {later.job}, which shares by {weight} do not allow"
    return ""


def _standalone(job: ObservedJob, seconds: Estimate) -> StandaloneEstimate:
    observed = job.alone_seconds.value if job.alone_seconds else None
    return StandaloneEstimate(job.job, seconds, observed, relative_error(seconds.value, observed) if observed else None)
