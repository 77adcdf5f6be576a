"""Calls with a begin and an end, cut into slices: what every import comes down to. A call that spans slices has its
time cut at their boundaries and its bytes spread by time; it counts as a call where it ends. Calls known in sum only,
as those of a heat map's bin, are spread over the slices of their time, each of which says over how many.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise.kinds import KINDS

Numbers = npt.NDArray[np.int64]

# process, mount, file: places in the job's own lists; file -1: in none. busy_ns: time in calls. is_in_sum: several
# calls, of which only their time as a whole is known.
SCHEMA = pl.Schema(
    dict.fromkeys(("process", "mount", "file"), pl.Int64)
    | {"layer": pl.String, "kind": pl.String}
    | dict.fromkeys(("begin_ns", "end_ns", "bytes", "calls", "busy_ns"), pl.Int64)
    | {"is_in_sum": pl.Boolean}
)
MOVING = ("read", "write")
KEYS = ("process", "mount", "layer", "slice")
# A moment has a slice, too.
SHORTEST_NS = 1


def events(rows: Sequence[tuple[object, ...]] | Mapping[str, object]) -> pl.DataFrame:
    if isinstance(rows, Mapping):
        return pl.DataFrame(rows).select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@dataclass(frozen=True)
class CutTimes:
    """Times cut at the boundaries of slices. count: into how many parts each; then for each part its row, its slice,
    and what share of the time has passed at its end."""

    count: Numbers
    row: Numbers
    slice: Numbers
    share: npt.NDArray[np.float64]
    is_first: npt.NDArray[np.bool_]
    is_last: npt.NDArray[np.bool_]

    def shared(self, totals: pl.Series) -> Numbers:
        """A total of each row, spread over its parts by time."""
        return _shared_out(totals.to_numpy()[self.row], self.share, self.is_first, self.is_last)


def in_parts(times: pl.DataFrame, slice_ns: int) -> CutTimes:
    """Times from begin_ns to end_ns, cut."""
    begin, end = (times[name].to_numpy() for name in ("begin_ns", "end_ns"))
    first = begin // slice_ns
    count = np.maximum(end - 1, begin) // slice_ns - first + 1
    row = np.repeat(np.arange(times.height), count)
    part = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    number = first[row] + part
    until = np.minimum(end[row], (number + 1) * slice_ns) - begin[row]
    share = until / np.maximum(end - begin, SHORTEST_NS)[row]
    return CutTimes(count, row, number, share, part == 0, part == count[row] - 1)


def slices_of(found: pl.DataFrame, slice_ns: int) -> pl.DataFrame:
    """Events as rows of a profile's slices, by KEYS, with spread. All sums are those of the events."""
    parts = in_parts(found, slice_ns)
    row, in_sum = parts.row, found["is_in_sum"].to_numpy()
    calls = found["calls"].to_numpy()
    cut = pl.DataFrame(
        {
            "process": found["process"].to_numpy()[row],
            "mount": found["mount"].to_numpy()[row],
            "layer": found["layer"].gather(row),
            "kind": found["kind"].gather(row),
            "slice": parts.slice,
            "bytes": parts.shared(found["bytes"]),
            "ops": np.where(in_sum[row], parts.shared(found["calls"]), np.where(parts.is_last, calls[row], 0)),
            "ns": parts.shared(found["busy_ns"]),
            "spread": np.where(in_sum & (found["bytes"].to_numpy() > 0), parts.count, 1)[row],
        }
    )
    return (
        cut.lazy()
        .group_by(KEYS)
        .agg(
            *(pl.col(what).filter(pl.col("kind") == kind).sum().alias(f"{kind}_{what}")
              for kind in KINDS for what in (("bytes", "ops", "ns") if kind in MOVING else ("ops", "ns"))),
            pl.col("spread").max(),
        )
        .sort(KEYS)
        .collect()
    )  # fmt: skip


def _shared_out(totals: Numbers, share: npt.NDArray[np.float64], is_first: npt.NDArray[np.bool_],
                is_last: npt.NDArray[np.bool_]) -> Numbers:  # fmt: skip
    """Whole numbers that add up to each total. share: what part of it has come until the end of each, rising."""
    until = np.where(is_last, totals, np.floor(totals * share).astype(np.int64))
    before = np.concatenate([np.zeros(1, np.int64), until[:-1]])
    parts: Numbers = until - np.where(is_first, 0, before)
    return parts


def by_weight(total: int, weights: Numbers) -> Numbers:
    """Whole numbers that add up to a total, in proportion to weights, which are not all 0."""
    place = np.arange(len(weights))
    share = np.cumsum(weights) / weights.sum()
    return _shared_out(np.full(len(weights), total), share, place == 0, place == len(weights) - 1)


def files_of(found: pl.DataFrame) -> pl.DataFrame:
    """What each process did with each file: process, file, mount, and ops, bytes and ns of reads and writes."""
    figures = (("bytes", "bytes"), ("calls", "ops"), ("busy_ns", "ns"))
    return (
        found.lazy()
        .filter(pl.col("file") >= 0)
        .group_by("process", "file")
        .agg(
            pl.col("mount").first(),
            *(pl.col(column).filter(pl.col("kind") == kind).sum().alias(f"{kind}_{name}")
              for kind in MOVING for column, name in figures),
        )
        .sort("process", "file")
        .collect()
    )  # fmt: skip
