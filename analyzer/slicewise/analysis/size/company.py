"""What a second job does to bandwidth and latency: the same sizes with and without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from slicewise.analysis.size.points import Curve, Mean, SizeCurve


@dataclass(frozen=True)
class CompanyEffect:
    """One size of a curve with a second job beside it, against the same without: bandwidth and latency as ratios."""

    curve: Curve
    size: int
    bandwidth: Mean
    latency: Mean


def company_effects(curves: Sequence[SizeCurve]) -> list[CompanyEffect]:
    """The effect at every size that was measured both ways."""
    alone = {each.curve: each for each in curves if not each.curve.beside}
    effects = []
    for beside in curves:
        quiet = alone.get(replace(beside.curve, beside=""))
        if quiet is None or not beside.curve.beside:
            continue
        for point in beside.points:
            before = quiet.at(point.size)
            if before is not None:
                ratios = point.bandwidth.over(before.bandwidth), point.latency.over(before.latency)
                effects.append(CompanyEffect(beside.curve, point.size, *ratios))
    return effects
