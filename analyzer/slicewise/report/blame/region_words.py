"""Which occurrences of a program's regions lost most, and to whom, in words."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from slicewise.analysis.job.regions import KEY
from slicewise.constants import NEARLY_ALL, TRIVIAL
from slicewise.text import words

MOST_LOST, MOST_LOOKED_AT = 3, 100


def _of_each(lost: pl.DataFrame) -> pl.DataFrame:
    """One row an occurrence, with the neighbour that cost it most, the most first."""
    ordered = lost.sort("lost_seconds", descending=True, maintain_order=True)
    return (
        ordered.group_by(*KEY, "begin_ns", "end_ns", maintain_order=True)
        .agg(pl.col("lost_seconds").sum(), worst=pl.col("neighbour").first(), neighbours=pl.len())
        .sort("lost_seconds", *KEY, descending=[True, False, False])
    )


def lost_lines(lost: pl.DataFrame, whole: float, unprofiled: str) -> Iterator[str]:
    """Which occurrences lost most, and to whom, in one sentence. lost: of `lost_in_regions`. whole: what the job lost.
    unprofiled: what is said of those without a profile. Of two, one within the other, with nearly the same loss the
    inner one says more."""
    told: list[dict[str, Any]] = []
    rows = _of_each(lost).filter(pl.col("lost_seconds") >= TRIVIAL * whole).head(MOST_LOOKED_AT).to_dicts()
    for row in rows:
        is_around = any(
            row["begin_ns"] <= other["begin_ns"]
            and other["end_ns"] <= row["end_ns"]
            and other["end_ns"] - other["begin_ns"] < row["end_ns"] - row["begin_ns"]
            and other["lost_seconds"] >= NEARLY_ALL * row["lost_seconds"]
            for other in rows
        )
        told += [] if is_around else [row]
    if not told:
        return
    parts = []
    for row in told[:MOST_LOST]:
        others = f" and {words.count(row['neighbours'] - 1, 'other')}" if row["neighbours"] > 1 else ""
        to = unprofiled if row["worst"] is None else row["worst"]
        which = f"{row['region']} {row['occurrence']:,}"
        parts.append(f"{which} lost {words.duration(row['lost_seconds'])} to {to}{others}")
    yield words.sentence(f"By region: {words.listing(parts)}")
