"""How often somebody else does I/O while a job does: by how many jobs run at one time (Dorier et al., section II.B)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from slicewise.analysis.calls import SECONDS, call_rows
from slicewise.analysis.runs.matching import run_of
from slicewise.analysis.runs.storage import Storage, describe, most_used, moved_by
from slicewise.constants import NO_SECONDS
from slicewise.digest.activity import common_slice_ns
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.estimate import Estimate

# Fields, counted from 0; -1 in any of them is "not known".
SUBMITTED, WAITED, RAN, ALLOCATED, REQUESTED = 1, 2, 3, 4, 7
FEWEST_FIELDS = 5
IoSource = Literal["profiles", "given", "assumed"]
# Where nobody knows better, as in the paper.
ASSUMED_IO_SHARE = 0.05
HOW = (
    "the share of each slice that jobs' busiest processes were in I/O calls; within a slice, independent of each other"
)


@dataclass(frozen=True)
class LoggedJob:
    """start: s on the log's own axis."""

    start: float
    seconds: float
    processes: int


@dataclass(frozen=True)
class JobLog:
    """skipped: jobs that never ran, or of which the log does not know when, for how long, or on how many processors.
    at_submission: so many were taken to begin when they were submitted, for want of how long they waited.
    """

    jobs: list[LoggedJob]
    skipped: int
    at_submission: int


def read_job_log(lines: Iterable[str], name: str) -> JobLog:
    """The jobs of a log. name: what to call it in complaints. Raises UserError for a line that is no job, and for a log
    without jobs.
    """
    jobs = []
    skipped = at_submission = 0
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith(";"):
            continue
        fields = _numbers(line.split(), f"{name}: line {number}")
        job = _job(fields)
        if job is None:
            skipped += 1
        else:
            jobs.append(job)
            at_submission += fields[WAITED] < 0
    if not jobs:
        raise UserError(f"{name}: holds no job that ran; give a log in the Standard Workload Format")
    return JobLog(jobs, skipped, at_submission)


def _numbers(fields: list[str], where: str) -> list[float]:
    try:
        numbers = [float(field) for field in fields]
    except ValueError:
        numbers = []
    if len(numbers) < FEWEST_FIELDS or not all(map(math.isfinite, numbers)):
        raise UserError(f"{where}: is no job of the Standard Workload Format, which has 18 numbers a line")
    return numbers


def _job(fields: list[float]) -> LoggedJob | None:
    requested = fields[REQUESTED] if len(fields) > REQUESTED else -1
    processes = int(fields[ALLOCATED] if fields[ALLOCATED] > 0 else requested)
    if fields[RAN] <= 0 or processes <= 0 or fields[SUBMITTED] < 0:
        return None
    return LoggedJob(fields[SUBMITTED] + max(fields[WAITED], 0.0), fields[RAN], processes)


@dataclass(frozen=True)
class SizeClass:
    """Jobs of low to high processes: shares of all jobs, and of all jobs' time."""

    low: int
    high: int
    of_jobs: float
    of_time: float


@dataclass(frozen=True)
class Observed:
    """anybody: the time share in which some job did I/O; somebody_else: of jobs' I/O time, with another's."""

    anybody: Estimate
    somebody_else: Estimate
    storage: Storage


@dataclass(frozen=True)
class Probability:
    """concurrent: n -> share of the time (`seconds`, from the first start to the last end) in which n jobs ran.
    io_share: the mean share of its time that a job is in I/O; io_source: where that is from. anybody: that at any
    moment some job does I/O; somebody_else: that another job does while a job does.
    """

    jobs: int
    seconds: float
    concurrent: dict[int, float]
    sizes: list[SizeClass]
    median_of_jobs: int
    median_of_time: int
    io_share: float
    io_source: IoSource
    anybody: float
    somebody_else: float
    observed: Observed | None


def probability(concurrent: Mapping[int, float], io_share: float) -> float:
    """That some job does I/O: 1 - sum_n P(X = n) (1 - mu)^n."""
    return 1 - math.fsum(share * (1 - io_share) ** jobs for jobs, share in concurrent.items())


def others(concurrent: Mapping[int, float]) -> dict[int, float]:
    """How many other jobs run while a job does: a moment with n jobs counts n times, with n - 1 others each."""
    running = math.fsum(jobs * share for jobs, share in concurrent.items())
    return {jobs - 1: jobs * share / running for jobs, share in concurrent.items() if jobs}


def concurrency(jobs: Sequence[LoggedJob]) -> dict[int, float]:
    """n -> share of the time from the first start to the last end in which n jobs ran."""
    starts = np.array([job.start for job in jobs])
    ends = starts + np.array([job.seconds for job in jobs])
    times = np.concatenate([starts, ends])
    steps = np.concatenate([np.ones(len(jobs), np.int64), -np.ones(len(jobs), np.int64)])
    order = np.argsort(times, kind="stable")
    running, lengths = np.cumsum(steps[order])[:-1], np.diff(times[order])
    summed = np.bincount(running.clip(0), weights=lengths)
    return {int(number): float(summed[number] / summed.sum()) for number in np.flatnonzero(summed)}


