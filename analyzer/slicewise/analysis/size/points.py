"""What was measured at transfer sizes: a row a run, then runs with one configuration put together.

A configuration is everything that was chosen: the curve (storage, direction, access, sharing, processes, blocks,
company) and the transfer size. Its repeats differ by chance alone, so that they give the interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise.estimate import Estimate
from slicewise.statistics import error_of_mean

# size, block_size and file_size in bytes, file_size of all files together; bandwidth in bytes/s; latencies in seconds a
# call. in_flight: calls under way at a time, where that is known; beside: the second job, empty without one.
POINTS = pl.Schema(
    {
        "mount": pl.String, "direction": pl.String, "access": pl.String, "sharing": pl.String, "processes": pl.Int64,
        "block_size": pl.Int64, "file_size": pl.Int64, "beside": pl.String, "size": pl.Int64, "run": pl.String,
        "bandwidth": pl.Float64, "latency": pl.Float64, "latency_p99": pl.Float64, "in_flight": pl.Float64,
    }
)  # fmt: skip
CURVE = ("mount", "direction", "access", "sharing", "processes", "block_size", "file_size", "beside")
CONFIGURATION = (*CURVE, "size")
HOW = "geometric mean of {} runs, 95 % by Student's t of their logarithms"


@dataclass(frozen=True)
class Mean:
    """The geometric mean of repeats, of which intervals are made. error: of its logarithm, 95 %; nan for one run."""

    value: float
    error: float
    runs: int

    @property
    def estimate(self) -> Estimate:
        """The mean with its interval, which is nan to nan where there was one run."""
        low, high = (self.value * math.exp(sign * self.error) for sign in (-1, 1))
        return Estimate(self.value, low, high, HOW.format(self.runs) if self.runs > 1 else "one run")

    def over(self, other: Mean) -> Mean:
        """The ratio of this mean to another one of other runs."""
        error = math.hypot(self.error, other.error)
        return Mean(self.value / other.value, error, min(self.runs, other.runs))


@dataclass(frozen=True)
class Curve:
    """All that was chosen but the transfer size."""

    mount: str
    direction: str
    access: str
    sharing: str
    processes: int | None
    block_size: int | None
    file_size: int | None
    beside: str


@dataclass(frozen=True)
class SizePoint:
    """One transfer size of a curve. latency_p99: the geometric mean of the repeats' 99 % quantiles; None: not known.

    in_flight: calls under way at a time as the configuration says it; None: not known. little: bandwidth x latency /
    size / in_flight, which Little's law has at 1 where all processes are in calls all the time. equation_1: seconds
    that eq. 1 of Biswas 2023 predicts for a call; None where block or file size is not known.
    """

    size: int
    bandwidth: Mean
    latency: Mean
    latency_p99: float | None
    in_flight: float | None
    little: float | None
    equation_1: float | None


@dataclass(frozen=True)
class SizeCurve:
    """A curve and its points, the smallest size first."""

    curve: Curve
    points: Sequence[SizePoint]

    def at(self, size: int) -> SizePoint | None:
        """The point of that size."""
        return next((point for point in self.points if point.size == size), None)


def mean_of(values: npt.NDArray[np.float64]) -> Mean:
    """The geometric mean of repeats of something that is above 0."""
    logs = np.log(values)
    error = error_of_mean(float(logs.std(ddof=1)), len(logs)) if len(logs) > 1 else math.nan
    return Mean(float(np.exp(logs.mean())), error, len(logs))


def equation_1(total_size: float, block_size: float, size: float, bandwidth: float) -> float:
    """Seconds of a call by eq. 1 of Biswas 2023: (total size / block size) x size = bandwidth x latency."""
    return total_size / block_size * size / bandwidth


def curves(points: pl.DataFrame) -> list[SizeCurve]:
    """The curves of a frame of POINTS, in the order of what tells them apart."""
    found: dict[Curve, list[SizePoint]] = {}
    ordered = points.sort(CONFIGURATION, nulls_last=True)
    for (*chosen, size), rows in ordered.group_by(CONFIGURATION, maintain_order=True):
        curve = Curve(*chosen)
        found.setdefault(curve, []).append(_point(curve, int(str(size)), rows))
    return [SizeCurve(curve, each) for curve, each in found.items()]


def _point(curve: Curve, size: int, rows: pl.DataFrame) -> SizePoint:
    bandwidth, latency = (mean_of(rows[name].to_numpy()) for name in ("bandwidth", "latency"))
    tails = rows["latency_p99"].drop_nulls().to_numpy()
    in_flight = rows["in_flight"].drop_nulls().mean()
    flying = float(in_flight) if isinstance(in_flight, float) else None
    has_blocks = curve.block_size and curve.file_size
    return SizePoint(
        size=size,
        bandwidth=bandwidth,
        latency=latency,
        latency_p99=mean_of(tails).value if len(tails) and (tails > 0).all() else None,
        in_flight=flying,
        little=bandwidth.value * latency.value / size / flying if flying else None,
        equation_1=equation_1(curve.file_size or 0, curve.block_size or 1, size, bandwidth.value)
        if has_blocks
        else None,
    )
