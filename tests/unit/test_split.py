"""Where a job's time went: computing, MPI and I/O, who held whom, and the efficiencies."""

import json
from itertools import permutations
from types import SimpleNamespace

import polars as pl
import pytest
from slicewise.analysis.blame.outside import cost_by_waiting
from slicewise.analysis.job.split import by_slice, split
from slicewise.digest.processes import with_world
from slicewise.digest.schema import FRAMES
from slicewise.report.blame.waiting_words import ranks_by_slice, waiting_lines, waiting_sections
from slicewise.report.split.split_words import RANK_SECONDS, critical_table, split_lines, split_record, split_table
from support.ranks import SECOND, digest_of


def test_the_parts_of_a_runtime_add_up_to_it():
    calls = [(0, 0, "barrier", 1.0), (0, 1, "life", 0.5), (1, 0, "wait", 2.0), (1, 0, "file", 0.25)]
    found = split(digest_of(10, calls, [(0, 0, "write", 2.0), (1, 0, "read", 0.75)]))
    first, second = found.processes.to_dicts()
    assert (first["mpi"], first["begin_and_end"], first["write"], first["computing"]) == (1.0, 0.5, 2.0, 6.5)
    assert (second["mpi"], second["mpi_io"], second["read"], second["computing"]) == (2.0, 0.25, 0.75, 7.0)
    assert first["idle"] == second["idle"] == 0


def test_waiting_is_the_same_to_the_last_bit():
    calls = [(rank, at, "barrier", 0.1 + 0.013 * ((rank * 7 + at) % 11)) for rank in range(8) for at in range(200)]
    waiting = split(digest_of(200, calls, [], ranks=8)).waiting
    assert waiting.height == 8 * 200
    assert waiting.equals(waiting.sort("process", "slice"))  # sums are in this order


