"""Seconds that a job's processes lose to the job's own other processes, inside what its I/O takes alone.

Frames in, an estimate out. What the same bytes cost a process is compared between slices in which few of the job's
processes were in calls and slices in which more were; the gates are in docs/models.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from slicewise.analysis.blame.result import OwnProcesses
from slicewise.analysis.blame.uncontended import ERROR_OF_SLICES
from slicewise.analysis.calls import AMOUNTS, CALLS, KINDS, SECONDS, Kind
from slicewise.constants import FEWEST_SLICES, LEAST_ERROR, LIKE_SIZES, MOST_ERROR_OF_A_RUN, NEARLY_ALL, TRIVIAL
from slicewise.estimate import Estimate
from slicewise.statistics import block_error, error_of_ratio

# Of the time in calls of the slice's busiest process: with less a process hardly meets the others.
AT_WORK = 0.1
# Where slices show no difference, it is only known to be none if it is less than this share of the I/O time at most.
MOST_OF_NONE = 0.05

HOW = {
    "own": "by its slices without neighbours in which fewer of its own processes were in calls",
    "runs": "by standalone runs' slices in which fewer of its processes were in calls",
}


@dataclass(frozen=True)
class Cost:
    """Seconds of a process for a byte, or a metadata operation, of its own. error: relative, 95 %."""

    seconds: float
    error: float

    @property
    def low(self) -> float:
        return self.seconds * (1 - self.error)

    @property
    def high(self) -> float:
        return self.seconds * (1 + self.error)


@dataclass(frozen=True)
class Extra:
    """Seconds for a byte beyond what the fewest pay, by the number of processes in calls."""

    value: Mapping[int, float]
    low: Mapping[int, float] = field(default_factory=dict)
    high: Mapping[int, float] = field(default_factory=dict)


def own_processes(
    calls: pl.DataFrame, company: pl.DataFrame, runs: Sequence[pl.DataFrame], process: int | None, most_seconds: float
) -> OwnProcesses | None:
    """What one process of a job lost to its other processes; None where it cannot be known.

    calls: of `timeline.call_rows`. company: storage and slice of those in which somebody else was active. runs: `calls`
    of standalone runs. process: the one with most I/O. most_seconds: its I/O alone, of which this is a part.
    """
    if process is None or calls["process"].n_unique() < 2:
        return OwnProcesses(Estimate(0.0, 0.0, 0.0, "its I/O is that of one process"), NOTHING)
    counted = with_active(calls)
    its = counted.filter(pl.col("process") == process)
    took = {
        (int(row["storage"]), kind): float(row[SECONDS[kind]])
        for row in its.group_by("storage", maintain_order=True)
        .agg(pl.col(SECONDS.values()).sum())
        .sort("storage")
        .iter_rows(named=True)
        for kind in KINDS
    }
    io_seconds = sum(took.values())
    own, others = settled(counted, company), None
    bounds, parts, hows = [0.0, 0.0], [], []
    for (storage, kind), seconds in took.items():
        if seconds <= 0 or seconds < TRIVIAL * io_seconds:
            continue
        rows = its.filter(pl.col("storage") == storage, pl.col(SECONDS[kind]) > 0)
        extra, how = _extra_of(own, storage, kind, rows), "own"
        if extra is None:
            if others is None:
                others = pl.concat([own.clear(), *(settled(with_active(run), company.clear()) for run in runs)])
            extra, how = _extra_of(others, storage, kind, rows), "runs"
        if extra is None:
            return None
        hows.append(how)
        amounts, active = rows[AMOUNTS[kind]].to_numpy(), rows["active"].to_list()
        low, value, high = (
            amounts * np.array([by_active[count] for count in active])
            for by_active in (extra.low, extra.value, extra.high)
        )
        parts.append(pl.DataFrame({"slice": rows["slice"], "seconds": value}, schema=NOTHING.schema))
        bounds = [bounds[0] + float(low.sum()), bounds[1] + float(high.sum())]
    slices = (
        pl.concat([NOTHING, *parts]).group_by("slice", maintain_order=True).agg(pl.col("seconds").sum()).sort("slice")
    )
    value, least = float(slices["seconds"].sum()), LEAST_ERROR * io_seconds
    low, high = max(0.0, bounds[0] - least), bounds[1] + least
    # It is a part of the I/O alone; and of a difference that no slices show it is only known where it is small at most.
    if low > most_seconds or (value <= 0 and high > MOST_OF_NONE * io_seconds):
        return None
    if value > most_seconds:
        slices = slices.with_columns(pl.col("seconds") * (most_seconds / value))
    value, high = min(value, most_seconds), min(high, max(most_seconds, 0.0))
    how = "; ".join(HOW[name] for name in dict.fromkeys(hows))
    return OwnProcesses(Estimate(value, min(low, value), max(high, value), how), slices)


NOTHING = pl.DataFrame(schema={"slice": pl.Int64, "seconds": pl.Float64})


def with_active(calls: pl.DataFrame) -> pl.DataFrame:
    """Calls with `active`: how many of the job's processes were in calls on that storage in that slice."""
    seconds = pl.sum_horizontal(SECONDS.values())
    place = ("storage", "slice")
    is_active = (seconds > 0) & (seconds >= AT_WORK * seconds.max().over(place))
    return calls.with_columns(active=is_active.sum().over(place).cast(pl.Int64))


