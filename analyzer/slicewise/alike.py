"""Rows that lie in some order, and where in it those begin that are alike: sums over these need no table of groups."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl


def is_ordered(rows: pl.DataFrame, by: Sequence[str]) -> bool:
    is_after = np.ones(max(0, rows.height - 1), bool)
    for name in reversed(by):
        values = rows[name].to_numpy()
        is_after &= values[1:] == values[:-1]
        is_after |= values[1:] > values[:-1]
    return bool(is_after.all())


def begins_of_alike(*columns: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The places of rows that differ from the one before in any of some columns; the first one does."""
    is_new = np.ones(len(columns[0]), bool)
    is_new[1:] = np.logical_or.reduce([values[1:] != values[:-1] for values in columns])
    return np.flatnonzero(is_new)
