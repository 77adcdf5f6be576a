"""Whether a run went as a prediction says, and if not, in what it did otherwise.

The slices in which jobs competed say what each one's share was. With these shares in place of the model's, the
model either gives the runtime that was observed (the run follows a law of sharing, with other shares), or it does not
(it follows none: time was lost outside of such slices, or the storage gave another rate).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from slicewise.estimate import Estimate

MisfitKind = Literal["other shares", "no share law"]
Solver = Callable[[Sequence[float]], Sequence[Estimate]]


@dataclass(frozen=True)
class Misfit:
    """A job whose observed time (s) lies outside its predicted interval. kind: see above. with_own_shares: what the
    model gives with the shares that the slices show, None where no slice shows them. own_share, model_share: the job's
    part of the weight of all jobs, as the slices show it and as the model has it. capacity_ratio: what the storage gave
    to all in these slices over what it gives by the model; None: unknown.
    """

    job: str
    predicted: Estimate
    observed: float
    kind: MisfitKind
    with_own_shares: float | None
    own_share: float | None
    model_share: float
    capacity_ratio: float | None


def shares_shown(slices: pl.DataFrame, jobs: Sequence[str]) -> list[float] | None:
    """The jobs' weights by their bytes in one run's slices, by least squares of logarithms; None: not known."""
    together = slices.filter(pl.len().over("slice") > 1, pl.col("bytes").min().over("slice") > 0)
    if set(together["job"]) != set(jobs):
        return None
    places = {job: place for place, job in enumerate(jobs)}
    own = np.zeros((len(together), len(jobs)))
    own[np.arange(len(together)), [places[job] for job in together["job"]]] = 1.0
    rates = np.log(together["bytes"].to_numpy().astype(float))
    _, slice_of = np.unique(together["slice"].to_numpy(), return_inverse=True)
    counts = np.bincount(slice_of)
    # Within its slice, so that how much all got there does not matter.
    means = np.stack([np.bincount(slice_of, column) / counts for column in own.T], axis=1)
    found, _, rank, _ = np.linalg.lstsq(
        own - means[slice_of], rates - (np.bincount(slice_of, rates) / counts)[slice_of]
    )
    # Weights are known but for a common factor.
    return np.exp(found).tolist() if rank == len(jobs) - 1 else None


def misfits(
    jobs: Sequence[str],
    predicted: Sequence[Estimate],
    observed: Sequence[float],
    weights: Sequence[float],
    own_weights: Sequence[float] | None,
    solve: Solver,
    capacity_ratio: float | None,
) -> list[Misfit]:
    """The jobs that did not go as predicted. own_weights: `shares_shown`; solve: the model with other weights."""
    off = [place for place, time in enumerate(predicted) if not time.low <= observed[place] <= time.high]
    if not off:
        return []
    resolved = solve(own_weights) if own_weights is not None else None
    return [
        Misfit(
            job=jobs[place],
            predicted=predicted[place],
            observed=observed[place],
            kind="other shares"
            if resolved and resolved[place].low <= observed[place] <= resolved[place].high
            else "no share law",
            with_own_shares=resolved[place].value if resolved else None,
            own_share=own_weights[place] / sum(own_weights) if own_weights is not None else None,
            model_share=weights[place] / sum(weights),
            capacity_ratio=capacity_ratio,
        )
        for place in off
    ]
