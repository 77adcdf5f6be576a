"""The page and the words of Delta-graphs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.analysis.delta import DeltaGraph, who_gains
from slicewise.analysis.nodes.causes import EVIDENCE, UNITS, Cause, preferring
from slicewise.charts import delta as charts
from slicewise.report import columns
from slicewise.report.model import model_report
from slicewise.report.nodes.evidence import evidence_section, evidence_table, evidence_words, signal_name
from slicewise.report.page import Fact, Page, Section, Step
from slicewise.report.tables import Cell, Table
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
# A job alone of fewer slices, or that meets the other one at fewer offsets, shows little.
SLICES_OF_A_JOB = 5
LEAST_MEETING = 3
# Beside another job nobody gets faster. Where one took less than this part of its time alone, something else had
# slowed it down there.
LEAST_INTERFERENCE = 0.9
# So many of a panel's signals that are evidence are drawn; the table has all.
MOST_SIGNALS = 4


def verdict(graph: DeltaGraph) -> str:
    told = f"{graph.configuration}: {_fairness(graph)}"
    if not graph.apart:
        return told
    places = words.listing([f"{name} on {place}" for name, place in graph.apart.items()])
    return (
        f"{told} The jobs share no file system ({places}): what they lose to each other is lost elsewhere, as in the "
        "network."
    )


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


def advantage(graph: DeltaGraph, evidence: pl.DataFrame) -> list[str]:
    """What may have let one of the jobs go first, as a sentence; none where nothing tells."""
    cause = preferring(evidence, graph.asymmetry)
    if cause is None:
        return []
    who = who_gains(graph.points, graph.alone_seconds)
    return [f"What may prefer the job that comes {who} is {cause}: {HOW_PREFERRED[cause]}."]


def peaks(graph: DeltaGraph) -> str:
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
    return "without sharing it would be" if graph.apart else "sharing explains"


def lines_note(graphs: Sequence[DeltaGraph]) -> str:
    marks = "Marks are runs, hollow ones outliers; lines are what proportional sharing predicts"
    return f"{marks}{', and 1 for jobs that share no file system' if any(graph.apart for graph in graphs) else ''}."


def points_table(graphs: Sequence[DeltaGraph]) -> Table:
    """A row a point and job: means of its repeats, outliers left out."""
    means = [
        (graph, row)
        for graph in graphs
        for row in graph.points.filter(~pl.col("is_outlier"))
        .group_by("point", "name")
        .agg(pl.col("seconds", "bytes_per_second", "interference").mean(), runs=pl.len())
        .sort("point", "name")
        .iter_rows(named=True)
    ]
    return columns.table(
        means,
        columns.text("configuration", lambda one: one[0].configuration),
        columns.said("offset", lambda one: one[1]["point"], "{:+.2f} s".format, "s"),
        columns.text("job", lambda one: one[1]["name"]),
        columns.count("runs", lambda one: one[1]["runs"]),
        columns.seconds("time", lambda one: one[1]["seconds"]),
        columns.seconds("alone", lambda one: one[0].alone_seconds[one[1]["name"]]),
        columns.rate("throughput", lambda one: one[1]["bytes_per_second"]),
        columns.number("interference", lambda one: one[1]["interference"]),
    )


def delta_page(
    graphs: Sequence[DeltaGraph],
    evidence: Sequence[pl.DataFrame] = (),
    levels: Sequence[pl.DataFrame] = (),
    unseen: Sequence[str] = (),
) -> Page:
    """The page of one or more configurations side by side; evidence, levels: for causes, and `resources`, one each a
    configuration; unseen: what profiles lack, a line each."""
    points = {graph.configuration: graph.points for graph in graphs}
    expected = {graph.configuration: graph.expected for graph in graphs}
    drawn = (
        ("Time", "seconds", "seconds together", 1.0),
        ("Throughput", "bytes_per_second", "throughput (MiB/s)", float(words.MIB)),
        ("Interference factor", "interference", "time / time alone", 1.0),
    )
    names = [graph.configuration if len(graphs) > 1 else "" for graph in graphs]
    told = [line for graph in graphs for line in (verdict(graph), peaks(graph))]
    for graph, found in zip(graphs, evidence, strict=False):
        told += [*by_itself(graph, found), *advantage(graph, found)]
    return Page(
        title=f"Delta-graph of {words.listing(points)}",
        kicker=f"Slicewise Delta-graph, {words.count(sum(len(frame) for frame in points.values()) // 2, 'run')}",
        sentences=told,
        facts=[
            Fact(f"asymmetry of {graph.configuration}", f"{graph.asymmetry:.2f}")
            for graph in graphs
            if graph.asymmetry is not None
        ],
        sections=[
            *(
                Section(
                    heading,
                    chart=charts.over_offset(points, expected, column, title, scale),
                    note=lines_note(graphs),
                )
                for heading, column, title, scale in drawn
            ),
            *(evidence_section(found, name) for name, found in zip(names, evidence, strict=False) if len(found)),
            *(one for name, found in zip(names, levels, strict=False) for one in resource_sections(name, found)),
            Section("Points", tables=[points_table(graphs)]),
        ],
        steps=[Step("See other offsets and settings, measured in one go:", "slicewise study sweep --help")],
        unseen=[*model_report.dropped([run for graph in graphs for run in graph.dropped]), *unseen],
    )


def resource_sections(configuration: str, levels: pl.DataFrame) -> Iterator[Section]:
    for (signal,), rows in levels.group_by("signal", maintain_order=True):
        said = signal_name(str(signal))
        unit, scale = SHOWN_UNITS.get(UNITS[str(signal)], (UNITS[str(signal)], 1.0))
        full = EVIDENCE[str(signal)].full
        scaled = rows.with_columns(pl.col("value", "alone") * scale)
        yield Section(
            f"{said[:1].upper()}{said[1:]}{f' of {configuration}' if configuration else ''}",
            text=[f"Evidence on: {EVIDENCE[str(signal)].cause}. A mark is one run's mean over its slices."],
            chart=charts.resource(scaled, unit, None if full is None else full * scale),
        )


@dataclass(frozen=True)
class Panel:
    """One panel of a sweep: its Delta-graph, the evidence for causes (`causes.EVIDENCE_SCHEMA`), and what the nodes'
    signals were by offset (`delta.RESOURCES_SCHEMA`). slice_seconds: of its profiles."""

    sweep: str
    graph: DeltaGraph
    evidence: pl.DataFrame
    levels: pl.DataFrame
    slice_seconds: float

    @property
    def cause(self) -> str | None:
        """The cause that the evidence names first; None where it names none."""
        named = self.evidence.filter(pl.col("full") | pl.col("counts"))
        return str(named["cause"][0]) if len(named) else None


def hints(panel: Panel) -> list[str]:
    """What makes a panel show little, and what to do about it: a sentence each."""
    name, alone = panel.graph.configuration, panel.graph.alone_seconds
    said = []
    shortest = min(alone.values())
    if shortest < SLICES_OF_A_JOB * panel.slice_seconds:
        said.append(
            f"{name}: a job alone takes {words.number(shortest)} s, which is less than {SLICES_OF_A_JOB} slices of "
            f"{panel.slice_seconds:g} s: take a larger volume or shorter slices."
        )
    offsets = panel.graph.points["point"].unique().to_list()
    # The one that begins first, and has ended before the other begins.
    meeting = sum(abs(offset) < alone["A" if offset > 0 else "B"] for offset in offsets)
    if meeting < min(LEAST_MEETING, len(offsets)):
        said.append(
            f"{name}: the jobs meet at {meeting} of {len(offsets)} offsets, since the first one has ended before the "
            "other begins: take a larger volume or smaller offsets."
        )
    fastest = panel.graph.points.sort("interference").row(0, named=True)
    if fastest["interference"] < LEAST_INTERFERENCE:
        said.append(
            f"{name}: at {fastest['dt']:.1f} s, {fastest['name']} took {fastest['interference']:.2f} times as long as "
            "alone: something else probably slowed the standalone run down. Do not trust peak and cause; repeat the "
            "runs on a calm machine."
        )
    return said


def sweep_table(panels: Sequence[Panel]) -> Table:
    return columns.table(
        panels,
        columns.text("sweep", lambda panel: panel.sweep),
        columns.text("panel", lambda panel: panel.graph.configuration),
        columns.said("asymmetry", lambda panel: panel.graph.asymmetry, "{:.2f}".format, none=Cell("")),
        columns.number("peak of A", lambda panel: panel.graph.peak["A"]),
        columns.number("peak of B", lambda panel: panel.graph.peak["B"]),
        columns.number("sharing explains", lambda panel: max(panel.graph.expected_peak.values())),
        columns.text("cause named first", lambda panel: panel.cause or "none"),
    )


def sweep_page(title: str, panels: Sequence[Panel], missing: Sequence[str], unseen: Sequence[str]) -> Page:
    """The page; missing: names of panels that are not recorded yet; unseen: what profiles lack, a line each."""
    # A panel that shows little says nothing of all.
    unfair = [panel.graph for panel in panels if panel.graph.asymmetry is not None and not hints(panel)]
    worst = max(unfair, key=lambda graph: graph.asymmetry or 0.0, default=None)
    sentences = [f"{title}: {words.count(len(panels), 'panel')}, a Delta-graph each."]
    if worst is not None:
        most = f"asymmetry {worst.asymmetry or 0.0:.2f}"
        gains = (
            f"Whoever comes {who_gains(worst.points, worst.alone_seconds)} gains most in {worst.configuration}: {most}."
        )
        if (worst.asymmetry or 0.0) <= FAIR:
            gains = f"Nobody gains much by coming first or second: {most} at most, in {worst.configuration}."
        sentences.insert(0, gains)
        if len(unfair) < len(panels):
            untold = words.count(len(panels) - len(unfair), "panel")
            sentences.append(f"{untold} of {len(panels)} cannot tell who gains; sections say why.")
    note = "An asymmetry of 0 is fair sharing, of 1 first come, first served; a peak is the time over the time alone."
    return Page(
        title=title,
        kicker="Slicewise sweep of Delta-graphs",
        sentences=sentences,
        sections=[
            Section("All panels", tables=[sweep_table(panels)], note=f"{note} Named causes are evidence, not proof."),
            *(section for panel in panels for section in _sections(panel)),
        ],
        unseen=[*(f"{name}: not recorded yet" for name in missing), *unseen],
    )


def _sections(panel: Panel) -> Iterator[Section]:
    """The Delta-graph of a panel, and a chart for each signal that is evidence: at its limit, or changed."""
    graph, name = panel.graph, panel.graph.configuration
    has_evidence = len(panel.evidence) > 0
    is_seen = (pl.col("alone") > 0) | (pl.col("together") > 0)
    yield Section(
        f"{panel.sweep}: {name}" if panel.sweep else name,
        text=[
            verdict(graph),
            peaks(graph),
            *by_itself(graph, panel.evidence),
            *advantage(graph, panel.evidence),
            *hints(panel),
            *([evidence_words(panel.evidence)] if has_evidence else []),
        ],
        chart=charts.over_offset(
            {name: graph.points}, {name: graph.expected}, "interference", "time / time alone", 1.0
        ),
        tables=[evidence_table(panel.evidence.filter(is_seen))] if has_evidence else [],
        note=f"{lines_note([graph])}{' Signals that were 0 throughout are left out.' if has_evidence else ''}",
    )
    is_told = pl.col("full") | pl.col("counts")
    told = panel.evidence.filter(is_told)["signal"].head(MOST_SIGNALS)
    yield from resource_sections(panel.graph.configuration, panel.levels.filter(pl.col("signal").is_in(told.implode())))
