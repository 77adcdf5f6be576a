"""What every job of some time did, in arrays: a value a job, storage and slice, and who else was there.

A catalog in. Rows of one job lie together, and in these those of one storage, in order of time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise.alike import begins_of_alike, is_ordered
from slicewise.analysis.blame.on_storage import Floats, Mask, OnStorage, main_kind
from slicewise.analysis.blame.storage_time import Capacities, capacities, storage_seconds
from slicewise.analysis.blame.strands import CLOCKS_NS, LIFETIME, by_strand, first_of_strand
from slicewise.analysis.blame.timeline import AMOUNTS, CALLS, KINDS, SECONDS, Kind
from slicewise.analysis.site.at_once import calls_in
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Batch, Catalog
from slicewise.digest.processes import DIRECTIONS, are_ranks

Integers = npt.NDArray[np.int64]
TAKEN: dict[Kind, str] = {kind: f"{kind}_taken" for kind in KINDS}
OF_CALLS = (*SECONDS.values(), *AMOUNTS.values(), *CALLS.values())
WORK = tuple(f"{way}_{what}" for way in DIRECTIONS for what in ("bytes", "ops"))
LEAST_SECONDS = 1e-12
# Three numbers below it fit into one.
LARGE = 1 << 20
JOBS = (KEY, "job", "program", "user", "processes", "start_ns", "end_ns", "is_running", "slice_ns", *WORK)


@dataclass(frozen=True)
class Everyone:
    """Jobs and what they did. jobs: JOBS, a row a job, in the order of their places. rows: place, storage and slice, by
    which they are sorted, the columns of SECONDS (of the mean process), AMOUNTS, CALLS and TAKEN, at_work. processes:
    place, process, storage and sums of the columns of SECONDS, AMOUNTS and CALLS. known: what each storage does at
    most.
    """

    jobs: pl.DataFrame
    rows: pl.DataFrame
    processes: pl.DataFrame
    known: Mapping[int, Capacities]
    grid_ns: int

    @cached_property
    def place(self) -> Integers:
        """The place of each row's job."""
        return self.rows["place"].to_numpy().astype(np.int64)

    @cached_property
    def slices(self) -> Integers:
        """The slice of each row."""
        return self.rows["slice"].to_numpy()

    @cached_property
    def storages(self) -> npt.NDArray[np.uint64]:
        """The storage of each row."""
        return self.rows["storage"].to_numpy()

    @cached_property
    def taken(self) -> dict[Kind, Floats]:
        """The storage's time that each row took, by kind."""
        return {kind: self.rows[name].to_numpy() for kind, name in TAKEN.items()}

    @cached_property
    def counts(self) -> dict[Kind, Floats]:
        """The storage's time of each row, as far as it counts against calls of a kind."""
        across = {storage: known.across() for storage, known in self.known.items()}
        shares = self.rows["storage"].replace_strict(across, default=1.0, return_dtype=pl.Float64).to_numpy()
        return {
            kind: np.asarray(sum(self.taken[other] * (1.0 if other == kind else shares) for other in KINDS))
            for kind in KINDS
        }

    @cached_property
    def is_active(self) -> Mask:
        """Whether the row's job took any of the storage's time."""
        return np.asarray(sum(self.taken.values()) > 0)

    @cached_property
    def spot(self) -> Integers:
        """A number for each row's storage and slice: rows with the same number met."""
        storages = self.rows["storage"].rank("dense").to_numpy().astype(np.int64) - 1
        slices = self.slices
        first = int(slices.min()) if len(slices) else 0
        return np.asarray(storages * (int(slices.max(initial=first)) - first + 1) + slices - first)

    def of_all(self, values: Floats) -> Floats:
        """For each row, the sum of all rows' values on its storage and in its slice."""
        return np.asarray(np.bincount(self.spot, values)[self.spot], np.float64)

    def of_others(self, values: Floats) -> Floats:
        """The same sum without the row's own value; exactly 0 where nobody else was active."""
        return np.where(self.has_company, np.maximum(self.of_all(values) - values, 0.0), 0.0)

    @cached_property
    def has_company(self) -> Mask:
        """Whether anybody else was active on the storage in the slice."""
        return np.asarray(self.of_all(self.is_active.astype(np.float64)) - self.is_active > 0.5)

    def is_beside(self, chosen: Mask) -> Mask:
        """Whether each job was active on a storage and in a slice in which another of the chosen made calls."""
        theirs = chosen[self.place].astype(np.float64)
        met = self.is_active & (self.of_all(theirs) - theirs > 0.5)
        return np.asarray(np.bincount(self.place, met, self.jobs.height) > 0)

    @cached_property
    def had_company(self) -> Mask:
        """Whether anybody else made calls, however few, on a storage and in a slice in which each job did."""
        beside = self.of_all(np.ones(self.rows.height)) > 1
        return np.asarray(np.bincount(self.place, beside, self.jobs.height) > 0)

    @cached_property
    def pieces(self) -> tuple[Integers, Integers, Integers]:
        """The job's place, and where its rows begin and end, for each job and storage."""
        places, storages = self.place, self.storages
        if not len(places):
            return (np.zeros(0, np.int64),) * 3
        starts = begins_of_alike(places, storages)
        return places[starts], starts, np.append(starts[1:], len(places))

    @cached_property
    def piece(self) -> Integers:
        """A number for each row's job and storage."""
        _, starts, ends = self.pieces
        return np.repeat(np.arange(len(starts)), ends - starts)

    @cached_property
    def columns(self) -> dict[str, Floats]:
        """The columns of OF_CALLS, and at_work."""
        return {name: self.rows[name].cast(pl.Float64).to_numpy() for name in (*OF_CALLS, "at_work")}

    @cached_property
    def company(self) -> dict[Kind, npt.NDArray[np.uint64]]:
        """A number for the set of others that count beside each row's calls of a kind; 0 for nobody."""
        there = {kind: self.counts[kind] > 0 for kind in KINDS}
        # Where all kinds count against each other, the same jobs do.
        first = self._company(there[KINDS[0]])
        is_first = {kind: np.array_equal(there[kind], there[KINDS[0]]) for kind in KINDS}
        return {kind: first if is_first[kind] else self._company(there[kind]) for kind in KINDS}

    @cached_property
    def others(self) -> dict[Kind, Floats]:
        """The storage's time of others, as far as it counts against each row's calls of a kind."""
        return {kind: self.of_others(self.counts[kind]) for kind in KINDS}

    @cached_property
    def _together(self) -> dict[Kind, Floats]:
        """The amounts of all jobs on each row's storage and in its slice."""
        return {kind: self.of_all(self.columns[name]) for kind, name in AMOUNTS.items()}

    @cached_property
    def _others_metadata(self) -> Floats:
        return self.of_others(self.taken["meta"])

    def on_storages(self, place: int) -> dict[int, OnStorage]:
        """What the job at a place did on its storages."""
        columns = self.columns
        made = {}
        for piece in range(*np.searchsorted(self.pieces[0], [place, place + 1]).tolist()):
            start, end = self.pieces[1][piece], self.pieces[2][piece]
            its = slice(start, end)
            seconds = {kind: columns[name][its] for kind, name in SECONDS.items()}
            main = main_kind({kind: float(values.sum()) for kind, values in seconds.items()})
            none = np.zeros(end - start)
            made[int(self.storages[start])] = OnStorage(
                self.slices[its],
                seconds,
                {kind: columns[name][its] for kind, name in AMOUNTS.items()},
                {kind: columns[CALLS[kind]][its] if kind in CALLS else none for kind in KINDS},
                columns["at_work"][its],
                self.has_company[its],
                self.others[main][its],
                self.company[main][its],
                self._others_metadata[its],
                {kind: values[its] for kind, values in self._together.items()},
            )
        return made

    def _company(self, counts: Mask) -> npt.NDArray[np.uint64]:
        """A number for the set of others that count beside each row; 0 for nobody.

        Each job has a random number, and a set the sum of its jobs': two sets have the same one in one case of 2^64.
        """
        numbers = np.random.default_rng(1).integers(1, 2**63, self.jobs.height, dtype=np.uint64)
        own = np.where(counts, numbers[self.place], np.uint64(0))
        sums = np.zeros(int(self.spot.max(initial=-1)) + 1, np.uint64)
        np.add.at(sums, self.spot, own)
        return np.asarray(sums[self.spot] - own)


