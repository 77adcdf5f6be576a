"""Which slices jobs filled: decided here and nowhere else."""

from __future__ import annotations

import polars as pl

from slicewise.constants import FILLED


def full_slices(activity: pl.DataFrame) -> pl.DataFrame:
    """Each job's full slices: job, slice, bytes, in order. activity: what `activity` gives, of one job or several. A
    full slice lies between a job's first and last slice with bytes (the job need not have filled these two), and in it
    90 % of the processes that ever moved bytes moved some.
    """
    moved = activity.filter(pl.col("bytes") > 0).select(
        "job",
        "process",
        "slice",
        "bytes",
        least=FILLED * pl.col("process").n_unique().over("job"),
        is_inner=pl.col("slice").is_between(
            pl.col("slice").min().over("job"), pl.col("slice").max().over("job"), closed="none"
        ),
    )
    return (
        moved.filter("is_inner")
        .group_by("job", "slice")
        .agg(pl.col("bytes").sum(), at_work=pl.col("process").n_unique(), least=pl.col("least").first())
        .filter(pl.col("at_work") >= pl.col("least"))
        .select("job", "slice", "bytes")
        .sort("job", "slice")
    )
