"""Proportional sharing of one capacity among jobs: when each ends, and from that back to running alone
(docs/models.md). Plain numbers in any unit of volume, as long as capacity and caps are that unit a second.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

# Less of a volume than this fraction left over is rounding.
VOLUME_ROUNDING = 1e-12


def require_sound(job: str, start: float, **numbers: Sequence[float]) -> None:
    """Raises ValueError where a job's start is no number, or one of these is not above 0."""
    for name, values in numbers.items():
        for value in values:
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} of {job} is {value:g}; it must be a number above 0")
    if not math.isfinite(start):
        raise ValueError(f"start of {job} is {start:g}; it must be a number")


@dataclass(frozen=True)
class SharingJob:
    """A job to be served: volume, weight of its share, cap (the rate alone; inf: the whole capacity), start (s)."""

    job: str
    volume: float
    weight: float
    cap: float = math.inf
    start: float = 0.0

    def __post_init__(self) -> None:
        require_sound(self.job, self.start, volume=[self.volume], weight=[self.weight])
        if not self.cap > 0:
            raise ValueError(f"cap of {self.job} is {self.cap:g}; it must be a number above 0")


@dataclass(frozen=True)
class ServedJob:
    """What became of a job: end (s), t_co = end - start, t_alone, interference = t_co / t_alone (Dorier, II.C)."""

    job: str
    end: float
    t_co: float
    t_alone: float
    interference: float


@dataclass(frozen=True)
class Stage:
    """A stretch of time with constant rates, one a job in the jobs' order (0 for those that do not run)."""

    start: float
    end: float
    rates: tuple[float, ...]


@dataclass(frozen=True)
class Schedule:
    """The jobs in the order given, and the stages in the order of time, from the first start to the last end."""

    jobs: list[ServedJob]
    stages: list[Stage]


def fair_rates(capacity: float, weights: Sequence[float], caps: Sequence[float]) -> list[float]:
    """Weighted max-min rates: r_i = min(cap_i, lambda * weight_i) with sum r_i = min(capacity, sum cap_i). Jobs whose
    cap lies below their share leave the rest to the others, until no more do (water-filling).
    """
    rates = [0.0] * len(weights)
    hungry = set(range(len(weights)))
    left = capacity
    while hungry:
        level = left / sum(weights[i] for i in hungry)
        sated = {i for i in hungry if caps[i] <= level * weights[i]}
        if not sated:
            for i in hungry:
                rates[i] = level * weights[i]
            break
        for i in sated:
            rates[i] = caps[i]
            left -= caps[i]
        hungry -= sated
        left = max(left, 0.0)
    return rates


def share_out(capacity: float | Callable[[Sequence[int]], float], jobs: Sequence[SharingJob]) -> Schedule:
    """Serve jobs with weights, caps and starts from one capacity, solving `fair_rates` anew at every start and end.
    capacity: a number, or a function of the places (in `jobs`) of the jobs that are being served. Raises ValueError for
    a capacity that is not a number above 0, or without a job.
    """
    capacity_of = capacity if callable(capacity) else lambda active: capacity
    if not jobs:
        raise ValueError("there is no job to serve")
    alone = [checked_capacity(capacity_of([place])) for place in range(len(jobs))]
    # From the first start on, so that starts as large as the time of day cost no digits.
    origin = min(job.start for job in jobs)
    starts = [job.start - origin for job in jobs]
    left = [job.volume for job in jobs]
    ends = [math.nan] * len(jobs)
    stages: list[Stage] = []
    now = 0.0
    while any(math.isnan(end) for end in ends):
        active = [i for i, end in enumerate(ends) if math.isnan(end) and starts[i] <= now]
        next_start = min((start for start in starts if start > now), default=math.inf)
        if not active:
            now = next_start
            continue
        weights, caps = [jobs[i].weight for i in active], [jobs[i].cap for i in active]
        rates = dict(zip(active, fair_rates(checked_capacity(capacity_of(active)), weights, caps), strict=True))
        remaining = {i: left[i] / rates[i] if rates[i] > 0 else math.inf for i in active}
        step = min(min(remaining.values()), next_start - now)
        # A start comes first only if it really cuts the step, so that every round ends a job or reaches a start.
        then = now + step if step < next_start - now else next_start
        for i in active:
            left[i] -= rates[i] * step
            if remaining[i] <= step or left[i] <= VOLUME_ROUNDING * jobs[i].volume:
                ends[i] = then
        if then > now:
            stages.append(Stage(origin + now, origin + then, tuple(rates.get(i, 0.0) for i in range(len(jobs)))))
        now = then
    t_alone = [job.volume / min(job.cap, rate) for job, rate in zip(jobs, alone, strict=True)]
    served = [
        ServedJob(job.job, origin + end, end - start, own, (end - start) / own)
        for job, start, end, own in zip(jobs, starts, ends, t_alone, strict=True)
    ]
    return Schedule(served, stages)


def checked_capacity(capacity: float) -> float:
    """The capacity. Raises ValueError where it is not a number above 0."""
    if not (math.isfinite(capacity) and capacity > 0):
        raise ValueError(f"capacity is {capacity:g}; it must be a number above 0")
    return capacity


def common_start_times(capacity: float, volumes: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Times of jobs that start together and could each fill the capacity, in closed form. In the order of V/w: t_k =
    (sum_{j<=k} V_j + V_k / w_k * sum_{j>k} w_j) / C. Two jobs, with their standalone times as volumes and a capacity of
    1, are the pair model of Kuo et al., equations 1 and 2.
    """
    order = sorted(range(len(volumes)), key=lambda i: volumes[i] / weights[i])
    times = [0.0] * len(volumes)
    done = 0.0
    for place, k in enumerate(order):
        done += volumes[k]
        waiting = math.fsum(weights[j] for j in order[place + 1 :])
        times[k] = (done + volumes[k] / weights[k] * waiting) / capacity
    return times


def alone_from_spans(spans: Sequence[tuple[float, float]], weights: Sequence[float]) -> list[float]:
    """Each uncapped job's time alone, V_i / C, from when the jobs that ran together began and ended. A job's share of
    the capacity, added up over its span, is what it moved. So V_i / C is the integral of w_i / sum w_j over the jobs j
    that are at work, from the job's start to its end. With a common start it is the inverse of `common_start_times`,
    and for two jobs equations 3 and 4 of Kuo et al.
    """
    alone = [0.0] * len(spans)
    edges = sorted({edge for span in spans for edge in span})
    for begin, end in pairwise(edges):
        active = [i for i, span in enumerate(spans) if span[0] <= begin and end <= span[1]]
        whole = math.fsum(weights[i] for i in active)
        for i in active:
            alone[i] += (end - begin) * weights[i] / whole
    return alone
