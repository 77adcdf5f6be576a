"""Runs in company, each foretold by a law that was chosen without its combination of jobs, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from slicewise.analysis.blame.timeline import Kind
from slicewise.analysis.foretell.afterwards import misfits_of
from slicewise.analysis.foretell.foretold import SeenJob, SeenRun, doubt_of, foretold_seconds, times_of, tried_on
from slicewise.analysis.foretell.halfway import off_while_running
from slicewise.analysis.foretell.laws import Laws, laws_of
from slicewise.estimate import Estimate


@dataclass(frozen=True)
class HeldOutJob:
    """A job's time as foretold. doubt: said beforehand; is_off_in_time: while it ran; is_warned: afterwards."""

    seen: SeenJob
    seconds: Estimate
    doubt: str
    is_off_in_time: bool
    is_warned: bool


@dataclass(frozen=True)
class HeldOutRun:
    """laws: what all other combinations of jobs say."""

    run: SeenRun
    laws: Laws
    jobs: list[HeldOutJob]


def held_out(runs: Sequence[SeenRun], served: Mapping[Kind, float]) -> Iterator[HeldOutRun]:
    """Each run, foretold without itself and its repeats. served: what the storage serves (`foretold.serves`)."""
    tried = tried_on(runs, served)
    for run in runs:
        kept = [place for place, other in enumerate(runs) if other.sizes != run.sizes]
        others = {law: [errors[place] for place in kept] for law, errors in tried.items()}
        laws = laws_of(others, [runs[place].sizes for place in kept])
        plans = [(one.alone, one.start) for one in run.jobs]
        seconds = foretold_seconds(plans, served, laws, times_of(run, runs, tried))
        in_time = off_while_running(run, served, laws.chosen, seconds)
        off = {one.job for one in misfits_of(run, served, laws.chosen, seconds)}
        jobs = []
        for one, value, is_off in zip(run.jobs, seconds, in_time, strict=True):
            beside = [other.alone for other in run.jobs if other is not one]
            doubt = doubt_of(one.alone, beside, laws, served)
            jobs.append(HeldOutJob(one, value, doubt, is_off, one.job in off))
        yield HeldOutRun(run, laws, jobs)
