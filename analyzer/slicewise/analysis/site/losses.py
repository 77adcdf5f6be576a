"""What all jobs of some time lost to each other: blame of everybody at once.

A slice's loss is shared out among all who were there by the storage's time that they took. So what a job cost others is
a sum over slices of its own time and of one number a slice, and nobody need be paired with anybody. docs/models.md says
where this differs from blame of one job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from slicewise.analysis.blame import sources
from slicewise.analysis.blame.claims import claim
from slicewise.analysis.blame.on_storage import Floats, Mask
from slicewise.analysis.blame.result import Confidence
from slicewise.analysis.blame.shares import MOST_FOR_ITS_TIME, TOGETHER_SECONDS, cost_too
from slicewise.analysis.blame.sources import Answered
from slicewise.analysis.blame.timeline import AMOUNTS, CALLS, KINDS, SECONDS, Kind
from slicewise.analysis.blame.to_runtime import lost_parts
from slicewise.analysis.blame.uncontended import Price, Scene
from slicewise.analysis.site.everyone import Everyone
from slicewise.analysis.site.runs_alone import Processes, RunsAlone
from slicewise.analysis.site.unpriced import unpriced
from slicewise.catalog.schema import KEY

# What one job is told by itself is surer than what all are told at once.
MOST_SURE: dict[Confidence, Confidence] = {"high": "medium", "medium": "medium", "low": "low", "unknown": "unknown"}
TOLD: tuple[Confidence, ...] = ("medium", "low")
# What jobs are added up by.
Group = Literal["program", "user"]
GROUPS: tuple[Group, ...] = ("program", "user")


@dataclass(frozen=True)
class Losses:
    """jobs: a row a job: key, lost_seconds (to others; null: nothing is claimed, or nothing of it is others'),
    caused_seconds (that others lost by it; below 0 where they were faster than alone; null: of nobody beside it a loss
    is claimed), confidence (of what it lost), caused_confidence (that most of what it cost others has). beside: by
    program and by user, seconds that jobs lost in slices in which a job of theirs had a part in it.
    """

    jobs: pl.DataFrame
    beside: Mapping[Group, Mapping[object, float]]


def losses(every: Everyone, asked: Mask | None = None) -> Losses:
    """What each job lost to others, and cost others. asked: whose losses count; None: everybody's."""
    processes = Processes(every)
    known = _prices(every, processes, np.ones(every.jobs.height, bool) if asked is None else asked)
    parts = _Parts(every, known)
    to_others, io_lost = (np.bincount(every.place, one, every.jobs.height) for one in (parts.blamed, parts.lost))
    factor = np.zeros(every.jobs.height)
    sure: list[Confidence] = ["unknown"] * every.jobs.height
    for place, answered in known.items():
        if answered.chosen is None:
            continue
        in_calls = processes.in_calls(place)
        alone = processes.alone(place, answered.chosen.of)
        value, uneven = lost_parts(in_calls, alone, "processes", answered.chosen.uneven)
        told = claim(answered, float(in_calls.max()), io_lost[place], to_others[place], value, uneven)
        if told is not None and told.is_claimed:
            factor[place], sure[place] = told.factor, MOST_SURE[told.confidence]
    caused = {one: parts.caused(np.where(np.array(sure) == one, factor, 0.0)) for one in TOLD}
    every_caused = np.asarray(sum(caused.values()))
    jobs = every.jobs.select(KEY).with_columns(
        pl.Series("confidence", sure),
        pl.Series("lost_seconds", factor * to_others),
        pl.Series("caused_seconds", every_caused),
        pl.Series("caused_confidence", np.where(caused["medium"] >= caused["low"], *TOLD)),
    )
    is_told = (pl.col("confidence") != "unknown") & (pl.col("lost_seconds") != 0)
    is_beside_told = pl.Series(every.is_beside(np.array(sure) != "unknown"))
    return Losses(
        jobs.with_columns(pl.when(is_told).then("lost_seconds"), pl.when(is_beside_told).then("caused_seconds")),
        {by: _beside(every, parts.blamed * factor[every.place], by) for by in GROUPS},
    )


def _prices(every: Everyone, processes: Processes, asked: Mask) -> dict[int, Answered]:
    """What the sources say of each job that is asked and had company, by its place. Jobs of which all say nothing for
    want of slices and of runs are left out.
    """
    alone = RunsAlone(every, processes)
    had_company = np.bincount(every.place, every.has_company, every.jobs.height) > 0
    by_runs_alone = unpriced(every)
    found = {}
    for place in np.flatnonzero(asked & had_company & (alone.has_some() | ~by_runs_alone)).tolist():
        runs = alone.of(place)
        if runs or not by_runs_alone[place]:
            scene = Scene(every.on_storages(place), every.known, every.grid_ns / 1e9)
            found[place] = sources.ask(scene, runs, processes.count(place))
    return found


class _Parts:
    """What each row's job lost in it, and whose it is. lost: seconds of the mean process, of all kinds; blamed: what of
    that others can have caused.
    """

    def __init__(self, every: Everyone, known: Mapping[int, Answered]) -> None:
        self._every = every
        self._taken = np.asarray(sum(every.taken.values()))
        self._others = every.of_others(self._taken)
        stretch = every.slices // max(1, round(TOGETHER_SECONDS / (every.grid_ns / 1e9)))
        is_new = (np.diff(every.piece) != 0) | (np.diff(stretch) != 0)
        self._stretch = np.concatenate([[0], is_new.cumsum()])[: every.rows.height]
        self.lost = np.zeros(every.rows.height)
        self.blamed = np.zeros(every.rows.height)
        # By kind: what each row lost for each storage second of others, and whether all of their time counts.
        self._each: list[tuple[Kind, Floats, Mask]] = []
        for kind in KINDS:
            prices = _of_pieces(every, kind, known)
            if not prices:
                continue
            lost = self._lost(kind, prices)
            self.lost += lost
            by_time = self._costs_by_time(kind, lost)
            weight = every.others[kind]
            by_time &= weight == 0
            weight = np.where(by_time, self._others, weight)
            lost = np.where(weight > 0, lost, 0.0)
            together, most = (np.bincount(self._stretch, one) for one in (lost, MOST_FOR_ITS_TIME * weight))
            bound = np.where(together > most, most / np.where(together > most, together, 1.0), 1.0)
            lost = lost * bound[self._stretch]
            self.blamed += lost
            self._each.append((kind, lost / np.where(weight > 0, weight, 1.0), by_time))

    def _lost(self, kind: Kind, prices: Mapping[int, Price]) -> Floats:
        """Seconds beyond what a row's calls of a kind would have taken alone. prices: by the piece."""
        every = self._every
        seconds = every.columns[SECONDS[kind]]
        lengths = every.pieces[2] - every.pieces[1]
        is_priced, price, of_call = (np.zeros(len(lengths)) for _ in range(3))
        for piece, one in prices.items():
            is_priced[piece], price[piece], of_call[piece] = True, one.seconds, one.call_seconds
        its = np.flatnonzero(np.repeat(is_priced > 0, lengths))
        of = every.piece[its]
        alone = price[of] * every.columns[AMOUNTS[kind]][its]
        if kind in CALLS:
            alone = alone + of_call[of] * every.columns[CALLS[kind]][its]
        lost = np.zeros(every.rows.height)
        lost[its] = seconds[its] - alone
        return lost

    def _costs_by_time(self, kind: Kind, lost: Floats) -> Mask:
        """The rows of jobs that calls of other kinds cost time on a storage where they do not meet theirs."""
        every = self._every
        found = np.zeros(every.rows.height, bool)
        apart = [storage for storage, known in every.known.items() if known.across() == 0]
        if not apart:
            return found
        seconds, storages = every.columns[SECONDS[kind]], every.storages
        weight = every.others[kind]
        taken = np.where(every.has_company, self._others, np.nan)
        for start, end in zip(*(one.tolist() for one in every.pieces[1:]), strict=True):
            if int(storages[start]) in apart:
                its = np.flatnonzero(seconds[start:end] > 0) + start
                found[start:end] = cost_too(seconds[its], lost[its], weight[its], taken[its])
        return found

    def caused(self, factor: Floats) -> Floats:
        """What each job cost others: s of their runtime. factor: of each job, from what it lost to that, or 0."""
        every = self._every
        caused = np.zeros(every.rows.height)
        for kind, a_second, by_time in self._each:
            for these, took in ((~by_time, every.counts[kind]), (by_time, self._taken)):
                lost = np.where(these, a_second * factor[every.place], 0.0)
                caused += took * (every.of_all(lost) - lost)
        return np.asarray(np.bincount(every.place, caused, every.jobs.height), np.float64)


def _of_pieces(every: Everyone, kind: Kind, known: Mapping[int, Answered]) -> dict[int, Price]:
    """The prices of a kind of calls, by the piece."""
    places = every.pieces[0]
    found = {}
    for place, answered in known.items():
        if answered.chosen is None:
            continue
        for piece in range(*np.searchsorted(places, [place, place + 1]).tolist()):
            price = answered.chosen.of.get((int(every.storages[every.pieces[1][piece]]), kind))
            if price is not None:
                found[piece] = price
    return found


def _beside(every: Everyone, lost: Floats, by: Group) -> dict[object, float]:
    """What jobs lost in slices in which others of a program, or of a user, had a part in it. lost: of each row, s."""
    whose = every.jobs[by]
    nobody_lost = dict.fromkeys(whose.gather(np.unique(every.place[every.is_active])).unique().sort(), 0.0)
    its = np.flatnonzero(every.is_active & (every.of_all(lost != 0) > 0))
    rows = pl.DataFrame({"spot": every.spot[its], "lost": lost[its], "all": every.of_all(lost)[its]})
    # Where it is there with one job alone, that job's own loss is nobody's of its own.
    there = (
        rows.with_columns(whose.gather(every.place[its]).alias(by))
        .group_by("spot", by, maintain_order=True)
        .agg(pl.len(), pl.col("lost").first(), pl.col("all").first())
        .with_columns(part=pl.col("all") - pl.when(pl.col("len") == 1).then("lost").otherwise(0.0))
    )
    # Added up one after the other: sums of several threads would differ in their last digits.
    names = there[by].unique().sort()
    numbered = there.join(pl.DataFrame({by: names}).with_row_index("number"), on=by, maintain_order="left")
    sums = np.bincount(numbered["number"].to_numpy(), numbered["part"].to_numpy(), len(names))
    return nobody_lost | dict(zip(names, sums.tolist(), strict=True))
