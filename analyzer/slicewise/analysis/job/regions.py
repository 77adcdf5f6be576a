"""Regions that a program marked (epochs, checkpoints, batches): each occurrence, each name, and what each slice had.

Ranks begin a region together: the occurrences of one number in several ranks are one. Other processes go by
themselves, and their occurrences are numbered by when they began.
"""

import polars as pl

from slicewise.constants import SECOND_NS
from slicewise.digest.digest import Digest
from slicewise.digest.processes import are_ranks

KEY = ("region", "occurrence")
SUMS = ("read_bytes", "write_bytes", "calls")
TIMES = ("io_seconds", "mpi_seconds")
UNNAMED = "(further names)"
IN_CALLS = ("read_ns", "write_ns", "meta_ns", "sync_ns")


def has_regions(digest: Digest) -> bool:
    return "regions" not in digest.not_kept and not digest.regions.is_empty()


def _rows(digest: Digest) -> pl.DataFrame:
    """`digest.regions` of the job's own processes, with the job's numbers of occurrences."""
    own = digest.processes.filter("is_of_job")
    rows = digest.regions.join(own.select("process"), on="process", how="semi").with_columns(
        region=pl.when(pl.col("region") == "").then(pl.lit(UNNAMED)).otherwise("region"),
        seconds=pl.col("ns") / SECOND_NS,
        io_seconds=pl.col("io_ns") / SECOND_NS,
        mpi_seconds=pl.col("mpi_ns") / SECOND_NS,
    )
    if own.select(are_ranks()).item():
        return rows
    is_one = pl.col("occurrence") > 0
    numbered = pl.when(is_one).then(pl.col("begin_ns").rank("ordinal").over("region", is_one)).otherwise(0)
    return rows.with_columns(occurrence=numbered.cast(pl.Int64))


def occurrences(digest: Digest) -> pl.DataFrame:
    """One row each that is known by itself, in the order of time: region, occurrence, processes, begin_ns, end_ns,
    seconds (of the process that was in it for longest), SUMS and TIMES, both added up over processes.
    """
    rows = _rows(digest).filter(pl.col("occurrence") > 0)
    return (
        rows.group_by(KEY)
        .agg(
            pl.col("process").n_unique().alias("processes"),
            pl.col("begin_ns").min(),
            pl.col("end_ns").max(),
            pl.col("seconds").max(),
            pl.col(SUMS + TIMES).sum(),
        )
        .sort("begin_ns", *KEY)
    )


def by_name(digest: Digest) -> pl.DataFrame:
    """One row each, that with most time first: region, occurrences (of the process with most; where there are no ranks,
    of all), processes, seconds, SUMS and TIMES (added up over processes), slowest (the longest occurrence that is known
    by itself; null: none is), slowest_seconds (of any), left (ended by what was around them).
    """
    rows = _rows(digest)
    is_ranks = digest.processes.filter("is_of_job").select(are_ranks()).item()
    of_each = rows.group_by("region", "process").agg(pl.col("occurrences").sum())
    times = pl.col("occurrences").max() if is_ranks else pl.col("occurrences").sum()
    counted = of_each.group_by("region").agg(times, processes=pl.len())
    slowest = pl.col("occurrence").sort_by("slowest_ns", "occurrence", descending=[True, False]).first()
    summed = rows.group_by("region").agg(
        pl.col("seconds", *SUMS, *TIMES).sum(),
        slowest=pl.when(slowest > 0).then(slowest),
        slowest_seconds=pl.col("slowest_ns").max() / SECOND_NS,
        left=pl.col("left").sum(),
    )
    return counted.join(summed, on="region").sort("seconds", "region", descending=[True, False])


def in_slices(digest: Digest, grid_ns: int) -> pl.DataFrame:
    """What occurrences had in each slice of the grid, added up over processes: region, occurrence, slice, seconds,
    read_bytes, write_bytes, calls, io_seconds, mpi_seconds. The time is exact. The others add up to the occurrence's;
    which slice they are in is known from what its process did in each slice, and in the first and the last one only by
    time.
    """
    rows = _rows(digest).filter(pl.col("occurrence") > 0).with_row_index("row")
    last_ns = pl.max_horizontal("begin_ns", pl.col("end_ns") - 1)
    did = digest.process_slices.group_by("process", slice=pl.col("slice") // (grid_ns // digest.slice_ns)).agg(
        did=pl.sum_horizontal(IN_CALLS).sum()
    )
    spread = rows.with_columns(slice=pl.int_ranges(pl.col("begin_ns") // grid_ns, last_ns // grid_ns + 1)).explode(
        "slice"
    )
    begin, end = pl.max_horizontal("begin_ns", pl.col("slice") * grid_ns), (pl.col("slice") + 1) * grid_ns
    spread = spread.join(did, on=["process", "slice"], how="left").with_columns(
        within=(pl.min_horizontal("end_ns", end) - begin) / SECOND_NS
    )
    weight = pl.col("did").fill_null(0) * pl.col("within")

    def part(by: pl.Expr, otherwise: pl.Expr) -> pl.Expr:
        whole = by.sum().over("row")
        return pl.when(whole > 0).then(by / whole).otherwise(otherwise)

    by_time = part(pl.col("within"), 1 / pl.len().over("row"))
    shares = spread.with_columns(by_time=by_time).with_columns(by_calls=part(weight, pl.col("by_time")))
    counted = (pl.col(name) * pl.col("by_calls") for name in (*SUMS, "io_seconds"))
    return (
        shares.group_by(*KEY, "slice")
        .agg(
            pl.col("within").sum().alias("seconds"),
            *(one.sum() for one in counted),
            (pl.col("mpi_seconds") * pl.col("by_time")).sum(),
        )
        .sort("slice", *KEY)
    )
