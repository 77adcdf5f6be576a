"""How the capacity of a storage changes with the clients that are at it (docs/models.md)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import polars as pl

from slicewise.constants import CONSTANT, NEGLIGIBLE_ERROR, SATURATING_RUNS, WORTH_MORE
from slicewise.estimate import Estimate
from slicewise.statistics import mean_of_runs, student_t

Clients = Literal["constant", "processes", "nodes", "mounts", "jobs"]
# The simplest first: a later one is taken where it is better by more than this fraction of the error, and of the rate.
CLIENTS: tuple[Clients, ...] = ("constant", "jobs", "processes", "nodes", "mounts")
# The powers of clients in a line of costs. A form of a curve: by which clients, and such a power or 0 (`curve_of`).
POWERS = (1, 2)
Form = tuple[Clients, int]
# So many combinations of jobs show a line of costs, and leave one to say how far off it is.
FEWEST_FOR_A_LINE = 3

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True)
class CurvePoint:
    """The combined rate (bytes/s) of so many active clients; runs that show it."""

    clients: int
    rate: Estimate
    runs: int


@dataclass(frozen=True)
class CostLine:
    """What a byte costs beside others, as on a device that seeks: seconds, and so many more for each client; where
    power is 2, for each client times the clients, as where each of them waits for locks of every other one. spread: the
    factor to both sides within which rates lie, 95 %.
    """

    seconds: float
    per_client: float
    spread: float
    power: int = 1

    def at(self, clients: float, end: int = 0) -> float:
        return (1.0, self.spread, 1 / self.spread)[end] * (1 / (self.seconds + self.per_client * clients**self.power))


@dataclass(frozen=True)
class CapacityCurve:
    """Capacity by the number of active clients, counted as `by` says: linear between points in their logarithm, and
    beyond them constant, or as a line of costs says where that is less; is_line: as the line says everywhere.
    held_out_error: the root mean square of ln(predicted / observed rate), each combination of jobs by a curve without
    it; None where there is but one.
    """

    by: Clients
    points: list[CurvePoint]
    held_out_error: float | None
    line: CostLine | None = None
    is_line: bool = False

    @property
    def power(self) -> int:
        """That of `curve_of`, which makes it."""
        return self.line.power if self.line is not None and self.is_line else 0

    @property
    def is_constant(self) -> bool:
        """Whether the rate varies by no more than `CONSTANT` about its mean."""
        rates = [point.rate.value for point in self.points]
        return max(rates) - min(rates) <= 2 * CONSTANT * sum(rates) / len(rates)

    def at(self, clients: float, end: int = 0) -> float:
        """bytes/s of so many clients. end: -1, 0, 1 for the low end, the middle, the high end of the interval."""
        by_line = self.line.at(clients, end) if self.line is not None else math.inf
        if self.is_line and self.line is not None:
            return by_line
        places = [math.log(point.clients) for point in self.points]
        rates = [point.rate.end(end) for point in self.points]
        found = float(np.interp(math.log(max(clients, 1.0)), places, rates))
        return found if clients <= self.points[-1].clients else min(found, by_line)


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


@dataclass(frozen=True)
class CombinedRate:
    """A row of `combined_rates`: what one run's jobs got together, with how many clients, counted in each way."""

    pair: str
    clients: Mapping[Clients, int]
    rate: float


def rows_of(rates: pl.DataFrame) -> list[CombinedRate]:
    """Rows of `combined_rates`. Curves are fitted hundreds of times to a few of them, which frames are too slow for."""
    counted: list[Clients] = [by for by in CLIENTS if by != "constant"]
    return [
        CombinedRate(pair, {"constant": 1, **dict(zip(counted, clients, strict=True))}, rate)
        for pair, rate, *clients in rates.select("pair", "rate", *counted).iter_rows()
    ]


