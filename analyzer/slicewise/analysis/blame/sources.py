"""Which of the ways to know a job's I/O time alone counts, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from slicewise.analysis.blame import uncontended
from slicewise.analysis.blame.result import SOURCES, Baseline, Source
from slicewise.analysis.blame.uncontended import Prices, Scene, StandaloneRows
from slicewise.kinds import LESS_SURE, SURE, Confidence

# Sources that lie further apart than this, and than their intervals, contradict each other.
CONTRADICTION = 0.10
# What a source's interval may leave out: of recorded jobs beside others, 95 % of the errors of the time alone were
# below this, for one that is surest, and for one that is not. The intervals of the rest hold by themselves.
TESTED: dict[Source, tuple[float, float]] = {
    "other sizes": (0.05, 0.05),
    "quiet slices": (0.03, 0.16),
    "line": (0.11, 0.11),
}
# They assume what a source before them shows: they do not count before it. Of recorded jobs with
# standalone runs that differ by more than 70 %, the runs' middle was off by 1 to 8 % of the loss, and shared slices by
# 11 to 40 %.
LAST_RESORTS: tuple[Source, ...] = ("shared slices", "envelope")
# A source counts before one that is usually better if it is known within this part of what that one is: the middle of
# runs that differ by half is still nearer than quiet slices known within a quarter.
CLEARLY = 1 / 3


@dataclass(frozen=True)
class Answered:
    """What all sources say, in the order in which they count. chosen, base: the one that counts; None: none does.
    contradiction: which other source disagrees with it.
    """

    baselines: list[Baseline]
    chosen: Prices | None
    base: Baseline | None
    contradiction: str

    @property
    def confidence(self) -> Confidence:
        """How sure the I/O time alone is."""
        known: Confidence = self.base.confidence if self.base else "unknown"
        return LESS_SURE[known] if self.contradiction else known


def ask(scene: Scene, standalone: Sequence[StandaloneRows], processes: int, why_not: str = "") -> Answered:
    """Ask every source. why_not: why none can tell anything of this job."""
    tried = [Prices(source, refused=why_not) for source in SOURCES] if why_not else _tried(scene, standalone, processes)
    baselines = [uncontended.as_baseline(prices, scene) for prices in tried]
    given = [(prices, base) for prices, base in zip(tried, baselines, strict=True) if not prices.refused]
    sure = [one for one in given if one[0].confidence in SURE]
    chosen, base = _narrowest(sure or given)
    return Answered(baselines, chosen, base, _contradiction(base, baselines))


def _narrowest(given: Sequence[tuple[Prices, Baseline]]) -> tuple[Prices | None, Baseline | None]:
    """The first one, unless a later one is known clearly better."""
    if not given:
        return None, None
    best = given[0]
    for one in given[1:]:
        if one[0].source not in LAST_RESORTS and _error(one[1]) < CLEARLY * _error(best[1]):
            best = one
    return best


def _error(base: Baseline) -> float:
    """How far off the time alone may be, relative: by its interval, and by how the source did on recorded jobs."""
    if base.seconds is None or base.seconds.value <= 0:
        return math.inf
    surest, less = TESTED.get(base.source, (0.0, 0.0))
    tested = surest if base.confidence == "high" else less
    return max((base.seconds.high - base.seconds.low) / 2 / base.seconds.value, tested)


def _tried(scene: Scene, standalone: Sequence[StandaloneRows], processes: int) -> list[Prices]:
    """Every source, in the order in which they count."""
    if not scene.places:
        return [Prices(source, refused="it made no calls on files that took any time") for source in SOURCES]
    return [
        uncontended.from_standalone(scene, standalone, processes),
        uncontended.from_other_sizes(scene, standalone, processes),
        uncontended.from_quiet_slices(scene),
        uncontended.from_line(scene),
        uncontended.from_shared_slices(scene),
        uncontended.from_envelope(scene),
    ]


def _contradiction(base: Baseline | None, sources: Sequence[Baseline]) -> str:
    """Says which source disagrees with the one that counts."""
    if base is None or base.seconds is None:
        return ""
    best = base.seconds
    for other in sources:
        seconds = other.seconds
        if seconds is None or other is base:
            continue
        apart = max(best.low - seconds.high, seconds.low - best.high)
        if other.source == "shared slices" and base.source != "envelope":
            continue
        if other.confidence in SURE and apart > CONTRADICTION * best.value:
            return (
                f"two estimates of its I/O time alone disagree: {best.value:.3g} s {best.how}, "
                f"{seconds.value:.3g} s {seconds.how}"
            )
    return ""
