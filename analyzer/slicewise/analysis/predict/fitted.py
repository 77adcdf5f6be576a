"""The model of sharing as one more law, held out like the others, for jobs that all write all the time, or all read. It
knows what laws do not: capacity that changes with clients, and weights that are fitted.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from slicewise.analysis.calls import KINDS, Kind
from slicewise.analysis.predict.laws import POOR, Laws
from slicewise.analysis.runs.campaign import campaign_there
from slicewise.analysis.runs.matching import each_once, run_of
from slicewise.analysis.runs.on_storage import AloneRun
from slicewise.analysis.sharing.fitted_model import cross_check, fit_model, predict
from slicewise.analysis.sharing.model import FittedModel, model_job
from slicewise.constants import EQUAL_VOLUMES, NEGLIGIBLE_ERROR, ONE_DIRECTION, WORTH_MORE
from slicewise.digest.activity import DIRECTIONS
from slicewise.digest.company import groups_in_time
from slicewise.estimate import Estimate

MOVES: tuple[Kind, ...] = ("read", "write")
# A run of a program is one of the same job if its bytes are equal (EQUAL_VOLUMES), and its calls as close as this.
ALIKE_CALLS = 0.2


@dataclass(frozen=True)
class SeenJob:
    """A job that ran in company: when (s after the first I/O), how long, a run of it alone, and what it did there."""

    job: str
    start: float
    seconds: float
    alone: AloneRun
    seen: AloneRun


@dataclass(frozen=True)
class SeenRun:
    """Jobs that ran side by side. sizes: the same for its repeats."""

    jobs: list[SeenJob]

    @property
    def sizes(self) -> tuple[str, ...]:
        return tuple(sorted(one.alone.digest.job for one in self.jobs))


def seen_runs(there: Sequence[AloneRun]) -> tuple[list[AloneRun], list[SeenRun]]:
    """The jobs that had no company, and those in company of each of which there is a run without."""
    numbers = groups_in_time([run.span for run in there])
    in_order = sorted(zip(numbers, there, strict=True), key=lambda one: one[1].span, reverse=True)
    groups = [[run for at, run in in_order if at == number] for number in sorted(set(numbers))]
    quiet = [group[0] for group in groups if len(group) == 1]
    runs = []
    for group in groups:
        origin = min(one.span[0] for one in group)
        jobs = [
            SeenJob(one.digest.job, (one.span[0] - origin) / 1e9, one.seconds, other, one)
            for one in group
            if (other := _alike(one, quiet)) is not None
        ]
        if len(jobs) == len(group) > 1:
            runs.append(SeenRun(jobs))
    return quiet, runs


def _alike(job: AloneRun, quiet: Sequence[AloneRun]) -> AloneRun | None:
    """A run alone of the same program on as many processes and nodes, with the same bytes and calls."""
    fitting = (one for one in quiet if _is_alike(job, one))
    # One with the same slices, if there is one: their ends are known as well as the job's.
    return min(fitting, key=lambda one: one.digest.slice_ns != job.digest.slice_ns, default=None)


def _is_alike(one: AloneRun, other: AloneRun) -> bool:
    same = (one.processes, one.nodes) == (other.processes, other.nodes)
    if not same or run_of(one.digest).job.program != run_of(other.digest).job.program:
        return False
    bytes_ = all(_is_near(one.bytes[kind], other.bytes[kind], EQUAL_VOLUMES) for kind in MOVES)
    return bytes_ and all(_is_near(one.calls[kind], other.calls[kind], ALIKE_CALLS) for kind in KINDS)


def _is_near(one: float, other: float, fraction: float) -> bool:
    return abs(one - other) <= max(fraction * max(one, other), 16)


@dataclass(frozen=True)
class Fitted:
    """rows: by run and job, what a model without their combination of jobs says (`CHECK_SCHEMA`). of: by the names of
    jobs, rows of `campaign.JOBS_SCHEMA`.
    """

    model: FittedModel
    rows: list[list[dict[str, Any]]]
    of: Mapping[str, dict[str, Any]]

    def errors(self, runs: Sequence[SeenRun], left_out: Collection[int] = ()) -> list[float]:
        """ln(predicted / seen) of each job of each run but those."""
        kept = [pair for place, pair in enumerate(zip(runs, self.rows, strict=True)) if place not in left_out]
        return [
            math.log(row["predicted"] / job.seconds)
            for run, rows in kept
            for job, row in zip(run.jobs, rows, strict=True)
        ]

    def seconds(self, place: int) -> list[Estimate]:
        """How long the jobs of a run take, by a model that has not seen their combination."""
        how = "by the errors of the model of sharing for other combinations of jobs"
        return [Estimate(row["predicted"], row["low"], row["high"], how) for row in self.rows[place]]

    def predicted(self, plans: Sequence[tuple[AloneRun, float]]) -> list[Estimate]:
        """How long the I/O of jobs takes beside each other. plans: a run alone of each, and its start."""
        jobs = [
            replace(model_job(self.model, self.of[run.digest.job] | {"start": start}), job=str(place))
            for place, (run, start) in enumerate(plans)
        ]
        return [one.t_co for one in predict(self.model, jobs)]


def is_better(errors: Sequence[float], laws: Laws) -> bool:
    """Whether a model with these errors for unseen combinations predicts well, and clearly better than the laws."""
    if not errors or not laws.is_held_out:
        return False
    own, theirs = (float(np.mean(np.abs(some))) for some in (errors, laws.errors))
    return own <= POOR and own < (1 - WORTH_MORE) * theirs and own < theirs - NEGLIGIBLE_ERROR


def fitted_to(storage: int, runs: Sequence[SeenRun], quiet: Sequence[AloneRun]) -> Fitted | None:
    """The model of these runs of several jobs and of one; None where it is not for them, or they do not show one."""
    there = [*quiet, *(job.seen for run in runs for job in run.jobs)]
    if not runs or len({one.digest.job for one in there}) < len({id(one.digest) for one in there}):
        return None
    moved = {way: sum(one.bytes[way] for one in there) for way in DIRECTIONS}
    direction = max(DIRECTIONS, key=lambda way: moved[way])
    if any(one.bytes[direction] < ONE_DIRECTION * sum(one.bytes[way] for way in DIRECTIONS) for one in there):
        return None
    data = campaign_there(each_once([one.digest for one in there]), storage, direction)
    if data is None:
        return None
    checked = {row["job"]: row for row in cross_check(data.jobs, data.slices).to_dicts()}
    rows = [[checked.get(job.seen.digest.job, {}) for job in run.jobs] for run in runs]
    model = fit_model(data.jobs, data.slices)
    if model.weight.chosen is None or any(row.get("predicted") is None for run in rows for row in run):
        return None
    return Fitted(model, rows, {row["job"]: row for row in data.jobs.to_dicts()})
