"""Runs in company, each foretold by a law that was chosen without its combination of jobs, and what is said of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slicewise.analysis.predict.fitted import SeenJob, SeenRun, fitted_to, is_better
from slicewise.analysis.predict.laws import Laws, laws_of
from slicewise.analysis.predict.misfits import misfits_of
from slicewise.analysis.predict.predict import ServiceRates, doubt_of, predicted_seconds, times_of, tried_on
from slicewise.analysis.runs.on_storage import AloneRun
from slicewise.estimate import Estimate


@dataclass(frozen=True)
class HeldOutJob:
    """A job's time as foretold. doubt: said beforehand; is_warned: afterwards."""

    seen: SeenJob
    seconds: Estimate
    doubt: str
    is_warned: bool


@dataclass(frozen=True)
class HeldOutRun:
    """laws: what all other combinations of jobs say. is_by_model: the model of sharing predicts these better."""

    run: SeenRun
    laws: Laws
    jobs: list[HeldOutJob]
    is_by_model: bool


def held_out(
    storage: int, runs: Sequence[SeenRun], served: ServiceRates, quiet: Sequence[AloneRun]
) -> Iterator[HeldOutRun]:
    """Each run, foretold without itself and its repeats. served: what the storage serves (`predict.served_by`)."""
    tried, fitted = tried_on(runs, served), fitted_to(storage, runs, quiet)
    for number, run in enumerate(runs):
        kept = [place for place, other in enumerate(runs) if other.sizes != run.sizes]
        others = {law: [errors[place] for place in kept] for law, errors in tried.items()}
        laws = laws_of(others, [runs[place].sizes for place in kept])
        left_out = set(range(len(runs))) - set(kept)
        if fitted is not None and is_better(fitted.errors(runs, left_out), laws):
            seconds = fitted.seconds(number)
            off = {one.job for one, row in zip(run.jobs, fitted.rows[number], strict=True) if row["misfit"]}
            errors, is_by_model = fitted.errors(runs, left_out), True
        else:
            plans = [(one.alone, one.start) for one in run.jobs]
            seconds = predicted_seconds(plans, served, laws, times_of(run, runs, tried))
            off = {one.job for one in misfits_of(run, served, laws.chosen, seconds)}
            errors, is_by_model = laws.errors, False
        jobs = []
        for one, value in zip(run.jobs, seconds, strict=True):
            beside = [other.alone for other in run.jobs if other is not one]
            doubt = doubt_of(one.alone, beside, errors, served)
            jobs.append(HeldOutJob(one, value, doubt, one.job in off))
        yield HeldOutRun(run, laws, jobs, is_by_model)
