"""What a storage gives at most: answered in one room, by one table of constants. Whether jobs contended for it, and
how long their I/O took.
"""

import ast
from pathlib import Path

import polars as pl
import pytest
import slicewise
from slicewise.analysis.capacity.by_kind import fullness, is_always_in_calls, room_taken
from slicewise.analysis.capacity.capacity import RateAlone, fastest_alone, got_together
from slicewise.analysis.job.io_span import io_span
from slicewise.analysis.overlap.direction import SlicesBeside, contention
from slicewise.analysis.overlap.region import uniformity
from slicewise.digest.activity import ACTIVITY_SCHEMA
from slicewise.estimate import Estimate

ROOT = Path(slicewise.__file__).parent
ROOM = "analysis/capacity/"
MADE = {"capacities", "serves", "shown_together", "storage_seconds", "against", "room_taken", "fullness"}
SECOND = 1_000_000_000
TAU = 4 * SECOND


MADE |= {"is_always_in_calls", "got_together", "fastest_alone", "of_these_jobs", "own_slices_demand", "fit_capacity"}
# They decide what a storage gives, and nothing else.
CONSTANTS = {"PERCENTILE", "MOST_SLOWER_DIRECTION", "ONE_KIND", "MUCH_OF_CAPACITY", "ACTIVE_SHARE", "TAKES_TURNS"}
CONSTANTS |= {"SATURATING_RUNS"}
# Where these are asked for by name: the laws that are tried, and copies of one kind of call.
ASKS = {"TAKES_TURNS": {"analysis/predict/laws.py", "analysis/copies/losses.py"}}


def test_what_a_storage_gives_is_decided_in_one_room():
    made, used = set(), set()
    for path in ROOT.rglob("*.py"):
        place = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name in MADE and not place.startswith(ROOM):
                made.add((node.name, place))
            if isinstance(node, ast.ImportFrom) and node.module == "slicewise.constants":
                names = {name.name for name in node.names}
                used |= {(name, place) for name in names & CONSTANTS if place not in ASKS.get(name, set())}
    assert made == set()
    assert {place for _, place in used if not place.startswith(ROOM)} == set()
    assert {name for name, _ in used} == CONSTANTS


def together(bytes_a, bytes_b, alone):
    """Two jobs in four slices of 2 s, and a slice that one has to itself."""
    rows = [("r", at, job, 2.0, own, alone) for at in range(4) for job, own in (("a", bytes_a), ("b", bytes_b))]
    rows.append(("r", 9, "a", 2.0, 1000.0, alone))
    return pl.DataFrame(rows, ["run", "slice", "job", "seconds", "bytes", "alone"], orient="row")


@pytest.mark.parametrize(("alone", "is_floor"), [(30.0, True), (40.0, False), (None, False)])
def test_several_that_are_as_fast_as_alone_show_a_floor(alone, is_floor):
    found = got_together(together(60.0, 60.0, alone), "wrote")
    assert (found.rate.value, found.is_floor, found.runs) == (60.0, is_floor, ("r",))
    assert found.rate.how == "what jobs wrote together in the slices that several filled, in 1 run"


def test_a_slice_or_one_job_shows_nothing_and_then_the_fastest_alone_is_a_floor():
    assert got_together(together(60.0, 60.0, None).filter(pl.col("slice") == 0), "wrote") is None
    assert got_together(together(60.0, 60.0, None).filter(pl.col("job") == "a"), "wrote") is None
    assert fastest_alone([]) is None
    found = fastest_alone([Estimate(rate, rate, rate, "") for rate in (3.0, 5.0, 4.0)])
    assert (found.rate.value, found.is_floor) == (5.0, True)


def test_how_full_a_storage_is():
    assert room_taken([0.6, 0.8], 2.0) == pytest.approx(1.0)
    assert float(fullness([0.3, 0.4], 2.0)) == pytest.approx(0.5)
    assert float(fullness([0.3, 0.4], 1.0)) == pytest.approx(0.7)
    assert float(fullness([0.3, 0.4], 32.0)) == 0.4
    rows = pl.DataFrame({"read_seconds": [3.0, 3.8, 0.0], "write_seconds": [0.5, 0.0, 0.0], "meta_seconds": [9.0] * 3})
    always = rows.select(is_always_in_calls(["read", "write"], 2.0, 2)).to_series()
    assert always.to_list() == [False, True, False]


def exactly(value: float) -> Estimate:
    return Estimate(value, value, value, "given")


def beside(rate: float, seconds: float) -> SlicesBeside:
    """A job that alone reaches 100 bytes/s and takes 10 s."""
    demand = RateAlone(exactly(100.0), "standalone run")
    return SlicesBeside("job", rate, demand, exactly(seconds), exactly(10.0))


@pytest.mark.parametrize(
    ("rate", "seconds", "verdict"),
    [(50, 20, True), (100, 10, False), (97, 10.3, False), (100, 24, None)],
    ids=["slower in shared slices", "as fast as alone", "within the least loss", "longer, but not in shared slices"],
)
def test_verdict(rate, seconds, verdict):
    assert contention([beside(rate, seconds)]).contended is verdict


def test_a_loss_that_shared_slices_do_not_show_is_said():
    evidence = contention([beside(100, 24)]).evidence
    assert "but took 2.4 times as long" in evidence


def test_unequal_processes():
    even = uniformity([80, 78, 40, 42])
    assert (even.processes, even.mean_bytes) == (4, 60)
    assert even.rsd == pytest.approx(0.317105, abs=1e-6)
    assert even.jain == pytest.approx(0.908632, abs=1e-6)


def test_equal_processes_are_perfectly_even():
    even = uniformity([7, 7, 7])
    assert (even.rsd, even.jain) == (0, 1)


def test_one_process_of_many_has_it_all():
    even = uniformity([12, 0, 0, 0])
    assert even.rsd == pytest.approx(3**0.5)
    assert even.jain == pytest.approx(1 / 4)


@pytest.mark.parametrize("moved", [[], [0, 0]])
def test_nothing_moved_is_neither_even_nor_uneven(moved):
    assert uniformity(moved) is None


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
