"""All that a campaign shows of competition for a storage."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.analysis.campaign.throughput import alone_table, runs_of, together_table
from slicewise.analysis.runs.campaign import ALONE, TOGETHER, Campaign, campaign
from slicewise.analysis.sharing.by_server import Placement, by_server, cross_check_by_server
from slicewise.analysis.sharing.fitted_model import cross_check, fit_model, with_held_out
from slicewise.analysis.sharing.model import FittedModel
from slicewise.digest.digest import Digest
from slicewise.kinds import CampaignDirection
from slicewise.scalars import real, real_or_none, whole

FIGURES_SCHEMA = pl.Schema(
    {
        "group": pl.String,
        "jobs": pl.String,
        "runs": pl.String,
        "count": pl.Int64,
        "run_count": pl.Int64,
        "not_predicted": pl.Int64,
        "mean": pl.Float64,
        "largest": pl.Float64,
        "bias": pl.Float64,
        "within": pl.Float64,
        "largest_outside": pl.Float64,
        "warned": pl.Float64,
        "warned_halfway": pl.Float64,
        "warned_falsely": pl.Float64,
    }
)
PAIRS, MORE = "pairs", "three jobs and more"
ALL_JOBS, AT_STAKE = "all", "share at stake"
ALL_RUNS, WITHOUT = "all", "without outliers"


def figures(checked: pl.DataFrame) -> pl.DataFrame:
    """`FIGURES_SCHEMA`: of pairs and of more jobs (`group`), of all and of those whose share is at stake (`jobs`), of
    all runs and without those that stood out (`runs`).

    count, run_count: jobs and runs that could be predicted. mean, largest: of |relative error|; bias: mean of the
    relative error, below 0 where predictions are too fast; within: the part whose observed time lies in its interval,
    null where there are no intervals; largest_outside: of |relative error| of the others; warned: the part of these
    that the model says do not follow it, by the time that was observed; warned_halfway: the part of these whose run was
    seen to be off when half of its bytes had been moved, and not yet all of the job's (`halfway`); warned_falsely: the
    part of those within, likewise.
    """
    return figures_of(checked, {PAIRS: pl.len().over("run") == 2, MORE: pl.len().over("run") > 2})


def figures_of(checked: pl.DataFrame, groups: dict[str, pl.Expr]) -> pl.DataFrame:
    """`figures` of the rows in each of these groups."""
    rows = []
    for group, is_in in groups.items():
        chosen = checked.filter(is_in)
        for jobs, is_counted in ((ALL_JOBS, pl.lit(True)), (AT_STAKE, pl.col("is_at_stake").fill_null(False))):
            for runs, is_kept in ((ALL_RUNS, pl.lit(True)), (WITHOUT, ~pl.col("is_outlier"))):
                some = chosen.filter(is_counted & is_kept)
                if len(some):
                    rows.append({"group": group, "jobs": jobs, "runs": runs} | _figures_of(some))
    return pl.DataFrame(rows, schema=FIGURES_SCHEMA)


def by_combination(checked: pl.DataFrame) -> pl.DataFrame:
    """A row a combination of jobs, of all runs: pair, weight, runs, outliers, mean, largest, bias, within;
    largest_without: without those that stood out; at_stake_mean: of jobs whose share is at stake.
    """
    rows = []
    for (pair,), runs in checked.group_by("pair", maintain_order=True):
        of_all = _figures_of(runs)
        at_stake = _figures_of(runs.filter(pl.col("is_at_stake").fill_null(False)))
        kept = _figures_of(runs.filter(~pl.col("is_outlier")))
        weights = sorted({str(kind) for kind in runs["weight"].drop_nulls()})
        rows.append(
            {"pair": str(pair), "weight": " / ".join(weights), "runs": runs["run"].n_unique()}
            | {"outliers": runs.filter("is_outlier")["run"].n_unique(), "at_stake_mean": at_stake["mean"]}
            | {"largest_without": kept["largest"]}
            | {name: of_all[name] for name in ("mean", "largest", "bias", "within")}
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def _in_time(checked: pl.DataFrame) -> float | None:
    """The part of jobs of which it was said, before they had moved all of their bytes, that their run is off."""
    known = checked.filter(pl.col("is_warned_halfway").is_not_null())
    return real_or_none((known["is_warned_halfway"] & known["halfway_seconds"].is_not_null()).mean())


def _figures_of(checked: pl.DataFrame) -> dict[str, object]:
    known = checked.filter(pl.col("relative_error").is_not_null()).with_columns(
        off=pl.col("relative_error").abs(), is_within=pl.col("observed").is_between("low", "high")
    )
    outside = known.filter(~pl.col("is_within"))
    return {
        "count": len(known),
        "run_count": known["run"].n_unique(),
        "not_predicted": len(checked) - len(known),
        "mean": known["off"].mean(),
        "largest": known["off"].max(),
        "bias": known["relative_error"].mean(),
        "within": known["is_within"].mean() if (known["high"] > known["low"]).any() else None,
        "largest_outside": outside["off"].max(),
        "warned": outside["misfit"].is_not_null().mean() if len(outside) else None,
        "warned_halfway": _in_time(outside),
        "warned_falsely": _in_time(known.filter("is_within")),
    }


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
    without its combination of jobs (`fitted_model.CHECK_SCHEMA`); figures, combinations: see `figures`. model: fitted
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
        model, checked = fit_model(data.jobs, data.slices), cross_check(data.jobs, data.slices, data.progress)
    else:
        parts = by_server(data, placement)
        model, checked = fit_model(parts.jobs, parts.slices), cross_check_by_server(parts, data.jobs)
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
