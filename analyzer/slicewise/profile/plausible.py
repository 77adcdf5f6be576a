"""Whether a profile's numbers are such as a job can have: what sums, times and casts above the reader rely on.

A file may be sound in all its bytes and still say 2^63 calls, or a slice in the year 50000: a crafted one, or one of a
machine whose memory fails. No counter's name is known here; limits go by unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from slicewise.errors import UserError
from slicewise.profile.reading import Source
from slicewise.profile.schema import Schema

# Times are ns since 1970, until 2116. Sums of what is below the other limit, of millions of rows, stay below 2^63.
MOST_NS = (1 << 62) - 1
MOST_OF_ANYTHING = 1 << 61
MOST_SUM = float(1 << 62)
MOST_SLICE_NS = 1 << 50
SLICE, SLICE_NS, RANK = "slice", "slice_ns", "rank"
# Tables of a node's collector, whose slices may be of another length than the job's.
NODES, OF_NODES = "nodes", "node_"
MOST_RANKS = 1 << 40
# What can be laid on one axis of time: two years in slices of 4 s.
MOST_SLICES_ON_AXIS = 1 << 24


def require_plausible(source: Source, tables: Mapping[str, pl.DataFrame], needs_axis: bool) -> None:
    """Raises UserError for numbers that no job has, and for slices that no axis of time can hold, if it needs one."""
    if wrong := _implausible(tables, source.schema, source.slice_ns):
        raise UserError(f"{source.path}: holds numbers that no job has ({wrong}); take an undamaged copy")
    apart_ns = _span_ns(tables, source.slice_ns)
    if needs_axis and apart_ns > MOST_SLICES_ON_AXIS * source.slice_ns:
        days = apart_ns / 1e9 / 86400
        raise UserError(
            f"{source.path}: its slices lie {days:,.0f} days apart (a clock that was set while it ran?), too far for "
            f"an axis of time; see what it holds with: slicewise info {source.path}"
        )


def _implausible(tables: Mapping[str, pl.DataFrame], schema: Schema, slice_ns: int) -> str:
    """The first number that no job has, as "slices.write_ops: 9223372036854775808"; empty if there is none."""
    for name, frame in tables.items():
        if frame.is_empty():
            continue
        limits = dict(_limits(name, frame, schema, _slice_ns_of(name, tables, slice_ns)))
        if not limits:
            continue
        found = frame.select(pl.col(column).max() for column in limits).row(0)
        sums = frame.select(pl.col(column).cast(pl.Float64).sum() for column in limits).row(0)
        for (column, (most, most_sum)), greatest, total in zip(limits.items(), found, sums, strict=True):
            if greatest > most or total >= most_sum:
                return f"{name}.{column}: {greatest}"
        if RANK in frame.columns and frame[RANK].min() < -1:
            return f"{name}.{RANK}: {frame[RANK].min()}"
    return ""


def _slice_ns_of(name: str, tables: Mapping[str, pl.DataFrame], slice_ns: int) -> int:
    """The length of a slice of a table: that of the collectors for tables of nodes, else the job's."""
    is_of_node = name.startswith(OF_NODES) and SLICE_NS in tables[NODES].columns
    return (tables[NODES][SLICE_NS].max() or slice_ns) if is_of_node else slice_ns


def _span_ns(tables: Mapping[str, pl.DataFrame], slice_ns: int) -> int:
    """From the first slice of anything to the last one."""
    spans = [
        (int(frame[SLICE].min()) * length, int(frame[SLICE].max()) * length)
        for name, frame in tables.items()
        if SLICE in frame.columns and not frame.is_empty()
        for length in (_slice_ns_of(name, tables, slice_ns),)
    ]
    return max(last for _, last in spans) - min(first for first, _ in spans) if spans else 0


def _limits(name: str, frame: pl.DataFrame, schema: Schema, slice_ns: int) -> Iterator[tuple[str, tuple[int, float]]]:
    """(column, (the greatest value, below what the sum of all must be)) of the columns that are not mere identities."""
    columns = {column.name: column for table in schema.tables if table.name == name for column in table.columns}
    for column in frame.columns:
        known = columns.get(column)
        if known is None or not frame.schema[column].is_integer():
            continue
        if column == SLICE:
            yield column, (MOST_NS // slice_ns - 1, float("inf"))
        elif column == SLICE_NS:
            yield column, (MOST_SLICE_NS, float("inf"))
        elif column == RANK:
            yield column, (MOST_RANKS, float("inf"))
        elif known.unit == "ns":
            yield column, (MOST_NS, MOST_SUM if known.merge == "SUM" else float("inf"))
        elif known.unit or known.merge not in ("LAST", "KEY"):
            yield column, (MOST_OF_ANYTHING, MOST_SUM)
