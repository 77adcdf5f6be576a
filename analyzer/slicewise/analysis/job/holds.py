"""Whose I/O held other ranks up in MPI, in which slices and for how long. Digest in, frames out."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from slicewise.analysis.job.mpi_waiting import COMMUNICATING, ns_of
from slicewise.digest.digest import Digest
from slicewise.kinds import KINDS

IO_KINDS = (*KINDS, "mpi_io")
LEAST_SHARE_OF_HOLD = 0.1  # of the time that the longest held rank was held: who was held less is not counted
HELD = {
    "slice": pl.Int64, "process": pl.UInt64, "kind": pl.String, "held": pl.UInt32, "seconds": pl.Float64,
}  # fmt: skip


@dataclass(frozen=True)
class Hold:
    """One process's I/O held others up: label, kind (read, write, meta, sync, mpi_io: where most of it was), held (how
    many others), seconds (the mean over them), waited (the sum over them), slices (in how many of these).
    """

    process: int
    label: str
    kind: str
    held: int
    seconds: float
    waited: float
    slices: int


def held_by_slice(digest: Digest, who: pl.DataFrame, communication: pl.DataFrame) -> pl.DataFrame:
    """slice, process, kind, held (how many others), seconds (the mean over them), in the order of slices.

    In each slice the rank with least time in MPI is the one that the others wait for. As far as it was in I/O for
    longer than they were, its I/O held them up.
    """
    if who.height < 2:
        return pl.DataFrame(schema=HELD)
    mpi = communication.group_by("process", "slice").agg(mpi=ns_of(COMMUNICATING) / 1e9, mpi_io=ns_of(("file",)) / 1e9)
    io = digest.process_slices.group_by("process", "slice").agg(
        **{kind: pl.col(f"{kind}_ns").sum() / 1e9 for kind in KINDS}
    )
    grid = who.select("process").join(mpi.select("slice").unique(), how="cross")
    rows = (
        grid.join(mpi, on=["process", "slice"], how="left")
        .join(io, on=["process", "slice"], how="left")
        .with_columns(pl.col("mpi", *IO_KINDS).fill_null(0.0))
        .with_columns(io=pl.sum_horizontal(*IO_KINDS))
    )
    critical = rows.sort("slice", "mpi", "process").unique("slice", keep="first", maintain_order=True)
    return (
        rows.join(critical, on="slice", suffix="_critical")
        .filter(pl.col("process") != pl.col("process_critical"))
        .with_columns(longer=pl.col("mpi") - pl.col("mpi_critical"))
        .filter(pl.col("longer") > LEAST_SHARE_OF_HOLD * pl.col("longer").max().over("slice"))
        .group_by("slice", "process_critical")
        .agg(
            held=pl.len(),
            waited=pl.col("longer").mean(),
            more=(pl.col("io_critical") - pl.col("io")).mean(),
            kind=pl.concat_list((pl.col(f"{kind}_critical") - pl.col(kind)).mean() for kind in IO_KINDS).list.arg_max(),
        )
        .with_columns(seconds=pl.min_horizontal("waited", "more"))
        .filter(pl.col("seconds") > 0)
        .sort("slice")
        .select(
            "slice",
            pl.col("process_critical").alias("process"),
            pl.col("kind").replace_strict(dict(enumerate(IO_KINDS)), return_dtype=pl.String),
            pl.col("held").cast(pl.UInt32),
            "seconds",
        )
    )


def holds_of(held: pl.DataFrame, who: pl.DataFrame) -> list[Hold]:
    """The holds of all slices by process and kind; who held others up longest comes first."""
    summed = held.group_by("process", "kind").agg(
        pl.col("held").max(),
        pl.col("seconds").sum(),
        waited=(pl.col("seconds") * pl.col("held")).sum(),
        slices=pl.len(),
    )
    labels = dict(who.select("process", "label").iter_rows())
    holds = [
        Hold(process, labels[process], kind, count, seconds, waited, slices)
        for process, kind, count, seconds, waited, slices in summed.iter_rows()
    ]
    return sorted(holds, key=lambda hold: (-hold.seconds, hold.label))
