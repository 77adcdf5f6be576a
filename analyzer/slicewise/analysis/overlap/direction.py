"""Several jobs in one direction, reads or writes: what a comparison of them gives (see comparison.py for how)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from slicewise.analysis.capacity.capacity import Capacity, RateAlone
from slicewise.analysis.job.io_span import IoSpan
from slicewise.analysis.runs.rates import StandaloneRun
from slicewise.analysis.runs.storage import Storage, StorageUse
from slicewise.analysis.sharing.runtimes import Inverse, Prediction
from slicewise.constants import NOT_SLOWED
from slicewise.digest.activity import Direction
from slicewise.estimate import Estimate

RegionKind = Literal["every process", "union", "any process", "any union"]

MEANINGS: dict[RegionKind, str] = {
    "every process": "the longest run of consecutive slices in which every process of every job moved bytes",
    "union": "all slices in which every process of every job moved bytes, consecutive or not",
    "any process": "the longest run of consecutive slices in which at least one process of every job moved bytes",
    "any union": "all slices in which at least one process of every job moved bytes, consecutive or not",
}


@dataclass(frozen=True)
class Region:
    """Slices in which jobs were active together. kind, meaning: which of the definitions. first_slice, end_slice: half
    open, [first, end); of a union it is the hull. slices: how many slices belong to it (fewer than end - first where a
    union has holes). seconds: their length together.
    """

    kind: RegionKind
    meaning: str
    first_slice: int
    end_slice: int
    slices: int
    seconds: float


@dataclass(frozen=True)
class Regions:
    """The active overlapping region (Kuo et al., section 4.2) and its variants; None where there is no such slice."""

    every_process: Region | None
    union: Region | None
    any_process: Region | None
    any_union: Region | None


def regions(activity: pl.DataFrame, processes: Mapping[str, int], slice_ns: int) -> Regions:
    """The slices in which the jobs were active together. activity: see activity.py, of all jobs on one grid of
    slice_ns. processes: how many processes each job has, moving or not. A process is active in a slice if it moved more
    than zero bytes there; two runs of one length: the earlier one counts.
    """
    active = (
        activity.filter(pl.col("bytes") > 0)
        .group_by("job", "slice")
        .agg(pl.col("process").n_unique().alias("active"))
        .sort("job", "slice")
        .partition_by("job", as_dict=True)
    )
    by_job = {job: (rows["slice"].to_numpy(), rows["active"].to_numpy()) for (job,), rows in active.items()}
    complete = _slices_of_all(by_job, processes)
    some = _slices_of_all(by_job, dict.fromkeys(processes, 1))
    return Regions(
        every_process=_region("every process", _longest_run(complete), slice_ns),
        union=_region("union", complete, slice_ns),
        any_process=_region("any process", _longest_run(some), slice_ns),
        any_union=_region("any union", some, slice_ns),
    )


def in_region(activity: pl.DataFrame, region: Region) -> pl.DataFrame:
    """The rows of an activity frame whose slices lie in a region without holes."""
    return activity.filter(pl.col("slice").is_between(region.first_slice, region.end_slice, closed="left"))


def _slices_of_all(active: Mapping[str, tuple[np.ndarray, np.ndarray]], least: Mapping[str, int]) -> np.ndarray:
    """The slices, in order, in which every job has so many of its processes active, and at least one. active: each
    job's slices, in order, and how many of its processes were active in them.
    """
    common: np.ndarray | None = None
    for job, count in least.items():
        if job not in active:
            return np.empty(0, np.int64)
        slices, processes = active[job]
        slices = slices[processes >= max(count, 1)]
        common = slices if common is None else np.intersect1d(common, slices, assume_unique=True)
    return np.empty(0, np.int64) if common is None else common


def _longest_run(slices: np.ndarray) -> np.ndarray:
    """The longest stretch of consecutive numbers in an ascending array; the first of several."""
    runs = np.split(slices, np.flatnonzero(np.diff(slices) != 1) + 1)
    return max(runs, key=len)


def _region(kind: RegionKind, slices: np.ndarray, slice_ns: int) -> Region | None:
    if not len(slices):
        return None
    return Region(kind, MEANINGS[kind], int(slices[0]), int(slices[-1]) + 1, len(slices), len(slices) * slice_ns / 1e9)


@dataclass(frozen=True)
class Uniformity:
    """Bytes per process: processes, mean (bytes), rsd (of the population, a fraction), jain (1/n to 1)."""

    processes: int
    mean_bytes: float
    rsd: float
    jain: float


def uniformity(process_bytes: Sequence[float] | np.ndarray) -> Uniformity | None:
    """How alike the bytes of processes are, those that moved none included; None where nothing was moved at all. rsd:
    Kuo et al., section 4.2. jain: (sum x)^2 / (n sum x^2), which is 1 / (1 + rsd^2) (Jain, Chiu and Hawe, DEC- TR-301,
    1984).
    """
    moved = np.asarray(process_bytes, dtype=np.float64)
    mean = float(moved.mean()) if len(moved) else 0.0
    if mean <= 0:
        return None
    return Uniformity(
        len(moved), mean, float(moved.std()) / mean, float(moved.sum() ** 2 / (len(moved) * (moved**2).sum()))
    )


@dataclass(frozen=True)
class Contention:
    """contended: True, False, or None where it cannot be told. evidence: the reason in one sentence. share_of_alone: of
    each job of which it is known, its rate beside the others over its rate alone (1: not slowed down).
    together_bytes_per_second: the jobs' rates while all were at it, added up; None where no two full slices were
    shared. alone_bytes_per_second: what they reach alone, added up; None where it is not known of every job.
    """

    contended: bool | None
    evidence: str
    share_of_alone: dict[str, float]
    together_bytes_per_second: float | None
    alone_bytes_per_second: float | None


@dataclass(frozen=True)
class SlicesBeside:
    """A job beside the others: its rate in the slices that all had in full (bytes/s; None: too few), the rate that it
    reaches alone, its I/O time span, and what a standalone run says that its bytes take (None: unknown).
    """

    job: str
    rate: float | None
    demand: RateAlone | None
    seconds: Estimate
    alone_seconds: Estimate | None

    def share_of_alone(self) -> float | None:
        """What part of its rate alone the job got: by rates where there are slices for that, else by times."""
        if self.demand and self.rate is not None:
            return self.rate / self.demand.bytes_per_second.value
        return self.alone_seconds.value / self.seconds.value if self.alone_seconds else None

    def is_slowed(self) -> bool | None:
        """Whether the job lost more than a little; None: unknown, or within the interval of what it reaches alone."""
        share = self.share_of_alone()
        if share is None:
            return None
        if share >= NOT_SLOWED:
            return None if self.is_unexplained() else False
        if self.demand and self.rate is not None:
            return True if self.rate < self.demand.bytes_per_second.low else None
        return True if self.alone_seconds is not None and self.seconds.low > self.alone_seconds.high else None

    def is_unexplained(self) -> bool:
        """Whether the job took longer than alone, and the slices that all jobs shared do not show why."""
        share = self.share_of_alone()
        return (
            self.alone_seconds is not None
            and share is not None
            and share >= NOT_SLOWED
            and self.seconds.low * NOT_SLOWED > self.alone_seconds.high
        )

    def evidence(self) -> str:
        """A clause that says what share it got; it must be known."""
        is_by_own_slices = self.demand is not None and self.demand.source == "own slices"
        source = "in slices that it had to itself" if is_by_own_slices else "in a standalone run"
        got = f"{self.job} got {100 * (self.share_of_alone() or 0.0):.0f} % of the rate that it reached {source}"
        if self.alone_seconds is not None and self.is_unexplained():
            longer = self.seconds.value / self.alone_seconds.value
            return f"{got}, but took {longer:.1f} times as long, and not because of the slices that all jobs shared"
        return f"{got}, which is within the error" if self.is_slowed() is None else got


def contention(jobs: Sequence[SlicesBeside]) -> Contention:
    """What jobs got together against alone: one that was slowed is contention, and only all unslowed are none."""
    slowed = [job.is_slowed() for job in jobs]
    shares = {job.job: job.share_of_alone() for job in jobs}
    return Contention(
        contended=True if any(slowed) else None if None in slowed or not jobs else False,
        evidence="; ".join(_evidence(jobs)),
        share_of_alone={job: share for job, share in shares.items() if share is not None},
        together_bytes_per_second=_sum_if_known(job.rate for job in jobs),
        alone_bytes_per_second=_sum_if_known(job.demand.bytes_per_second.value if job.demand else None for job in jobs),
    )


def _evidence(jobs: Sequence[SlicesBeside]) -> list[str]:
    """Clauses on all jobs: first those that were slowed down, last those of which nothing is known."""
    told = sorted((job for job in jobs if job.share_of_alone() is not None), key=lambda job: not job.is_slowed())
    clauses = [job.evidence() for job in told]
    unseen = [job.job for job in jobs if job.share_of_alone() is None and not job.demand]
    if unseen:
        themselves = "itself" if len(unseen) == 1 else "themselves"
        reason = f"no standalone run, and no two full slices to {themselves}"
        clauses.append(f"what {' and '.join(unseen)} would reach alone is not known ({reason})")
    if len(told) + len(unseen) < len(jobs):
        clauses.append("there are too few slices in which all jobs did I/O throughout")
    return clauses


def _sum_if_known(rates: Iterable[float | None]) -> float | None:
    found = list(rates)
    known = [rate for rate in found if rate is not None]
    return sum(known) if known and len(known) == len(found) else None


@dataclass(frozen=True)
class JobInDirection:
    """What a job did in one direction on the storage under analysis.

    processes, nodes: those of the processes that matter (see docs/models.md) that moved bytes in this direction; nodes:
    None where these are not known.
    idle_processes: an MPI job's other ranks. bytes: moved in the whole run. overall_bytes_per_second: bytes over the
    slices from its first to its last with bytes. span: its I/O time span. Both are None if it moved nothing.
    region_bytes, region_share (of all jobs' bytes) and uniformity (of its processes): in `DirectionOverlap.basis`; None
    without one. region_bytes_per_second: there, without end slices that some job's I/O filled in part.
    fair_share_by_process, fair_share_by_node: its processes (nodes) over those of all jobs. alone: the standalone
    run given for it. alone_seconds: what its volume takes alone by that run; None without one. waited_seconds:
    what of the span it waited for its turn at I/O, where jobs take turns: no storage made it that long.
    demand: the rate that it reaches alone.
    """

    job: str
    processes: int | None
    nodes: int | None
    idle_processes: int
    bytes: int
    overall_bytes_per_second: float | None
    span: IoSpan | None
    region_bytes: int | None
    region_bytes_per_second: float | None
    region_share: float | None
    fair_share_by_process: float
    fair_share_by_node: float
    uniformity: Uniformity | None
    alone: StandaloneRun | None
    alone_seconds: Estimate | None
    demand: RateAlone | None
    use: StorageUse
    waited_seconds: float = 0.0


@dataclass(frozen=True)
class Ratio:
    """The first job's figure over the second's (two jobs only): bandwidth in the region, overall; processes, nodes."""

    region: float | None
    overall: float | None
    processes: float | None
    nodes: float | None


@dataclass(frozen=True)
class DirectionOverlap:
    """All jobs in one direction.

    storage: the file system that is analysed; None where the jobs share none (then all their file systems are, and
    there is no region). regions: the active overlapping region and its variants, of the jobs that moved bytes. basis:
    the region that the figures of `jobs` and `uniformity` are of: the every-process one, or, where there is none, the
    any-process one; None without either. ratio: None unless there are two jobs and both moved bytes. uniformity: over
    all processes of all jobs, in `basis`. capacity, contention: see there. predictions: one a weight. inverses: one a
    weight and one that needs no weight. shares: a row a job and slice in which several jobs were active: job, slice,
    bytes, share, fair_by_process, fair_by_node (fractions of the slice's bytes; fair shares are by the processes and
    nodes that were active in that slice), fair_bytes_by_process, fair_bytes_by_node. activity: job, process, node,
    rank, slice, bytes, ns, threads; rows only where there were bytes. not_applicable: why there is nothing to compare
    in this direction, in one sentence; empty where there is. notes: what a reader must know to judge the figures, a
    sentence each.
    """

    direction: Direction
    storage: Storage | None
    jobs: list[JobInDirection]
    regions: Regions
    basis: Region | None
    ratio: Ratio | None
    uniformity: Uniformity | None
    capacity: Capacity | None
    contention: Contention
    predictions: list[Prediction]
    inverses: list[Inverse]
    shares: pl.DataFrame
    activity: pl.DataFrame
    not_applicable: str
    notes: list[str]
