"""What a storage gives at most: answered in one room, by one table of constants."""

import ast
from pathlib import Path

import polars as pl
import pytest
import slicewise
from slicewise.analysis.capacity.by_kind import fullness, is_always_in_calls, room_taken
from slicewise.analysis.capacity.capacity import fastest_alone, got_together
from slicewise.estimate import Estimate

ROOT = Path(slicewise.__file__).parent
ROOM = "analysis/capacity/"
MADE = {"capacities", "serves", "shown_together", "storage_seconds", "against", "room_taken", "fullness"}
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
