"""Whether a run goes as it was predicted, told when half of its bytes have been moved.

What is left of each job then is solved anew with the model's shares; what its clients hold back, by its runs alone, is
left, too: it was written, but the storage has not served it. If a job so ends outside of the interval that was
predicted for it, the first half went otherwise: somebody else was at the storage, or it gave less, or others had other
shares. No limit is chosen for this: the predicted interval is the limit. And no end is looked at that comes later.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from slicewise.analysis.sharing.model import FittedModel, ModelJob, solve
from slicewise.estimate import Estimate

# Seconds and bytes so far.
Progress = tuple[np.ndarray, np.ndarray]
# Less than this part of a job's bytes is nothing left to do.
NOTHING = 1e-6


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

    def ends(going: list[int], now: float, so_far: list[float]) -> Iterable[float]:
        left = [job.bytes - max(0.0, done - _held_back(model, job)) for job, done in zip(jobs, so_far, strict=True)]
        rest = [replace(jobs[place], bytes=left[place], start=max(jobs[place].start, now)) for place in going]
        return (solved.end for solved in solve(model, rest, [weights[place] for place in going]))

    def is_within(place: int, time: float) -> bool:
        return predicted[place].low <= time <= predicted[place].high

    return look(moved, [job.start for job in jobs], 0.5, ends, is_within)


def _held_back(model: FittedModel, job: ModelJob) -> float:
    known = model.alone_rate(job.processes, job.nodes, job.clients["mounts"], job.program)
    return known.held_back if known is not None else 0.0