def everyone(catalog: Catalog, batches: Sequence[Batch], start_ns: int, end_ns: int) -> Everyone:
    """All jobs of some batches, and what they did between two instants. Jobs are told whose slices are all of one
    length, or fit into the longest ones.
    """
    jobs = pl.concat(
        [pl.DataFrame(schema=catalog.scan("jobs", batches).select(JOBS).collect_schema())]
        + [catalog.scan("jobs", [batch]).select(JOBS).collect() for batch in batches]
    ).with_columns(place=pl.int_range(pl.len(), dtype=pl.UInt32))
    grid_ns = int(jobs["slice_ns"].max() or 1)  # type: ignore[arg-type]
    first, last = start_ns // grid_ns, end_ns // grid_ns
    told = jobs.select(KEY, "slice_ns", "place").join(_copies(catalog, batches, jobs), on=KEY, how="anti")
    rows, processes = [], []
    for batch in batches:
        first_of = _strands(catalog, batch)
        for calls in calls_in(catalog, batch, told, grid_ns, pl.col("matters")):
            then = by_strand(calls, first_of).filter(pl.col("slice").is_between(first, last))
            rows.append(_by_slice(then))
            processes.append(_by_process(then))
    made = pl.concat([pl.DataFrame(schema=OF_NOBODY), *rows])
    # Each part is in order, and no job is in two.
    made = made[np.argsort(made["place"].to_numpy(), kind="stable")]
    known = capacities(made.select("storage", "slice", *SECONDS.values(), *AMOUNTS.values()), grid_ns)
    made = storage_seconds(made, known, grid_ns)
    of_processes = pl.concat([pl.DataFrame(schema=OF_NO_PROCESS), *processes]).sort("place", "process", "storage")
    # Seconds become those of the mean process.
    count = of_processes.group_by("place").agg(count=pl.col("process").n_unique())
    made = (
        made.join(count, on="place", maintain_order="left")
        .with_columns(pl.col(SECONDS.values()) / pl.col("count"))
        .drop("count")
    )
    return Everyone(jobs, made.rechunk(), of_processes, known, grid_ns)


