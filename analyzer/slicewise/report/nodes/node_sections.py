"""What the nodes' collectors sampled, as charts of a page. Nodes are counted as a whole, and every label says so."""

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any

import polars as pl

from slicewise import contract
from slicewise.analysis.nodes.causes import moved
from slicewise.charts import style
from slicewise.charts import throughput as charts
from slicewise.digest import nodes
from slicewise.digest.digest import Digest
from slicewise.report.nodes.node_words import MOST_DEVICES, cgroup_line, nodes_table, of_cgroups
from slicewise.report.page import Section
from slicewise.text import words

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
    for chart in contract.NODE_CHARTS:
        lines = list(_lines(values, chart))
        if not lines:
            continue
        figure = charts.over_time(
            lines, sampled["slice"].to_list(), digest.node_slice_ns, slices, slice_ns, chart["unit"]
        )  # fmt: skip
        note = _note(sampled, digest.node_slice_ns, chart)
        sections.append(Section(f"Whole node: {chart['heading']}", chart=figure, note=note, is_linked=True))
    return sections


def cgroup_sections(digest: Digest) -> list[Section]:
    """The job's own control groups as a table; none where nobody sampled one."""
    of_group = moved(digest).filter(of_cgroups())
    if of_group.is_empty():
        return []
    table = nodes_table(of_group, digest.node_slice_ns)
    return [Section("The job's control group", text=[cgroup_line(of_group)], tables=[table], note=CGROUP_NOTE)]


def _pairs(lines: Sequence[dict[str, str]]) -> list[list[dict[str, str]]]:
    """The lines of a chart, a dotted one with the plain one before it, whose colour it has."""
    pairs: list[list[dict[str, str]]] = []
    for line in lines:
        if line["style"] == "PLAIN":
            pairs.append([])
        pairs[-1].append(line)
    return pairs


def _lines(values: pl.DataFrame, chart: dict[str, Any]) -> Iterator[charts.NodeLine]:
    """The lines of a chart: of devices, which are told apart by name, those that had most."""
    colours = cycle(style.JOB_COLOURS)
    of_nodes = pl.col("value").max() if chart["of_nodes"] == "HIGHEST" else pl.col("value").sum()
    for pair in _pairs(chart["lines"]):
        rows = values.filter(pl.col("signal").is_in([line["signal"] for line in pair]))
        most = rows.group_by("device").agg(pl.col("amount").sum()).sort("amount", "device", descending=[True, False])
        for device in most["device"].head(MOST_DEVICES):
            colour = next(colours)
            for place, line in enumerate(pair):
                drawn = (
                    rows.filter(pl.col("signal") == line["signal"], pl.col("device") == device)
                    .group_by("slice")
                    .agg(of_nodes / chart["scale"])
                )
                if drawn.height:
                    label = f"{style.safe(style.shortened(device))}: {line['label']}" if device else line["label"]
                    yield charts.NodeLine(label, colour, drawn, is_second=place > 0)


def _note(sampled: pl.DataFrame, slice_ns: int, chart: dict[str, Any]) -> str:
    nodes = sampled["node"].n_unique()
    behind = f"{words.slices_of(sampled['slice'].n_unique(), slice_ns)} sampled on {words.count(nodes, 'node')}"
    if nodes == 1:
        return f"{behind}: the whole node, with all that ran there besides this job."
    together = "the highest of them" if chart["of_nodes"] == "HIGHEST" else "their sum"
    return f"{behind}, {together}: whole nodes, with all that ran there besides this job."
