"""Whether jobs side by side go as predicted, told while they run: when half of the bytes of all have been moved, and
again at four fifths, what is left of each job's timeline alone is predicted anew. If a job so ends outside of its
interval, all jobs of the run that still go are warned. In between, a job is warned of that waits in calls while the
storage stands still, once it has lost more than its interval allows.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from slicewise.analysis.calls import AMOUNTS
from slicewise.analysis.capacity.by_kind import fullness, is_always_in_calls
from slicewise.analysis.predict.fitted import MOVES, SeenRun
from slicewise.analysis.predict.laws import Law
from slicewise.analysis.predict.predict import (
    Plan,
    Predicted,
    ServiceRates,
    line,
    together,
    told_by_others,
    weight_of,
)
from slicewise.analysis.predict.side_by_side import Segment
from slicewise.analysis.runs.on_storage import AloneRun
from slicewise.analysis.sharing.fitted_model import misfit_of
from slicewise.analysis.sharing.goodness import NOTHING, Halfway, Misfit, Progress, look, misfits, shares_shown
from slicewise.constants import NO_SECONDS
from slicewise.estimate import Estimate
from slicewise.scalars import real

# The parts of all bytes after which a run is looked at.
LOOKS = (0.5, 0.8)
# A storage that gives less than this part of what it serves, while a job's processes all wait, stands still.
STANDS_STILL = 0.3


def misfits_of(run: SeenRun, served: ServiceRates, law: Law, told: Sequence[Estimate]) -> list[Misfit]:
    """The jobs of a run whose time lies outside of what was told. Shares are those of slices in which the processes of
    all jobs were in calls: elsewhere bytes say what a job wanted, and not what it got.
    """
    names = [job.job for job in run.jobs]
    weights = [weight_of(job.alone, law) for job in run.jobs]
    slices = pl.concat([_in_calls(job.seen, job.job) for job in run.jobs])
    together_there = slices.filter(pl.len().over("slice") == len(names))
    plans = [(job.alone, job.start, line(job.alone, served, law)) for job in run.jobs]
    # With an interval of the same width, as a part of the time.
    width = [(time.low / time.value, time.high / time.value) for time in told]

    def solve(own: Sequence[float]) -> list[Estimate]:
        times = together(plans, served, law, own)
        return [Estimate(time, low * time, high * time, "") for time, (low, high) in zip(times, width, strict=True)]

    return misfits(
        names,
        told,
        [job.seconds for job in run.jobs],
        weights,
        shares_shown(together_there, names),
        solve,
        _gave(run, together_there, served, law),
    )


def misfits_seen(found: Predicted) -> list[Misfit]:
    """The jobs in company that did not take as long as the law says that explains the other runs, the worst last."""
    if found.fitted is not None:
        off = [misfit_of(row) for run in found.fitted.rows for row in run if row["misfit"] is not None]
    else:
        others = told_by_others(found)
        off = [one for run, laws, told in others for one in misfits_of(run, found.serves, laws.chosen, told)]
    return sorted(off, key=lambda one: abs(one.predicted.value / one.observed - 1))


def _in_calls(seen: AloneRun, job: str) -> pl.DataFrame:
    moved = [AMOUNTS[kind] for kind in MOVES]
    busy = is_always_in_calls(MOVES, seen.digest.slice_ns / 1e9, seen.processes)
    return seen.rows.filter(busy).select("slice", *moved, job=pl.lit(job), bytes=pl.sum_horizontal(moved))


def _gave(run: SeenRun, slices: pl.DataFrame, served: ServiceRates, law: Law) -> float | None:
    """What the storage gave all jobs in these slices over what it serves; None where that is not known."""
    if slices.is_empty() or law.rules.crowding or law.is_by_requests:
        return None
    seconds = run.jobs[0].seen.digest.slice_ns / 1e9 * slices["slice"].n_unique()
    rates = [(AMOUNTS[kind], rate) for kind, rate in served.amounts.items() if kind in MOVES]
    use = [real(slices[amount].sum()) / rate / seconds for amount, rate in rates]
    return float(fullness(use, law.rules.exponent))


def halfway(run: SeenRun, served: ServiceRates, law: Law, told: Sequence[Estimate], part: float = LOOKS[0]) -> Halfway:
    """What a run shows when so much of its bytes have been moved; told: each job's time as predicted."""
    origin = min(one.seen.span[0] for one in run.jobs)
    moved = [_progress(one.seen, origin) for one in run.jobs]

    def ends(going: list[int], now: float, _: list[float]) -> Iterable[float]:
        rest = list[Plan]()
        for place in going:
            job = run.jobs[place]
            whole = line(job.alone, served, law)
            left = _after(whole, _place(job.alone, moved[place], now)) if job.start < now else whole
            rest.append((job.alone, max(job.start, now), left))
        return (plan[1] + seconds for plan, seconds in zip(rest, together(rest, served, law), strict=True))

    starts = [job.start for job in run.jobs]
    return look(moved, starts, part, ends, lambda place, time: is_within(time, told[place], part))


def is_within(time: float, told: Estimate, part: float) -> bool:
    """Whether a time lies in the interval by when so much of a run is done: of what may add up by chance until its end
    only that part can have come, and so the interval's logarithms count by the root of it.
    """
    ends = (max(told.low, NO_SECONDS), told.high)
    low, high = (told.value * math.pow(end / told.value, math.sqrt(part)) for end in ends)
    return low <= time <= high


def off_while_running(run: SeenRun, served: ServiceRates, law: Law, told: Sequence[Estimate]) -> list[bool]:
    """Whether a run was seen to be off before the job ended, for each of its jobs."""
    looks = [look for look in (halfway(run, served, law, told, part) for part in LOOKS) if look.is_off]
    still = _stood_still(run, served)
    return [
        lost > time.high - time.value or any(look.t_co[place] is not None for look in looks)
        for place, (lost, time) in enumerate(zip(still, told, strict=True))
    ]


def _stood_still(run: SeenRun, served: ServiceRates) -> list[float]:
    """How long all of each job's processes were in calls while the storage stood still, but for its last slice (s)."""
    seconds = run.jobs[0].seen.digest.slice_ns / 1e9
    rates = [(AMOUNTS[kind], rate) for kind, rate in served.amounts.items() if kind in MOVES]
    used = pl.sum_horizontal(pl.col(amount) / rate for amount, rate in rates) / seconds
    rows = pl.concat(
        [one.seen.rows.with_columns(job=pl.lit(one.job), processes=pl.lit(one.seen.processes)) for one in run.jobs]
    ).with_columns(used=used.sum().over("slice"))
    waits = is_always_in_calls(MOVES, seconds, pl.col("processes"))
    lost = rows.filter(waits, pl.col("used") < STANDS_STILL, pl.col("slice") < pl.col("slice").max().over("job"))
    return [seconds * float((1 - lost.filter(pl.col("job") == one.job)["used"]).sum()) for one in run.jobs]


def runs_off(found: Predicted) -> list[str]:
    """The runs in company, by the names of their jobs, that were seen to be off while they ran."""
    if found.fitted is not None:
        off = [run for place, run in enumerate(found.runs) if any(found.fitted.is_off_in_time(place))]
    else:
        told = told_by_others(found)
        off = [run for run, laws, times in told if any(off_while_running(run, found.serves, laws.chosen, times))]
    return sorted(" + ".join(job.job for job in run.jobs) for run in off)


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
