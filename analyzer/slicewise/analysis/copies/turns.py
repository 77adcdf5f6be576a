"""How fast jobs get on that read, write and make metadata calls on one storage, while several of them do.

Pure arithmetic on plain numbers. A full storage serves kinds of call by its capacity region (blame/storage_time.py):
the shares of its time that the kinds take, each to the power p, add up to level^p. Jobs at it have equal shares of its
time, by weight, or what they ask for where that is less. The formulas are in docs/models.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from slicewise.analysis.blame.storage_time import EXPONENTS

Numbers = npt.NDArray[np.float64]
HALVINGS = 45
ROUNDS = 12
SMALLEST = 1e-12


@dataclass(frozen=True)
class Mixed:
    """A job by kinds of call, in one order. taken: seconds of the storage's time; seconds: those of its own calls,
    alone; io_seconds: as long as it is in any. is_at_once: its processes do different kinds at the same time, else it
    does one kind after the other. weight: of its share.
    """

    taken: tuple[float, ...]
    seconds: tuple[float, ...]
    io_seconds: float
    is_at_once: bool = False
    weight: float = 1.0

    def fastest(self) -> Numbers:
        """The share of the storage's time that it takes alone: while in each kind of call, or, if at once, in all."""
        taken, seconds = np.array(self.taken, float), np.array(self.seconds, float)
        if self.is_at_once:
            return taken / max(self.io_seconds, SMALLEST)
        return np.asarray(np.divide(taken, seconds, out=np.zeros_like(taken), where=seconds > 0))


def full_rate(parts: Sequence[float], exponent: float) -> float:
    """How much of its time a full storage spends a second, where kinds take these parts of it: 1 if it takes turns."""
    most, whole = max(parts), sum(parts)
    if exponent >= EXPONENTS[1]:
        return whole / most
    return float(whole / most / sum((part / most) ** exponent for part in parts) ** (1 / exponent))


def progress(active: int, job: Mixed, others: Sequence[Mixed], exponent: float, level: float = 1.0) -> list[float]:
    """How fast one of so many copies gets on in its I/O, and each of the others: 1 is as fast as alone.

    Copies that do one kind of call after the other are in each by chance, as often as that kind takes its time: the
    more, the slower it is.
    """
    if active + len(others) <= 1:
        return [1.0 if active else 0.0, *(1.0 for _ in others)]
    if not active or job.is_at_once:
        everybody = [*([job] * active), *others]
        speeds = _speeds(np.zeros((1, len(job.taken))), job, everybody, exponent, level)[1][:, 0].tolist()
        return [speeds[0] if active else 0.0, *speeds[active:]]
    counts = _compositions(active, len(job.taken))
    of_kinds, of_others = _speeds(counts, job, others, exponent, level)
    own = np.array(job.seconds, float)
    chance = own / own.sum()
    slow = np.ones_like(own)
    for _ in range(ROUNDS):
        for kind in np.flatnonzero(own > 0):
            rest = counts.copy()
            rest[:, kind] -= 1
            slow[kind] = float((_multinomial(rest, chance) / of_kinds[:, kind]).sum())
        new = own * slow / (own * slow).sum()
        if np.abs(new - chance).max() < 1e-6:
            break
        chance = new
    among = _multinomial(counts, chance)
    return [float(own.sum() / (own * slow).sum()), *(float(1 / (among / speed).sum()) for speed in of_others)]


def _speeds(
    counts: Numbers, job: Mixed, others: Sequence[Mixed], exponent: float, level: float
) -> tuple[Numbers, Numbers]:
    """How fast copies get on in each kind of call, for each row of counts (copies in each kind).

    The second result says how fast each of the others gets on, who do all of their kinds at once in their own
    proportions.
    """
    fastest = job.fastest() if not job.is_at_once else np.zeros(len(job.taken))
    whole = np.array([sum(other.taken) / max(other.io_seconds, SMALLEST) for other in others])
    parts = np.array([np.array(other.taken) / max(sum(other.taken), SMALLEST) for other in others]).reshape(
        len(others), len(job.taken)
    )
    weights = np.array([other.weight for other in others])
    if exponent >= EXPONENTS[1]:
        wanted = parts * whole[:, None]
        share = np.stack(
            [
                _share(
                    lambda at, kind=kind: (
                        counts[:, kind] * np.minimum(at * job.weight, fastest[kind])
                        + np.minimum(at[:, None] * weights, wanted[:, kind]).sum(1)
                    ),
                    len(counts), level, _most(job, fastest, weights, wanted),
                )
                for kind in range(len(job.taken))
            ],
            axis=1,
        )  # fmt: skip
        of_others = [
            np.min(_relative(share[:, row > 0] * weight, row[row > 0]), axis=1, initial=1.0)
            for row, weight in zip(wanted, weights, strict=True)
        ]
    else:

        def used(at: Numbers) -> Numbers:
            theirs = np.minimum(at[:, None] * weights, whole) @ parts
            return np.asarray(
                ((counts * np.minimum(at[:, None] * job.weight, fastest) + theirs) ** exponent).sum(1) ** (1 / exponent)
            )

        one = _share(used, len(counts), level, _most(job, fastest, weights, whole))
        share = np.repeat(one[:, None], len(job.taken), axis=1)
        of_others = [_relative(one * weight, rate) for rate, weight in zip(whole, weights, strict=True)]
    return _relative(share * job.weight, fastest), np.array(of_others).reshape(len(others), len(counts))


def _relative(share: Numbers, wanted: Numbers | float) -> Numbers:
    """What is got of what is wanted."""
    return np.asarray(np.minimum(share / np.maximum(wanted, SMALLEST), 1.0))


def _most(job: Mixed, fastest: Numbers, weights: Numbers, wanted: Numbers) -> float:
    """A share from which on everybody has what it asks for."""
    needed = [float(fastest.max(initial=0.0)) / job.weight]
    needed += [float(np.max(row, initial=0.0)) / weight for row, weight in zip(wanted, weights, strict=True)]
    return max(*needed, SMALLEST)


def _share(used, rows: int, level: float, most: float) -> Numbers:  # type: ignore[no-untyped-def]
    """The largest share (by weight 1) of each row with which no more is used than there is."""
    low, high = np.zeros(rows), np.full(rows, most)
    low = np.where(used(high) <= level, high, low)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        fits = used(middle) <= level
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return np.maximum(low, SMALLEST)


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
