"""A fitted model of sharing (docs/models.md): how it comes from a campaign's frames, what it predicts, how far it is
off.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from statistics import fmean, median, stdev
from typing import Any

import numpy as np
import polars as pl

from slicewise.analysis.capacity.by_clients import combined_rates, curve_of, fit_capacity, rows_of, saturating
from slicewise.analysis.runs.campaign import ALONE, SIZE, SLICES_SCHEMA, TOGETHER, rates_of_runs, runs_that_stood_out
from slicewise.analysis.runs.rates import mean_of_repeats
from slicewise.analysis.sharing.goodness import Misfit, misfits, shares_shown
from slicewise.analysis.sharing.model import (
    AloneRate,
    Basis,
    EndWait,
    FittedModel,
    HeldOut,
    ModelJob,
    ModelledRuntime,
    Scatter,
    Solved,
    combined_rate,
    model_job,
    solve,
    weights_of,
)
from slicewise.analysis.sharing.weights import Weighting, betas_without, contended, fit_beta, fit_weight
from slicewise.constants import CONSTANT, EQUAL_VOLUMES, FEWEST_REPEATS, FILLED, NEGLIGIBLE_ERROR
from slicewise.estimate import Estimate
from slicewise.scalars import real, whole
from slicewise.text import words

# Fewer combinations show neither a wait nor a scatter.
FEWEST_COMBINATIONS = 2

RESIDUALS_SCHEMA = pl.Schema(
    {"pair": pl.String, "place": pl.Int64}
    | dict.fromkeys(("predicted", "observed", "others"), pl.Float64)
    | {"is_at_stake": pl.Boolean}
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
    """Predicted and observed runtimes (`RESIDUALS_SCHEMA`); place: a job's in its combination, by size."""
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
    """The median of (observed - predicted) over the others' weight; None unless three of four jobs show some."""
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
    """Of jobs whose share is at stake and of the others; of all jobs where too few combinations show one."""
    every = _deviation(residuals)
    if every is None:
        return None
    capacity = _deviation(residuals.filter(~pl.col("is_at_stake"))) or every
    shares = _deviation(residuals.filter("is_at_stake")) or max(every, capacity)
    return Scatter(*capacity, *shares)


def _deviation(residuals: pl.DataFrame) -> tuple[float, int] | None:
    by_pair = residuals.group_by("pair").agg(square=((pl.col("observed") / pl.col("predicted")).log() ** 2).mean())
    return (math.sqrt(real(by_pair["square"].mean())), len(by_pair)) if len(by_pair) >= FEWEST_COMBINATIONS else None


CHECK_SCHEMA = pl.Schema(
    dict.fromkeys(("run", "pair", "job", "weight", "basis"), pl.String)
    | dict.fromkeys(("predicted", "low", "high", "observed", "relative_error"), pl.Float64)
    | {"is_at_stake": pl.Boolean, "is_outlier": pl.Boolean}
    | {"misfit": pl.String}
    | dict.fromkeys(("own_seconds", "own_share", "model_share", "capacity_ratio"), pl.Float64)
)
# Modified z-scores from here on are outliers (Iglewicz and Hoaglin, 1993); 0.6745 standard deviations are the median
# absolute deviation of normal figures.
MODIFIED_Z = 3.5
MAD_OF_NORMAL = 0.6745


def fit_model(jobs: pl.DataFrame, slices: pl.DataFrame, provenance: Mapping[str, Any] | None = None) -> FittedModel:
    """Fit weight and capacity to a campaign's slices, then `scatter` to its runtimes, without disturbed runs."""
    disturbed = disturbed_runs(jobs, slices)
    jobs, slices = (frame.filter(~pl.col("run").is_in(disturbed)) for frame in (jobs, slices))
    alone = alone_rates(jobs)
    shared = contended(slices, _alone_by_job(jobs, alone))
    weight = fit_weight(shared)
    rates = combined_rates(slices)
    curve = fit_capacity(rates)
    basis: Basis = "capacity curve" if curve is not None else "standalone times"
    scaled = _standalone_error(jobs, slices, alone, weight.chosen)
    if scaled is not None and (
        curve is None or curve.held_out_error is None or scaled <= curve.held_out_error + NEGLIGIBLE_ERROR
    ):
        basis = "standalone times"
    told = dict(provenance or {})
    model = FittedModel(weight, curve, basis, process_demand(alone, rates), alone, provenance=told, disturbed=disturbed)
    return with_scatter(model, jobs, shared, rates)


