"""Blame of many jobs of a catalog: what each of them is asked with is read once, and kept in memory.

A catalog in. What it tells of a job is the same, to the last byte, as the catalog's files tell for that job alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import cast

import numpy as np
import polars as pl

from slicewise.analysis.blame.timeline import CALLS, OF_JOBS, Rows, by_job, calls_of_processes, named_rows
from slicewise.catalog.beside import AMOUNTS, LEAST_GRID_NS, MOVED, PLACES, RUNS, Around, partners_among
from slicewise.catalog.kept import KeptDigest, KeptJob, Shelf
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Batch, Catalog
from slicewise.digest.digest import Digest

# Rows of process_slices that are taken into memory at most, together: what jobs did is made of them in parts, and is
# as large as the catalog's job_slices.
MOST_RECORDS = 50_000_000
# Fewer jobs are asked about sooner than all are read.
FEWEST_AT_ONCE = 16
RECORDS_AT_ONCE = 1_000_000
ALL = pl.lit(True)
NS = ("read_ns", "write_ns", "meta_ns", "sync_ns", "read_request_ns", "write_request_ns")


def around_jobs(catalog: Catalog, start_ns: int, end_ns: int, count: int) -> tuple[Around, Rows]:
    """What the catalog has around each of the jobs that ran between two instants, and what they all did: in memory, if
    that is not too much, and no process is two jobs'; else its files are asked for each job, as where few are asked.

    count: how many of the jobs are asked about.
    """
    if count < FEWEST_AT_ONCE:
        return Around(catalog), Rows()
    asked = catalog.scan("jobs", catalog.batches_between(start_ns, end_ns))
    asked = asked.filter(pl.col("start_ns") <= end_ns, pl.col("end_ns") >= start_ns)
    bounds = (pl.col("start_ns").min(), pl.col("end_ns").max(), pl.col("slice_ns").max())
    first, last, longest = (int(value or 0) for value in asked.select(bounds).collect().row(0))
    batches = catalog.batches_between(first - longest, last + longest)
    if sum(batch.slice_records for batch in batches) <= MOST_RECORDS:
        twice = catalog.scan("processes", batches).select(pl.col("process").is_duplicated().any())
        if not twice.collect().item():
            many = AroundMany(catalog, batches, first - longest, last + longest)
            return many, many
    return Around(catalog), Rows()


class AroundMany(Around, Rows):
    """What a catalog has around each of the jobs of some batches, and what they did, in memory. No process is two
    jobs'.
    """

    def __init__(self, catalog: Catalog, batches: Sequence[Batch], begin_ns: int, until_ns: int) -> None:
        """begin_ns, until_ns: all jobs that will be asked about ran between these."""
        super().__init__(catalog)
        self._batches = batches
        self._rows = (
            catalog.scan("job_slices", self._batches)
            .filter(pl.col("begin_ns") <= until_ns, pl.col("end_ns") >= begin_ns)
            .select(KEY, "storage", "begin_ns", "end_ns", *AMOUNTS)
            .collect()
            .sort("begin_ns", "storage", KEY)
        )
        self._longest_ns = int(self._rows.select((pl.col("end_ns") - pl.col("begin_ns")).max()).item() or 0)
        self._jobs = pl.concat(
            [
                catalog.scan("jobs", [batch]).with_columns(batch=pl.lit(place, pl.UInt32)).collect()
                for place, batch in enumerate(self._batches)
            ]
        )
        self._place_of_job = {key: place for place, key in enumerate(self._jobs[KEY])}
        self._known: dict[int, KeptJob] = {}
        self._company = self._with_company()
        self._runs_of: dict[str, pl.DataFrame] = {}
        self._storages_of: dict[str, pl.DataFrame] = {}
        self._did: dict[int, tuple[pl.DataFrame, dict[int, tuple[int, int]]]] = {}

    def _with_company(self) -> set[int] | None:
        """The jobs that were together with another one; None where slices of several lengths make that no matter of
        equal places.
        """
        lengths = self._jobs["slice_ns"].unique()
        if len(lengths) != 1 or lengths[0] < LEAST_GRID_NS or lengths[0] != self._longest_ns:
            return None
        times = self._jobs.lazy().select(KEY, "start_ns", ended_ns="end_ns", slice_ns="slice_ns")
        within = (
            self._rows.lazy()
            .select(KEY, "storage", "begin_ns", "end_ns", others=pl.len().over("storage", "begin_ns") - 1)
            .filter(pl.col("others") > 0)
            .join(times, on=KEY)
            .filter(
                pl.col("begin_ns") <= pl.col("ended_ns") + pl.col("slice_ns"),
                pl.col("end_ns") >= pl.col("start_ns") - pl.col("slice_ns"),
            )
        )
        return set(within.select(pl.col(KEY).unique()).collect()[KEY])

    def partners(self, kept: KeptJob) -> pl.DataFrame:
        """As of the catalog."""
        begin_ns, end_ns = kept.times
        slice_ns = cast(int, kept.row["slice_ns"])
        begins = self._rows["begin_ns"]
        first = begins.search_sorted(begin_ns - slice_ns - self._longest_ns, side="left")
        last = begins.search_sorted(end_ns + slice_ns, side="right")
        rows = self._rows.slice(first, last - first).filter(pl.col("end_ns") >= begin_ns - slice_ns)
        return partners_among(rows, kept.key)

    def has_company(self, kept: KeptJob) -> bool:
        """As of the catalog."""
        if kept.key not in self._place_of_job:
            return super().has_company(kept)
        return not self.partners(kept).is_empty() if self._company is None else kept.key in self._company

    def jobs_of_keys(self, keys: Sequence[int], start_ns: int, end_ns: int) -> list[KeptJob]:
        """As of the catalog."""
        elsewhere = [key for key in keys if key not in self._place_of_job]
        return [
            *(self.job(key) for key in keys if key in self._place_of_job),
            *super().jobs_of_keys(elsewhere, start_ns, end_ns),
        ]

    def job(self, key: int) -> KeptJob:
        """The job with this key, of those that ran then."""
        if key not in self._known:
            row = self._jobs.row(self._place_of_job[key], named=True)
            self._known[key] = KeptJob(row, self._batches[row.pop("batch")])
        return self._known[key]

    def runs_of(self, program: str) -> pl.DataFrame:
        """As of the catalog."""
        if not self._runs_of:
            runs = self.catalog.scan("jobs").filter(~pl.col("is_running")).select(*RUNS, "program").collect()
            self._runs_of = _by_program(runs.sort("start_ns", KEY))
        return self._runs_of.get(program, pl.DataFrame(schema=dict.fromkeys(RUNS, pl.Int64) | {KEY: pl.UInt64}))

    def storages_of(self, program: str) -> pl.DataFrame:
        """As of the catalog."""
        if not self._storages_of:
            programs = self.catalog.scan("jobs").filter(~pl.col("is_running")).select(KEY, "program")
            moved = self.catalog.scan("storages").filter(MOVED).select(PLACES).join(programs, on=KEY)
            self._storages_of = _by_program(moved.collect())
        return self._storages_of.get(program, pl.DataFrame(schema=dict.fromkeys(PLACES, pl.UInt64)))

    def shelf(self, job: KeptJob, neighbours: Sequence[KeptJob], quiet: Sequence[KeptJob]) -> Shelf:
        """The frames of the job and of its quiet runs. Of neighbours few are ever asked for, and then one by one."""
        return _FewOfMany(self.catalog, [job, *quiet])

    def others(self, digest: Digest, neighbours: Sequence[Digest]) -> list[Digest]:
        """The neighbours: none of them has a process of the job."""
        return list(neighbours)

    def of(self, digests: Sequence[Digest], grid_ns: int) -> pl.DataFrame:
        """As `job_rows`."""
        if grid_ns not in self._did:
            self._did[grid_ns] = self._all_did(grid_ns)
        rows, places = self._did[grid_ns]
        keys = [cast(KeptDigest, digest).key for digest in digests]
        if any(key not in self._place_of_job for key in keys):
            return super().of(digests, grid_ns)
        found = [places.get(key, (0, 0)) for key in keys]
        lengths = np.array([length for _, length in found])
        starts = np.array([start for start, _ in found]) - np.cumsum(lengths) + lengths
        chosen = np.repeat(starts, lengths) + np.arange(lengths.sum())
        return named_rows([digest.job for digest in digests], lengths.tolist(), rows[chosen])

    def _all_did(self, grid_ns: int) -> tuple[pl.DataFrame, dict[int, tuple[int, int]]]:
        """What all jobs did, on a grid, and where each one's rows begin and how many they are, by key."""
        parts = [part for batch in self._batches for part in self._did_in(batch, grid_ns)]
        rows = pl.concat([pl.DataFrame(schema={"place": pl.UInt32, **OF_JOBS}), *parts])
        found = rows["place"].rle()
        lengths = found.struct.field("len").to_list()
        keys = self._jobs[KEY].gather(found.struct.field("value"))
        starts = accumulate(lengths, initial=0)
        return rows.drop("place"), dict(zip(keys, zip(starts, lengths, strict=False), strict=True))

    def _did_in(self, batch: Batch, grid_ns: int) -> Iterator[pl.DataFrame]:
        """The same of a batch, with the job's place, in parts of whole jobs."""
        jobs = self._jobs.select(KEY, "slice_ns", place=pl.int_range(pl.len(), dtype=pl.UInt32))
        return (by_job(calls) for calls in calls_in(self.catalog, batch, jobs, grid_ns))