def test_what_the_first_thread_waited_for_others_is_no_part_of_the_sum():
    digest = digest_of(10, [(0, 0, "barrier", 1.0), (1, 0, "barrier", 1.0)], [])
    before = split(digest)
    assert "main waited" not in [column.heading for column in split_table(before).columns]
    waits = [
        (0, 7, "lock", 2, 5 * SECOND, SECOND),
        (0, 8, "join", 1, SECOND, SECOND // 2),
        (1, 8, "accelerator", 1, 2 * SECOND, 2 * SECOND),
    ]
    digest.thread_waits = pl.DataFrame(waits, schema=FRAMES["thread_waits"].polars_schema, orient="row")
    found = split(digest)
    assert found.processes["threads"].to_list() == [1.5, 0.0]
    assert found.processes["accelerators"].to_list() == [0.0, 2.0]
    beside = ("threads", "accelerators")
    assert found.processes.drop(beside).equals(before.processes.drop(beside))
    assert {"main waited", "for accelerators"} <= {column.heading for column in split_table(found).columns}
    assert split_record(found)["processes"][0]["threads_seconds"] == 1.5
    assert split_record(found)["processes"][1]["accelerators_seconds"] == 2.0


def test_waits_for_mapped_files_are_reads_that_hold_others_up():
    digest = digest_of(10, [(0, 0, "barrier", 0.1), (1, 0, "barrier", 0.9)], [(0, 0, "read", 0.1)])
    digest.usage = digest.usage.with_columns(user_ns=pl.lit(8 * SECOND))
    before = split(digest)
    digest.fetched = mapped_reads((0, 0, 0.75), (0, 3, 0.5))
    found = split(digest)
    first, second = found.processes.to_dicts()
    assert (first["read"], first["idle"]) == (pytest.approx(0.1 + 1.25), pytest.approx(1.8 - 1.25))
    assert second == before.processes.to_dicts()[1]
    assert [(hold.label, hold.kind, hold.seconds) for hold in found.holds] == [
        ("rank 0 on n", "read", pytest.approx(0.8))
    ]
    reads = by_slice(digest, found, 2).filter(pl.col("read") > 0).group_by("slice").agg(pl.col("read").sum())
    assert dict(reads.iter_rows()) == pytest.approx({0: 0.85, 3: 0.5})


def mapped_reads(*waits: tuple[int, int, float]) -> pl.DataFrame:
    """The digest's frame `fetched`. waits: rank, slice, seconds."""
    rows = [(rank, 7, number, 1 << 20, 9, int(seconds * SECOND)) for rank, number, seconds in waits]
    return pl.DataFrame(rows, schema=FRAMES["fetched"].polars_schema, orient="row")


def test_what_a_process_had_no_processor_for_was_idle():
    digest = digest_of(10, [(0, 0, "barrier", 1.0), (1, 0, "barrier", 1.0)], [])
    digest.usage = digest.usage.with_columns(user_ns=pl.lit(4 * SECOND))
    assert split(digest).processes["idle"].to_list() == [5.0, 5.0]
    assert split(digest).processes["computing"].to_list() == [4.0, 4.0]


def test_waiting_is_time_in_collectives_beyond_the_fastest_ranks_slice_by_slice():
    calls = [(0, 0, "barrier", 1.0), (1, 0, "collective", 3.0), (0, 1, "collective", 2.0), (0, 1, "group", 1.0)]
    # Rank 1 was in no collective in slice 1, and rank 2 never in one.
    found = split(digest_of(10, [*calls, (2, 0, "group", 1.0)], [], ranks=3))
    assert found.processes["waiting"].to_list() == [2.0, 2.0, 0.0]


def test_waiting_in_messages_is_time_beyond_the_fastest_ranks_and_beyond_what_messages_take():
    # Rank 1 receives for 3 s what rank 0 sends late. Ranks 2 and 3 send to each other all the time: no waiting.
    late = [(0, 0, "message", 0.1), (1, 0, "wait", 3.0)]
    busy = [(rank, 0, "message", 3.0) for rank in (2, 3)]
    digest = digest_of(10, [*late, *busy], [], ranks=4)
    many = pl.when(pl.col("process") >= 2).then(pl.lit(3_000_000)).otherwise(pl.lit(1))
    digest.communication = digest.communication.with_columns(calls=many.cast(pl.Int64))
    assert split(digest).processes["waiting"].to_list() == pytest.approx([0.0, 2.9, 0.0, 0.0])


def test_bytes_at_the_highest_rate_are_no_waiting():
    digest = digest_of(10, [(0, 0, "message", 1.0), (0, 1, "message", 2.0), (1, 0, "message", 0.25)], [])
    moved = pl.when(pl.col("process") == 0).then(pl.lit(100 << 20)).otherwise(pl.lit(0))
    digest.communication = digest.communication.with_columns(bytes=moved.cast(pl.Int64))
    assert split(digest).processes["waiting"].to_list() == pytest.approx([1.0, 0.0])  # in slice 1


def test_a_test_that_asks_in_a_loop_is_waiting():
    digest = digest_of(10, [(0, 0, "test", 2.0), (1, 0, "message", 0.5)], [])
    digest.communication = digest.communication.with_columns(pl.lit(1_000_000, pl.Int64).alias("calls"))
    assert split(digest).processes["waiting"].to_list() == pytest.approx([1.5, 0.0])


def test_a_slow_ranks_io_holds_the_others_up():
    calls = [(rank, number, "barrier", 0.9) for rank in (1, 2, 3) for number in (0, 1)]
    calls += [(0, number, "barrier", 0.1) for number in (0, 1)]
    found = split(digest_of(10, calls, [(0, 0, "write", 0.8), (0, 1, "write", 0.8)], ranks=4))
    [hold] = found.holds
    assert (hold.label, hold.kind, hold.held, hold.slices) == ("rank 0 on n", "write", 3, 2)
    assert (hold.seconds, hold.waited) == (pytest.approx(1.6), pytest.approx(4.8))
    assert "The writes of rank 0 on n held 3 other ranks up for 1.60 s." in list(split_lines(found))


def test_who_computes_for_longer_holds_nobody_up_by_io():
    found = split(digest_of(10, [(0, 0, "barrier", 0.1), (1, 0, "barrier", 3.1)], [(0, 0, "write", 0.5)]))
    assert [hold.seconds for hold in found.holds] == [pytest.approx(0.5)]  # no more than its I/O
    assert split(digest_of(10, [(0, 0, "barrier", 0.1), (1, 0, "barrier", 3.1)], [])).holds == []


def waits(rank: int, seconds: dict[int, float], ends: bool = True, name: str = "barrier") -> list:
    """Time in a barrier by slice; the call ends in the last of them."""
    last = max(seconds)
    return [(rank, number, name, time, ends and number == last) for number, time in seconds.items()]


def met(runtime: float, rows: list, io: list, ranks: int) -> SimpleNamespace:
    """A digest whose calls of MPI, (rank, slice, class, seconds, whether one ends there), end where it is told."""
    digest = digest_of(runtime, [row[:4] for row in rows], io, ranks)
    ended = pl.Series([int(row[4]) for row in rows], dtype=pl.Int64)
    digest.communication = digest.communication.with_columns(calls=ended)
    return digest


def test_the_critical_rank_of_each_phase_and_what_it_took_longer_by():
    # Ranks meet in slice 4: rank 1 computed for longer. Then rank 0 writes, in slices 6 and 7, before they meet again.
    rows = [row for rank in (0, 2, 3) for row in waits(rank, {2: 0.5, 3: 1.0, 4: 0.75})] + waits(1, {4: 0.05})
    rows += [row for rank in (1, 2, 3) for row in waits(rank, {6: 0.9, 7: 0.95})] + waits(0, {7: 0.05})
    io = [(0, 6, "write", 0.9), (0, 7, "write", 0.9)]
    found = split(met(10, rows, io, ranks=4))
    first, second = found.phases.to_dicts()
    assert (first["label"], first["first_slice"], first["end_slice"]) == ("rank 1 on n", 0, 5)
    # The others waited for 2.2 s; the mean rank for three quarters of that.
    assert (first["longer"], first["by"]) == (pytest.approx(0.75 * 2.2), "computing")
    assert first["computing"] == pytest.approx(first["longer"])
    assert (second["label"], second["first_slice"], second["end_slice"]) == ("rank 0 on n", 6, 8)
    assert (second["start_ns"], second["end_ns"], second["seconds"]) == (6 * SECOND, 8 * SECOND, 2.0)
    assert (second["longer"], second["by"]) == (pytest.approx(0.75 * 1.8), "write")
    assert second["write"] == pytest.approx(0.75 * 1.8)
    assert [row["sureness"] for row in (first, second)] == ["high", "high"]
    lines = [line for line in split_lines(found) if "waited for rank" in line]
    assert lines[0].endswith(
        "waited for rank 1 on n: it took 1.65 s longer than the mean rank, in computing (confidence: high)."
    )
    assert lines[1].endswith(
        "waited for rank 0 on n: it took 1.35 s longer than the mean rank, in writes (confidence: high)."
    )
    assert len(critical_table(found).rows) == 2
    assert split_record(found)["phases"][1]["by"] == "write"


def test_the_parts_of_what_a_rank_took_longer_add_up_to_it():
    rows = (
        waits(0, {1: 0.1}) + waits(1, {0: 0.4, 1: 0.9}) + [(0, 0, "message", 0.25, True), (1, 0, "file", 0.125, True)]
    )
    [row] = split(
        met(2, rows, [(0, 1, "write", 0.5), (1, 0, "read", 0.125), (0, 1, "sync", 0.0625)], ranks=2)
    ).phases.to_dicts()
    parts = ("computing", "read", "write", "meta", "sync", "mpi_io", "mpi")
    assert sum(row[name] for name in parts) == pytest.approx(row["longer"])
    assert (row["read"], row["mpi_io"]) == (pytest.approx(-0.0625), pytest.approx(-0.0625))


def test_balanced_ranks_have_no_critical_one():
    rows = [row for rank in (0, 1) for row in waits(rank, {4: 0.5})]
    found = split(met(5, rows, [], ranks=2))
    assert found.phases.is_empty()
    assert not any("waited for rank" in line for line in split_lines(found))
    assert not critical_table(found).rows


def test_ranks_that_meet_in_every_slice_are_in_one_phase():
    rows = [row for number in range(2, 8) for row in waits(0, {number: 0.6}) + waits(1, {number: 0.1})]
    until_they_met, met_always = split(met(10, rows, [], ranks=2)).phases.to_dicts()
    assert (until_they_met["first_slice"], until_they_met["end_slice"]) == (0, 3)
    assert (met_always["first_slice"], met_always["end_slice"]) == (3, 8)
    assert (met_always["label"], met_always["longer"]) == ("rank 1 on n", pytest.approx(1.25))
    assert met_always["sureness"] == "high"


@pytest.mark.parametrize(
    ("late", "sureness"), [((0, 0, 0, 0, 0), "high"), ((0, 0, 0, 1, 1), "medium"), ((0, 0, 1, 1, 2), "low")]
)
def test_sureness_is_how_much_of_the_waiting_was_for_the_critical_rank(late: tuple[int, ...], sureness: str):
    # In each slice one rank is late, and all others wait for it.
    rows = [
        row
        for number, rank in enumerate(late)
        for other in range(3)
        for row in waits(other, {number: 0.1 if other == rank else 0.8 + 0.01 * (number < 2)})
    ]
    [row] = split(met(5, rows, [], ranks=3)).phases.to_dicts()
    assert (row["label"], row["sureness"]) == ("rank 0 on n", sureness)


def test_one_slice_may_hold_several_phases():
    [row] = split(met(1, waits(0, {0: 0.7}) + waits(1, {0: 0.1}), [], ranks=2)).phases.to_dicts()
    assert (row["label"], row["sureness"]) == ("rank 1 on n", "medium")


def test_what_overlapping_threads_computed_leaves_the_critical_rank_unsure():
    [row] = split(met(2, waits(0, {0: 3.0, 1: 3.0}) + waits(1, {1: 0.1}), [], ranks=2)).phases.to_dicts()
    assert row["sureness"] == "unknown"


def test_a_rank_that_talks_to_nobody_is_not_critical():
    rows = waits(0, {1: 0.7}) + waits(1, {1: 0.1}) + [(2, 0, "life", 0.1, True)]
    [row] = split(met(2, rows, [], ranks=3)).phases.to_dicts()
    assert (row["label"], row["longer"]) == ("rank 1 on n", pytest.approx(0.3))


def test_what_a_second_lost_in_io_cost_by_waiting():
    calls = [(rank, number, "wait", 0.9) for rank in (1, 2, 3) for number in (0, 1)]
    calls += [(0, number, "wait", 0.1) for number in (0, 1)]
    found = split(digest_of(10, calls, [(0, 0, "write", 0.8), (0, 1, "write", 0.8)], ranks=4))
    slices = pl.DataFrame({"slice": [0, 1], "lost_seconds": [0.1, 0.0], "seconds": [0.2, 0.2]})
    cost = cost_by_waiting(found, SECOND, slices, SECOND)
    assert (cost.io_seconds, cost.waited_seconds) == (pytest.approx(1.6), pytest.approx(4.8))
    assert (cost.lost_io_seconds, cost.lost_waited_seconds) == (pytest.approx(0.4), pytest.approx(1.2))
    lines = list(waiting_lines(cost))
    assert lines[1] == "The writes of rank 0 on n held 3 other ranks up for 1.60 s."
    assert "others waited for rank 0 on n: it took" in lines[2]
    assert lines[3].startswith("Parallel efficiency ")
    assert "load balance" in lines[3]
    assert lines[4].endswith("each second lost there cost 3.0 s of waiting.")
    mean, ranks, critical = waiting_sections(cost)
    assert "MPI, waiting for I/O of others" in json.dumps(mean.chart.plain())
    assert [row[0].text for row in ranks.tables[0].rows] == [f"rank {rank} on n" for rank in range(4)]
    assert critical.tables[0].rows[0][2].text == "rank 0 on n"
    assert cost_by_waiting(found, SECOND, None, SECOND).lost_io_seconds is None
    coarse = pl.DataFrame({"slice": [0], "lost_seconds": [0.2], "seconds": [0.4]})
    assert cost_by_waiting(found, SECOND, coarse, 2 * SECOND).lost_io_seconds == pytest.approx(0.8)


def test_ranks_are_told_of_a_chosen_time_by_what_they_counted_in_its_slices():
    calls = [(0, 0, "barrier", 0.2), (1, 0, "barrier", 0.9), (0, 3, "file", 0.5), (1, 3, "life", 0.25)]
    digest = digest_of(5, calls, [(0, 1, "write", 0.5), (0, 3, "write", 0.25), (1, 2, "read", 1.0)])
    found = split(digest)
    table = split_table(found, by_slice(digest, found, 2), range(5))
    headings = [column.heading for column in table.columns]
    told = [
        {heading: [round(float(each), 3) for each in cell.over_time.values[0]]
         for heading, cell in zip(headings, row, strict=True) if cell.over_time}
        for row in table.rows
    ]  # fmt: skip
    assert told == [
        {"MPI": [0.2, 0, 0, 0, 0], "writes": [0, 0.5, 0, 0.25, 0], "MPI-IO": [0, 0, 0, 0.5, 0]},
        {"MPI": [0.9, 0, 0, 0, 0], "of that waiting": [0.7, 0, 0, 0, 0], "begin and end": [0, 0, 0, 0.25, 0],
         "reads": [0, 0, 1.0, 0, 0]},
    ]  # fmt: skip
    # Parts that are in no slice of the axis: such a figure is of the whole run alone.
    assert not any(cell.over_time for cell in split_table(found, by_slice(digest, found, 2), range(1, 3)).rows[1][2:6])


def test_a_blames_ranks_are_told_of_a_chosen_time_in_slices_of_its_grid():
    calls = [(0, number, "barrier", 0.25) for number in range(6)] + [(1, 1, "barrier", 0.5), (1, 5, "life", 0.125)]
    digest = digest_of(6, calls, [(0, 1, "write", 0.5), (0, 2, "write", 0.25)])
    cost = cost_by_waiting(split(digest), SECOND, None, 2 * SECOND)
    ranks = waiting_sections(cost, ranks_by_slice(cost, digest, 2 * SECOND), range(-1, 3))[1].tables[0]
    told = [
        {
            column.heading: list(cell.over_time.values[0])
            for column, cell in zip(ranks.columns, row, strict=True)
            if cell.over_time
        }
        for row in ranks.rows
    ]
    assert told == [
        {"MPI": [0, 0.5, 0.5, 0.5], "of that waiting": [0, 0.25, 0.5, 0.5], "writes": [0, 0.5, 0.25, 0]},
        {"MPI": [0, 0.5, 0, 0], "of that waiting": [0, 0.25, 0, 0], "begin and end": [0, 0, 0, 0.125]},
    ]
    many = digest_of(30_000, [(0, 0, "barrier", 1.0), (1, 29_999, "barrier", 1.0)], [])
    assert ranks_by_slice(cost_by_waiting(split(many), SECOND, None, SECOND), many, SECOND) is None


def test_efficiencies_are_those_of_pop():
    calls = [(0, 0, "barrier", 2.0), (1, 0, "barrier", 4.0)]
    found = split(digest_of(10, calls, [(0, 0, "write", 2.0), (1, 0, "write", 2.0)])).efficiency
    assert found.load_balance == pytest.approx(5 / 6)  # 6 s and 4 s
    assert found.io == pytest.approx(6 / 8)
    assert found.communication == pytest.approx(8 / 10)
    assert found.parallel == pytest.approx(5 / 10)


def test_seconds_have_keys_that_say_so():
    calls = [(0, 0, "barrier", 2.0), (1, 0, "barrier", 4.0)]
    record = split_record(split(digest_of(10, calls, [(0, 0, "write", 2.0), (1, 0, "write", 2.0)])))
    assert record is not None
    for row in record["processes"]:
        assert set(row) == {"rank", "label", *(f"{name}_seconds" for name in RANK_SECONDS)}


def test_threads_that_overlap_are_told():
    found = split(digest_of(1, [(0, 0, "collective", 3.0), (1, 0, "collective", 0.5)], []))
    assert found.has_threads == 1
    assert any("several threads" in line for line in split_lines(found))
    assert split_table(found).rows


def test_a_job_without_calls_of_mpi_has_no_split():
    assert split(digest_of(10, [], [(0, 0, "write", 1.0)])) is None
    assert list(split_lines(None)) == []


def worlds_of(rows: list[tuple[int, int, int]]) -> list[int | None]:
    """rows: rank, ranks, start."""
    return with_world(pl.DataFrame(rows, schema=["rank", "ranks", "start_ns"], orient="row"))["world"].to_list()


def test_worlds_are_told_apart_by_size_and_by_when_they_began():
    assert worlds_of([(0, 2, 5), (1, 2, 3), (-1, 0, 1)]) == [0, 0, None]
    assert worlds_of([(0, 1, 9), (0, 2, 5), (1, 2, 3)]) == [1, 0, 0]  # a child of another size
    later = 1_000 * 1_000_000
    one_after_the_other = [(0, 2, 5), (1, 2, 6), (1, 2, later + 1), (0, 2, later)]
    assert worlds_of(one_after_the_other) == [0, 0, 1, 1]
    assert worlds_of([(0, 1, 5), (0, 1, 5), (0, 1, 6)]) == [0, 1, 2]  # each rank is a world
    assert worlds_of([(0, 2, 5), (0, 2, 6), (1, 2, 7), (1, 2, 8), (0, 3, 1)]) == [None] * 4 + [0]  # side by side


@pytest.mark.parametrize("starts", list(permutations((0, 2, 4, 6))))
def test_worlds_that_began_at_once_are_not_told_apart(starts: tuple[int, ...]):
    """Whichever came first: rank 0 of the one world and rank 1 of the other may have been the first two."""
    rows = [(number % 2, 2, milliseconds * 1_000_000) for number, milliseconds in enumerate(starts)]
    assert worlds_of(rows) == [None] * 4


def test_of_several_worlds_that_are_not_whole_none_is_told_apart():
    later = 1_000 * 1_000_000
    assert worlds_of([(1, 2, 0), (0, 2, later), (1, 2, later + 5)]) == [None] * 3
    assert worlds_of([(1, 4, 0), (3, 4, later)]) == [0, 0]  # one world, of which ranks are missing


def test_ranks_wait_for_those_of_their_own_world():
    calls = [(0, 0, "barrier", 0.1), (1, 0, "barrier", 0.6), (2, 0, "barrier", 0.0), (2, 0, "wait", 0.9)]
    digest = digest_of(10, calls, [(0, 0, "write", 0.9)], ranks=3)
    digest.processes = digest.processes.with_columns(
        rank=pl.Series([0, 1, 0]), ranks=pl.Series([2, 2, 1]), start_ns=pl.Series([0, 0, 1])
    )
    found = split(digest)
    waited = dict(found.processes.select("process", "waiting").iter_rows())
    assert waited == pytest.approx({0: 0.0, 1: 0.5, 2: 0.0})
    assert [(hold.process, hold.held) for hold in found.holds] == [(0, 1)]
    assert set(found.phases["process"]) == {0}
    assert found.efficiency.parallel is None
    assert any("The job had 2 MPI worlds" in line for line in split_lines(found))


def test_where_worlds_cannot_be_told_apart_nobody_is_said_to_wait():
    calls = [(rank, 0, "barrier", 0.1 + 0.2 * rank) for rank in range(4)]
    digest = digest_of(10, calls, [(0, 0, "write", 0.9)], ranks=4)
    digest.processes = digest.processes.with_columns(
        rank=pl.Series([0, 0, 1, 1]), ranks=pl.lit(2), start_ns=pl.Series([0, 1, 2, 3])
    )
    found = split(digest)
    assert (found.processes["waiting"].to_list(), found.holds, found.phases.height) == ([None] * 4, [], 0)
    assert [row[5].text for row in split_table(found).rows] == ["unknown"] * 4
    lines = list(split_lines(found))
    assert "(waiting for others: unknown)" in lines[0]
    assert lines[-1].startswith("Unknown in which of several MPI worlds (MPI_COMM_WORLD) 4 ranks ran")
    assert split_record(found)["unknown_world"] == 4
    assert found.efficiency.parallel is None
    assert found.processes["mpi"].sum() == pytest.approx(1.6)
