"""When a job did its I/O: phases, the period at which they come back, and whom the job waited for.

Frames in, frames out; all of it from slices alone.
"""

from dataclasses import dataclass

import polars as pl

from slicewise.analysis.job.io_span import process_bounds
from slicewise.analysis.job.io_time import of_own_processes
from slicewise.analysis.job.period import Period, find_period, runs_above
from slicewise.constants import LEAST_OF_JOB, LEAST_OF_RATE, MAINLY
from slicewise.digest.activity import DIRECTIONS
from slicewise.digest.digest import Digest
from slicewise.digest.processes import in_processes
from slicewise.digest.slices import some_processes, with_mapped
from slicewise.kinds import KINDS
from slicewise.scalars import real, whole

# More than processes that are looked at at once.
ORDERS = 1 << 32


@dataclass(frozen=True)
class TimeInIo:
    """The share of its runtime that a process spent in I/O calls and in waits for mapped files: of the process with the
    largest, and the median.

    A process with several threads in I/O counts with their mean. label: whose the largest is; None: no runtime known.
    mapped_seconds: the waits of all processes for mapped files. threads: of a process in a slice, at most.
    """

    label: str
    slowest: float | None
    median: float | None
    mapped_seconds: float = 0.0
    threads: int = 1


@dataclass(frozen=True)
class Phases:
    """phases: first_slice, end_slice (half open), start_ns, end_ns, seconds, low_seconds, high_seconds, read_bytes,
    write_bytes, processes, rate and its bounds low_rate, high_rate (bytes/s); in order of time.

    start_ns, end_ns are placed within their slices by the time in calls there, see io_span.py. between_bytes: what
    moved outside of all phases. periods: of each direction that has one.
    """

    phases: pl.DataFrame
    between_bytes: int
    periods: list[Period]
    time_in_io: TimeInIo


def phases(digest: Digest) -> Phases:
    """Everything that a job's own slices say about when it did its I/O, by calls and by mapped files."""
    own = of_own_processes(digest, with_mapped(digest.process_slices, digest.fetched))
    moved = moved_bytes(own)
    found = phase_slices(moved)
    frame = _phase_frame(digest, own, found)
    inside = whole(frame["read_bytes"].sum()) + whole(frame["write_bytes"].sum())
    total = whole(own["read_bytes"].sum()) + whole(own["write_bytes"].sum())
    periods = [
        period
        for direction in DIRECTIONS
        if (period := find_period(moved[f"{direction}_bytes"].to_numpy(), digest.slice_ns / 1e9, direction))
    ]
    return Phases(frame, total - inside, periods, time_in_io(digest))


def phases_on(digest: Digest, storage: int) -> pl.DataFrame:
    """The phases of a job's I/O on one storage, as `Phases.phases` has them, by what the storage served."""
    # In one piece: polars cannot tell runs of a column in several.
    own = served_on(digest, storage).rechunk()
    return _phase_frame(digest, own, phase_slices(moved_bytes(own)))


def served_on(digest: Digest, storage: int) -> pl.DataFrame:
    """Rows of `served_slices` of the job's own processes on one storage."""
    from slicewise.digest.counters import served_slices  # it brings numpy along

    return of_own_processes(digest, served_slices(digest).filter(pl.col("storage") == storage))


def moved_bytes(own: pl.DataFrame) -> pl.DataFrame:
    """slice, read_bytes, write_bytes, bytes (f64): a row for every slice from the first to the last with any bytes."""
    summed = (
        own.lazy()
        .group_by("slice")
        .agg(pl.col("read_bytes", "write_bytes").sum().cast(pl.Float64))
        .collect()
        .with_columns(bytes=pl.col("read_bytes") + pl.col("write_bytes"))
        .filter(pl.col("bytes") > 0)
        .sort("slice")
    )
    if summed.is_empty():
        return summed
    every = pl.DataFrame({"slice": range(summed["slice"][0], summed["slice"][-1] + 1)}, schema={"slice": pl.Int64})
    filled = every.join(summed, on="slice", how="left", maintain_order="left")
    return filled.with_columns(pl.col("read_bytes", "write_bytes", "bytes").fill_null(0.0))


def phase_slices(moved: pl.DataFrame) -> list[range]:
    """The slices of each phase, from the frame of `moved_bytes`."""
    if moved.is_empty():
        return []
    first = moved["slice"][0]
    return [range(first + run.start, first + run.stop) for run in runs_above(moved["bytes"].to_numpy(), LEAST_OF_RATE)]


def _phase_frame(digest: Digest, own: pl.DataFrame, found: list[range]) -> pl.DataFrame:
    """The frame `Phases.phases` for phases of these slices."""
    bounds = pl.DataFrame(
        {"first_slice": [run.start for run in found], "end_slice": [run.stop for run in found]},
        schema={"first_slice": pl.Int64, "end_slice": pl.Int64},
    ).with_row_index("phase")
    in_phases = pl.DataFrame(
        [(slice_, number) for number, run in enumerate(found) for slice_ in run],
        schema={"slice": pl.Int64, "phase": pl.UInt32},
        orient="row",
    )
    parts = [_of_phases(part, in_phases, digest) for part in some_processes(own)]
    each = pl.concat(parts) if parts else _of_phases(own, in_phases, digest)
    spans = each.group_by("phase").agg(
        start_ns=pl.col("start").min(),
        end_ns=pl.col("end").max(),
        shortest=pl.max_horizontal(pl.col("end_low").max() - pl.col("start_high").min(), pl.col("least").max(), 1),
        longest=pl.col("end_high").max() - pl.col("start_low").min(),
    )
    sums = each.group_by("phase").agg(
        pl.col("read_bytes", "write_bytes").sum(), processes=in_processes(digest.processes).n_unique()
    )
    seconds = (pl.col("end_ns") - pl.col("start_ns")) / 1e9
    return (
        bounds.join(spans, on="phase", how="left", maintain_order="left")
        .join(sums, on="phase", how="left", maintain_order="left")
        .with_columns(
            seconds=seconds,
            low_seconds=pl.min_horizontal(pl.col("shortest") / 1e9, seconds),
            high_seconds=pl.col("longest") / 1e9,
            bytes=pl.col("read_bytes") + pl.col("write_bytes"),
        )
        .with_columns(
            rate=pl.col("bytes") / pl.col("seconds"),
            low_rate=pl.col("bytes") / pl.col("high_seconds"),
            high_rate=pl.col("bytes") / pl.col("low_seconds"),
        )
        .drop("phase", "shortest", "longest", "bytes")
    )


