"""The page and the table of a sweep: a Delta-graph a panel, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.analysis.delta import DeltaGraph, who_gains
from slicewise.charts import delta as charts
from slicewise.report.delta.delta_page import FAIR, advantage, by_itself, lines_note, peaks, resource_sections, verdict
from slicewise.report.nodes.evidence import evidence_table, evidence_words
from slicewise.report.page import Page, Section
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words

# A job alone of fewer slices, or that meets the other one at fewer offsets, shows little.
LEAST_SLICES = 5
LEAST_MEETING = 3
# Beside another job nobody gets faster. Where one took less than this part of its time alone, something else had
# slowed it down there.
LEAST_INTERFERENCE = 0.9
# So many of a panel's signals that are evidence are drawn; the table has all.
MOST_SIGNALS = 4


@dataclass(frozen=True)
class Panel:
    """One panel of a sweep: its Delta-graph, the evidence for causes (`causes.EVIDENCE_SCHEMA`), and what the nodes'
    signals were by offset (`delta.RESOURCES_SCHEMA`). slice_seconds: of its profiles.
    """

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
    if shortest < LEAST_SLICES * panel.slice_seconds:
        said.append(
            f"{name}: a job alone takes {words.number(shortest)} s, which is less than {LEAST_SLICES} slices of "
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
    """A row a panel."""
    table = Table(
        [Column("sweep", is_figure=False), Column("panel", is_figure=False), Column("asymmetry"), Column("peak of A"),
         Column("peak of B"), Column("sharing explains"), Column("cause named first", is_figure=False)]
    )  # fmt: skip
    for panel in panels:
        graph = panel.graph
        asymmetry = Cell("", None) if graph.asymmetry is None else Cell(f"{graph.asymmetry:.2f}", graph.asymmetry)
        explained = max(graph.expected_peak.values())
        table.add(
            panel.sweep, graph.configuration, asymmetry,
            *(Cell(words.number(graph.peak[name]), graph.peak[name]) for name in ("A", "B")),
            Cell(words.number(explained), explained), panel.cause or "none",
        )  # fmt: skip
    return table


def sweep_page(title: str, panels: Sequence[Panel], missing: Sequence[str], unseen: Sequence[str]) -> Page:
    """The page; missing: names of panels that are not recorded yet; unseen: what profiles lack, a line each."""
    # A panel that shows little says nothing of all.
    unfair = [panel.graph for panel in panels if panel.graph.asymmetry is not None and not hints(panel)]
    worst = max(unfair, key=lambda graph: graph.asymmetry or 0.0, default=None)
    sentences = [f"{title}: {words.count(len(panels), 'panel')}, a Delta-graph each."]
    if worst is not None:
        sentences.insert(0, _opening(worst))
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


def _opening(worst: DeltaGraph) -> str:
    """Where who comes first, or second, gains most; worst: the Delta-graph with the largest asymmetry."""
    most = f"asymmetry {worst.asymmetry or 0.0:.2f}"
    if (worst.asymmetry or 0.0) <= FAIR:
        return f"Nobody gains much by coming first or second: {most} at most, in {worst.configuration}."
    return f"Whoever comes {who_gains(worst.points, worst.alone_seconds)} gains most in {worst.configuration}: {most}."


def _sections(panel: Panel) -> Iterator[Section]:
    """The Delta-graph of a panel, and a chart for each signal that is evidence: at its limit, or changed."""
    yield _graph_section(panel)
    is_told = pl.col("full") | pl.col("counts")
    told = panel.evidence.filter(is_told)["signal"].head(MOST_SIGNALS)
    yield from resource_sections(panel.graph.configuration, panel.levels.filter(pl.col("signal").is_in(told.implode())))


def _graph_section(panel: Panel) -> Section:
    graph, name = panel.graph, panel.graph.configuration
    has_evidence = len(panel.evidence) > 0
    is_seen = (pl.col("alone") > 0) | (pl.col("together") > 0)
    return Section(
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
