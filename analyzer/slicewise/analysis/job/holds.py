"""Whose I/O held other ranks up in MPI, in which slices and for how long. Digest in, frames out."""

from dataclasses import dataclass

import polars as pl

from slicewise.digest.digest import Digest
from slicewise.digest.slices import with_mapped
from slicewise.kinds import KINDS

# Classes of calls of MPI that are neither MPI-IO nor its begin and end.
COMMUNICATING = ("message", "wait", "test", "collective", "barrier", "one_sided", "group")
# Those that end for all of a group at once; those by which messages go, which a test only asks about.
TOGETHER = ("collective", "barrier")
MOVING_MESSAGES = ("message", "wait")
MESSAGES = (*MOVING_MESSAGES, "test")
# The least that a call takes, and a byte, is known from a rank's slice with so many of them.
FEWEST_CALLS, FEWEST_BYTES = 50, 1 << 20
IO_KINDS = (*KINDS, "mpi_io")
LEAST_SHARE_OF_HOLD = 0.1  # of the time that the longest held rank was held: who was held less is not counted
HELD = {
    "slice": pl.Int64, "process": pl.UInt64, "kind": pl.String, "held": pl.UInt32, "seconds": pl.Float64,
}  # fmt: skip


def ns_of(classes: tuple[str, ...]) -> pl.Expr:
    """Time in calls of some classes, of rows of `communication` that are grouped. Others count as 0: to filter while
    rows are grouped takes several times as long.
    """
    return _of_classes("ns", classes).sum()


def _of_classes(name: str, classes: tuple[str, ...]) -> pl.Expr:
    return pl.when(pl.col("class").is_in(classes)).then(name).otherwise(0)


def io_seconds(digest: Digest) -> pl.DataFrame:
    """process, slice, and seconds of each of KINDS: in calls on files, of reads also in waits for mapped files."""
    did = with_mapped(digest.process_slices, digest.fetched)
    return did.group_by("process", "slice").agg(**{kind: pl.col(f"{kind}_ns").sum() / 1e9 for kind in KINDS})


def of_worlds(frame: pl.DataFrame, who: pl.DataFrame) -> list[pl.DataFrame]:
    """The rows of each world's ranks: ranks wait for those of their own. who: process, world (`with_world`); where that
    is null, rows are of nobody here. At least one frame.
    """
    ranks = who.filter(pl.col("world").is_not_null()).select("process", "world")
    rows = frame.join(ranks, on="process", maintain_order="left")
    return [part.drop("world") for part in rows.partition_by("world", maintain_order=True)] or [frame.clear()]


def waiting_by_slice(communication: pl.DataFrame, who: pl.DataFrame) -> pl.DataFrame:
    """process, slice, waiting: seconds in MPI in which a rank waited for others of its world.

    Of collectives and barriers it is the time beyond that of the rank with least of it, slice by slice. Of messages it
    is the same, less what the messages themselves may have taken: calls at the least mean time of a call that any rank
    had in any slice, or bytes at the highest rate, whichever is more. Only ranks that ever are in calls of such a group
    count: a group of which a rank is no member holds nobody up.
    """
    rows = pl.concat(
        [_beyond_least(part, classes) for part in of_worlds(communication, who) for classes in (TOGETHER, MESSAGES)]
    )
    # In order, so that sums over it are the same to the last bit, however many threads group the rows.
    return rows.group_by("process", "slice").agg(waiting=pl.col("beyond").sum() / 1e9).sort("process", "slice")


def _beyond_least(communication: pl.DataFrame, classes: tuple[str, ...]) -> pl.DataFrame:
    """process, slice, beyond (ns): time in calls of some classes beyond what needs no waiting."""
    of_classes = communication.filter(pl.col("class").is_in(classes))
    by_slice = of_classes.group_by("process", "slice").agg(
        pl.col("ns", "bytes").sum(),
        calls=_of_classes("calls", MOVING_MESSAGES).sum(),
        calls_ns=_of_classes("ns", MOVING_MESSAGES).sum(),
    )
    grid = of_classes.select("process").unique().join(of_classes.select("slice").unique(), how="cross")
    rows = grid.join(by_slice, on=["process", "slice"], how="left").with_columns(
        pl.col("ns", "bytes", "calls").fill_null(0)
    )
    least = pl.max_horizontal(pl.col("ns").min().over("slice"), *_taken_by_messages(by_slice))
    return rows.select("process", "slice", beyond=(pl.col("ns") - least).clip(0).cast(pl.Float64))


