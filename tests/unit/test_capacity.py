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
from slicewise.analysis.overlap.direction import SlicesBeside, contention, uniformity
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
ASKS = {"TAKES_TURNS": {"analysis/predict/laws.py", "analysis/copies/copies.py"}}


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


@pytest.mark.parametrize(
    ("moved", "mean", "rsd", "jain"),
    [([80, 78, 40, 42], 60, 0.317105, 0.908632), ([7, 7, 7], 7, 0, 1), ([12, 0, 0, 0], 3, 3**0.5, 1 / 4)],
    ids=["unequal", "perfectly even", "one has it all"],
)
def test_how_even_processes_are(moved, mean, rsd, jain):
    even = uniformity(moved)
    assert (even.processes, even.mean_bytes) == (len(moved), mean)
    assert (even.rsd, even.jain) == pytest.approx((rsd, jain), abs=1e-6)


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


LONG = [(1, -50, 50)]


# Rows of (process, slice, seconds in calls, threads); lives; and the span: its start, its end, and its seconds.
@pytest.mark.parametrize(
    ("rows", "lives", "start", "end", "seconds"),
    [
        pytest.param(  # 1 s of slice 0, all of 1 and 2, 1.5 s of slice 3
            [(1, 0, 1, 1), (1, 1, 4, 1), (1, 2, 4, 1), (1, 3, 1.5, 1)], LONG, 3.0, 13.5, (10.5, 10.5, 16),
            id="back-to-back calls place the ends exactly",
        ),
        pytest.param(  # half of the time in calls: 0.5 s of calls are 1 s of slice 0
            [(1, 0, 0.5, 1), (1, 1, 2, 1), (1, 2, 2, 1), (1, 3, 1, 1)], LONG, 3.0, 14.0, (9.5, 11, 16),
            id="pauses between calls stretch the ends as they do the rest",
        ),
        pytest.param(
            [(1, 0, 0.5, 1), (1, 1, 2, 1), (1, 2, 0.5, 1)], [(1, 3.25, 8.75)], 3.25, 8.75, (5, 5.5, 5.5),
            id="no process begins before its start or ends after its end",
        ),
        pytest.param(
            [(1, 0, 0, 1), (1, 1, 0, 1), (1, 2, 0, 1)], LONG, 0.0, 12.0, (4, 12, 12),
            id="no time in calls leaves whole slices",
        ),
        pytest.param([(1, 0, 0, 1), (1, 1, 0, 1)], LONG, 0.0, 8.0, (1e-9, 8, 8), id="nor in two slices"),
        pytest.param([(1, 5, 0, 1)], LONG, 20.0, 24.0, (1e-9, 4, 4), id="nor in one"),
        pytest.param([(1, 5, 1, 1)], LONG, 21.5, 22.5, (1, 1, 4), id="one slice holds its calls in the middle"),
        pytest.param(  # each of four threads 1 s of slice 0
            [(1, 0, 4, 4), (1, 1, 16, 4), (1, 2, 4, 4)], LONG, 3.0, 9.0, (6, 6, 12),
            id="threads share the time in calls",
        ),
        pytest.param(
            [(1, 0, 1, 1), (1, 1, 4, 1), (1, 2, 1, 1), (2, 1, 2, 1), (2, 2, 4, 1), (2, 3, 3, 1)],
            [*LONG, (2, -50, 50)], 3.0, 15.0, (12, 12, 16), id="a job lasts from its first process to its last",
        ),
        pytest.param(
            [(1, 0, 4, 1), (1, 1, 4, 1), (1, 2, 1, 1)], [(1, 0, 0)], 0.0, 9.0, (9, 9, 12),
            id="a process that still runs has no end yet",
        ),
    ],
)  # fmt: skip
def test_a_span(rows, lives, start, end, seconds):
    span = io_span(activity(rows), lifetimes(lives), TAU)
    assert (span.start_ns / SECOND, span.end_ns / SECOND) == (start, end)
    assert (span.seconds.low, span.seconds.value, span.seconds.high) == pytest.approx(seconds)


def test_slices_without_bytes_in_between_count_as_span_but_not_as_busy():
    span = io_span(activity([(1, 0, 4, 1), (1, 9, 4, 1)]), lifetimes([(1, 0, 40)]), TAU)
    assert (span.seconds.value, span.slice_seconds, span.busy_share) == (40, 40, 0.2)


def test_nothing_moved_has_no_span():
    assert io_span(activity([]), lifetimes([]), TAU) is None
