"""The tables that a caller wants, as the decoder needs it said: the only place where names meet its numbers. Plans are
made once for each combination of schemas and wishes.
"""

from __future__ import annotations

import ctypes
import functools
from ctypes import POINTER, c_char_p, c_int32, c_uint8, c_uint32
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import polars as pl

from slicewise.profile import native
from slicewise.profile.damage import Damage
from slicewise.profile.native import Decoder
from slicewise.profile.schema import PayloadColumn, PayloadTable, Schema

UNKNOWN_NAME = "unknown"
DTYPES = {"STRING": pl.String, "ENUM": pl.String, "I64": pl.Int64, "U64": pl.UInt64}
TYPES = {"STRING": native.TEXT, "ENUM": native.NAME, "I64": native.I64, "U64": native.U64}
MERGES = {"KEY": native.KEY, "SUM": native.SUM, "MAX": native.MAX, "LAST": native.LAST}
# Times in ns since 1970 are below these numbers, and so are counts and sums of them.
SUSPECT_NUMBER, SUSPECT_SUM = 1 << 61, 1 << 62
# Names the job that a row is of, where several are read together.
SOURCE = "profile"
# The numbers of slices: signed, since differences of them are taken; no clock reads 2^63 slices.
SLICE = "slice"
# Its slices say how much time is missing with a frame.
SPANNED_TABLE = "slices"


@dataclass(frozen=True)
class Want:
    """A table that is wanted. table: its name in the schema. columns: the columns besides the process and the keys,
    which always come along; the name of a column of bins ("write_size") stands for all its bins. None: all columns but
    those of bins. bins: all columns of bins too. summed_over: keys that rows are added up over, and which the result
    then lacks (of tables whose rows add up alone): over "slice", a distribution of a whole job is as small as one of a
    slice. last_of: keys that rows are added up over too, and of which the greatest value stays. without, only: a key
    whose values are names (it may be one of summed_over), and the names whose rows are left out, or alone are taken.
    """

    table: str
    columns: tuple[str, ...] | None = None
    bins: bool = False
    summed_over: tuple[str, ...] = ()
    last_of: tuple[str, ...] = ()
    without: tuple[str, tuple[str, ...]] | None = None
    only: tuple[str, tuple[str, ...]] | None = None

    @property
    def chosen_by(self) -> str | None:
        """The key whose names say which rows are left out."""
        chosen = self.without or self.only
        return chosen[0] if chosen is not None else None

    def leaves_out(self, name: str) -> bool:
        """Whether rows with this name in `chosen_by` are left out."""
        return (self.without is not None and name in self.without[1]) or (
            self.only is not None and name not in self.only[1]
        )

    def asks(self, column: PayloadColumn, is_key: bool) -> bool:
        """Whether the column is needed, be it only to say which rows are left out."""
        return self.takes(column, is_key) or (is_key and column.name == self.chosen_by)

    def takes(self, column: PayloadColumn, is_key: bool) -> bool:
        if is_key:
            return column.name not in self.summed_over
        if column.bins and self.bins:
            return True
        if self.columns is None:
            return not column.bins
        return column.name in self.columns or (bool(column.bins) and column.bins in self.columns)


@functools.lru_cache(maxsize=256)
def layout(schema: Schema, wants: tuple[Want, ...]) -> native.Layout:
    """How the decoder sees a schema: what it keeps of each table, and flags of all columns."""
    flags = bytearray()
    tables = []
    for table in schema.tables:
        own = [want for want in wants if want.table == table.name]
        rows = [want for want in own if not _is_of_sums(want, table)]
        sums = [want for want in own if _is_of_sums(want, table)]
        sieve, left_out = _sieve(schema, table, rows)
        flags += bytes(_flags(column, table, rows, sums, sieve) for column in table.columns)
        tables.append((len(table.columns), bool(rows), left_out))
    return tuple(tables), bytes(flags)


