"""Whether a profile's numbers are such as a job can have: what sums, times and casts above the reader rely on.

A file may be sound in all its bytes and still say 2^63 calls, or a slice in the year 50000: a crafted one, or one of a
machine whose memory fails. No counter's name is known here; limits go by unit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import polars as pl

from slicewise.errors import UserError
from slicewise.profile.plan import SOURCE as PROFILE
from slicewise.profile.schema import Schema
from slicewise.profile.source import Source
from slicewise.scalars import whole, whole_or_none

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


def require_plausible(
    sources: Sequence[Source],
    tables: Mapping[str, pl.DataFrame],
    names: Mapping[str, str],
    suspects: Mapping[str, Collection[str]],
) -> None:
    """Raises UserError for numbers that no job has.

    names: of each of `tables` what its schema calls it. suspects: by table, the columns of which it is not known yet
    that their numbers are small enough (TablePlan.frame).
    """
    slice_ns = max(source.slice_ns for source in sources)
    schemas = dict.fromkeys(source.schema for source in sources)
    if not any(_implausible(tables, names, suspects, schema, slice_ns) for schema in schemas):
        return
    for source in sources:
        own = {
            name: frame.filter(pl.col(PROFILE) == source.number) if PROFILE in frame.columns else frame
            for name, frame in tables.items()
        }
        if wrong := _implausible(own, names, suspects, source.schema, source.slice_ns):
            raise UserError(f"{source.path}: holds numbers that no job has ({wrong}); take an undamaged copy")


def require_axis(source: Source, tables: Mapping[str, pl.DataFrame]) -> None:
    """Raises UserError for slices that no axis of time can hold. tables: of one job, by the names of its schema."""
    apart_ns = _span_ns(tables, source.slice_ns)
    if apart_ns > MOST_SLICES_ON_AXIS * source.slice_ns:
        days = apart_ns / 1e9 / 86400
        raise UserError(
            f"{source.path}: its slices lie {days:,.0f} days apart (a clock that was set while it ran?), too far for "
            f"an axis of time; see what it holds with: slicewise info {source.path}"
        )


def require_axes(sources: Sequence[Source], tables: Mapping[str, pl.DataFrame]) -> None:
    """As `require_axis`, of jobs that were read together. Raises UserError for the first that has no axis."""
    if _span_ns(tables, max(source.slice_ns for source in sources)) <= MOST_SLICES_ON_AXIS * min(
        source.slice_ns for source in sources
    ):
        return
    for source in sources:
        require_axis(source, {name: frame.filter(pl.col(PROFILE) == source.number) for name, frame in tables.items()})


def _implausible(
    tables: Mapping[str, pl.DataFrame],
    names: Mapping[str, str],
    suspects: Mapping[str, Collection[str]],
    schema: Schema,
    slice_ns: int,
) -> str:
    """The first number that no job has, as "slices.write_ops: 9223372036854775808"; empty if there is none."""
    by_name = {names[name]: frame for name, frame in tables.items()}
    for name, frame in tables.items():
        asked = {column for column in (SLICE, SLICE_NS, RANK) if column in frame.columns}.union(suspects[name])
        if frame.is_empty() or not asked:
            continue
        length = _slice_ns_of(names[name], by_name, slice_ns)
        for column, (most, most_sum) in _limits(names[name], frame, asked, schema, length):
            values = frame[column]
            highest = whole(values.max())
            if highest > most or (most_sum < float("inf") and values.cast(pl.Float64).sum() >= most_sum):
                return f"{names[name]}.{column}: {highest}"
        if RANK in asked and (lowest := whole(frame[RANK].min())) < -1:
            return f"{names[name]}.{RANK}: {lowest}"
    return ""


def _slice_ns_of(name: str, tables: Mapping[str, pl.DataFrame], slice_ns: int) -> int:
    """The length of a slice of a table: that of the collectors for tables of nodes, else the job's."""
    nodes = tables.get(NODES)
    if not name.startswith(OF_NODES) or nodes is None or SLICE_NS not in nodes.columns:
        return slice_ns
    return whole_or_none(nodes[SLICE_NS].max()) or slice_ns


def _span_ns(tables: Mapping[str, pl.DataFrame], slice_ns: int) -> int:
    """From the first slice of anything to the last one."""
    spans = [
        (whole(frame[SLICE].min()) * length, whole(frame[SLICE].max()) * length)
        for name, frame in tables.items()
        if SLICE in frame.columns and not frame.is_empty()
        for length in (_slice_ns_of(name, tables, slice_ns),)
    ]
    return max(last for _, last in spans) - min(first for first, _ in spans) if spans else 0


def _limits(
    name: str, frame: pl.DataFrame, asked: Collection[str], schema: Schema, slice_ns: int
) -> Iterator[tuple[str, tuple[int, float]]]:
    """(column, (the greatest value, below what the sum of all must be)) of the columns that are not mere identities."""
    columns = {column.name: column for table in schema.tables if table.name == name for column in table.columns}
    for column in sorted(asked):
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
