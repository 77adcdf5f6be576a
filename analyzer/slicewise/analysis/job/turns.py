"""How long a job waited for its turn at I/O, where jobs take turns (docs/coordination.md).

Digest in, dataclass out. The time that a process waits is in none of its calls.
"""

from dataclasses import dataclass

import polars as pl

from slicewise.digest.digest import Digest
from slicewise.estimate import Estimate

WITHIN = "waits by slice, as far as they lie between its first and its last byte"
SCHEMA = {"slice": pl.Int64, "seconds": pl.Float64}


@dataclass(frozen=True)
class TurnWaits:
    """seconds, waits: how long and how often the process waited that waited longest; label: which one that is.

    slices: slice, seconds: when that process waited; sorted, and empty in profiles of versions that did not count it
    by slice. takes_part: whether any process of the job ever asked for its turn.
    """

    seconds: float
    waits: int
    label: str
    slices: pl.DataFrame
    takes_part: bool

    def within(self, start_ns: int, end_ns: int, slice_ns: int) -> Estimate:
        """Seconds that it waited between its first and its last byte.

        In the slice of the first byte a wait that began in an earlier slice was before that byte, and one that went on
        into the next slice was after it; else nobody knows. In the slice of the last byte it was before that, for who
        waits does its I/O afterwards; but not if it went on.
        """
        first, last = start_ns // slice_ns, -(-end_ns // slice_ns) - 1
        waited = dict(self.slices.iter_rows())
        value = low = high = 0.0
        for number in range(first, last + 1):
            seconds, begin_ns = waited.get(number, 0.0), number * slice_ns
            room = (min(end_ns, begin_ns + slice_ns) - max(start_ns, begin_ns)) / 1e9
            least, most = max(seconds + room - slice_ns / 1e9, 0.0), min(seconds, room)
            low, high = low + least, high + most
            came, went_on = number - 1 in waited, number + 1 in waited
            if number == first:
                value += least if came and not went_on else most if went_on and not came else (least + most) / 2
            else:
                value += least if number == last and went_on else most
        return Estimate(value, low, high, WITHIN)

    def on_grid(self, slice_ns: int, grid_ns: int) -> pl.DataFrame:
        """slice, seconds: the same on a grid of longer slices."""
        numbers = pl.col("slice") // (grid_ns // slice_ns)
        return self.slices.group_by(slice=numbers).agg(pl.col("seconds").sum()).sort("slice")


NONE = TurnWaits(0.0, 0, "", pl.DataFrame(schema=SCHEMA), False)


def turns(digest: Digest) -> TurnWaits:
    own = digest.processes.filter("is_of_job")
    if not (own["waits"].sum() or own["waited_ns"].sum() or digest.waits.height):
        return NONE
    # A process's own sum is written at its end; until then its slices know more.
    in_slices = digest.waits.group_by("process").agg(by_slice=pl.col("waited_ns").sum(), often=pl.col("waits").sum())
    waited = (
        own.join(in_slices, on="process", how="left", maintain_order="left")
        .with_columns(
            waited_ns=pl.max_horizontal("waited_ns", pl.col("by_slice").fill_null(0)),
            waits=pl.max_horizontal("waits", pl.col("often").fill_null(0)),
        )
        .sort("waited_ns", "rank", "process", descending=[True, False, False])
    )
    longest = waited.row(0, named=True)
    slices = digest.waits.filter(pl.col("process") == longest["process"], pl.col("waited_ns") > 0)
    return TurnWaits(
        longest["waited_ns"] / 1e9,
        longest["waits"],
        longest["label"],
        slices.select("slice", seconds=pl.col("waited_ns") / 1e9).sort("slice"),
        True,
    )
