"""An answer weighed against what else is known: runs that did the same, processors, a lower limit, I/O without calls.

Dataclasses in and out.
"""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from slicewise.analysis.blame import without
from slicewise.analysis.blame.memory import seconds_refetching
from slicewise.analysis.blame.outside import (
    BY_NO_CALL,
    delayed_outside,
    delayed_seconds,
    outside_of_io,
    perhaps_delayed,
    runtime_alone,
    starved,
)
from slicewise.analysis.blame.result import Blame, LowerLimit, Outside, TimeLimited
from slicewise.analysis.blame.sources import Answered
from slicewise.analysis.blame.standalone import NO_RUN
from slicewise.constants import MAINLY, NEARLY_ALL, TRIVIAL
from slicewise.digest.digest import Digest
from slicewise.estimate import Estimate
from slicewise.kinds import LESS_SURE, SURE
from slicewise.text import words

SOMEBODY_WAITED = (
    "on its nodes somebody waited for a processor {share} of the time, and how long its ranks or threads did is "
    "not known"
)
# Of what calls lost: the job took longer by less than this, and so it made up for the rest elsewhere.
HARDLY_LONGER = 0.25


def _with_part_of_neighbours(told: Blame, part: float) -> Blame:
    neighbours = [
        replace(
            one,
            lost=one.lost.through(lambda seconds: part * seconds, one.lost.how),
            kinds={kind: part * seconds for kind, seconds in one.kinds.items()},
            without_it_end=without.without_its_part(one.without_it_end, (1 - part) * one.lost.value),
        )
        for one in told.neighbours
    ]
    unexplained = told.unexplained_seconds + (1 - part) * sum(one.lost.value for one in told.neighbours)
    shares = told.shares.with_columns(pl.col("lost_seconds") * part)
    return replace(told, neighbours=neighbours, unexplained_seconds=unexplained, shares=shares)


def with_limit(told: Blame, lower: Sequence[LowerLimit]) -> Blame:
    """The blame with what the limit cost that was lower than in runs alone: what was held to it took longer by as much.
    Neighbours cost no more than the rest of the loss.
    """
    lost = told.lost.value if told.lost and told.is_claimed else 0.0
    if lost <= 0 or not lower:
        return told
    whole = float(told.slices["lost_seconds"].sum())
    factor = lost / whole if whole > 0 else 1.0
    alone = dict(told.slices.group_by("storage").agg(pl.col("alone_seconds").sum()).iter_rows())
    cost = [
        replace(
            one, seconds=min(lost, factor * max(0.0, alone.get(one.storage.number, 0.0)) * (one.alone / one.rate - 1))
        )
        for one in lower
    ]
    most = max(cost, key=lambda one: one.seconds)
    if most.seconds > (1 - MAINLY) * lost and told.confidence == "low":
        told = replace(told, confidence="medium", next_step="")  # nobody took the storage's time
    of_neighbours = sum(one.lost.value for one in told.neighbours)
    part = min(1.0, (lost - most.seconds) / of_neighbours) if of_neighbours > 0 else 1.0
    return replace(_with_part_of_neighbours(told, part), lower_limit=most)


def with_time_outside(
    told: Blame,
    digest: Digest,
    same_work: Sequence[Digest],
    asked_otherwise: Sequence[Digest],
    is_hidden: bool,
    of_seconds_alone: bool,
) -> Blame:
    """The blame with what the job took longer outside of I/O calls, and the time alone of runs that did the same.

    same_work: these; asked_otherwise: those that did as much I/O with another command line. is_hidden: most of its I/O
    is no call's. of_seconds_alone: where no such run is known, nothing is told of waits.
    """
    if told.lost is not None and same_work:
        told = with_outside(told, _longer_outside(told, digest, same_work))
        alone = runtime_alone(digest, same_work)
        if told.outside is not None:
            return told
        return no_longer_than(told, alone) if told.is_claimed else as_runs_say(told, alone, is_hidden)
    if told.lost is not None and asked_otherwise:
        outside = _longer_outside(told, digest, asked_otherwise)
        if outside is not None and outside.work_seconds <= MAINLY * outside.seconds:
            return _less_sure_of_its_work(with_outside(told, outside), outside, asked_otherwise)
    if of_seconds_alone:
        return told
    if told.lost is not None:
        delayed = delayed_outside(digest, told.io_processes, told.io_seconds, told.lost, told.is_claimed)
        told = with_outside(told, delayed)
        perhaps = perhaps_delayed(digest, told.io_processes, told.io_seconds)
        if told.outside is None and told.alone is not None and perhaps:
            alone = told.alone
            alone = Estimate(alone.value, max(0.0, alone.low - perhaps), alone.high, alone.how)
            return replace(told, alone=alone)
        if told.outside is not None and told.is_io_open and told.confidence in SURE:
            return replace(told, confidence="low")  # it is not known what it would have taken alone
        if told.outside is not None and told.outside.memory_seconds and told.confidence == "high":
            return replace(told, confidence=LESS_SURE["high"])  # how much it computed for want of memory is not known
        return told
    return with_waits(told, digest)


