"""The jobs for which every source of a price refuses for want of slices: the slices of all jobs are counted together.

Most jobs of a day are such. To ask the sources of each takes most of the time that blame of a day takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from slicewise.analysis.blame.on_storage import LEAST_AT_WORK, Floats, Mask
from slicewise.analysis.blame.timeline import KINDS, SECONDS, Kind
from slicewise.analysis.blame.uncontended import (
    FEWEST_IN_A_SET,
    FEWEST_QUIET,
    FILLS_STORAGE,
    LEAST_RATIO_OF_RATES,
    MOSTLY_FULL,
    NEAR_REST,
    TRIVIAL,
)
from slicewise.analysis.site.everyone import Everyone, Integers

# Sums this near to a bound may be on its other side if they are added up in another order: then the sources decide.
ROUNDED = 1e-9


def unpriced(every: Everyone) -> Mask:
    """Whether quiet slices, line and envelope all refuse, by the job's place. False where these sums do not show it."""
    if not every.rows.height:
        return np.ones(every.jobs.height, bool)
    pieces = _Pieces(every)
    took = {kind: pieces.sums(every.columns[SECONDS[kind]]) for kind in KINDS}
    of_job = np.bincount(pieces.job, np.asarray(sum(took.values())), every.jobs.height)[pieces.job]
    has_company = pieces.counts(every.has_company) > 0
    has_no_line = _no_line(every, pieces, took)
    # A source refuses a job where it refuses one of its prices.
    refused = {source: np.zeros(every.jobs.height, bool) for source in ("quiet slices", "line", "envelope")}
    has_prices, is_unsure = (np.zeros(every.jobs.height, bool) for _ in range(2))
    for kind in KINDS:
        least = TRIVIAL * of_job
        its = has_company & (took[kind] > 0) & (took[kind] >= least)
        in_calls = every.columns[SECONDS[kind]]
        has_prices |= pieces.any_of_job(its)
        is_unsure |= pieces.any_of_job(np.abs(took[kind] - least) <= ROUNDED * least)
        few = pieces.counts(pieces.is_quiet & (in_calls > 0)) < FEWEST_QUIET
        refused["quiet slices"] |= pieces.any_of_job(its & few)
        refused["line"] |= pieces.any_of_job(its & has_no_line)
        is_shared = pieces.is_inner & every.has_company
        is_full = is_shared & (in_calls >= FILLS_STORAGE * every.grid_ns / 1e9)
        full, shared = (pieces.sums(np.where(chosen, in_calls, 0.0)) for chosen in (is_full, is_shared))
        seldom_full = (pieces.counts(is_full) < FEWEST_QUIET) | (full < MOSTLY_FULL * shared * (1 - ROUNDED))
        refused["envelope"] |= pieces.any_of_job(its & (seldom_full | (kind == "meta")))
    return (refused["quiet slices"] & refused["line"] & refused["envelope"] | ~has_prices) & ~is_unsure


class _Pieces:
    """Each job's rows on each of its storages. job: the place of the piece's job; is_inner, is_quiet: of each row, as
    `OnStorage.inner` and `uncontended.from_quiet_slices` have it.
    """

    def __init__(self, every: Everyone) -> None:
        self._every = every
        self.job, self._starts, ends = every.pieces
        at_work = every.columns["at_work"]
        is_at_work = at_work >= LEAST_AT_WORK * np.maximum.reduceat(at_work, self._starts)[every.piece]
        slices = every.slices
        self.is_inner = (
            is_at_work & (slices > slices[self._starts][every.piece]) & (slices < slices[ends - 1][every.piece])
        )
        taken = every.has_company
        is_next = (np.diff(slices) == 1) & (np.diff(every.piece) == 0)
        is_near = taken.copy()
        is_near[1:] |= is_next & taken[:-1]
        is_near[:-1] |= is_next & taken[1:]
        self.is_quiet = self.is_inner & ~is_near

    def each(self, what: np.ufunc, values: Floats) -> Floats:
        """What becomes of the values of each piece's rows, taken together."""
        return np.asarray(what.reduceat(values, self._starts), np.float64)

    def sums(self, values: Floats) -> Floats:
        """The sum of the values of each piece's rows."""
        return self.each(np.add, values)

    def counts(self, chosen: Mask) -> Integers:
        """How many rows of each piece are chosen."""
        return np.bincount(self._every.piece[chosen], minlength=len(self._starts))

    def any_of_job(self, chosen: Mask) -> Mask:
        """Whether any of a job's pieces is chosen, by the job's place."""
        return np.bincount(self.job[chosen], minlength=self._every.jobs.height) > 0


# As many that numbers of different sets seldom are one.
BUCKETS_OF_A_ROW = 2
# Odd: different pieces' numbers differ.
SPREADING = np.uint64(0x9E3779B97F4A7C15)


def _may_be_often(rows: pl.DataFrame) -> Mask:
    """False for rows of sets that surely have too few slices for a line: most sets, and faster found than counted.

    Rows of one set are in one of many buckets.
    """
    buckets = np.uint64(max(1, BUCKETS_OF_A_ROW * rows.height))
    pieces = rows["piece"].to_numpy().astype(np.uint64) * SPREADING
    bucket = ((rows["company"].to_numpy() + pieces) % buckets).astype(np.int64)
    return np.asarray(np.bincount(bucket)[bucket] >= FEWEST_IN_A_SET)


def _is_near_rest(low: Any, high: Any) -> Any:
    """Whether a line through the lowest and the highest rate of others may be followed to where they rest."""
    return low <= NEAR_REST * (high - low) * (1 + ROUNDED) + ROUNDED * high


def _no_line(every: Everyone, pieces: _Pieces, took: Mapping[Kind, Floats]) -> Mask:
    """Whether the sets of neighbours beside a piece are too few, or their rates too much alike or too high, for
    `uncontended.speed_line`. False where it is unsure which kind of calls the sets go by.
    """
    most = np.sort(np.column_stack(list(took.values())), axis=1)
    is_unsure = most[:, -2] >= (1 - ROUNDED) * most[:, -1]
    # Two sets have so many slices.
    is_long = pieces.counts(pieces.is_inner) >= 2 * FEWEST_IN_A_SET
    main = np.argmax(np.column_stack([took[kind] for kind in KINDS]), axis=1)
    parts = []
    for number, kind in enumerate(KINDS):
        # No set has a lower or a higher rate than the slices in it.
        others = every.others[kind]
        lowest = pieces.each(np.minimum, np.where(pieces.is_inner, others, np.inf))
        highest = pieces.each(np.maximum, np.where(pieces.is_inner, others, 0.0))
        may = is_long & (main == number) & _is_near_rest(lowest, highest)
        its = np.flatnonzero(pieces.is_inner & may[every.piece])
        columns = {"piece": every.piece, "company": every.company[kind], "others": others}
        parts.append(pl.DataFrame({name: values[its] for name, values in columns.items()}))
    rows = pl.concat(parts)
    rows = rows.filter(_may_be_often(rows))
    sets = rows.group_by("piece", "company").agg(pl.len(), rate=pl.col("others").mean() / (every.grid_ns / 1e9))
    low, high = pl.col("rate").min(), pl.col("rate").max()
    is_drawn = (pl.len() >= 2) & (high >= LEAST_RATIO_OF_RATES * low * (1 - ROUNDED)) & _is_near_rest(low, high)
    drawn = sets.filter(pl.col("len") >= FEWEST_IN_A_SET).group_by("piece").agg(is_drawn=is_drawn).filter("is_drawn")
    found = ~is_unsure
    found[drawn["piece"].to_numpy()] = False
    return found
