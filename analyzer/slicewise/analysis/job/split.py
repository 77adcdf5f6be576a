"""Where each process's time went: computing, communicating by MPI, I/O by kind; and whom a slow process held up.

Digest in, dataclass out. Times are a process's own clock in calls; what is in no call is computing, or idle.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from slicewise.digest.digest import Digest
from slicewise.kinds import KINDS
from slicewise.scalars import real

# Classes of calls of MPI that are neither MPI-IO nor its begin and end; those that end for all of a group at once.
COMMUNICATING = ("message", "wait", "test", "collective", "barrier", "one_sided", "group")
TOGETHER = ("collective", "barrier")
IO_KINDS = (*KINDS, "mpi_io")
LEAST_SHARE_OF_HOLD = 0.1  # of the time that the longest held process was held: who was held less is not counted


@dataclass(frozen=True)
class Hold:
    """One process's I/O held others up: label, kind (read, write, meta, sync, mpi_io: where most of it was), held (how
    many others), seconds (the mean over them), slices (in how many of these).
    """

    process: int
    label: str
    kind: str
    held: int
    seconds: float
    slices: int


@dataclass(frozen=True)
class Efficiency:
    """POP's, with I/O as a factor of its own (docs/models.md): each from 0 to 1, and None where nothing was computed.
    parallel is the product of the other three.
    """

    load_balance: float | None
    io: float | None
    communication: float | None
    parallel: float | None


@dataclass(frozen=True)
class Split:
    """processes: process, rank, label, runtime, computing, idle, mpi, waiting (of `mpi`), begin_and_end, read, write,
    meta, sync, mpi_io, in seconds, in the order of ranks. holds: who held others up longest comes first. has_threads:
    processes whose threads were in calls at once for longer than there was time: what they computed is not known.
    """

    processes: pl.DataFrame
    holds: list[Hold]
    efficiency: Efficiency
    has_threads: int


def split(digest: Digest) -> Split | None:
    """None of a job whose profile has no calls of MPI by class, and where a catalog did not keep them."""
    if "communication" in digest.not_kept:
        return None
    communication = digest.communication
    who = digest.processes.filter("is_of_job", pl.col("rank") >= 0)  # also those that did no I/O
    communication = communication.join(who.select("process"), on="process", how="semi")
    if communication.is_empty():
        return None
    by_process = _by_process(digest, who, communication)
    return Split(
        processes=by_process,
        holds=_holds(digest, who, communication),
        efficiency=_efficiency(by_process),
        has_threads=by_process.filter(pl.col("computing") + pl.col("idle") < 0).height,
    )


def _ns_of(classes: tuple[str, ...]) -> pl.Expr:
    return pl.col("ns").filter(pl.col("class").is_in(classes)).sum()


def _waiting(communication: pl.DataFrame) -> pl.DataFrame:
    """process, waiting: time in collectives and barriers beyond that of the process with least of it, slice by slice.

    Only processes that ever are in any count: a group of which a process is no member holds nobody up.
    """
    together = communication.filter(pl.col("class").is_in(TOGETHER))
    grid = together.select("process").unique().join(together.select("slice").unique(), how="cross")
    by_slice = together.group_by("process", "slice").agg(pl.col("ns").sum())
    rows = grid.join(by_slice, on=["process", "slice"], how="left").with_columns(pl.col("ns").fill_null(0))
    beyond = rows.with_columns(beyond=pl.col("ns") - pl.col("ns").min().over("slice"))
    return beyond.group_by("process").agg(waiting=pl.col("beyond").sum() / 1e9)


def _by_process(digest: Digest, who: pl.DataFrame, communication: pl.DataFrame) -> pl.DataFrame:
    called = communication.group_by("process").agg(
        mpi=_ns_of(COMMUNICATING) / 1e9, begin_and_end=_ns_of(("life",)) / 1e9, mpi_io=_ns_of(("file",)) / 1e9
    )
    processor = digest.usage.group_by("process").agg(
        processor=(pl.col("user_ns").sum() + pl.col("system_ns").sum()) / 1e9, sampled=pl.col("sampled_ns").sum() / 1e9
    )
    in_calls = pl.sum_horizontal("mpi", "begin_and_end", "mpi_io", *KINDS)
    outside = pl.col("runtime") - in_calls
    # All processor time may have been outside of calls: what is beyond it was idle for certain.
    idle = pl.when(outside > 0).then((outside - pl.col("processor")).clip(0)).otherwise(0.0)
    return (
        who.select(
            "process",
            "rank",
            "label",
            runtime=(pl.col("end_ns") - pl.col("start_ns")) / 1e9,
            **{kind: pl.col(f"{kind}_ns") / 1e9 for kind in KINDS},
        )
        .join(called, on="process", how="left")
        .join(_waiting(communication), on="process", how="left")
        .join(processor, on="process", how="left")
        .with_columns(pl.col("mpi", "begin_and_end", "mpi_io", "waiting").fill_null(0.0))
        .with_columns(pl.col("processor").fill_null(pl.col("runtime")))
        .with_columns(idle=idle)
        .with_columns(computing=outside - pl.col("idle"))
        .select(
            "process",
            "rank",
            "label",
            "runtime",
            "computing",
            "idle",
            "mpi",
            "waiting",
            "begin_and_end",
            *KINDS,
            "mpi_io",
        )
        .sort("rank", "process")
    )


def _efficiency(processes: pl.DataFrame) -> Efficiency:
    useful = (processes["computing"] + processes["idle"]).clip(lower_bound=0)
    with_io = useful + processes.select(pl.sum_horizontal(*KINDS, "mpi_io")).to_series()
    most, most_with_io, runtime = (real(series.max() or 0) for series in (useful, with_io, processes["runtime"]))
    if most <= 0 or runtime <= 0:
        return Efficiency(None, None, None, None)
    balance, io, communication = real(useful.mean() or 0) / most, most / most_with_io, min(most_with_io / runtime, 1.0)
    return Efficiency(balance, io, communication, balance * io * communication)


def _holds(digest: Digest, who: pl.DataFrame, communication: pl.DataFrame) -> list[Hold]:
    """In each slice the process with least time in MPI is the one that the others wait for; as far as it was in I/O for
    longer than they were, its I/O held them up.
    """
    if who.height < 2:
        return []
    mpi = communication.group_by("process", "slice").agg(
        mpi=_ns_of(COMMUNICATING) / 1e9, mpi_io=_ns_of(("file",)) / 1e9
    )
    io = digest.process_slices.group_by("process", "slice").agg(
        **{kind: pl.col(f"{kind}_ns").sum() / 1e9 for kind in KINDS}
    )
    grid = who.select("process").join(mpi.select("slice").unique(), how="cross")
    rows = (
        grid.join(mpi, on=["process", "slice"], how="left")
        .join(io, on=["process", "slice"], how="left")
        .with_columns(pl.col("mpi", *IO_KINDS).fill_null(0.0))
        .with_columns(io=pl.sum_horizontal(*IO_KINDS))
    )
    critical = rows.sort("slice", "mpi", "process").unique("slice", keep="first", maintain_order=True)
    held = (
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
        .group_by("process_critical", "kind")
        .agg(pl.col("held").max(), pl.col("seconds").sum(), slices=pl.len())
    )
    labels = dict(who.select("process", "label").iter_rows())
    holds = [
        Hold(process, labels[process], IO_KINDS[kind], count, seconds, slices)
        for process, kind, count, seconds, slices in held.iter_rows()
    ]
    return sorted(holds, key=lambda hold: (-hold.seconds, hold.label))