def with_waits(told: Blame, digest: Digest) -> Blame:
    """The blame of a job whose time alone is not known, with what it waited for processors and for memory."""
    memory = seconds_refetching(digest, told.io_processes)
    return replace(
        told,
        delayed_seconds=delayed_seconds(digest, told.io_processes),
        memory_seconds=memory,
        next_step=told.next_step if memory is None else "",  # a run by itself has the same memory
    )


def _longer_outside(told: Blame, digest: Digest, runs: Sequence[Digest]) -> Outside | None:
    assert told.lost is not None
    io_alone = max(0.0, told.io_seconds - told.lost.value)
    taken = float(told.shares["storage_seconds"].sum())
    return outside_of_io(digest, runs, told.io_processes, io_alone, told.lost.value, taken)


def _less_sure_of_its_work(told: Blame, outside: Outside, runs: Sequence[Digest]) -> Blame:
    """The blame of a job that may have been asked to do something else than runs did, outside of I/O."""
    others = words.listing([run.job for run in runs])
    note = f"{others} had another command line, and perhaps less to do outside of I/O calls"
    is_counted = outside.is_for_processor
    confidence = told.confidence if is_counted else LESS_SURE[told.confidence]
    return replace(told, notes=[*told.notes, note], confidence=confidence)


def with_outside(told: Blame, outside: Outside | None) -> Blame:
    """The blame with what the job lost outside of I/O. What its calls lost as it waited for processors is no I/O's."""
    if outside is None:
        return told
    lost = told.lost.value if told.lost else 0.0
    left = max(0.0, lost - outside.io_seconds) / lost if lost > 0 else 1.0
    bounds = told.lost
    told = replace(_with_part_of_loss(told, left), alone=outside.alone, outside=outside)
    if bounds is not None and told.lost is not None and not told.is_claimed:
        value = told.lost.value  # of a loss that may be none, it is not known any better what is left
        less, more = bounds.value - bounds.low, bounds.high - bounds.value
        told = replace(told, lost=Estimate(value, value - less, value + more, bounds.how))
    told = replace(told, is_claimed=told.is_claimed and left * lost > TRIVIAL * told.io_seconds)
    is_explained = told.baseline is not None and left < MAINLY and outside.is_for_processor
    # Nobody took the storage's time, and somebody took the processors'.
    return replace(told, confidence="medium") if is_explained and told.confidence == "low" else told


def with_set_time(told: Blame, limited: TimeLimited) -> Blame:
    """The blame of a job whose length is set by time: no neighbour makes it end later."""
    neighbours = [replace(one, without_it_end=None, no_model="its length is set by time") for one in told.neighbours]
    return replace(told, alone=limited.alone, outside=None, time_limited=limited, neighbours=neighbours)


def as_runs_say(told: Blame, alone: Estimate, is_hidden: bool) -> Blame:
    """The blame where no loss is claimed, with the time alone of runs that did the same: computing may have hidden the
    time of calls that were faster than alone; and it is known no better than such runs differ. is_hidden: most of its
    I/O is no call's.
    """
    own = told.alone or alone
    is_other = is_hidden or not alone.low <= own.value <= alone.high
    told = replace(told, alone=alone if is_other else _with_bounds_of(own, alone))
    return replace(told, confidence="low") if told.is_too_uncertain and told.confidence in SURE else told