def with_held_out(model: FittedModel, checked: pl.DataFrame) -> FittedModel:
    """The model with the errors of `cross_check`, without runs that stood out among their repeats."""
    errors = checked.filter(~pl.col("is_outlier"))["relative_error"].drop_nulls().abs()
    if errors.is_empty():
        return model
    root_mean_square = math.sqrt(real((errors**2).mean()))
    held_out = HeldOut(real(errors.mean()), real(errors.max()), root_mean_square, checked["pair"].n_unique())
    return replace(model, held_out=held_out)


def alone_rates(jobs: pl.DataFrame) -> list[AloneRate]:
    """What jobs reach alone, by size, from the runs of one job; of four repeats or more outliers are dropped."""
    alone = jobs.filter(ALONE)
    found = []
    for (program, *size), runs in alone.group_by(SIZE, maintain_order=True):
        rate, dropped = mean_of_repeats(rates_of_runs(runs))
        stood_out = pl.Series(dropped, dtype=pl.Boolean)
        kept = runs.filter(~stood_out)
        outstanding = real(kept["outstanding"].mean())
        names = runs.filter(stood_out)["run"].to_list()
        processes, nodes, mounts = map(whole, size)
        found.append(AloneRate(str(program), processes, nodes, mounts, rate, outstanding, len(kept), names))
    return sorted(found, key=lambda rate: (rate.program, rate.processes, rate.nodes, rate.mounts))


def process_demand(alone: Sequence[AloneRate], rates: pl.DataFrame) -> Estimate | None:
    """The rate of one process by itself, from the smallest jobs alone, below what the storage serves."""
    if rates.is_empty():
        return None
    enough = FILLED * real(rates["rate"].max())
    fewest = min((rate.processes for rate in alone if rate.rate.value >= enough), default=math.inf)
    smallest = min((rate.processes for rate in alone), default=0)
    its = [rate.rate for rate in alone if rate.processes == smallest and rate.rate.value < enough]
    if not its or smallest >= fewest:
        return None
    value, low, high = fmean(one.value for one in its), min(one.low for one in its), max(one.high for one in its)
    how = f"standalone runs of {words.count(smallest, 'process')}, below the capacity"
    return Estimate(value / smallest, low / smallest, high / smallest, how)


def predict(model: FittedModel, jobs: Sequence[ModelJob]) -> list[ModelledRuntime]:
    """Runtimes of jobs beside each other. The interval is the model's scatter, where that is known; and what comes out
    with the exponent, the capacity and the standalone rates at their ends where it is not known, or where nothing shows
    what a job of that size reaches alone. Raises ValueError where the model has no weight, or does not know how fast a
    job would be.
    """
    chosen = model.weight.chosen
    if chosen is None:
        raise ValueError(f"the model cannot tell by what the storage is shared: {model.weight.reason}")
    beta = model.weight.beta if chosen.kind == "processes^beta" else None
    ends = [Weighting(chosen.kind, end) for end in (beta.low, beta.high)] if beta is not None else [chosen]
    return _predicted(model, jobs, weights_of(model, jobs, chosen), [weights_of(model, jobs, end) for end in ends])


def _predicted(
    model: FittedModel, jobs: Sequence[ModelJob], weights: Sequence[float], others: Sequence[Sequence[float]]
) -> list[ModelledRuntime]:
    """Runtimes with shares by `weights`; others: weights at the ends of what they are known to."""
    corners: list[list[Solved]] = []
    if model.scatter is None or not all(map(model.knows_size_of, jobs)):
        corners = [solve(model, jobs, corner, end) for corner, end in product(others, (-1, 1))]
    found = []
    for place, (job, solved) in enumerate(zip(jobs, solve(model, jobs, weights), strict=True)):
        time = _within(model.scatter, solved, [corner[place].t_co for corner in corners])
        found.append(
            ModelledRuntime(job.job, solved.end, time, solved.t_alone, solved.t_co / solved.t_alone, solved.is_at_stake)
        )
    return found


