"""What a catalog has beside a job: who used its storages while it did, and quiet runs of its program.

A catalog in; frames, or jobs of the catalog, out. Two jobs were together on a storage where both made calls on it at
one time, to a slice.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from slicewise.catalog.kept import KeptJob, jobs_of, jobs_of_keys
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Batch, Catalog
from slicewise.digest.beside import MOST_RUNS
from slicewise.digest.outlines import Work
from slicewise.digest.processes import DIRECTIONS
from slicewise.scalars import whole

AMOUNTS = ("read_bytes", "write_bytes", "meta_ops")
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
    own = rows.filter(pl.col(KEY) == kept.key)
    others = rows.filter(
        pl.col("begin_ns") < own["end_ns"].max(),
        pl.col("end_ns") > own["begin_ns"].min(),
        pl.col("storage").is_in(own["storage"].unique().implode()),
        pl.col(KEY) != kept.key,
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


def neighbours_of(catalog: Catalog, kept: KeptJob) -> list[KeptJob]:
    """The jobs that used one of its storages while it did, those that moved most there first."""
    found = partners(catalog, kept)
    keys = found[KEY].unique(maintain_order=True).to_list()
    by_key = {job.key: job for job in jobs_of_keys(catalog, keys, *kept.times)}
    return [by_key[key] for key in keys if key in by_key]


def quiet_runs(catalog: Catalog, kept: KeptJob) -> list[KeptJob]:
    """Runs of its program that did the same kind of work and had no company, of its size and of others: MOST_RUNS each.

    Runs on its storages come first, since a run elsewhere says nothing of these; then those nearest in time.
    """
    start_ns, _ = kept.times
    is_other = (pl.col("program") == kept.row["program"]) & (pl.col(KEY) != kept.key) & ~pl.col("is_running")
    own = _work(kept)
    same = [job for job in jobs_of(catalog, is_other) if _work(job).is_as(own)]
    shared = _shared_storages(catalog, kept, same)
    same.sort(key=lambda job: (-shared.get(job.key, 0), abs(job.times[0] - start_ns)))
    found = []
    for is_like in (True, False):
        runs = [job for job in same if (job.row["processes"] == kept.row["processes"]) == is_like][:MOST_ASKED]
        alone = (job for job in runs if partners(catalog, job).is_empty())
        found += [job for job, _ in zip(alone, range(MOST_RUNS), strict=False)]
    return found


def _work(kept: KeptJob) -> Work:
    return Work(
        whole(kept.row["processes"]),
        {way: (whole(kept.row[f"{way}_bytes"]), whole(kept.row[f"{way}_ops"])) for way in DIRECTIONS},
    )


def _shared_storages(catalog: Catalog, kept: KeptJob, others: Sequence[KeptJob]) -> dict[int, int]:
    """On how many of a job's storages others moved bytes, too, by key; those with none are missing."""
    moved = pl.sum_horizontal("read_bytes", "write_bytes") > 0
    own = catalog.scan("storages", [kept.batch]).filter(moved, pl.col(KEY) == kept.key).select("storage").collect()
    batches = list({job.batch.place: job.batch for job in others}.values())
    rows = (
        catalog.scan("storages", batches)
        .filter(moved, pl.col("storage").is_in(own["storage"].implode()))
        .filter(pl.col(KEY).is_in([job.key for job in others]))
        .group_by(KEY)
        .agg(pl.col("storage").n_unique())
    )
    return dict(rows.collect().iter_rows())


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
