"""What a run's I/O cost it: by byte, by call, and by the size of calls where its sizes tell.

Frames in (`work.Work.rows`), dataclasses out. All costs are the job's: seconds of its runtime for a byte or a call of
any of its processes.
"""

import math
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from slicewise.constants import LEAST_ERROR, LIKE_SIZES
from slicewise.statistics import block_error, two_prices

# Calls are of one size class where their sizes are within this factor, which is a power of two.
CLASS_BITS = 2
# A size class says what its calls cost from this fraction of the seconds of all.
LEAST_OF_SECONDS = 0.05
# A cost a call and a cost a byte are told apart where sizes differ by this factor, ...
LEAST_APART = 8.0
# ... and a line through both misses no size class by more than this fraction.
MOST_OFF = 0.25
# Sizes beyond those seen by more than this factor are not priced by that line.
MOST_BEYOND = 8.0


@dataclass(frozen=True)
class KindPrice:
    """What one kind of calls on one file system cost. Seconds: in calls, of those that decided the runtime.

    per_byte: with per_call, what is left of the cost after the calls'; without, all of it. per_call: None where sizes
    of calls were too much alike to tell. sizes: the least and the largest mean size of calls that the costs are from.
    by_class: seconds a byte of each size class; empty where there are no bytes. error: relative, 95 %.
    """

    per_byte: float
    per_call: float | None
    sizes: tuple[float, float]
    by_class: dict[int, float] = field(default_factory=dict)
    error: float = LEAST_ERROR

    def knows(self, size: float) -> bool:
        """Whether calls of that mean size are near enough to those that were seen."""
        reach = LIKE_SIZES if self.per_call is None else MOST_BEYOND
        return self.sizes[0] / reach <= size <= self.sizes[1] * reach


def price_of_bytes(rows: pl.DataFrame, seconds: float) -> KindPrice | None:
    """The price of reads or writes on one file system; None where no bytes moved, or no time passed.

    rows: those of one place and kind. seconds: what they took of the runtime, which is less than their sum.
    """
    moved, taken = float(rows["bytes"].sum()), float(rows["seconds"].sum())
    if not (moved and taken and seconds):
        return None
    scale = seconds / taken
    classes = with_size_class(rows).group_by("size_class").agg(pl.col("seconds", "bytes", "calls").sum())
    telling = classes.filter(
        (pl.col("seconds") >= LEAST_OF_SECONDS * taken) & (pl.col("bytes") > 0) & (pl.col("calls") > 0)
    ).sort("size_class")
    mean_sizes = (telling["bytes"] / telling["calls"]).to_list() or [moved / max(1, int(rows["calls"].sum()))]
    sizes = (min(mean_sizes), max(mean_sizes))
    by_class = {
        number: scale * spent / volume
        for number, spent, volume in telling.select("size_class", "seconds", "bytes").iter_rows()
    }
    line = _line(telling) if sizes[1] >= LEAST_APART * sizes[0] else None
    if line is None:
        # A class that says too little costs what the mean byte does.
        cost = pl.col("size_class").replace_strict(by_class, default=seconds / moved, return_dtype=pl.Float64)
        return KindPrice(seconds / moved, None, sizes, by_class, _error(with_size_class(rows), pl.col("bytes") * cost))
    per_call, per_byte = line
    error = _error(rows, pl.col("calls") * per_call + pl.col("bytes") * per_byte)
    # So that what the run itself did costs what it took.
    scale = seconds / (per_call * float(rows["calls"].sum()) + per_byte * moved)
    return KindPrice(scale * per_byte, scale * per_call, sizes, by_class, error)


def price_of_calls(rows: pl.DataFrame, seconds: float) -> KindPrice | None:
    """The price of metadata calls, which move nothing."""
    calls = float(rows["calls"].sum())
    if not (calls and seconds):
        return None
    return KindPrice(0.0, seconds / calls, (0.0, 0.0), error=_error(rows, pl.col("calls")))


def with_size_class(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with size_class, by the mean size of a row's calls."""
    size = (pl.col("bytes") / pl.col("calls").clip(1)).clip(1)
    return rows.with_columns(size_class=(size.log(2) / CLASS_BITS).floor().cast(pl.Int64))


def _line(classes: pl.DataFrame) -> tuple[float, float] | None:
    """Seconds a call and a byte, neither below 0, by least squares of relative errors over the sums of size classes;
    None where a line misses one of them.
    """
    amounts = classes.select("calls", "bytes").to_numpy().astype(np.float64)
    seconds = classes["seconds"].to_numpy()
    relative = amounts / seconds[:, None]
    found = two_prices(relative[:, 0], relative[:, 1], np.ones(len(seconds)))
    return None if np.abs(relative @ found - 1).max() > MOST_OFF else found


def _error(rows: pl.DataFrame, expected: pl.Expr) -> float:
    """The relative error of costs: of what slices spent over what was to be expected of them (in any unit)."""
    of_slices = rows.group_by("slice").agg(pl.col("seconds").sum(), expected=expected.sum()).sort("slice")
    error = block_error(of_slices["seconds"].to_numpy(), of_slices["expected"].to_numpy().astype(np.float64))
    return LEAST_ERROR + (error if math.isfinite(error) else 0.0)
