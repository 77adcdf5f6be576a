"""Blame of many jobs of a catalog: what each is asked with is read once, and kept in memory. What it tells is the same,
to the last byte, as of that job alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
import polars as pl

from slicewise.analysis.calls import (
    CALLS,
    OF_JOBS,
    SECONDS,
    UNCOUNTED,
    Rows,
    by_job,
    calls_of_processes,
    named_rows,
)
from slicewise.catalog.clients import IS_PROFILED
from slicewise.catalog.kept import FrameCache, KeptDigest, KeptJob
from slicewise.catalog.neighbours import (
    AMOUNTS,
    LEAST_GRID_NS,
    MOVED,
    PLACES,
    RUNS,
    Neighbourhood,
    copies_in,
    keys_of_sampled,
    partners_among,
    rows_of_slices,
)
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Batch, Catalog
from slicewise.digest.counters import counters_of
from slicewise.digest.digest import Digest
from slicewise.digest.served import Counters
from slicewise.digest.slices import FETCHED, with_mapped
from slicewise.digest.storages import WRITTEN
from slicewise.equal_rows import rows_of
from slicewise.scalars import whole

# Rows of process_slices that are taken into memory at most, together: what jobs did is made of them in parts, and is
# as large as the catalog's job_slices.
MOST_RECORDS = 50_000_000
# Fewer jobs are asked about sooner than all are read.
FEWEST_AT_ONCE = 16
RECORDS_AT_ONCE = 1_000_000
NS = ("read_ns", "write_ns", "meta_ns", "sync_ns", "sync_ops", "read_request_ns", "write_request_ns")


def neighbourhood_of_jobs(catalog: Catalog, start_ns: int, end_ns: int, count: int) -> tuple[Neighbourhood, Rows]:
    """What the catalog has around each of the jobs that ran between two instants, and what they all did: in memory, if
    that is not too much, and no process is two jobs'; else its files are asked for each job, as where few are asked.
    count: how many of the jobs are asked about.
    """
    if count < FEWEST_AT_ONCE:
        return Neighbourhood(catalog), Rows()
    asked = catalog.scan("jobs", catalog.batches_between(start_ns, end_ns))
    asked = asked.filter(pl.col("start_ns") <= end_ns, pl.col("end_ns") >= start_ns)
    bounds = (pl.col("start_ns").min(), pl.col("end_ns").max(), pl.col("slice_ns").max())
    first, last, longest = (int(value or 0) for value in asked.select(bounds).collect().row(0))
    batches = catalog.batches_between(first - longest, last + longest)
    if sum(batch.rows.get("process_slices", 0) for batch in batches) <= MOST_RECORDS:
        twice = catalog.scan("processes", batches).select(pl.col("process").is_duplicated().any())
        if not twice.collect().item():
            many = NeighbourhoodOfMany(catalog, batches, first - longest, last + longest)
            return many, many
    return Neighbourhood(catalog), Rows()


class NeighbourhoodOfMany(Neighbourhood, Rows):
    """What a catalog has around each of the jobs of some batches, and what they did, in memory; a copy once."""

    def __init__(
        self, catalog: Catalog, batches: Sequence[Batch], begin_ns: int, until_ns: int, runs: pl.DataFrame | None = None
    ) -> None:
        """begin_ns, until_ns: all jobs that will be asked about ran between these. runs: of `runs_alone` of all of
        these, which had company; None: the catalog is asked for each.
        """
        super().__init__(catalog)
        self._batches = batches
        twice = copies_in(catalog, batches)
        self._rows = (
            rows_of_slices(catalog, self._batches)
            .filter(pl.col("begin_ns") <= until_ns, pl.col("end_ns") >= begin_ns)
            .collect()
            .join(twice, on=KEY, how="anti")
            .sort("begin_ns", "storage", KEY)
        )
        self._longest_ns = int(self._rows.select((pl.col("end_ns") - pl.col("begin_ns")).max()).item() or 0)
        self._jobs = pl.concat(
            [
                catalog.scan("jobs", [batch]).with_columns(batch=pl.lit(place, pl.UInt32)).collect()
                for place, batch in enumerate(self._batches)
            ]
        )
        ran = (pl.col("start_ns") <= until_ns, pl.col("end_ns") >= begin_ns)
        self._jobs = self._jobs.filter(ran).join(twice, on=KEY, how="anti", maintain_order="left")
        self._columns = _Columns(self._jobs)
        self._place_of_job = {key: place for place, key in enumerate(self._jobs[KEY])}
        self._known: dict[int, KeptJob] = {}
        self._runs_alone: Mapping[int, Sequence[int]] | None = None
        if runs is not None:
            self._runs_alone = dict(runs.group_by(KEY, maintain_order=True).agg("run").iter_rows())
            self._starts_of_runs = dict(runs.select("run", "start_ns").iter_rows())
        self._cache = _FewOfMany(catalog, [])
        self._runs_of: dict[str, pl.DataFrame] = {}
        self._storages_of: dict[str, pl.DataFrame] = {}
        self._did: dict[int, tuple[pl.DataFrame, dict[int, tuple[int, int]]]] = {}

    def jobs_with_company(self, days: Sequence[str]) -> pl.DataFrame:
        """The jobs with a profile that began on some days and had company: key, start_ns, end_ns, at_most_seconds (that
        each can have lost). A slice counts as a whole for a job that was in calls in it while another job was, or for
        as long as its calls took.
        """
        grid_ns = max(int(self._jobs["slice_ns"].max() or 0), LEAST_GRID_NS)  # type: ignore[arg-type]
        rows, _ = self._all_did(grid_ns)
        in_calls = rows.select("place", "storage", "slice", seconds=pl.sum_horizontal(SECONDS.values()))
        together = in_calls.filter((pl.len().over("storage", "slice") > 1) | self._is_beside_sampled(in_calls, grid_ns))
        in_slices = together.group_by("place", "slice").agg(pl.col("seconds").sum().clip(0, grid_ns / 1e9))
        most = in_slices.group_by("place").agg(at_most_seconds=pl.col("seconds").sum())
        # Blame lays these on another grid.
        is_apart = (grid_ns % self._jobs["slice_ns"]) != 0
        had_company = {key for day in days for key in self._company.not_quiet(day)}
        jobs = self._jobs.with_columns(place=pl.int_range(pl.len(), dtype=pl.UInt32), is_apart=is_apart).filter(
            IS_PROFILED, pl.col(KEY).is_in(pl.Series(list(had_company), dtype=pl.UInt64).implode())
        )
        lived = (pl.col("end_ns") - pl.col("start_ns")) / 1e9
        told = jobs.join(most, on="place", how="left", maintain_order="left")
        bound = pl.when("is_apart").then(lived).otherwise(pl.col("at_most_seconds").fill_null(0.0))
        return told.select(KEY, "start_ns", "end_ns", at_most_seconds=bound)

    def _is_beside_sampled(self, in_calls: pl.DataFrame, grid_ns: int) -> pl.Series:
        """Of jobs' slices with calls on storages: whether another job's processes that no library profiled had moved
        bytes there by then, of which a disk may have what was written later. in_calls: place, storage, slice.
        """
        at, of = pl.col("begin_ns") // grid_ns, ["place", "storage"]
        others = self._jobs.select(KEY, other=pl.int_range(pl.len(), dtype=pl.UInt32))
        rows = self._rows.filter(pl.col(KEY).is_in(keys_of_sampled(self.catalog, self._batches).implode()))
        spans = rows.group_by(KEY, "storage").agg(begin=at.min(), last=at.max()).join(others, on=KEY)
        calls = in_calls.group_by(of).agg(first=pl.col("slice").min(), end=pl.col("slice").max())
        beside = calls.join(spans, on="storage").filter(
            pl.col("place") != pl.col("other"), pl.col("begin") <= pl.col("end"), pl.col("last") >= pl.col("first")
        )
        begins = in_calls.join(beside.group_by(of).agg(pl.col("begin").min()), on=of, how="left", maintain_order="left")
        return (begins["slice"] >= begins["begin"]).fill_null(False)

    def expect(self, keys: Sequence[int]) -> None:
        """Read together, when first asked for, the frames of jobs to be asked about, and of their runs alone."""
        jobs = [self.job(key) for key in keys]
        runs = {run.key: run for job in jobs for run in self.quiet_runs(job)}
        self._cache = _FewOfMany(self.catalog, [*jobs, *(run for key, run in runs.items() if key not in set(keys))])

    def records(self, key: int) -> int:
        """How many rows of process_slices a job has."""
        return whole(self.job(key).row["records"])

    def quiet_runs(self, kept: KeptJob) -> list[KeptJob]:
        if self._runs_alone is None:
            return super().quiet_runs(kept)
        keys = list(self._runs_alone.get(kept.key, ()))
        elsewhere = [self._starts_of_runs[key] for key in keys if key not in self._place_of_job]
        by_key = {job.key: job for job in self.jobs_of_keys(keys, min(elsewhere, default=0), max(elsewhere, default=0))}
        return [by_key[key] for key in keys]

    def partners(self, kept: KeptJob) -> pl.DataFrame:
        begin_ns, end_ns = kept.times
        slice_ns = cast(int, kept.row["slice_ns"])
        begins = self._rows["begin_ns"]
        first = begins.search_sorted(begin_ns - slice_ns - self._longest_ns, side="left")
        last = begins.search_sorted(end_ns + slice_ns, side="right")
        rows = self._rows.slice(first, last - first).filter(pl.col("end_ns") >= begin_ns - slice_ns)
        return partners_among(rows, kept.key)

    def jobs_of_keys(self, keys: Sequence[int], start_ns: int, end_ns: int) -> list[KeptJob]:
        elsewhere = [key for key in keys if key not in self._place_of_job]
        return [
            *(self.job(key) for key in keys if key in self._place_of_job),
            *super().jobs_of_keys(elsewhere, start_ns, end_ns),
        ]

    def job(self, key: int) -> KeptJob:
        """The job with this key, of those that ran then."""
        if key not in self._known:
            row = _Row(self._columns, self._place_of_job[key])
            self._known[key] = KeptJob(row, self._batches[row["batch"]])
        return self._known[key]

    def runs_of(self, program: str) -> pl.DataFrame:
        if not self._runs_of:
            runs = self.catalog.scan("jobs").filter(~pl.col("is_running")).select(*RUNS, "program").collect()
            self._runs_of = _by_program(runs.sort("start_ns", KEY))
        return self._runs_of.get(program, pl.DataFrame(schema=dict.fromkeys(RUNS, pl.Int64) | {KEY: pl.UInt64}))

    def storages_of(self, program: str) -> pl.DataFrame:
        if not self._storages_of:
            programs = self.catalog.scan("jobs").filter(~pl.col("is_running")).select(KEY, "program")
            moved = self.catalog.scan("storages").filter(MOVED).select(PLACES).join(programs, on=KEY)
            self._storages_of = _by_program(moved.collect())
        return self._storages_of.get(program, pl.DataFrame(schema=dict.fromkeys(PLACES, pl.UInt64)))

    def cache(self, job: KeptJob, neighbours: Sequence[KeptJob], quiet: Sequence[KeptJob]) -> FrameCache:
        """The frames of the job and of its quiet runs. Of neighbours few are ever asked for, and then one by one."""
        return self._cache if self._cache.has(job) else _FewOfMany(self.catalog, [job, *quiet])

    def others(self, digest: Digest, neighbours: Sequence[Digest]) -> list[Digest]:
        """The neighbours: none of them has a process of the job."""
        return list(neighbours)

    def of(self, digests: Sequence[Digest], grid_ns: int) -> pl.DataFrame:
        """As `job_rows`."""
        rows, places = self._all_did(grid_ns)
        keys = [cast(KeptDigest, digest).key for digest in digests]
        if any(key not in self._place_of_job for key in keys) or any(one.served_by for one in digests):
            return super().of(digests, grid_ns)
        found = [places.get(key, (0, 0)) for key in keys]
        lengths = np.array([length for _, length in found])
        starts = np.array([start for start, _ in found]) - np.cumsum(lengths) + lengths
        chosen = np.repeat(starts, lengths) + np.arange(lengths.sum())
        return named_rows([digest.job for digest in digests], lengths.tolist(), rows[chosen])

    def _all_did(self, grid_ns: int) -> tuple[pl.DataFrame, dict[int, tuple[int, int]]]:
        """What all jobs did, on a grid, with their places, by which, and by storage and slice, they are sorted; and
        where each one's rows begin and how many they are, by key.
        """
        if grid_ns not in self._did:
            jobs = self._jobs.select(KEY, "slice_ns", place=pl.int_range(pl.len(), dtype=pl.UInt32))
            parts = [
                by_job(calls)
                for batch in self._batches
                for calls in calls_in(self.catalog, batch, jobs, grid_ns, self._counters(batch, grid_ns))
            ]
            empty = pl.DataFrame(schema={"place": pl.UInt32, **OF_JOBS})
            rows = pl.concat([empty, *parts])
            if not rows["place"].is_sorted():
                rows = rows.sort("place", maintain_order=True)
            keys = self._jobs[KEY]
            self._did[grid_ns] = rows, {keys[place]: its for place, its in rows_of(rows, "place").items()}
        return self._did[grid_ns]

    def _counters(self, batch: Batch, grid_ns: int) -> Counters:
        """What counters of nodes show of a batch's jobs, of those of which a collector sampled the nodes."""
        if "node_slices" not in batch.rows:
            return UNCOUNTED
        sampled = self.catalog.scan("node_slices", [batch]).filter(pl.col("signal").is_in(WRITTEN))
        keys = sampled.select(pl.col(KEY).unique()).collect()[KEY].sort().to_list()
        jobs = [self.job(key) for key in keys if key in self._place_of_job]
        cache = FrameCache(self.catalog, jobs)
        return counters_of([KeptDigest(self.catalog, job, cache) for job in jobs], grid_ns) if jobs else UNCOUNTED


