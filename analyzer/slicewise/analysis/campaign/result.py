"""All that a campaign shows of competition for a storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.analysis.campaign.figures import by_combination, figures
from slicewise.analysis.campaign.throughput import alone_table, runs_of, together_table
from slicewise.analysis.runs.campaign import ALONE, TOGETHER, Campaign, campaign
from slicewise.analysis.runs.servers import Placement, by_server
from slicewise.analysis.sharing.by_server import cross_check_by_server, model_of_a_server
from slicewise.analysis.sharing.fitted_model import cross_check, fit_model, with_held_out
from slicewise.analysis.sharing.model import FittedModel
from slicewise.digest.digest import Digest
from slicewise.kinds import CampaignDirection
from slicewise.scalars import real, whole


@dataclass(frozen=True)
class Conditions:
    """On what ground the figures stand: counts, and the least and the most of what runs were like."""

    runs_alone: int
    runs_together: int
    most_jobs: int
    dropped: list[str]
    slice_seconds: float
    processes: tuple[int, int]
    nodes: tuple[int, int]
    seconds_alone: tuple[float, float] | None
    seconds_together: tuple[float, float] | None
    bytes: tuple[int, int]
    call_bytes: tuple[float, float]
    files: list[str]


@dataclass(frozen=True)
class CampaignResult:
    """runs, alone, together: see throughput.py. checked: every run of several jobs against a model that was fitted
    without its combination of jobs (`fitted_model.CHECK_SCHEMA`); figures, combinations: see figures.py. model: fitted
    to all of them. is_by_server: checked and model are of each server by itself (`sharing.by_server`).
    """

    data: Campaign
    conditions: Conditions
    runs: pl.DataFrame
    alone: pl.DataFrame
    together: pl.DataFrame
    model: FittedModel
    checked: pl.DataFrame
    figures: pl.DataFrame
    combinations: pl.DataFrame
    is_by_server: bool = False


def campaign_result(
    digests: Sequence[Digest], direction: CampaignDirection = "auto", placement: Placement | None = None
) -> CampaignResult:
    """What profiles of jobs that ran alone and together show. Raises UserError as `campaign` and `by_server` do."""
    return result_of(campaign(digests, direction), placement)


def result_of(data: Campaign, placement: Placement | None = None) -> CampaignResult:
    """What a campaign shows. placement: the server of each file, where the storage is several of them."""
    runs = runs_of(data)
    if placement is None:
        model, checked = fit_model(data.jobs, data.slices), cross_check(data.jobs, data.slices, None, data.progress)
    else:
        parts = by_server(data, placement)
        model, checked = model_of_a_server(parts), cross_check_by_server(parts, data.jobs)
    return CampaignResult(
        data=data,
        conditions=_conditions(data, runs),
        runs=runs,
        alone=alone_table(runs),
        together=together_table(runs),
        model=with_held_out(model, checked),
        checked=checked,
        figures=figures(checked),
        combinations=by_combination(checked),
        is_by_server=placement is not None,
    )


def _conditions(data: Campaign, runs: pl.DataFrame) -> Conditions:
    """On what ground a campaign's figures stand. runs: of `runs_of`."""
    alone = runs.filter(ALONE)
    together = runs.filter(TOGETHER)
    calls = data.activity.group_by("job").agg(call=pl.col("bytes").sum() / pl.col("ops").sum().clip(1))
    return Conditions(
        runs_alone=alone["run"].n_unique(),
        runs_together=together["run"].n_unique(),
        most_jobs=whole(runs["place"].max()) + 1,
        dropped=runs.filter("stood_out")["run"].unique(maintain_order=True).to_list(),
        slice_seconds=data.slice_seconds,
        processes=_from_to(runs["processes"]),
        nodes=_from_to(runs["nodes"]),
        seconds_alone=_from_to_seconds(alone["seconds"]),
        seconds_together=_from_to_seconds(together["seconds"]),
        bytes=_from_to(runs["bytes"]),
        call_bytes=(real(calls["call"].min()), real(calls["call"].max())),
        files=runs["files"].unique().sort().to_list(),
    )


def _from_to(values: pl.Series) -> tuple[int, int]:
    return whole(values.min()), whole(values.max())


def _from_to_seconds(values: pl.Series) -> tuple[float, float] | None:
    return (real(values.min()), real(values.max())) if len(values) else None
