"""Runs in which the storage gave its jobs less than in their repeats: somebody whom nobody profiled was at it too.

A fit leaves them out, for they do not show what the storage gives; checks do not, and count them.
"""

from __future__ import annotations

import polars as pl

from slicewise.constants import CONSTANT, EQUAL_VOLUMES, FEWEST_REPEATS

# Modified z-scores from here on are outliers (Iglewicz and Hoaglin, 1993); 0.6745 standard deviations are the median
# absolute deviation of normal figures.
MODIFIED_Z = 3.5
MAD_OF_NORMAL = 0.6745


def disturbed_runs(jobs: pl.DataFrame, slices: pl.DataFrame) -> list[str]:
    """The runs (`campaign.JOBS_SCHEMA`, `campaign.SLICES_SCHEMA`), sorted. The rate of a run is the mean over its
    slices of what all of its jobs moved. It is disturbed where that is below the median of its repeats by a modified
    z-score of `MODIFIED_Z` and by more than a capacity varies that is called constant. Repeats have the same jobs and
    bytes.
    """
    work = jobs.group_by("run").agg(alike=(pl.col("bytes").sum().log() / EQUAL_VOLUMES).round())
    repeats = ("pair", "alike")
    rates = (
        slices.group_by("pair", "run", "slice")
        .agg(rate=pl.col("bytes").sum() / pl.col("seconds").first())
        .group_by("pair", "run")
        .agg(pl.col("rate").mean())
        .join(work, on="run")
        .with_columns(short=pl.col("rate").median().over(repeats) - pl.col("rate"))
        .with_columns(deviation=pl.col("short").abs().median().over(repeats))
    )
    odd = rates.filter(
        pl.len().over(repeats) >= FEWEST_REPEATS,
        pl.col("short") > CONSTANT * (pl.col("rate") + pl.col("short")),
        pl.col("short") * MAD_OF_NORMAL > MODIFIED_Z * pl.col("deviation"),
    )
    return sorted(odd["run"])
