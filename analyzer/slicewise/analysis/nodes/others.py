"""Neighbours without a profile on the job's nodes: what each user's processes moved while the job ran.

Digest's frames in, frames out. These are the kernel's counts, of descriptors of whatever kind, as root's collector
sampled them.
"""

from __future__ import annotations

import polars as pl

from slicewise.digest.activity import DIRECTIONS
from slicewise.digest.digest import Digest

COUNTS = [f"{way}_{what}" for what in ("bytes", "ops") for way in DIRECTIONS]
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
