"""What the nodes' collectors sampled, as charts of a page.

Nodes are counted as a whole, and every label says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Literal

import polars as pl

from slicewise.analysis.nodes.samples import moved
from slicewise.charts import nodes as charts
from slicewise.charts import style
from slicewise.digest import nodes
from slicewise.digest.digest import Digest
from slicewise.report.nodes.node_words import MOST_DEVICES, cgroup_line, nodes_table, of_cgroups
from slicewise.report.page import Section
from slicewise.text import words


@dataclass(frozen=True)
class _Chart:
    """signals: each with its name in the chart; the second of a pair is drawn dotted in the colour of the first.

    of_nodes: what is drawn of several nodes, the highest or the sum.
    """

    heading: str
    unit: str
    scale: float
    of_nodes: Literal["highest", "sum"]
    pairs: Sequence[Sequence[tuple[str, str]]]


CHARTS = (
    _Chart("pressure, tasks that waited", "% of the time", 0.01, "highest", (
        (("io_stall", "some for I/O"), ("io_full_stall", "all for I/O")),
        (("cpu_stall", "some for a processor"),),
        (("memory_stall", "some for memory"), ("memory_full_stall", "all for memory")),
    )),
    _Chart("network interfaces", "MiB/s", words.MIB, "sum", (
        (("network_sent", "sent"), ("network_received", "received")),
    )),
    _Chart("network mounts", "MiB/s", words.MIB, "sum", (
        (("nfs_written", "written"), ("nfs_read", "read")), (("lustre_written", "written"), ("lustre_read", "read")),
    )),
    _Chart("disks", "MiB/s", words.MIB, "sum", ((("disk_written", "written"), ("disk_read", "read")),)),
    _Chart("disks, time in which they were busy", "% of the time", 0.01, "highest", ((("disk_busy", "busy"),),)),
    _Chart("page cache", "MiB", words.MIB, "sum", (
        (("dirty_bytes", "to be written"), ("writeback_bytes", "being written")),
    )),
    _Chart("TCP, segments sent again and windows closed", "times/s", 1, "sum", (
        (("tcp_retransmissions", "segments sent again"), ("tcp_timeouts", "timers that ran out")),
        (("tcp_to_zero_window", "windows closed"), ("tcp_want_zero_window", "would have been closed")),
    )),
    _Chart("TCP connections to storage, time with data under way", "% of the time", 0.01, "highest", (
        (("connection_busy", "data under way"), ("connection_window_limited", "held up by the receiver's window")),
    )),
    _Chart("TCP connections to storage, round trip", "ms", 0.001, "highest", (
        (("connection_round_trip", "round trip"),),
    )),
    _Chart("TCP connections to storage, segments under way", "segments", 1, "sum", (
        (("connection_congestion_window", "congestion window"), ("connection_unacknowledged", "under way")),
    )),
    _Chart("TCP connections to storage, segments sent again", "times/s", 1, "sum", (
        (("connection_retransmissions", "segments sent again"),),
    )),
)  # fmt: skip


CGROUP_NOTE = (
    "The kernel's count of all that ran in the control group, the profiled processes and the others. No other figure "
    "of this page has it. A disk counts a buffered write when the kernel writes it out: seconds after the call, or "
    "after the job's end, and for the group that made the page dirty first. Network file systems are no disks, and a "
    "read from the page cache reaches none."
)


def node_sections(digest: Digest, slices: range, slice_ns: int) -> list[Section]:
    """A section a chart that has anything to show, on the axis of the job's slices."""
    begin_ns, end_ns = slices.start * slice_ns, slices.stop * slice_ns
    begins_ns = pl.col("slice") * digest.node_slice_ns
    is_on_axis = (begins_ns + digest.node_slice_ns > begin_ns) & (begins_ns < end_ns)
    values = nodes.values(digest.node_slices).filter(is_on_axis)
    sampled = digest.node_samples.filter(is_on_axis)
    sections = []
    for chart in CHARTS:
        lines = list(_lines(values, chart))
        if not lines:
            continue
        figure = charts.over_time(
            lines, sampled["slice"].to_list(), digest.node_slice_ns, slices, slice_ns, chart.unit
        )  # fmt: skip
        note = _note(sampled, digest.node_slice_ns, chart)
        sections.append(Section(f"Whole node: {chart.heading}", chart=figure, note=note, is_linked=True))
    return sections


def cgroup_sections(digest: Digest) -> list[Section]:
    """The job's own control groups as a table; none where nobody sampled one."""
    of_group = moved(digest).filter(of_cgroups())
    if of_group.is_empty():
        return []
    table = nodes_table(of_group, digest.node_slice_ns)
    return [Section("The job's control group", text=[cgroup_line(of_group)], tables=[table], note=CGROUP_NOTE)]


def _lines(values: pl.DataFrame, chart: _Chart) -> Iterator[charts.Line]:
    """The lines of a chart: of devices, which are told apart by name, those that had most."""
    colours = cycle(style.JOB_COLOURS)
    for pair in chart.pairs:
        rows = values.filter(pl.col("signal").is_in([signal for signal, _ in pair]))
        most = rows.group_by("device").agg(pl.col("amount").sum()).sort("amount", "device", descending=[True, False])
        for device in most["device"].head(MOST_DEVICES):
            colour = next(colours)
            for place, (signal, name) in enumerate(pair):
                of_nodes = pl.col("value").max() if chart.of_nodes == "highest" else pl.col("value").sum()
                line = (
                    rows.filter(pl.col("signal") == signal, pl.col("device") == device)
                    .group_by("slice")
                    .agg(of_nodes / chart.scale)
                )
                if line.height:
                    label = f"{style.safe(style.shortened(device))}: {name}" if device else name
                    yield charts.Line(label, colour, line, is_second=place > 0)


def _note(sampled: pl.DataFrame, slice_ns: int, chart: _Chart) -> str:
    nodes = sampled["node"].n_unique()
    behind = f"{words.slices_of(sampled['slice'].n_unique(), slice_ns)} sampled on {words.count(nodes, 'node')}"
    if nodes == 1:
        return f"{behind}: the whole node, with all that ran there besides this job."
    together = "the highest of them" if chart.of_nodes == "highest" else "their sum"
    return f"{behind}, {together}: whole nodes, with all that ran there besides this job."
