"""What a campaign shows, in sentences. Plain text, no markup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from slicewise.analysis.campaign.result import ALL_RUNS, AT_STAKE, CampaignResult
from slicewise.analysis.sharing.model import model_record
from slicewise.constants import TOO_FAR_OFF
from slicewise.report.model.model_tables import HELD_OUT, check_words
from slicewise.report.model.model_words import answer
from slicewise.text import words

# Of a job's time: rates in a shorter overlap are no ground for a headline.
LEAST_OVERLAP = 0.2


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
