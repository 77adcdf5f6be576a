"""The page of a campaign."""

from collections.abc import Sequence

import polars as pl

from slicewise.analysis.campaign.result import CampaignResult
from slicewise.charts import campaign
from slicewise.charts import campaign as charts
from slicewise.report.campaign import campaign_words
from slicewise.report.campaign.campaign_words import tables
from slicewise.report.model.model_page import MEANS
from slicewise.report.model.model_tables import capacity_lines, check_table
from slicewise.report.page import Fact, Page, Section, Step
from slicewise.report.tables import Table
from slicewise.scalars import real, whole
from slicewise.text import words

OVERLAP = (
    "In the overlap: the longest run of slices in which every process of all jobs moved bytes, or, where there is "
    "none, any process of each. RSD: relative standard "
    "deviation, over runs of the throughput in the overlap, over processes of the bytes of each there. The ratio is to "
    "the first job of the combination. Runs that stood out among their repeats are left out, and counted."
)
AT_STAKE = (
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
        *_predicted(result, shown),
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
        sentences=campaign_words.opening(result),
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


def _slices(result: CampaignResult) -> list[Section]:
    """Figures 2 and 5: a run of equal jobs and one of unequal jobs, slice by slice."""
    pairs = result.runs.filter(pl.len().over("run") == 2).with_columns(
        smallest=pl.col("processes").min().over("run"), largest=pl.col("processes").max().over("run")
    )
    equal = pairs.filter(pl.col("smallest") == pl.col("largest")).sort("largest", "run", "place")
    unequal = pairs.filter(pl.col("smallest") < pl.col("largest")).sort("largest", "smallest", "run", "place")
    sections = []
    for heading, rows in (("Equal jobs, slice by slice", equal), ("Unequal jobs, slice by slice", unequal)):
        if rows.is_empty():
            continue
        run = rows.filter(pl.col("run") == rows["run"][-1])
        lines = [
            (f"{words.count(row['processes'], 'process', 'processes')} ({row['job']})", _moved(result, row["job"], run))
            for row in run.iter_rows(named=True)
        ]
        sections.append(
            Section(
                heading,
                text=[f"The last run of {run['pair'][0]} (Kuo et al., figures 2 and 5)."],
                chart=charts.by_slice(lines, result.data.slice_seconds),
            )
        )
    return sections


def _moved(result: CampaignResult, job: str, run: pl.DataFrame) -> list[float]:
    """The bytes of a job in each slice from the first of its run to its own last."""
    activity = result.data.activity.filter(pl.col("bytes") > 0)
    of_run = activity.filter(pl.col("job").is_in(run["job"].to_list()))["slice"]
    own = activity.filter(pl.col("job") == job).group_by("slice").agg(pl.col("bytes").sum())
    found = dict(own.iter_rows())
    return [float(found.get(place, 0)) for place in range(whole(of_run.min()), whole(own["slice"].max()) + 1)]


def _predicted(result: CampaignResult, shown: dict[str, Table]) -> list[Section]:
    if "predictions" not in shown:
        return []
    means = MEANS if campaign.shows_means(result.checked) else ""
    return [
        Section(
            "Predicted and observed",
            text=[f"Bars are what was observed, diamonds what was predicted, with intervals{means}."],
            chart=campaign.predicted_and_observed(result.checked),
            tables=_some(shown, "predictions", "combinations"),
            note=AT_STAKE,
        ),
        Section("Every run", tables=[check_table(result.checked)]),
    ]