def _flags(
    column: PayloadColumn, table: PayloadTable, rows: list[Want], sums: list[Want], sieve: PayloadColumn | None
) -> int:
    is_key = column.merge == "KEY"
    is_slice = is_key and column.name == SLICE
    return (
        (native.STRING if column.type == "STRING" else 0)
        | (native.WANTED if any(want.asks(column, is_key) for want in rows) else 0)
        | (native.SIGNED if is_slice else 0)
        | (native.SPANNED if is_slice and table.name == SPANNED_TABLE else 0)
        | (native.SIEVE if column is sieve else 0)
        | _reduced(column, [want for want in sums if want.asks(column, is_key)])
    )


def _is_of_sums(want: Want, table: PayloadTable) -> bool:
    """Whether a wanted table is made of sums, which the decoder makes of each frame's rows, rather than of the rows."""
    others = [column for column in table.columns if column.merge != "KEY" and want.takes(column, False)]
    can_be = all(column.merge in ("SUM", "MAX") and column.type in ("U64", "I64") for column in others)
    return bool(want.last_of) and table.rows == "ADD" and can_be


def _reduced(column: PayloadColumn, wants: list[Want]) -> int:
    """What becomes of a column in sums that these wants take it from."""
    if not wants:
        return 0
    if column.merge == "SUM":
        return native.REDUCED_SUM
    is_greatest = column.merge == "MAX" or all(column.name in want.last_of for want in wants)
    return native.REDUCED_MAX if is_greatest else native.REDUCED_KEY


def _sieve(schema: Schema, table: PayloadTable, wants: list[Want]) -> tuple[PayloadColumn | None, int]:
    """The column by which rows are left out that no want has, and its numbers that are left out, as bits."""
    keys = {want.chosen_by for want in wants}
    name = keys.pop() if len(keys) == 1 else None
    column = table.columns[table.places[name]] if name is not None and name in table.places else None
    if column is None or column.merge != "KEY":
        return None, 0
    names = schema.enumerations.get(column.enumeration, ())[: native.SIEVED_VALUES]
    return column, sum(1 << at for at, known in enumerate(names) if all(want.leaves_out(known) for want in wants))


@dataclass(frozen=True)
class TablePlan:
    """How one table is made of the chunks of several schemas, and the frame that it is without rows."""

    native: native.Plan
    columns: tuple[str, ...]
    empty: pl.DataFrame
    kept: list[object]  # what the plan's pointers point to

    def frame(self, decoder: Decoder) -> tuple[pl.DataFrame, frozenset[str]]:
        """The table of what the decoder has loaded: all columns, in the order of the schemas; and which of its columns
        hold numbers so large that one should ask whether a job can have them.
        """
        made = decoder.table(self.native)
        if made is None:
            return self.empty, frozenset()
        frame, bounds = made
        rows = frame.height
        suspects = frozenset(
            name
            for name, bound in zip(self.columns, bounds, strict=False)
            if bound.bits >= SUSPECT_NUMBER or (bound.high_sum + rows) << 32 >= SUSPECT_SUM
        )
        present = set(frame.columns)
        absent = [
            pl.lit("" if dtype == pl.String else 0, dtype).alias(name)
            for name, dtype in self.empty.schema.items()
            if name not in present
        ]
        return (frame.with_columns(absent).select(self.empty.columns) if absent else frame), suspects


