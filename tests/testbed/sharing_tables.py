"""The model of sharing, held against the campaigns of `recordings.PLANS` and against published pairs, as tables."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
from slicewise.analysis.campaign.result import ALL_RUNS, figures_of
from slicewise.analysis.sharing.fitted_model import check, cross_check, fit_model
from slicewise.analysis.sharing.weights import Weighting
from slicewise.report.campaign import campaign_report as report
from slicewise.report.delta.delta_page import points_table
from slicewise.report.nodes.evidence import evidence_table
from slicewise.text import words
from support import published

from testbed.recordings import PLANS, read_delta, read_result
from testbed.tables import Table, of_report, table

# Of `campaign_tables.figures_table`.
FIGURES = ["jobs", "runtimes", "mean |RE|", "largest |RE|", "bias", "within the interval"]
# Of a campaign's tables, those whose jobs all are one program with one kind of files.
WITHOUT_PROGRAMS = {"alone", "together"}
# The pair of Kuo's that contradicts itself: in shared mode no share law gives its bandwidth while both wrote and that
# over all.
ODD_PAIR = (36, 60)


def tables(campaigns: Path) -> list[Table]:
    """The tables of those campaigns that were recorded."""
    recorded = [name for name in PLANS if (campaigns / name).is_dir()]
    deltas = [name for name in recorded if name.startswith("delta-")]
    found = [_summary(campaigns, [name for name in recorded if name not in deltas]), _published()]
    for name in recorded:
        found += (_delta if name in deltas else _shares)(name, campaigns / name)
    return [*found, _closed_windows(campaigns, deltas)]


def _summary(campaigns: Path, names: list[str]) -> Table:
    """All runs of each campaign, nothing left out."""
    results = {name: read_result(campaigns / name) for name in names}
    rows = [
        row
        for name, result in results.items()
        if result.model.weight.chosen is not None
        for row in _figures_rows(name, result.checked)
    ]
    return table("all", ["all runs, held out", *FIGURES], rows)


def _published() -> Table:
    """Pairs of Kuo 2013, tables 1 to 3: by the model of all pairs, and each by the others."""
    rows = []
    for mode in ("private", "shared"):
        jobs, slices = published.jobs_of(mode), published.slices_of(mode)
        model = replace(fit_model(jobs, slices), basis="standalone times")
        kinds = ("processes", "nodes")
        checks = {f"{mode}, shares by {kind}": check(model.by(Weighting(kind)), jobs) for kind in kinds}
        checks[f"{mode}, all by the other pairs"] = cross_check(jobs, slices)
        if mode == "shared":
            is_odd = pl.col("pair") == published.pair_name(ODD_PAIR)
            kept = checks[f"{mode}, all by the other pairs"].filter(~is_odd)
            checks[f"{mode}, all by the other pairs, without {words.listing(map(str, ODD_PAIR))}"] = kept
        for name, checked in checks.items():
            rows += _figures_rows(name, checked)
    return table("published", ["runtimes of six pairs", *FIGURES], rows)


def _figures_rows(name: str, checked: pl.DataFrame) -> list[list[str]]:
    """All runs, of all jobs and of those whose share is at stake."""
    found = report.figures_table(figures_of(checked, {"all": pl.lit(True)}).filter(pl.col("runs") == ALL_RUNS))
    places = {column.heading: place for place, column in enumerate(found.columns)}
    return [[name, *(row[places[heading]].text for heading in FIGURES)] for row in found.rows]


def _shares(name: str, directory: Path) -> Iterator[Table]:
    shown = report.tables(read_result(directory))
    for kind in ("alone", "together", "predictions", "combinations"):
        if kind in shown:
            yield of_report(name, shown[kind], ["program", "files"] if kind in WITHOUT_PROGRAMS else [])


def _delta(name: str, directory: Path) -> Iterator[Table]:
    graph, evidence = read_delta(directory)
    yield of_report(name, points_table([graph]), ["configuration"])
    if len(evidence):
        yield of_report(name, evidence_table(evidence))


def _closed_windows(campaigns: Path, deltas: list[str]) -> Table:
    """How often windows of TCP closed in each Delta-graph, by the collectors' samples."""
    rows = [
        [name, f"{found['alone']:.1f}", f"{found['together']:.1f}"]
        for name in deltas
        for found in read_delta(campaigns / name)[1]
        .filter(pl.col("signal") == "tcp_zero_windows")
        .iter_rows(named=True)
    ]
    return table("closed windows", ["windows closed, opened or wanted closed, times/s", "alone", "together"], rows)
