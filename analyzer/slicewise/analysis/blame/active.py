"""Who was active on a job's storages meanwhile, and how much of the storages' time each of them took.

Frames in, frames out.
"""

from collections.abc import Collection, Mapping

import polars as pl

from slicewise.analysis.blame.result import Bystander
from slicewise.analysis.calls import AMOUNTS, SECONDS
from slicewise.analysis.capacity.by_kind import Capacities, in_calls, storage_seconds, took_time
from slicewise.digest.slices import BYTES
from slicewise.digest.storages import LIMIT_REQUESTS

# What joins rows of those who were there.
WHO = ("job", "storage", "slice")


def with_nobody(rows: pl.DataFrame, rest: pl.DataFrame, grid_ns: int) -> pl.DataFrame:
    """Rows of jobs, and traffic without a profile as those of a job without a name: nobody counted its metadata
    operations and its time.
    """
    nobody = rest.with_columns(
        pl.lit(0, pl.Int64).alias("meta_ops"),
        pl.lit(None, pl.String).alias("job"),
        *(pl.lit(grid_ns / 1e9).alias(name) for name in SECONDS.values()),
    )
    return pl.concat([rows, nobody.select(rows.columns)])


def active_on(
    rows: pl.DataFrame,
    known: Mapping[int, Capacities],
    by_requests: pl.DataFrame,
    parts: pl.DataFrame,
    grid_ns: int,
) -> pl.DataFrame:
    """Who was active on storages, or waited in calls there: neighbour (null: no profile), storage, slice, AMOUNTS and
    {kind}_taken.

    rows: of others, with `with_nobody`. by_requests: of `time_of_requests`, which counts where it is known.
    parts: of `disk_parts`, by which rows have their bytes.
    """
    fetched = parts.select("job", "storage", is_of_disk=pl.col("read_bytes_part").is_not_null())
    taken = storage_seconds(
        rows.join(fetched, on=["job", "storage"], how="left", maintain_order="left"), known, grid_ns
    )
    if not by_requests.is_empty():
        taken = _with_those_of_requests(taken, by_requests)
        there = by_requests.rename({kind: f"{kind}_requests" for kind in LIMIT_REQUESTS})
        taken = taken.join(there, on=WHO, how="left", nulls_equal=True, maintain_order="left").with_columns(
            pl.coalesce(f"{kind}_requests", f"{kind}_taken").alias(f"{kind}_taken") for kind in LIMIT_REQUESTS
        )
    return (
        taken.filter(took_time() | (in_calls(grid_ns) & pl.col("job").is_not_null()))
        .select(pl.col("job").alias("neighbour"), "storage", "slice", *AMOUNTS.values(), "^.*_taken$")
        .sort("storage", "slice", "neighbour")
    )


def bystanders(rows: pl.DataFrame, company: pl.DataFrame, storages: Collection[int]) -> list[Bystander]:
    """The profiled jobs that were on some storages and took none of their time. rows: of others, with `with_nobody`;
    company: of those who took some (`active_on`).
    """
    there = rows.filter(pl.col("storage").is_in(list(storages)), pl.col("job").is_not_null())
    idle = there.remove(pl.col("job").is_in(company["neighbour"].drop_nulls().unique().implode()))
    moved = pl.sum_horizontal(pl.col(BYTES).sum())
    seconds = pl.sum_horizontal(pl.col(SECONDS.values()).sum())
    did = idle.group_by("job").agg(moved=moved, meta_ops=pl.col("meta_ops").sum(), seconds=seconds).sort("job")
    return [Bystander(*one) for one in did.iter_rows()]


def _with_those_of_requests(taken: pl.DataFrame, by_requests: pl.DataFrame) -> pl.DataFrame:
    more = by_requests.join(taken, on=WHO, how="anti", nulls_equal=True).select(WHO)
    return pl.concat([taken, more], how="diagonal").with_columns(pl.exclude(WHO).fill_null(0))
