"""The lost time of each slice, and whose it is. Sums exactly: what nobody can have caused is in nobody's share.

Frames in, frames out.
"""

from collections.abc import Mapping

import numpy as np
import polars as pl

from slicewise.analysis.blame.on_storage import Floats
from slicewise.analysis.blame.uncontended import PRICES, Place, Price, alone_seconds, price_frame
from slicewise.analysis.calls import AMOUNTS, KINDS, SECONDS, Kind
from slicewise.analysis.capacity.by_kind import Capacities, against
from slicewise.constants import FEWEST_SLICES
from slicewise.statistics import error_of_rest

# Neighbours cannot have cost the job more than this many times the storage's time that they took: what goes beyond
# that has another cause, and nobody is blamed for it. Bytes that are written to memory first show in other slices than
# the time that they cost, so this holds for so many seconds together. Where calls lost more than twice that, something
# else held the storage up (a limit was lowered, say): the more they lost beyond, the less of it is theirs, down to the
# time that they took.
MOST_FOR_ITS_TIME = 3.0
FAR_MORE_LOST = 2.0
TOGETHER_SECONDS = 16.0


def lost_time(slices: pl.DataFrame, prices: Mapping[Place, Price]) -> pl.DataFrame:
    """`timeline.slice_rows` with {kind}_lost: seconds of the mean process beyond what its calls would have taken
    alone, never clipped.
    """
    priced = slices.join(price_frame(prices), on="storage", how="left", maintain_order="left")
    return priced.with_columns(
        (pl.col(SECONDS[kind]) - _alone_there(kind)).alias(f"{kind}_lost") for kind in KINDS
    ).drop(PRICES)


def _alone_there(kind: Kind) -> pl.Expr:
    """What a row's calls of a kind would have taken alone, with what a cache takes before it sends where it took it:
    in slices in which nothing was served.
    """
    alone, seconds = alone_seconds(kind), pl.col(SECONDS[kind])
    is_idle = (pl.col(AMOUNTS[kind]) == 0) & (seconds > 0)
    whole, idle = alone.sum().over("storage"), seconds.filter(is_idle).sum().over("storage")
    share = pl.min_horizontal(pl.col(f"{kind}_idle").fill_null(0.0) * whole, idle)
    rest = (whole - share) / alone.filter(~is_idle).sum().over("storage")
    there = pl.when(is_idle).then(seconds * share / idle).otherwise(alone * rest)
    return pl.when(share > 0).then(there).otherwise(alone)


def blamed(
    lost: pl.DataFrame, company: pl.DataFrame, known: Mapping[int, Capacities], slice_seconds: float
) -> pl.DataFrame:
    """Each neighbour's part of each slice's loss.

    lost: of `lost_time`. company: neighbour, storage, slice, AMOUNTS and {kind}_taken (of `storage_seconds`), a row
    where a neighbour was active. The rows of company with {kind}_lost, in proportion to the storage's time that
    counts against calls of that kind. A slice's loss without company is in no row; where the job made no calls, nothing
    was lost.
    """
    weighted = pl.concat(
        [
            rows.with_columns(
                against(kind, known.get(int(str(storage)), Capacities({}))).alias(f"{kind}_weight") for kind in KINDS
            )
            for (storage,), rows in company.group_by("storage", maintain_order=True)
        ]
        or [company.with_columns(pl.lit(0.0).alias(f"{kind}_weight") for kind in KINDS)]
    )
    joined = weighted.join(
        lost.select("storage", "slice", *(f"{kind}_lost" for kind in KINDS)),
        on=["storage", "slice"],
        how="left",
        maintain_order="left",
    ).with_columns(pl.col(f"{kind}_lost").fill_null(0.0) for kind in KINDS)
    joined = joined.with_columns(_where_others_cost_too(joined, lost))
    all_the_time = _lost_all_the_time(joined, lost)
    in_calls = lost.select("storage", "slice", *SECONDS.values())
    joined = joined.join(in_calls, on=["storage", "slice"], how="left", maintain_order="left")
    stretch = pl.col("slice") // max(1, round(TOGETHER_SECONDS / slice_seconds))

    def part(kind: Kind) -> pl.Expr:
        weight = pl.col(f"{kind}_weight")
        share = (weight / weight.sum().over("storage", "slice")).fill_nan(0.0)
        loss = pl.col(f"{kind}_lost") * share
        lost_together, took = (one.sum().over("storage", stretch) for one in (loss, weight))
        most = MOST_FOR_ITS_TIME * took
        cost = (most - (lost_together - FAR_MORE_LOST * most).clip(0)).clip(took, None)
        without = pl.col("storage").replace_strict(all_the_time[kind], default=0.0, return_dtype=pl.Float64)
        without = (without * pl.col(SECONDS[kind]).fill_null(0.0) * share).sum().over("storage", stretch)
        cost = pl.min_horizontal(cost, lost_together, (lost_together - without).clip(took, None))
        return pl.when(lost_together > cost).then(loss * cost / lost_together).otherwise(loss)

    return (
        joined.with_columns(part(kind).alias(f"{kind}_lost") for kind in KINDS)
        .drop(f"{kind}_weight" for kind in KINDS)
        .select(
            "neighbour",
            "storage",
            "slice",
            *AMOUNTS.values(),
            *(f"{kind}_lost" for kind in KINDS),
            storage_seconds=pl.sum_horizontal(f"{kind}_taken" for kind in KINDS),
            lost_seconds=pl.sum_horizontal(f"{kind}_lost" for kind in KINDS),
        )
        .sort("slice", "storage", "neighbour", nulls_last=True)
    )