def _strands(catalog: Catalog, batch: Batch) -> dict[int, int]:
    """`first_of_strand` of a batch's jobs."""
    columns = (KEY, "rank", *LIFETIME)
    processes = catalog.scan("processes", [batch]).filter("matters").select(columns)
    ran_apart = (pl.col("end_ns").min() <= pl.col("start_ns").max() + CLOCKS_NS, ~are_ranks(), pl.len() > 1)
    some = processes.filter(pl.all_horizontal(ran_apart).over(KEY)).sort(KEY).collect()
    found: dict[int, int] = {}
    for its in some.partition_by(KEY):
        found |= first_of_strand(its.select(LIFETIME).iter_rows())
    return found


def _copies(catalog: Catalog, batches: Sequence[Batch], jobs: pl.DataFrame) -> pl.DataFrame:
    """The jobs with a process that an earlier one has, too: a profile that came in by two names counts once."""
    processes = catalog.scan("processes", batches).select(KEY, "process").filter(pl.col("process").is_duplicated())
    place = processes.collect().join(jobs.select(KEY, "place"), on=KEY)
    return place.filter(pl.col("place") > pl.col("place").min().over("process")).select(KEY).unique()


def _by_slice(calls: pl.DataFrame) -> pl.DataFrame:
    at_work = (pl.sum_horizontal(SECONDS.values()) > 0).cast(pl.Int64)
    numbered = calls.with_columns(at_work=at_work)
    return _sums(numbered[_order(calls, SPOTS)], SPOTS, "at_work").cast(pl.Schema(OF_NOBODY))


def _by_process(calls: pl.DataFrame) -> pl.DataFrame:
    by = ("place", "process", "storage")
    rows = calls if is_ordered(calls, by[1:]) else calls.sort(by)
    return _sums(rows, by).cast(pl.Schema(OF_NO_PROCESS))


def _order(calls: pl.DataFrame, by: Sequence[str]) -> Integers:
    """The places of rows in order of some columns. Rows that lie in long stretches of it are sorted fast."""
    code = np.zeros(calls.height, np.int64)
    for name in by:
        values = _small(calls[name])
        code = code * (int(values.max(initial=0)) + 1) + values
    return np.argsort(code, kind="stable")


def _small(values: pl.Series) -> Integers:
    """Whole numbers in the same order, from 0 on: by their own distances, or where these are large by rank."""
    if values.is_empty() or int(values.max()) - int(values.min()) >= LARGE:  # type: ignore[arg-type]
        distinct = values.unique().sort()
        return distinct.search_sorted(values).to_numpy().astype(np.int64)
    return (values - values.min()).to_numpy().astype(np.int64)


def _sums(rows: pl.DataFrame, by: Sequence[str], *also: str) -> pl.DataFrame:
    """The sums of OF_CALLS, and of other whole numbers, over rows that are alike in some columns and lie together.
    Seconds are added up as whole numbers, so that their order does not matter.
    """
    if rows.is_empty():
        return rows.select(*by, *OF_CALLS, *also)
    begins = begins_of_alike(*(rows[name].to_numpy() for name in by))
    seconds = {
        name: np.add.reduceat(np.rint(rows[name].to_numpy() / LEAST_SECONDS).astype(np.int64), begins) * LEAST_SECONDS
        for name in SECONDS.values()
    }
    counts = {name: np.add.reduceat(rows[name].to_numpy(), begins) for name in (*OF_CALLS[len(SECONDS) :], *also)}
    return rows[begins].select(by).with_columns(**{name: pl.Series(some) for name, some in (seconds | counts).items()})


SPOTS = ("place", "storage", "slice")
_SUMS = dict.fromkeys(SECONDS.values(), pl.Float64) | dict.fromkeys((*AMOUNTS.values(), *CALLS.values()), pl.Int64)
OF_NOBODY = {"place": pl.UInt32, "storage": pl.UInt64, "slice": pl.Int64, **_SUMS, "at_work": pl.Int64}
OF_NO_PROCESS = {"place": pl.UInt32, "process": pl.UInt64, "storage": pl.UInt64, **_SUMS}
