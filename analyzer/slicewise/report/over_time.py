"""Figures of a page that can be told of any time that the reader chooses: sums over slices, added up by its script
(templates/time.js).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from slicewise.charts.style import clock_times
from slicewise.charts.throughput import per_slice

# How a sum is said: bytes, a number of calls, a length of time, seconds, bytes a second (by the time's length).
FigureKind = Literal["size", "count", "duration", "seconds", "rate"]
DIGITS = 6


@dataclass(frozen=True, eq=False)
class OverTime:
    """A figure slice by slice, on the page's axis. Several values each (bytes read and written) are said in a row."""

    kind: FigureKind
    values: Sequence[np.ndarray]


def sums(
    kind: FigureKind, rows: pl.DataFrame, columns: Sequence[str], slices: range, totals: Sequence[float]
) -> OverTime | None:
    """The sums of columns by slice. None where they do not come to the totals that the page says of the whole run: a
    figure with parts in no slice is not told of a time."""
    values = [per_slice(rows, column, slices) for column in columns]
    is_whole = all(
        math.isclose(each.sum(), total, rel_tol=1e-3, abs_tol=1e-6) for each, total in zip(values, totals, strict=True)
    )
    return OverTime(kind, values) if is_whole else None


@dataclass(frozen=True)
class TimeAxis:
    slices: range
    slice_ns: int


def on_clock(time_ns: int) -> int:
    """An instant in the milliseconds of the page's clock axis."""
    return int(clock_times([time_ns // 1_000_000], 1_000_000).astype("int64")[0])


class Timed:
    """The figures of a page by their numbers, as its script finds them."""

    def __init__(self) -> None:
        self._figures: list[OverTime] = []

    def number_of(self, figure: OverTime) -> int:
        self._figures.append(figure)
        return len(self._figures) - 1

    def record(self, axis: TimeAxis | None) -> dict[str, Any] | None:
        """What time.js takes; None where no figure is told of a time."""
        if axis is None or not self._figures or not len(axis.slices):
            return None
        if any(len(values) != len(axis.slices) for figure in self._figures for values in figure.values):
            raise ValueError("a figure has other slices than the page's axis")
        return {
            "first_ms": int(clock_times([axis.slices.start], axis.slice_ns).astype("int64")[0]),
            "slice_ms": axis.slice_ns / 1e6,
            "slices": len(axis.slices),
            "figures": [
                {"kind": figure.kind, "values": [np.round(values, DIGITS).tolist() for values in figure.values]}
                for figure in self._figures
            ],
        }
