"""Runs of a campaign that stand out among their repeats."""

from __future__ import annotations

import polars as pl

from slicewise.analysis.runs.campaign import SIZE, TOGETHER
from slicewise.analysis.runs.outliers import outliers


def runs_that_stood_out(jobs: pl.DataFrame) -> set[str]:
    """The runs that stood out among repeats: jobs of the same sizes, about the same starts (1 s) and volumes (10 %).

    jobs: `campaign.JOBS_SCHEMA`; runs of one job are not looked at.
    """
    alike = pl.concat_str(pl.col("start").round(), pl.col("bytes").log().round(1), separator=" ")
    repeats = (
        jobs.filter(TOGETHER)
        .sort("run", *SIZE, "job")
        .with_columns(place=pl.int_range(pl.len()).over("run"), setting=alike.str.join("/").over("run"))
    )
    found = set()
    for _, runs in repeats.group_by("pair", "setting", "place"):
        found |= set(runs.filter(pl.Series(outliers(runs["seconds"].to_list()), dtype=pl.Boolean))["run"])
    return found
