"""What a job lost in a chosen time: the figures that the page's script (templates/selection.js) computes, too.

The analysis knows seconds of the mean process slice by slice, and of the runtime in all: here the one is scaled to the
other, so that the figures of all slices are those of the whole run.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import polars as pl
from slicewise.analysis.blame.result import Blame
from slicewise.report.blame.blame_page import runtime_factor


@dataclass(frozen=True)
class ChosenTime:
    """calls, alone: seconds of the mean process in calls, and what these take alone. lost: seconds of the job's runtime
    to each neighbour; turn: to waiting for its turn; unexplained: to nobody.
    """

    calls: float
    alone: float
    lost: Mapping[str | None, float]
    unexplained: float
    turn: float = 0.0


def chosen_time(blame: Blame, slices: Collection[int]) -> ChosenTime:
    """The figures of some slices. What the job lost as its processes end apart is spread over its time in calls."""
    factor = runtime_factor(blame)
    own = blame.slices.filter(pl.col("slice").is_in(list(slices)))
    shares = blame.shares.filter(pl.col("slice").is_in(list(slices)))
    calls, all_calls = float(own["seconds"].sum()), float(blame.slices["seconds"].sum())
    lost = {
        one.job: factor
        * float(shares.filter(pl.col("neighbour").eq_missing(pl.lit(one.job, pl.String)))["lost_seconds"].sum())
        for one in blame.neighbours
    }
    whole = factor * float(own["lost_seconds"].sum()) + blame.apart_seconds * (calls / all_calls if all_calls else 0.0)
    turn = 0.0
    if blame.turn is not None:
        turn = float(blame.turn.slices.filter(pl.col("slice").is_in(list(slices)))["seconds"].sum())
    return ChosenTime(calls, float(own["alone_seconds"].sum()), lost, whole - sum(lost.values()), turn)
