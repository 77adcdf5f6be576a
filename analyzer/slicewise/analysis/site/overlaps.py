"""Who was together with whom, on what storage, and for how long.

A catalog in, frames out. Jobs were together on a storage where both made calls on it at one time, to a slice.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from slicewise.analysis.site.jobs import with_key_text
from slicewise.catalog.beside import AMOUNTS, grid_of, nobody, on_grid
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Batch, Catalog

# Of so many jobs pairs are looked for; pairs of a day's hundred thousand would be billions of rows.
MOST_JOBS = 1000


def pairs(catalog: Catalog, batches: Sequence[Batch], start_ns: int, end_ns: int, most: int) -> pl.DataFrame:
    """The pairs of jobs that were together longest between two instants: key, other, storage, seconds, start_ns,
    end_ns, and what both did together in that time: read_bytes, write_bytes, meta_ops.

    most: so many pairs. Looked at are the MOST_JOBS jobs that moved most then: others cost nobody much.
    """
    rows = (
        catalog.scan("job_slices", batches)
        .filter(pl.col("begin_ns") < end_ns, pl.col("end_ns") > start_ns)
        .select(KEY, "storage", "begin_ns", "end_ns", *AMOUNTS)
        .collect()
    )
    moved = rows.group_by(KEY).agg(moved=pl.sum_horizontal("read_bytes", "write_bytes").sum())
    rows = rows.join(moved.sort("moved", KEY, descending=[True, False]).head(MOST_JOBS), on=KEY, how="semi")
    if rows.is_empty():
        return pl.DataFrame(schema={KEY: pl.UInt64, "other": pl.UInt64, **nobody().drop(KEY).schema})
    grid_ns = grid_of(rows)
    placed = (
        on_grid(rows, grid_ns).group_by(KEY, "storage", "at").agg(*(pl.col(name).sum() for name in AMOUNTS))
    ).lazy()
    both = placed.join(placed, on=["storage", "at"], suffix="_other").filter(pl.col(KEY) < pl.col(f"{KEY}_other"))
    return (
        both.group_by(KEY, pl.col(f"{KEY}_other").alias("other"), "storage")
        .agg(
            seconds=pl.len().cast(pl.Int64) * grid_ns / 1e9,
            start_ns=pl.col("at").min() * grid_ns,
            end_ns=(pl.col("at").max() + 1) * grid_ns,
            **{name: pl.col(name).sum() + pl.col(f"{name}_other").sum() for name in AMOUNTS},
        )
        .sort("seconds", "read_bytes", "write_bytes", KEY, "other", descending=[True, True, True, False, False])
        .head(most)
        .collect()
    )


def named(catalog: Catalog, found: pl.DataFrame, batches: Sequence[Batch]) -> pl.DataFrame:
    """The frame with names: key and other as text, job, user, program of each key, and the storage's point and type."""
    jobs = catalog.scan("jobs", batches).select(KEY, "job", "user", "program")
    where = (
        catalog.scan("storages", batches)
        .group_by("storage")
        .agg(pl.col("point").mode().sort().first(), pl.col("type").first(), pl.col("source").first())
        .rename({"source": "storage_source"})
    )
    frame = found.lazy().join(jobs, on=KEY, how="left", maintain_order="left")
    if "other" in found.columns:
        theirs = jobs.rename({KEY: "other", "job": "other_job", "user": "other_user", "program": "other_program"})
        frame = frame.join(theirs, on="other", how="left", maintain_order="left")
    told = frame.join(where, on="storage", how="left", maintain_order="left").drop("storage").collect()
    told = told.rename({"point": "storage", "type": "storage_type"})
    for column in (KEY, "other"):
        if column in told.columns:
            told = with_key_text(told, column)
    return told
