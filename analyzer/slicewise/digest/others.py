"""Everybody else on the nodes: processes without a profile that are not the job's, as root's collector sampled them, by
user and slice.

What the kernel counted of them takes in pipes, terminals and sockets beside files, and no storage: it is in no other
frame. A user is a number, or nobody (null): all users together whom the site does not name.
"""

from collections.abc import Iterator, Mapping

import polars as pl

from slicewise.digest.nodes import is_within, runs_of
from slicewise.digest.sampled import COUNTS, UNSURE
from slicewise.digest.schema import FRAMES, conform

TABLE = "node_others"
NOT_NAMED = 0xFFFF_FFFF
REFUSED, LEFT_OUT = "others_refused", "others_left_out"


def others(tables: Mapping[str, pl.DataFrame], slice_ns: int, start_ns: int, end_ns: int | None) -> pl.DataFrame:
    """The frame `others`. tables: nodes and node_others, as a profile has them. slice_ns: of the slices that are told.
    Slices outside of the job's time are left out; end_ns: None while it runs.
    """
    if tables[TABLE].is_empty() or tables["nodes"].is_empty():
        return pl.DataFrame(schema=FRAMES["others"].polars_schema)
    found = (
        tables[TABLE]
        .join(runs_of(tables), on="process")
        .select(
            "node",
            user=pl.when(pl.col("user") != NOT_NAMED).then(pl.col("user").cast(pl.Int64)),
            slice=(pl.col("slice") * pl.col("run_slice_ns") // slice_ns).cast(pl.Int64),
            processes="processes",
            **{name: pl.col(column) for name, column in COUNTS.items()},
            **{UNSURE: pl.col(UNSURE)},
        )
        .filter(is_within(slice_ns, start_ns, end_ns))
        .group_by("node", "user", "slice")
        .agg(pl.col("processes", UNSURE).max(), pl.col(*COUNTS).sum())
    )
    return conform("others", found.sort("node", "user", "slice"))


def not_told(job: str, nodes: pl.DataFrame) -> Iterator[str]:
    """Which collectors could not count all others. nodes: as a profile has them."""
    if REFUSED not in nodes.columns:
        return
    by_node = nodes.group_by(pl.col("host").cast(pl.String)).agg(pl.col(REFUSED).max(), pl.col(LEFT_OUT).sum())
    for node, refused, left_out in by_node.sort("host").iter_rows():
        if refused:
            yield (
                f"{job}: on {node} the kernel did not tell what others' processes moved, {refused:,} of them: it is "
                "not among the unprofiled neighbours"
            )
        if left_out:
            yield (
                f"{job}: on {node} {left_out:,} times a process of others could not be counted: what it moved is "
                "missing from the unprofiled neighbours"
            )