def fit_capacity(rates: pl.DataFrame) -> CapacityCurve | None:
    """The simplest of the curves that predict combined rates about as well as the best; None without rates."""
    rows = saturating(rows_of(rates))
    if not rows:
        return None
    # A line of costs is simpler than a point for each number of clients.
    lines = {by: [_held_out(rows, (by, power)) for power in POWERS] for by in CLIENTS[1:]}
    # Neither of two lines by the same clients is simpler: the better counts.
    tried = [
        _held_out(rows, (CLIENTS[0], 0)),
        *(min(of, key=lambda one: math.inf if one[1] is None else one[1]) for of in lines.values()),
        *(_held_out(rows, (by, 0)) for by in CLIENTS[1:]),
    ]
    chosen, so_far = tried[0]
    for form, error in tried[1:]:
        if error is None or so_far is None:
            continue
        if error < (1 - WORTH_MORE) * so_far and error < so_far - NEGLIGIBLE_ERROR:
            chosen, so_far = form, error
    return replace(curve_of(rows, *chosen), held_out_error=so_far)


def curve_of(rows: Sequence[CombinedRate], by: Clients, power: int) -> CapacityCurve:
    """A curve through `saturating` rates; power: of a line of costs, where they show one; 0: linear between points."""
    line = None if by == "constant" else _line(rows, by, power or 1)
    return CapacityCurve(by, points_of(rows, by), None, line, power > 0)


def _line(rows: Sequence[CombinedRate], by: Clients, power: int) -> CostLine | None:
    """The line of costs of several jobs beside each other; None where too few show one, or clients cost nothing."""
    beside = _grouped(((row.pair, row.clients[by]), row.rate) for row in rows if row.clients["jobs"] > 1)
    if len(beside) < FEWEST_FOR_A_LINE or len({clients for _, clients in beside}) < 2:
        return None
    clients = np.array([clients for _, clients in beside], dtype=float) ** power
    observed = np.array([sum(rates) / len(rates) for rates in beside.values()])
    # Errors of costs count in proportion to them.
    terms = np.stack([observed, observed * clients], axis=1)
    (seconds, per_client), *_ = np.linalg.lstsq(terms, np.ones(len(terms)))
    if seconds <= 0 or per_client <= 0:
        return None
    off = np.log((seconds + per_client * clients) * observed)
    degrees = len(off) - 2
    spread = math.exp(student_t(degrees) * math.sqrt(float(np.sum(off**2)) / degrees))
    return CostLine(float(seconds), float(per_client), spread, power)


def saturating(rows: Sequence[CombinedRate]) -> list[CombinedRate]:
    """The rates without those of jobs alone below half of the highest rate: these jobs held themselves back."""
    enough = SATURATING_RUNS * max((row.rate for row in rows), default=0.0)
    return [row for row in rows if row.clients["jobs"] > 1 or row.rate >= enough]


def _held_out(rows: Sequence[CombinedRate], form: Form) -> tuple[Form, float | None]:
    """A form with its error in predicting each combination from the others; None where they do not show it."""
    by, power = form
    squares = []
    for pair, own in _grouped((row.pair, row) for row in rows if row.clients["jobs"] > 1).items():
        rest = [row for row in rows if row.pair != pair]
        if not rest:
            return form, None
        curve = _line(rest, by, power) if power else curve_of(rest, by, power)
        if curve is None:
            return form, None
        squares.append(np.mean([math.log(curve.at(row.clients[by]) / row.rate) ** 2 for row in own]))
    return form, math.sqrt(float(np.mean(squares))) if squares else None


def points_of(rows: Sequence[CombinedRate], by: Clients) -> list[CurvePoint]:
    """A point a number of clients of `saturating` rates: the mean over runs."""
    grouped = _grouped((row.clients[by], row.rate) for row in rows)
    return [
        CurvePoint(clients, mean_of_runs(rates, f"mean of {len(rates)} runs, 95 %"), len(rates))
        for clients, rates in sorted(grouped.items())
    ]


def _grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """The values of each key, keys in the order in which they come first."""
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found
