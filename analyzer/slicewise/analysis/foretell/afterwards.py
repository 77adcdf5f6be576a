"""Which jobs side by side did not take as long as foretold, told when their run is over, and in what it went otherwise.

`sharing.goodness` says it: with the shares that slices show in place of the law's, the jobs either take what was
observed (other shares), or they do not (no share law).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from slicewise.analysis.blame.timeline import AMOUNTS, SECONDS, Kind
from slicewise.analysis.foretell.foretold import (
    BUSY,
    MOVES,
    AloneRun,
    Foretelling,
    SeenRun,
    timeline,
    together,
    told_by_others,
)
from slicewise.analysis.foretell.laws import Law
from slicewise.analysis.foretell.side_by_side import APART
from slicewise.analysis.sharing.goodness import Misfit, misfits, shares_shown
from slicewise.estimate import Estimate
from slicewise.scalars import real


def misfits_of(run: SeenRun, served: Mapping[Kind, float], law: Law, told: Sequence[Estimate]) -> list[Misfit]:
    """The jobs of a run whose time lies outside of what was told. Shares are those of slices in which the processes of
    all jobs were in calls: elsewhere bytes say what a job wanted, and not what it got.
    """
    names = [job.job for job in run.jobs]
    weights = [job.alone.weight(law) for job in run.jobs]
    slices = pl.concat([_in_calls(job.seen, job.job) for job in run.jobs])
    together_there = slices.filter(pl.len().over("slice") == len(names))
    plans = [(job.alone, job.start, timeline(job.alone, served)) for job in run.jobs]
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


def misfits_seen(found: Foretelling) -> list[Misfit]:
    """The jobs in company that did not take as long as the law says that explains the other runs, the worst last."""
    off = [one for run, laws, told in told_by_others(found) for one in misfits_of(run, found.serves, laws.chosen, told)]
    return sorted(off, key=lambda one: abs(one.predicted.value / one.observed - 1))


def _in_calls(seen: AloneRun, job: str) -> pl.DataFrame:
    """The slices in which all of its processes were in calls: bytes, and those of each kind."""
    wanted = BUSY * seen.processes * seen.digest.slice_ns / 1e9
    moved = [AMOUNTS[kind] for kind in MOVES]
    busy = pl.sum_horizontal(SECONDS[kind] for kind in MOVES) >= wanted
    return seen.rows.filter(busy).select("slice", *moved, job=pl.lit(job), bytes=pl.sum_horizontal(moved))


def _gave(run: SeenRun, slices: pl.DataFrame, served: Mapping[Kind, float], law: Law) -> float | None:
    """What the storage gave all jobs in these slices over what it serves; None where that is not known."""
    if slices.is_empty() or law.rules.crowding:
        return None
    seconds = run.jobs[0].seen.digest.slice_ns / 1e9 * slices["slice"].n_unique()
    use = [real(slices[AMOUNTS[kind]].sum()) / served[kind] / seconds for kind in MOVES if kind in served]
    exponent = law.rules.exponent
    return max(use) if exponent >= APART else real(sum(one**exponent for one in use) ** (1 / exponent))
