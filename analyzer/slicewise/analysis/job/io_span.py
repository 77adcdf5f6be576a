"""How long a job's I/O took: the runtime that models of sharing predict.

Slices say when a job moved its first and last bytes only to a slice's length; the time that calls took in those two
slices says it better.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from slicewise.estimate import Estimate
from slicewise.scalars import real, whole

# Keeps a rate finite where no time in calls was counted at all.
SHORTEST_NS = 1

HOW = (
    "from the first to the last byte, placed within their slices by the time in calls there; "
    "bounded by those slices and that time"
)


@dataclass(frozen=True)
class IoSpan:
    """The time from the first to the last byte that a job moved, in one direction or both; of writes, to the last sync.

    start_ns, end_ns: CLOCK_REALTIME, estimated below a slice's length. seconds: their distance, with what it may lie
    between. slice_seconds: the length of all slices from the first to the last with bytes. busy_share: the fraction of
    them with bytes.
    """

    start_ns: int
    end_ns: int
    seconds: Estimate
    slice_seconds: float
    busy_share: float


def io_span(activity: pl.DataFrame, processes: pl.DataFrame, slice_ns: int) -> IoSpan | None:
    """The I/O time span of one job; None where it moved nothing.

    activity: the job's (`digest.activity`), with io_ns and threads a process and slice of slice_ns. processes: process,
    start_ns, end_ns.

    Let b be a process's time in calls per thread in its first slice, and d the mean share of its inner slices that it
    spent in calls (1 without inner slices). It began b / d before the end of that slice: as early as the slice and the
    process began, as late as b before the slice's end. The last slice likewise, from its start. The job's span
    is from the earliest beginning to the latest end.
    """
    return span_of([activity], processes, slice_ns)


def span_of(activity: Iterable[pl.DataFrame], processes: pl.DataFrame, slice_ns: int) -> IoSpan | None:
    """The same of an activity in parts, each of some processes."""
    parts = [(process_bounds(part, processes, slice_ns), part["slice"].unique()) for part in activity if len(part)]
    if not parts:
        return None
    bounds = pl.concat(bounds for bounds, _ in parts)
    start, start_low, start_high = (whole(bounds[name].min()) for name in ("start", "start_low", "start_high"))
    end, end_low, end_high = (whole(bounds[name].max()) for name in ("end", "end_low", "end_high"))
    least = max(end_low - start_high, int(real(bounds["least"].max())), SHORTEST_NS)
    slices = pl.concat(slices for _, slices in parts).unique()
    spanned = whole(slices.max()) - whole(slices.min()) + 1
    seconds = Estimate((end - start) / 1e9, min(least, end - start) / 1e9, (end_high - start_low) / 1e9, HOW)
    return IoSpan(start, end, seconds, spanned * slice_ns / 1e9, len(slices) / spanned)


def process_bounds(activity: pl.DataFrame, processes: pl.DataFrame, slice_ns: int) -> pl.DataFrame:
    """A row a process: start and end with their low and high bounds, and `least`, the shortest that its I/O can have
    taken; all in ns.
    """
    tau = pl.lit(slice_ns)
    inner = pl.col("slice").is_between(pl.col("first"), pl.col("last"), closed="none")
    summed = (
        activity.with_columns(first=pl.col("slice").min().over("process"), last=pl.col("slice").max().over("process"))
        .with_columns(busy=pl.min_horizontal(pl.col("io_ns") // pl.col("threads").max().over("process"), tau))
        .group_by("process", "first", "last")
        .agg(
            busy_first=pl.col("busy").filter(pl.col("slice") == pl.col("first")).sum(),
            busy_last=pl.col("busy").filter(pl.col("slice") == pl.col("last")).sum(),
            duty=(pl.col("busy").filter(inner).mean() / slice_ns).fill_null(1.0),
        )
        .join(processes.select("process", pl.col("start_ns", "end_ns").cast(pl.Int64)), on="process", how="left")
    )
    # A process's start and end count only where they lie in the slice: clocks step, and one that still runs has no end.
    opens, closes = pl.col("first") * tau, (pl.col("last") + 1) * tau
    began = pl.when(pl.col("start_ns").is_between(opens, opens + tau)).then("start_ns").otherwise(opens)
    ended = pl.when(pl.col("end_ns").is_between(closes - tau, closes)).then("end_ns").otherwise(closes)
    bounds = summed.with_columns(
        start_low=pl.min_horizontal(began, opens + tau - pl.col("busy_first")),
        start_high=opens + tau - pl.col("busy_first"),
        end_low=closes - tau + pl.col("busy_last"),
        end_high=pl.max_horizontal(ended, closes - tau + pl.col("busy_last")),
    )
    several = pl.col("last") > pl.col("first")
    placed = bounds.with_columns(
        start=(opens + tau - _stretched("busy_first", slice_ns)).clip("start_low", "start_high"),
        end=(closes - tau + _stretched("busy_last", slice_ns)).clip("end_low", "end_high"),
        least=pl.when(several).then(pl.col("end_low") - pl.col("start_high")).otherwise(pl.col("busy_first")),
    )
    # Within a single slice nothing says where the calls were: their time is taken as one stretch in the middle, or,
    # uncounted, as all of it.
    window = pl.col("end_high") - pl.col("start_low")
    stretch = pl.when(pl.col("busy_first") > 0).then("busy_first").otherwise(window)
    middle = pl.col("start_low") + (window - stretch) // 2
    return placed.with_columns(
        start=pl.when(several).then("start").otherwise(middle),
        end=pl.when(several).then("end").otherwise(middle + stretch),
    )


def _stretched(busy: str, slice_ns: int) -> pl.Expr:
    """The stretch of a slice that `busy` ns of calls take at the process's duty; the whole slice where no time was
    counted.
    """
    stretch = pl.when(pl.col(busy) > 0).then(pl.col(busy) / pl.col("duty")).otherwise(float(slice_ns))
    return pl.min_horizontal(stretch, pl.lit(float(slice_ns))).cast(pl.Int64)
