"""What storages can do at most, and how much of their time each job took.

Frames in, dataclasses and frames out; the definitions are in docs/models.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from slicewise.analysis.blame.numbers import HALVINGS
from slicewise.analysis.blame.timeline import AMOUNTS, KINDS, SECONDS, Kind

# The highest rates of few slices are luck: so many percent of the slices lie below what counts as the most.
PERCENTILE = 95
# A direction that is hardly used says nothing about what the storage can do: it is taken to be no slower than the
# other one by more than this factor.
SLOWER_DIRECTION = 4.0
# A slice is of one kind alone if all others together take less than this share of what they take at most.
ONE_KIND = 0.05
# From this share of what it does at most a kind of call is much; and it is as fast as before from this share of that.
MUCH = 0.5
AS_FAST = 0.95
# Below this share of a storage's time somebody is not active there.
ACTIVE = 0.005
# Exponents that are told apart: 1 is one device that takes turns, and from the last on directions do not meet at all.
EXPONENTS = (1.0, 32.0)
FEWEST_MIXED = 4


@dataclass(frozen=True)
class Capacities:
    """What a storage does at most, by kind: bytes/s or metadata operations/s; a kind that nobody used is missing.

    exponent: of its capacity region (r/C_r)^p + (w/C_w)^p + (m/M)^p = 1; None where no slices tell, and then it is
    taken to be 1. mixed: how many slices told.
    """

    most: dict[Kind, float]
    exponent: float | None = None
    mixed: int = 0

    def across(self) -> float:
        """How much of another kind's storage time counts against a call: 1 where the device takes turns, 0 where
        kinds do not meet."""
        p = self.exponent or EXPONENTS[0]
        return 0.0 if p >= EXPONENTS[1] else 1.0 / p


def capacities(rows: pl.DataFrame, grid_ns: int) -> dict[int, Capacities]:
    """The capacities of each storage from what all jobs did there (`timeline.job_rows`), standalone runs included."""
    seconds = grid_ns / 1e9
    together = rows.group_by("storage", "slice", maintain_order=True).agg(
        pl.col(AMOUNTS.values()).sum(), pl.col(SECONDS.values()).sum()
    )
    found = {}
    for (storage,), slices in together.group_by("storage", maintain_order=True):
        most: dict[Kind, float] = {}
        for kind, amount in AMOUNTS.items():
            rates = slices.filter(pl.col(amount) > 0)[amount].to_numpy() / seconds
            if len(rates):
                most[kind] = float(np.percentile(rates, PERCENTILE))
        if "read" in most and "write" in most:
            most |= _directions(slices, most, seconds)
        exponent, mixed = _exponent(slices, most, seconds)
        found[int(str(storage))] = Capacities(most, exponent, mixed)
    return found


def _directions(slices: pl.DataFrame, most: Mapping[Kind, float], seconds: float) -> dict[Kind, float]:
    """What the storage reads and writes at most, where slices of one direction alone may be missing.

    A direction that was never alone was slowed by the other one. Beside a direction of known speed it had, if they
    take turns, what that one left over. Where neither is known, a byte is taken to cost as much either way.
    """
    ways: tuple[tuple[Kind, Kind], ...] = (("read", "write"), ("write", "read"))
    rates = {kind: slices[AMOUNTS[kind]].to_numpy() / seconds for kind, _ in ways}
    alone = {
        kind: bool(((rates[kind] >= 0.5 * most[kind]) & (rates[other] < ONE_KIND * most[other])).any())
        for kind, other in ways
    }
    found = {kind: most[kind] for kind, _ in ways}
    if not any(alone.values()):
        both = float(np.percentile(rates["read"] + rates["write"], PERCENTILE))
        return {kind: max(rate, both) for kind, rate in found.items()}
    fastest = max(found.values())
    is_busy = np.logical_and(*(slices[SECONDS[kind]].to_numpy() >= 0.9 * seconds for kind in rates))
    for kind, other in ways:
        left = 1 - rates[other] / most[other]
        is_told = is_busy & (left > 0.1) & (rates[kind] > 0)
        if not alone[kind] and is_told.sum() >= FEWEST_MIXED:
            told = float(np.median(rates[kind][is_told] / left[is_told]))
            found[kind] = min(max(found[kind], told), SLOWER_DIRECTION * fastest)
    fastest = max(found.values())
    return {kind: max(rate, fastest / SLOWER_DIRECTION) for kind, rate in found.items()}


def _exponent(slices: pl.DataFrame, most: Mapping[Kind, float], seconds: float) -> tuple[float | None, int]:
    """The exponent that slices of several kinds show, and how many they are.

    What the storage does at most of each kind must be known from slices of that kind alone; and the mixed slices must
    have been saturated: calls were under way throughout, of each kind.
    """
    parts = {kind: slices[AMOUNTS[kind]].to_numpy() / seconds / rate for kind, rate in most.items()}
    if len(parts) < 2:
        return None, 0
    shares = np.array(list(parts.values()))
    busy = np.array([slices[SECONDS[kind]].to_numpy() >= 0.9 * seconds for kind in parts])
    alone = [bool(((share >= 0.5) & (shares.sum(0) - share < ONE_KIND)).any()) for share in shares]
    is_mixed = ((shares > ONE_KIND) & busy).sum(0) >= 2
    is_known = ~((shares > ONE_KIND) & ~np.array(alone)[:, None]).any(0)
    chosen = shares[:, is_mixed & is_known]
    beside = [_beside_another(shares[k], shares.sum(0) - shares[k], busy[k]) for k in range(len(parts))]
    if chosen.shape[1] < FEWEST_MIXED and any(beside):
        return EXPONENTS[1], max(beside)
    if chosen.shape[1] < FEWEST_MIXED:
        return None, int(chosen.shape[1])
    exponents = _exponents_of(np.where(chosen > ONE_KIND, chosen, 0.0))
    return float(np.median(exponents)), len(exponents)


def _beside_another(share: np.ndarray, others: np.ndarray, is_busy: np.ndarray) -> int:
    """In how many slices a kind of call, under way throughout, was as fast beside much of the others as by itself.

    0 if it was slower. Where it was not, they do not meet, however fast the others could be.
    """
    alone, beside = share[is_busy & (others < ONE_KIND)], share[is_busy & (others > MUCH)]
    if min(len(alone), len(beside)) < FEWEST_MIXED or np.median(alone) < MUCH:
        return 0
    return len(beside) if np.median(beside) >= AS_FAST * np.median(alone) else 0


def _exponents_of(shares: np.ndarray) -> np.ndarray:
    """p with sum of shares^p = 1, within EXPONENTS, for each column of shares; all at once, by halving."""
    bounded = np.minimum(shares, 1.0)
    low, high = (np.full(shares.shape[1], bound) for bound in EXPONENTS)

    def above(p: np.ndarray) -> np.ndarray:
        return np.asarray((bounded**p).sum(0) > 1.0)

    is_least, is_most = ~above(low), above(high) | ((bounded**high).sum(0) == 1.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_above = above(middle)
        low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
    return np.select([is_least, is_most], [EXPONENTS[0], EXPONENTS[1]], (low + high) / 2)


def storage_seconds(rows: pl.DataFrame, found: Mapping[int, Capacities], grid_ns: int) -> pl.DataFrame:
    """Rows of `timeline.job_rows` with the storage's time that each took, in s: of each kind as {kind}_taken.

    Reads and metadata operations took at most as long as the job was in such calls. What took next to nothing is 0.
    """
    if rows.is_empty():
        return rows.with_columns(pl.lit(0.0).alias(f"{kind}_taken") for kind in KINDS)
    most = pl.DataFrame(
        [
            {"storage": storage} | {f"{kind}_most": known.most.get(kind) for kind in KINDS}
            for storage, known in found.items()
        ],
        schema={"storage": pl.UInt64} | {f"{kind}_most": pl.Float64 for kind in KINDS},
    )
    taken = {kind: (pl.col(AMOUNTS[kind]) / pl.col(f"{kind}_most")).fill_null(0.0) for kind in KINDS}
    bounded = {
        kind: took if kind == "write" else pl.min_horizontal(took, pl.col(SECONDS[kind]))
        for kind, took in taken.items()
    }
    is_active = pl.sum_horizontal(f"{kind}_taken" for kind in KINDS) >= ACTIVE * grid_ns / 1e9
    return (
        rows.join(most, on="storage", how="left", maintain_order="left")
        .with_columns(took.alias(f"{kind}_taken") for kind, took in bounded.items())
        .with_columns(pl.when(is_active).then(f"{kind}_taken").otherwise(0.0).alias(f"{kind}_taken") for kind in KINDS)
        .drop(f"{kind}_most" for kind in KINDS)
    )


def against(kind: Kind, known: Capacities) -> pl.Expr:
    """How much of the storage's time a row's work counts against calls of a kind, in s."""
    across = known.across()
    return pl.sum_horizontal(pl.col(f"{other}_taken") * (1.0 if other == kind else across) for other in KINDS)
