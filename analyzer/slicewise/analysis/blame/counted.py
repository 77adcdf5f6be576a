"""A job that servers alone know: what it moved, when, beside whom, and its rate then against its rate when alone.

Frames in, frames out. Servers count bytes and requests, and no time in calls: nothing is said of that, and no answer
is surer than medium, for a job may have paused.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from slicewise.constants import LITTLE_USE, SECOND_NS
from slicewise.digest.digest import Digest
from slicewise.digest.slices import with_mapped
from slicewise.estimate import Estimate
from slicewise.kinds import Confidence
from slicewise.statistics import error_of_mean

AMOUNTS = ("read_bytes", "write_bytes", "meta_ops")
LONGEST_GRID_NS = 60 * SECOND_NS
# So many slices alone are needed for a rate, and if it is known so well it is worth a medium confidence.
FEWEST_QUIET = 3
NARROW_OF_RATE = 0.1
# The time that the same program takes alone differs by so much from run to run, and a run is of the same size if it
# moved as many bytes, but for so much.
RATES_DIFFER, SAME_SIZE = 0.05, 0.1
LEAST_TARGETS = 4
# The share of reads may differ by so much between the slices that are compared.
MIX = 0.2
# A target that serves so many times what the median one does is hot.
HOT = 3.0
MOST_SLICES = 1 << 20


@dataclass(frozen=True)
class CountedNeighbour:
    """A neighbour. lost_seconds: None where the job's rate alone is not known. targets: that both used."""

    job: str
    is_client: bool
    read_bytes: int
    write_bytes: int
    meta_ops: int
    begin_ns: int
    end_ns: int
    lost_seconds: float | None
    targets: Sequence[str]


@dataclass(frozen=True)
class Rates:
    """How fast a job was alone and beside others on its targets: in bytes a second while it moved any; in requests a
    second where it moved none. lost: seconds that it would have needed less at its rate alone. company: the slices in
    which it had others beside it.
    """

    alone: Estimate | None
    beside: float | None
    seconds_alone: float
    seconds_beside: float
    lost: Estimate | None
    confidence: Confidence
    unknown_because: str
    notes: list[str]
    company: list[int]


@dataclass(frozen=True)
class CountedJob:
    """What servers counted of one job. rates: those of requests have no `alone` and no `beside`. targets: its bytes by
    target. hot: the target that served far more than others, and its share; None: there is none.
    """

    job: str
    is_client: bool
    begin_ns: int
    end_ns: int
    grid_ns: int
    read_bytes: int
    write_bytes: int
    meta_ops: int
    targets: dict[str, int]
    rates: Rates
    neighbours: Sequence[CountedNeighbour]
    hot: tuple[str, float] | None


def counted_job(counted: pl.DataFrame, name: str, alone: Sequence[str] = ()) -> CountedJob | None:
    """What servers counted (`jobstats.read_served`) of a job; None: they do not know it. alone: names of runs of the
    same program while nobody else used its targets.
    """
    own = counted.filter(pl.col("job") == name)
    if own.is_empty():
        return None
    moved = pl.sum_horizontal("read_bytes", "write_bytes")
    does_move = bool(own.select(moved.sum()).item())
    grid_ns = grid_of(own)
    begin_ns, end_ns = int(own["begin_ns"].min()), int(own["end_ns"].max())  # type: ignore[arg-type]
    meanwhile = counted.filter(pl.col("end_ns") > begin_ns, pl.col("begin_ns") < end_ns)
    amount = moved if does_move else pl.col("meta_ops")
    targets = dict(own.group_by("target").agg(amount.sum().alias("amount")).sort("target").iter_rows())
    used = [target for target, much in targets.items() if much > LITTLE_USE * sum(targets.values())]
    there = meanwhile.filter(pl.col("target").is_in(used))
    slices = by_slice(there, grid_ns, begin_ns, end_ns, ("job", "is_client", "target")).with_columns(amount=amount)
    own_slices = (
        slices.filter(pl.col("job") == name).group_by("slice").agg(pl.col("amount", *AMOUNTS).sum()).sort("slice")
    )
    others = slices.filter(pl.col("job") != name)
    rates = _by_own_slices(own_slices, others, grid_ns, "bytes" if does_move else "requests")
    if alone and does_move:
        rates = _by_runs(rates, counted, own, own_slices, alone, grid_ns)
    return CountedJob(
        job=name,
        is_client=bool(own["is_client"][0]),
        begin_ns=begin_ns,
        end_ns=end_ns,
        grid_ns=grid_ns,
        read_bytes=int(own["read_bytes"].sum()),
        write_bytes=int(own["write_bytes"].sum()),
        meta_ops=int(own["meta_ops"].sum()),
        targets=targets,
        rates=rates if does_move else replace(rates, alone=None, beside=None),
        neighbours=_neighbours(others, rates, grid_ns),
        hot=hot_target(meanwhile, begin_ns, end_ns, used),
    )


