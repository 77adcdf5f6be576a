"""What jobs waited for their turn at I/O: from profiles made by hand to what every command says of it."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.turn import with_turn
from slicewise.analysis.compare.compare import compare
from slicewise.analysis.job.turns import TurnWaits, turns
from slicewise.analysis.overlap.overlap import overlap
from slicewise.digest.digest import Digest
from slicewise.estimate import Estimate
from slicewise.export import formats
from slicewise.profile.reader import read_profile
from slicewise.report.blame import blame_words
from slicewise.report.blame.anonymous import anonymous
from slicewise.report.blame.blame_page import blame_page
from slicewise.report.blame.blame_record import blame_record
from slicewise.report.blame.explained import explanation
from slicewise.report.compare import compare_words
from slicewise.report.compare.compare_report import parts_table
from slicewise.report.job.job_page import job_page, job_report
from slicewise.report.overlap import overlap_words
from support.chosen_time import chosen_time
from support.command_line import slicewise_command
from support.swz import build_profile

MIB = 1 << 20
SLICE_NS = 1_000_000_000
FIRST = 1_700_000_000
DOCUMENTED = (Path(__file__).resolve().parents[2] / "docs/commands.md").read_text()


def write_job(
    folder: Path, name: str, writes: dict[range, float], waits: dict[range, float], end: int, *, start: int = 0,
    syncs: int = 0,
) -> Digest:  # fmt: skip
    """A process that writes so many MiB a slice of 1 s, in calls throughout, and waits so many seconds a slice. syncs:
    in each slice, for whose sake it waits in calls.
    """
    number = sum(map(ord, name))
    waited_ns = round(1e9 * sum(seconds * len(span) for span, seconds in waits.items()))
    process = {
        "process": number, "program": "/opt/writer", "slice_ns": SLICE_NS, "start_ns": (FIRST + start) * SLICE_NS,
        "end_ns": (FIRST + end) * SLICE_NS, "waited_ns": waited_ns, "waits": 1,
    }  # fmt: skip
    slices = [
        {
            "process": number, "slice": FIRST + at, "write_bytes": round(mib * MIB), "write_ops": max(1, round(mib)),
            "sync_ns" if syncs else "write_ns": 990_000_000, "sync_ops": syncs, "threads": 1,
        }
        for span, mib in writes.items()
        for at in span
    ]  # fmt: skip
    rows = [
        {"process": number, "number": at, "slice": FIRST + at, "waited_ns": round(1e9 * seconds)}
        for span, seconds in waits.items()
        for at in span
    ]
    if rows:
        rows[0]["waits"] = 1
    return Digest(read_profile(build_profile(folder / name, [process], slices, waits=rows)))


@pytest.fixture
def large(tmp_path: Path) -> Digest:
    return write_job(tmp_path, "large", {range(12): 100}, {range(1): 0.0}, 12)


@pytest.fixture
def small(tmp_path: Path) -> Digest:
    """It waits from second 2 to second 12, and then writes for 8 s without company."""
    return write_job(tmp_path, "small", {range(12, 20): 100}, {range(2, 12): 1.0}, 20, start=2)


@pytest.fixture
def disturbed(tmp_path: Path) -> Digest:
    """As `small`, but for its last 4 s, in which another job has it take twice as long for its bytes."""
    writes = {range(12, 18): 100.0, range(18, 22): 50.0}
    return write_job(tmp_path, "disturbed", writes, {range(2, 12): 1.0}, 22, start=2)


@pytest.fixture
def late(tmp_path: Path) -> Digest:
    return write_job(tmp_path, "late", {range(18, 22): 50}, {}, 22, start=18)


def test_the_wait_of_a_job_is_that_of_the_process_that_waited_longest(tmp_path: Path) -> None:
    processes = [{"process": number, "waited_ns": 7, "waits": number} for number in (1, 2, 3)]
    waits = [
        {"process": process, "number": number, "slice": slice_, "waited_ns": ns, "waits": 1}
        for process, number, slice_, ns in ((1, 0, 5, 3), (1, 1, 6, 4), (2, 0, 5, 3), (2, 1, 5, 6), (2, 2, 9, 1))
    ]
    digest = Digest(read_profile(build_profile(tmp_path / "job", processes, waits=waits)))
    assert digest.waits.to_dicts() == [
        {"process": 1, "slice": 5, "waited_ns": 3, "waits": 1}, {"process": 1, "slice": 6, "waited_ns": 4, "waits": 1},
        {"process": 2, "slice": 5, "waited_ns": 9, "waits": 2}, {"process": 2, "slice": 9, "waited_ns": 1, "waits": 1},
    ]  # fmt: skip
    found = turns(digest)
    assert (found.seconds, found.waits, found.takes_part) == (10e-9, 3, True)
    assert found.slices.rows() == [(5, pytest.approx(9e-9)), (9, pytest.approx(1e-9))]
    assert found.on_grid(SLICE_NS, 4 * SLICE_NS).rows() == [(1, pytest.approx(9e-9)), (2, pytest.approx(1e-9))]
    assert found.within(6 * SLICE_NS, 10 * SLICE_NS, SLICE_NS).value == 1e-9


@pytest.mark.parametrize(
    ("waits", "start", "end", "low", "value", "high"),
    [
        ({5: 0.5, 6: 1.0, 7: 0.5}, 5.0, 8.0, 2.0, 2.0, 2.0),
        # 0.4 s of the first slice are within, and 0.8 s of the last one; it wrote before it waited.
        ({5: 0.5, 6: 1.0, 7: 0.5}, 5.6, 7.8, 1.3, 1.9, 1.9),
        # It had waited before its first byte, and waits again after its last.
        ({4: 1.0, 5: 0.5, 7: 0.3, 8: 1.0}, 5.6, 7.8, 0.1, 0.1, 0.7),
        ({5: 0.5}, 5.6, 7.8, 0.0, 0.2, 0.4),
        ({5: 0.5}, 5.6, 5.7, 0.0, 0.05, 0.1),
        ({3: 0.5, 9: 0.5}, 5.0, 8.0, 0.0, 0.0, 0.0),
    ],
)
def test_what_a_job_waited_between_its_first_and_its_last_byte(waits, start, end, low, value, high) -> None:
    slices = pl.DataFrame({"slice": list(waits), "seconds": list(waits.values())})
    found = TurnWaits(sum(waits.values()), 1, "p", slices, True)
    within = found.within(round(start * 1e9), round(end * 1e9), SLICE_NS)
    assert (within.low, within.value, within.high) == pytest.approx((low, value, high))


def test_a_profile_of_a_version_that_counted_no_slices_still_has_the_sum(tmp_path: Path) -> None:
    digest = Digest(read_profile(build_profile(tmp_path / "job", [{"process": 1, "waited_ns": 5 * 10**9, "waits": 2}])))
    found = turns(digest)
    assert (found.seconds, found.waits, found.slices.height) == (5.0, 2, 0)


def test_who_took_no_turns_waited_for_none(late: Digest) -> None:
    found = turns(Digest(read_profile(late.path)))
    assert (found.seconds, found.slices.height) == (0.0, 0)


def assert_adds_up(told) -> None:
    parts = sum(neighbour.lost.value for neighbour in told.neighbours) + told.unexplained_seconds
    assert told.lost.value == pytest.approx(parts + told.turn_seconds)
    assert told.alone.value == pytest.approx(told.runtime_seconds - told.lost.value)


def test_a_job_that_waited_is_not_slowed_by_storage(small: Digest, large: Digest) -> None:
    told = blame(small, [large])
    assert_adds_up(told)
    assert told.lost.value == pytest.approx(10.0)
    assert [(one.job, one.seconds) for one in told.turn.had_it] == [("large", pytest.approx(10.0))]
    assert not [one for one in told.neighbours if one.lost.value]
    headline, second = blame_words.opening(told)
    assert headline.startswith("small took 2.2 times")
    assert headline.endswith(": 18.0 s instead of 8.00 s, because it waited for its turn while large had it.")
    assert second == "It lost 10.0 s, all of it waiting for its turn while large had it."
    assert any("10.0 s for its turn" in line for line in explanation(told))
    assert blame(large, [small]).turn is None


def test_the_wait_and_what_a_neighbour_cost_are_told_apart(disturbed: Digest, large: Digest, late: Digest) -> None:
    told = blame(disturbed, [large, late])
    assert_adds_up(told)
    assert told.turn_seconds == pytest.approx(10.0)
    assert told.lost.value == pytest.approx(12.0, abs=0.3)
    (neighbour,) = [one for one in told.neighbours if one.lost.value > 0.1]
    assert (neighbour.job, neighbour.without_it_end) == ("late", None)
    assert "turns" in neighbour.no_model
    assert [one.job for one in told.turn.had_it] == ["large"]
    headline, second = blame_words.opening(told)
    assert headline.endswith(", because of late and because it waited for its turn while large had it.")
    assert second.startswith("It lost 12.")
    assert ": of it 10.0 s waiting for its turn while large had it, 2.0 s while late wrote" in second
    page = blame_page(told, [])
    assert "Waiting for its turn" in [section.heading for section in page.sections]
    bar = next(section for section in page.sections if section.chart_id == "bar")
    assert sum(trace.x[0] for trace in bar.chart.data) == pytest.approx(told.runtime_seconds)
    all_of_it = chosen_time(told, range(FIRST, FIRST + 30))
    assert all_of_it.turn == pytest.approx(10.0)
    assert sum(all_of_it.lost.values()) + all_of_it.unexplained + all_of_it.turn == pytest.approx(told.lost.value)
    assert sum(page.selection["turn"]) == pytest.approx(10.0)


def test_a_long_wait_is_told_where_little_tells_what_little_io_cost(tmp_path: Path, large: Digest) -> None:
    """A job with company in the only slice in which it writes: of 1 s its share says next to nothing is its own."""
    told = blame(write_job(tmp_path, "short", {range(11, 12): 5}, {range(11): 1.0}, 12), [large])
    assert told.turn_seconds == pytest.approx(11.0)
    assert 11.0 <= told.lost.value <= told.lost.high <= 12.0
    assert told.confidence == "medium"


def test_wait_and_lost_calls_of_several_processes_are_no_more_than_the_runtime(small: Digest, large: Digest) -> None:
    told = blame(small, [large])
    slower = replace(told, turn=None, lost=Estimate(12.0, 11.0, 13.0, "calls"))
    both = with_turn(slower, told.turn)
    assert (both.turn_seconds, both.lost.value, both.lost.high) == pytest.approx((6.0, 18.0, 18.0))
    assert both.alone.value == pytest.approx(0.0)
    assert sum(one.seconds for one in both.turn.had_it) == pytest.approx(6.0)
    assert both.turn.slices["seconds"].sum() == pytest.approx(6.0)


def test_where_the_rest_is_unknown_the_wait_is_told_all_the_same(tmp_path: Path, large: Digest) -> None:
    """It syncs a few bytes at a time: of what that costs its share of the bytes says nothing."""
    other = write_job(tmp_path, "other", {range(9, 12): 0.1}, {range(3): 0.5}, 12, syncs=20)
    told = blame(other, [large])
    assert told.lost is None
    assert blame_words.headline(told).startswith(
        "other waited 1.50 s for its turn while large had it; whether others slowed its I/O down is unknown"
    )
    assert blame_record(told, None)["turn"]["seconds"].value == pytest.approx(1.5)


def test_who_takes_no_turns_had_none(small: Digest, late: Digest, tmp_path: Path) -> None:
    stranger = write_job(tmp_path, "stranger", {range(12): 100}, {}, 12)
    process = stranger.processes.with_columns(waits=pl.lit(0, pl.Int64))
    stranger.__dict__["processes"] = process
    assert blame(small, [stranger]).turn.had_it == []


def test_others_names_are_hidden(small: Digest, large: Digest) -> None:
    told = anonymous(blame(small, [large]), small, [large])
    assert [one.job for one in told.turn.had_it] == ["another job (A)"]
    assert "large" not in json.dumps(blame_record(told, None), default=str)


def test_json_has_its_documented_keys(small: Digest, large: Digest) -> None:
    record = blame_record(blame(small, [large]), None)["turn"]
    for key in ("turn", *record, *vars(record["had_it"][0])):
        assert f"`{key}`" in DOCUMENTED, key


def test_overlap_does_not_take_the_wait_for_slow_storage(tmp_path: Path, large: Digest) -> None:
    """A job that writes before and after its wait takes far longer than alone, and was not slowed down."""
    alone = write_job(tmp_path, "alone", {range(30, 38): 100}, {}, 38, start=30)
    waiting = write_job(tmp_path, "waiting", {range(2): 100, range(12, 18): 100}, {range(2, 12): 1.0}, 18)
    quiet = write_job(tmp_path, "beside", {range(2, 12): 100}, {}, 12, start=1)
    found = overlap([waiting, quiet], [alone])
    writes = found.directions["write"]
    job = writes.jobs[0]
    assert (job.waited_seconds, job.span.seconds.value) == (pytest.approx(10.0), pytest.approx(18.0, abs=0.1))
    assert found.waited_seconds == {"waiting": pytest.approx(10.0), "beside": 0.0}
    assert writes.contention.contended is not True
    lines = overlap_words.opening(found, writes)
    assert "waiting waited 10.0 s for its turn (coordination)." in lines
    assert any(line.endswith("it took 18.0 s, of it 10.0 s waiting for its turn.") for line in lines)


def test_waiting_is_a_part_of_why_runs_differ(tmp_path: Path, small: Digest) -> None:
    first = write_job(tmp_path, "first", {range(100, 108): 100}, {}, 108, start=100)
    found = compare([first, small])
    told = found.told
    assert sum(told.parts().values()) == pytest.approx(told.difference_seconds)
    assert (told.waiting_seconds, told.computing_seconds) == (pytest.approx(10.0), pytest.approx(0.0, abs=1e-6))
    assert "10.0 s of it waiting for its turn" in compare_words.headline(found)
    assert "waiting for its turn" in [row[0].text for row in parts_table(found).rows]


def test_report_draws_the_wait_in_its_own_colour(small: Digest) -> None:
    digest = Digest(read_profile(small.path, distributions=True))
    result = job_report(digest)
    assert result.slices == range(FIRST + 2, FIRST + 20)
    chart = job_page(result, []).sections[0].chart
    (trace,) = [trace for trace in chart.data if trace.name == "waiting for its turn"]
    assert [value for value in trace.y if value == value][:10] == [1.0] * 10
    done = slicewise_command("report", small.path, "--json")
    assert json.loads(done.text)["turns"]["waited_seconds"] == 10.0
    assert len(json.loads(done.text)["turns"]["slices"]) == 10


def test_exports_have_it(small: Digest) -> None:
    frame = formats.table(read_profile(small.path), "waits")
    assert frame["waited_ns"].sum() == 10 * 10**9
    assert frame["start_ns"].min() == (FIRST + 2) * SLICE_NS