def settled(counted: pl.DataFrame, company: pl.DataFrame) -> pl.DataFrame:
    """storage, slice, active and sums of SECONDS, AMOUNTS and CALLS of all processes: of slices without company in them
    or next to them, in which as many processes were in calls as in the slice before and in the one after.
    """
    near = pl.concat(company.select("storage", pl.col("slice") + step) for step in (-1, 0, 1)).unique()
    is_settled = [
        (pl.col("slice").shift(step).over("storage") == pl.col("slice") - step)
        & (pl.col("active").shift(step).over("storage") == pl.col("active"))
        for step in (1, -1)
    ]
    return (
        counted.group_by("storage", "slice", "active", maintain_order=True)
        .agg(pl.col(*SECONDS.values(), *AMOUNTS.values(), *CALLS.values()).sum())
        .sort("storage", "slice")
        .filter(*is_settled)
        .join(near, on=["storage", "slice"], how="anti", maintain_order="left")
    )


def costs(rows: pl.DataFrame, kind: Kind) -> dict[int, Cost]:
    """What a process pays by the number of processes in calls, where enough slices (of `settled`) tell."""
    found = {}
    made = rows.filter(pl.col(SECONDS[kind]) > 0, pl.col(AMOUNTS[kind]) > 0)
    for (active,), there in made.sort("active", maintain_order=True).group_by("active", maintain_order=True):
        if len(there) < FEWEST_SLICES:
            continue
        seconds, amounts = there[SECONDS[kind]].to_numpy(), there[AMOUNTS[kind]].to_numpy().astype(np.float64)
        error = max(ERROR_OF_SLICES, block_error(seconds, amounts), error_of_ratio(seconds, amounts))
        if error <= MOST_ERROR_OF_A_RUN:
            found[int(str(active))] = Cost(float(seconds.sum() / amounts.sum()), error)
    return found


def _extra_of(slices: pl.DataFrame, storage: int, kind: Kind, rows: pl.DataFrame) -> Extra | None:
    """What a process's calls (rows with active) cost beyond what the fewest pay; None where it is not known."""
    there = slices.filter(pl.col("storage") == storage)
    known = costs(there, kind)
    if len(known) < 2 or not _are_like_sizes(there, kind, set(known)):
        return None
    fewest, *more = sorted(known)
    base = known[fewest]
    if any(known[count].high < base.low for count in more):
        return None
    is_known = pl.col("active").is_in(list(known)) | (pl.col("active") < fewest)
    if float(rows.filter(is_known)[SECONDS[kind]].sum()) < NEARLY_ALL * float(rows[SECONDS[kind]].sum()):
        return None
    differ = any(known[count].low > base.high for count in more)
    value, low, high = {}, {}, {}
    for active in rows["active"].unique().to_list():
        below = known[max((count for count in known if count <= active), default=fewest)]
        above = known[min((count for count in known if count >= active), default=more[-1])]
        is_more = active > fewest
        value[active] = max(0.0, below.seconds - base.seconds) if differ and is_more else 0.0
        low[active] = max(0.0, below.low - base.high) if differ and is_more else 0.0
        high[active] = max(value[active], above.high - base.low) if is_more else 0.0
    return Extra(value, low, high)


def _are_like_sizes(rows: pl.DataFrame, kind: Kind, counts: set[int]) -> bool:
    """Whether calls were of like size however many processes made them: small ones cost more a byte."""
    if kind not in CALLS:
        return True
    summed = (
        rows.filter(pl.col("active").is_in(list(counts)))
        .group_by("active", maintain_order=True)
        .agg(pl.col(AMOUNTS[kind], CALLS[kind]).sum())
    )
    sizes = (summed[AMOUNTS[kind]] / summed[CALLS[kind]].clip(1)).to_numpy()
    return bool(sizes.max() <= LIKE_SIZES * sizes.min())
