"""How long jobs would take side by side, in sentences and as a table."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from slicewise.analysis.predict.laws import Law
from slicewise.analysis.predict.predict import Predicted, PredictedJob
from slicewise.analysis.sharing.goodness import Misfit
from slicewise.analysis.sharing.model import FittedModel
from slicewise.constants import APART, TOO_FAR_OFF
from slicewise.report import columns
from slicewise.report.model.model_report import misfit_words
from slicewise.report.records import or_none, picked
from slicewise.report.tables import Table
from slicewise.text import words

# A job that takes less than this much longer is not slowed down.
SLOWED_AT_ALL = 1.02


def lines(found: Predicted, misfits: Sequence[Misfit] = ()) -> list[str]:
    """The answer, what it stands on, and what speaks against it. misfits: `misfits.misfits_seen`."""
    if found.mean_error is not None and found.mean_error > TOO_FAR_OFF:
        return [
            "How long these jobs would take is not known: of "
            f"{words.count(len(found.errors), 'job')} that ran side by side, the times that no law had seen are off by "
            f"{words.percent(found.mean_error)} on average. The figures below are no forecast."
        ]
    against = [*_doubts(found), *_misfits(found, misfits)]
    return [*(_job(one) for one in found.jobs), _basis(found), *against]


def table(found: Predicted) -> Table:
    return columns.table(
        found.jobs,
        columns.text("job", lambda one: one.job),
        columns.seconds("begins at", lambda one: one.start),
        columns.seconds("I/O alone", lambda one: one.alone),
        columns.seconds("side by side", lambda one: one.seconds.value),
        columns.text("between", lambda one: words.interval(one.seconds.low, one.seconds.high)),
        columns.number("times as long", lambda one: one.slowdown),
    )


def record(found: Predicted, misfits: Sequence[Misfit] = ()) -> dict[str, Any]:
    law = found.laws.chosen
    rules = ("exponent", "is_written_behind", "is_one_queue", "are_reads_queued", "crowding")
    return {
        "jobs": [
            picked(one, "job", "start", alone_seconds="alone", seconds="seconds", slowdown="slowdown")
            | or_none(one, "doubt")
            for one in found.jobs
        ],
        "model": None if found.fitted is None else found.fitted.model.weight.chosen,
        "law": {
            "share_by": law.by,
            "most_bytes_a_call": None if math.isinf(law.part) else law.part,
            **picked(law.rules, *rules),
            "is_by_requests": law.is_by_requests,
            "possible": len(found.laws.possible),
        },
        "seen_jobs": len(found.errors),
        **picked(found, "mean_error", "largest_error"),
        "serves": found.serves.amounts,
        "misfits": [asdict(one) for one in misfits],
    }


def _job(one: PredictedJob) -> str:
    between = f" {words.interval(one.seconds.low, one.seconds.high)}"
    if one.seconds.value < SLOWED_AT_ALL * one.alone:
        return f"{one.job} would take {words.seconds(one.seconds.value)}{between} for its I/O, as alone."
    return (
        f"{one.job} would take {words.number(one.slowdown)} times as long for its I/O as alone: "
        f"{words.seconds(one.seconds.value)}{between} instead of {words.seconds(one.alone)}."
    )


def _basis(found: Predicted) -> str:
    if found.mean_error is None or found.largest_error is None:
        guess = "A guess: no jobs were seen side by side there, so the interval holds all that the storage may go by."
        if found.seen:
            more = words.count(found.seen, "more profile")
            return f"{guess} None of {more} ran beside another one with a standalone run of both among them."
        return f"{guess} Give profiles of jobs that ran side by side, and of each alone, by --seen DIR."
    return (
        f"The times of {words.count(len(found.errors), 'job')} that ran side by side are explained to within "
        f"{words.percent(found.mean_error)} on average ({words.percent(found.largest_error)} at most) by this: "
        f"{law_words(found.laws.chosen) if found.fitted is None else model_words(found.fitted.model)}."
    )


def model_words(model: FittedModel) -> str:
    chosen, curve = model.weight.chosen, model.capacity
    by = "each job has the same share" if chosen is None or chosen.kind == "equal" else f"shares go by {chosen.kind}"
    if chosen is not None and chosen.kind == "processes^beta":
        by = f"shares go by processes to the power of {words.number(chosen.beta)}"
    changes = ""
    if model.basis == "capacity curve" and curve is not None and not curve.is_constant:
        changes = f", and what the storage serves changes with {curve.by}"
    return f"the fitted model of sharing, by which {by}{changes}"


def law_words(law: Law) -> str:
    by = {
        "processes": "each process in a call has the same share",
        "nodes": "each node has the same share",
        "equal": "each job has the same share",
        "outstanding": "shares go by the bytes of the calls that are under way",
    }[law.by]
    if law.by == "outstanding" and not math.isinf(law.part):
        by += f" (of a call {words.size(law.part)} at most)"
    ways = "reads and writes share the storage's time"
    if law.rules.exponent >= APART:
        ways = "reads and writes do not meet"
    elif law.rules.exponent > 1:
        ways += " in part"
    queued = "metadata calls and reads wait behind writes" if law.rules.are_reads_queued else ""
    queued = queued or ("metadata calls wait behind data" if law.rules.is_one_queue else "")
    ways += f", {queued}" if queued else ""
    behind = "; jobs go on while their data are under way" if law.rules.is_written_behind else ""
    crowded = law.rules.crowding
    slower = f"; a byte costs {100 * crowded:.0f} % more for each further node" if crowded else ""
    requests = "; a call costs the storage as much whatever its size" if law.is_by_requests else ""
    return f"{by}, {ways}{behind}{slower}{requests}"


def _doubts(found: Predicted) -> list[str]:
    told: dict[str, list[str]] = {}
    for one in found.jobs:
        if one.doubt:
            told.setdefault(one.doubt, []).append(one.job)
    return [f"Do not rely on {words.listing(jobs)}: {doubt}." for doubt, jobs in told.items()]


def _misfits(found: Predicted, misfits: Sequence[Misfit]) -> list[str]:
    if not misfits:
        return []
    seen = sum(len(run.jobs) for run in found.runs)
    return [
        f"{len(misfits)} of {words.count(seen, 'job')} that ran side by side took another time than the other runs "
        f"predicted. The worst: {misfit_words(misfits[-1])}"
    ]
