"""The page and the words of Delta-graphs."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from slicewise.analysis.delta import DeltaGraph, who_gains
from slicewise.analysis.nodes.causes import EVIDENCE, UNITS, Cause, preferring
from slicewise.charts import delta as charts
from slicewise.report.model import outlier_words
from slicewise.report.nodes.evidence import evidence_section, signal_name
from slicewise.report.page import Fact, Page, Section, Step
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words

FAIR, UNFAIR = 0.25, 0.5
# Jobs that take less than so many times as long as alone do not slow each other down.
SLOWED = 1.2
# How a cause prefers one of two equal jobs.
HOW_PREFERRED: dict[Cause, str] = {
    "server and flow control": "the server closed receive windows of connections, so that some wait while others send",
    "incast": "some connections wait for timers of TCP while others send",
    "link": "a connection gets as much of a link as it has under way there",
}
# The units of a chart's axis: 0.0002 of the segments or 0.00004 s cannot be read.
SHOWN_UNITS = {
    "share of the time": ("% of the time", 100.0),
    "share of segments": ("% of the segments", 100.0),
    "bytes/s": ("MiB/s", 1 / words.MIB),
    "s": ("ms", 1e3),
}


def verdict(graph: DeltaGraph) -> str:
    """What a Delta-graph says of flow control, in a sentence or two."""
    told = f"{graph.configuration}: {_fairness(graph)}"
    return f"{told} {_apart(graph)}" if graph.apart else told


def _fairness(graph: DeltaGraph) -> str:
    if graph.asymmetry is None:
        return f"no asymmetry index, since {graph.asymmetry_reason}."
    index = f"asymmetry index {graph.asymmetry:.2f}"
    if graph.asymmetry <= FAIR:
        return f"the jobs share, whoever comes first ({index})."
    who = who_gains(graph.points, graph.alone_seconds)
    if graph.asymmetry >= UNFAIR:
        return f"who comes {who} wins ({index})."
    return f"who comes {who} has some advantage ({index})."


def _apart(graph: DeltaGraph) -> str:
    places = words.listing([f"{name} on {place}" for name, place in graph.apart.items()])
    return (
        f"The jobs share no file system ({places}): what they lose to each other is lost elsewhere, as in the network."
    )


def advantage(graph: DeltaGraph, evidence: pl.DataFrame) -> list[str]:
    """What may have let one of the jobs go first, as a sentence; none where nothing tells."""
    cause = preferring(evidence, graph.asymmetry)
    if cause is None:
        return []
    who = who_gains(graph.points, graph.alone_seconds)
    return [f"What may prefer the job that comes {who} is {cause}: {HOW_PREFERRED[cause]}."]


def peaks(graph: DeltaGraph) -> str:
    """The largest interference factors beside what sharing explains."""
    told = [
        f"{name} takes up to {graph.peak[name]:.2f} times as long as alone ({explains(graph)} "
        f"{graph.expected_peak[name]:.2f})"
        for name in graph.peak
    ]
    return f"{words.listing(told)}."


def by_itself(graph: DeltaGraph, evidence: pl.DataFrame) -> list[str]:
    """That jobs which lose next to nothing to each other do not compete for what is at its limit; else nothing."""
    if not graph.peak or max(graph.peak.values()) >= SLOWED or evidence.is_empty() or not evidence["full"].any():
        return []
    return ["Neither slows the other down: what is at its limit limits each by itself, and they do not compete for it."]


def explains(graph: DeltaGraph) -> str:
    """What the expected curve is, before its figure."""
    return "without sharing it would be" if graph.apart else "sharing explains"


def lines_note(graphs: Sequence[DeltaGraph]) -> str:
    """What the marks and lines of the charts are."""
    marks = "Marks are runs, hollow ones outliers; lines are what proportional sharing predicts"
    return f"{marks}{', and 1 for jobs that share no file system' if any(graph.apart for graph in graphs) else ''}."


def points_table(graphs: Sequence[DeltaGraph]) -> Table:
    """A row a point and job: means of its repeats, outliers left out."""
    table = Table(
        [
            Column("configuration", is_figure=False),
            Column("offset", "s"),
            Column("job", is_figure=False),
            Column("runs"),
            Column("time", "s"),
            Column("alone", "s"),
            Column("throughput", "MiB/s"),
            Column("interference"),
        ]
    )
    for graph in graphs:
        means = (
            graph.points.filter(~pl.col("is_outlier"))
            .group_by("point", "name")
            .agg(pl.col("seconds", "bytes_per_second", "interference").mean(), runs=pl.len())
            .sort("point", "name")
        )
        for row in means.iter_rows(named=True):
            table.add(
                graph.configuration,
                Cell(f"{row['point']:+.2f} s", row["point"]),
                row["name"],
                Cell(f"{row['runs']}", row["runs"]),
                Cell(words.seconds(row["seconds"]), row["seconds"]),
                Cell(words.seconds(graph.alone_seconds[row["name"]]), graph.alone_seconds[row["name"]]),
                Cell(words.rate(row["bytes_per_second"]), row["bytes_per_second"] / words.MIB),
                Cell(words.number(row["interference"]), row["interference"]),
            )
    return table


def delta_page(
    graphs: Sequence[DeltaGraph],
    evidence: Sequence[pl.DataFrame] = (),
    levels: Sequence[pl.DataFrame] = (),
    unseen: Sequence[str] = (),
) -> Page:
    """The page of one or more configurations side by side; evidence, levels: for causes, and `resources`, one each a
    configuration; unseen: what profiles lack, a line each.
    """
    points = {graph.configuration: graph.points for graph in graphs}
    expected = {graph.configuration: graph.expected for graph in graphs}
    drawn = (
        ("Time", "seconds", "seconds together", 1.0),
        ("Throughput", "bytes_per_second", "throughput (MiB/s)", float(words.MIB)),
        ("Interference factor", "interference", "time / time alone", 1.0),
    )
    sections = [
        Section(
            heading,
            chart=charts.over_offset(points, expected, column, title, scale),
            note=lines_note(graphs),
        )
        for heading, column, title, scale in drawn
    ]
    return Page(
        title=f"Delta-graph of {words.listing(points)}",
        kicker=f"Slicewise Delta-graph, {words.count(sum(len(frame) for frame in points.values()) // 2, 'run')}",
        sentences=[line for graph in graphs for line in (verdict(graph), peaks(graph))]
        + [
            line
            for graph, found in zip(graphs, evidence, strict=False)
            for line in (*by_itself(graph, found), *advantage(graph, found))
        ],
        facts=[
            Fact(f"asymmetry of {graph.configuration}", f"{graph.asymmetry:.2f}")
            for graph in graphs
            if graph.asymmetry is not None
        ],
        sections=[
            *sections,
            *(
                evidence_section(found, graph.configuration if len(graphs) > 1 else "")
                for graph, found in zip(graphs, evidence, strict=False)
                if len(found)
            ),
            *(
                section
                for graph, found in zip(graphs, levels, strict=False)
                for section in resource_sections(graph.configuration if len(graphs) > 1 else "", found)
            ),
            Section("Points", tables=[points_table(graphs)]),
        ],
        steps=[Step("See other offsets and settings, measured in one go:", "slicewise study sweep --help")],
        unseen=[*outlier_words.dropped([run for graph in graphs for run in graph.dropped]), *unseen],
    )


def resource_sections(configuration: str, levels: pl.DataFrame) -> list[Section]:
    """A chart a signal of the nodes, on the axis of the Delta-graph."""
    sections = []
    for (signal,), rows in levels.group_by("signal", maintain_order=True):
        said = signal_name(str(signal))
        unit, scale = SHOWN_UNITS.get(UNITS[str(signal)], (UNITS[str(signal)], 1.0))
        full = EVIDENCE[str(signal)].full
        sections.append(
            Section(
                f"{said[:1].upper()}{said[1:]}{f' of {configuration}' if configuration else ''}",
                text=[f"Evidence on: {EVIDENCE[str(signal)].cause}. A mark is one run's mean over its slices."],
                chart=charts.resource(
                    rows.with_columns(pl.col("value", "alone") * scale), unit, None if full is None else full * scale
                ),
            )
        )
    return sections
