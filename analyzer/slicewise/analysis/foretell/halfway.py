"""Whether jobs side by side go as foretold, told when half of the bytes of all of them have been moved.

What is left of each job's timeline alone then is foretold anew. If a job so ends outside of its interval, the first
half went otherwise: a warning to all jobs of the run. `sharing.halfway` is the same for the model of sharing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from slicewise.analysis.blame.timeline import AMOUNTS, Kind
from slicewise.analysis.foretell.foretold import (
    MOVES,
    AloneRun,
    Foretelling,
    Plan,
    SeenRun,
    foretold_seconds,
    timeline,
    times_of,
    together,
)
from slicewise.analysis.foretell.laws import Law, laws_of
from slicewise.analysis.foretell.side_by_side import Segment
from slicewise.analysis.sharing.halfway import NOTHING, Halfway
from slicewise.estimate import Estimate

# Seconds and bytes so far.
Progress = tuple[np.ndarray, np.ndarray]


def halfway(run: SeenRun, served: Mapping[Kind, float], law: Law, told: Sequence[Estimate]) -> Halfway:
    """What a run shows halfway; told: each job's time as foretold."""
    origin = min(one.seen.span[0] for one in run.jobs)
    moved = [_progress(one.seen, origin) for one in run.jobs]
    times = np.unique(np.concatenate([seconds for seconds, _ in moved]))
    whole = np.sum([np.interp(times, *own) for own in moved], axis=0)
    now = float(np.interp(whole[-1] / 2, whole, times))
    going, rest = [], list[Plan]()
    for place, (job, own) in enumerate(zip(run.jobs, moved, strict=True)):
        total = own[1][-1]
        if float(np.interp(now, *own)) >= (1 - NOTHING) * total:
            continue
        whole_line = timeline(job.alone, served)
        left = _after(whole_line, _place(job.alone, own, now)) if job.start < now else whole_line
        going.append(place)
        rest.append((job.alone, max(job.start, now), left))
    t_co: list[float | None] = [None] * len(run.jobs)
    is_off = False
    for place, plan, seconds in zip(going, rest, together(rest, served, law), strict=True):
        time = plan[1] + seconds - run.jobs[place].start
        t_co[place] = time
        is_off |= not told[place].low <= time <= told[place].high
    return Halfway(now, t_co, is_off)


def runs_off(found: Foretelling) -> list[str]:
    """The runs in company, by the names of their jobs, that were off halfway by the law that explains the others."""
    told = []
    for place, run in enumerate(found.runs):
        plans = [(job.alone, job.start) for job in run.jobs]
        others = {law: [*errors[:place], *errors[place + 1 :]] for law, errors in found.tried.items()}
        laws = laws_of(others, [other.sizes for other in found.runs if other is not run])
        times = times_of(run, found.runs, found.tried)
        seen = halfway(run, found.serves, laws.chosen, foretold_seconds(plans, found.serves, laws, times))
        if seen.is_off:
            told.append(" + ".join(job.job for job in run.jobs))
    return sorted(told)


def _progress(run: AloneRun, origin: int) -> Progress:
    """Bytes read and written so far, at both ends of each slice with any."""
    rows = run.rows.select("slice", bytes=pl.sum_horizontal(AMOUNTS[kind] for kind in MOVES)).filter(
        pl.col("bytes") > 0
    )
    slices, added = rows["slice"].to_numpy(), rows["bytes"].to_numpy().astype(float)
    ends = np.stack([slices, slices + 1], axis=1).astype(float) * run.digest.slice_ns
    after = np.cumsum(added)
    return (np.clip(ends, *run.span).ravel() - origin) / 1e9, np.stack([after - added, after], axis=1).ravel()


def _place(alone: AloneRun, own: Progress, now: float) -> float:
    """How far into its run alone a job is (s): where it had moved as much there, and in a pause as far into it."""
    seconds, so_far = _progress(alone, alone.span[0])
    done = float(np.interp(now, *own)) * so_far[-1] / own[1][-1]
    reached = int(np.searchsorted(so_far, done * (1 - NOTHING)))
    if reached == 0:
        return 0.0
    passed = int(np.searchsorted(so_far, done * (1 + NOTHING), side="right")) - 1
    if passed <= reached:
        return float(np.interp(done, so_far[reached - 1 : reached + 1], seconds[reached - 1 : reached + 1]))
    since = own[0][np.searchsorted(own[1], float(np.interp(now, *own)) * (1 - NOTHING))]
    return float(min(seconds[reached] + max(0.0, now - since), seconds[passed]))


def _after(line: Sequence[Segment], place: float) -> tuple[Segment, ...]:
    """A timeline from a place on (s)."""
    found = []
    for segment in line:
        left = segment.seconds - place
        place = max(0.0, place - segment.seconds)
        if left > 0:
            found.append(replace(segment, seconds=min(left, segment.seconds)))
    return tuple(found)
