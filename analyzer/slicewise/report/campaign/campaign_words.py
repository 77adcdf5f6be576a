"""What a campaign shows, in sentences. Plain text, no markup."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from slicewise.analysis.campaign.result import ALL_RUNS, AT_STAKE, CampaignResult, Conditions
from slicewise.analysis.sharing.model import model_record
from slicewise.constants import TOO_FAR_OFF
from slicewise.report.model.model_tables import HELD_OUT, check_words
from slicewise.report.model.model_words import answer
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words

# Of a job's time: rates in a shorter overlap are no ground for a headline.
LEAST_OVERLAP = 0.2
OF_COMBINATION = [
    *(Column(name, is_figure=False) for name in ("files", "processes together", "programs")),
    Column("begins", "s"),
    Column("moves", "bytes"),
]


def opening(result: CampaignResult) -> list[str]:
    """The sentences that open a page: what competition cost most, who got how much, how well that is predicted."""
    if not result.conditions.runs_together:
        alone = words.count(result.conditions.runs_alone, "run")
        return [
            f"No two of these jobs did I/O at the same time ({alone} of one job alone), so competition cannot be "
            "judged."
        ]
    told = [_worst(result.together), _uneven(result.together), answer(result.model.weight)]
    held_out = result.model.held_out
    if held_out is not None and held_out.mean > TOO_FAR_OFF:
        off = (
            "The model of sharing does not hold here: runs that it had not seen are off by "
            f"{words.percent(held_out.mean)} on average. What it says below is no forecast."
        )
        return [off, *(sentence for sentence in told[:2] if sentence)]
    return [sentence for sentence in told if sentence] + predicted_words(result) + _by_server(result)


def predicted_words(result: CampaignResult) -> list[str]:
    """How far off predictions are, of all runs."""
    if result.checked.is_empty() or result.model.weight.chosen is None:
        return []
    at_stake = result.figures.filter(pl.col("jobs") == AT_STAKE, pl.col("runs") == ALL_RUNS)
    told = [
        f"For {group} whose runtime depends on how the storage shares, predictions are off by {words.percent(mean)} on "
        f"average (bias {words.signed_percent(bias)})."
        for group, mean, bias in at_stake.select("group", "mean", "bias").drop_nulls().iter_rows()
    ]
    return [*check_words(result.checked, HELD_OUT), *told]


def _by_server(result: CampaignResult) -> list[str]:
    if not result.is_by_server:
        return []
    return [
        "Shares, capacity and predictions are those of each server by itself, by where the files lie; a job ends with "
        "its last part."
    ]


def _worst(together: pl.DataFrame) -> str:
    known = together.filter(pl.col("slowdown").is_not_null()).sort("slowdown")
    if known.is_empty():
        return "What competition cost is unknown: no job of these sizes ran alone as well." if len(together) else ""
    row = known.row(-1, named=True)
    return (
        f"The I/O of a job with {words.count(row['processes'], 'process', 'processes')} took "
        f"{row['slowdown']:.2f} times as long as alone ({words.seconds(row['seconds'])} instead of "
        f"{words.seconds(row['alone_seconds'])}), the most of all, in {row['pair']}."
    )


def _uneven(together: pl.DataFrame) -> str:
    is_long = pl.col("overlap_seconds") >= LEAST_OVERLAP * pl.col("seconds")
    known = together.filter(pl.col("overlap_ratio").is_not_null(), is_long)
    if known.is_empty():
        return ""
    row = known.sort(pl.col("overlap_ratio").log().abs()).row(-1, named=True)
    return (
        f"The most uneven pair is {row['pair']}: while all processes were at work, bandwidths were 1 to "
        f"{row['overlap_ratio']:.2f}; over the whole runs 1 to {row['overall_ratio']:.2f}."
    )


def campaign_record(result: CampaignResult, page: Path | None) -> dict[str, Any]:
    """What `slicewise study campaign --json` prints."""
    return {
        "direction": result.data.direction,
        "storage": result.data.storage,
        "conditions": result.conditions,
        "alone": result.alone.to_dicts(),
        "together": result.together.to_dicts(),
        "runs": result.runs.to_dicts(),
        "model": {key: value for key, value in model_record(result.model).items() if key != "provenance"},
        "figures": result.figures.to_dicts(),
        "combinations": result.combinations.to_dicts(),
        "checked": result.checked.to_dicts(),
        "page": page,
    }


def conditions_table(found: Conditions) -> Table:
    """On what ground the figures stand."""
    table = Table([Column("condition", is_figure=False), Column("in these runs", is_figure=False)], title="Conditions")
    for name, said in (
        ("runs of one job, of several", f"{found.runs_alone:,}, {found.runs_together:,}"),
        ("jobs at a time", f"up to {found.most_jobs:,}"),
        ("slices", f"{found.slice_seconds:g} s"),
        ("processes, nodes of a job", f"{_from_to(*found.processes)}, {_from_to(*found.nodes)}"),
        ("a job moves", _said(words.size(found.bytes[0]), words.size(found.bytes[1]))),
        ("bytes a call", _said(words.size(found.call_bytes[0]), words.size(found.call_bytes[1]))),
        ("I/O span of a job alone", _seconds(found.seconds_alone)),
        ("I/O span of a job beside others", _seconds(found.seconds_together)),
        ("files", words.listing(found.files)),
        ("runs that stood out among repeats", words.listing(found.dropped) if found.dropped else "none"),
    ):
        table.add(name, said)
    return table


def alone_table(alone: pl.DataFrame) -> Table:
    """Tables 1 and 2 of Kuo et al."""
    table = Table(
        [
            *(Column(name, is_figure=False) for name in ("files", "program", "processes alone")),
            Column("runs"),
            Column("left out"),
            Column("throughput", "MiB/s"),
            Column("RSD over runs", "%"),
            Column("RSD over processes", "%"),
            Column("I/O span", "s"),
        ],
        title="Throughput of jobs alone (Kuo et al., tables 1 and 2)",
    )
    for row in alone.iter_rows(named=True):
        table.add(
            row["files"],
            row["program"],
            row["pair"],
            *_counts(row, "runs", "dropped"),
            _rate(row["overall"]),
            *_percents(row, "run_rsd", "process_rsd"),
            _two_digits(row["seconds"], " s"),
        )
    return table


def together_table(together: pl.DataFrame) -> Table:
    """Table 3 of Kuo et al."""
    table = Table(
        [
            *OF_COMBINATION,
            Column("processes"),
            Column("runs"),
            Column("left out"),
            Column("overall", "MiB/s"),
            Column("ratio"),
            Column("in the overlap", "MiB/s"),
            Column("ratio there"),
            Column("RSD over runs", "%"),
            Column("over its processes", "%"),
            Column("over all processes", "%"),
        ],
        title="Throughput of jobs together (Kuo et al., table 3)",
    )
    for row in _told_apart(together).iter_rows(named=True):
        table.add(
            *_of_combination(row),
            *_counts(row, "processes", "runs", "dropped"),
            _rate(row["overall"]),
            _two_digits(row["overall_ratio"]),
            _rate(row["overlap"]),
            _two_digits(row["overlap_ratio"]),
            *_percents(row, "run_rsd", "process_rsd", "run_process_rsd"),
        )
    return table


def _told_apart(together: pl.DataFrame) -> pl.DataFrame:
    """With whether `programs` or the `setting` tell a combination from others of the same sizes."""
    return together.with_columns(
        by_programs=pl.col("programs").n_unique().over("files", "pair") > 1,
        by_setting=pl.col("setting").n_unique().over("files", "pair", "programs") > 1,
    )


def _of_combination(row: Mapping[str, Any]) -> list[Cell]:
    """The cells of `OF_COMBINATION`; empty where all combinations differ by their sizes."""
    return [
        Cell(row["files"]),
        Cell(row["pair"]),
        Cell(row["programs"] if row["by_programs"] else ""),
        _two_digits(row["start"], " s") if row["by_setting"] else Cell(""),
        Cell(words.size(row["bytes"]), row["bytes"]) if row["by_setting"] else Cell(""),
    ]


def slowdown_table(together: pl.DataFrame) -> Table:
    """How long the I/O of each job took, and what its bytes take alone."""
    table = Table(
        [
            *OF_COMBINATION,
            Column("processes"),
            Column("alone", "s"),
            Column("together", "s"),
            Column("times as long"),
        ],
        title="I/O span of jobs together",
    )
    for row in _told_apart(together).iter_rows(named=True):
        table.add(
            *_of_combination(row),
            *_counts(row, "processes"),
            *(_two_digits(row[name], " s") for name in ("alone_seconds", "seconds")),
            _two_digits(row["slowdown"]),
        )
    return table


def figures_table(figures: pl.DataFrame) -> Table:
    """How far off predicted runtimes are: all runs and without outliers, all jobs and those whose share is at stake."""
    table = Table(
        [
            *(Column(name, is_figure=False) for name in ("runtimes held out", "jobs", "runs")),
            Column("runtimes"),
            Column("not predicted"),
            Column("mean |RE|", "%"),
            Column("largest |RE|", "%"),
            Column("bias", "%"),
            Column("within the interval", "%"),
            Column("largest outside", "%"),
            Column("of these told afterwards", "%"),
            Column("told halfway", "%"),
            Column("told halfway, but within", "%"),
        ],
        title="Predicted runtimes (Kuo et al., figures 6 and 7)",
    )
    for row in figures.iter_rows(named=True):
        table.add(
            row["group"],
            row["jobs"],
            row["runs"],
            *_counts(row, "count"),
            Cell(f"{row['not_predicted']:,}" if row["not_predicted"] else "", row["not_predicted"]),
            *_percents(row, "mean", "largest"),
            _signed(row["bias"]),
            *_percents(row, "within", "largest_outside", "warned", "warned_halfway", "warned_falsely"),
        )
    return table


def combinations_table(combinations: pl.DataFrame) -> Table:
    """How far off the runtimes of each combination of jobs are, by a fit without it."""
    table = Table(
        [
            *(Column(name, is_figure=False) for name in ("runtimes held out", "shares by")),
            Column("runs"),
            Column("stood out"),
            Column("mean |RE|", "%"),
            Column("share at stake", "%"),
            Column("largest |RE|", "%"),
            Column("without outliers", "%"),
            Column("bias", "%"),
            Column("within the interval", "%"),
        ],
        title="The same by combination, all runs",
    )
    for row in combinations.iter_rows(named=True):
        table.add(
            row["pair"],
            row["weight"] or "cannot tell",
            *_counts(row, "runs", "outliers"),
            *_percents(row, "mean", "at_stake_mean", "largest", "largest_without"),
            _signed(row["bias"]),
            *_percents(row, "within"),
        )
    return table


def tables(result: CampaignResult) -> dict[str, Table]:
    """All tables by the names that their files of CSV have, without columns in which no row says anything."""
    found = {
        "conditions": conditions_table(result.conditions),
        "alone": alone_table(result.alone),
        "together": together_table(result.together),
        "slowdown": slowdown_table(result.together),
    }
    if result.checked["relative_error"].is_not_null().any():
        found["predictions"] = figures_table(result.figures)
        found["combinations"] = combinations_table(result.combinations)
    return {name: table.without_empty_columns() for name, table in found.items() if table.rows}


def _from_to(low: int, high: int) -> str:
    return _said(f"{low:,}", f"{high:,}")


def _said(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _seconds(found: tuple[float, float] | None) -> str:
    return "no such run" if found is None else _said(words.duration(found[0]), words.duration(found[1]))


def _counts(row: Mapping[str, Any], *names: str) -> list[Cell]:
    return [Cell(f"{row[name]:,}", row[name]) for name in names]


def _rate(value: float | None) -> Cell:
    return Cell("") if value is None else Cell(f"{value / words.MIB:.1f} MiB/s", value / words.MIB)


def _two_digits(value: float | None, unit: str = "") -> Cell:
    return Cell("") if value is None else Cell(f"{value:.2f}{unit}", value)


def _percents(row: Mapping[str, Any], *names: str) -> list[Cell]:
    return [Cell("") if row[name] is None else Cell(f"{100 * row[name]:.1f} %", 100 * row[name]) for name in names]


def _signed(value: float | None) -> Cell:
    return Cell("") if value is None else Cell(f"{round(100 * value, 1) + 0.0:+.1f} %", 100 * value)
