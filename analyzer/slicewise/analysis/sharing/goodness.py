"""Whether a run went as a prediction says, and if not, in what it did otherwise; and the same when half of its bytes
have been moved.

The slices in which jobs competed say what each one's share was. With these shares in place of the model's, the
model either gives the runtime that was observed (the run follows a law of sharing, with other shares), or it does not
(it follows none: time was lost outside of such slices, or the storage gave another rate).

Halfway, what is left of each job is solved anew with the model's shares; what its clients hold back, by its runs alone,
is left, too: it was written, but the storage has not served it. If a job so ends outside of the interval that was
predicted for it, the first half went otherwise: somebody else was at the storage, or it gave less, or others had other
shares. No limit is chosen for this: the predicted interval is the limit. And no end is looked at that comes later.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from slicewise.analysis.sharing.model import FittedModel, ModelJob, solve
from slicewise.estimate import Estimate

MisfitKind = Literal["other shares", "no share law"]
Solver = Callable[[Sequence[float]], Sequence[Estimate]]
# Seconds and bytes so far.
Progress = tuple[np.ndarray, np.ndarray]
# Less than this part of a job's bytes is nothing left to do.
NOTHING = 1e-6


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
            kind="other shares" if resolved and _holds(resolved[place], observed[place]) else "no share law",
            with_own_shares=resolved[place].value if resolved else None,
            own_share=own_weights[place] / sum(own_weights) if own_weights is not None else None,
            model_share=weights[place] / sum(weights),
            capacity_ratio=capacity_ratio,
        )
        for place in off
    ]


def _holds(time: Estimate, observed: float) -> bool:
    return time.low <= observed <= time.high


@dataclass(frozen=True)
class Halfway:
    """seconds: when half of the bytes of all jobs had been moved (s after the first start). t_co: each job's predicted
    time from then on, counted from its start; None of those that had moved all of theirs. is_off: whether one of these
    lies outside of its interval; a warning to all jobs of the run.
    """

    seconds: float
    t_co: list[float | None]
    is_off: bool


def look(
    moved: Sequence[Progress],
    starts: Sequence[float],
    part: float,
    ends: Callable[[list[int], float, list[float]], Iterable[float]],
    is_within: Callable[[int, float], bool],
) -> Halfway:
    """What a run shows when so much of all bytes have been moved. ends: when those jobs end that go on then, by what
    each job had moved; is_within: whether a job's time is as it was predicted.
    """
    times = np.unique(np.concatenate([seconds for seconds, _ in moved]))
    whole = np.sum([np.interp(times, *own) for own in moved], axis=0)
    now = float(np.interp(part * whole[-1], whole, times))
    so_far = [float(np.interp(now, *own)) for own in moved]
    going = [place for place, (_, own) in enumerate(moved) if own[-1] - so_far[place] > NOTHING * own[-1]]
    t_co: list[float | None] = [None] * len(moved)
    is_off = False
    for place, end in zip(going, ends(going, now, so_far), strict=True):
        t_co[place] = time = end - starts[place]
        is_off |= not is_within(place, time)
    return Halfway(now, t_co, is_off)


def halfway(
    model: FittedModel,
    jobs: Sequence[ModelJob],
    weights: Sequence[float],
    predicted: Sequence[Estimate],
    progress: pl.DataFrame,
) -> Halfway | None:
    """What a run shows halfway. predicted: each job's time; progress: `campaign.PROGRESS_SCHEMA` of this run, on the
    axis of the jobs' starts. None where it lacks a job. Raises ValueError as `solve` does.
    """
    moved = []
    for job in jobs:
        own = progress.filter(pl.col("job") == job.job)
        if own.is_empty():
            return None
        moved.append((own["seconds"].to_numpy(), own["bytes"].to_numpy().astype(float)))
    known = [model.alone_rate_of(job) for job in jobs]
    held_back = [alone.held_back if alone is not None else 0.0 for alone in known]

    def ends(going: list[int], now: float, so_far: list[float]) -> Iterable[float]:
        rest = [
            replace(
                jobs[place],
                bytes=jobs[place].bytes - max(0.0, so_far[place] - held_back[place]),
                start=max(jobs[place].start, now),
            )
            for place in going
        ]
        return (solved.end for solved in solve(model, rest, [weights[place] for place in going]))

    return look(moved, [job.start for job in jobs], 0.5, ends, lambda place, time: _holds(predicted[place], time))