def calls_in(
    catalog: Catalog, batch: Batch, jobs: pl.DataFrame, grid_ns: int, condition: pl.Expr = ALL
) -> Iterator[pl.DataFrame]:
    """`timeline.calls_of_processes` of a batch, in parts of whole jobs. jobs: key, slice_ns, place; those whose slices
    do not fit the grid are left out. condition: which processes count.
    """
    if "process_slices" not in batch.rows:
        return
    whole = catalog.scan("process_slices", [batch])
    runs = whole.select(KEY).collect()[KEY].rle()
    keys, lengths = runs.struct.field("value"), runs.struct.field("len").to_numpy()
    ends = lengths.cumsum()
    parts = np.flatnonzero(np.diff(ends // RECORDS_AT_ONCE, prepend=0)) + 1
    columns = ("process", "storage", "slice", *AMOUNTS, *CALLS.values(), *NS)
    processes = catalog.scan("processes", [batch]).filter(condition).select(KEY, "process").collect()
    for first, last in zip([0, *parts], [*parts, len(keys)], strict=True):
        if first == last:
            continue
        start = ends[first] - lengths[first]
        rows = whole.slice(int(start), int(ends[last - 1] - start)).select(KEY, *columns).collect()
        here = jobs.filter(pl.col(KEY).is_in(keys[int(first) : int(last)].implode()))
        by_slice = {
            slice_ns: rows.lazy().join(some.lazy(), on=KEY, how="semi", maintain_order="left").select(columns)
            for (slice_ns,), some in here.partition_by("slice_ns", as_dict=True).items()
            if grid_ns % slice_ns == 0
        }
        if by_slice:
            its = processes.join(here, on=KEY)
            yield calls_of_processes(by_slice, its.select("process", "place"), grid_ns)


def _by_program(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    parts = rows.partition_by("program", as_dict=True, include_key=False, maintain_order=True)
    return {str(name): some for (name,), some in parts.items()}


class _FewOfMany(Shelf):
    """The frames of some jobs, and of any other job that is asked for, read by itself."""

    def frame(self, name: str, job: KeptJob) -> pl.DataFrame:
        if any(one.key == job.key for one in self._jobs):
            return super().frame(name, job)
        return Shelf(self._catalog, [job]).frame(name, job)
