"""How the capacity of a storage changes with the clients that are at it.

Frames in (`campaign.SLICES_SCHEMA`), dataclasses out. The definitions are in docs/models.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from slicewise.analysis.runs.rates import mean_of
from slicewise.analysis.sharing.capacity import SATURATING_RUNS
from slicewise.estimate import Estimate

Clients = Literal["constant", "processes", "nodes", "mounts", "jobs"]
# The simplest first: a later one is taken where it is better by more than this fraction of the error, and of the rate.
CLIENTS: tuple[Clients, ...] = ("constant", "jobs", "processes", "nodes", "mounts")
WORTH_A_CURVE = 0.2
NEGLIGIBLE_ERROR = 0.01
# A capacity that stays within this fraction of its mean is called constant.
CONSTANT = 0.05


@dataclass(frozen=True)
class CurvePoint:
    """The combined rate (bytes/s) of so many active clients; runs that show it."""

    clients: int
    rate: Estimate
    runs: int


@dataclass(frozen=True)
class CapacityCurve:
    """Capacity by the number of active clients, counted as `by` says; between points it is taken to be linear in the
    logarithm of clients, and beyond them constant. held_out_error: the root mean square of ln(predicted / observed
    rate), each combination of jobs by a curve without it; None where there is but one.
    """

    by: Clients
    points: list[CurvePoint]
    held_out_error: float | None

    @property
    def is_constant(self) -> bool:
        """Whether the rate varies by no more than `CONSTANT` about its mean."""
        rates = [point.rate.value for point in self.points]
        return max(rates) - min(rates) <= 2 * CONSTANT * sum(rates) / len(rates)

    def at(self, clients: float) -> float:
        """Bytes/s with so many clients."""
        return self._interpolated(clients, [point.rate.value for point in self.points])

    def low(self, clients: float) -> float:
        """The lower end of `at`'s interval."""
        return self._interpolated(clients, [point.rate.low for point in self.points])

    def high(self, clients: float) -> float:
        """The upper end of `at`'s interval."""
        return self._interpolated(clients, [point.rate.high for point in self.points])

    def _interpolated(self, clients: float, rates: list[float]) -> float:
        places = [math.log(point.clients) for point in self.points]
        return float(np.interp(math.log(max(clients, 1.0)), places, rates))


def combined_rates(slices: pl.DataFrame) -> pl.DataFrame:
    """What the storage served in each run while the same jobs were at it: pair, run, jobs, processes, nodes, mounts
    (active), rate (bytes/s, mean of the slices), slices.
    """
    per_slice = slices.group_by("pair", "run", "slice").agg(
        pl.col("bytes").sum() / pl.col("seconds").first(),
        pl.col("processes", "nodes", "mounts").sum(),
        jobs=pl.len().cast(pl.Int64),
        who=pl.col("job").sort().str.join("+"),
    )
    return (
        per_slice.group_by("pair", "run", "who", "jobs")
        .agg(
            pl.col("processes", "nodes", "mounts").median().round().cast(pl.Int64),
            rate=pl.col("bytes").mean(),
            slices=pl.len().cast(pl.Int64),
        )
        .drop("who")
        .sort("pair", "run", "jobs")
    )


def fit_capacity(rates: pl.DataFrame) -> CapacityCurve | None:
    """The curve that predicts combined rates (`combined_rates`) of combinations of jobs that it has not seen best; the
    simplest of those that are about as good. None without rates.
    """
    rates = saturating(rates)
    if rates.is_empty():
        return None
    errors = {by: _held_out_error(rates, by) for by in CLIENTS}
    chosen: Clients = "constant"
    for by in CLIENTS[1:]:
        error, so_far = errors[by], errors[chosen]
        if error is None or so_far is None:
            continue
        if error < (1 - WORTH_A_CURVE) * so_far and error < so_far - NEGLIGIBLE_ERROR:
            chosen = by
    return CapacityCurve(chosen, points_of(rates, chosen), errors[chosen])


def saturating(rates: pl.DataFrame) -> pl.DataFrame:
    """The rates without those of jobs alone below half of the highest rate: these jobs held themselves back."""
    if rates.is_empty():
        return rates
    return rates.filter((pl.col("jobs") > 1) | (pl.col("rate") >= SATURATING_RUNS * pl.col("rate").max()))


def _held_out_error(rates: pl.DataFrame, by: Clients) -> float | None:
    """The error of predicting each combination of several jobs from all the others and from the jobs alone."""
    squares = []
    for (_,), pair in rates.filter(pl.col("jobs") > 1).group_by("pair", maintain_order=True):
        rest = rates.filter(pl.col("pair") != pair["pair"][0])
        if rest.is_empty():
            return None
        curve = CapacityCurve(by, points_of(rest, by), None)
        found = zip(_clients(pair, by), pair["rate"], strict=True)
        squares.append(np.mean([math.log(curve.at(clients) / rate) ** 2 for clients, rate in found]))
    return math.sqrt(float(np.mean(squares))) if squares else None


def _clients(rates: pl.DataFrame, by: Clients) -> list[int]:
    return [1] * len(rates) if by == "constant" else rates[by].to_list()


def points_of(rates: pl.DataFrame, by: Clients) -> list[CurvePoint]:
    """A point a number of clients of `saturating` rates: the mean over runs."""
    points = []
    grouped = rates.with_columns(clients=pl.Series(_clients(rates, by), dtype=pl.Int64)).group_by("clients")
    for (clients,), runs in grouped:
        rate = mean_of(runs["rate"].to_list(), f"mean of {len(runs)} runs, give or take 1.96 standard errors")
        points.append(CurvePoint(int(clients), rate, len(runs)))
    return sorted(points, key=lambda point: point.clients)