def calls_in(
    catalog: Catalog, batch: Batch, jobs: pl.DataFrame, grid_ns: int, known: Counters
) -> Iterator[pl.DataFrame]:
    """`calls_of_processes` of a batch, in parts of whole jobs (key, slice_ns, place) whose slices fit the grid."""
    if "process_slices" not in batch.rows:
        return
    whole = catalog.scan("process_slices", [batch])
    if jobs.height < batch.jobs:
        whole = whole.filter(pl.col(KEY).is_in(jobs[KEY].implode()))
    runs = whole.select(KEY).collect()[KEY].rle()
    keys, lengths = runs.struct.field("value"), runs.struct.field("len").to_numpy()
    ends = lengths.cumsum()
    parts = np.flatnonzero(np.diff(ends // RECORDS_AT_ONCE, prepend=0)) + 1
    columns = ("process", "storage", "slice", *AMOUNTS, *CALLS.values(), *NS, FETCHED)
    processes = catalog.scan("processes", [batch]).select(KEY, "process").collect()
    fetched = catalog.scan("fetched", [batch]).collect()
    for first, last in zip([0, *parts], [*parts, len(keys)], strict=True):
        if first == last:
            continue
        start = ends[first] - lengths[first]
        rows = whole.slice(int(start), int(ends[last - 1] - start)).select(KEY, *columns).collect()
        is_here = pl.col(KEY).is_in(keys[int(first) : int(last)].implode())
        rows, here = with_mapped(rows, fetched.filter(is_here)), jobs.filter(is_here)
        by_slice = {
            slice_ns: rows.lazy().join(some.lazy(), on=KEY, how="semi", maintain_order="left").select(columns)
            for (slice_ns,), some in here.partition_by("slice_ns", as_dict=True).items()
            if grid_ns % slice_ns == 0
        }
        if by_slice:
            its = processes.join(here, on=KEY)
            yield calls_of_processes(by_slice, its.select("process", "place"), grid_ns, known)


def _by_program(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    parts = rows.partition_by("program", as_dict=True, include_key=False, maintain_order=True)
    return {str(name): some for (name,), some in parts.items()}


class _FewOfMany(FrameCache):
    """The frames of some jobs, and of any other job that is asked for, read by itself."""

    def __init__(self, catalog: Catalog, jobs: Sequence[KeptJob]) -> None:
        super().__init__(catalog, jobs)
        self._keys = {job.key for job in jobs}

    def has(self, job: KeptJob) -> bool:
        return job.key in self._keys

    def frame(self, name: str, job: KeptJob) -> pl.DataFrame:
        if self.has(job):
            return super().frame(name, job)
        return FrameCache(self._catalog, [job]).frame(name, job)


class _Columns(dict[str, list[Any]]):
    """The columns of a frame as lists, each made when it is first asked for."""

    def __init__(self, frame: pl.DataFrame) -> None:
        super().__init__()
        self.frame = frame

    def __missing__(self, name: str) -> list[Any]:
        self[name] = self.frame[name].to_list()
        return self[name]


class _Row(Mapping[str, Any]):
    """A row of a frame: of thousands of jobs little more than names is asked for."""

    def __init__(self, columns: _Columns, place: int) -> None:
        self._columns, self._place = columns, place

    def __getitem__(self, name: str) -> Any:
        return self._columns[name][self._place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns.frame.columns)

    def __len__(self) -> int:
        return self._columns.frame.width
