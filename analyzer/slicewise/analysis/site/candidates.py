"""Which jobs blame can tell a loss of: the slices of all jobs are counted together, so that it need not be asked of the
rest.

Most jobs of a day have no standalone run, and too few slices by themselves for any other source of a price. To ask the
sources of each takes most of the time that blame of a day takes.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise.alike import begins_of_alike
from slicewise.analysis.blame.on_storage import Floats, Mask
from slicewise.analysis.blame.uncontended import (
    FEWEST_IN_A_SET,
    LEAST_RATIO_OF_RATES,
    MOSTLY_FULL,
    NEAR_REST,
    TRIVIAL,
)
from slicewise.analysis.calls import KINDS, SECONDS, Kind
from slicewise.analysis.capacity.by_kind import Capacities, in_calls, storage_seconds
from slicewise.constants import FEWEST_SLICES, FILLED

Integers = npt.NDArray[np.int64]
# Sums this near to a bound may be on its other side if they are added up in another order: then blame decides.
ROUNDED = 1e-9
# As many buckets that numbers of different sets seldom are in one.
BUCKETS_OF_A_ROW = 2
# Odd: different pieces' numbers differ.
SPREADING = np.uint64(0x9E3779B97F4A7C15)


def may_be_priced(rows: pl.DataFrame, is_ranks: Mask, known: Mapping[int, Capacities], grid_ns: int) -> Mask:
    """Whether quiet slices, a line, shared slices or the envelope may tell what a job's I/O takes alone, by its place.

    rows: place, storage and slice, by which they are sorted, SECONDS, AMOUNTS (of all of its processes) and at_work.
    is_ranks: by the job's place: its processes wait for each other, and each counts by itself. known: what all jobs
    show that storages do. Blame of a job has that of its neighbours alone, so that somebody who took next to none of a
    storage's time may count there and not here.
    """
    if rows.is_empty():
        return np.zeros(len(is_ranks), bool)
    return _Everyone(storage_seconds(rows, known, grid_ns), is_ranks, known, grid_ns).may_be_priced


class _Everyone:
    """What all jobs did, and who else was there. A piece: a job's rows on one of its storages."""

    def __init__(self, rows: pl.DataFrame, is_ranks: Mask, known: Mapping[int, Capacities], grid_ns: int) -> None:
        self.jobs, self._seconds = len(is_ranks), grid_ns / 1e9
        self.place, self.slices = (rows[name].to_numpy().astype(np.int64) for name in ("place", "slice"))
        self.in_calls = {kind: rows[name].to_numpy() for kind, name in SECONDS.items()}
        self._taken = {kind: rows[f"{kind}_taken"].to_numpy() for kind in KINDS}
        self._is_waiting = rows.select(in_calls(grid_ns)).to_series().to_numpy()
        across = {storage: one.across() for storage, one in known.items()}
        self._across = rows["storage"].replace_strict(across, default=1.0, return_dtype=pl.Float64).to_numpy()
        storages = rows["storage"].to_numpy()
        self._starts = begins_of_alike(self.place, storages)
        lengths = np.diff(self._starts, append=len(self.place))
        self.piece = np.repeat(np.arange(len(lengths)), lengths)
        self.job = self.place[self._starts]
        dense = rows["storage"].unique().sort().search_sorted(rows["storage"]).to_numpy().astype(np.int64)
        first = int(self.slices.min())
        self.spot = dense * (int(self.slices.max()) - first + 1) + self.slices - first
        at_work = rows["at_work"].to_numpy().astype(np.float64)
        most = self.each(np.maximum, at_work)
        counts_each = is_ranks[self.place]
        is_at_work = (at_work >= FILLED * most[self.piece]) | ~counts_each
        ends = self._starts + lengths - 1
        self.is_between = (self.slices > self.slices[self._starts][self.piece]) & (
            self.slices < self.slices[ends][self.piece]
        )
        self.is_inner = is_at_work & self.is_between
        # Of how many processes a slice's mean is taken: no more than this.
        self.processes = np.where(counts_each, np.maximum(most, 1.0)[self.piece], 1.0)

    def of_others(self, values: Floats) -> Floats:
        """For each row, the sum of others' values on its storage and in its slice; exactly 0 where none was active."""
        found = np.maximum(np.bincount(self.spot, values)[self.spot] - values, 0.0)
        return np.where(self.has_company, found, 0.0)

    @cached_property
    def has_company(self) -> Mask:
        """Whether anybody else was active, or in calls, on the storage in the slice."""
        is_there = np.asarray(sum(self._taken.values()) > 0) | self._is_waiting
        return np.asarray(np.bincount(self.spot, is_there)[self.spot] - is_there > 0.5)

    def counts(self, kind: Kind) -> Floats:
        """The storage's time of each row, as far as it counts against calls of a kind."""
        return np.asarray(sum(self._taken[one] * (1.0 if one == kind else self._across) for one in KINDS))

    def each(self, what: np.ufunc, values: Floats) -> Floats:
        """What becomes of the values of each piece's rows, taken together."""
        return np.asarray(what.reduceat(values, self._starts), np.float64)

    def number(self, chosen: Mask) -> Integers:
        """How many rows of each piece are chosen."""
        return np.bincount(self.piece[chosen], minlength=len(self._starts))

    def any_of_job(self, chosen: Mask) -> Mask:
        """Whether any of a job's pieces is chosen, by the job's place."""
        return np.bincount(self.job[chosen], minlength=self.jobs) > 0

    @property
    def may_be_priced(self) -> Mask:
        """As the function has it; a source refuses a job where it refuses one of its prices."""
        took = {kind: self.each(np.add, self.in_calls[kind]) for kind in KINDS}
        of_job = np.bincount(self.job, np.asarray(sum(took.values())), self.jobs)[self.job]
        is_beside = self.number(self.has_company) > 0
        no_line = self._no_line(took)
        # Whoever is there before a job begins, or after it ended, is none of its neighbours.
        taken = self.has_company & self.is_between
        is_next = (np.diff(self.slices) == 1) & (np.diff(self.piece) == 0)
        is_near = taken.copy()
        is_near[1:] |= is_next & taken[:-1]
        is_near[:-1] |= is_next & taken[1:]
        is_quiet = self.is_inner & ~is_near
        is_shared = self.is_inner & self.has_company
        waited = np.asarray(sum(self.in_calls.values()))
        of_shared = self.each(np.add, np.where(self.has_company, waited, 0.0))
        seldom_shared = self.number(self.has_company & (waited > 0)) < FEWEST_SLICES
        seldom_shared &= of_shared >= TRIVIAL * of_job * (1 + ROUNDED)
        refused = [np.zeros(self.jobs, bool) for _ in range(4)]
        has_prices, is_unsure = (np.zeros(self.jobs, bool) for _ in range(2))
        for kind, seconds in self.in_calls.items():
            least = TRIVIAL * of_job
            its = is_beside & (took[kind] > 0) & (took[kind] >= least)
            has_prices |= self.any_of_job(its)
            is_unsure |= self.any_of_job(np.abs(took[kind] - least) <= ROUNDED * least)
            refused[0] |= self.any_of_job(its & (self.number(is_quiet & (seconds > 0)) < FEWEST_SLICES))
            refused[1] |= self.any_of_job(its & no_line)
            is_full = is_shared & (seconds >= FILLED * self._seconds * self.processes)
            full, shared = (self.each(np.add, np.where(some, seconds, 0.0)) for some in (is_full, is_shared))
            seldom_full = (self.number(is_full) < FEWEST_SLICES) | (full < MOSTLY_FULL * shared * (1 - ROUNDED))
            refused[2] |= self.any_of_job(its & (seldom_full | (kind == "meta")))
            refused[3] |= self.any_of_job(its & seldom_shared)
        return np.asarray((has_prices & ~np.logical_and.reduce(refused)) | is_unsure)

    def _no_line(self, took: Mapping[Kind, Floats]) -> Mask:
        """Whether the sets of neighbours beside a piece are too few, or their rates too much alike or too high, for
        `uncontended.speed_line`. False where it is unsure which kind of calls the sets go by.
        """
        columns = np.column_stack([took[kind] for kind in KINDS])
        most = np.sort(columns, axis=1)
        is_unsure = most[:, -2] >= (1 - ROUNDED) * most[:, -1]
        # Two sets have so many slices.
        is_long = self.number(self.is_inner) >= 2 * FEWEST_IN_A_SET
        main = np.argmax(columns, axis=1)
        parts = []
        known: tuple[Mask, npt.NDArray[np.uint64]] | None = None
        for number, kind in enumerate(KINDS):
            if not (main == number).any():
                continue
            # No set has a lower or a higher rate than the slices in it.
            counts = self.counts(kind)
            # Where all kinds count against each other, the same jobs do.
            if known is None or not np.array_equal(known[0], counts > 0):
                known = counts > 0, self._company(counts > 0)
            others = self.of_others(counts)
            lowest = self.each(np.minimum, np.where(self.is_inner, others, np.inf))
            highest = self.each(np.maximum, np.where(self.is_inner, others, 0.0))
            may = is_long & (main == number) & _is_near_rest(lowest, highest)
            its = np.flatnonzero(self.is_inner & may[self.piece])
            given = {"piece": self.piece, "company": known[1], "others": others}
            parts.append(pl.DataFrame({name: values[its] for name, values in given.items()}))
        rows = pl.concat(parts)
        rows = rows.filter(_may_be_often(rows))
        sets = rows.group_by("piece", "company").agg(pl.len(), rate=pl.col("others").mean())
        low, high = pl.col("rate").min(), pl.col("rate").max()
        is_drawn = (pl.len() >= 2) & (high >= LEAST_RATIO_OF_RATES * low * (1 - ROUNDED)) & _is_near_rest(low, high)
        drawn = sets.filter(pl.col("len") >= FEWEST_IN_A_SET).group_by("piece").agg(is_drawn=is_drawn)
        found = ~is_unsure
        found[drawn.filter("is_drawn")["piece"].to_numpy()] = False
        return found

    def _company(self, counts: Mask) -> npt.NDArray[np.uint64]:
        """A number for the set of others that count beside each row; 0 for nobody.

        Each job has a random number, and a set the sum of its jobs': two sets have the same one in one case of 2^64.
        """
        numbers = np.random.default_rng(1).integers(1, 2**63, self.jobs, dtype=np.uint64)
        own = np.where(counts, numbers[self.place], np.uint64(0))
        sums = np.zeros(int(self.spot.max()) + 1, np.uint64)
        np.add.at(sums, self.spot, own)
        return np.asarray(sums[self.spot] - own)


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
