"""What processes did by slice, against the same said plainly, row by row; and where rows lie in order."""

from collections import defaultdict
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slicewise.analysis.calls import calls_of_processes
from slicewise.constants import WAITING_SHARE
from slicewise.digest.served import WAITS_BELOW
from slicewise.digest.slices import FETCHED
from slicewise.equal_rows import begins_of_equal_rows, is_ordered

NS = 1_000_000_000
# As rows of process_slices count a process's calls.
TIMES = ("read_ns", "write_ns", "sync_ns", "meta_ns", "read_request_ns", "write_request_ns")
PLACES = ("process", "storage", "slice")
SECONDS = ("read_seconds", "write_seconds", "meta_seconds")
Row = dict[str, Any]

places = st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 7))
# More than one slice's time: of several threads. Few bytes in much time: a wait.
times = st.sampled_from([0, 0, NS // 10, NS // 2, NS - 1, NS, 5 * NS // 2])
sizes = st.sampled_from([0, 0, 1, 1000, 1 << 20, 1 << 30])


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    rows = []
    for place in draw(st.lists(places, unique=True, max_size=40)):
        row = dict(zip(PLACES, place, strict=True)) | {name: draw(times) for name in TIMES}
        row |= {"read_bytes": draw(sizes), "write_bytes": draw(sizes), FETCHED: draw(st.none() | sizes)}
        # No sync ends a burst here: tests/unit/test_served.py has those.
        row |= {name: draw(st.integers(0, 3)) for name in ("meta_ops", "read_ops", "write_ops")} | {"sync_ops": 0}
        rows.append(row)
    unsigned = {"process": pl.UInt64, "storage": pl.UInt64}
    names = (*PLACES, *TIMES, "read_bytes", "write_bytes", FETCHED, "meta_ops", "read_ops", "write_ops", "sync_ops")
    return pl.DataFrame(rows, schema={name: unsigned.get(name, pl.Int64) for name in names})


def plainly(rows: list[Row]) -> dict[tuple[int, int, int], Row]:
    """What each process did in slices of a second, as the documentation of `call_rows` says it."""
    found = {}
    for row in rows:
        # Waiting for requests is counted with the syncs.
        synced = max(0, row["sync_ns"] - row["read_request_ns"] - row["write_request_ns"])
        seconds = {
            "read_seconds": (row["read_ns"] + row["read_request_ns"]) / NS,
            "write_seconds": (row["write_ns"] + row["write_request_ns"] + synced) / NS,
            "meta_seconds": row["meta_ns"] / NS,
        }
        kept = {name: row[name] for name in ("read_bytes", "write_bytes", "meta_ops", "read_ops", "write_ops")}
        if row[FETCHED] is not None:  # memory had what it read at another time than storage
            kept["read_bytes"] = row[FETCHED]
        found[tuple(row[name] for name in PLACES)] = seconds | kept
    for same in _each_series(found):
        _spread(same)
    busy: dict[tuple[int, int], float] = defaultdict(float)
    for (process, _, number), row in found.items():
        busy[process, number] += sum(row[name] for name in SECONDS)
    many = {place: total for place, total in busy.items() if total >= WAITING_SHARE}
    for (process, _, number), row in found.items():
        threads = _threads(many, process, number)
        row |= {name: row[name] / threads for name in SECONDS}
    return found


def _threads(many: dict[tuple[int, int], float], process: int, number: int) -> float:
    """Those of a slice; and at a burst's ends, which are parts of slices, those of the slice beside it."""
    its, before, after = (many.get((process, number + step)) for step in (0, -1, 1))
    if its is None:
        return 1.0
    beside = after if before is None else before if after is None else None
    return max(1.0, its, beside or 1.0)


def _each_series(found: dict[tuple[int, int, int], Row]) -> list[list[tuple[int, Row]]]:
    """Slices and rows of each process on each storage, in order."""
    together = groupby(sorted(found), key=lambda place: place[:2])
    return [[(place[2], found[place]) for place in some] for _, some in together]


def _spread(rows: list[tuple[int, Row]]) -> None:
    """Bytes that were written and then waited for are spread over that time, never before they were written; calls go
    with them.
    """
    total = sum(row["write_seconds"] for _, row in rows)
    if not total:
        return
    whole, calls = (sum(row[name] for _, row in rows) for name in ("write_bytes", "write_ops"))
    mean = whole / total
    bursts: list[list[Row]] = []
    before = None
    for number, row in rows:
        is_wait = row["write_seconds"] > 0 and row["write_bytes"] < WAITS_BELOW * mean * row["write_seconds"]
        if is_wait and before == number - 1:
            bursts[-1].append(row)
        else:
            bursts.append([row])
        before = number
    for burst in bursts:
        moved, seconds = (sum(row[name] for row in burst) for name in ("write_bytes", "write_seconds"))
        if len(burst) > 1:
            spent, written, served = 0.0, 0, 0
            for row in burst:
                spent, written = spent + row["write_seconds"], written + row["write_bytes"]
                reached = round(min(moved * spent / seconds, written))
                row["write_bytes"], served = reached - served, reached
                row["write_ops"] = row["write_bytes"] * calls / whole if whole else 0


@given(tables())
def test_what_processes_did_is_what_its_documentation_says(rows: pl.DataFrame) -> None:
    processes = rows.select("process").unique().with_columns(job=pl.lit(1))
    found = calls_of_processes({NS: rows.lazy()}, processes, NS)
    expected = plainly(rows.to_dicts())
    assert found.height == len(expected)
    for row in found.to_dicts():
        told = expected[row["process"], row["storage"], row["slice"]]
        for name, value in told.items():
            # Halves may be rounded either way.
            is_rounded = name in ("write_bytes", "write_ops")
            assert row[name] == pytest.approx(value, rel=1e-9, abs=1.5 if is_rounded else 1e-12), name


@given(tables())
def test_rows_in_order_are_told_from_others_in_any_order(rows: pl.DataFrame) -> None:
    mixed, ordered = (calls_of_processes({NS: some.lazy()}, rows.select("process").unique(), NS) for some in
                      (rows, rows.sort(PLACES)))  # fmt: skip
    assert mixed.equals(ordered)


numbers = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=12)


@given(numbers)
def test_order_is_seen(pairs: list[tuple[int, int]]) -> None:
    rows = pl.DataFrame(pairs, schema={"first": pl.Int64, "second": pl.Int64}, orient="row")
    assert is_ordered(rows, ("first", "second")) == (pairs == sorted(pairs))


@given(numbers)
def test_runs_of_equal_rows_begin_where_one_differs_from_the_one_before(pairs: list[tuple[int, int]]) -> None:
    columns = np.array(pairs, np.int64).reshape(-1, 2).T
    begins = [at for at, pair in enumerate(pairs) if at == 0 or pair != pairs[at - 1]]
    assert begins_of_equal_rows(*columns).tolist() == begins