def no_longer_than(told: Blame, alone: Estimate) -> Blame:
    """The blame of a claimed loss, with the time alone of runs that did the same where the two contradict each other:
    waits for pages are known by looks alone, and calls may have hidden other work; or where several processes lost
    unequally, and which of them held the job up is hardly known. No more was lost than the job took longer; and
    nothing, as far as is known, where that is no more than runs differ and the loss is not sure, or differs as little
    and the job took hardly longer, or runs alone leave next to nothing of it.
    """
    if told.alone is None or told.lost is None:
        return told
    lost = told.lost
    longer = told.runtime_seconds - alone.value
    part = longer / lost.value if lost.value > 0 else 1.0
    is_little = lost.value <= alone.high - alone.value and part < HARDLY_LONGER
    they_agree = told.alone.high >= alone.low and told.alone.value <= alone.high
    is_trifle = not they_agree and longer < TRIVIAL * told.runtime_seconds
    is_none = (is_little or is_trifle or told.confidence not in SURE) and told.runtime_seconds <= alone.high
    is_wide = told.waits in ("processes", "strands") and lost.high - lost.low > alone.high - alone.low
    is_better = 0 < part < 1 and is_wide and lost.low < lost.value / 2
    if not is_none and they_agree and not is_better:
        return replace(told, alone=_with_bounds_of(told.alone, alone))
    if part >= 1 and not is_none:
        return replace(told, alone=alone)
    its_part = min(1.0, max(0.0, part))
    if part > 0 and not is_none:
        return replace(_with_part_of_loss(told, part), alone=alone)
    found = replace(_with_part_of_neighbours(told, its_part), is_claimed=False, alone=alone)
    left = longer - sum(one.lost.value for one in found.neighbours)
    lost = Estimate(longer, told.runtime_seconds - alone.high, told.runtime_seconds - alone.low, alone.how)
    return replace(found, lost=lost, unexplained_seconds=left)


def _with_part_of_loss(told: Blame, part: float) -> Blame:
    """The blame of a part of what its calls lost, to whom and unexplained."""
    lost = told.lost and told.lost.through(lambda seconds: part * seconds, told.lost.how)
    left, apart = part * told.unexplained_seconds, part * told.apart_seconds
    return replace(_with_part_of_neighbours(told, part), lost=lost, unexplained_seconds=left, apart_seconds=apart)


def _with_bounds_of(own: Estimate, other: Estimate) -> Estimate:
    """An estimate in an interval that holds another one's, too."""
    return Estimate(own.value, min(own.low, other.low), max(own.high, other.high), own.how)


def why_hidden_io(digest: Digest, processes: int, io_seconds: float, moved: int) -> str:
    """Why a job's time in calls does not tell whether it was slowed down; empty: it does. processes: that made calls;
    io_seconds: of the mean one; moved: bytes, by no call.
    """
    stall = starved(digest, processes, io_seconds)
    if stall is not None:
        return SOMEBODY_WAITED.format(share=words.percent(stall, 2))
    return BY_NO_CALL.format(moved=words.size(moved)) if moved else ""


def why_it_may_be_anything(told: Blame, digest: Digest, runs: Sequence[Digest], sure: Answered) -> str:
    """Why nothing is told where an interval says nothing: all of the runtime may be lost, or none of it. Else empty.
    Runs that did the same and differ by as much say that much.
    """
    chosen = sure.chosen
    if told.alone is None or chosen is None or chosen.did_as_much:
        return ""
    if not (told.is_too_uncertain if told.outside is None else told.is_io_open):
        return ""
    if told.outside is not None and told.alone.high < told.runtime_seconds:
        return ""  # it waited for so much at the least
    if told.alone.low > (1 - NEARLY_ALL) * told.runtime_seconds:
        return ""
    others = [run for run in runs if run.job in chosen.runs]
    if others:
        return _other_size(digest, others[0])
    low, high = (words.duration(seconds) for seconds in (told.alone.low, told.alone.high))
    return f"what is known of its time alone holds for anything from {low} to {high}"


def _other_size(digest: Digest, run: Digest) -> str:
    pairs = {way: (digest.about[f"{way}_bytes"], run.about[f"{way}_bytes"]) for way in ("write", "read")}
    way = max(pairs, key=lambda way: abs(pairs[way][0] - pairs[way][1]))
    now, then = map(words.size, pairs[way])
    return f"{run.job} did other work: it {words.DID[way]} {then} instead of {now}" if now != then else NO_RUN


def not_known(told: Blame, why: str) -> Blame:
    """The blame without an answer."""
    return replace(
        told, alone=None, lost=None, io_lost=None, is_claimed=False, confidence="unknown", neighbours=[],
        unexplained_seconds=0.0, apart_seconds=0.0, baseline=None, unknown_because=why, outside=None, lower_limit=None,
    )  # fmt: skip