def _taken_by_messages(by_slice: pl.DataFrame) -> list[pl.Expr]:
    """What a rank's messages in a slice take without any waiting, in ns, by their number and by their bytes."""
    many = by_slice.filter(pl.col("calls") >= FEWEST_CALLS)
    large = by_slice.filter(pl.col("bytes") >= FEWEST_BYTES, pl.col("ns") > 0)
    taken = []
    if many.height:
        taken.append(pl.col("calls") * many.select((pl.col("calls_ns") / pl.col("calls")).min()).item())
    if large.height:
        taken.append(pl.col("bytes") * large.select((pl.col("ns") / pl.col("bytes")).min()).item())
    return taken


@dataclass(frozen=True)
class Hold:
    """One process's I/O held others up: label, kind (read, write, meta, sync, mpi_io: where most of it was), held (how
    many others), seconds (the mean over them), waited (the sum over them), slices (in how many of these).
    """

    process: int
    label: str
    kind: str
    held: int
    seconds: float
    waited: float
    slices: int


def held_by_slice(digest: Digest, who: pl.DataFrame, communication: pl.DataFrame) -> pl.DataFrame:
    """slice, process, kind, held (how many others), seconds (the mean over them), in the order of slices.

    In each slice the rank with least time in MPI is the one that the others wait for. As far as it was in I/O for
    longer than they were, its I/O held them up.
    """
    if who.height < 2:
        return pl.DataFrame(schema=HELD)
    mpi = communication.group_by("process", "slice").agg(mpi=ns_of(COMMUNICATING) / 1e9, mpi_io=ns_of(("file",)) / 1e9)
    io = io_seconds(digest)
    grid = who.select("process").join(mpi.select("slice").unique(), how="cross")
    rows = (
        grid.join(mpi, on=["process", "slice"], how="left")
        .join(io, on=["process", "slice"], how="left")
        .with_columns(pl.col("mpi", *IO_KINDS).fill_null(0.0))
        .with_columns(io=pl.sum_horizontal(*IO_KINDS))
    )
    critical = rows.sort("slice", "mpi", "process").unique("slice", keep="first", maintain_order=True)
    return (
        rows.join(critical, on="slice", suffix="_critical")
        .filter(pl.col("process") != pl.col("process_critical"))
        .with_columns(longer=pl.col("mpi") - pl.col("mpi_critical"))
        .filter(pl.col("longer") > LEAST_SHARE_OF_HOLD * pl.col("longer").max().over("slice"))
        .group_by("slice", "process_critical")
        .agg(
            held=pl.len(),
            waited=pl.col("longer").mean(),
            more=(pl.col("io_critical") - pl.col("io")).mean(),
            kind=pl.concat_list((pl.col(f"{kind}_critical") - pl.col(kind)).mean() for kind in IO_KINDS).list.arg_max(),
        )
        .with_columns(seconds=pl.min_horizontal("waited", "more"))
        .filter(pl.col("seconds") > 0)
        .sort("slice")
        .select(
            "slice",
            pl.col("process_critical").alias("process"),
            pl.col("kind").replace_strict(dict(enumerate(IO_KINDS)), return_dtype=pl.String),
            pl.col("held").cast(pl.UInt32),
            "seconds",
        )
    )


def holds_of(held: pl.DataFrame, who: pl.DataFrame) -> list[Hold]:
    """The holds of all slices by process and kind; who held others up longest comes first."""
    summed = held.group_by("process", "kind").agg(
        pl.col("held").max(),
        pl.col("seconds").sum(),
        waited=(pl.col("seconds") * pl.col("held")).sum(),
        slices=pl.len(),
    )
    labels = dict(who.select("process", "label").iter_rows())
    holds = [
        Hold(process, labels[process], kind, count, seconds, waited, slices)
        for process, kind, count, seconds, waited, slices in summed.iter_rows()
    ]
    return sorted(holds, key=lambda hold: (-hold.seconds, hold.label))
