"""Whether an answer of blame contradicts itself: its intervals, its parts, its confidence and its words."""

import re
from collections.abc import Iterator

from slicewise.analysis.blame.result import Blame
from slicewise.constants import LITTLE_OF_RUNTIME
from slicewise.estimate import Estimate
from slicewise.report.blame import blame_words

# Where confidence is high, an interval is narrower than this share of its value.
NARROW = 0.5
NOTHING = 1e-6


def contradictions(told: Blame) -> Iterator[str]:
    """What an answer says against itself, a line each."""
    said = [blame_words.headline_with_confidence(told), *blame_words.opening(told), *blame_words.further_lines(told)]
    for line in said:
        if re.search(r"\d--|\bnan\b|\binf\b|\bNone\b", line):
            yield f"no words: {line}"
    for name, one in _estimates(told):
        if not one.low - NOTHING <= one.value <= one.high + NOTHING:
            yield f"{name} {one.value:.3g} is not within [{one.low:.3g}, {one.high:.3g}]"
    if told.lost is None or told.alone is None:
        if told.confidence != "unknown" or told.is_claimed or told.slowdown is not None:
            yield f"nothing is known, with confidence {told.confidence}"
        return
    parts = sum(one.lost.value for one in told.neighbours) + told.unexplained_seconds + told.turn_seconds
    if abs(parts - told.lost.value) > NOTHING * max(1.0, told.lost.value):
        yield f"its parts add up to {parts:.4g}, not {told.lost.value:.4g}"
    if told.outside is None and told.time_limited is None:
        left = max(0.0, told.runtime_seconds - told.lost.value)
        # By runs alone, less than that part of the runtime is not told to be lost outside of calls.
        if abs(left - told.alone.value) > LITTLE_OF_RUNTIME * told.runtime_seconds:
            yield f"{told.runtime_seconds:.4g} s less {told.lost.value:.4g} s is not {told.alone.value:.4g} s"
    if told.is_claimed and told.lost.low <= 0:
        yield "a loss is claimed that may be none"
    if told.confidence == "high":
        yield from _unsure(told, told.lost, told.alone)


def _unsure(told: Blame, lost: Estimate, alone: Estimate) -> Iterator[str]:
    """Why high confidence is too much."""
    if told.contradiction:
        yield f"high, and {told.contradiction}"
    if _width(alone) >= NARROW * alone.value and _width(alone) >= NARROW * lost.value:
        yield f"high, with a time alone of {blame_words.estimate(alone)}"
    if told.is_claimed and _width(lost) >= NARROW * lost.value:
        yield f"high, with a loss of {blame_words.estimate(lost)}"
    for cause in blame_words.blamed(told)[:1] if told.is_claimed else []:
        if _width(cause.lost) >= NARROW * cause.lost.value:
            yield f"high, because of {blame_words.name_of(cause)} with {blame_words.estimate(cause.lost)}"


def _width(one: Estimate) -> float:
    return one.high - one.low


def _estimates(told: Blame) -> Iterator[tuple[str, Estimate]]:
    for name, one in (("alone", told.alone), ("lost", told.lost), ("lost in I/O", told.io_lost)):
        if one is not None:
            yield name, one
    for neighbour in told.neighbours:
        yield f"lost to {neighbour.job}", neighbour.lost
        if neighbour.without_it_end is not None:
            yield f"end without {neighbour.job}", neighbour.without_it_end
