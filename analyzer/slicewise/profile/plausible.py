"""Whether a profile's numbers are such as a job can have: what sums, times and casts above the reader rely on. A file
may be sound and still say 2^63 calls, or a slice in the year 50000. A process with such numbers is left out, and named;
the rest of its job is read. No counter's name is known here; limits go by unit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

import polars as pl

from slicewise.constants import SECOND_NS
from slicewise.errors import UserError
from slicewise.profile import damage
from slicewise.profile.damage import Damage
from slicewise.profile.plan import SOURCE as PROFILE
from slicewise.profile.plan import Source
from slicewise.profile.schema import Schema
from slicewise.scalars import whole, whole_or_none

# Times are ns since 1970, until 2116. Sums of what is below the other limit, of millions of rows, stay below 2^63.
MOST_NS = (1 << 62) - 1
MOST_OF_ANYTHING = 1 << 61
MOST_SUM = float(1 << 62)
MOST_SLICE_NS = 1 << 50
PROCESS, SLICE, SLICE_NS, RANK = "process", "slice", "slice_ns", "rank"
# By a node's clock; 0 where it is not known.
TIMES = ("start_ns", "end_ns")
# No two processes of one job are that far apart, but for the clock of one of them.
A_YEAR_NS = 366 * 86400 * SECOND_NS
# Tables of a node's collector, whose slices may be of another length than the job's.
NODES, OF_NODES = "nodes", "node_"
MOST_RANKS = 1 << 40
# What can be laid on one axis of time: two years in slices of 4 s.
MOST_SLICES_ON_AXIS = 1 << 24


@dataclass(frozen=True)
class Odd:
    """A number that no job has. number: of a table's column, as "slices.write_ops: 9223372036854775808"; processes:
    whose it is."""

    number: str
    processes: frozenset[int]


def without_odd(
    sources: Sequence[Source],
    tables: Mapping[str, pl.DataFrame],
    names: Mapping[str, str],
    suspects: Mapping[str, Collection[str]],
    identity: pl.DataFrame,
) -> tuple[tuple[Source, ...], dict[str, pl.DataFrame]]:
    """The sources and their tables without the processes whose numbers no job has; each source's damage names them.
    names: of each of `tables` what its schema calls it. suspects: by table, the columns of which it is not known yet
    that their numbers are small enough (TablePlan.frame). identity: all processes, with `profile`, TIMES and pid.
    Raises UserError for a source of which no process would be left.
    """
    told: dict[int, dict[int, str]] = _odd_clocks(identity)
    made = dict(tables)
    for number, odd in told.items():
        made = {name: _without(frame, number, odd) for name, frame in made.items()}
    slice_ns = max(source.slice_ns for source in sources)
    schemas = dict.fromkeys(source.schema for source in sources)
    if any(_implausible(made, names, suspects, schema, slice_ns) for schema in schemas):
        for source in sources:
            if odd := _odd_numbers(source, made, names, suspects):
                told[source.number] = told.get(source.number, {}) | odd
                made = {name: _without(frame, source.number, odd) for name, frame in made.items()}
    if not told:
        return tuple(sources), made
    return tuple(_with_damage(source, told.get(source.number, {}), identity) for source in sources), made


def _odd_clocks(identity: pl.DataFrame) -> dict[int, dict[int, str]]:
    """By source, the processes whose times are years from those of most of its processes, each with what is wrong."""
    if identity.is_empty() or not set(TIMES) <= set(identity.columns):
        return {}
    spans = identity.group_by(PROFILE).agg(
        first=pl.min_horizontal(pl.col(time).filter(pl.col(time) > 0).min() for time in TIMES),
        last=pl.max_horizontal(pl.col(time).max() for time in TIMES),
    )
    wide = spans.filter((pl.col("last") > MOST_NS) | (pl.col("last") - pl.col("first") > A_YEAR_NS))
    odd = {}
    for number in sorted(wide[PROFILE].to_list()):
        own = identity.filter(pl.col(PROFILE) == number).select(PROCESS, *TIMES).rows()
        if found := _odd_times(own):
            odd[number] = found
    return odd


def _odd_times(processes: Sequence[tuple[int, int, int]]) -> dict[int, str]:
    """Of (process, start, end) those that lie years from most; nothing where that would be all."""
    starts = sorted(start for _, start, end in processes if 0 < start <= MOST_NS and end <= MOST_NS)
    groups: list[list[int]] = []
    for start in starts:
        if groups and start - groups[-1][-1] <= A_YEAR_NS:
            groups[-1].append(start)
        else:
            groups.append([start])
    if not groups:
        return {}
    most = max(groups, key=lambda group: (len(group), group[0]))
    first, last = most[0] - A_YEAR_NS, most[-1] + A_YEAR_NS
    odd = {
        process: f"its clock said {_date(time)}"
        for process, *times in processes
        for time in times
        if time > 0 and not first <= time <= last
    }
    return odd if len(odd) < len({process for process, _, _ in processes}) else {}


def _date(ns: int) -> str:
    seconds = (ns if ns < (1 << 64) - 100 * A_YEAR_NS else ns - (1 << 64)) // SECOND_NS
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).date().isoformat()
    except (OverflowError, OSError, ValueError):
        return f"{ns} ns"


def _odd_numbers(
    source: Source,
    tables: Mapping[str, pl.DataFrame],
    names: Mapping[str, str],
    suspects: Mapping[str, Collection[str]],
) -> dict[int, str]:
    """The processes of a source with numbers that no job has, each with the first of them."""
    own = {
        name: frame.filter(pl.col(PROFILE) == source.number) if PROFILE in frame.columns else frame
        for name, frame in tables.items()
    }
    odd: dict[int, str] = {}
    while wrong := _implausible(own, names, suspects, source.schema, source.slice_ns):
        odd |= dict.fromkeys(wrong.processes, wrong.number)
        own = {name: _without(frame, source.number, wrong.processes) for name, frame in own.items()}
    return odd


def _without(frame: pl.DataFrame, number: int, processes: Collection[int]) -> pl.DataFrame:
    is_one = pl.col(PROCESS).is_in(pl.Series(sorted(processes), dtype=pl.UInt64).implode())
    return frame.filter(~(is_one & (pl.col(PROFILE) == number) if PROFILE in frame.columns else is_one))


def _with_damage(source: Source, odd: Mapping[int, str], identity: pl.DataFrame) -> Source:
    """Raises UserError where no process is left."""
    if not odd:
        return source
    own = identity.filter(pl.col(PROFILE) == source.number)
    pids = dict(own.select(PROCESS, "pid").iter_rows())
    if pids.keys() <= odd.keys():
        number = next(iter(odd.values()))
        raise UserError(f"{source.path}: holds numbers that no job has ({number}); take an undamaged copy")
    line = damage.odd_in_words(str(source.path), odd, pids)
    told = Damage("implausible", str(source.path), line, processes=tuple(odd))
    return replace(source, damage=(*source.damage, told))


def require_axis(source: Source, tables: Mapping[str, pl.DataFrame]) -> None:
    """Raises UserError for slices that no axis of time can hold. tables: of one job, by the names of its schema."""
    apart_ns = _span_ns(tables, source.slice_ns)
    if apart_ns > MOST_SLICES_ON_AXIS * source.slice_ns:
        days = apart_ns / 1e9 / 86400
        raise UserError(
            f"{source.path}: its slices lie {days:,.0f} days apart (a clock that was set while it ran?), too far for "
            f"an axis of time; see what it holds with: slicewise report --detail {source.path}"
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
) -> Odd | None:
    """The first column with numbers that no job has."""
    by_name = {names[name]: frame for name, frame in tables.items()}
    for name, frame in tables.items():
        asked = {column for column in (SLICE, SLICE_NS, RANK) if column in frame.columns}.union(suspects[name])
        if frame.is_empty() or not asked:
            continue
        length = _slice_ns_of(names[name], by_name, slice_ns)
        for column, (most, most_sum) in _limits(names[name], frame, asked, schema, length):
            values = frame[column]
            highest = whole(values.max())
            if highest > most:
                return _odd(names[name], column, highest, frame.filter(pl.col(column) > most))
            if most_sum < float("inf") and values.cast(pl.Float64).sum() >= most_sum:
                sums = frame.group_by(PROCESS).agg(pl.col(column).cast(pl.Float64).sum())
                return _odd(names[name], column, highest, sums.filter(pl.col(column) == pl.col(column).max()))
        if RANK in asked and (lowest := whole(frame[RANK].min())) < -1:
            return _odd(names[name], RANK, lowest, frame.filter(pl.col(RANK) < -1))
    return None


def _odd(table: str, column: str, number: int, rows: pl.DataFrame) -> Odd:
    return Odd(f"{table}.{column}: {number}", frozenset(rows[PROCESS].to_list()))


def _slice_ns_of(name: str, tables: Mapping[str, pl.DataFrame], slice_ns: int) -> int:
    """The length of a slice of a table: that of the collectors for tables of nodes, else the job's."""
    nodes = tables.get(NODES)
    if not name.startswith(OF_NODES) or nodes is None or SLICE_NS not in nodes.columns:
        return slice_ns
    return whole_or_none(nodes[SLICE_NS].max()) or slice_ns


def _span_ns(tables: Mapping[str, pl.DataFrame], slice_ns: int) -> int:
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
