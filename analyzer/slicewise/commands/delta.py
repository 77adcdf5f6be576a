"""Draw Delta-graphs: how much two jobs slow each other down, by how much later one begins."""

import sys
from pathlib import Path
from typing import Any, Literal

from slicewise.analysis.delta import DeltaGraph, graph_and_evidence, resources_by_offset
from slicewise.analysis.nodes.causes import preferring, window_of
from slicewise.analysis.runs.campaign import Campaign, campaign
from slicewise.analysis.sharing.weights import Weighting
from slicewise.catalog.sources import read_digests
from slicewise.errors import UserError
from slicewise.kinds import CampaignDirection
from slicewise.profile.files import job_places
from slicewise.report import columns
from slicewise.report.coverage.unseen import least_seen_lines
from slicewise.report.delta import delta_page
from slicewise.report.model import model_report
from slicewise.report.nodes.evidence import evidence_table, evidence_words
from slicewise.report.page import page_path, write_page
from slicewise.report.records import or_none, picked
from slicewise.report.tables import for_terminal, line_for_terminal
from slicewise.running import delta_campaign
from slicewise.terminal.output import wants_json, write_answer, write_text
from slicewise.text import words
from slicewise.text.safe_text import visible

CurveKind = Literal["processes", "nodes", "mounts", "equal"]


def run(
    a: str,
    b: str,
    first: float,
    last: float,
    step: float,
    repeat: int,
    directory: Path,
    slice_seconds: float | None,
    weight: CurveKind,
    html: Path | None,
) -> None:
    offsets = delta_campaign.offsets_of(f"--from {first:g} --to {last:g} --step {step:g}", first, last, step)
    plan = delta_campaign.DeltaPlan(a, b, offsets, repeat, slice_seconds)
    delta_campaign.run_campaign(plan, directory, lambda line: print(visible(line), file=sys.stderr))
    read([directory], weight, "auto", html)


def read(directories: list[Path], weight: CurveKind, direction: CampaignDirection, html: Path | None) -> None:
    campaigns = {directory: _campaign(directory, direction) for directory in directories}
    panels = [_panel(directory.resolve().name, "", data, weight) for directory, data in campaigns.items()]
    unseen = [
        f"{directory.resolve().name}: {line}" if len(campaigns) > 1 else line
        for directory, data in campaigns.items()
        for line in least_seen_lines(data.digests, data.direction)
    ]
    graphs, evidence = [panel.graph for panel in panels], [panel.evidence for panel in panels]
    page = html or page_path(directories[0], f"delta-{directories[0].resolve().name}")
    write_page(delta_page.delta_page(graphs, evidence, [panel.levels for panel in panels], unseen), page)
    tables = [for_terminal(evidence_table(found)) for found in evidence if len(found)]
    lines = [line for graph in graphs for line in (delta_page.verdict(graph), delta_page.peaks(graph))]
    lines += model_report.dropped([run for graph in graphs for run in graph.dropped])
    lines += [line for panel in panels for line in delta_page.by_itself(panel.graph, panel.evidence)]
    lines += [evidence_words(found) for found in evidence if len(found)]
    lines += [line for panel in panels for line in delta_page.advantage(panel.graph, panel.evidence)]
    write_answer(
        lambda: {"configurations": [_record(panel) for panel in panels], "page": page},
        [for_terminal(delta_page.points_table(graphs)), "", *tables, *lines, f"Page: {page}"],
    )