def _of_phases(own: pl.DataFrame, in_phases: pl.DataFrame, digest: Digest) -> pl.DataFrame:
    """A row a phase and process that moved bytes in it: the bytes, and the bounds of `process_bounds`.

    own: rows of whole processes, sorted by them. in_phases: slice, phase.
    """
    io_ns = sum(pl.col(f"{way}_{time}") for way in DIRECTIONS for time in ("ns", "request_ns"))
    rows = (
        own.lazy()
        .filter(_has_bytes())
        .select("slice", "read_bytes", "write_bytes", "threads", order=pl.col("process").rle_id(), io_ns=io_ns)
        .join(in_phases.lazy(), on="slice")
        # A process in two phases is taken for two, so that every phase's ends are placed in one go.
        .with_columns(each=pl.col("phase").cast(pl.UInt64) * ORDERS + pl.col("order").cast(pl.UInt64))
        .group_by("each", "slice")
        .agg(pl.col("read_bytes", "write_bytes", "io_ns").sum(), pl.col("threads").max())
        .collect()
    )
    sums = (
        rows.group_by("each")
        .agg(pl.col("read_bytes", "write_bytes").sum())
        .with_columns(phase=(pl.col("each") // ORDERS).cast(pl.UInt32), order=(pl.col("each") % ORDERS).cast(pl.UInt32))
    )
    who = own.lazy().filter(_has_bytes()).select(pl.col("process").rle().struct.field("value").alias("process"))
    times = who.collect().with_row_index("order").join(digest.processes, on="process")
    known = sums.join(times, on="order")
    bounds = process_bounds(
        rows.select("slice", "io_ns", "threads", process="each"),
        known.select("start_ns", "end_ns", process="each"),
        digest.slice_ns,
    )
    return known.select("each", "phase", "process", "read_bytes", "write_bytes").join(
        bounds, left_on="each", right_on="process"
    )


def _has_bytes() -> pl.Expr:
    return pl.col("read_bytes") + pl.col("write_bytes") > 0


def time_in_io(digest: Digest) -> TimeInIo:
    """The process that spent the largest share of its runtime in I/O, that share, and the median process's. Where one
    process did it all, the runtime is the job's: programs that did none may have run before and after.
    """
    did = with_mapped(digest.process_slices, digest.fetched)
    parts = [_time_in_calls(part, digest.slice_ns) for part in some_processes(did)]
    in_calls = pl.concat(parts) if parts else _time_in_calls(did, digest.slice_ns)
    whole_ns = pl.lit(digest.about["end_ns"] - digest.about["start_ns"])
    # A process that replaced its program spent its runtime in all of its programs.
    shares = (
        digest.processes.filter("is_of_job")
        .join(in_calls, on="process", how="left")
        .group_by(in_processes(digest.processes), maintain_order=True)
        .agg(
            pl.col("rank", "label").first(),
            pl.col("matters").any(),
            pl.col("busy_ns").sum(),
            pl.col("start_ns").min(),
            pl.col("end_ns").max(),
        )
        .filter("matters", pl.col("end_ns") > pl.col("start_ns"))
        .with_columns(runtime_ns=pl.when(pl.len() == 1).then(whole_ns).otherwise(pl.col("end_ns") - pl.col("start_ns")))
        .with_columns(share=(pl.col("busy_ns") / pl.col("runtime_ns")).clip(0, 1))
        .sort("share", "rank", "process", descending=[True, False, False])
    )
    # What is said of the job would be misleading of processes that lived for next to none of its time.
    lived = shares.filter(pl.col("end_ns") - pl.col("start_ns") >= LEAST_OF_JOB * whole_ns)
    if lived.height < shares.height and real(lived["busy_ns"].sum()) < MAINLY * real(shares["busy_ns"].sum()):
        return TimeInIo("", None, None)
    shares = lived
    if shares.is_empty():
        return TimeInIo("", None, None)
    row = shares.row(0, named=True)
    return TimeInIo(
        row["label"],
        row["share"],
        real(shares["share"].median()),
        real(digest.fetched["waited_ns"].sum()) / 1e9,
        whole(did["threads"].max()),
    )


def _time_in_calls(rows: pl.DataFrame, slice_ns: int) -> pl.DataFrame:
    """process, busy_ns: the time in calls of a process's mean thread, at most a slice's length in each slice."""
    return (
        rows.lazy()
        .group_by("process", "slice")
        .agg(ns=pl.sum_horizontal(pl.col(f"{kind}_ns").sum() for kind in KINDS), threads=pl.col("threads").max())
        .group_by("process")
        .agg(busy_ns=pl.min_horizontal(pl.col("ns") / pl.col("threads"), pl.lit(float(slice_ns))).sum())
        .collect()
    )