def _within(scatter: Scatter | None, solved: Solved, corners: Sequence[float]) -> Estimate:
    """A predicted time with its interval: the scatter's and that of the corners, added up in squares."""
    factor, how = 1.0, []
    if scatter is not None:
        factor = scatter.factor(solved.is_at_stake)
        what, count = "capacity varies from run to run", scatter.capacity_combinations
        if solved.is_at_stake:
            what, count = "shares vary from one combination to the next", scatter.share_combinations
        how.append(f"{what}: by the errors of {count} combinations, 95 % by Student's t")
    if corners:
        how.append("exponent, capacity and standalone rates at their ends")
    value = solved.t_co
    below, above = value - min([value, *corners]), max([value, *corners]) - value
    low = value - math.hypot(value - value / factor, solved.wait_doubt, below)
    high = value + math.hypot(value * factor - value, solved.wait_doubt, above)
    return Estimate(value, max(low, 0.0), high, "; ".join(how))


def check(model: FittedModel, jobs: pl.DataFrame, slices: pl.DataFrame | None = None) -> pl.DataFrame:
    """Predicted against observed runtimes (`CHECK_SCHEMA`) of every run of several jobs; nulls where the model cannot
    predict. is_outlier: of four repeats or more, that one of this run's jobs took a time that stood out among them.
    misfit: null where the observed time lies in the interval, else as `goodness.Misfit` has it, as are own_seconds
    (`with_own_shares`), own_share, model_share, capacity_ratio. slices: the campaign's, by which these are found.
    """
    rows, stood_out = [], runs_that_stood_out(jobs)
    chosen = model.weight.chosen
    shown = slices if slices is not None else pl.DataFrame(schema=SLICES_SCHEMA)
    for (run,), table in jobs.filter(TOGETHER).group_by("run", maintain_order=True):
        members = [model_job(model, row) for row in table.iter_rows(named=True)]
        predicted: list[ModelledRuntime] = []
        off: dict[str, Misfit] = {}
        try:
            predicted = predict(model, members)
            off = _misfits(model, members, predicted, table, shown.filter(pl.col("run") == run))
        except ValueError:
            predicted = []
        for place, row in enumerate(table.iter_rows(named=True)):
            told = {"run": run, "pair": row["pair"], "job": row["job"], "observed": row["seconds"]}
            told |= {"weight": chosen and chosen.kind, "basis": model.basis, "is_outlier": run in stood_out}
            if predicted:
                time = predicted[place].t_co
                told |= {"predicted": time.value, "low": time.low, "high": time.high}
                told |= {"relative_error": time.value / row["seconds"] - 1, "is_at_stake": predicted[place].is_at_stake}
            if (misfit := off.get(row["job"])) is not None:
                told |= {"misfit": misfit.kind, "own_seconds": misfit.with_own_shares, "own_share": misfit.own_share}
                told |= {"model_share": misfit.model_share, "capacity_ratio": misfit.capacity_ratio}
            rows.append(told)
    return pl.DataFrame(rows, schema=CHECK_SCHEMA)


def misfit_of(row: Mapping[str, Any]) -> Misfit:
    """What a row of `CHECK_SCHEMA` with a misfit says of it."""
    time = Estimate(row["predicted"], row["low"], row["high"], "")
    shares = (row[name] for name in ("own_seconds", "own_share", "model_share", "capacity_ratio"))
    return Misfit(row["job"], time, row["observed"], row["misfit"], *shares)


