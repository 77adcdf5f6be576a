"""Where each process's time went: computing, communicating by MPI, I/O by kind; and whom a slow process held up.

Digest in, dataclass out. Times are a process's own clock in calls, of reads also its waits for mapped files; the rest
is computing, or idle.
"""

from dataclasses import dataclass

import polars as pl

from slicewise.analysis.job.critical import critical_ranks
from slicewise.analysis.job.holds import (
    COMMUNICATING,
    Hold,
    held_by_slice,
    holds_of,
    io_seconds,
    ns_of,
    of_worlds,
    waiting_by_slice,
)
from slicewise.digest.digest import Digest
from slicewise.digest.processes import with_world
from slicewise.kinds import KINDS
from slicewise.scalars import real


@dataclass(frozen=True)
class Efficiency:
    """POP's, with I/O as a factor of its own (docs/models.md): each from 0 to 1, and None where nothing was computed.
    parallel is the product of the other three. A job with several worlds of MPI has none of these.
    """

    load_balance: float | None
    io: float | None
    communication: float | None
    parallel: float | None


UNKNOWN = Efficiency(None, None, None, None)


@dataclass(frozen=True)
class Split:
    """processes: process, rank, label, runtime, computing, idle, mpi, waiting (of `mpi`), begin_and_end, read, write,
    meta, sync, mpi_io, in seconds, in the order of ranks. held: who held others up in which slice (`held_by_slice`).
    holds: the same in sum; who held others up longest comes first. phases: the critical rank of each phase that has one
    (`critical_ranks`). waiting: of each slice (`waiting_by_slice`). Ranks wait for those of their own MPI_COMM_WORLD.
    has_threads: processes whose threads were in calls at once for longer than there was time: what they computed is not
    known. worlds: how many are told apart. unknown_world: of how many processes it is not known which world they are
    of; their `waiting` is null.
    """

    processes: pl.DataFrame
    held: pl.DataFrame
    holds: list[Hold]
    phases: pl.DataFrame
    waiting: pl.DataFrame
    efficiency: Efficiency
    has_threads: int
    worlds: int
    unknown_world: int


def split(digest: Digest) -> Split | None:
    """None of a job whose profile has no calls of MPI by class, and where a catalog did not keep them."""
    if "communication" in digest.not_kept:
        return None
    communication = digest.communication
    who = with_world(digest.processes.filter("is_of_job", pl.col("rank") >= 0))  # also those that did no I/O
    communication = communication.join(who.select("process"), on="process", how="semi")
    if communication.is_empty():
        return None
    # Its classes are asked for again and again: by numbers sooner than by names.
    communication = communication.with_columns(pl.col("class").cast(pl.Enum(communication["class"].unique().sort())))
    waiting = waiting_by_slice(communication, who)
    by_process = _by_process(digest, who, communication, waiting)
    worlds = of_worlds(who.drop("world"), who)
    held = pl.concat([held_by_slice(digest, ranks, _of(ranks, communication)) for ranks in worlds]).sort("slice")
    phases = pl.concat([critical_ranks(digest, ranks, _of(ranks, communication), waiting) for ranks in worlds])
    return Split(
        processes=by_process,
        held=held,
        holds=holds_of(held, who),
        phases=phases.sort("start_ns", maintain_order=True),
        waiting=waiting,
        efficiency=_efficiency(by_process) if _is_one_world(who) else UNKNOWN,
        has_threads=by_process.filter(pl.col("computing") + pl.col("idle") < 0).height,
        worlds=who["world"].drop_nulls().n_unique(),
        unknown_world=who["world"].null_count(),
    )


def _is_one_world(who: pl.DataFrame) -> bool:
    return who["world"].n_unique() == 1 and who["world"].null_count() == 0


def _of(ranks: pl.DataFrame, communication: pl.DataFrame) -> pl.DataFrame:
    return communication.join(ranks.select("process"), on="process", how="semi")


def by_slice(digest: Digest, found: Split, most: int) -> pl.DataFrame:
    """process, slice, and in seconds what `Split.processes` has of calls: mpi, waiting, begin_and_end, read, write,
    meta, sync, mpi_io; of the first processes there, `most` of them.
    """
    first = found.processes.select("process").head(most)
    communication = digest.communication.join(first, on="process", how="semi")
    called = communication.group_by("process", "slice").agg(**_called())
    parts = [part.join(first, on="process", how="semi") for part in (called, found.waiting, io_seconds(digest))]
    return pl.concat(parts, how="diagonal_relaxed").fill_null(0)


def _called() -> dict[str, pl.Expr]:
    """Seconds in calls of MPI, of rows of `communication` that are grouped."""
    classes = {"mpi": COMMUNICATING, "begin_and_end": ("life",), "mpi_io": ("file",)}
    return {name: ns_of(of) / 1e9 for name, of in classes.items()}


def _by_process(digest: Digest, who: pl.DataFrame, communication: pl.DataFrame, waiting: pl.DataFrame) -> pl.DataFrame:
    called = communication.group_by("process").agg(**_called())
    mapped = digest.fetched.group_by("process").agg(mapped=pl.col("waited_ns").sum() / 1e9)
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
            "world",
            "label",
            runtime=(pl.col("end_ns") - pl.col("start_ns")) / 1e9,
            **{kind: pl.col(f"{kind}_ns") / 1e9 for kind in KINDS},
        )
        .join(mapped, on="process", how="left")
        .with_columns(read=pl.col("read") + pl.col("mapped").fill_null(0.0))
        .join(called, on="process", how="left")
        .join(waiting.group_by("process").agg(pl.col("waiting").sum()), on="process", how="left")
        .join(processor, on="process", how="left")
        .with_columns(pl.col("mpi", "begin_and_end", "mpi_io", "waiting").fill_null(0.0))
        .with_columns(waiting=pl.when(pl.col("world").is_not_null()).then("waiting"))
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
        return UNKNOWN
    balance, io, communication = real(useful.mean() or 0) / most, most / most_with_io, min(most_with_io / runtime, 1.0)
    return Efficiency(balance, io, communication, balance * io * communication)
