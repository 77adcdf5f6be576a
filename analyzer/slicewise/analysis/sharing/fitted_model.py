"""A fitted model of sharing: what it is made of, how it comes from a campaign's frames, what it predicts.

Frames in (`campaign.JOBS_SCHEMA`, `campaign.SLICES_SCHEMA`), dataclasses and frames out. The definitions and their
sources are in docs/models.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal

import polars as pl

from slicewise.analysis.runs.campaign import SIZE, rates_of_runs
from slicewise.analysis.runs.outliers import outliers
from slicewise.analysis.runs.rates import ERRORS_OF_95_PERCENT, mean_of_repeats
from slicewise.analysis.sharing.capacity_curve import NEGLIGIBLE_ERROR, CapacityCurve, combined_rates, fit_capacity
from slicewise.analysis.sharing.proportional import SharingJob, share_out
from slicewise.analysis.sharing.runtimes import SATURATING
from slicewise.analysis.sharing.weights import WeightFit, Weighting, contended, fit_weight
from slicewise.estimate import Estimate
from slicewise.scalars import real, whole

Basis = Literal["standalone times", "capacity curve"]

CHECK_SCHEMA = pl.Schema(
    {
        "run": pl.String,
        "pair": pl.String,
        "job": pl.String,
        "weight": pl.String,
        "basis": pl.String,
        "predicted": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "observed": pl.Float64,
        "relative_error": pl.Float64,
        "is_outlier": pl.Boolean,
    }
)


@dataclass(frozen=True)
class AloneRate:
    """What jobs of one size reach alone: bytes/s, mean of their standalone runs; dropped: those that stood out."""

    program: str
    processes: int
    nodes: int
    mounts: int
    rate: Estimate
    outstanding: float
    runs: int
    dropped: list[str]


@dataclass(frozen=True)
class HeldOut:
    """How far off the runtimes of combinations of jobs were that the fit had not seen: |relative error|, root mean
    square over jobs. combinations: how many were left out in turn.
    """

    mean: float
    worst: float
    root_mean_square: float
    combinations: int


@dataclass(frozen=True)
class FittedModel:
    """How a storage shares itself out.

    weight, capacity: see there. basis: what a job's share is a share of: "standalone times" (the rate that this very
    job reaches alone, as in the pair model) or "capacity curve" (what the storage serves so many clients, up to the
    rate that the job reaches alone). process_demand: the rate that one process reaches by itself (bytes/s), where
    standalone runs below the capacity show it. alone: by size. provenance: what it was made from.
    """

    weight: WeightFit
    capacity: CapacityCurve | None
    basis: Basis
    process_demand: Estimate | None
    alone: list[AloneRate]
    held_out: HeldOut | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def alone_rate(self, processes: int, nodes: int, mounts: int, program: str | None = None) -> AloneRate | None:
        """What jobs of that size reach alone; of any program where none is named."""
        fitting = (
            rate
            for rate in self.alone
            if (rate.processes, rate.nodes, rate.mounts) == (processes, nodes, mounts)
            and program in (None, rate.program)
        )
        return next(fitting, None)


@dataclass(frozen=True)
class ModelJob:
    """A job to predict: bytes, start (s), what weights may go by, and the rate that it reaches alone (bytes/s; None:
    what the model knows of its size, else the capacity).
    """

    job: str
    bytes: float
    processes: int
    nodes: int = 1
    mounts: int | None = None
    outstanding: float | None = None
    start: float = 0.0
    alone: float | None = None
    program: str | None = None

    @property
    def clients(self) -> dict[str, int]:
        return {
            "constant": 1,
            "jobs": 1,
            "processes": self.processes,
            "nodes": self.nodes,
            "mounts": self.nodes if self.mounts is None else self.mounts,
        }


@dataclass(frozen=True)
class ModelledRuntime:
    """A job's predicted time from start to end beside the others, alone (s), and end on the axis of starts."""

    job: str
    end: float
    t_co: Estimate
    t_alone: float
    interference: float


def fit_model(jobs: pl.DataFrame, slices: pl.DataFrame, provenance: Mapping[str, Any] | None = None) -> FittedModel:
    """Fit weight and capacity to a campaign's frames, without a look at runtimes (`with_held_out`)."""
    alone = alone_rates(jobs)
    weight = fit_weight(contended(slices, _alone_by_job(jobs, alone)))
    rates = combined_rates(slices)
    curve = fit_capacity(rates)
    basis: Basis = "capacity curve" if curve is not None else "standalone times"
    scaled = _standalone_error(jobs, slices, alone, weight.chosen)
    if scaled is not None and (
        curve is None or curve.held_out_error is None or scaled <= curve.held_out_error + NEGLIGIBLE_ERROR
    ):
        basis = "standalone times"
    return FittedModel(weight, curve, basis, process_demand(alone, rates), alone, provenance=dict(provenance or {}))


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
    alone = jobs.filter(pl.len().over("run") == 1)
    found = []
    for (program, processes, nodes, mounts), runs in alone.group_by(SIZE, maintain_order=True):
        rate, dropped = mean_of_repeats(rates_of_runs(runs))
        stood_out = pl.Series(dropped, dtype=pl.Boolean)
        kept = runs.filter(~stood_out)
        found.append(
            AloneRate(
                str(program),
                whole(processes),
                whole(nodes),
                whole(mounts),
                rate,
                real(kept["outstanding"].mean()),
                len(kept),
                runs.filter(stood_out)["run"].to_list(),
            )
        )
    return sorted(found, key=lambda rate: (rate.program, rate.processes, rate.nodes, rate.mounts))


