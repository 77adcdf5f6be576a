"""The model of sharing (`sharing.fitted_model`) as one more law: fitted to the same runs, and held out like the others.

It is for jobs of which all write all the time, or all read. There it knows what laws do not: capacity that changes with
clients, and weights that are fitted.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from slicewise.analysis.predict.laws import POOR, Laws
from slicewise.analysis.predict.seen import SeenRun
from slicewise.analysis.runs.alone import AloneRun
from slicewise.analysis.runs.campaign import campaign_there
from slicewise.analysis.runs.matching import each_once
from slicewise.analysis.sharing.fitted_model import cross_check, fit_model, predict
from slicewise.analysis.sharing.model import FittedModel, model_job
from slicewise.constants import NEGLIGIBLE_ERROR, WORTH_MORE
from slicewise.digest.activity import DIRECTIONS
from slicewise.estimate import Estimate

# A job that moves less than this part of its bytes in one direction is not what the model is for.
ONE_WAY = 0.95


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

    def is_off_in_time(self, place: int) -> list[bool]:
        """Whether each job of a run was seen to be off before it ended."""
        return [bool(row["is_warned_halfway"]) and row["halfway_seconds"] is not None for row in self.rows[place]]

    def predicted(self, plans: Sequence[tuple[AloneRun, float]]) -> list[Estimate]:
        """How long the I/O of jobs takes beside each other. plans: a run alone of each, and its start."""
        jobs = [
            replace(model_job(self.model, self.of[run.digest.job] | {"start": start}), job=str(place))
            for place, (run, start) in enumerate(plans)
        ]
        return [one.t_co for one in predict(self.model, jobs)]


def is_better(errors: Sequence[float], laws: Laws) -> bool:
    """Whether a model with these errors for combinations that it has not seen predicts well, and clearly better than
    the laws do.
    """
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
    if any(one.bytes[direction] < ONE_WAY * sum(one.bytes[way] for way in DIRECTIONS) for one in there):
        return None
    data = campaign_there(each_once([one.digest for one in there]), storage, direction)
    if data is None:
        return None
    checked = {row["job"]: row for row in cross_check(data.jobs, data.slices, None, data.progress).to_dicts()}
    rows = [[checked.get(job.seen.digest.job, {}) for job in run.jobs] for run in runs]
    model = fit_model(data.jobs, data.slices)
    if model.weight.chosen is None or any(row.get("predicted") is None for run in rows for row in run):
        return None
    return Fitted(model, rows, {row["job"]: row for row in data.jobs.to_dicts()})
