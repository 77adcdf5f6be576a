"""Bandwidth and latency predicted from what was chosen: logarithmic regression and random forest (Biswas 2023). Folds
of the cross-validation hold whole configurations. Beside them the mean: a model that is no better knows nothing.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise.analysis.size.points import CONFIGURATION

Target = Literal["bandwidth", "latency"]
TARGETS: tuple[Target, ...] = ("bandwidth", "latency")
NUMBERS = ("size", "block_size", "file_size", "processes")
NAMES = ("mount", "direction", "access", "sharing", "beside")
FOLDS = 5
# Fewer configurations leave too little to learn from and to be judged by.
LEAST_CONFIGURATIONS = 8
TREES = 50
FOREST_SEED = 20260801
FOREST_MISSING = "The random forest was left out: scikit-learn is missing (pip install 'slicewise[forest]')."

Matrix = npt.NDArray[np.float64]
Fit = Callable[[Matrix, Matrix], Callable[[Matrix], Matrix]]


@dataclass(frozen=True)
class HeldOutAccuracy:
    """How well one model predicts a target of configurations that it has not seen. model: mean, logarithmic regression
    or random forest. rmse: root of the mean squared error, in the target's unit. predicted: for each row of the points,
    in their order.
    """

    target: Target
    model: str
    rmse: float
    predicted: Sequence[float]


@dataclass(frozen=True)
class Predictions:
    """All models by target, from features. refused: why there are none, or one is left out; empty: none is."""

    models: Sequence[HeldOutAccuracy]
    features: Sequence[str]
    configurations: int
    folds: int
    refused: str


def predictions(points: pl.DataFrame) -> Predictions:
    """Each model's cross-validated predictions of the points (`points.POINTS`)."""
    groups = points.select(pl.struct(CONFIGURATION).rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    configurations = int(groups.max()) + 1 if len(groups) else 0
    names, features = _features(points)
    if configurations < LEAST_CONFIGURATIONS or not names:
        reason = f"{configurations} configurations are too few to fit and judge models: give {LEAST_CONFIGURATIONS}"
        return Predictions([], names, configurations, 0, f"{reason} or more.")
    models: dict[str, Fit] = {"mean": _mean, "logarithmic regression": _least_squares}
    forest = _forest()
    if forest is not None:
        models["random forest"] = forest
    folds = np.random.default_rng(FOREST_SEED).permutation(configurations)[groups] % FOLDS
    judged = []
    for target in TARGETS:
        truth = points[target].to_numpy()
        for name, fit in models.items():
            told = _out_of_fold(fit, features, truth, folds)
            judged.append(HeldOutAccuracy(target, name, float(np.sqrt(np.mean((told - truth) ** 2))), told.tolist()))
    return Predictions(judged, names, configurations, FOLDS, "" if forest is not None else FOREST_MISSING)


def _features(points: pl.DataFrame) -> tuple[list[str], Matrix]:
    """What varies among the points: logarithms of numbers that all have, and 0 or 1 for each word but the first."""
    named: dict[str, Matrix] = {}
    for name in NUMBERS:
        column = points[name]
        if column.n_unique() > 1 and not column.null_count():
            named[f"log {name}"] = np.log(column.to_numpy().astype(float))
    for name in NAMES:
        for value in sorted(points[name].unique().to_list())[1:]:
            named[f"{name} is {value}"] = (points[name] == value).to_numpy().astype(float)
    return list(named), np.column_stack([*named.values()]) if named else np.empty((points.height, 0))


def _out_of_fold(fit: Fit, features: Matrix, truth: Matrix, folds: npt.NDArray[np.int64]) -> Matrix:
    told = np.empty_like(truth)
    for fold in np.unique(folds):
        is_judged = folds == fold
        told[is_judged] = fit(features[~is_judged], truth[~is_judged])(features[is_judged])
    return told


def _mean(_: Matrix, truth: Matrix) -> Callable[[Matrix], Matrix]:
    middle = truth.mean()
    return lambda features: np.full(len(features), middle)


def _least_squares(features: Matrix, truth: Matrix) -> Callable[[Matrix], Matrix]:
    """y = a + sum b ln x, the paper's logarithmic regression, with a term more for each word."""

    def with_one(matrix: Matrix) -> Matrix:
        return np.column_stack([np.ones(len(matrix)), matrix])

    terms, *_ = np.linalg.lstsq(with_one(features), truth, rcond=None)
    return lambda matrix: with_one(matrix) @ terms


def _forest() -> Fit | None:
    """A random forest, where scikit-learn is installed: an extra, for it is larger than all of Slicewise."""
    try:
        ensemble: Any = importlib.import_module("sklearn.ensemble")
    except ImportError:
        return None

    def fit(features: Matrix, truth: Matrix) -> Callable[[Matrix], Matrix]:
        trees = ensemble.RandomForestRegressor(n_estimators=TREES, random_state=FOREST_SEED)
        told: Callable[[Matrix], Matrix] = trees.fit(features, truth).predict
        return told

    return fit
