"""Where each process's time went: computing, communicating by MPI, I/O by kind; and whom a slow process held up.

Digest in, dataclass out. Times are a process's own clock in calls, of reads also its waits for mapped files; the rest
is computing, or idle.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from slicewise.analysis.job.holds import (
    COMMUNICATING,
    IO_KINDS,
    TOGETHER,
    Hold,
    held_by_slice,
    holds_of,
    io_seconds,
    ns_of,
    of_worlds,
    waiting_by_slice,
)
from slicewise.analysis.job.period import runs_above
from slicewise.constants import LEAST_OF_JOB, LEAST_OF_RATE
from slicewise.digest.digest import Digest
from slicewise.digest.processes import with_world
from slicewise.kinds import ACCELERATOR, KINDS
from slicewise.scalars import real

# What a rank does while it keeps others waiting. mpi: moving data, not waiting.
PARTS = ("computing", *IO_KINDS, "mpi")
# A rank is critical if it took longer than the mean rank by more than this share of the phase.
LEAST_LONGER = 0.01
# Of the waiting in a phase, what was in slices in which the critical rank was also the one that took longest.
LED_SURELY, LED_PROBABLY = 0.9, 0.5
CRITICAL = {
    "first_slice": pl.Int64, "end_slice": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64, "seconds": pl.Float64,
    "process": pl.UInt64, "label": pl.String, "longer": pl.Float64, "by": pl.String,
    **dict.fromkeys(PARTS, pl.Float64), "led": pl.Float64, "sureness": pl.String,
}  # fmt: skip


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
    meta, sync, mpi_io, in seconds, in the order of ranks; threads: what of the runtime the first thread waited for
    other threads of the process, while these computed, did I/O or waited, too; accelerators: what it waited for these
    (like `threads` a part of computing or idle). held: who held others up in which slice
    (`held_by_slice`). holds: the same in sum; who held others up longest comes first. phases: the critical rank of each
    phase that has one (`critical_ranks`). waiting: of each slice (`waiting_by_slice`). Ranks wait for those of their
    own MPI_COMM_WORLD. has_threads: processes whose threads were in calls at once for longer than there was time: what
    they computed is not known. worlds: how many are told apart. unknown_world: of how many processes it is not known
    which world they are of; their `waiting` is null.
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
    unknown_world, known_worlds = who["world"].null_count(), who["world"].drop_nulls().n_unique()
    worlds = of_worlds(who.drop("world"), who)
    held = pl.concat([held_by_slice(digest, ranks, _of(ranks, communication)) for ranks in worlds]).sort("slice")
    phases = pl.concat([critical_ranks(digest, ranks, _of(ranks, communication), waiting) for ranks in worlds])
    return Split(
        processes=by_process,
        held=held,
        holds=holds_of(held, who),
        phases=phases.sort("start_ns", maintain_order=True),
        waiting=waiting,
        efficiency=_efficiency(by_process) if known_worlds == 1 and not unknown_world else UNKNOWN,
        has_threads=by_process.filter(pl.col("computing") + pl.col("idle") < 0).height,
        worlds=known_worlds,
        unknown_world=unknown_world,
    )


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
    main, is_accelerator = pl.col("main_ns"), pl.col("kind") == ACCELERATOR
    waits = digest.thread_waits.group_by("process").agg(
        threads=main.filter(~is_accelerator).sum() / 1e9, accelerators=main.filter(is_accelerator).sum() / 1e9
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
        .join(waits, on="process", how="left")
        .with_columns(pl.col("mpi", "begin_and_end", "mpi_io", "waiting", "threads", "accelerators").fill_null(0.0))
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
            "threads",
            "accelerators",
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


def critical_ranks(
    digest: Digest, who: pl.DataFrame, communication: pl.DataFrame, waiting: pl.DataFrame
) -> pl.DataFrame:
    """A row a phase that has a critical rank, in order of time: CRITICAL.

    first_slice, end_slice (half open), start_ns, end_ns (CLOCK_REALTIME), seconds: of the phase. process, label: of the
    rank that took longest, its time without waiting. longer: how much longer than the mean rank (s); its parts are
    computing (idle included), each kind of I/O, and mpi (without waiting), and `by` is the largest. led: the share of
    the ranks' waiting in the phase that was in slices in which this rank took longest, too. sureness: of the rank.

    who: the ranks of one world (`of_worlds`). communication: their rows. waiting: what they waited
    in each slice (`waiting_by_slice`). A rank that communicates with nobody takes no
    part.
    """
    talking = communication.filter(pl.col("class").is_in(COMMUNICATING))
    ranks = who.join(talking.select("process"), on="process", how="semi").with_columns(world=pl.lit(0))
    if ranks.height < 2:
        return pl.DataFrame(schema=CRITICAL)
    rows = _by_slice(digest, ranks, communication, waiting)
    meets = talking.filter(pl.col("class").is_in(TOGETHER), pl.col("calls") > 0)["slice"]
    numbers = rows["slice"].unique().sort().to_numpy()
    phases = pl.DataFrame(
        {"slice": numbers, "phase": np.searchsorted(_ends(numbers, _io_stretches(rows), set(meets)), numbers, "right")},
        schema={"slice": pl.Int64, "phase": pl.Int64},
    )
    rows = rows.join(phases, on="slice")
    longest = _longest(rows)
    return (
        longest.join(_led(rows, longest), on="phase")
        .join(_times(rows, digest.slice_ns), on="phase")
        .filter(pl.col("longer") > LEAST_LONGER * pl.col("seconds"))
        .join(ranks.select("process", "label"), on="process")
        .with_columns(sureness=_sureness())
        .sort("phase")
        .select(pl.col(name).cast(of) for name, of in CRITICAL.items())
    )


def _by_slice(digest: Digest, ranks: pl.DataFrame, communication: pl.DataFrame, waiting: pl.DataFrame) -> pl.DataFrame:
    """A row a rank and slice of its runtime, in seconds: PARTS, waiting, took (all that is not waiting), and alive (how
    long the rank ran in the slice).
    """
    tau = digest.slice_ns
    start, end = pl.col("start_ns"), pl.col("end_ns")
    alive = pl.min_horizontal(end, (pl.col("slice") + 1) * tau) - pl.max_horizontal(start, pl.col("slice") * tau)
    called = communication.group_by("process", "slice").agg(**_called())
    return (
        ranks.select("process", "start_ns", "end_ns", slice=pl.int_ranges(start // tau, (end - 1) // tau + 1))
        .explode("slice")
        .with_columns(alive=alive / 1e9)
        .join(called, on=["process", "slice"], how="left")
        .join(io_seconds(digest), on=["process", "slice"], how="left")
        .join(waiting, on=["process", "slice"], how="left")
        .with_columns(pl.col("mpi", "begin_and_end", "waiting", *IO_KINDS).fill_null(0.0))
        .with_columns(computing=pl.col("alive") - pl.sum_horizontal("mpi", "begin_and_end", *IO_KINDS))
        .with_columns(mpi=pl.col("mpi") - pl.col("waiting"))
        .with_columns(took=pl.sum_horizontal(PARTS))
    )


def _io_stretches(rows: pl.DataFrame) -> list[range]:
    summed = rows.group_by("slice").agg(io=pl.sum_horizontal(IO_KINDS).sum()).filter(pl.col("io") > 0).sort("slice")
    if summed.is_empty():
        return []
    first = int(summed["slice"][0])
    series = np.zeros(int(summed["slice"][-1]) + 1 - first)
    series[summed["slice"].to_numpy() - first] = summed["io"].to_numpy()
    found = [range(first + run.start, first + run.stop) for run in runs_above(series, LEAST_OF_RATE)]
    return [run for run in found if _most_in_io(rows, run) >= LEAST_OF_JOB]


def _most_in_io(rows: pl.DataFrame, run: range) -> float:
    inside = rows.filter(pl.col("slice").is_between(run.start, run.stop - 1))
    shares = inside.group_by("process").agg(share=pl.sum_horizontal(IO_KINDS).sum() / pl.col("alive").sum())
    most = shares["share"].max()
    return float(most) if isinstance(most, float) else 0.0


def _ends(numbers: np.ndarray, stretches: list[range], meets: set[int]) -> np.ndarray:
    """Where one phase ends and the next begins: slices, each the first of a phase.

    Where ranks meet in one slice after another, that is one phase: only the first meeting ends what was before it.
    """
    ends = {edge for run in stretches for edge in (run.start, run.stop)}
    for number in meets:
        is_first, is_last = number - 1 not in meets, number + 1 not in meets
        if is_last or (is_first and number > numbers[0]):
            ends.add(number + 1)
    return np.array(sorted(ends), dtype=np.int64)


def _longest(rows: pl.DataFrame) -> pl.DataFrame:
    count = rows["process"].n_unique()  # a rank that is not there any more took no time
    ranks = rows.group_by("phase", "process").agg(pl.col("took", *PARTS).sum())
    of_mean = (pl.col("took", *PARTS) - pl.col("took", *PARTS).sum().over("phase") / count).name.keep()
    by = pl.concat_list(PARTS).list.arg_max().replace_strict(dict(enumerate(PARTS)), return_dtype=pl.String)
    return (
        ranks.with_columns(of_mean)
        .sort("phase", "took", "process", descending=[False, True, False])
        .unique("phase", keep="first", maintain_order=True)
        .rename({"took": "longer"})
        .with_columns(by=by)
    )


def _led(rows: pl.DataFrame, longest: pl.DataFrame) -> pl.DataFrame:
    """phase, led, is_known: whether no rank's threads were in calls for longer than there was time."""
    slices = rows.group_by("phase", "slice").agg(
        pl.col("waiting").sum(),
        process=pl.col("process").sort_by("took", "process", descending=[True, False]).first(),
        is_known=(pl.col("computing") >= -LEAST_LONGER * pl.col("alive")).all(),
    )
    waited = pl.col("waiting").sum()
    led = pl.col("waiting").filter(pl.col("process") == pl.col("leader")).sum() / waited
    return (
        slices.join(longest.select("phase", leader="process"), on="phase")
        .group_by("phase")
        .agg(led=pl.when(waited > 0).then(led).otherwise(0.0), is_known=pl.col("is_known").all())
    )


def _times(rows: pl.DataFrame, slice_ns: int) -> pl.DataFrame:
    """phase, first_slice, end_slice, start_ns, end_ns, seconds: within the ranks' runtime."""
    first, end = pl.col("slice").min(), pl.col("slice").max() + 1
    times = rows.group_by("phase").agg(
        first_slice=first,
        end_slice=end,
        start_ns=pl.max_horizontal(first * slice_ns, pl.col("start_ns").min()),
        end_ns=pl.min_horizontal(end * slice_ns, pl.col("end_ns").max()),
    )
    return times.with_columns(seconds=(pl.col("end_ns") - pl.col("start_ns")) / 1e9)


def _sureness() -> pl.Expr:
    """A single slice may hold more than one phase: then it is medium at best."""
    is_one_slice = pl.col("end_slice") - pl.col("first_slice") < 2
    return (
        pl.when(~pl.col("is_known"))
        .then(pl.lit("unknown"))
        .when((pl.col("led") >= LED_SURELY) & ~is_one_slice)
        .then(pl.lit("high"))
        .when(pl.col("led") >= LED_PROBABLY)
        .then(pl.lit("medium"))
        .otherwise(pl.lit("low"))
    )