def counted_of(jobs: Sequence[Digest]) -> pl.DataFrame:
    """What jobs moved, as servers would have counted it: rows for `counted_job`, with file systems for targets."""
    points = {number: point for job in jobs for number, point in job.storages.select("storage", "point").iter_rows()}
    begin = pl.col("slice") * pl.col("slice_ns")
    rows = [
        with_mapped(job.process_slices, job.fetched)
        .with_columns(slice_ns=pl.lit(job.slice_ns, pl.Int64))
        .select(
            target=pl.col("storage").replace_strict(points, return_dtype=pl.String, default=""),
            job=pl.lit(job.job),
            is_client=pl.lit(bool(job.client)),
            begin_ns=begin,
            end_ns=begin + pl.col("slice_ns"),
            read_bytes="read_bytes",
            write_bytes="write_bytes",
            meta_ops="meta_ops",
        )
        for job in jobs
    ]
    return pl.concat(rows)


def grid_of(rows: pl.DataFrame) -> int:
    """Whole seconds in which counts can be laid: the median time between two readings, rounded up."""
    median = (rows["end_ns"] - rows["begin_ns"]).median() or 0
    grid_ns = min(LONGEST_GRID_NS, max(1, math.ceil(float(median) / SECOND_NS)) * SECOND_NS)  # type: ignore[arg-type]
    span_ns = int(rows["end_ns"].max()) - int(rows["begin_ns"].min())  # type: ignore[arg-type]
    return max(grid_ns, -(-span_ns // MOST_SLICES))


def by_slice(rows: pl.DataFrame, grid_ns: int, begin_ns: int, end_ns: int, keys: Sequence[str]) -> pl.DataFrame:
    """keys, slice and AMOUNTS, from `begin_ns` to `end_ns` alone: what was counted between two readings is spread
    evenly over that time."""
    lowest, highest = begin_ns // grid_ns, max(begin_ns, end_ns - 1) // grid_ns
    near = rows.filter(pl.col("end_ns") > begin_ns, pl.col("begin_ns") < end_ns)
    first = pl.max_horizontal(pl.col("begin_ns") // grid_ns, lowest)
    last = pl.min_horizontal((pl.col("end_ns") - 1) // grid_ns, highest)
    each = near.with_columns(slice=pl.int_ranges(first, last + 1)).explode("slice").drop_nulls("slice")
    begin, end = pl.col("slice") * grid_ns, (pl.col("slice") + 1) * grid_ns
    inside = pl.min_horizontal("end_ns", end) - pl.max_horizontal("begin_ns", begin)
    share = inside / (pl.col("end_ns") - pl.col("begin_ns"))
    return (
        each.group_by(*keys, "slice")
        .agg((pl.col(name) * share).sum().round().cast(pl.Int64) for name in AMOUNTS)
        .sort(*keys, "slice")
    )


def _by_own_slices(own: pl.DataFrame, others: pl.DataFrame, grid_ns: int, what: str) -> Rates:
    """own: slice, amount and AMOUNTS of the job. others: of the others on its targets."""
    seconds = grid_ns / 1e9
    active = own.filter(pl.col("amount") > 0)
    near = others.group_by("slice").agg(others=pl.col("amount").sum())
    typical = float(active["amount"].sum()) / max(1, active.height)
    laid = active.join(near, on="slice", how="left").with_columns(pl.col("others").fill_null(0))
    is_beside = pl.col("others") > LITTLE_USE * pl.max_horizontal("amount", pl.lit(typical))
    company = set(laid.filter(is_beside)["slice"])
    close = {slice + step for slice in company for step in (-1, 0, 1)}
    # The first and the last one are part of a slice.
    inner = laid.filter(pl.col("slice") > active["slice"].min(), pl.col("slice") < active["slice"].max())
    quiet, busy = inner.filter(~pl.col("slice").is_in(list(close))), inner.filter(is_beside)
    seconds_alone, seconds_beside = quiet.height * seconds, busy.height * seconds
    beside = float(busy["amount"].sum()) / seconds_beside if busy.height else None
    told = Rates(None, beside, seconds_alone, seconds_beside, None, "unknown", "", [], sorted(company))
    if quiet.height < FEWEST_QUIET:
        if not busy.height:
            why = "it was too short to tell"
        else:
            why = f"it had its targets to itself for {seconds_alone:g} s, and {FEWEST_QUIET * seconds:g} s are needed"
        return replace(told, unknown_because=why)
    rate = float(quiet["amount"].sum()) / quiet.height / seconds
    spread = float(quiet["amount"].std() or 0) / seconds  # type: ignore[arg-type]
    error = error_of_mean(spread, quiet.height)
    how = f"{what} in {quiet.height} slices of {seconds:g} s in which it had its targets to itself"
    alone = Estimate(rate, max(0.0, rate - error), rate + error, how)
    if beside is None:
        return replace(told, alone=alone, confidence="medium" if error <= NARROW_OF_RATE * rate else "low")
    with_others = float(laid.filter(is_beside)["amount"].sum())
    lost = alone.through(lambda one: with_others * (1 / beside - 1 / one) if one and beside else 0.0, how)
    notes: list[str] = []
    confidence: Confidence = "medium" if error <= NARROW_OF_RATE * rate else "low"
    if what == "bytes" and abs(_reads(quiet) - _reads(busy)) > MIX:
        confidence = "low"
        notes.append("It read and wrote in other shares alone than beside others, so the two rates do not compare well")
    return replace(told, alone=alone, lost=lost, confidence=confidence, notes=notes)


def _by_runs(
    rates: Rates,
    counted: pl.DataFrame,
    own: pl.DataFrame,
    own_slices: pl.DataFrame,
    alone: Sequence[str],
    grid_ns: int,
) -> Rates:
    """The rates by standalone runs, not by slices of its own. Raises KeyError for one that servers do not know."""
    speeds, sizes = [], []
    for name in alone:
        run = counted.filter(pl.col("job") == name)
        if run.is_empty():
            raise KeyError(name)
        grid = grid_of(run)
        slices = by_slice(run, grid, int(run["begin_ns"].min()), int(run["end_ns"].max()), ("job",))  # type: ignore[arg-type]
        size = float(run.select(pl.sum_horizontal("read_bytes", "write_bytes").sum()).item())
        speeds.append(size / _seconds_at_work(run, slices, grid))
        sizes.append(size)
    size = float(own.select(pl.sum_horizontal("read_bytes", "write_bytes").sum()).item())
    took, rate = _seconds_at_work(own, own_slices, grid_ns), sum(speeds) / len(speeds)
    error = max(RATES_DIFFER * rate, max(speeds) - rate, rate - min(speeds))
    how = f"its standalone runs {', '.join(alone)}, as the servers counted them"
    found = Estimate(rate, rate - error, rate + error, how)
    is_same = all(abs(one - size) <= SAME_SIZE * size for one in sizes)
    notes = [] if is_same else ["The standalone runs moved another number of bytes, so the two rates compare less well"]
    return replace(
        rates,
        alone=found,
        beside=size / took,
        lost=found.through(lambda one: took - size / one if one else 0.0, how),
        confidence="medium" if is_same else "low",
        unknown_because="",
        notes=notes,
    )


def _seconds_at_work(rows: pl.DataFrame, slices: pl.DataFrame, grid_ns: int) -> float:
    """From a job's first byte to its last one, without slices in which it moved none."""
    span_ns = int(rows["end_ns"].max()) - int(rows["begin_ns"].min())  # type: ignore[arg-type]
    moved = slices.filter(pl.sum_horizontal("read_bytes", "write_bytes") > 0)["slice"]
    idle = int(moved.max()) - int(moved.min()) + 1 - len(moved) if len(moved) else 0  # type: ignore[arg-type]
    return max(span_ns - idle * grid_ns, 1) / 1e9


def _reads(rows: pl.DataFrame) -> float:
    return float(rows["read_bytes"].sum()) / max(1.0, float(rows["amount"].sum()))


def _neighbours(others: pl.DataFrame, rates: Rates, grid_ns: int) -> list[CountedNeighbour]:
    """Whoever used its targets while it was active, most first; what it lost is shared out by what they moved."""
    there = others.filter(pl.col("slice").is_in(rates.company)).filter(pl.col("amount") > 0)
    total = there.group_by("slice").agg(total=pl.col("amount").sum())
    lost = rates.lost.value / max(1, len(rates.company)) if rates.lost is not None else None
    shares = there.join(total, on="slice").with_columns(share=pl.col("amount") / pl.col("total"))
    found = (
        shares.group_by("job", "is_client")
        .agg(
            pl.col(AMOUNTS).sum(),
            pl.col("amount").sum(),
            first=pl.col("slice").min(),
            last=pl.col("slice").max(),
            share=pl.col("share").sum(),
            targets=pl.col("target").unique().sort(),
        )
        .sort("amount", "job", descending=[True, False])
    )
    return [
        CountedNeighbour(
            row["job"],
            row["is_client"],
            row["read_bytes"],
            row["write_bytes"],
            row["meta_ops"],
            row["first"] * grid_ns,
            (row["last"] + 1) * grid_ns,
            None if lost is None else lost * row["share"],
            row["targets"],
        )
        for row in found.iter_rows(named=True)
        if row["amount"] > LITTLE_USE * int(found["amount"].sum())
    ]


def hot_target(rows: pl.DataFrame, begin_ns: int, end_ns: int, used: Sequence[str]) -> tuple[str, float] | None:
    """The target that served far more than the others that a job used, and its share of all bytes."""
    moved = by_slice(rows, max(1, end_ns - begin_ns), begin_ns, end_ns, ("target",)).group_by("target").agg(
        bytes=pl.sum_horizontal("read_bytes", "write_bytes").sum()
    )  # fmt: skip
    data = moved.filter(pl.col("bytes") > 0).sort("bytes", descending=True)
    if data.height < LEAST_TARGETS:
        return None
    name, most = data.row(0)
    is_hot = name in used and most > HOT * float(data["bytes"].median())  # type: ignore[arg-type]
    return (name, most / float(data["bytes"].sum())) if is_hot else None