def sizes(jobs: Sequence[LoggedJob]) -> list[SizeClass]:
    """Shares of jobs, and of jobs' time, by processes in powers of two: 1, 2, 3-4, 5-8 and so on."""
    bins = [math.ceil(math.log2(job.processes)) for job in jobs]
    times = math.fsum(job.seconds for job in jobs)
    found = []
    for power in range(min(bins), max(bins) + 1):
        inside = [job for job, place in zip(jobs, bins, strict=True) if place == power]
        time = math.fsum(job.seconds for job in inside)
        found.append(SizeClass(2**power // 2 + 1 if power else 1, 2**power, len(inside) / len(jobs), time / times))
    return found


def of_log(
    jobs: Sequence[LoggedJob], io_share: float, io_source: IoSource = "given", observed: Observed | None = None
) -> Probability:
    """The probability for jobs whose starts, lengths and sizes are known, and a mean share of time in I/O."""
    concurrent = concurrency(jobs)
    by_size = sorted(jobs, key=lambda job: job.processes)
    return Probability(
        jobs=len(jobs),
        seconds=_seconds(jobs),
        concurrent=concurrent,
        sizes=sizes(jobs),
        median_of_jobs=_median(by_size, [1.0] * len(jobs)),
        median_of_time=_median(by_size, [job.seconds for job in by_size]),
        io_share=io_share,
        io_source=io_source,
        anybody=probability(concurrent, io_share),
        somebody_else=probability(others(concurrent), io_share),
        observed=observed,
    )


def of_profiles(digests: Sequence[Digest], io_share: float | None = None) -> Probability:
    """The same for jobs with profiles, on the file system that most of them use, beside what their slices say.
    io_share: where it is not to be that of the profiles. Raises UserError where no job moved any bytes.
    """
    storage = _most_used(digests)
    busy = _busy(digests, storage)
    logged = [_logged(digest) for digest in digests]
    observed = _observed(busy, logged, describe(storage, digests), digests)
    if io_share is not None:
        return of_log(logged, io_share, "given", observed)
    return of_log(logged, _io_share(busy, logged), "profiles", observed)


def io_share_of(digests: Sequence[Digest]) -> float:
    """The mean share of their time that jobs are in I/O on the file system that most of them use."""
    return _io_share(_busy(digests, _most_used(digests)), [_logged(digest) for digest in digests])


def _median(by_size: Sequence[LoggedJob], weights: Sequence[float]) -> int:
    reached = np.cumsum(weights)
    return by_size[int(np.searchsorted(reached, reached[-1] / 2))].processes


def _logged(digest: Digest) -> LoggedJob:
    job = run_of(digest).job
    return LoggedJob(job.start_ns / 1e9, max(job.end_ns - job.start_ns, 1) / 1e9, max(1, job.processes))


def _most_used(digests: Sequence[Digest]) -> int:
    moved = [moved_by(digest) for digest in digests]
    if all(each.is_empty() for each in moved):
        raise UserError("none of these jobs moved bytes of files, so their I/O cannot meet; give other jobs")
    return most_used(moved)[0]


def _busy(digests: Sequence[Digest], storage: int) -> pl.DataFrame:
    """job (place), slice, busy: the share of the slice that the job's busiest process was in calls."""
    grid_ns = common_slice_ns(digests)
    seconds = pl.sum_horizontal(SECONDS.values())
    return pl.concat(
        call_rows(digest, grid_ns)
        .filter(pl.col("storage") == storage)
        .group_by("slice")
        .agg(busy=(seconds.max() / (grid_ns / 1e9)).clip(0, 1))
        .select(pl.lit(place).alias("job"), "slice", "busy", seconds=pl.col("busy") * grid_ns / 1e9)
        for place, digest in enumerate(digests)
    )


def _io_share(busy: pl.DataFrame, jobs: Sequence[LoggedJob]) -> float:
    return min(1.0, float(busy["seconds"].sum()) / math.fsum(job.seconds for job in jobs))


def _seconds(jobs: Sequence[LoggedJob]) -> float:
    """From the first start to the last end."""
    return max(job.start + job.seconds for job in jobs) - min(job.start for job in jobs)


def _observed(
    busy: pl.DataFrame, jobs: Sequence[LoggedJob], storage: Storage, digests: Sequence[Digest]
) -> Observed | None:
    whole = float(busy["busy"].sum())
    if not whole:
        return None
    slices = _seconds(jobs) / (common_slice_ns(digests) / 1e9)
    is_full = 1 - pl.col("busy") < NO_SECONDS
    idle = pl.when(is_full).then(0.0).otherwise((1 - pl.col("busy")).log())
    rows = busy.with_columns(is_full=is_full, idle=idle).with_columns(
        full=pl.col("is_full").sum().over("slice") - pl.col("is_full"),
        others_idle=pl.col("idle").sum().over("slice") - pl.col("idle"),
        others_sum=pl.col("busy").sum().over("slice") - pl.col("busy"),
        # The largest of the others: the slice's largest, or where that is its own, the next.
        others_most=pl.when(pl.col("busy").rank("ordinal", descending=True).over("slice") == 1)
        .then(pl.col("busy").top_k(2).sum().over("slice") - pl.col("busy").max().over("slice"))
        .otherwise(pl.col("busy").max().over("slice")),
    )
    met = rows.select(
        value=(pl.col("busy") * pl.when(pl.col("full") > 0).then(1.0).otherwise(1 - pl.col("others_idle").exp())).sum(),
        low=(pl.col("busy") + pl.col("others_most") - 1).clip(0).sum(),
        high=pl.min_horizontal("busy", "others_sum").sum(),
    ).row(0)
    each = rows.group_by("slice").agg(
        value=pl.when(pl.col("is_full").any()).then(1.0).otherwise(1 - pl.col("idle").sum().exp()),
        low=pl.col("busy").max(),
        high=pl.col("busy").sum().clip(0, 1),
    )
    value, low, high = (float(each[name].sum()) / max(slices, len(each)) for name in ("value", "low", "high"))
    somebody_else = Estimate(met[0] / whole, met[1] / whole, met[2] / whole, HOW)
    return Observed(Estimate(value, low, high, HOW), somebody_else, storage)