def process_demand(alone: Sequence[AloneRate], rates: pl.DataFrame) -> Estimate | None:
    """The rate of one process by itself, from jobs so small that alone they stay below what the storage can serve."""
    if rates.is_empty():
        return None
    enough = SATURATING * real(rates["rate"].max())
    fewest = min((rate.processes for rate in alone if rate.rate.value >= enough), default=math.inf)
    held_back = [rate for rate in alone if rate.rate.value < enough and rate.processes < fewest]
    if not held_back:
        return None
    each = [rate.rate.value / rate.processes for rate in held_back]
    sizes = ", ".join(str(rate.processes) for rate in held_back)
    return Estimate(
        sum(each) / len(each), min(each), max(each), f"standalone runs of {sizes} processes, below the capacity"
    )


def predict(model: FittedModel, jobs: Sequence[ModelJob], weighting: Weighting | None = None) -> list[ModelledRuntime]:
    """Runtimes of jobs beside each other.

    The interval is what comes out with the exponent, the capacity and the standalone rates at their ends, and as wide
    as 1.96 times the root mean square error of held-out runtimes where that is known. weighting: in place of the
    model's own. Raises ValueError where the model has no weight, or does not know how fast a job would be.
    """
    chosen = weighting or model.weight.chosen
    if chosen is None:
        raise ValueError(f"the model cannot tell by what the storage is shared: {model.weight.reason}")
    middle = _solve(model, jobs, chosen, 0)
    corners = [_solve(model, jobs, corner, end) for corner, end in product(_weightings(model, chosen), (-1, 1))]
    spread, how = 0.0, "exponent, capacity and standalone rates at their ends"
    if model.held_out is not None and model.held_out.root_mean_square:
        spread = ERRORS_OF_95_PERCENT * model.held_out.root_mean_square
        how += f"; at least 1.96 times the error of {model.held_out.combinations} held-out combinations"
    found = []
    for place, (job, (end, seconds, alone)) in enumerate(zip(jobs, middle, strict=True)):
        times = [seconds, *(corner[place][1] for corner in corners)]
        low, high = min(*times, seconds / (1 + spread)), max(*times, seconds * (1 + spread))
        found.append(ModelledRuntime(job.job, end, Estimate(seconds, low, high, how), alone, seconds / alone))
    return found


def check(model: FittedModel, jobs: pl.DataFrame, weighting: Weighting | None = None) -> pl.DataFrame:
    """Predicted against observed runtimes (`CHECK_SCHEMA`) of every run of several jobs; nulls where the model cannot
    predict. is_outlier: of four repeats or more, that one of this run's jobs took a time that stood out among them.
    """
    rows, stood_out = [], _runs_that_stood_out(jobs)
    for (run,), table in jobs.filter(pl.len().over("run") > 1).group_by("run", maintain_order=True):
        chosen = weighting or model.weight.chosen
        predicted: Sequence[ModelledRuntime | None]
        try:
            predicted = predict(model, [_model_job(model, row) for row in table.iter_rows(named=True)], weighting)
        except ValueError:
            predicted = [None] * len(table)
        for row, runtime in zip(table.iter_rows(named=True), predicted, strict=True):
            time = None if runtime is None else runtime.t_co
            rows.append(
                (
                    run,
                    row["pair"],
                    row["job"],
                    None if chosen is None else chosen.kind,
                    model.basis,
                    None if time is None else time.value,
                    None if time is None else time.low,
                    None if time is None else time.high,
                    row["seconds"],
                    None if time is None else time.value / row["seconds"] - 1,
                    run in stood_out,
                )
            )
    return pl.DataFrame(rows, schema=CHECK_SCHEMA, orient="row")


def _runs_that_stood_out(jobs: pl.DataFrame) -> set[str]:
    """The runs that stood out among repeats: jobs of the same sizes, about the same starts (1 s) and volumes (10 %)."""
    alike = pl.concat_str(pl.col("start").round(), pl.col("bytes").log().round(1), separator=" ")
    repeats = (
        jobs.filter(pl.len().over("run") > 1)
        .sort("run", *SIZE, "job")
        .with_columns(place=pl.int_range(pl.len()).over("run"), setting=alike.str.join("/").over("run"))
    )
    found = set()
    for _, runs in repeats.group_by("pair", "setting", "place"):
        found |= set(runs.filter(pl.Series(outliers(runs["seconds"].to_list()), dtype=pl.Boolean))["run"])
    return found


