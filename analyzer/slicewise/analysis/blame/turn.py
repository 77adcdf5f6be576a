"""What a job lost because it waited for its turn at I/O: beside what its I/O lost, and never a share of the storage.

Digests and frames in, a `Blame` with its `turn` out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from slicewise.analysis.blame.result import Blame, HadTurn, Turn
from slicewise.analysis.calls import KINDS
from slicewise.analysis.capacity.by_kind import Capacities, storage_seconds
from slicewise.analysis.job.turns import turns
from slicewise.constants import TRIVIAL, WORTH_A_WAIT
from slicewise.digest.digest import Digest
from slicewise.estimate import Estimate

# I/O below this fraction of the wait makes little difference, whatever it lost.
LITTLE_IO = 0.1
HOW = "the wait for its turn, counted while it waited"
BESIDE = {False: "had no known neighbours", True: "lost at most all the time that it took"}
NO_MODEL = "the job took turns with others, and the model cannot tell whose turn it would have been without them"


def turn_of(
    digest: Digest,
    neighbours: Sequence[Digest],
    beside: pl.DataFrame,
    known: Mapping[int, Capacities],
    storages: Sequence[int],
    grid_ns: int,
) -> Turn | None:
    """What a job waited; None where that is next to nothing.

    beside: rows of `timeline.job_rows` of all jobs. storages: those that the job used.
    """
    waited = turns(digest)
    row = digest.about
    runtime = (row["end_ns"] - row["start_ns"]) / 1e9
    if waited.seconds <= WORTH_A_WAIT * runtime:
        return None
    seconds = min(waited.seconds, runtime)
    slices = waited.on_grid(digest.slice_ns, grid_ns)
    take_part = [other.job for other in neighbours if turns(other).takes_part]
    active = beside.filter(pl.col("job").is_in(take_part), pl.col("storage").is_in(list(storages)))
    taken = (
        storage_seconds(active, known, grid_ns)
        .with_columns(taken=pl.sum_horizontal(f"{kind}_taken" for kind in KINDS))
        .filter(pl.col("taken") > 0)
        .group_by("job", "slice", maintain_order=True)
        .agg(pl.col("taken").sum())
        .join(slices, on="slice", maintain_order="left")
        .with_columns(share=pl.col("seconds") * pl.col("taken") / pl.col("taken").sum().over("slice"))
    )
    had = (
        taken.group_by("job", maintain_order=True)
        .agg(pl.col("share").sum())
        .sort("share", "job", descending=[True, False])
    )
    return Turn(
        Estimate(seconds, seconds, seconds, HOW),
        waited.waits,
        [HadTurn(job, share) for job, share in had.select("job", "share").iter_rows()],
        slices,
    )


def with_turn(told: Blame, turn: Turn | None) -> Blame:
    """The blame of a job that waited: the wait is a part of the loss of its own.

    Where nothing else tells what its I/O lost, that is nothing if nobody used its storages meanwhile, and else at most
    all of its I/O: beside a long wait that is little, and however unsure, the whole is sure.
    """
    if turn is None:
        return told
    turn = _at_most(turn, told.runtime_seconds - (told.lost.value if told.lost else 0.0))
    neighbours = [replace(one, without_it_end=None, no_model=NO_MODEL) for one in told.neighbours]
    told = replace(told, turn=turn, neighbours=neighbours)
    waited, lost, confidence = turn.seconds, told.lost, told.confidence
    most = 0.0 if told.shares.is_empty() else told.io_seconds
    is_little = most <= LITTLE_IO * waited.value
    if lost is None and not is_little:
        return told
    if lost is None:
        whole = Estimate(waited.value, waited.low, waited.high + most, f"{HOW}; its I/O {BESIDE[most > 0]}")
        confidence = "medium"
    else:
        how = f"{lost.how}; and {waited.how}"
        confidence = "medium" if is_little and confidence == "low" else confidence
        most = max(told.runtime_seconds, lost.high)
        whole = Estimate(lost.value + waited.value, lost.low + waited.low, min(lost.high + waited.high, most), how)
    alone = whole.through(lambda seconds: max(told.runtime_seconds - seconds, 0.0), whole.how)
    return replace(
        told,
        lost=whole,
        alone=alone,
        confidence=confidence,
        is_claimed=whole.low > 0 and whole.value > TRIVIAL * told.io_seconds,
        unknown_because="",
        next_step="" if lost is None else told.next_step,
    )


def _at_most(turn: Turn, seconds: float) -> Turn:
    """The turn, where the job cannot have lost all of its wait: one process waited while others lost time in calls."""
    waited = turn.seconds.value
    if waited <= seconds:
        return turn
    most = max(seconds, 0.0)
    kept = most / waited
    return replace(
        turn,
        seconds=Estimate(most, most, most, f"{turn.seconds.how}, less what others lost in calls meanwhile"),
        had_it=[replace(one, seconds=kept * one.seconds) for one in turn.had_it],
        slices=turn.slices.with_columns(pl.col("seconds") * kept),
    )
