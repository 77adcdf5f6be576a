"""One job's transfer sizes: what it uses where, what that costs it, and whose code the calls come from."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise.analysis.job.io_time import busiest_files
from slicewise.analysis.job.sites import Sites, sites
from slicewise.analysis.size.points import Curve, SizeCurve
from slicewise.analysis.size.profiles import Accesses, call_bins, own_slices
from slicewise.analysis.size.size import AS_GOOD, advise
from slicewise.constants import TRIVIAL
from slicewise.digest.digest import Digest
from slicewise.estimate import Estimate
from slicewise.scalars import real
from slicewise.statistics import BOUNDS, block_draws, two_prices

# Rows of processes and slices that a fit needs, and by how much their mean sizes must differ.
LEAST_ROWS, LEAST_SPREAD = 8, 2.0
# What a fit may leave over, of the time in calls.
MOST_LEFT_OVER = 0.25
# Measurements of elsewhere tell a job's seconds if they predict what its calls took within this factor.
MOST_FACTOR = 2.0
MOST_FILES = 20
ATTRIBUTE = "lustre.lov"
# lov_user_md: magic, pattern, object id (16 bytes), stripe size, stripe count. A composite layout has such ones within.
PLAIN = (0x0BD10BD0, 0x0BD30BD0, 0x0BD50BD0)
COMPOSITE = 0x0BD60BD0
HEAD = struct.Struct("<II16sIH")
# lov_comp_md_v1: entries begin at byte 32, each of 48 bytes with its layout's place in bytes 24 to 32.
ENTRY_COUNT, ENTRIES_AT, PLACE_AT = 14, 32, 24


@dataclass(frozen=True)
class SizeCost:
    """What a better size would save a job in one direction on one file system. accesses: of the job. better: the size,
    bytes; None: it is not known, or the job's own is as good. saved: seconds in calls of the process with most, an
    estimate; None: not known. how: where that comes from, or why it is not known. alpha, beta: seconds a call and a
    byte that were fitted; None: no fit. is_claimed: the saving is above its interval and above 2 % of the time in
    calls.
    """

    accesses: Accesses
    better: int | None
    saved: Estimate | None
    how: str
    alpha: float | None = None
    beta: float | None = None

    @property
    def is_claimed(self) -> bool:
        """Whether the saving is more than chance and trifles."""
        return self.saved is not None and self.saved.low > 0 and self.saved.value > TRIVIAL * self.accesses.seconds


def size_cost(accesses: Accesses, curves: Sequence[SizeCurve]) -> SizeCost:
    """What a better size would save: by measurements of other sizes where there are any, else by the job's own."""
    told = _by_curve(accesses, curves)
    if told is not None and told.saved is not None:
        return told
    own = _by_own_slices(accesses)
    return own if told is None or own.saved is not None else told


def _by_own_slices(accesses: Accesses) -> SizeCost:
    rows = own_slices(accesses.digest, accesses.storage, accesses.direction).filter(
        pl.col("calls") > 0, pl.col("bytes") > 0, pl.col("call_seconds") > 0
    )
    means = rows.select(mean=pl.col("bytes") / pl.col("calls"))["mean"]
    spread = real(means.quantile(0.9)) / real(means.quantile(0.1)) if len(means) else 0.0
    if rows.height < LEAST_ROWS or spread < LEAST_SPREAD:
        return SizeCost(accesses, None, None, "its calls are of too few sizes to tell what another size would take")
    goods = rows.select("calls", "bytes", "call_seconds").to_numpy().astype(float)
    alpha, beta = _prices(goods)
    left_over = np.abs(goods[:, :2] @ (alpha, beta) - goods[:, 2]).sum() / goods[:, 2].sum()
    if left_over > MOST_LEFT_OVER:
        share = f"{left_over * 100:.0f} %"
        return SizeCost(accesses, None, None, f"calls and bytes alone leave {share} of its time in calls unexplained")
    largest = 1 << math.floor(math.log2(real(means.max())))
    wanted = alpha * (1 - AS_GOOD) / (beta * AS_GOOD) if beta > 0 else math.inf
    better = min(largest, 1 << math.ceil(math.log2(max(wanted, 1.0)))) if wanted < largest else largest
    processes = rows.group_by("process").agg(pl.col("calls", "bytes", "call_seconds").sum())
    most = processes.sort("call_seconds").row(-1, named=True)
    threads = max(1.0, most["call_seconds"] / accesses.seconds) if accesses.seconds else 1.0
    fewer = (most["calls"] - most["bytes"] / better) / threads
    samples = [_prices(sample)[0] for sample in _drawn_anew(rows)]
    low, high = (float(bound) for bound in np.quantile(samples, BOUNDS))
    how = (
        f"{rows.height} slices of processes with calls of several sizes, fitted as a time for each call and for each "
        "byte; bootstrap over slices, 95 %"
    )
    if fewer <= 0:
        return SizeCost(accesses, None, Estimate(0.0, 0.0, 0.0, how), how, alpha, beta)
    return SizeCost(accesses, better, Estimate(alpha * fewer, low * fewer, high * fewer, how), how, alpha, beta)


