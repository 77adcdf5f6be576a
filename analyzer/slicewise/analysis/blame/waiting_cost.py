"""What a second that ranks lost in I/O cost a job, as others waited for them in MPI. Frames in, numbers out."""

from __future__ import annotations

import polars as pl

from slicewise.analysis.blame.result import CostByWaiting
from slicewise.analysis.job.split import Split


def cost_by_waiting(split: Split, slice_ns: int, slices: pl.DataFrame | None, grid_ns: int) -> CostByWaiting:
    """slice_ns: the length of the split's slices. slices: of a Blame, in slices of the grid, with what the job lost
    there; None where its loss is not known, or not claimed.

    A slice's I/O that held ranks up lost the same share as the mean process's I/O in that slice.
    """
    held = split.held.select(
        "seconds", slice=pl.col("slice") // (grid_ns // slice_ns), waited=pl.col("seconds") * pl.col("held")
    )
    seconds, waited = (float(held[name].sum()) for name in ("seconds", "waited"))
    if slices is None:
        return CostByWaiting(split, seconds, waited, None, None)
    lost = (
        slices.group_by("slice")
        .agg(pl.col("lost_seconds", "seconds").sum())
        .filter(pl.col("seconds") > 0)
        .select("slice", share=(pl.col("lost_seconds") / pl.col("seconds")).clip(upper_bound=1))
    )
    of_slices = held.join(lost, on="slice")
    sums = of_slices.select((pl.col(name) * pl.col("share")).sum().clip(0) for name in ("seconds", "waited"))
    return CostByWaiting(split, seconds, waited, *sums.row(0))
