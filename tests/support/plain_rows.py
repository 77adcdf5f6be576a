"""Rows of many frames put together to one data frame a table, and merged as the table asks."""

import polars as pl
from slicewise.profile.schema import PayloadColumn, PayloadTable, Schema
from support.plain_frames import Chunk

UNKNOWN_NAME = "unknown"
DTYPES = {"STRING": pl.String, "ENUM": pl.String, "I64": pl.Int64, "U64": pl.UInt64}
PLACE = {"process": pl.UInt64, "frame": pl.UInt64}


class Rows:
    """The rows of one table as they come, of all processes and files; schemas may differ in their columns' places.

    Columns are known by name. What a schema or a chunk does not hold is zero, or an empty string.
    """

    def __init__(self) -> None:
        self._columns: dict[str, PayloadColumn] = {}
        self._keys: list[str] = []
        self._adds_up = False
        self._names: dict[str, list[str]] = {}
        self._chunks: list[pl.DataFrame] = []

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
        columns = {}
        for place, column in enumerate(chunk.table.columns):
            values = chunk.columns.get(place)
            if column.enumeration:
                names = [*schema.enumerations[column.enumeration], UNKNOWN_NAME]
                codes = [0] * chunk.rows if values is None else list(values)
                values = [names[min(int(code), len(names) - 1)] for code in codes]
            elif values is not None and column.type == "I64":
                values = values.view("i8")
            if values is not None:
                columns[column.name] = pl.Series(values, dtype=DTYPES[column.type])
        place = {name: pl.Series([value], dtype=pl.UInt64).new_from_index(0, chunk.rows) for name, value in
                 zip(PLACE, (process, frame_number), strict=True)}  # fmt: skip
        self._chunks.append(pl.DataFrame(place | columns))

    def _rows(self) -> pl.DataFrame:
        schema = PLACE | {name: DTYPES[column.type] for name, column in self._columns.items()}
        rows = pl.concat([pl.DataFrame(schema=schema), *self._chunks], how="diagonal").select(*schema)
        return rows.with_columns(pl.col(pl.String).fill_null(""), pl.col(pl.Int64, pl.UInt64).fill_null(0))

    def spans(self, name: str) -> pl.DataFrame:
        """The least and the greatest value of a column in each frame: process, frame, least, greatest."""
        of = pl.col(name)
        return self._rows().group_by(*PLACE).agg(least=of.min(), greatest=of.max())

    def to_frame(self) -> pl.DataFrame:
        """All rows, merged as the table asks, sorted by process and keys.

        Columns: process (u64), then those that were declared; numbers are u64, or i64 where the schema says so; names
        of enumerations and strings are strings.
        """
        keys = ["process", *self._keys]
        order = [self._in_order(name) for name in keys] + ([] if self._adds_up else [pl.col("frame")])
        merged = [self._merged(column) for name, column in self._columns.items() if name not in keys]
        rows = self._rows().sort(order, maintain_order=True).group_by(keys, maintain_order=True).agg(merged)
        return rows.select("process", *self._columns)

    def _in_order(self, name: str) -> pl.Expr:
        column = self._columns.get(name)
        enumeration = column and column.enumeration
        return pl.col(name).cast(pl.Enum(self._names[enumeration])) if enumeration else pl.col(name)

    def _merged(self, column: PayloadColumn) -> pl.Expr:
        of = pl.col(column.name)
        is_number = self._adds_up and column.type != "STRING" and not column.enumeration
        return (
            of.sum()
            if is_number and column.merge == "SUM"
            else of.max()
            if is_number and column.merge == "MAX"
            else of.last()
        )