@functools.lru_cache(maxsize=1024)
def plan(want: Want, added: tuple[Schema, ...], order: tuple[int, ...], is_named: bool) -> TablePlan:
    """The plan of a table. added: the schemas in the order in which the decoder knows them; order: their places, in the
    order in which their columns and names count; is_named: whether there is a column `profile`. Raises ValueError where
    rows would be added up that replace each other.
    """
    tables = [next((table for table in schema.tables if table.name == want.table), None) for schema in added]
    columns: dict[str, PayloadColumn] = {}
    for place in order:
        if (table_there := tables[place]) is not None:
            for column in table_there.columns:
                if want.asks(column, column.merge == "KEY"):
                    columns.setdefault(column.name, column)
    numbers = [
        -1 if table is None else added[at].tables.index(table) + (native.SUMS if _is_of_sums(want, table) else 0)
        for at, table in enumerate(tables)
    ]
    kept: list[object] = [_array(c_int32, numbers)]
    made = [_column(column, want, added, tables, order, kept) for column in columns.values()]
    shown = {column.name: column for column in columns.values() if want.takes(column, column.merge == "KEY")}
    native_columns = (native.NativeColumn * max(1, len(made)))(*made)
    kept.append(native_columns)
    first = next((tables[place] for place in order if tables[place] is not None), None)
    summed_over = (*want.summed_over, *want.last_of)
    if summed_over and first is not None and first.rows != "ADD":
        raise ValueError(f"rows of {want.table} do not add up: there is nothing to sum over {summed_over}")
    result = native.Plan(
        tables=kept[0],
        columns=native_columns,
        column_count=len(made),
        adds_up=int(first is not None and first.rows == "ADD"),
        source_name=SOURCE.encode() if is_named else None,
    )
    schema: dict[str, type[pl.DataType]] = {SOURCE: pl.UInt32} if is_named else {}
    schema["process"] = pl.UInt64
    schema |= {
        column.name: pl.Int64 if _type(column, want) == native.I64 else DTYPES[column.type] for column in shown.values()
    }
    return TablePlan(result, tuple(columns), pl.DataFrame(schema=schema), kept)


def _type(column: PayloadColumn, want: Want) -> int:
    is_slice = want.table == SPANNED_TABLE and column.merge == "KEY" and column.name == SLICE
    return native.I64 if is_slice else TYPES[column.type]


def _column(
    column: PayloadColumn,
    want: Want,
    added: tuple[Schema, ...],
    tables: list[PayloadTable | None],
    order: tuple[int, ...],
    kept: list[object],
) -> native.NativeColumn:
    places = _array(c_int32, [-1 if table is None else table.places.get(column.name, -1) for table in tables])
    kept.append(places)
    merge = native.MAX if column.name in want.last_of else MERGES[column.merge]
    if column.unit == "threads" and want.chosen_by in want.summed_over:  # a thread may be in several layers
        merge = native.GREATEST
    made = native.NativeColumn(name=column.name.encode(), type=_type(column, want), merge=merge, places=places)
    if column.type == "ENUM":
        listed = [_names(column.name, schema, table) for schema, table in zip(added, tables, strict=True)]
        names = {UNKNOWN_NAME: 0}
        for place in order:
            for name in listed[place]:
                names.setdefault(name, len(names))
        codes = [_array(c_uint32, [names[name] for name in own]) for own in listed]
        encoded = [name.encode(errors="replace") for name in names]
        made.codes = (POINTER(c_uint32) * len(codes))(*(ctypes.cast(array, POINTER(c_uint32)) for array in codes))
        made.code_counts = _array(c_uint32, [len(own) for own in listed])
        made.names = (c_char_p * len(encoded))(*encoded)
        made.name_bytes = _array(c_uint32, [len(name) for name in encoded])
        made.name_count = len(encoded)
        kept += [codes, encoded]
        if column.name == want.chosen_by and column.merge == "KEY":
            made.is_kept = _array(c_uint8, [not want.leaves_out(name) for name in names])
            made.is_summed_over = column.name in want.summed_over
            kept.append(made.is_kept)
    return made


def _names(column: str, schema: Schema, table: PayloadTable | None) -> tuple[str, ...]:
    place = None if table is None else table.places.get(column)
    return () if table is None or place is None else schema.enumerations.get(table.columns[place].enumeration, ())


Number = TypeVar("Number", c_int32, c_uint32)


def _array(kind: type[Number], values: list[int]) -> ctypes.Array[Number]:
    return (kind * max(1, len(values)))(*values)


@dataclass(frozen=True)
class Source:
    """One job that was read. number: the value of its rows' column `profile`; slice_ns: the length of its slices;
    schema: that of its first file; damage: what could not be read, empty where all is well. schemas: how many different
    ones its files hold.
    """

    number: int
    path: Path
    job: str
    slice_ns: int
    schema: Schema
    damage: tuple[Damage, ...]
    schemas: int
