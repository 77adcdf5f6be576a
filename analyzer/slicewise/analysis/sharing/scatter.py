"""How far off a fitted model is, and why: what a job waits for at its end, how much capacity varies from run to run,
and shares from one combination of jobs to the next.

Frames in (`campaign.JOBS_SCHEMA`, `campaign.SLICES_SCHEMA`), a model with both out. The definitions are in
docs/models.md.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from statistics import median, stdev
from typing import Any

import numpy as np
import polars as pl

from slicewise.analysis.capacity.by_clients import curve_of, rows_of, saturating
from slicewise.analysis.runs.campaign import TOGETHER, runs_that_stood_out
from slicewise.analysis.sharing.model import EndWait, FittedModel, Scatter, model_job, solve, weights_of
from slicewise.analysis.sharing.weights import Weighting, betas_without, fit_beta
from slicewise.scalars import real

# Fewer combinations show neither a wait nor a scatter.
FEWEST_COMBINATIONS = 2

RESIDUALS_SCHEMA = pl.Schema(
    {
        "pair": pl.String,
        "place": pl.Int64,
        "predicted": pl.Float64,
        "observed": pl.Float64,
        "others": pl.Float64,
        "is_at_stake": pl.Boolean,
    }
)


def with_scatter(model: FittedModel, jobs: pl.DataFrame, slices: pl.DataFrame, rates: pl.DataFrame) -> FittedModel:
    """The model with `end_wait` and `scatter`, from the runs that it was fitted to without those that stood out.

    slices: those that show how the storage is shared (`weights.contended`); rates: `capacity_curve.combined_rates`.
    Each combination of jobs is held against the model without what that combination says of capacity and exponent.
    """
    kept = jobs.filter(TOGETHER, ~pl.col("run").is_in(list(runs_that_stood_out(jobs))))
    if model.weight.chosen is None or kept.is_empty():
        return model
    without = _without(model, slices, rates)
    found = replace(model, end_wait=_end_wait(_residuals(kept, without)))
    waiting = _residuals(kept, lambda pair: replace(without(pair), end_wait=found.end_wait))
    return replace(found, scatter=_scatter(waiting))


def _without(model: FittedModel, slices: pl.DataFrame, rates: pl.DataFrame) -> Callable[[str], FittedModel]:
    rows = rows_of(rates)
    chosen, curve = model.weight.chosen, model.capacity
    is_exponent = chosen is not None and chosen.kind == "processes^beta"
    betas = betas_without(slices) if is_exponent else {}

    @cache
    def fitted(pair: str) -> FittedModel:
        found = model
        if model.basis == "capacity curve" and curve is not None:
            others = saturating([row for row in rows if row.pair != pair])
            if others:
                found = replace(found, capacity=curve_of(others, curve.by, curve.power))
        if chosen is not None and is_exponent:
            beta = betas[pair] if pair in betas else fit_beta(slices)
            if beta is not None:
                found = replace(found, weight=replace(found.weight, chosen=Weighting(chosen.kind, beta)))
        return found

    return fitted


def _residuals(jobs: pl.DataFrame, without: Callable[[str], FittedModel]) -> pl.DataFrame:
    """Predicted and observed runtimes (`RESIDUALS_SCHEMA`) of the runs that can be predicted; place: a job's in its
    combination, by size.
    """
    rows = []
    for pair, runs in _runs_of_pairs(jobs).items():
        model = without(pair)
        chosen = model.weight.chosen
        assert chosen is not None
        for run in runs:
            members = [model_job(model, row) for row in run]
            try:
                solved = solve(model, members, weights_of(model, members, chosen))
            except ValueError:
                continue
            rows += [
                (pair, place, job.t_co, row["seconds"], job.others, job.is_at_stake)
                for place, (row, job) in enumerate(zip(run, solved, strict=True))
            ]
    return pl.DataFrame(rows, schema=RESIDUALS_SCHEMA, orient="row")


def _runs_of_pairs(jobs: pl.DataFrame) -> dict[str, list[list[dict[str, Any]]]]:
    """The rows of each run, by size, of each combination; in the order in which they come."""
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in jobs.sort("processes", "nodes", "mounts", "job").iter_rows(named=True):
        runs.setdefault((row["pair"], row["run"]), []).append(row)
    found: dict[str, list[list[dict[str, Any]]]] = {}
    for pair, run in jobs.select("pair", "run").unique(maintain_order=True).iter_rows():
        found.setdefault(pair, []).append(runs[pair, run])
    return found


def _end_wait(residuals: pl.DataFrame) -> EndWait | None:
    """What jobs took longer than predicted, over the weight of those that went on: the median over jobs of
    combinations, and none unless three of four of these show some.
    """
    shown = (
        residuals.filter("is_at_stake")
        .group_by("pair", "place")
        .agg(wait=((pl.col("observed") - pl.col("predicted")) / pl.col("others")).median())
    )
    waits = shown["wait"].to_list()
    if shown["pair"].n_unique() < FEWEST_COMBINATIONS or np.quantile(waits, 0.25) <= 0:
        return None
    return EndWait(median(waits), stdev(waits), shown["pair"].n_unique())


def _scatter(residuals: pl.DataFrame) -> Scatter | None:
    """Of jobs whose share is at stake and of the others; where too few combinations show one of the two, it is taken
    from all jobs.
    """
    every = _deviation(residuals)
    if every is None:
        return None
    capacity = _deviation(residuals.filter(~pl.col("is_at_stake"))) or every
    shares = _deviation(residuals.filter("is_at_stake")) or max(every, capacity)
    return Scatter(*capacity, *shares)


def _deviation(residuals: pl.DataFrame) -> tuple[float, int] | None:
    by_pair = residuals.group_by("pair").agg(square=((pl.col("observed") / pl.col("predicted")).log() ** 2).mean())
    return (math.sqrt(real(by_pair["square"].mean())), len(by_pair)) if len(by_pair) >= FEWEST_COMBINATIONS else None
