"""Rows of many frames put together to one data frame a table: columns grow as bytes, and are merged one by one.

A profile has hundreds of thousands of rows of many columns, so that no more than one column at a time exists twice.
"""

import numpy as np
import polars as pl
from slicewise.profile.schema import PayloadColumn, PayloadTable, Schema
from support.plain_frames import Chunk

UNKNOWN_NAME = "unknown"
DTYPES = {"STRING": pl.String, "ENUM": pl.String, "I64": pl.Int64, "U64": pl.UInt64}


class Rows:
    """The rows of one table as they come, of all processes and files; schemas may differ in their columns' places.

    Columns are known by name. What a schema or a chunk does not hold is zero, or an empty string.
    """

    def __init__(self) -> None:
        self.count = 0
        self._columns: dict[str, PayloadColumn] = {}
        self._keys: list[str] = []
        self._adds_up = False
        self._names: dict[str, list[str]] = {}
        self._numbers: dict[str, bytearray] = {}
        self._strings: dict[str, list[str]] = {}
        self._processes = bytearray()
        self._frames = bytearray()

    def declare(self, table: PayloadTable, schema: Schema, bins: bool) -> None:
        """Make a schema's columns of this table known, with or without those of bins; they will be in the frame."""
        self._keys = self._keys or table.keys
        self._adds_up = table.rows == "ADD"
        for column in table.columns:
            if bins or not column.bins:
                self._columns.setdefault(column.name, column)
            if column.enumeration:
                names = self._names.setdefault(column.enumeration, [UNKNOWN_NAME])
                names.extend(name for name in schema.enumerations[column.enumeration] if name not in names)

    def add(self, chunk: Chunk, process: int, frame_number: int, schema: Schema) -> None:
        """Append a chunk's rows. Its table must have been declared."""
        for place, column in enumerate(chunk.table.columns):
            if column.enumeration:
                codes = chunk.columns.pop(place, None)
                codes = np.zeros(chunk.rows, np.uint64) if codes is None else codes
                self._append_numbers(column.name, self._common_codes(column.enumeration, codes, schema))
        for place, values in chunk.columns.items():
            name = chunk.table.columns[place].name
            if isinstance(values, list):
                strings = self._strings.setdefault(name, [])
                strings.extend([""] * (self.count - len(strings)))
                strings.extend(values)
            else:
                self._append_numbers(name, values)
        self.count += chunk.rows
        self._processes += np.full(chunk.rows, process, np.uint64).data
        self._frames += np.full(chunk.rows, frame_number, np.uint64).data

    def _append_numbers(self, name: str, values: np.ndarray) -> None:
        numbers = self._numbers.setdefault(name, bytearray())
        _fill_up(numbers, self.count)
        numbers += values.data

    def _common_codes(self, enumeration: str, codes: np.ndarray, schema: Schema) -> np.ndarray:
        """A schema's numbers of names as places in `_names`, where 0 is the name of what the schema does not list."""
        names = self._names[enumeration]
        common = np.array([*(names.index(name) for name in schema.enumerations[enumeration]), 0], np.uint64)
        return common[np.minimum(codes, len(common) - 1)]

    def spans(self, name: str) -> pl.DataFrame:
        """The least and the greatest value of a column in each frame: process, frame, least, greatest."""
        return (
            pl.DataFrame(
                {
                    "process": _array(self._processes, self.count),
                    "frame": _array(self._frames, self.count),
                    "value": _array(self._numbers.get(name, bytearray()), self.count),
                }
            )
            .group_by("process", "frame")
            .agg(least=pl.col("value").min(), greatest=pl.col("value").max())
        )

    def to_frame(self) -> pl.DataFrame:
        """All rows, merged as the table asks, sorted by process and keys. Uses up what is held here.

        Columns: process (u64), then those that were declared; numbers are u64, or i64 where the schema says so; names
        of enumerations and strings are strings.
        """
        process = _array(self._processes, self.count)
        keys = [process, *(_array(self._numbers[name], self.count) for name in self._keys if name in self._numbers)]
        ranks = keys if self._adds_up else [*keys, _array(self._frames, self.count)]
        order = np.lexsort(ranks[::-1])
        starts = _group_starts([key[order] for key in keys])
        series = [pl.Series("process", process[order[starts]])]
        series += [self._merged(column, order, starts) for column in self._columns.values() if self._holds(column.name)]
        absent = [
            pl.lit("" if column.type == "STRING" else 0, DTYPES[column.type]).alias(column.name)
            for column in self._columns.values()
            if not self._holds(column.name)
        ]
        self._numbers.clear()
        self._strings.clear()
        return pl.DataFrame(series).with_columns(absent).select("process", *self._columns)

    def _holds(self, name: str) -> bool:
        return name in self._numbers or name in self._strings

    def _merged(self, column: PayloadColumn, order: np.ndarray, starts: np.ndarray) -> pl.Series:
        """One column of the result: a value for each group of rows of one key."""
        lasts = order[np.append(starts[1:], self.count) - 1] if len(starts) else order
        if column.type == "STRING":
            strings = self._strings[column.name]
            strings.extend([""] * (self.count - len(strings)))
            return pl.Series(column.name, strings, pl.String).gather(lasts)
        values = _array(self._numbers[column.name], self.count)
        if not self._adds_up or column.merge not in MERGING or len(starts) == self.count:
            values = values[lasts]
        else:
            values = MERGING[column.merge].reduceat(values[order], starts)
        # From here on the bytes are needed no more; the largest table has many columns.
        self._numbers[column.name] = bytearray()
        if column.enumeration:
            return pl.Series(column.name, self._names[column.enumeration], pl.String).gather(values)
        return pl.Series(column.name, values.view(np.int64) if column.type == "I64" else values)


MERGING = {"SUM": np.add, "MAX": np.maximum}


def _array(numbers: bytearray, count: int) -> np.ndarray:
    _fill_up(numbers, count)
    return np.frombuffer(numbers, np.uint64)


def _fill_up(numbers: bytearray, count: int) -> None:
    """Zeros for the rows that came without this column."""
    missing = count * np.dtype(np.uint64).itemsize - len(numbers)
    if missing > 0:
        numbers += bytes(missing)


def _group_starts(keys: list[np.ndarray]) -> np.ndarray:
    """Where, in sorted rows, a row's keys differ from those of the row before it."""
    differs = np.ones(len(keys[0]), bool)
    differs[1:] = False
    for key in keys:
        differs[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(differs)
