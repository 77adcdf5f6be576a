"""Which occurrences of regions lost how much, and to whom.

A slice's loss is each occurrence's by its part of the job's time in calls there.
"""

from collections.abc import Sequence

import polars as pl

from slicewise.analysis.blame.result import Neighbour
from slicewise.analysis.job.regions import IN_CALLS, KEY, has_regions, in_slices, occurrences
from slicewise.constants import SECOND_NS
from slicewise.digest.digest import Digest

SCHEMA = {
    "region": pl.String,
    "occurrence": pl.Int64,
    "neighbour": pl.String,
    "begin_ns": pl.Int64,
    "end_ns": pl.Int64,
    "lost_seconds": pl.Float64,
}


def lost_in_regions(
    digest: Digest, shares: pl.DataFrame, neighbours: Sequence[Neighbour], grid_ns: int
) -> pl.DataFrame:
    """SCHEMA: of each occurrence of a region and neighbour that cost it time, seconds of the job's runtime, the most
    first. shares, neighbours: of a `Blame`. Regions lie within each other, and so do their losses.
    """
    if not has_regions(digest) or shares.is_empty() or not neighbours:
        return pl.DataFrame(schema=SCHEMA)
    cost = pl.DataFrame(
        [(one.job, one.lost.value) for one in neighbours],
        schema={"neighbour": pl.String, "cost": pl.Float64},
        orient="row",
    )
    of_slices = shares.group_by("neighbour", "slice").agg(pl.col("lost_seconds").sum())
    whole = pl.col("lost_seconds").sum().over("neighbour")
    of_slices = of_slices.join(cost, on="neighbour", nulls_equal=True).filter(whole > 0)
    of_slices = of_slices.with_columns(lost_seconds=pl.col("lost_seconds") / whole * pl.col("cost"))
    own = digest.processes.filter("is_of_job").select("process")
    job = (
        digest.process_slices.join(own, on="process", how="semi")
        .group_by(slice=pl.col("slice") // (grid_ns // digest.slice_ns))
        .agg(in_calls=pl.sum_horizontal(IN_CALLS).sum() / SECOND_NS)
    )
    share = (pl.col("io_seconds") / pl.col("in_calls")).clip(0, 1)
    lost = (
        in_slices(digest, grid_ns)
        .join(job.filter(pl.col("in_calls") > 0), on="slice")
        .join(of_slices, on="slice")
        .group_by(*KEY, "neighbour")
        .agg((pl.col("lost_seconds") * share).sum())
        .filter(pl.col("lost_seconds") > 0)
    )
    found = lost.join(occurrences(digest), on=KEY).select(pl.col(name).cast(of) for name, of in SCHEMA.items())
    return found.sort("lost_seconds", *KEY, "neighbour", descending=[True, False, False, False])
