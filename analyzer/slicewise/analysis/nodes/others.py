"""Neighbours without a profile on the job's nodes: what each user's processes moved while the job ran.

Digest's frames in, frames out. These are the kernel's counts, of descriptors of whatever kind, as root's collector
sampled them.
"""

from dataclasses import dataclass

import polars as pl

from slicewise.constants import LEAST_OF_RATE
from slicewise.digest.activity import DIRECTIONS, Direction
from slicewise.digest.digest import Digest
from slicewise.scalars import whole

COUNTS = [f"{way}_{what}" for what in ("bytes", "ops") for way in DIRECTIONS]
# A slice is slow in which a byte took so many times as long as in the job's median slice with I/O; one that moved next
# to nothing beside the mean one says nothing.
SLOW = 2.0
FEWEST_WITH_IO = 3
STORAGE_COUNTS = [f"storage_{way}_bytes" for way in DIRECTIONS]


def by_user(digest: Digest) -> pl.DataFrame:
    """node, user (null: all whom the site does not name), is_own_user (of the job's user), processes (at most), the
    counts in sum, busiest_ns (when the slice began in which most bytes were moved): those that moved most first.
    """
    rows = digest.others
    own = digest.about["user"]
    moved = pl.sum_horizontal(f"{way}_bytes" for way in DIRECTIONS)
    return (
        rows.with_columns(moved=moved)
        .sort("moved", "slice", descending=[True, False])
        .group_by("node", "user", maintain_order=True)
        .agg(
            pl.col("processes").max(),
            pl.col(*COUNTS, *STORAGE_COUNTS, "moved").sum(),
            busiest_ns=pl.col("slice").first() * digest.node_slice_ns,
        )
        .with_columns(is_own_user=(pl.col("user") == own).fill_null(value=False))
        .sort("moved", "node", "user", descending=[True, False, False], nulls_last=True)
        .select("node", "user", "is_own_user", "processes", *COUNTS, *STORAGE_COUNTS, "busiest_ns")
    )


@dataclass(frozen=True)
class BesideSlow:
    """What neighbours without a profile moved on the job's nodes together (bytes/s) in slices in which the job was slow
    in the direction in which it moved most, and in its other slices with I/O. slow, other: how many slices those are.

    That both come together is no proof: which file system the neighbours used is not known.
    """

    direction: Direction
    slow: int
    other: int
    slow_rate: float
    other_rate: float


def beside_slow(digest: Digest) -> BesideSlow | None:
    """None where nobody else was sampled, the slices are of different lengths, or too few are slow."""
    if digest.others.is_empty() or digest.node_slice_ns != digest.slice_ns:
        return None
    own = digest.processes.filter("is_of_job")
    way = max(DIRECTIONS, key=lambda direction: whole(own[f"{direction}_bytes"].sum()))
    did = (
        digest.process_slices.join(own, on="process", how="semi")
        .group_by("slice")
        .agg(bytes=pl.col(f"{way}_bytes").sum(), ns=pl.col(f"{way}_ns").sum())
    )
    both = [f"{direction}_bytes" for direction in DIRECTIONS]
    moved = digest.others.group_by("slice").agg(moved=pl.sum_horizontal(pl.col(both).sum()))
    rows = (
        did.filter(pl.col("bytes") >= LEAST_OF_RATE * pl.col("bytes").mean(), pl.col("bytes") > 0)
        .join(digest.node_samples.select("slice").unique(), on="slice", how="semi")
        .join(moved, on="slice", how="left")
        .with_columns(pl.col("moved").fill_null(0), price=pl.col("ns") / pl.col("bytes"))
        .with_columns(is_slow=pl.col("price") > SLOW * pl.col("price").median())
    )
    slow, other = rows.filter("is_slow")["moved"], rows.filter(~pl.col("is_slow"))["moved"]
    if min(len(slow), len(other)) < FEWEST_WITH_IO:
        return None
    seconds = digest.slice_ns / 1e9
    rates = [whole(part.sum()) / len(part) / seconds for part in (slow, other)]
    return BesideSlow(way, len(slow), len(other), *rates)