def sweep(
    plan: Path | None,
    settings: list[str],
    only: list[str],
    directory: Path,
    recorded: Path | None,
    weight: CurveKind,
    html: Path | None,
) -> None:
    if (plan is None) == (recorded is None):
        raise UserError("give either a PLAN to run, or --page DIR of a recorded sweep")
    if plan is not None:
        planned = delta_campaign.read_plan(plan, _given(settings))
        delta_campaign.run_sweep(planned, directory, lambda line: print(visible(line), file=sys.stderr), only)
    folder = recorded or directory
    described = delta_campaign.read_recorded(folder)
    present = [panel for panel in described.panels if delta_campaign.is_recorded(panel, folder)]
    missing = [panel.name for panel in described.panels if panel not in present]
    if not present:
        raise UserError(f"{folder}: no panel is recorded; run slicewise study sweep PLAN --dir {folder}")
    campaigns = {panel.name: _campaign(folder / panel.name, "auto") for panel in present}
    panels = [_panel(panel.name, panel.sweep, campaigns[panel.name], weight) for panel in present]
    unseen = [
        f"{name}: {line}" for name, data in campaigns.items() for line in least_seen_lines(data.digests, data.direction)
    ]
    page = html or page_path(folder, f"sweep-{folder.resolve().name}")
    write_page(delta_page.sweep_page(described.title, panels, missing, unseen), page)
    told = [_sweep_record(panel) for panel in panels]
    lines = [f"{name}: not recorded yet" for name in missing] + [
        line for panel in panels for line in delta_page.hints(panel)
    ]
    write_answer(
        lambda: {"title": described.title, "panels": told, "missing": missing, "page": page},
        [for_terminal(delta_page.sweep_table(panels)), "", *lines, f"Page: {page}"],
    )


def plan(name: str | None) -> None:
    shipped = delta_campaign.shipped_plans()
    if name is not None and name not in shipped:
        raise UserError(f"there is no plan {name}; shipped are {words.listing(shipped)}")
    if name is not None and not wants_json():
        lines = shipped[name].read_text(encoding="utf-8").splitlines()
        write_text([line_for_terminal(line, is_folded=False) for line in lines])
        return
    plans = {each: delta_campaign.read_plan(path) for each, path in shipped.items() if name in (None, each)}
    table = columns.table(
        plans.items(),
        columns.text("plan", lambda one: one[0]),
        columns.count("panels", lambda one: len(one[1].panels)),
        columns.text(
            "what it varies", lambda one: words.listing(dict.fromkeys(panel.sweep for panel in one[1].panels))
        ),
    )
    records = [
        {
            "plan": each,
            "title": read.title,
            "panels": [{"panel": panel.name, "sweep": panel.sweep} for panel in read.panels],
            "text": shipped[each].read_text("utf-8"),
        }
        for each, read in plans.items()
    ]
    write_answer(
        lambda: {"plans": records},
        [for_terminal(table), "", "Print one to adapt it: slicewise study plan NAME > NAME.toml"],
    )


def _given(settings: list[str]) -> dict[str, str]:
    for setting in settings:
        if "=" not in setting:
            raise UserError(f"--set {setting}: is no setting; give it as WORD=VALUE, for instance directory=/scratch")
    return dict(setting.split("=", 1) for setting in settings)


def _sweep_record(panel: delta_page.Panel) -> dict[str, Any]:
    graph = panel.graph
    return {
        **picked(panel, "sweep"),
        **picked(graph, panel="configuration"),
        **_of_graph(graph),
        "cause": panel.cause,
        "preferring": preferring(panel.evidence, graph.asymmetry),
        "hints": delta_page.hints(panel),
        **picked(graph, "points"),
        **picked(panel, "evidence", resources="levels"),
    }


def _campaign(directory: Path, direction: CampaignDirection) -> Campaign:
    return campaign(read_digests(job_places([directory])), direction, is_by_name=True, may_be_apart=True)


def _panel(name: str, sweep: str, data: Campaign, weight: CurveKind) -> delta_page.Panel:
    graph, evidence = graph_and_evidence(name, data, Weighting(weight))
    slice_seconds = max(digest.slice_ns for digest in data.digests) / 1e9
    levels = resources_by_offset(graph.points, {digest.job: window_of(digest) for digest in data.digests})
    return delta_page.Panel(sweep, graph, evidence, levels, slice_seconds)


def _record(panel: delta_page.Panel) -> dict[str, Any]:
    return {
        **picked(panel.graph, "configuration", "alone_seconds", "weights"),
        **_of_graph(panel.graph),
        **picked(panel.graph, "dropped", "points", "expected"),
        **picked(panel, "evidence"),
        "preferring": preferring(panel.evidence, panel.graph.asymmetry),
        **picked(panel, resources="levels"),
    }


def _of_graph(graph: DeltaGraph) -> dict[str, Any]:
    peaks = picked(graph, "peak", "expected_peak")
    return picked(graph, "asymmetry") | or_none(graph, "asymmetry_reason") | peaks | or_none(graph, "apart")
