"""The jobs side by side that did not take as long as predicted, and in what they did otherwise."""

from collections.abc import Sequence

import polars as pl

from slicewise.analysis.calls import AMOUNTS
from slicewise.analysis.capacity.by_kind import fullness, is_always_in_calls
from slicewise.analysis.predict.fitted import MOVES, SeenRun
from slicewise.analysis.predict.laws import Law
from slicewise.analysis.predict.predict import Predicted, ServiceRates, line, together, told_by_others, weight_of
from slicewise.analysis.runs.on_storage import AloneRun
from slicewise.analysis.sharing.fitted_model import misfit_of
from slicewise.analysis.sharing.goodness import Misfit, misfits, shares_shown
from slicewise.estimate import Estimate
from slicewise.scalars import real


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
