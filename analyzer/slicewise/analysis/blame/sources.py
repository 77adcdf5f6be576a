"""Which of the ways to know a job's I/O time alone counts, and how sure that is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from slicewise.analysis.blame import uncontended
from slicewise.analysis.blame.result import SOURCES, Baseline, Source
from slicewise.analysis.blame.standalone import (
    LEAST_SLOWER,
    StandaloneRows,
    from_other_sizes,
    from_standalone,
    longest_alone,
)
from slicewise.analysis.blame.uncontended import Prices, Scene
from slicewise.constants import EQUAL_VOLUMES, LEAST_ERROR, TRIVIAL
from slicewise.kinds import LESS_SURE, SURE, Confidence
from slicewise.text import words

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
# Why no source tells anything of a job that nobody could profile, or that did no I/O.
NO_CALLS = "it made no calls on files that took any time"
# They know of such runs themselves, or are of other work.
BY_RUNS: tuple[Source, ...] = ("standalone runs", "other sizes")
# A source counts before one that is usually better if it is known within this part of what that one is: the middle of
# runs that differ by half is still nearer than quiet slices known within a quarter.
CLEARLY = 1 / 3


@dataclass(frozen=True)
class Answered:
    """What all sources say, in the order in which they count. chosen, base: the one that counts; None: none does.
    contradiction: which other source disagrees with it. asked_otherwise: see `Prices`.
    """

    baselines: list[Baseline]
    chosen: Prices | None
    base: Baseline | None
    contradiction: str
    asked_otherwise: frozenset[str]

    @property
    def confidence(self) -> Confidence:
        known: Confidence = self.base.confidence if self.base else "unknown"
        return LESS_SURE[known] if self.contradiction else known


def ask(scene: Scene, standalone: Sequence[StandaloneRows], processes: int, why_not: str = "") -> Answered:
    """Ask every source. why_not: why none can tell anything of this job."""
    tried = [Prices(source, refused=why_not) for source in SOURCES] if why_not else _tried(scene, standalone, processes)
    longest = None if why_not else longest_alone(scene, standalone, processes)
    if longest is not None:
        tried = [_unless_contradicted(prices, scene, longest) for prices in tried]
    baselines = [uncontended.as_baseline(prices, scene) for prices in tried]
    given = [(prices, base) for prices, base in zip(tried, baselines, strict=True) if not prices.refused]
    sure = [one for one in given if one[0].confidence in SURE]
    chosen, base = _narrowest(sure or given)
    asked_otherwise = frozenset(run for prices in tried for run in prices.asked_otherwise)
    return Answered(baselines, chosen, base, _contradiction(base, baselines), asked_otherwise)


def _unless_contradicted(prices: Prices, scene: Scene, longest: StandaloneRows) -> Prices:
    """What a source other than runs alone gives, unless a run of the same work took much longer alone. One that took as
    long beside others makes it less sure: perhaps nobody cost either of them anything.
    """
    if prices.refused or prices.source in BY_RUNS:
        return prices
    seconds = uncontended.as_baseline(prices, scene).seconds
    if seconds is None or (1 + LEAST_SLOWER) * seconds.high >= longest.least_alone:
        in_calls = sum(scene.places.values())
        is_alike = abs(longest.in_calls - in_calls) <= EQUAL_VOLUMES * in_calls
        return replace(prices, confidence="low") if is_alike else prices
    took = words.duration(longest.least_alone)
    return Prices(
        prices.source, refused=f"{longest.name} did the same, and took {took} in I/O at least without anybody"
    )


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
        return [Prices(source, refused=NO_CALLS) for source in SOURCES]
    return [
        from_standalone(scene, standalone, processes),
        from_other_sizes(scene, standalone, processes),
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


@dataclass(frozen=True)
class Claim:
    """A loss of I/O time as one of runtime. less, more: how far below and above its value the I/O time may be. low,
    high: bounds of the runtime that was lost, s. factor: from I/O time of the mean process to runtime.
    """

    less: float
    more: float
    low: float
    high: float
    factor: float
    is_claimed: bool
    confidence: Confidence


def claim(
    known: Answered, io_seconds: float, io_lost: float, to_others: float, value: float, uneven: float
) -> Claim | None:
    """What is told; None where no source gives the job's time alone.

    io_seconds: of its slowest process in calls. io_lost: by the mean process; to_others: the part of that which
    neighbours can have caused. value, uneven: of `to_runtime.lost_runtime`.
    """
    if known.chosen is None or known.base is None or known.base.seconds is None:
        return None
    seconds, least, factor = known.base.seconds, LEAST_ERROR * io_seconds, 1.0
    less, more = (least + seconds.high - seconds.value, least + seconds.value - seconds.low)
    if io_lost > LEAST_ERROR * io_seconds:
        # The slowest process lost more than the mean one in so far as it has more to do. If the job fills the storage
        # alone, all of it waits for the same bytes; and if runs alone say how uneven its processes are then, what
        # company adds to that is its neighbours', too.
        is_known = known.chosen.source == "envelope" or known.chosen.uneven is not None
        factor = min(max(value, 0.0) / io_lost, math.inf if is_known else max(1.0, uneven))
    low, high = min(value, io_lost) - less, max(value, io_lost) + more
    is_claimed = low > 0 and value > TRIVIAL * io_seconds
    confidence = known.confidence
    if is_claimed and to_others < TRIVIAL * io_seconds and confidence in SURE:
        # Nobody did it: this is one more run alone, and how far such runs differ is not known as well as it seemed.
        confidence = "low"
    return Claim(less, more, low, high, factor, is_claimed, confidence)
