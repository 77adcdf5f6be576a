"""What the nodes' collectors sampled, as a table. Nodes are counted as a whole, and every label says so."""

import polars as pl

from slicewise.digest import nodes
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words

MOST_NODES = 4
MOST_DEVICES = 3


def said(value: float, unit: str) -> str:
    if unit == nodes.SHARE:
        return words.percent(value)
    if unit == "bytes/s":
        return words.rate(value)
    if unit == "bytes":
        return words.size(value)
    if unit == "s":
        return words.duration(value)
    return f"{words.number(value)}/s" if unit.endswith("/s") else words.number(value)


def of_cgroups() -> pl.Expr:
    """Whether a row of `node_samples.moved` is of the job's control group, and not of a whole node."""
    return pl.col("kind").is_in(["cgroup", "cgroup_disk", "cgroup_mount"])


def cgroup_line(moved: pl.DataFrame) -> str:
    nodes = words.count(moved["node"].n_unique(), "node")
    return f"The job's own control group on {nodes}, as the kernel counts it, with processes that were not profiled:"


def node_lines(moved: pl.DataFrame) -> list[str]:
    nodes = moved["node"].n_unique()
    if nodes == 0:
        return []
    of_whom = "the whole node" if nodes == 1 else "whole nodes"
    return [f"Of {of_whom}, with all that ran there besides this job:"]


def nodes_table(moved: pl.DataFrame, slice_ns: int) -> Table:
    """A row a node and signal of `node_samples.moved`: the nodes that waited most for I/O, and their busiest devices.
    slice_ns: of the samples."""
    table = Table(
        [Column("node", is_figure=False), Column("device", is_figure=False), Column("signal", is_figure=False),
         Column("mean"), Column("highest"), Column("in the slice of", is_figure=False)]
    )  # fmt: skip
    is_shown = (pl.col("kind") == "node") | (pl.col("device").rle_id().over("node", "kind") < MOST_DEVICES)
    rows = moved.filter(is_shown)
    nodes = _most_waiting_first(moved)
    for node in nodes[:MOST_NODES]:
        last: tuple[str, str] = ("", "")
        for place, row in enumerate(rows.filter(pl.col("node") == node).iter_rows(named=True)):
            device = (row["kind"], row["device"])
            table.add(
                node if place == 0 else "", "" if device == last else row["device"], row["meaning"],
                Cell(said(row["mean"], row["unit"]), row["mean"]),
                Cell(said(row["highest"], row["unit"]), row["highest"]),
                words.clock(row["highest_ns"], slice_ns),
            )  # fmt: skip
            last = device
    if len(nodes) > MOST_NODES:
        table.add(f"and {len(nodes) - MOST_NODES:,} more", "", "", "", "", "")
    return table


def _most_waiting_first(moved: pl.DataFrame) -> list[str]:
    waited = pl.col("mean").filter(pl.col("signal") == "io_stall").sum()
    nodes = moved.group_by("node").agg(waited=waited)
    return nodes.sort("waited", "node", descending=[True, False])["node"].to_list()