def _lost_all_the_time(joined: pl.DataFrame, lost: pl.DataFrame) -> dict[Kind, dict[object, float]]:
    """By kind and storage, the share of the time in calls that was lost in slices without any company, at the least,
    where all who were there can have cost next to nothing of the loss: whatever did was there in the other slices, too.
    """
    found: dict[Kind, dict[object, float]] = {kind: {} for kind in KINDS}
    quiet = lost.join(joined, on=["storage", "slice"], how="anti")
    for (storage,), here in quiet.group_by("storage"):
        for kind in KINDS:
            its, there = here.filter(pl.col(SECONDS[kind]) > 0), pl.col("storage") == storage
            most = MOST_FOR_ITS_TIME * float(joined.filter(there)[f"{kind}_weight"].sum())
            if len(its) >= FEWEST_SLICES and most < float(lost.filter(there)[f"{kind}_lost"].sum()):
                share = _lost_share(its[f"{kind}_lost"].to_numpy(), its[SECONDS[kind]].to_numpy())[0]
                found[kind][storage] = max(0.0, share)
    return found


def _where_others_cost_too(joined: pl.DataFrame, lost: pl.DataFrame) -> list[pl.Expr]:
    """{kind}_weight, and of slices in which only calls of other kinds were made, which do not meet this one on the
    storage: the storage's time of those, if the job was clearly slower in them than without any company.

    What a storage has room for may yet cost time: answers wait in the same queues.
    """
    taken = pl.sum_horizontal(f"{kind}_taken" for kind in KINDS)
    place, weights = ["storage", "slice"], [f"{kind}_weight" for kind in KINDS]
    there = joined.group_by(place, maintain_order=True).agg(pl.col(weights).sum(), taken=taken.sum())
    rows = lost.select(*place, *SECONDS.values(), *(f"{kind}_lost" for kind in KINDS))
    rows = rows.join(there, on=place, how="left", maintain_order="left")
    costs: dict[Kind, list[object]] = {kind: [] for kind in KINDS}
    for (storage,), here in rows.group_by("storage", maintain_order=True):
        for kind in KINDS:
            names = (SECONDS[kind], f"{kind}_lost", f"{kind}_weight", "taken")
            seconds, *others = (here[name].to_numpy() for name in names)
            is_made = seconds > 0
            if cost_too(seconds[is_made], *(values[is_made] for values in others)):
                costs[kind].append(storage)

    def weight_of(kind: Kind) -> pl.Expr:
        weight = pl.col(f"{kind}_weight")
        is_apart = weight.sum().over(place) == 0
        return (
            pl.when(is_apart & pl.col("storage").is_in(costs[kind]))
            .then(taken)
            .otherwise(weight)
            .alias(f"{kind}_weight")
        )

    return [weight_of(kind) for kind in KINDS if costs[kind]]


def cost_too(seconds: Floats, lost: Floats, weight: Floats, taken: Floats) -> bool:
    """Whether calls were clearly slower beside others that do not meet them on the storage than without any company.

    A value a slice with such calls: seconds in them, seconds lost, and the storage's time of others, as far as it
    counts against them (weight) and in all (taken; NaN: no company).
    """
    beside, by_itself = (weight == 0) & (taken > 0), np.isnan(taken)
    if min(beside.sum(), by_itself.sum()) < FEWEST_SLICES:
        return False
    return _lost_share(lost[beside], seconds[beside])[0] > _lost_share(lost[by_itself], seconds[by_itself])[1]


def _lost_share(over: Floats, under: Floats) -> tuple[float, float]:
    """The share of the time in calls that was lost in some slices: its bounds, 95 %."""
    share = float(over.sum() / under.sum())
    left = over - share * under
    error = error_of_rest(left, under)
    return share - error, share + error
