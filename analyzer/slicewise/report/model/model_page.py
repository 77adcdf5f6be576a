"""The page of `slicewise study model check`: predicted against observed runtimes of a campaign."""

from collections.abc import Sequence

import polars as pl

from slicewise.charts import campaign
from slicewise.report.model.model_tables import check_table, check_words, summary
from slicewise.report.page import Fact, Page, Section, Step
from slicewise.text import words

MEANS = ", means of the runs of a combination, without those that stood out among them"


def check_page(checked: pl.DataFrame, how: str, unseen: Sequence[str]) -> Page:
    """The page for a frame of `fitted.CHECK_SCHEMA`; how: by which model; unseen: what profiles lack, a line each."""
    found = summary(checked)
    return Page(
        title="Predicted and observed runtimes",
        kicker=f"Slicewise model check of {words.count(found['runs'], 'run')}",
        sentences=check_words(checked, how),
        facts=[
            Fact("largest error", words.percent(found["max_relative_error"])),
            Fact("mean error", words.percent(found["mean_relative_error"])),
            Fact("jobs", f"{found['jobs']}"),
        ],
        sections=[
            Section(
                "Every run",
                text=[
                    "Bars are what was observed, diamonds what was predicted, with intervals"
                    f"{MEANS if campaign.shows_means(checked) else ''}."
                ],
                chart=campaign.predicted_and_observed(checked),
                tables=[check_table(checked)],
                note="A runtime is from the first to the last byte that the job moved beside the others.",
            )
        ],
        steps=[Step("Predict when other jobs would end side by side:", "slicewise study model predict --help")],
        unseen=list(unseen),
    )
