"""The write-back ledger: what the storage served, of what calls wrote into a cache."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slicewise.digest.served import (
    BY_BURST,
    BY_CALLS,
    BY_COUNTER,
    PAST_CACHE_SCHEMA,
    SENT_SCHEMA,
    USERS_SCHEMA,
    Counters,
    after_syncs,
    balanced,
    bursts_of,
    served_writes,
)

SECOND = 10**9
STORAGE = 7
NOTHING_KNOWN = Counters()
# A client of Lustre: what calls wrote in each slice, and what left it, by the level of its cache (MiB, 1 s).
WROTE = [13, 51, 44, 36, 43, 37, 43, 33, 0, 0, 0, 0, 0, 0, 0]
LEFT = [7, 20.9, 20.1, 20, 20.1, 19.8, 19.2, 20.9, 20, 19.9, 20.1, 12, 19.9, 20.1, 19.9]


def rows_of(written, writing, waited, syncs, process=1, first=0):
    """Rows of one process, a value a slice: bytes, seconds in writes and in syncs, and syncs that ended."""
    return pl.DataFrame(
        {
            "process": pl.Series([process] * len(written), dtype=pl.UInt64),
            "storage": pl.Series([STORAGE] * len(written), dtype=pl.UInt64),
            "slice": pl.Series(range(first, first + len(written)), dtype=pl.Int64),
            "write_bytes": pl.Series(written, dtype=pl.Int64),
            "write_ops": pl.Series([int(one > 0) for one in written], dtype=pl.Int64),
            "write": pl.Series([round(one * SECOND) for one in writing], dtype=pl.Int64),
            "sync": pl.Series([round(one * SECOND) for one in waited], dtype=pl.Int64),
            "sync_ops": pl.Series(syncs, dtype=pl.Int64),
            "meta": pl.Series([0] * len(written), dtype=pl.Int64),
            "meta_ops": pl.Series([0] * len(written), dtype=pl.Int64),
        }
    )


def counted(amounts, *processes, first=0):
    """What one counter shows of these processes, a value a slice."""
    sent = pl.DataFrame(
        {
            "counter": ["n"] * len(amounts),
            "storage": pl.Series([STORAGE] * len(amounts), dtype=pl.UInt64),
            "slice": pl.Series(range(first, first + len(amounts)), dtype=pl.Int64),
            "sent": [float(one) for one in amounts],
        },
        schema=SENT_SCHEMA,
    )
    users = pl.DataFrame({"process": processes, "storage": STORAGE, "counter": "n"}, schema=USERS_SCHEMA)
    return Counters(sent, users)


def test_a_job_alone_is_served_what_its_node_sent():
    written = np.array([WROTE], float)
    waited = np.array([[0.0] * 8 + [SECOND] * 7])
    syncs = np.zeros((1, 15), bool)
    syncs[0, 14] = True
    sent = np.array(LEFT) * 300 / sum(LEFT)  # all that was written was sent when the sync returned
    bursts, endings = bursts_of(written, SECOND - waited, waited, syncs)
    assert balanced(written, bursts, endings, sent)[0] == pytest.approx(sent, rel=0.01)


def test_a_sync_that_returned_says_whose_bytes_were_sent():
    written = np.array([[30.0, 0, 0, 0, 0, 0], [30.0, 0, 0, 0, 0, 0]])
    waited = np.full((2, 6), float(SECOND))
    syncs = np.zeros((2, 6), bool)
    sent = np.full(6, 10.0)
    bursts, endings = bursts_of(written, np.zeros((2, 6)), waited, syncs)
    assert balanced(written, bursts, endings, sent) == pytest.approx(np.full((2, 6), 5.0))
    syncs[0, 2] = True
    bursts, endings = bursts_of(written, np.zeros((2, 6)), waited, syncs)
    served = balanced(written, bursts, endings, sent)
    assert served[0] == pytest.approx([10, 10, 10, 0, 0, 0], abs=0.01)
    assert served[1] == pytest.approx([0, 0, 0, 10, 10, 10], abs=0.5)


def test_what_follows_a_sync_in_its_slice_was_not_synced_by_it():
    """The first process syncs 10 in its first slice, writes 50 more, and syncs these in the last one. The second one's
    bytes were sent after that.
    """
    rows = [
        rows_of([60, 0, 0, 0, 0, 0], [0] * 6, [1] * 6, [1, 0, 0, 0, 0, 1]),
        rows_of([0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 0], [0] * 12, [1] * 12, [0] * 11 + [1], process=2),
    ]
    written = np.array([[1.0, 0, 60, 0, 0]])  # what was sent before it was written was not it
    syncs = np.array([[False, False, True, False, True]])
    assert after_syncs(written, syncs, np.full(5, 30.0)).tolist() == [[1, 0, 30, 30, 0]]
    found = served_writes(pl.concat(rows), counted([10] * 12, 1, 2))
    first, second = (found.filter(pl.col("process") == process)["served"].to_list() for process in (1, 2))
    assert first == pytest.approx([10] * 6, abs=1)
    assert second == pytest.approx([0] * 6 + [10] * 6, abs=1)


def test_without_a_counter_a_burst_is_served_evenly_until_its_sync_returned():
    rows = rows_of([60, 60, 40, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, 1], [0] * 7 + [1])
    found = served_writes(rows, NOTHING_KNOWN)
    assert found["served"].to_list() == [20] * 8
    assert set(found["how"]) == {BY_BURST}


def test_calls_that_are_as_fast_as_the_storage_stay_where_they_are():
    """A limited cache: what was written follows what was served but for what the sync still had to wait for."""
    written = [20, 20, 10, 10, 10, 20, 20, 20]
    rows = rows_of(written, [1.0] * 7 + [0.8], [0] * 7 + [0.2], [0] * 7 + [1])
    found = served_writes(rows, NOTHING_KNOWN)
    assert found["served"].to_list() == written
    assert set(found["how"]) == {BY_CALLS}


def test_what_is_served_while_a_process_computes_has_rows_of_its_own():
    rows = rows_of([40], [1], [0], [0])
    found = served_writes(rows, counted([10, 10, 10, 10], 1))
    assert found["slice"].to_list() == [0, 1, 2, 3]
    assert found["served"].to_list() == [10, 10, 10, 10]
    assert found["write_bytes"].to_list() == [40, None, None, None]
    assert set(found["how"]) == {BY_COUNTER}


def test_bytes_that_never_left_the_node_are_not_served():
    found = served_writes(rows_of([40, 0], [1, 0], [0, 0], [0, 0]), counted([10, 11], 1))
    assert found["served"].to_list() == [10, 11]


def test_a_counter_of_other_traffic_is_not_believed():
    rows = rows_of([100, 0], [1, 0], [0, 1], [0, 1])
    found = served_writes(rows, counted([3, 4], 1))
    assert set(found["how"]) == {BY_BURST}
    assert found["served"].sum() == 100


def test_a_close_waits_as_a_sync_does_where_files_are_there_when_they_are_closed():
    rows = rows_of([60, 60, 40, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0], [0] * 8, [0] * 8)
    closes = rows.with_columns(
        meta=pl.Series([0, 0, 0] + [SECOND] * 5), meta_ops=pl.Series([0] * 7 + [1], dtype=pl.Int64)
    )
    assert served_writes(closes, NOTHING_KNOWN)["served"].to_list() == [60, 60, 40, 0, 0, 0, 0, 0]
    assert served_writes(closes, Counters(closing=frozenset({STORAGE})))["served"].to_list() == [20] * 8


def test_what_is_written_past_the_cache_is_served_by_the_call():
    """Beside a process that writes into its cache faster than the node sends, which gets the rest of what was sent."""
    direct = rows_of([30] * 8, [1] * 8, [0] * 8, [0] * 8)
    cached = rows_of([160, 0, 0, 0, 0, 0, 0, 0], [0.1] + [0] * 7, [0] * 8, [0] * 8, process=2)
    known = counted([40] * 8, 1, 2)
    past = pl.DataFrame({"process": [1], "storage": [STORAGE]}, schema=PAST_CACHE_SCHEMA)
    mixed = served_writes(pl.concat([direct, cached]), known)
    found = served_writes(pl.concat([direct, cached]), replace(known, past_cache=past))
    by_process = dict(found.group_by("process").agg("served", "how").rows_by_key("process", unique=True))
    assert by_process[1] == ([30] * 8, [BY_CALLS] * 8)
    assert by_process[2] == ([10] * 8, [BY_COUNTER] * 8)
    assert mixed.filter(pl.col("process") == 1)["served"].sum() < 240


SLICES = st.lists(
    st.tuples(st.integers(0, 50), st.floats(0, 1), st.booleans(), st.integers(0, 60)), min_size=1, max_size=12
)


@given(st.lists(SLICES, min_size=1, max_size=3), st.booleans())
def test_served_bytes_add_up_and_never_run_ahead(jobs, is_counted):
    """For any order of writes, syncs and counters; what no sync ended may stay in the cache."""
    parts = []
    for number, slices in enumerate(jobs, 1):
        written = [wrote for wrote, *_ in slices]
        waited = [1 - part for _, part, *_ in slices]
        parts.append(
            rows_of(written, [part for _, part, *_ in slices], waited, [int(s) for *_, s, _ in slices], number)
        )
    longest = max(jobs, key=len)
    amounts = [amount for *_, amount in longest]
    known = counted(amounts, *range(1, len(jobs) + 1)) if is_counted else NOTHING_KNOWN
    rows = pl.concat(parts)
    found = served_writes(rows, known).with_columns(pl.col("write_bytes").fill_null(0))
    assert found["served"].min() >= 0
    for _, own in found.group_by("process"):
        own = own.sort("slice")
        ahead = own["served"].cum_sum() - own["write_bytes"].cum_sum()
        assert ahead.max() <= 1  # of rounding
        syncs = own.filter(pl.col("sync_ops") > 0)["slice"]
        if len(syncs):
            until = own.filter(pl.col("slice") <= syncs.max())
            assert until["served"].sum() == pytest.approx(until["write_bytes"].sum(), abs=1)
