"""Runs of equal rows in ordered frames, and where they begin: sums over these need no table of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def rows_of(frame: pl.DataFrame, by: str) -> dict[int, tuple[int, int]]:
    """Where the rows of each value of a column begin, and how many they are. Rows with one value stand together."""
    if frame.is_empty():
        return {}
    runs = frame[by].rle().struct.unnest()
    return dict(zip(runs["value"], zip(runs["len"].cum_sum() - runs["len"], runs["len"], strict=True), strict=True))


def is_ordered(rows: pl.DataFrame, by: Sequence[str]) -> bool:
    import numpy as np  # what reads profiles does without

    is_after = np.ones(max(0, rows.height - 1), bool)
    for name in reversed(by):
        values = rows[name].to_numpy()
        is_after &= values[1:] == values[:-1]
        is_after |= values[1:] > values[:-1]
    return bool(is_after.all())


def begins_of_equal_rows(*columns: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The places of rows that differ from the one before in any of some columns; the first one does."""
    import numpy as np

    is_new = np.ones(len(columns[0]), bool)
    is_new[1:] = np.logical_or.reduce([values[1:] != values[:-1] for values in columns])
    return np.flatnonzero(is_new)
