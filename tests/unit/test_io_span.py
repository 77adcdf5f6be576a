"""How long I/O took, from slices and the time in calls: below a slice's length, and never outside its own bounds."""

import polars as pl
import pytest
from slicewise.analysis.job.io_span import io_span
from slicewise.digest.activity import ACTIVITY_SCHEMA

SECOND = 1_000_000_000
TAU = 4 * SECOND


def activity(rows: list[tuple[int, int, float, int]]) -> pl.DataFrame:
    """Rows of (process, slice, seconds in calls, threads), each with some bytes."""
    return pl.DataFrame(
        [
            ("job", process, "n1", 0, place, 1 << 20, 1, int(s * SECOND), int(s * SECOND), threads)
            for process, place, s, threads in rows
        ],
        schema=ACTIVITY_SCHEMA,
        orient="row",
    )


def lifetimes(rows: list[tuple[int, float, float]]) -> pl.DataFrame:
    return pl.DataFrame(
        [(process, int(start * SECOND), int(end * SECOND)) for process, start, end in rows],
        schema={"process": pl.UInt64, "start_ns": pl.Int64, "end_ns": pl.Int64},
        orient="row",
    )


def span_of(rows, lives):
    span = io_span(activity(rows), lifetimes(lives), TAU)
    bounds = (span.seconds.low, span.seconds.value, span.seconds.high)
    return span.start_ns / SECOND, span.end_ns / SECOND, pytest.approx(bounds)


def test_back_to_back_calls_place_the_ends_exactly():
    # From 3 s to 13.5 s without a pause: 1 s of slice 0, all of 1 and 2, 1.5 s of slice 3.
    rows = [(1, 0, 1, 1), (1, 1, 4, 1), (1, 2, 4, 1), (1, 3, 1.5, 1)]
    assert span_of(rows, [(1, -50, 50)]) == (3.0, 13.5, (10.5, 10.5, 16))


def test_pauses_between_calls_stretch_the_ends_as_they_do_the_rest():
    # In calls for half of the time: 0.5 s of calls are 1 s of slice 0.
    rows = [(1, 0, 0.5, 1), (1, 1, 2, 1), (1, 2, 2, 1), (1, 3, 1, 1)]
    assert span_of(rows, [(1, -50, 50)]) == (3.0, 14.0, (9.5, 11, 16))


def test_a_process_cannot_have_begun_before_its_start_nor_ended_after_its_end():
    rows = [(1, 0, 0.5, 1), (1, 1, 2, 1), (1, 2, 0.5, 1)]
    assert span_of(rows, [(1, 3.25, 8.75)]) == (3.25, 8.75, (5, 5.5, 5.5))


def test_no_time_in_calls_leaves_whole_slices():
    rows = [(1, 0, 0, 1), (1, 1, 0, 1), (1, 2, 0, 1)]
    assert span_of(rows, [(1, -50, 50)]) == (0.0, 12.0, (4, 12, 12))
    assert span_of([(1, 5, 0, 1)], [(1, -50, 50)]) == (20.0, 24.0, (1e-9, 4, 4))


def test_a_single_slice_holds_its_calls_in_the_middle():
    assert span_of([(1, 5, 1, 1)], [(1, -50, 50)]) == (21.5, 22.5, (1, 1, 4))


def test_threads_share_the_time_in_calls():
    # Four threads, each in calls for 1 s of slice 0.
    rows = [(1, 0, 4, 4), (1, 1, 16, 4), (1, 2, 4, 4)]
    assert span_of(rows, [(1, -50, 50)]) == (3.0, 9.0, (6, 6, 12))


def test_a_job_lasts_from_its_first_process_to_its_last():
    rows = [(1, 0, 1, 1), (1, 1, 4, 1), (1, 2, 1, 1), (2, 1, 2, 1), (2, 2, 4, 1), (2, 3, 3, 1)]
    assert span_of(rows, [(1, -50, 50), (2, -50, 50)]) == (3.0, 15.0, (12, 12, 16))


def test_a_process_that_still_runs_has_no_end_yet():
    rows = [(1, 0, 4, 1), (1, 1, 4, 1), (1, 2, 1, 1)]
    assert span_of(rows, [(1, 0, 0)]) == (0.0, 9.0, (9, 9, 12))


def test_slices_without_bytes_in_between_count_as_span_but_not_as_busy():
    span = io_span(activity([(1, 0, 4, 1), (1, 9, 4, 1)]), lifetimes([(1, 0, 40)]), TAU)
    assert (span.seconds.value, span.slice_seconds, span.busy_share) == (40, 40, 0.2)


def test_nothing_moved_has_no_span():
    assert io_span(activity([]), lifetimes([]), TAU) is None


def test_two_slices_without_time_in_calls_are_taken_whole():
    assert span_of([(1, 0, 0, 1), (1, 1, 0, 1)], [(1, -50, 50)]) == (0.0, 8.0, (1e-9, 8, 8))
