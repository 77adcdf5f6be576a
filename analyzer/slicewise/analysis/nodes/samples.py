"""What the nodes' signals did while a job ran: means over time, and the highest slice.

Digest's frames in, frames out. Nodes are counted as a whole: whatever else ran there is in these figures.
"""

import polars as pl

from slicewise.digest.digest import Digest
from slicewise.digest.nodes import DEVICE_KEYS, SHARE, SIGNALS, values


def moved(digest: Digest) -> pl.DataFrame:
    """What did not stay 0: node, kind, device, signal, meaning, unit, mean (over the time sampled), highest (of a
    slice), highest_ns (when that slice began).

    Of a slice that was sampled for less than half of its time no highest is taken, unless there is no other. Sorted by
    node, and then in the order of `SIGNALS`, devices with the most first.
    """
    order = pl.DataFrame(
        [(place, name, signal.table, signal.meaning, signal.unit, signal.per is None)
         for place, (name, signal) in enumerate(SIGNALS.items())],
        schema=["place", "signal", "table", "meaning", "unit", "is_over_time"], orient="row",
    )  # fmt: skip
    samples = digest.node_samples
    of_nodes = samples.group_by("node").agg(
        node_seconds=pl.col("seconds").sum(),
        least_seconds=pl.min_horizontal(pl.col("seconds").max(), digest.node_slice_ns / 1e9) / 2,
    )
    is_share = pl.col("unit") == SHARE
    mean = pl.col("amount") / pl.when("is_over_time").then(pl.col("node_seconds")).otherwise(pl.col("per"))
    keys = [*DEVICE_KEYS, "signal"]
    return (
        values(digest.node_slices)
        .join(samples, on=["node", "slice"])
        .join(of_nodes, on="node")
        .with_columns(is_whole=pl.col("seconds") >= pl.col("least_seconds"))
        .sort("is_whole", "value", "slice", descending=[True, True, False])
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col("amount", "per").sum(),
            pl.col("node_seconds").first(),
            highest=pl.col("value").first(),
            highest_ns=pl.col("slice").first() * digest.node_slice_ns,
        )
        .join(order, on="signal")
        .with_columns(mean=pl.when(is_share).then(mean.clip(upper_bound=1.0)).otherwise(mean))
        .with_columns(most=pl.col("amount").max().over(DEVICE_KEYS))
        .with_columns(table_place=pl.col("place").min().over("table"))
        .sort(
            "node",
            "table_place",
            "kind",
            "most",
            "device",
            "place",
            descending=[False, False, False, True, False, False],
        )
        .select(*keys, "meaning", "unit", "mean", "highest", "highest_ns")
    )
