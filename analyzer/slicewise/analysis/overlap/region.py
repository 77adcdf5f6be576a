"""When jobs were active together: the active overlapping region and its variants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

RegionKind = Literal["every process", "union", "any process", "any union"]

MEANINGS: dict[RegionKind, str] = {
    "every process": "the longest run of consecutive slices in which every process of every job moved bytes",
    "union": "all slices in which every process of every job moved bytes, consecutive or not",
    "any process": "the longest run of consecutive slices in which at least one process of every job moved bytes",
    "any union": "all slices in which at least one process of every job moved bytes, consecutive or not",
}


@dataclass(frozen=True)
class Region:
    """Slices in which jobs were active together.

    kind, meaning: which of the definitions. first_slice, end_slice: half open, [first, end); of a union it is the
    hull. slices: how many slices belong to it (fewer than end - first where a union has holes). seconds: their length
    together.
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
    """The slices in which the jobs were active together.

    activity: see activity.py, of all jobs on one grid of slice_ns. processes: how many processes each job has, moving
    or not. A process is active in a slice if it moved more than zero bytes there; two runs of one length: the earlier
    one counts.
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
    """The slices, in order, in which every job has so many of its processes active, and at least one.

    active: each job's slices, in order, and how many of its processes were active in them.
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
    """Bytes per process: processes (count), mean (bytes), rsd (population standard deviation / mean, a fraction), jain
    (1/n to 1).
    """

    processes: int
    mean_bytes: float
    rsd: float
    jain: float


def uniformity(process_bytes: Sequence[float] | np.ndarray) -> Uniformity | None:
    """How alike the bytes of processes are, those that moved none included; None where nothing was moved at all.

    rsd: Kuo et al., section 4.2. jain: (sum x)^2 / (n sum x^2), which is 1 / (1 + rsd^2) (Jain, Chiu and Hawe, DEC-
    TR-301, 1984).
    """
    moved = np.asarray(process_bytes, dtype=np.float64)
    mean = float(moved.mean()) if len(moved) else 0.0
    if mean <= 0:
        return None
    return Uniformity(
        len(moved), mean, float(moved.std()) / mean, float(moved.sum() ** 2 / (len(moved) * (moved**2).sum()))
    )
