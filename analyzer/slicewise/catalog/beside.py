"""What a catalog has beside a job: who used its storages while it did, and quiet runs of its program.

A catalog in; frames, or jobs of the catalog, out. Two jobs were together on a storage where both made calls on it at
one time, to a slice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import polars as pl

from slicewise.catalog.kept import KeptJob, Shelf, jobs_of_keys
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Batch, Catalog
from slicewise.digest.beside import MOST_RUNS
from slicewise.digest.outlines import Work
from slicewise.digest.processes import DIRECTIONS
from slicewise.scalars import whole

AMOUNTS = ("read_bytes", "write_bytes", "meta_ops")
RUNS = (KEY, "start_ns", "processes", *(f"{way}_{what}" for way in DIRECTIONS for what in ("bytes", "ops")))
PLACES = (KEY, "storage")
MOVED = pl.sum_horizontal("read_bytes", "write_bytes") > 0
# The finest grid that jobs are laid on, so that rows stay few.
LEAST_GRID_NS = 1_000_000_000
# Of each kind so many runs are asked whether they were alone: those nearest in time.
MOST_ASKED = 20


def partners(catalog: Catalog, kept: KeptJob) -> pl.DataFrame:
    """The jobs that used a storage while a job did, those who moved most there first: key (a number), storage, seconds
    (in which both did), start_ns, end_ns (of these), and what the other did in them: read_bytes, write_bytes, meta_ops.
    """
    begin_ns, end_ns = kept.times
    slice_ns = whole(kept.row["slice_ns"])
    # Read at once, for its own rows lie among the others'. A clock that was set may have moved the first and last one.
    rows = (
        catalog.scan("job_slices", catalog.batches_between(begin_ns - slice_ns, end_ns + slice_ns))
        .filter(pl.col("begin_ns") <= end_ns + slice_ns, pl.col("end_ns") >= begin_ns - slice_ns)
        .select(KEY, "storage", "begin_ns", "end_ns", *AMOUNTS)
        .collect()
    )
    return partners_among(rows, kept.key)


def partners_among(rows: pl.DataFrame, key: int) -> pl.DataFrame:
    """`partners` of a job among all rows of job_slices of its time."""
    own = rows.filter(pl.col(KEY) == key)
    others = rows.filter(
        pl.col("begin_ns") < own["end_ns"].max(),
        pl.col("end_ns") > own["begin_ns"].min(),
        pl.col("storage").is_in(own["storage"].unique().implode()),
        pl.col(KEY) != key,
    )
    if others.is_empty():
        return nobody()
    grid_ns = grid_of(own, others)
    mine = on_grid(own, grid_ns).select("storage", "at").unique()
    return (
        on_grid(others, grid_ns)
        .join(mine, on=["storage", "at"], how="semi")
        .group_by(KEY, "storage")
        .agg(
            seconds=pl.col("at").n_unique().cast(pl.Int64) * grid_ns / 1e9,
            start_ns=pl.col("at").min() * grid_ns,
            end_ns=(pl.col("at").max() + 1) * grid_ns,
            **{name: pl.col(name).sum() for name in AMOUNTS},
        )
        .sort(pl.sum_horizontal("read_bytes", "write_bytes"), KEY, "storage", descending=[True, False, False])
    )


def others_bytes(catalog: Catalog, batches: Sequence[Batch], start_ns: int, end_ns: int) -> pl.DataFrame:
    """What everybody else moved on each job's storages in the slices in which it was active: key, storage, own_bytes,
    others_bytes.

    All jobs with slices between two instants are told. Slices of different lengths do not meet here: a day is asked of
    one length at a time.
    """
    rows = (
        catalog.scan("job_slices", batches)
        .filter(pl.col("begin_ns") < end_ns, pl.col("end_ns") > start_ns)
        .select(KEY, "storage", "begin_ns", "end_ns", moved=pl.col("read_bytes") + pl.col("write_bytes"))
    )
    return (
        rows.with_columns(all_moved=pl.col("moved").sum().over("storage", "begin_ns", "end_ns"))
        .group_by(KEY, "storage")
        .agg(own_bytes=pl.col("moved").sum(), others_bytes=(pl.col("all_moved") - pl.col("moved")).sum())
        .collect()
    )


class Around:
    """Who and what a catalog has around a job. Its files are asked each time."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def partners(self, kept: KeptJob) -> pl.DataFrame:
        """As the function."""
        return partners(self.catalog, kept)

    def has_company(self, kept: KeptJob) -> bool:
        """Whether anybody used a storage while it did."""
        return not self.partners(kept).is_empty()

    def jobs_of_keys(self, keys: Sequence[int], start_ns: int, end_ns: int) -> list[KeptJob]:
        """The jobs with these keys, all of which ran at some time between two instants."""
        return jobs_of_keys(self.catalog, keys, start_ns, end_ns)

    def runs_of(self, program: str) -> pl.DataFrame:
        """All runs of a program in the catalog that have ended, in order of their start: RUNS."""
        is_run = (pl.col("program") == program) & ~pl.col("is_running")
        return self.catalog.scan("jobs").filter(is_run).select(RUNS).sort("start_ns", KEY).collect()

    def storages_of(self, program: str) -> pl.DataFrame:
        """Where the runs of a program moved bytes: key, storage."""
        keys = self.runs_of(program)[KEY]
        return self.catalog.scan("storages").filter(MOVED, pl.col(KEY).is_in(keys.implode())).select(PLACES).collect()

    def storages_of_job(self, kept: KeptJob) -> pl.Series:
        """Where a job moved bytes."""
        rows = self.catalog.scan("storages", [kept.batch]).filter(MOVED, pl.col(KEY) == kept.key)
        return rows.select("storage").collect()["storage"]

    def shelf(self, job: KeptJob, neighbours: Sequence[KeptJob], quiet: Sequence[KeptJob]) -> Shelf:
        """The frames of the job, its neighbours and its quiet runs."""
        return Shelf(self.catalog, [job, *neighbours, *quiet])

    def neighbours_of(self, kept: KeptJob) -> list[KeptJob]:
        """The jobs that used one of its storages while it did, those that moved most there first."""
        keys = self.partners(kept)[KEY].unique(maintain_order=True).to_list()
        by_key = {job.key: job for job in self.jobs_of_keys(keys, *kept.times)}
        return [by_key[key] for key in keys if key in by_key]

    def quiet_runs(self, kept: KeptJob) -> list[KeptJob]:
        """Runs of its program that did the same kind of work and had no company, of its size and of others: MOST_RUNS
        each.

        Runs on its storages come first, since a run elsewhere says nothing of these; then those nearest in time.
        """
        program, own = str(kept.row["program"]), _work(kept.row)
        places = self.storages_of(program).filter(pl.col("storage").is_in(self.storages_of_job(kept).implode()))
        shared = places.group_by(KEY).agg(shared=pl.col("storage").n_unique().cast(pl.Int64))
        nearest = (
            self.runs_of(program)
            .filter(pl.col(KEY) != kept.key)
            .join(shared, on=KEY, how="left", maintain_order="left")
            .sort(-pl.col("shared").fill_null(0), (pl.col("start_ns") - kept.times[0]).abs(), maintain_order=True)
        )
        found: list[KeptJob] = []
        for is_like in (True, False):
            its = nearest.filter((pl.col("processes") == kept.row["processes"]) == is_like)
            same = (row for row in its.iter_rows(named=True) if _work(row).is_as(own))
            alone = (job for job in self._runs(list(islice(same, MOST_ASKED))) if not self.has_company(job))
            found += islice(alone, MOST_RUNS)
        return found

    def _runs(self, rows: Sequence[Mapping[str, Any]]) -> list[KeptJob]:
        """Rows of `runs_of` as jobs."""
        if not rows:
            return []
        starts = [row["start_ns"] for row in rows]
        by_key = {job.key: job for job in self.jobs_of_keys([row[KEY] for row in rows], min(starts), max(starts))}
        return [by_key[row[KEY]] for row in rows]


def _work(row: Mapping[str, Any]) -> Work:
    """What a row of jobs, or of RUNS, did."""
    return Work(row["processes"], {way: (row[f"{way}_bytes"], row[f"{way}_ops"]) for way in DIRECTIONS})


def grid_of(*frames: pl.DataFrame) -> int:
    """The longest slice of all: what both did in it counts as at one time."""
    longest = max(int((frame["end_ns"] - frame["begin_ns"]).max()) for frame in frames)  # type: ignore[arg-type]
    return max(longest, LEAST_GRID_NS)


def on_grid(frame: pl.DataFrame, grid_ns: int) -> pl.DataFrame:
    """The rows with `at`, their place on a grid."""
    return frame.with_columns(at=pl.col("begin_ns") // grid_ns)


def nobody() -> pl.DataFrame:
    """The frame of `partners` without a row."""
    numbers = ("start_ns", "end_ns", *AMOUNTS)
    schema = {KEY: pl.UInt64, "storage": pl.UInt64, "seconds": pl.Float64} | dict.fromkeys(numbers, pl.Int64)
    return pl.DataFrame(schema=schema)
