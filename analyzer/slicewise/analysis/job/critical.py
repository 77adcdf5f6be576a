"""Which rank the others waited for in each phase of an MPI job, for how long and because of what.

Digest in, frame out. A phase ends where ranks meet in a collective or barrier, and where the job's I/O begins or ends,
as far as slices show.
"""

import numpy as np
import polars as pl

from slicewise.analysis.job.holds import COMMUNICATING, IO_KINDS, TOGETHER, io_seconds, ns_of
from slicewise.analysis.job.period import runs_above
from slicewise.constants import LEAST_OF_RATE
from slicewise.digest.digest import Digest

# What a rank does while it keeps others waiting. mpi: moving data, not waiting.
PARTS = ("computing", *IO_KINDS, "mpi")
# A stretch of I/O has so many times the I/O of the slice of its mean second, and a rank spends so much of it in I/O.
LEAST_IN_IO = 0.05
# A rank is critical if it took longer than the mean rank by more than this share of the phase.
LEAST_LONGER = 0.01
# Of the waiting in a phase, what was in slices in which the critical rank was also the one that took longest.
LED_SURELY, LED_PROBABLY = 0.9, 0.5
CRITICAL = {
    "first_slice": pl.Int64, "end_slice": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64, "seconds": pl.Float64,
    "process": pl.UInt64, "label": pl.String, "longer": pl.Float64, "by": pl.String,
    **dict.fromkeys(PARTS, pl.Float64), "led": pl.Float64, "sureness": pl.String,
}  # fmt: skip


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
    called = communication.group_by("process", "slice").agg(
        called=ns_of(COMMUNICATING) / 1e9, begin_and_end=ns_of(("life",)) / 1e9, mpi_io=ns_of(("file",)) / 1e9
    )
    numbers = ("called", "begin_and_end", "waiting", *IO_KINDS)
    return (
        ranks.select("process", "start_ns", "end_ns", slice=pl.int_ranges(start // tau, (end - 1) // tau + 1))
        .explode("slice")
        .with_columns(alive=alive / 1e9)
        .join(called, on=["process", "slice"], how="left")
        .join(io_seconds(digest), on=["process", "slice"], how="left")
        .join(waiting, on=["process", "slice"], how="left")
        .with_columns(pl.col(numbers).fill_null(0.0))
        .with_columns(mpi=pl.col("called") - pl.col("waiting"))
        .with_columns(computing=pl.col("alive") - pl.sum_horizontal("called", "begin_and_end", *IO_KINDS))
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
    return [run for run in found if _most_in_io(rows, run) >= LEAST_IN_IO]


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
