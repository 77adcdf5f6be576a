"""Bandwidth and latency by transfer size, from whatever was measured, with the size to take on every curve."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from slicewise.analysis.size.points import CompanyEffect, Mean, SizeCurve, SizePoint, company_effects, curves
from slicewise.analysis.size.predict import Predictions, predictions
from slicewise.kinds import Confidence
from slicewise.statistics import student_t

Goal = Literal["throughput", "latency"]

# A size within this fraction of the best is as good as the best.
AS_GOOD = 0.05
STEADY = 0.9
# What the best size may have more, at the unlucky end of the intervals: up to the first the confidence is high, up to
# the second it is medium.
SURE_LOSS, LIKELY_LOSS = 1 / 0.9 - 1, 1 / 0.75 - 1
RUNS_TO_BE_SURE = 3


@dataclass(frozen=True)
class Requirements:
    """What a size must keep to. latency: seconds a call at most; bandwidth: bytes/s at least; None: no bound."""

    latency: float | None = None
    bandwidth: float | None = None

    @property
    def is_given(self) -> bool:
        """Whether there is any."""
        return self.latency is not None or self.bandwidth is not None


@dataclass(frozen=True)
class Advice:
    """A transfer size for a goal. point: the size with its figures. best: the size with the best mean. as_good: sizes
    that this goal cannot tell from the best one, by 5 % or by how runs of all sizes scatter. most_loss: what another
    size may be better by at most, at the unlucky ends of the 95 % intervals, as a fraction; nan where sizes were run
    once. runs: of `point`. is_sure_of_bounds: whether its interval keeps the bounds as well as its mean. is_largest,
    is_smallest: no size beyond was tried.
    """

    point: SizePoint
    best: SizePoint
    as_good: Sequence[int]
    most_loss: float
    runs: int
    confidence: Confidence
    is_sure_of_bounds: bool
    is_largest: bool
    is_smallest: bool


def advise(curve: SizeCurve, goal: Goal, bounds: Requirements | None = None) -> Advice | None:
    """The size to take on a curve; None where no size keeps the bounds. Of sizes within 5 % of the best bandwidth the
    smallest is taken, since calls are shorter then; of sizes within 5 % of the best latency the largest, since it moves
    more. A size whose interval reaches below 90 % of the best mean is passed over: its mean may be luck.
    """
    bounds = bounds or Requirements()
    points = [point for point in curve.points if _keeps(point, bounds, by_interval=False)]
    if not points:
        return None
    better = _bandwidth if goal == "throughput" else _speed
    best = max(points, key=lambda point: better(point).value)
    within = [point for point in points if better(point).value >= (1 - AS_GOOD) * better(best).value]
    taken = _steady(within if goal == "throughput" else within[::-1], better, best)
    # Wider than the ratio's own interval: the size was chosen by these very means.
    low = better(taken).estimate.low
    losses = [better(other).estimate.high / low - 1 for other in points if other is not taken]
    most_loss = max(losses, default=math.nan) if not any(map(math.isnan, losses)) else math.nan
    apart = _scatter([better(point) for point in points])
    as_good = [point.size for point in points if point in within or _is_alike(better(point), better(best), apart)]
    return Advice(
        point=taken,
        best=best,
        as_good=as_good,
        most_loss=most_loss,
        runs=better(taken).runs,
        confidence=_confidence(points, most_loss, min(better(point).runs for point in points)),
        is_sure_of_bounds=_keeps(taken, bounds, by_interval=True),
        is_largest=taken is curve.points[-1],
        is_smallest=taken is curve.points[0],
    )


def _steady(points: Sequence[SizePoint], better: Callable[[SizePoint], Mean], best: SizePoint) -> SizePoint:
    lows = [better(point).estimate.low for point in points]
    if any(map(math.isnan, lows)):
        return points[0]
    steady = (point for point, low in zip(points, lows, strict=True) if low >= STEADY * better(best).value)
    return next(steady, points[lows.index(max(lows))])


def _bandwidth(point: SizePoint) -> Mean:
    return point.bandwidth


def _speed(point: SizePoint) -> Mean:
    """Calls a second of one caller: the more, the better."""
    return Mean(1 / point.latency.value, point.latency.error, point.latency.runs)


def _scatter(means: Sequence[Mean]) -> tuple[float, int]:
    """The standard deviation of the logarithm of one run, of all sizes together, and its degrees of freedom; nan where
    all were run once. Two runs of a size say little by themselves of how runs scatter.
    """
    several = [mean for mean in means if mean.runs > 1]
    freedom = sum(mean.runs - 1 for mean in several)
    if not freedom:
        return math.nan, 0
    squares = sum((mean.runs - 1) * mean.runs * (mean.error / student_t(mean.runs - 1)) ** 2 for mean in several)
    return math.sqrt(squares / freedom), freedom


def _is_alike(one: Mean, other: Mean, scatter: tuple[float, int]) -> bool:
    """Whether two means may be one, by how runs scatter; of single runs nothing is known."""
    deviation, freedom = scatter
    if math.isnan(deviation):
        return False
    error = student_t(freedom) * deviation * math.sqrt(1 / one.runs + 1 / other.runs)
    return abs(math.log(one.value / other.value)) <= error


def _keeps(point: SizePoint, bounds: Requirements, by_interval: bool) -> bool:
    latency, bandwidth = point.latency.estimate, point.bandwidth.estimate
    most, least = (latency.high, bandwidth.low) if by_interval else (latency.value, bandwidth.value)
    return (bounds.latency is None or most <= bounds.latency) and (
        bounds.bandwidth is None or least >= bounds.bandwidth
    )


def _confidence(points: Sequence[SizePoint], most_loss: float, runs: int) -> Confidence:
    if len(points) < 2:
        return "unknown"
    if math.isnan(most_loss) or most_loss > LIKELY_LOSS:
        return "low"
    return "high" if most_loss <= SURE_LOSS and runs >= RUNS_TO_BE_SURE else "medium"


# Of the size x in-flight law: further off than this is told.
LAW_TOLERANCE = 0.1


@dataclass(frozen=True)
class CurveAdvice:
    """A curve, and the sizes to take on it (None: none keeps the bounds). own: the size used now, if there."""

    curve: SizeCurve
    throughput: Advice | None
    latency: Advice | None
    own: int | None


@dataclass(frozen=True)
class SizeResult:
    """points: what was measured (`points.POINTS`). advices: a curve each, the one that is told first in front. bounds:
    what a size must keep to. own: the size that is used now; None: not known. off_law: points whose size x calls in
    flight is further than 10 % from bandwidth x latency; on_law: all others whose calls in flight are known.
    """

    points: pl.DataFrame
    advices: Sequence[CurveAdvice]
    bounds: Requirements
    own: int | None
    effects: Sequence[CompanyEffect]
    predictions: Predictions
    off_law: int
    on_law: int
    notes: Sequence[str] = field(default_factory=list)

    @property
    def first(self) -> CurveAdvice:
        return self.advices[0]


def size_result(
    points: pl.DataFrame, bounds: Requirements, own: int | None = None, notes: Sequence[str] = ()
) -> SizeResult:
    """What the points (`points.POINTS`, at least one) say. own: the size that is used now. notes: what is to be known
    of where they are from.
    """
    found = curves(points)
    advices = [
        CurveAdvice(
            each,
            advise(each, "throughput", bounds),
            advise(each, "latency", bounds),
            own if own is not None and each.at(own) else None,
        )
        for each in found
    ]
    ratios = [point.little for each in found for point in each.points if point.little is not None]
    off = sum(abs(ratio - 1) > LAW_TOLERANCE for ratio in ratios)
    return SizeResult(
        points=points,
        advices=sorted(advices, key=lambda advice: _rank(advice.curve)),
        bounds=bounds,
        own=own,
        effects=company_effects(found),
        predictions=predictions(points),
        off_law=off,
        on_law=len(ratios) - off,
        notes=notes,
    )


def _rank(curve: SizeCurve) -> tuple[int, ...]:
    """Several sizes, without company, file per process, sequential, writes, by most processes: in that order."""
    of = curve.curve
    return (
        -min(len(curve.points), 2),
        bool(of.beside),
        of.sharing != "file per process",
        of.access != "sequential",
        of.direction != "write",
        -(of.processes or 0),
        -math.ceil(sum(point.bandwidth.runs for point in curve.points)),
    )
