"""What a campaign shows: sentences, tables, JSON and a page."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from slicewise.analysis.campaign.result import ALL_RUNS, AT_STAKE, CampaignResult, Conditions
from slicewise.analysis.sharing.model import model_record
from slicewise.charts import campaign as charts
from slicewise.constants import TOO_FAR_OFF
from slicewise.report import columns
from slicewise.report.columns import Made
from slicewise.report.model.model_report import (
    HELD_OUT,
    answer,
    bars_and_diamonds,
    capacity_lines,
    check_table,
    check_words,
)
from slicewise.report.page import Fact, Page, Section, Step
from slicewise.report.records import picked
from slicewise.report.tables import Cell, Table
from slicewise.scalars import real, whole
from slicewise.text import words

# Of a job's time: rates in a shorter overlap are no ground for a headline.
LEAST_OVERLAP = 0.2
EMPTY = Cell("")
Row = Mapping[str, Any]


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
    told += predicted_words(result)
    return [sentence for sentence in told if sentence]


def predicted_words(result: CampaignResult) -> list[str]:
    if result.checked.is_empty() or result.model.weight.chosen is None:
        return []
    at_stake = result.figures.filter(pl.col("jobs") == AT_STAKE, pl.col("runs") == ALL_RUNS)
    told = [
        f"For {group} whose runtime depends on how the storage shares, predictions are off by {words.percent(mean)} on "
        f"average (bias {words.signed_percent(bias)})."
        for group, mean, bias in at_stake.select("group", "mean", "bias").drop_nulls().iter_rows()
    ]
    return [*check_words(result.checked, HELD_OUT), *told]


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
    return {
        **picked(result.data, "direction", "storage"),
        **picked(result, "conditions", "alone", "together", "runs"),
        "model": {key: value for key, value in model_record(result.model).items() if key != "provenance"},
        **picked(result, "figures", "combinations", "checked"),
        "page": page,
    }


def conditions_table(found: Conditions) -> Table:
    def said(ends: tuple[float, float] | None, how: Callable[[float], str]) -> str:
        return " to ".join(dict.fromkeys(map(how, ends))) if ends else "no such run"

    rows = (
        ("runs of one job, of several", f"{found.runs_alone:,}, {found.runs_together:,}"),
        ("jobs at a time", f"up to {found.most_jobs:,}"),
        ("slices", f"{found.slice_seconds:g} s"),
        ("processes, nodes of a job", f"{said(found.processes, '{:,}'.format)}, {said(found.nodes, '{:,}'.format)}"),
        ("a job moves", said(found.bytes, words.size)),
        ("bytes a call", said(found.call_bytes, words.size)),
        ("I/O span of a job alone", said(found.seconds_alone, words.duration)),
        ("I/O span of a job beside others", said(found.seconds_together, words.duration)),
        ("files", words.listing(found.files)),
        ("runs that stood out among repeats", words.listing(found.dropped) if found.dropped else "none"),
    )
    return columns.table(
        rows,
        columns.text("condition", lambda row: row[0]),
        columns.text("in these runs", lambda row: row[1]),
        title="Conditions",
    )


def alone_table(alone: pl.DataFrame) -> Table:
    """Tables 1 and 2 of Kuo et al."""
    return columns.table(
        alone.iter_rows(named=True),
        columns.text("files", "files"),
        columns.text("program", "program"),
        columns.text("processes alone", "pair"),
        columns.count("runs", "runs"),
        columns.count("left out", "dropped"),
        _rate("throughput", "overall"),
        _percent("RSD over runs", "run_rsd"),
        _percent("RSD over processes", "process_rsd"),
        _two_digits("I/O span", "seconds", "s"),
        title="Throughput of jobs alone (Kuo et al., tables 1 and 2)",
    )


def together_table(together: pl.DataFrame) -> Table:
    """Table 3 of Kuo et al."""
    return columns.table(
        _told_apart(together).iter_rows(named=True),
        *OF_COMBINATION,
        columns.count("processes", "processes"),
        columns.count("runs", "runs"),
        columns.count("left out", "dropped"),
        _rate("overall", "overall"),
        _two_digits("ratio", "overall_ratio"),
        _rate("in the overlap", "overlap"),
        _two_digits("ratio there", "overlap_ratio"),
        _percent("RSD over runs", "run_rsd"),
        _percent("over its processes", "process_rsd"),
        _percent("over all processes", "run_process_rsd"),
        title="Throughput of jobs together (Kuo et al., table 3)",
    )


def _told_apart(together: pl.DataFrame) -> pl.DataFrame:
    """With whether `programs` or the `setting` tell a combination from others of the same sizes."""
    return together.with_columns(
        by_programs=pl.col("programs").n_unique().over("files", "pair") > 1,
        by_setting=pl.col("setting").n_unique().over("files", "pair", "programs") > 1,
    )


def slowdown_table(together: pl.DataFrame) -> Table:
    return columns.table(
        _told_apart(together).iter_rows(named=True),
        *OF_COMBINATION,
        columns.count("processes", "processes"),
        _two_digits("alone", "alone_seconds", "s"),
        _two_digits("together", "seconds", "s"),
        _two_digits("times as long", "slowdown"),
        title="I/O span of jobs together",
    )


def figures_table(figures: pl.DataFrame) -> Table:
    """How far off predicted runtimes are: all runs and without outliers, all jobs and those whose share is at stake."""
    return columns.table(
        figures.iter_rows(named=True),
        columns.text("runtimes held out", "group"),
        columns.text("jobs", "jobs"),
        columns.text("runs", "runs"),
        columns.count("runtimes", "count"),
        columns.said("not predicted", "not_predicted", lambda count: f"{count:,}" if count else ""),
        _percent("mean |RE|", "mean"),
        _percent("largest |RE|", "largest"),
        BIAS,
        _percent("within the interval", "within"),
        _percent("largest outside", "largest_outside"),
        _percent("of these told afterwards", "warned"),
        title="Predicted runtimes (Kuo et al., figures 6 and 7)",
    )


def combinations_table(combinations: pl.DataFrame) -> Table:
    """How far off the runtimes of each combination of jobs are, by a fit without it."""
    return columns.table(
        combinations.iter_rows(named=True),
        columns.text("runtimes held out", "pair"),
        columns.text("shares by", lambda row: row["weight"] or "cannot tell"),
        columns.count("runs", "runs"),
        columns.count("stood out", "outliers"),
        _percent("mean |RE|", "mean"),
        _percent("share at stake", "at_stake_mean"),
        _percent("largest |RE|", "largest"),
        _percent("without outliers", "largest_without"),
        BIAS,
        _percent("within the interval", "within"),
        title="The same by combination, all runs",
    )


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


def _rate(heading: str, name: str) -> Made[Row]:
    return columns.said(
        heading, name, lambda value: f"{value / words.MIB:.1f} MiB/s", "MiB/s", none=EMPTY, scale=1 / words.MIB
    )


def _two_digits(heading: str, name: str, unit: str = "") -> Made[Row]:
    return columns.said(heading, name, lambda value: f"{value:.2f} {unit}".rstrip(), unit, none=EMPTY)


def _percent(heading: str, name: str) -> Made[Row]:
    return columns.said(heading, name, lambda value: f"{100 * value:.1f} %", "%", none=EMPTY, scale=100)


def _if_setting_tells(heading: str, name: str, unit: str, cell: Callable[[float], Cell]) -> Made[Row]:
    def of(row: Row) -> Cell | str:
        return cell(row[name]) if row["by_setting"] and row[name] is not None else ""

    return columns.figure(heading, of, unit)


# A relative error; never "-0.0 %".
BIAS: Made[Row] = columns.said(
    "bias", "bias", lambda value: f"{round(100 * value, 1) + 0.0:+.1f} %", "%", none=EMPTY, scale=100
)
# What tells a combination of jobs from others; empty where all combinations differ by their sizes.
OF_COMBINATION: tuple[Made[Row], ...] = (
    columns.text("files", "files"),
    columns.text("processes together", "pair"),
    columns.text("programs", lambda row: row["programs"] if row["by_programs"] else ""),
    _if_setting_tells("begins", "start", "s", lambda start: Cell(f"{start:.2f} s", start)),
    _if_setting_tells("moves", "bytes", "bytes", lambda moved: Cell(words.size(moved), moved)),
)


OVERLAP = (
    "In the overlap: the longest run of slices in which every process of all jobs moved bytes, or, where there is "
    "none, any process of each. RSD: relative standard "
    "deviation, over runs of the throughput in the overlap, over processes of the bytes of each there. The ratio is to "
    "the first job of the combination. Runs that stood out among their repeats are left out, and counted."
)
ABOUT_STAKES = (
    "A share is at stake where others go on for more than 5 % of a job's time after it ends: what such a job takes "
    "depends on its share. What all others take only says that no capacity lay idle. Bias: below 0 where predictions "
    "are too fast."
)


def campaign_page(result: CampaignResult, name: str, unseen: Sequence[str]) -> Page:
    """The page of a campaign; name: of its folder. unseen: lines on what the profiles could not see or have lost."""
    shown = tables(result)
    sections = [
        Section("Jobs alone", tables=_some(shown, "alone")),
        Section("Jobs together", tables=_some(shown, "together"), note=OVERLAP),
        *_slowdown(result, shown),
        *_slices(result),
        *(_predicted(result, shown) if "predictions" in shown else []),
        Section("Conditions", text=capacity_lines(result.model), tables=_some(shown, "conditions")),
    ]
    worst = result.together["slowdown"].drop_nulls()
    facts = [
        Fact("runs", f"{result.conditions.runs_alone + result.conditions.runs_together:,}"),
        *([Fact("most times as long as alone", words.number(real(worst.max())))] if len(worst) else []),
    ]
    return Page(
        title=f"Competition for storage in {name}",
        kicker=f"Slicewise campaign of {words.count(len(result.data.jobs), 'job')}",
        sentences=opening(result),
        facts=facts,
        sections=[section for section in sections if section.tables or section.chart is not None],
        steps=[
            Step(
                "Learn from these runs how the file system divides its bandwidth:",
                "slicewise study model fit DIRECTORY",
            )
        ],
        unseen=unseen,
    )


def _some(shown: dict[str, Table], *names: str) -> list[Table]:
    return [shown[name] for name in names if name in shown]


def _slowdown(result: CampaignResult, shown: dict[str, Table]) -> list[Section]:
    """Figures 3 and 4: throughput and runtime of each job, alone and together."""
    known = result.together.filter(pl.col("alone_seconds").is_not_null()).with_columns(
        alone_rate=pl.col("overall") * pl.col("slowdown")
    )
    if known.is_empty():
        return [Section("I/O span together", tables=_some(shown, "slowdown"))]
    mib = float(words.MIB)
    return [
        Section(
            "Throughput alone and together",
            chart=charts.alone_and_together(known, ("alone_rate", "overall"), mib, "throughput (MiB/s)"),
            note="A row a job: the combination, and the processes of this one. Throughput: bytes over the time from "
            "the first to the last byte (Kuo et al., figures 3 and 4).",
        ),
        Section(
            "I/O span alone and together",
            chart=charts.alone_and_together(known, ("alone_seconds", "seconds"), 1.0, "I/O span (s)"),
            tables=_some(shown, "slowdown"),
        ),
    ]


def _slices(result: CampaignResult) -> Iterator[Section]:
    """Figures 2 and 5: a run of equal jobs and one of unequal jobs, slice by slice."""
    pairs = result.runs.filter(pl.len().over("run") == 2).with_columns(
        smallest=pl.col("processes").min().over("run"), largest=pl.col("processes").max().over("run")
    )
    equal = pairs.filter(pl.col("smallest") == pl.col("largest")).sort("largest", "run", "place")
    unequal = pairs.filter(pl.col("smallest") < pl.col("largest")).sort("largest", "smallest", "run", "place")
    for heading, rows in (("Equal jobs, slice by slice", equal), ("Unequal jobs, slice by slice", unequal)):
        if rows.is_empty():
            continue
        run = rows.filter(pl.col("run") == rows["run"][-1])
        lines = [
            (f"{words.count(row['processes'], 'process', 'processes')} ({row['job']})", _moved(result, row["job"], run))
            for row in run.iter_rows(named=True)
        ]
        yield Section(
            heading,
            text=[f"The last run of {run['pair'][0]} (Kuo et al., figures 2 and 5)."],
            chart=charts.by_slice(lines, result.data.slice_seconds),
        )


def _moved(result: CampaignResult, job: str, run: pl.DataFrame) -> list[float]:
    """The bytes of a job in each slice from the first of its run to its own last."""
    activity = result.data.activity.filter(pl.col("bytes") > 0)
    of_run = activity.filter(pl.col("job").is_in(run["job"].to_list()))["slice"]
    own = activity.filter(pl.col("job") == job).group_by("slice").agg(pl.col("bytes").sum())
    found = dict(own.iter_rows())
    return [float(found.get(place, 0)) for place in range(whole(of_run.min()), whole(own["slice"].max()) + 1)]


def _predicted(result: CampaignResult, shown: dict[str, Table]) -> list[Section]:
    return [
        Section(
            "Predicted and observed",
            text=[bars_and_diamonds(result.checked)],
            chart=charts.predicted_and_observed(result.checked),
            tables=_some(shown, "predictions", "combinations"),
            note=ABOUT_STAKES,
        ),
        Section("Every run", tables=[check_table(result.checked)]),
    ]