def _prices(goods: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Seconds a call and a byte. Errors grow with the time of a row, and so each is weighed by that."""
    weight = 1 / np.sqrt(goods[:, 2])
    return two_prices(goods[:, 0] * weight, goods[:, 1] * weight, goods[:, 2] * weight)


def _drawn_anew(rows: pl.DataFrame) -> Iterator[npt.NDArray[np.float64]]:
    slices = [
        part.select("calls", "bytes", "call_seconds").to_numpy().astype(float)
        for _, part in rows.sort("slice").group_by("slice", maintain_order=True)
    ]
    return (np.concatenate([slices[at] for at in chosen]) for chosen in block_draws(len(slices)))


def _by_curve(accesses: Accesses, curves: Sequence[SizeCurve]) -> SizeCost | None:
    fitting = [curve for curve in curves if len(curve.points) > 1 and _is_like(curve.curve, accesses.curve)]
    if not fitting:
        return None
    wanted = accesses.curve.processes or 1
    curve = min(fitting, key=lambda each: abs(math.log((each.curve.processes or wanted) / wanted)))
    advice = advise(curve, "throughput")
    if advice is None:
        return None
    sizes, calls = _own_sizes(accesses)
    takes = _interpolated(curve)
    expected = float(sum(count * takes(size) for size, count in zip(sizes, calls, strict=True)))
    factor = accesses.call_seconds / expected
    how = f"measurements of {len(curve.points)} sizes, which predict {factor**-1 * 100:.0f} % of its time in calls"
    if not 1 / MOST_FACTOR <= factor <= MOST_FACTOR:
        return SizeCost(accesses, None, None, f"{how}: they do not hold for this job (its page cache may help it)")
    better = advice.point
    kept = accesses.bytes / better.size * better.latency.value / expected
    error = better.latency.error if not math.isnan(better.latency.error) else 0.0
    seconds = accesses.seconds * min(1.0, accesses.call_seconds / _all_seconds(accesses))
    ends = sorted(seconds * (1 - kept * math.exp(sign * error)) for sign in (-1, 1))
    saved = Estimate(seconds * (1 - kept), ends[0], ends[1], f"{how}; 95 % by their repeats")
    return SizeCost(accesses, better.size if saved.value > 0 else None, saved, how)


def _all_seconds(accesses: Accesses) -> float:
    """Seconds in calls and syncs of all processes and threads: what of it are calls can be saved."""
    rows = own_slices(accesses.digest, accesses.storage, accesses.direction)
    return real((rows["seconds"] * rows["threads"]).sum())


def _is_like(curve: Curve, own: Curve) -> bool:
    return (
        curve.mount in ("", own.mount)
        and not curve.beside
        and (curve.direction, curve.access, curve.sharing) == (own.direction, own.access, own.sharing)
    )


def _own_sizes(accesses: Accesses) -> tuple[list[float], list[float]]:
    """The job's sizes and calls of each: its one size, or the middles of its bins, scaled to its bytes."""
    if accesses.size is not None:
        return [accesses.mean_size], [float(accesses.calls)]
    bins = call_bins(accesses.digest, accesses.storage, accesses.direction, "size")
    middles = [math.sqrt(max(1, row["least"]) * (row["most"] or 2 * row["least"])) for row in bins.to_dicts()]
    calls = [float(count) for count in bins["calls"]]
    scale = accesses.bytes / sum(size * count for size, count in zip(middles, calls, strict=True))
    return [size * scale for size in middles], calls


def _interpolated(curve: SizeCurve) -> Callable[[float], float]:
    """Seconds of a call of any size: by logarithms, beyond the largest in proportion, below the smallest constant."""
    sizes = np.log([point.size for point in curve.points])
    takes = np.log([point.latency.value for point in curve.points])

    def seconds(size: float) -> float:
        beyond = max(0.0, math.log(size) - sizes[-1])
        return float(np.exp(np.interp(math.log(size), sizes, takes) + beyond))

    return seconds


@dataclass(frozen=True)
class SiteSize:
    """A call site: its stack (a number of `Sites.stacks`), direction, seconds in calls, calls, the mean size of these,
    and its share of the time in all sites of its direction. Estimates from samples.
    """

    stack: int
    direction: str
    seconds: float
    calls: float
    mean_size: float
    share: float


@dataclass(frozen=True)
class JobSizes:
    """A job's sizes. costs: by file system and direction, most seconds first. sites: where in the program the calls
    are; site_sizes: those of reads and writes, most calls' seconds first. stripes: of its files on Lustre.
    """

    digest: Digest
    costs: Sequence[SizeCost]
    sites: Sites
    site_sizes: Sequence[SiteSize]
    stripes: Sequence[Stripes]

    @property
    def saved(self) -> list[SizeCost]:
        return [cost for cost in self.costs if cost.is_claimed]


def job_sizes(digest: Digest, accesses: Sequence[Accesses], curves: Sequence[SizeCurve]) -> JobSizes:
    """What the job's sizes cost it. curves: of whatever was measured at other sizes."""
    found = sites(digest)
    costs = [size_cost(each, curves) for each in accesses]
    directions = {each.direction for each in accesses}
    of_directions = [site for site in site_sizes(digest, found) if site.direction in directions]
    return JobSizes(digest, costs, found, of_directions, _stripes(digest, accesses))


def site_sizes(digest: Digest, found: Sites) -> list[SiteSize]:
    summed = found.samples.group_by("stack", "operation").agg(pl.col("seconds", "bytes", "calls").sum())
    kinds = {name: digest.kind_of_operation(name) for name in summed["operation"].unique()}
    all_seconds = {
        kind: sum(row["seconds"] for row in summed.to_dicts() if kinds[row["operation"]] == kind)
        for kind in ("read", "write")
    }
    rows = [
        SiteSize(
            row["stack"],
            kinds[row["operation"]],
            row["seconds"],
            row["calls"],
            row["bytes"] / row["calls"],
            row["seconds"] / all_seconds[kinds[row["operation"]]],
        )
        for row in summed.to_dicts()
        if kinds[row["operation"]] in all_seconds and row["calls"] > 0 and row["seconds"] > 0
    ]
    return sorted(rows, key=lambda site: (-site.seconds, site.stack))


def _stripes(digest: Digest, accesses: Sequence[Accesses]) -> list[Stripes]:
    points = [each.curve.mount for each in accesses if each.storage_type == "lustre"]
    if not points:
        return []
    paths = [path for path in busiest_files(digest, MOST_FILES)["path"] if path.startswith(tuple(points))]
    return [stripes for stripes in map(stripes_of, paths) if stripes is not None]


@dataclass(frozen=True)
class Stripes:
    """How one file is laid out: of a composite layout, its first component. size in bytes; count: of objects."""

    path: str
    size: int
    count: int


def stripes_of(path: str) -> Stripes | None:
    """The layout of a file; None where it is not on Lustre, is gone, or has no layout."""
    try:
        layout = os.getxattr(path, ATTRIBUTE)
    except (OSError, ValueError):
        return None
    return parsed(path, layout)


def parsed(path: str, layout: bytes) -> Stripes | None:
    """The attribute's bytes as what they say; None for what is no layout."""
    try:
        (magic,) = struct.unpack_from("<I", layout)
        at = 0
        if magic == COMPOSITE:
            if struct.unpack_from("<H", layout, ENTRY_COUNT)[0] == 0:
                return None
            (at,) = struct.unpack_from("<I", layout, ENTRIES_AT + PLACE_AT)
        magic, _, _, size, count = HEAD.unpack_from(layout, at)
    except struct.error:
        return None
    return Stripes(path, size, count) if magic in PLAIN and size > 0 else None