def _misfits(
    model: FittedModel,
    jobs: Sequence[ModelJob],
    predicted: Sequence[ModelledRuntime],
    table: pl.DataFrame,
    slices: pl.DataFrame,
) -> dict[str, Misfit]:
    assert model.weight.chosen is not None
    names, weights = [job.job for job in jobs], weights_of(model, jobs, model.weight.chosen)
    own = shares_shown(slices, names)
    if own is not None:  # in the model's units, for what is known of ends goes by them
        own = [weight * sum(weights) / sum(own) for weight in own]
    together = (
        slices.filter(pl.len().over("slice") == len(names))
        .group_by("slice")
        .agg(rate=pl.col("bytes").sum() / pl.col("seconds").first())
    )
    capacity = combined_rate(model, jobs, weights)
    found = misfits(
        names,
        [runtime.t_co for runtime in predicted],
        table["seconds"].to_list(),
        weights,
        own,
        lambda given: [runtime.t_co for runtime in _predicted(model, jobs, given, [given])],
        None if together.is_empty() else real(together["rate"].mean()) / capacity,
    )
    return {misfit.job: misfit for misfit in found}


def cross_check(jobs: pl.DataFrame, slices: pl.DataFrame) -> pl.DataFrame:
    """`check` of every combination of jobs by a model that was fitted, weight and all, without its runs."""
    tables = [pl.DataFrame(schema=CHECK_SCHEMA)]
    for pair in jobs.filter(TOGETHER)["pair"].unique(maintain_order=True):
        is_own = pl.col("pair") == pair
        model = fit_model(jobs.filter(~is_own), slices.filter(~is_own))
        tables.append(check(model, jobs.filter(is_own), slices.filter(is_own)))
    return pl.concat(tables)


def _alone_by_job(jobs: pl.DataFrame, alone: Sequence[AloneRate]) -> dict[str, float]:
    rates = {(rate.program, rate.processes, rate.nodes, rate.mounts): rate.rate.value for rate in alone}
    sizes = zip(jobs["job"], jobs.select(SIZE).iter_rows(), strict=True)
    return {job: rates[size] for job, size in sizes if size in rates}


def _standalone_error(
    jobs: pl.DataFrame, slices: pl.DataFrame, alone: Sequence[AloneRate], weighting: Weighting | None
) -> float | None:
    """The root mean square of ln(predicted / observed combined rate), shares being of standalone rates."""
    rates = _alone_by_job(jobs, alone)
    together = slices.filter(pl.len().over("run", "slice") > 1)
    if weighting is None or together.is_empty() or not set(together["job"]) <= set(rates):
        return None
    weight = weighting.expression()
    by_run = (
        together.with_columns(alone=pl.col("job").replace_strict(rates, return_dtype=pl.Float64))
        .with_columns(served=weight / weight.sum().over("run", "slice") * pl.col("alone") * pl.col("seconds"))
        .group_by("pair", "run")
        .agg(error=(pl.col("served").sum() / pl.col("bytes").sum()).log() ** 2)
    )
    return math.sqrt(real(by_run.group_by("pair").agg(pl.col("error").mean())["error"].mean()))


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


# Clients beyond the most that were seen by less than this fraction are no news.
CLIENTS_BEYOND = 0.1


def doubts(model: FittedModel, jobs: Sequence[ModelJob], found: Sequence[ModelledRuntime]) -> list[str]:
    """Why a prediction (found) of runs that nobody has seen may be off by more than its interval, a clause each."""
    told = [f"no run shows what {job.job} reaches alone" for job in jobs if not model.knows_size_of(job)]
    if model.scatter is None:
        told.append("too few combinations of jobs were seen to say how shares vary, so the interval leaves that out")
    curve = model.capacity
    if model.basis == "capacity curve" and curve is not None and curve.by != "constant":
        most, clients = max(point.clients for point in curve.points), sum(job.clients[curve.by] for job in jobs)
        if clients > (1 + CLIENTS_BEYOND) * most:
            told.append(f"here {clients} {curve.by} are at work, and no run had more than {most}")
    for kind in model.weight.possible:
        if model.weight.chosen is None or kind == model.weight.chosen.kind:
            continue
        beta = model.weight.beta.value if model.weight.beta else 1.0
        try:
            others = predict(model.by(Weighting(kind, beta)), jobs)
        except ValueError:
            continue
        for runtime, other in zip(found, others, strict=True):
            if not runtime.t_co.low <= other.t_co.value <= runtime.t_co.high:
                told.append(
                    f"shares by {kind}, which the runs do not refute, give {runtime.job} {other.t_co.value:.4g} s"
                )
                break
    return told
