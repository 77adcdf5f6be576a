"""Which of the ways to know a job's I/O time alone counts, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slicewise.analysis.blame import uncontended
from slicewise.analysis.blame.result import SOURCES, Baseline, Confidence
from slicewise.analysis.blame.uncontended import Prices, Scene, StandaloneRows

# Sources that lie further apart than this, and than their intervals, contradict each other.
CONTRADICTION = 0.10
SURE: tuple[Confidence, ...] = ("high", "medium")
LESS_SURE: dict[Confidence, Confidence] = {"high": "medium", "medium": "low", "low": "low", "unknown": "unknown"}


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


def ask(scene: Scene, standalone: Sequence[StandaloneRows], processes: int) -> Answered:
    """Ask every source."""
    tried = _tried(scene, standalone, processes)
    baselines = [uncontended.as_baseline(prices, scene) for prices in tried]
    given = [(prices, base) for prices, base in zip(tried, baselines, strict=True) if not prices.refused]
    # The first one that is sure enough, or else the first of all.
    chosen, base = next((one for one in given if one[0].confidence in SURE), given[0] if given else (None, None))
    return Answered(baselines, chosen, base, _contradiction(base, baselines))


def _tried(scene: Scene, standalone: Sequence[StandaloneRows], processes: int) -> list[Prices]:
    """Every source, in the order in which they count."""
    if not scene.places:
        return [Prices(source, refused="it made no calls on files that took any time") for source in SOURCES]
    return [
        uncontended.from_standalone(scene, standalone, processes),
        uncontended.from_other_sizes(scene, standalone, processes),
        uncontended.from_quiet_slices(scene),
        uncontended.from_line(scene),
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
        if other.confidence in SURE and apart > CONTRADICTION * best.value:
            return (
                f"two estimates of its I/O time alone disagree: {best.value:.3g} s {best.how}, "
                f"{seconds.value:.3g} s {seconds.how}"
            )
    return ""