def cross_check(jobs: pl.DataFrame, slices: pl.DataFrame, weighting: Weighting | None = None) -> pl.DataFrame:
    """`check` of every combination of jobs by a model that was fitted, weight and all, without its runs."""
    pairs = jobs.filter(pl.len().over("run") > 1)["pair"].unique(maintain_order=True)
    tables = [
        check(
            fit_model(jobs.filter(pl.col("pair") != pair), slices.filter(pl.col("pair") != pair)),
            jobs.filter(pl.col("pair") == pair),
            weighting,
        )
        for pair in pairs
    ]
    return pl.concat([pl.DataFrame(schema=CHECK_SCHEMA), *tables])


def _model_job(model: FittedModel, row: Mapping[str, Any]) -> ModelJob:
    alone = model.alone_rate(row["processes"], row["nodes"], row["mounts"], row["program"])
    return ModelJob(
        row["job"],
        row["bytes"],
        row["processes"],
        row["nodes"],
        row["mounts"],
        alone.outstanding if alone else row["outstanding"],
        row["start"],
        program=row["program"],
    )


def _weightings(model: FittedModel, chosen: Weighting) -> list[Weighting]:
    if chosen.kind != "processes^beta" or model.weight.beta is None:
        return [chosen]
    return [Weighting(chosen.kind, model.weight.beta.low), Weighting(chosen.kind, model.weight.beta.high)]


def _solve(
    model: FittedModel, jobs: Sequence[ModelJob], weighting: Weighting, end: int
) -> list[tuple[float, float, float]]:
    """end, t_co, t_alone of each job; end: -1, 0, 1 for rates at the low end, in the middle, at the high end."""
    alone = [_alone(model, job, end) for job in jobs]
    weights = [_weight(model, job, weighting) for job in jobs]
    curve = model.capacity
    if model.basis == "standalone times" or curve is None:
        served = [
            SharingJob(job.job, job.bytes / rate, weight, start=job.start)
            for job, rate, weight in zip(jobs, alone, weights, strict=True)
        ]
        schedule = share_out(1.0, served)
    else:
        rate_of = {-1: curve.low, 0: curve.at, 1: curve.high}[end]
        by = curve.by
        served = [
            SharingJob(job.job, job.bytes, weight, rate, job.start)
            for job, rate, weight in zip(jobs, alone, weights, strict=True)
        ]

        def capacity(active: Sequence[int]) -> float:
            if len(active) == 1:
                return alone[active[0]]
            return rate_of(1 if by == "constant" else sum(jobs[place].clients[by] for place in active))

        schedule = share_out(capacity, served)
    return [(row.end, row.t_co, row.t_alone) for row in schedule.jobs]


def _alone(model: FittedModel, job: ModelJob, end: int) -> float:
    """The rate that a job reaches alone: as given, as its size did, or as far as processes and capacity go."""
    if job.alone is not None:
        return job.alone
    known = model.alone_rate(job.processes, job.nodes, job.clients["mounts"], job.program)
    if known is not None:
        return (known.rate.value, known.rate.high, known.rate.low)[end]
    if model.capacity is None:
        raise ValueError(f"how fast {job.job} is alone is not known; give its cap")
    rate_of = (model.capacity.at, model.capacity.high, model.capacity.low)[end]
    rate = rate_of(job.clients[model.capacity.by])
    demand = model.process_demand
    return rate if demand is None else min(rate, (demand.value, demand.high, demand.low)[end] * job.processes)


def _weight(model: FittedModel, job: ModelJob, weighting: Weighting) -> float:
    outstanding = job.outstanding
    if outstanding is None and weighting.kind == "outstanding":
        known = model.alone_rate(job.processes, job.nodes, job.clients["mounts"], job.program)
        if known is None:
            raise ValueError(f"how much {job.job} keeps outstanding is not known; give outstanding=BYTES")
        outstanding = known.outstanding
    return weighting.of(job.processes, job.nodes, job.clients["mounts"], outstanding or 0.0)


def _alone_by_job(jobs: pl.DataFrame, alone: Sequence[AloneRate]) -> dict[str, float]:
    rates = {(rate.program, rate.processes, rate.nodes, rate.mounts): rate.rate.value for rate in alone}
    sizes = zip(jobs["job"], jobs.select(SIZE).iter_rows(), strict=True)
    return {job: rates[size] for job, size in sizes if size in rates}


def _standalone_error(
    jobs: pl.DataFrame, slices: pl.DataFrame, alone: Sequence[AloneRate], weighting: Weighting | None
) -> float | None:
    """The root mean square of ln(predicted / observed combined rate) with each job's share being one of its own
    standalone rate; None where a job has none.
    """
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
