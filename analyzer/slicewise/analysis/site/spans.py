"""Some time of a catalog in parts, each of which can be asked by itself, by whoever has the catalog's files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from slicewise.catalog.store import NS_A_DAY, Batch, Catalog
from slicewise.contract import seconds_allowed

# A job's first slice began before it, and on a grid of longer slices it begins earlier still.
MARGIN_NS = 2 * int(seconds_allowed("SLICEWISE_SLICE")[1] * 1e9)


@dataclass(frozen=True)
class Span:
    """A part of some time, at most a day: slices that begin in [begin_ns, until_ns) of those that touch [start_ns,
    end_ns). batches: where such can be.
    """

    batches: Sequence[Batch]
    begin_ns: int
    until_ns: int
    start_ns: int
    end_ns: int

    def rows(self, catalog: Path, begin: pl.Expr) -> pl.LazyFrame:
        """The rows of `job_slices` that are in it. begin: when a row is said to begin."""
        touched = (pl.col("begin_ns") < self.end_ns, pl.col("end_ns") > self.start_ns)
        rows = Catalog(catalog).scan("job_slices", self.batches)
        return rows.filter(*touched, begin >= self.begin_ns, begin < self.until_ns)


def spans_of(batches: Sequence[Batch], start_ns: int, end_ns: int) -> list[Span]:
    """The time between two instants, as far as batches have jobs then, day by day."""
    if not batches:
        return []
    first = (max(start_ns, min(batch.start_ns for batch in batches)) - MARGIN_NS) // NS_A_DAY
    last = (min(end_ns, max(batch.end_ns for batch in batches)) + MARGIN_NS) // NS_A_DAY
    spans = []
    for day in range(first, last + 1):
        begin_ns, until_ns = day * NS_A_DAY, (day + 1) * NS_A_DAY
        near = [
            batch for batch in batches if batch.start_ns - MARGIN_NS < until_ns and batch.end_ns + MARGIN_NS >= begin_ns
        ]
        if near:
            spans.append(Span(near, begin_ns, until_ns, start_ns, end_ns))
    return spans
