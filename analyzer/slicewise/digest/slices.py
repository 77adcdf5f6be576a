"""What each process did on each storage in each slice, free of layers that lie on each other."""

from __future__ import annotations

import polars as pl

from slicewise.digest.layers import REQUEST_LAYER, is_call, is_own
from slicewise.digest.processes import DIRECTIONS, KINDS

SUMS = (
    *(f"{direction}_bytes" for direction in DIRECTIONS),
    *(f"{kind}_ops" for kind in KINDS),
    *(f"{kind}_ns" for kind in KINDS),
    *(f"{direction}_request_ns" for direction in DIRECTIONS),
)


def process_slices(slices: pl.LazyFrame, mounts: pl.DataFrame) -> pl.LazyFrame:
    """The frame `process_slices` from a profile's rows of (process, mount, layer, slice) and its mounts with their
    storage (see storages.py); rows on anything but files drop out.

    A thread is in the counts of several layers and mounts: `threads` is the largest of them, at least 1.
    """
    is_request = pl.col("layer") == REQUEST_LAYER
    times = [pl.col(f"{kind}_ns").filter(is_call()).sum() for kind in KINDS]
    requests = [
        pl.col(f"{direction}_ns").filter(is_request).sum().alias(f"{direction}_request_ns") for direction in DIRECTIONS
    ]
    return (
        slices.filter(is_own())
        .join(mounts.lazy().select("process", "mount", "storage"), on=["process", "mount"])
        .group_by("process", "storage", "slice")
        .agg(
            *(pl.col(f"{direction}_bytes").sum() for direction in DIRECTIONS),
            *(pl.col(f"{kind}_ops").sum() for kind in KINDS),
            *times,
            *requests,
            pl.col("threads").max().clip(1),
            spread=pl.lit(1),
        )
        .sort("process", "storage", "slice")
    )


def sums() -> list[pl.Expr]:
    """What of `process_slices` adds up over slices, storages and processes."""
    return [pl.col(name).sum() for name in SUMS]
