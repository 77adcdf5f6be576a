"""Bandwidth and latency by transfer size, from whatever was measured, with the size to take on every curve."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from slicewise.analysis.size.points import CompanyEffect, SizeCurve, company_effects, curves
from slicewise.analysis.size.predict import Predictions, predictions
from slicewise.analysis.size.recommend import Advice, Requirements, advise

# Of the size x in-flight law: further off than this is told.
LAW_TOLERANCE = 0.1


@dataclass(frozen=True)
class CurveAdvice:
    """A curve, and the sizes to take on it; None: no size keeps the bounds.

    own: the size that is used now, where the curve has it; None else.
    """

    curve: SizeCurve
    throughput: Advice | None
    latency: Advice | None
    own: int | None


@dataclass(frozen=True)
class SizeResult:
    """points: what was measured (`points.POINTS`). advices: a curve each, the one that is told first in front.

    bounds: what a size must keep to. own: the size that is used now; None: not known. off_law: points whose size x
    calls in flight is further than 10 % from bandwidth x latency; on_law: all others whose calls in flight are known.
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
        """The curve that is told first."""
        return self.advices[0]


def size_result(
    points: pl.DataFrame, bounds: Requirements, own: int | None = None, notes: Sequence[str] = (), like: object = None
) -> SizeResult:
    """What the points (`points.POINTS`, at least one) say.

    own: the size that is used now. notes: what is to be known of where they are from. like: a `points.Curve` that is
    told first where it is among them, whatever its number of processes.
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
        advices=sorted(advices, key=lambda advice: _rank(advice.curve, like)),
        bounds=bounds,
        own=own,
        effects=company_effects(found),
        predictions=predictions(points),
        off_law=off,
        on_law=len(ratios) - off,
        notes=notes,
    )


def _rank(curve: SizeCurve, like: object) -> tuple[int, ...]:
    """What is told first: what is asked for, curves with several sizes, without company, of files per process, written
    in sequence, by most processes.
    """
    of = curve.curve
    asked = [getattr(like, name, None) != getattr(of, name) for name in ("mount", "direction", "access", "sharing")]
    return (
        sum(asked) if like is not None else 0,
        -min(len(curve.points), 2),
        bool(of.beside),
        of.sharing != "file per process",
        of.access != "sequential",
        of.direction != "write",
        -(of.processes or 0),
        -math.ceil(sum(point.bandwidth.runs for point in curve.points)),
    )
