"""What each panel of the shipped plans showed when `testbed.paper_sweeps` ran it, as a recording and as tables.

`python -m testbed.sweep_tables --keep DIR FILE` makes the recording, of the runs in DIR: of each panel what its jobs
took, and how high the nodes' signals were. Everything else follows from that, and is judged anew.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
from slicewise.analysis.delta import delta_graph, graph_and_evidence, who_gains
from slicewise.analysis.nodes.causes import SIGNALS_SCHEMA, evidence, preferring
from slicewise.analysis.runs.campaign import JOBS_SCHEMA, Campaign, campaign
from slicewise.analysis.sharing.weights import Weighting
from slicewise.catalog.sources import read_digests
from slicewise.profile.files import job_places
from slicewise.report.delta.delta_page import FAIR, Panel, hints
from slicewise.running.delta_campaign import is_recorded, read_plan

from testbed.paper_sweeps import SWEEPS, Settings
from testbed.tables import Table, listed

KEPT_OF_JOBS = ("run", "job", "processes", "nodes", "mounts", "bytes", "start", "seconds")
DIGITS = 4


@dataclass(frozen=True)
class Found:
    """A panel as it was recorded: how it was run, and what it shows."""

    plan: str
    settings: str
    load: float
    panel: Panel


def recording(directory: Path) -> list[dict[str, Any]]:
    """A record a panel that was run below the directory, in the order of the plans."""
    loads = [list(map(float, line.split(","))) for line in (directory / "load.csv").read_text("utf-8").splitlines()]
    return [record for plan in SWEEPS if (directory / plan).is_dir() for record in _records(directory, plan, loads)]


def _records(directory: Path, plan: str, loads: list[list[float]]) -> Iterator[dict[str, Any]]:
    for panel in read_plan(directory / f"{plan}.toml").panels:
        own = directory / plan / panel.name
        if not is_recorded(panel, directory / plan):
            continue
        data = campaign(read_digests(job_places([own])), "auto", is_by_name=True, may_be_apart=True)
        _, signals = graph_and_evidence(panel.name, data, Weighting("processes"))
        began, ended = ((own / name).stat().st_mtime for name in ("campaign.json", "done"))
        yield {
            "plan": plan,
            "sweep": panel.sweep,
            "panel": panel.name,
            "load": round(fmean(load for at, load, _ in loads if began <= at <= ended), 1),
            "slice_seconds": max(digest.slice_ns for digest in data.digests) / 1e9,
            "storages": _storages(data),
            "jobs": [list(map(_short, row)) for row in data.jobs.select(KEPT_OF_JOBS).iter_rows()],
            "signals": {
                row["signal"]: [_short(row["alone"]), _short(_deviation(row)), _short(row["together"])]
                for row in signals.iter_rows(named=True)
                if row["alone"] or row["together"]
            },
        }


def _storages(data: Campaign) -> dict[str, str]:
    return {job: f"{own.host}:{own.point}" if own.host else own.source for job, own in data.apart.items()}


def _deviation(row: Mapping[str, Any]) -> float:
    """The deviation over slices alone that gives the same number of deviations."""
    return row["change"] / row["deviations"] if row["deviations"] else 0.0


def _short(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def read(file: Path) -> list[Found]:
    """What each recorded panel shows, judged anew."""
    return [_found(record) for record in json.loads(file.read_text(encoding="utf-8"))]


def _found(record: Mapping[str, Any]) -> Found:
    jobs = pl.DataFrame(record["jobs"], schema={name: JOBS_SCHEMA[name] for name in KEPT_OF_JOBS}, orient="row")
    seconds = {f"seconds_{end}": pl.col("seconds") for end in ("low", "high")}
    unknown = {name: pl.lit(None, dtype=pl.Float64) for name in ("rate", "rate_low", "rate_high")}
    jobs = jobs.with_columns(program=pl.lit("slicewise-load"), **seconds, **unknown)
    sizes = jobs.filter(jobs["run"].is_duplicated()).sort("run", "job").head(2)["processes"].to_list()
    graph = delta_graph(record["panel"], jobs, (sizes[0], sizes[1]), record["storages"])
    signals = record["signals"].items()
    # Two slices with that mean, and that deviation from it.
    alone = [("n1", place, name, mean + (2 * place - 1) * off) for name, (mean, off, _) in signals for place in (0, 1)]
    together = [("n1", 0, name, value) for name, (_, _, value) in signals]
    found = evidence(
        pl.DataFrame(alone, schema=SIGNALS_SCHEMA, orient="row"),
        pl.DataFrame(together, schema=SIGNALS_SCHEMA, orient="row"),
        graph.asymmetry,
    )
    panel = Panel(record["sweep"], graph, found, pl.DataFrame(), record["slice_seconds"])
    return Found(record["plan"], _said(SWEEPS[record["plan"]].panels.get(record["panel"], {})), record["load"], panel)


def _said(settings: Settings) -> str:
    return ", ".join(f"{key}={value}" for key, value in settings.items())


PLAN: dict[str, Callable[[str], Any]] = {
    "plan": str,
    "server": lambda plan: SWEEPS[plan].server,
    "link": lambda plan: SWEEPS[plan].link,
    "disk, MiB/s": lambda plan: SWEEPS[plan].disk_mib_s or None,
    "settings": lambda plan: _said(SWEEPS[plan].settings),
}


def tables(found: list[Found]) -> list[Table]:
    """A row a panel, and one a plan."""
    return [
        listed("plans", [plan for plan in SWEEPS if any(one.plan == plan for one in found)], PLAN),
        listed(
            "panels",
            found,
            {
                "plan": lambda one: one.plan,
                "sweep": lambda one: one.panel.sweep,
                "panel": lambda one: one.panel.graph.configuration,
                "A alone, s": lambda one: one.panel.graph.alone_seconds["A"],
                "B alone, s": lambda one: one.panel.graph.alone_seconds["B"],
                "asymmetry": lambda one: one.panel.graph.asymmetry,
                "no asymmetry, since": lambda one: one.panel.graph.asymmetry_reason,
                "who gains": _who_gains,
                "may prefer": lambda one: preferring(one.panel.evidence, one.panel.graph.asymmetry),
                "peak of A": lambda one: one.panel.graph.peak["A"],
                "peak of B": lambda one: one.panel.graph.peak["B"],
                "expected peak": lambda one: max(one.panel.graph.expected_peak.values()),
                "apart": lambda one: "; ".join(f"{name}: {place}" for name, place in one.panel.graph.apart.items()),
                "cause": lambda one: one.panel.cause or "none",
                "at their limit": lambda one: ", ".join(
                    one.panel.evidence.filter("full")["signal"].unique(maintain_order=True)
                ),
                "hints": lambda one: " ".join(hints(one.panel)),
                "load": lambda one: one.load,
                "settings": lambda one: one.settings,
            },
        ),
    ]


def _who_gains(one: Found) -> str:
    graph = one.panel.graph
    if graph.asymmetry is None:
        return ""
    return "neither" if graph.asymmetry <= FAIR else who_gains(graph.points, graph.alone_seconds)


def text_of(records: list[dict[str, Any]]) -> str:
    """JSON with a line a panel's jobs, and one for its signals."""
    lines = []
    for record in records:
        head = json.dumps({key: value for key, value in record.items() if key not in ("jobs", "signals")})
        jobs, signals = (json.dumps(record[key], separators=(",", ":")) for key in ("jobs", "signals"))
        lines.append(f'{head[:-1]},\n "jobs": {jobs},\n "signals": {signals}}}')
    return "[\n" + ",\n".join(lines) + "\n]\n"


def main() -> None:
    """Makes the recording."""
    if sys.argv[1] != "--keep":
        sys.exit("sweep_tables: say --keep DIR FILE")
    Path(sys.argv[3]).write_text(text_of(recording(Path(sys.argv[2]))), encoding="utf-8")


if __name__ == "__main__":
    main()
