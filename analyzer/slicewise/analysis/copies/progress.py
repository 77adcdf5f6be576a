"""How fast copies of a job get on in their I/O, while several are at it and others are there, too.

Pure arithmetic. The storage shares itself out as in predictions (`predict.side_by_side`); here copies are in one kind
of call or another by chance. The formulas are in docs/models.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from slicewise.analysis.predict.side_by_side import Segment, shares

Numbers = npt.NDArray[np.float64]
ROUNDS = 12
SETTLED = 1e-6


def progress(
    active: int, job: Sequence[Segment], weight: float, others: Sequence[tuple[Segment, float]], exponent: float
) -> list[float]:
    """How fast one of so many copies gets on in its I/O, and each of the others: 1 is as fast as alone.

    job: what a copy does alone, one kind of call after the other, or a single segment. others: segment and weight of
    each. Copies are in each segment by chance, as often as that takes its time: the more, the slower it is.
    """
    if active + len(others) <= 1:
        return [1.0 if active else 0.0, *(1.0 for _ in others)]
    counts = _compositions(active, len(job))
    speeds = np.array([_speeds(row, job, weight, others, exponent) for row in counts.tolist()])
    of_kinds, of_others = speeds[:, : len(job)], speeds[:, len(job) :].T
    if not active:
        return [0.0, *of_others[:, 0].tolist()]
    own = np.array([segment.seconds for segment in job])
    chance = own / own.sum()
    slow = np.ones_like(own)
    for _ in range(ROUNDS):
        for kind in range(len(job)):
            rest = counts.copy()
            rest[:, kind] -= 1
            slow[kind] = float((_multinomial(rest, chance) / of_kinds[:, kind]).sum())
        new = own * slow / (own * slow).sum()
        if np.abs(new - chance).max() < SETTLED:
            break
        chance = new
    among = _multinomial(counts, chance)
    return [float(own.sum() / (own * slow).sum()), *(float(1 / (among / speed).sum()) for speed in of_others)]


def _speeds(
    counts: Sequence[float],
    job: Sequence[Segment],
    weight: float,
    others: Sequence[tuple[Segment, float]],
    exponent: float,
) -> list[float]:
    """How fast a copy gets on in each segment where so many are in each, and each of the others."""
    copies = [(segment, weight, count) for segment, count in zip(job, counts, strict=True)]
    there = (*(one for one in copies if one[2]), *((segment, its, 1.0) for segment, its in others))
    free = shares(there, exponent)
    return [_speed(segment, its, free) for segment, its, _ in (*copies, *there[len(there) - len(others) :])]


def _speed(segment: Segment, weight: float, free: Sequence[float]) -> float:
    took = 0.0
    for part, use, share in zip(segment.calls, segment.use, free, strict=True):
        took += max(part, use / (weight * share))
    return sum(segment.calls) / took


@cache
def _compositions(count: int, kinds: int) -> Numbers:
    """All ways to part so many copies among kinds of call, a row each."""
    if kinds == 1:
        return np.array([[float(count)]])
    parts = [
        np.column_stack([np.full(len(rest), float(first)), rest])
        for first in range(count + 1)
        for rest in (_compositions(count - first, kinds - 1),)
    ]
    return np.concatenate(parts)


def _multinomial(counts: Numbers, chance: Numbers) -> Numbers:
    """The probability of each row of counts; 0 of rows with a negative count."""
    possible = np.asarray((counts >= 0).all(1) & ((chance > 0) | (counts <= 0)).all(1))
    sure = np.where(possible[:, None], counts, 0).astype(int)
    log_factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, sure.sum(1).max(initial=0) + 2)))])
    logs = log_factorials[sure.sum(1)] - log_factorials[sure].sum(1)
    logs += (sure * np.log(np.where(chance > 0, chance, 1.0))).sum(1)
    return np.where(possible, np.exp(logs), 0.0)
