"""Whether jobs side by side go as foretold, told while they run.

When half of the bytes of all of them have been moved, and again when four fifths have, what is left of each job's
timeline alone is foretold anew. If a job so ends outside of its interval, the run went otherwise until then: a warning
to all jobs of it that still run. `sharing.halfway` is the same for the model of sharing. In between, a job is warned of
that waits in calls while the storage stands still, once it has lost more than its interval allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from slicewise.analysis.blame.timeline import AMOUNTS, SECONDS, Kind
from slicewise.analysis.foretell.foretold import (
    BUSY,
    MOVES,
    AloneRun,
    Foretelling,
    Plan,
    SeenRun,
    timeline,
    together,
    told_by_others,
)
from slicewise.analysis.foretell.laws import SHORTEST, Law
from slicewise.analysis.foretell.side_by_side import Segment
from slicewise.analysis.sharing.halfway import NOTHING, Halfway
from slicewise.estimate import Estimate

# The parts of all bytes after which a run is looked at.
LOOKS = (0.5, 0.8)
# A storage that gives less than this part of what it serves, while a job's processes all wait, stands still.
STANDS_STILL = 0.3

# Seconds and bytes so far.
Progress = tuple[np.ndarray, np.ndarray]


def halfway(
    run: SeenRun, served: Mapping[Kind, float], law: Law, told: Sequence[Estimate], part: float = LOOKS[0]
) -> Halfway:
    """What a run shows when so much of its bytes have been moved; told: each job's time as foretold."""
    origin = min(one.seen.span[0] for one in run.jobs)
    moved = [_progress(one.seen, origin) for one in run.jobs]
    times = np.unique(np.concatenate([seconds for seconds, _ in moved]))
    whole = np.sum([np.interp(times, *own) for own in moved], axis=0)
    now = float(np.interp(part * whole[-1], whole, times))
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
        is_off |= not is_within(time, told[place], part)
    return Halfway(now, t_co, is_off)


def is_within(time: float, told: Estimate, part: float) -> bool:
    """Whether a time lies in the interval by when so much of a run is done: of what may add up by chance until its end
    only that part can have come, and so the interval's logarithms count by the root of it.
    """
    ends = (max(told.low, SHORTEST), told.high)
    low, high = (told.value * math.pow(end / told.value, math.sqrt(part)) for end in ends)
    return low <= time <= high


def off_while_running(run: SeenRun, served: Mapping[Kind, float], law: Law, told: Sequence[Estimate]) -> list[bool]:
    """Whether a run was seen to be off before the job ended, for each of its jobs."""
    looks = [look for look in (halfway(run, served, law, told, part) for part in LOOKS) if look.is_off]
    still = _stood_still(run, served)
    return [
        lost > time.high - time.value or any(look.t_co[place] is not None for look in looks)
        for place, (lost, time) in enumerate(zip(still, told, strict=True))
    ]


def _stood_still(run: SeenRun, served: Mapping[Kind, float]) -> list[float]:
    """How long all of each job's processes were in calls while the storage stood still, but for its last slice (s)."""
    seconds = run.jobs[0].seen.digest.slice_ns / 1e9
    used = pl.sum_horizontal(pl.col(AMOUNTS[kind]) / served[kind] for kind in MOVES if kind in served) / seconds
    rows = pl.concat(
        [one.seen.rows.with_columns(job=pl.lit(one.job), processes=pl.lit(one.seen.processes)) for one in run.jobs]
    ).with_columns(used=used.sum().over("slice"))
    waits = pl.sum_horizontal(SECONDS[kind] for kind in MOVES) >= BUSY * seconds * pl.col("processes")
    lost = rows.filter(waits, pl.col("used") < STANDS_STILL, pl.col("slice") < pl.col("slice").max().over("job"))
    return [seconds * float((1 - lost.filter(pl.col("job") == one.job)["used"]).sum()) for one in run.jobs]


def runs_off(found: Foretelling) -> list[str]:
    """The runs in company, by the names of their jobs, that were seen to be off while they ran, by the law that
    explains the others.
    """
    told = []
    for run, laws, seconds in told_by_others(found):
        if any(off_while_running(run, found.serves, laws.chosen, seconds)):
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
