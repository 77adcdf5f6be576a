"""What a storage goes by when jobs share it: weights that can explain it, and which the slices bear out
(docs/models.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from slicewise.constants import FILLED, NEGLIGIBLE_ERROR
from slicewise.estimate import Estimate
from slicewise.scalars import real
from slicewise.statistics import BOUNDS, group_draws, sum_draws

WeightKind = Literal["processes", "nodes", "mounts", "equal", "outstanding", "processes^beta"]
# The simplest first: of kinds that are about as good the first one is taken.
WEIGHT_KINDS: tuple[WeightKind, ...] = ("processes", "nodes", "mounts", "equal", "outstanding", "processes^beta")
# About as good: an error up to this factor of the best one's, or so much above it.
WEIGHTS_AS_GOOD = 1.25
# Shares that two kinds predict count as the same up to this fraction.
SAME_SHARES = 0.01
# Errors that differ by less are the same: the rest is the order in which they were summed up.
SHARES_ROUNDING = 1e-9
# A bootstrap of fewer runs says nothing of chance: they refute nothing.
FEWEST_RUNS = 3
RESAMPLES = 1000
SEED = 20130901  # the same data give the same intervals


@dataclass(frozen=True)
class Weighting:
    """A kind of weight, with the exponent where it has one."""

    kind: WeightKind
    beta: float = 1.0

    def of(self, processes: float, nodes: float, mounts: float, outstanding: float) -> float:
        weights: dict[WeightKind, float] = {
            "processes": processes,
            "nodes": nodes,
            "mounts": mounts,
            "equal": 1.0,
            "outstanding": outstanding,
            "processes^beta": processes**self.beta,
        }
        return weights[self.kind]

    def expression(self) -> pl.Expr:
        """The weight as an expression over a frame with processes, nodes, mounts, outstanding."""
        if self.kind == "equal":
            return pl.col("processes").cast(pl.Float64) ** 0
        if self.kind == "processes^beta":
            return pl.col("processes").cast(pl.Float64) ** self.beta
        return pl.col(self.kind).cast(pl.Float64)


@dataclass(frozen=True)
class Candidate:
    """A kind of weight against the data. share_error: the root mean square of ln(predicted / observed share), each
    pair's by a fit without it; of kinds without an exponent there is nothing to fit. is_refuted: it is not about as
    good as the best kind, and by more than chance, by a bootstrap over the pairs that tell the two apart and their
    runs, of which there must be `FEWEST_RUNS`.
    """

    kind: WeightKind
    share_error: float
    is_refuted: bool


@dataclass(frozen=True)
class WeightFit:
    """chosen: the simplest of the kinds with about the smallest error; None where the data cannot tell at all, since
    every kind predicts the same. candidates: in the order of `WEIGHT_KINDS`. same: kinds that predict the same shares
    as the chosen one in every run; possible: all that are not refuted. beta: the exponent of processes with its 95 %
    interval by bootstrap over runs and their slices; None where all jobs have as many processes. pairs, runs, slices:
    what stands behind it. reason: why nothing can be told; else empty.
    """

    chosen: Weighting | None
    candidates: list[Candidate]
    same: list[WeightKind]
    possible: list[WeightKind]
    beta: Estimate | None
    pairs: int
    runs: int
    slices: int
    reason: str


def contended(slices: pl.DataFrame, alone: Mapping[str, float]) -> pl.DataFrame:
    """The slices that say something of sharing: of two jobs or more, none of which gets all that it can take anyway.
    alone: a job's name -> the rate that it reaches alone (bytes/s), where that is known. A job takes no part in sharing
    where it gets nearly that rate and the storage serves more than it.
    """
    rates = pl.DataFrame(
        {"job": list(alone), "alone": list(alone.values())}, schema={"job": pl.String, "alone": pl.Float64}
    )
    rate = pl.col("bytes") / pl.col("seconds")
    is_sated = (rate >= FILLED * pl.col("alone")) & (pl.col("alone") < FILLED * rate.sum().over("run", "slice"))
    return (
        slices.join(rates, on="job", how="left", maintain_order="left")
        .filter(pl.len().over("run", "slice") > 1)
        .filter(~is_sated.fill_null(False).any().over("run", "slice"))
        .drop("alone")
    )


def fit_beta(slices: pl.DataFrame) -> float | None:
    """The exponent b of shares by processes^b, by least squares of logarithms; None: all have as many processes."""
    return _beta(_moments(slices))


def betas_without(slices: pl.DataFrame) -> dict[str, float | None]:
    """`fit_beta` without the slices of each pair."""
    moments = _moments(slices)
    return {pair: _beta(moments.filter(pl.col("pair") != pair)) for pair in slices["pair"].unique(maintain_order=True)}


def _beta(moments: pl.DataFrame) -> float | None:
    across = float(moments["xx"].sum())
    return float(moments["xy"].sum()) / across if across > 0 else None


def beta_interval(slices: pl.DataFrame) -> Estimate | None:
    """`fit_beta` with its 95 % interval: a bootstrap over runs, and over the slices within each of them."""
    moments = _moments(slices)
    value = _beta(moments)
    if value is None:
        return None
    by_run = _groups(moments, "run", "xx", "xy")
    across, along = sum_draws([run.sum(axis=1) for run in group_draws(by_run, RESAMPLES, SEED)], SEED + 1).T
    low, high = np.quantile(along[across > 0] / across[across > 0], BOUNDS)
    runs, count = len(by_run), slices.select("run", "slice").n_unique()
    how = f"bootstrap of {RESAMPLES} over {runs} runs and their {count} slices, 95 %"
    return Estimate(value, min(float(low), value), max(float(high), value), how)


def fit_weight(slices: pl.DataFrame) -> WeightFit:
    """Which weight explains the shares in `slices` (`contended` ones), judged on pairs that the fit has not seen. Of
    the kinds that are about as good as the best one the simplest is chosen; none where all come to the same.
    """
    counts = (slices["pair"].n_unique(), slices["run"].n_unique(), slices.select("run", "slice").n_unique())
    if slices.is_empty():
        return WeightFit(None, [], [], [], None, *counts, "no slice shows jobs that compete for the storage")
    known = held_out_errors(slices)
    overall = {
        kind: real(table.group_by("pair").agg(pl.col("error").mean())["error"].mean()) for kind, table in known.items()
    }
    best = min(known, key=lambda kind: (overall[kind], WEIGHT_KINDS.index(kind)))
    scores = {kind: float(np.sqrt(error)) for kind, error in overall.items()}
    enough = max(WEIGHTS_AS_GOOD * scores[best], scores[best] + NEGLIGIBLE_ERROR)
    refuted = {kind for kind in scores if scores[kind] > enough and _is_worse(known[kind], known[best])}
    possible = [kind for kind in scores if kind not in refuted]
    candidates = [Candidate(kind, error, kind in refuted) for kind, error in scores.items()]
    beta = beta_interval(slices)
    simplest = next(kind for kind in possible if scores[kind] <= enough)
    chosen = Weighting(simplest, beta.value if beta and simplest == "processes^beta" else 1.0)
    exponent = (beta.value or 1.0) if beta else 1.0  # of those kinds that have one
    others = [Weighting(kind, exponent) for kind in WEIGHT_KINDS if kind != chosen.kind and kind in known]
    same = predict_the_same(slices, others, chosen)
    reason = ""
    if {chosen.kind, *same} >= set(WEIGHT_KINDS) - {"processes^beta"}:
        reason = "all jobs that ran together have as many processes, nodes, mounts and outstanding bytes"
    elif {"processes", "nodes", "mounts", "equal"} <= {chosen.kind, *same}:
        reason = "all jobs that ran together have as many processes, nodes and mounts"
    return WeightFit(None if reason else chosen, candidates, same, possible, beta, *counts, reason)


def held_out_errors(slices: pl.DataFrame) -> dict[WeightKind, pl.DataFrame]:
    """By kind of weight, of each pair by weights that were fitted to the other pairs: pair, run, error (mean of
    ln(predicted / observed share) squared, of each job with all its bytes). Without kinds that cannot be fitted.
    """
    weights: dict[WeightKind, pl.Expr] = {
        kind: Weighting(kind).expression() for kind in WEIGHT_KINDS if kind != "processes^beta"
    }
    betas = betas_without(slices)
    if None not in betas.values():
        beta = pl.col("pair").replace_strict(betas, return_dtype=pl.Float64)
        weights["processes^beta"] = pl.col("processes").cast(pl.Float64) ** beta
    moved = pl.col("bytes").sum().over("run", "slice")
    errors = (
        slices.with_columns(
            (weight / weight.sum().over("run", "slice") * moved).alias(f"by {kind}") for kind, weight in weights.items()
        )
        .group_by("pair", "run", "job")
        .agg(pl.col("bytes", *(f"by {kind}" for kind in weights)).sum())
        .group_by("pair", "run")
        .agg(((pl.col(f"by {kind}") / pl.col("bytes")).log() ** 2).mean() for kind in weights)
        .sort("pair", "run")
    )
    return {kind: errors.select("pair", "run", error=f"by {kind}") for kind in weights}


def predict_the_same(slices: pl.DataFrame, others: Sequence[Weighting], chosen: Weighting) -> list[WeightKind]:
    """The kinds of weights that predict the same shares as the chosen one in all runs, up to rounding."""

    def share(weighting: Weighting) -> pl.Expr:
        weight = weighting.expression()
        return (weight / weight.sum().over("run", "slice")).alias(f"by {weighting.kind}")

    runs = (
        slices.with_columns(share(weighting) for weighting in (chosen, *others))
        .group_by("run", "job")
        .agg(pl.col("^by .*$").mean())
    )
    is_same = runs.select(
        ((pl.col(f"by {other.kind}") / pl.col(f"by {chosen.kind}") - 1).abs() <= SAME_SHARES).all() for other in others
    ).row(0)
    return [other.kind for other, same in zip(others, is_same, strict=True) if same]


def _moments(slices: pl.DataFrame) -> pl.DataFrame:
    """pair, run, slice, xx and xy, of logarithms of processes (x) and bytes (y), less their slice's means."""

    def centred(column: str) -> pl.Expr:
        logarithm = pl.col(column).cast(pl.Float64).log()
        return logarithm - logarithm.mean().over("run", "slice")

    return (
        slices.with_columns(x=centred("processes"), y=centred("bytes"))
        .group_by("run", "slice")
        .agg(pl.col("pair").first(), xx=(pl.col("x") ** 2).sum(), xy=(pl.col("x") * pl.col("y")).sum())
        .with_columns(pl.when(pl.col("xx") > 1e-12).then(pl.col("xx", "xy")).otherwise(0.0))
        .sort("run", "slice")
    )


def _is_worse(errors: pl.DataFrame, best: pl.DataFrame) -> bool:
    """Whether errors exceed those of the best kind by more than chance: of resampled pairs and runs in 97.5 %. Pairs
    for which both kinds predict the same shares are left out: with them, the sign of a rounding could decide.
    """
    joined = (
        errors.join(best, on=["pair", "run"], suffix="_best")
        .with_columns(more=pl.col("error") - pl.col("error_best"))
        .filter((pl.col("more").abs() > SHARES_ROUNDING).any().over("pair"))
        .sort("pair", "run")
    )
    if joined.height < FEWEST_RUNS:
        return False
    by_pair = _groups(joined, "pair", "more")
    drawn = sum_draws([pair.mean(axis=1) for pair in group_draws(by_pair, RESAMPLES, SEED)], SEED + 1)
    return bool(np.quantile(drawn, BOUNDS[0]) > 0)


def _groups(rows: pl.DataFrame, by: str, *columns: str) -> list[np.ndarray]:
    """Columns of the rows of each group, in rows that are sorted by it."""
    ends = rows[by].rle().struct.field("len").cum_sum().to_list()
    found = rows.select(columns).to_numpy()
    return np.split(found if len(columns) > 1 else found[:, 0], ends[:-1])
