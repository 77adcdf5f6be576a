"""Neighbours without a profile on the job's nodes, by user, as sentences, a table with a chart, and JSON."""

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import polars as pl

from slicewise.analysis.nodes.causes import beside_slow, by_user
from slicewise.charts import style
from slicewise.charts import throughput as charts
from slicewise.constants import WORTH_NAMING_BYTES
from slicewise.digest.digest import Digest
from slicewise.report import columns
from slicewise.report.page import Section
from slicewise.text import words
from slicewise.text.words import user_name

HEADING = "Unprofiled neighbours on this job's nodes"
NOTE = (
    "Processes that are not this job's and have no profile, by user, sampled from outside by the node's collector. "
    "Counts are the kernel's, of files, pipes and terminals alike, and in no other figure of this page. Which file "
    "system they used is not known. What a process did after the last look at it may be missing."
)
MOST_NODES, MOST_USERS, MOST_ROWS, MOST_LINES = 3, 3, 20, 4


def other_lines(digest: Digest) -> Iterator[str]:
    """What others moved on each node while the job ran: the nodes on which they moved most."""
    found = by_user(digest)
    nodes = found.group_by("node").agg(moved=(pl.col("read_bytes") + pl.col("write_bytes")).sum())
    busy = nodes.filter(pl.col("moved") >= WORTH_NAMING_BYTES).sort("moved", "node", descending=[True, False])
    for node in busy["node"].head(MOST_NODES):
        rows = found.filter(pl.col("node") == node)
        told = [
            row for row in rows.iter_rows(named=True) if row["read_bytes"] + row["write_bytes"] >= WORTH_NAMING_BYTES
        ]
        said = [
            f"{_who(row)} {words.wrote_and_read(row['write_bytes'], row['read_bytes'])} "
            f"(most about {words.clock(row['busiest_ns'])})"
            for row in (told or rows.head(1).to_dicts())[:MOST_USERS]
        ]
        yield f"Unprofiled neighbours on {node}, by the kernel's count: {'; '.join(said)}; sampled."
    more = busy.height - MOST_NODES
    if more > 0:
        where = words.count(more, "more node")
        yield f"Unprofiled neighbours moved {words.size(WORTH_NAMING_BYTES)} and more on {where}, too."

    beside = beside_slow(digest) if busy.height else None
    if beside is not None:
        slow, other = words.slices_of(beside.slow, digest.slice_ns), words.count(beside.other, "slice")
        yield (
            f"In the {slow} in which a byte took this job more than twice its usual time to {beside.direction}, "
            f"these neighbours moved {words.rate(beside.slow_rate)}; in its other {other} with I/O "
            f"{words.rate(beside.other_rate)}. That is no proof: which file system they used is not known."
        )


def others_record(digest: Digest) -> dict[str, Any] | None:
    """As docs/commands.md has it; None where nobody else was sampled."""
    if digest.others.is_empty():
        return None
    slices = {key: rows.drop("node", "user").to_dicts() for key, rows in digest.others.group_by("node", "user")}
    users = [row | {"slices": slices[row["node"], row["user"]]} for row in by_user(digest).iter_rows(named=True)]
    return {"slice_seconds": digest.node_slice_ns / 1e9, "users": users, "beside_slow": beside_slow(digest)}


def others_sections(digest: Digest, slices: range, slice_ns: int) -> list[Section]:
    """A chart on the axis of the job's slices, and a table; nothing where nobody else was sampled."""
    found = by_user(digest)
    if found.is_empty():
        return []
    table = columns.table(
        found.head(MOST_ROWS).iter_rows(named=True),
        columns.text("node", "node"),
        columns.text("user", _who),
        columns.count("processes at most", "processes"),
        columns.size("written", "write_bytes"),
        columns.count("write calls", "write_ops"),
        columns.size("read", "read_bytes"),
        columns.count("read calls", "read_ops"),
        columns.text("most of it about", lambda row: words.clock(row["busiest_ns"])),
    )
    sampled = digest.node_samples["slice"].unique().sort().to_list()
    chart = None
    if len(slices) > 0:
        chart = charts.over_time(
            list(_lines(digest, found)), sampled, digest.node_slice_ns, slices, slice_ns, "MiB/s"
        )  # fmt: skip
    note = f"{len(table.rows):,} of {words.count(found.height, 'user and node', 'users and nodes')}. {NOTE}"
    return [Section(HEADING, chart=chart, tables=[table], note=note, is_linked=chart is not None)]


def _lines(digest: Digest, found: pl.DataFrame) -> Iterator[charts.NodeLine]:
    scale = words.MIB * digest.node_slice_ns / 1e9
    for row, colour in zip(found.head(MOST_LINES).iter_rows(named=True), cycle(style.JOB_COLOURS), strict=False):
        is_its = (pl.col("node") == row["node"]) & pl.col("user").eq_missing(row["user"])
        rows = digest.others.filter(is_its)
        for way in ("write", "read"):
            values = rows.select("slice", value=pl.col(f"{way}_bytes") / scale)
            name = f"{style.safe(_who(row))} on {style.safe(row['node'])}: {words.DID[way]}"
            yield charts.NodeLine(name, colour, values, is_second=way == "read")


def _who(row: dict[str, Any]) -> str:
    if row["user"] is None:
        return "all other users together"
    own = ", this job's own" if row["is_own_user"] else ""
    return f"user {user_name(row['user'])}{own}"
