"""Why one run took longer than another, from runs whose every second is known."""

import json
from dataclasses import replace

import pytest
from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.result import Outside
from slicewise.analysis.compare.compare import Blamed, blamed_of, compare
from slicewise.analysis.compare.difference import Loss
from slicewise.analysis.compare.work import work_of
from slicewise.digest.digest import read_digest
from slicewise.digest.shared import read_digests
from slicewise.errors import UserError
from slicewise.estimate import Estimate
from slicewise.report.compare import compare_report, compare_words
from slicewise.report.compare.compare_report import compare_page, compare_record, parts_table, runs_table
from support.command_line import answer_of, refusal_of, slicewise_command
from support.runs import MIB, SECOND, START, metadata, read, write_run, wrote
from support.swz import build_profile, of_disk


def lost_by(losses):
    return {job: Blamed(loss) for job, loss in losses.items()}


def told(*runs, **losses):
    return compare(read_digests(runs), lost_by(losses)).told


def lost(value, low, high, *who):
    return Loss(Estimate(value, low, high, "by blame"), *who)


def parts_of(difference):
    return {part: None if found is None else found.value for part, found in difference.own_io.parts.items()}


@pytest.fixture
def yesterday(tmp_path):
    """12 s of writes at 100 MiB for 0.9 s, and 4.4 s of computing."""
    return write_run(tmp_path / "yesterday", 15.2, [{at: wrote(100, 0.9) for at in range(12)}])


def test_more_bytes_count_at_the_first_runs_cost(tmp_path, yesterday):
    today = write_run(tmp_path / "today", 24.2, [{at: wrote(100, 0.9) for at in range(22)}])
    found = told(yesterday, today)
    assert found.difference_seconds == pytest.approx(9.0)
    assert found.own_io.seconds.value == pytest.approx(1000 * 0.9 / 100)
    assert parts_of(found) == {"bytes": pytest.approx(9.0), "calls": 0.0, "sizes": 0.0, "metadata": 0.0}
    assert found.computing_seconds == pytest.approx(0.0)
    assert found.unexplained_seconds.value == pytest.approx(0.0)
    assert found.confidence == "high"


def test_slower_io_is_unexplained_as_long_as_nobody_says_what_neighbours_cost(tmp_path, yesterday):
    today = write_run(tmp_path / "today", 27.3, [{at: wrote(50, 0.9) for at in range(24)}])
    found = told(yesterday, today)
    assert found.lost_seconds is None
    assert found.unexplained_seconds.value == pytest.approx(10.8)
    assert found.computing_seconds == pytest.approx(1.3)
    assert found.confidence == "unknown"
    loss = lost(10.5, 10.2, 10.8, ["large"], "medium")
    blamed = told(yesterday, today, today=loss)
    assert blamed.lost_seconds.value == 10.5
    assert blamed.unexplained_seconds.value == pytest.approx(0.3)
    assert blamed.unexplained_seconds.low <= 0 <= blamed.unexplained_seconds.high
    assert blamed.confidence == "medium"


def test_what_the_first_run_lost_is_taken_off(tmp_path, yesterday):
    today = write_run(tmp_path / "today", 27.3, [{at: wrote(50, 0.9) for at in range(24)}])
    losses = {name: lost(value, value, value) for name, value in (("today", 9.0), ("yesterday", 2.0))}
    assert told(yesterday, today, **losses).lost_seconds.value == pytest.approx(7.0)


FASTER = lost(-3.0, -3.4, -2.6, ["large"], "medium")


def test_a_run_that_was_faster_beside_neighbours_lost_nothing_to_them(tmp_path, yesterday):
    today = write_run(tmp_path / "today", 12.2, [{at: wrote(100, 0.65) for at in range(12)}])
    found = told(yesterday, today, today=FASTER)
    assert (found.lost_seconds.value, found.lost_seconds.low, found.lost_seconds.high) == (0.0, 0.0, 0.0)
    assert found.unexplained_seconds.value == pytest.approx(-3.0)
    headline = compare_words.headline(compare(read_digests([yesterday, today]), lost_by({"today": FASTER})))
    assert headline.endswith("3.00 s less, 3.00 s of it in I/O that took less time for the same work.")


def test_no_more_is_gained_from_neighbours_than_the_first_run_lost(tmp_path, yesterday):
    today = write_run(tmp_path / "today", 12.2, [{at: wrote(100, 0.65) for at in range(12)}])
    found = told(yesterday, today, today=FASTER, yesterday=lost(2.0, 1.5, 2.5, ["tar"], "high"))
    assert (found.lost_seconds.value, found.lost_seconds.low, found.lost_seconds.high) == (-2.0, -2.5, -1.5)
    assert found.unexplained_seconds.value == pytest.approx(-1.0)
    losses = {"today": FASTER, "yesterday": lost(2.0, 1.5, 2.5, ["tar"], "high")}
    headline = compare_words.headline(compare(read_digests([yesterday, today]), lost_by(losses)))
    assert "2.00 s of it in I/O that tar slowed down" in headline


def test_prices_are_those_without_what_the_first_run_lost(tmp_path, yesterday):
    """Yesterday lost half of its 10.8 s; today does twice the work in the same time, alone."""
    today = write_run(tmp_path / "today", 15.2, [{at: wrote(200, 0.9) for at in range(12)}])
    found = told(yesterday, today, yesterday=lost(5.4, 5.3, 5.5), today=lost(0, 0, 0))
    assert found.own_io.seconds.value == pytest.approx(5.4)
    assert found.lost_seconds.value == pytest.approx(-5.4)
    assert found.unexplained_seconds.value == pytest.approx(0, abs=1e-6)


def test_calls_cost_by_themselves_where_the_first_run_made_them_of_several_sizes(tmp_path):
    # 0.5 ms a call and 5 ms a MiB.
    large = {at: wrote(100, 100 * 0.0005 + 100 * 0.005) for at in range(8)}
    small = {at: wrote(10, 160 * 0.0005 + 10 * 0.005, size=MIB // 16) for at in range(8, 16)}
    first = write_run(tmp_path / "first", 20, [large | small])
    other = write_run(tmp_path / "other", 21, [large | small | dict.fromkeys(range(16, 20), small[8])])
    found = told(first, other)
    assert parts_of(found)["bytes"] == pytest.approx(40 * 0.005, rel=1e-3)
    assert parts_of(found)["calls"] == pytest.approx(640 * 0.0005, rel=1e-3)
    assert found.own_io.unknown == []


def test_other_sizes_cost_what_the_first_run_paid_for_them(tmp_path):
    # Sizes so near to each other that no line through them is drawn, of which the small ones cost twice as much a byte.
    rows = {at: wrote(100, 0.5) for at in range(8)} | {at: wrote(50, 0.5, size=MIB // 4) for at in range(8, 16)}
    first = write_run(tmp_path / "first", 20, [rows])
    other = write_run(tmp_path / "other", 20, [{at: wrote(75, 0.75, size=MIB // 4) for at in range(16)}])
    found = told(first, other)
    assert parts_of(found)["bytes"] == pytest.approx(0)
    assert parts_of(found)["sizes"] == pytest.approx(1200 * 0.01 - 8, rel=1e-6)


def calls_of(bytes_: int, calls: int, seconds: float, **bins: int) -> dict[str, int]:
    return {"write_bytes": bytes_, "write_ops": calls, "write_ns": round(seconds * 1e9), **bins}


KIB = 1024
# 768 calls of 256 KiB: those that span two slices have bytes in both. A byte costs more in slices that have more of it.
SPANNING = [
    {at: calls_of(64 * 256 * KIB + (6000 if at % 2 else -6000), 64, 0.9 if at % 2 else 0.5) for at in range(12)},
    {at: calls_of(64 * 256 * KIB + (-1000 if at else 11_000), 64, 0.8) for at in range(12)},
]
# Four calls of 36 MiB, each in three slices.
LONG = [{at: calls_of(12 * MIB, int(at % 3 == 2), seconds) for at in range(12)} for seconds in (0.9, 0.8)]


@pytest.mark.parametrize("of_runs", [SPANNING, LONG], ids=["spanning", "long"])
def test_the_same_calls_have_no_other_sizes_however_they_lie_in_slices(tmp_path, of_runs):
    runs = [write_run(tmp_path / name, 15.0, [rows]) for name, rows in zip(("a", "b"), of_runs, strict=True)]
    found = told(*runs)
    assert parts_of(found) == {"bytes": 0.0, "calls": 0.0, "sizes": 0.0, "metadata": 0.0}
    assert (found.own_io.seconds.low, found.own_io.seconds.high, found.own_io.unknown) == (0.0, 0.0, [])
    in_calls = [sum(row["write_ns"] for row in rows.values()) / 1e9 for rows in of_runs]
    assert found.unexplained_seconds.value == pytest.approx(in_calls[1] - in_calls[0])


def test_as_many_calls_and_bytes_in_other_sizes_cost_what_they_did(tmp_path):
    large = calls_of(40 * MIB, 10, 0.2, write_size_5=10)
    small = calls_of(40 * MIB, 640, 0.8, write_size_3=640)
    first = write_run(tmp_path / "first", 20, [{at: large if at % 2 else small for at in range(16)}])
    middling = calls_of(40 * MIB, 325, 0.8, write_size_4=325)
    other = write_run(tmp_path / "other", 20, [dict.fromkeys(range(16), middling)])
    found = compare(read_digests([first, other], distributions=True)).told
    assert parts_of(found)["sizes"] == pytest.approx(16 * 0.8 - 8.0)


def test_sizes_that_the_first_run_never_used_are_not_priced(tmp_path, yesterday):
    today = write_run(tmp_path / "today", 27.3, [{at: wrote(50, 0.9, size=4096) for at in range(24)}])
    found = told(yesterday, today)
    assert parts_of(found) == {"bytes": 0.0, "calls": None, "sizes": None, "metadata": 0.0}
    assert [work.why for work in found.own_io.unknown] == ["other sizes"]


def test_metadata_calls_have_a_price_of_their_own(tmp_path):
    first = write_run(tmp_path / "first", 10, [{at: metadata(1000, 0.5) for at in range(4)}])
    other = write_run(tmp_path / "other", 12, [{at: metadata(1000, 0.5) for at in range(8)}])
    found = told(first, other)
    assert parts_of(found) == {"bytes": 0.0, "calls": 0.0, "sizes": 0.0, "metadata": pytest.approx(2.0)}
    assert found.unexplained_seconds.value == pytest.approx(0.0)


def test_work_that_the_first_run_never_did_counts_as_long_as_it_took(tmp_path, yesterday):
    rows = {at: wrote(100, 0.9) for at in range(12)} | {at: read(200, 0.8) for at in range(12, 16)}
    today = write_run(tmp_path / "today", 19.2, [rows])
    found = told(yesterday, today)
    assert found.own_io.seconds.value == pytest.approx(3.2)
    assert found.own_io.seconds.low == 0.0  # the same writes as then are no other work
    assert [(work.why, work.kind) for work in found.own_io.unknown] == [("not done before", "read")]


def test_of_independent_processes_the_longest_counts(tmp_path):
    rows = [{at: wrote(10, 0.2) for at in range(10)}, {at: wrote(10, 0.5) for at in range(10)}]
    work = work_of(read_digest(write_run(tmp_path / "two", 10, rows)))
    assert (work.waits, work.io_ns) == ("processes", 5_000_000_000)
    assert work.decided_by == "process 101 on n1"


def test_processes_that_follow_each_other_add_up(tmp_path):
    rows = [{at: wrote(10, 0.5) for at in range(start, start + 5)} for start in (0, 5, 10)]
    rows.append({at: wrote(10, 0.2) for at in range(15)})
    spans = [(0.0, 5.0), (5.0, 10.0), (10.0, 15.0), (0.0, 15.0)]
    work = work_of(read_digest(write_run(tmp_path / "script", 15, rows, spans=spans)))
    assert work.io_ns == 7_500_000_000


def test_of_ranks_the_slowest_of_each_phase_counts(tmp_path):
    # As in section 2 of the models: (3, 1) and (0, 2) are 5 for ranks that wait for each other.
    slow, quick = ({at: wrote(10, seconds) for at in range(4)} for seconds in (0.75, 0.25))
    late_quick, late = ({at: wrote(10, seconds) for at in range(12, 16)} for seconds in (0.0, 0.5))
    rows = [slow | late_quick, quick | late]
    ranks = work_of(read_digest(write_run(tmp_path / "ranks", 16, rows, is_mpi=True)))
    assert (ranks.waits, ranks.io_ns) == ("ranks", 5_000_000_000)
    apart = work_of(read_digest(write_run(tmp_path / "apart", 16, rows)))
    assert (apart.waits, apart.io_ns) == ("processes", 3_000_000_000)


def test_time_of_threads_side_by_side_is_not_longer_than_the_run(tmp_path):
    rows = {at: wrote(10, 3.9) | {"threads": 4} for at in range(10)}
    assert work_of(read_digest(write_run(tmp_path / "threads", 10, [rows]))).io_ns == 10_000_000_000


def test_threads_that_begin_and_end_within_slices_are_in_calls_for_parts_of_them(tmp_path):
    """Eight threads, from 2.75 s to 6.25 s; and one, for a little of each slice after that."""
    rows = {2: 0.25 * 8, 3: 8, 4: 8, 5: 8, 6: 0.25 * 8} | dict.fromkeys(range(7, 10), 0.01)
    run = write_run(tmp_path / "burst", 10, [{at: read(10, seconds) for at, seconds in rows.items()}])
    assert work_of(read_digest(run)).io_ns == pytest.approx(3_530_000_000)


def test_a_slice_with_two_threads_in_calls_does_not_halve_the_others(tmp_path):
    """Such a run was told to have spent 5.41 s more outside of calls than its run alone, and 3.23 s less in them."""
    rows = {at: read(10, 0.95) for at in range(12)}
    alone = write_run(tmp_path / "alone", 13, [rows])
    together = write_run(tmp_path / "together", 13.6, [rows | {11: read(10, 1.5) | {"threads": 12}}])
    found = told(alone, together)
    assert (found.of.io_ns, found.against.io_ns) == (11_450_000_000, 11_400_000_000)


@pytest.mark.parametrize(("both_busy", "in_calls"), [((2, 3), (19.2, 19.8)), ((3, 2), (18.0, 18.0))])
def test_processes_that_wait_for_each_other_in_one_run_do_so_in_the_other(tmp_path, both_busy, in_calls):
    """A copy's second process is busy with the first one in so many slices that it may have waited for it, or not."""
    runs = [
        write_run(
            tmp_path / name, 20.2,
            [{at: read(10, 0.9) for at in range(20)}, {at: wrote(70 / slices, 0.6) for at in range(slices)}],
            spans=[(0.0, 20.2), (0.001, 20.199)],
        )
        for name, slices in zip(("first", "second"), both_busy, strict=True)
    ]  # fmt: skip
    found = told(*runs)
    assert tuple(run.io_ns / SECOND for run in (found.against, found.of)) == pytest.approx(in_calls)
    assert found.of.total("write", "bytes") == pytest.approx(found.against.total("write", "bytes"), abs=2)


def copy_and_sync(directory, begin, seconds, is_sampled):
    """A writer of 100 MiB in 5 s; then the command `sync`, for so long, in which the disk writes them."""
    first = 1 + sum(map(ord, directory.name))
    start, end, synced = (at * SECOND for at in (begin, begin + 5, begin + 5 + seconds))
    process = {"host": "n1", "slice_ns": SECOND, "command": "copy"}
    processes = [
        process | {"process": first, "program": "/bin/copy", "start_ns": start, "end_ns": end},
        process | {"process": first + 1, "program": "/bin/sync", "start_ns": end, "end_ns": synced},
    ]
    slices = [wrote(20, 0.02) | {"process": first, "slice": begin + at, "threads": 1} for at in range(5)]
    sync = {"sync_ops": 1, "sync_ns": seconds * SECOND, "threads": 1}
    slices.append(sync | {"process": first + 1, "slice": begin + 4 + seconds})
    mounts = [{"process": first + at, "type": "ext4", "source": "/dev/sda1"} for at in range(2)]
    written = {"write_bytes": 100 * MIB // seconds}
    slices_of_disk = range(begin, begin + 5 + seconds)
    sampled = of_disk(first + 7000, slices_of_disk, lambda at: written if at >= begin + 5 else {}, "sda1")
    return build_profile(directory, processes, slices, mounts, collected=sampled if is_sampled else {})


@pytest.mark.parametrize("sampled", [(True, False), (False, True), (True, True), (False, False)])
def test_both_runs_wrote_what_their_calls_wrote_whoever_looked_at_the_disk(tmp_path, sampled):
    """A counter of the one run showed no byte of the other, which was told to have written 0 B."""
    runs = [
        copy_and_sync(tmp_path / name, START + at, seconds, is_sampled)
        for name, at, seconds, is_sampled in zip(("first", "second"), (0, 100), (5, 6), sampled, strict=True)
    ]
    found = told(*runs)
    assert (found.of.total("write", "bytes"), found.against.total("write", "bytes")) == (100 * MIB, 100 * MIB)
    assert (found.of.total("write", "calls"), found.against.total("write", "calls")) == (100, 100)
    assert found.own_io.unknown == []
    assert found.own_io.seconds.value == pytest.approx(0.0, abs=0.001)


def test_one_sync_is_no_calls(tmp_path):
    def run(name, syncs, begin):
        process = {"process": begin, "start_ns": begin * SECOND, "end_ns": (begin + 5) * SECOND, "slice_ns": SECOND}
        rows = [{"process": begin, "slice": begin + at, "write_bytes": MIB, "write_ns": SECOND} for at in range(4)]
        rows += [{"process": begin, "slice": begin + 4, "sync_ops": syncs, "sync_ns": syncs * SECOND // 2}]
        return build_profile(tmp_path / name, [process], rows)

    runs = read_digests([run("a", 0, 100), run("b", 1, 200)])
    assert any(note.startswith("b made 1 sync call ") for note in compare_words.notes(compare(runs, lost_by({}))))


def test_what_processes_did_that_do_not_matter_is_the_jobs_work_too(tmp_path):
    rows = [{at: wrote(100, 0.9) for at in range(12)}, {3: wrote(4, 0.01)}]
    work = work_of(read_digest(write_run(tmp_path / "two", 13, rows)))
    assert (work.processes, work.total("write", "bytes")) == (1, 1204 * MIB)
    assert work.rows["bytes"].sum() == pytest.approx(1204 * MIB, abs=12)


def test_another_number_of_processes_widens_the_interval_and_is_less_sure(tmp_path, yesterday):
    rows = {at: wrote(50, 0.45) for at in range(12)}
    found = told(yesterday, write_run(tmp_path / "today", 9.8, [rows, rows]))
    assert found.own_io.seconds.value == pytest.approx(0.0)
    assert found.own_io.seconds.low == pytest.approx(-5.4, abs=0.15)
    assert found.confidence in ("medium", "low", "unknown")


def test_several_runs_are_compared_with_the_median_and_shares_add_up(tmp_path):
    runs = [
        write_run(tmp_path / f"r{place}", 15 + extra, [{at: wrote(100, 0.5 + extra / 20) for at in range(10)}])
        for place, extra in enumerate((0.0, 1.0, 2.0, 3.0, 4.0))
    ]
    found = compare(read_digests(runs))
    assert (found.against.job.job, found.told.of.job.job, found.chosen) == ("r2", "r4", "the median")
    assert [each.of.job.job for each in found.differences] == ["r0", "r1", "r3", "r4"]
    assert sum(found.shares.values()) == pytest.approx(1)
    assert found.shares["unexplained"] == pytest.approx(0.5)
    assert found.shares["computing"] == pytest.approx(0.5)


def test_disks_of_one_name_on_two_nodes_are_one_place(tmp_path):
    disk = {"point": "/tmp", "type": "ext4", "source": "/dev/sda1"}
    rows = [{at: wrote(100, 0.9) for at in range(12)}]
    runs = [write_run(tmp_path / name, 15, rows, mounts=disk) for name in ("a", "b")]
    found = compare(read_digests(runs))
    assert list(found.places.values()) == ["/tmp"]


def test_one_run_and_one_run_twice_are_refused_by_a_line(tmp_path, yesterday):
    with pytest.raises(UserError, match="two runs or more"):
        compare(read_digests([yesterday]))
    with pytest.raises(UserError, match="same processes"):
        compare(read_digests([yesterday, yesterday]))


def test_runs_without_any_io_differ_in_computing_alone(tmp_path):
    runs = [write_run(tmp_path / f"r{seconds}", seconds, [{0: {}}]) for seconds in (10, 12)]
    found = told(*runs)
    assert (found.computing_seconds, found.own_io.seconds.value) == (2.0, 0.0)


@pytest.fixture
def slowed(tmp_path, yesterday):
    """yesterday's work 200 s later, beside a job that takes half of the storage for 16 s; both beside its profile."""
    rows = {at: wrote(50 if 4 <= at < 20 else 100, 0.9) for at in range(20)}
    large = write_run(tmp_path / "large", 20, [{at: wrote(90, 0.99) for at in range(4, 20)}], "/opt/other", begin=200)
    return write_run(tmp_path / "slowed", 27.3, [rows], begin=200), large


def test_what_neighbours_cost_is_what_blame_says_and_they_are_looked_for(yesterday, slowed, tmp_path):
    run, large = slowed
    for neighbours in ([], [large]):
        first, lost = (one.loss for one in blamed_of([yesterday, run], neighbours))
        assert first is None
        assert lost.neighbours == ["large"]
        # 20 slices of which 16 moved 50 MiB: what these 800 MiB take longer than yesterday.
        assert lost.seconds.value == pytest.approx(16 * 0.45, rel=0.01)
    found = told(yesterday, run, slowed=lost)
    assert found.unexplained_seconds.low <= 0 <= found.unexplained_seconds.high
    assert found.confidence in ("high", "medium")


def test_who_cost_how_much_and_how_sure_that_is_are_as_blame_says(yesterday, slowed):
    run, large = slowed
    lost = blamed_of([yesterday, run], [large])[1].loss
    of_blame = blame(*(read_digest(run), [read_digest(large)], (), [read_digest(yesterday)]))
    (only,) = of_blame.neighbours
    assert (lost.seconds.value, lost.seconds.low, lost.seconds.high) == (only.lost.value, only.lost.low, only.lost.high)
    assert (lost.confidence, lost.unsure) == (of_blame.confidence, [])


def test_a_run_of_other_work_does_not_tell_what_neighbours_cost(tmp_path):
    """A hundredth of the bytes, in small calls at a seventh of the rate: for blame that is no time alone, either."""
    run = write_run(tmp_path / "run", 27.3, [{at: wrote(50, 0.9) for at in range(24)}])
    large = write_run(tmp_path / "large", 27.3, [{at: wrote(50, 0.99) for at in range(24)}], "/opt/other")
    other = write_run(tmp_path / "small", 3, [{at: wrote(6, 0.9, size=4096) for at in range(2)}], begin=200)
    lost, told = blamed_of([other, run], [large])[1].loss, blame(read_digest(run), [read_digest(large)])
    (only,) = told.neighbours
    assert (lost.seconds.value, lost.confidence) == (pytest.approx(only.lost.value), told.confidence)
    assert told.confidence == "low"


def test_same_calls_are_no_less_sure_for_slices_of_uneven_speed(tmp_path):
    uneven = {at: wrote(100, 0.9) if at % 4 else wrote(4, 0.9) for at in range(12)}
    first = write_run(tmp_path / "first", 15, [uneven])
    other = write_run(tmp_path / "other", 19, [uneven | {at: wrote(0.001, 0.8) for at in range(12, 17)}])
    assert told(first, other, other=lost(4.0, 3.5, 4.5, ["large"], "medium")).confidence == "medium"


@pytest.mark.parametrize("is_counted", [True, False])
def test_waits_for_processors_within_calls_are_as_long_as_blame_says(tmp_path, is_counted):
    """20 s alone, of which 9 s in writes; beside busy loops 40 s, and twice as long in writes, since they waited for a
    processor. Some kernels count such waits, and of others the switches tell.
    """

    def run(name, seconds, did, delayed, switches, begin):
        first = START + begin
        process = {
            "process": begin, "program": "/opt/sim", "start_ns": first * SECOND, "end_ns": (first + seconds) * SECOND,
            "slice_ns": SECOND, "ending": "exit",
        }  # fmt: skip
        look = {
            "process": begin, "number": 1, "slice": first, "sampled_ns": seconds * SECOND, "user_ns": 9 * SECOND,
            "first_thread_ns": 9 * SECOND, "delayed_ns": round(delayed * SECOND) if is_counted else 0,
            "involuntary_switches": switches,
        }  # fmt: skip
        slices = [{"process": begin, "slice": first + at, "threads": 1} | row for at, row in did.items()]
        return build_profile(tmp_path / name, [process], slices, usage=[look])

    alone = run("alone", 20, {2 * at: wrote(80, 0.9) for at in range(10)}, 1e-3, 10, 1)
    slowed = run("slowed", 40, {2 * at: wrote(40, 0.9) for at in range(20)}, 20, 5000, 500)
    of_blame = blame(read_digest(slowed), [], [read_digest(alone)]).outside
    in_calls = blamed_of([alone, slowed])[1].in_calls
    found = compare(read_digests([alone, slowed]), {"slowed": Blamed(in_calls=in_calls)}).told.outside
    assert (found.seconds, found.waited_seconds, found.io_seconds) == pytest.approx(
        (of_blame.seconds, of_blame.waited_seconds, of_blame.io_seconds)
    )
    assert found.io_seconds == pytest.approx(9.0, rel=0.01)


def test_nobody_known_is_not_nobody(yesterday, tmp_path):
    alone = write_run(tmp_path / "again", 15.2, [{at: wrote(100, 0.9) for at in range(12)}], begin=500)
    assert [one.loss for one in blamed_of([yesterday, alone])] == [None, None]


@pytest.fixture
def runs(tmp_path):
    rows = {
        "yesterday": (15.2, {at: wrote(100, 0.9) for at in range(12)}),
        "today": (27.3, {at: wrote(50, 0.9) for at in range(24)}),
        "bigger": (24.2, {at: wrote(100, 0.9) for at in range(22)}),
        "smaller": (27.3, {at: wrote(50, 0.9, size=4096) for at in range(24)}),
        "reader": (19.0, {at: wrote(100, 0.9) for at in range(12)} | {at: read(200, 0.95) for at in range(12, 16)}),
        "storm": (17.2, {at: wrote(100, 0.9) | metadata(500, 0.05) for at in range(12)}),
    }
    return {name: write_run(tmp_path / name, seconds, [did]) for name, (seconds, did) in rows.items()}


def comparison(runs, *names, **losses):
    return compare(read_digests([runs[name] for name in names]), lost_by(losses))


LOST = lost(10.5, 10.2, 10.8, ["large"], "high")


def test_the_first_sentence_says_how_much_why_and_how_sure(runs):
    found = comparison(runs, "yesterday", "today", today=LOST)
    assert compare_words.opening(found) == [
        "today took 1.8 times as long as yesterday: 12.1 s more, 10.5 s of it in I/O that large slowed down and 1.30 s "
        "of it outside of I/O calls. Confidence: high."
    ]


def test_of_different_programs_it_says_so_and_is_less_sure(runs, tmp_path):
    other = {at: wrote(50, 0.9) for at in range(24)}
    runs["today"] = write_run(tmp_path / "other" / "today", 27.3, [other], program="/opt/solver")
    found = comparison(runs, "yesterday", "today", today=LOST)
    first, then = compare_words.opening(found)
    assert first.endswith("Confidence: high in what large cost, medium in the rest.")
    assert then == "They are different programs: yesterday ran simulation and today ran solver."
    assert any("for any reason" in note for note in compare_words.notes(found))


def test_who_may_as_well_have_cost_nothing_is_not_in_the_first_sentence(runs):
    doubtful = lost(4.0, -1.0, 9.0, ["large"], "medium", ["large"])
    first, then = compare_words.opening(comparison(runs, "yesterday", "today", today=doubtful))
    assert "12.1 s more, 10.8 s of it in I/O that took longer for the same work and 1.30 s of it outside" in first
    assert then == "Perhaps large cost today 4.00 s [0-9.00], and perhaps nothing."
    one_of_two = lost(9.0, 6.0, 12.0, ["large", "tar"], "medium", ["tar"])
    assert "9.00 s of it in I/O that large slowed down" in compare_words.headline(
        comparison(runs, "yesterday", "today", today=one_of_two)
    )


def test_a_part_is_not_more_than_all(tmp_path, yesterday):
    today = write_run(tmp_path / "today", 26.0, [{at: wrote(50, 0.9) for at in range(24)}])
    found = compare(read_digests([yesterday, today]), lost_by({"today": lost(11.3, 11.0, 11.6, ["large"], "high")}))
    assert compare_words.headline(found).endswith("10.8 s more, all of it in I/O that large slowed down.")


def test_without_neighbours_it_says_what_would_tell(runs):
    first, then = compare_words.opening(comparison(runs, "yesterday", "today"))
    assert "10.8 s of it in I/O that took longer for the same work" in first
    assert first.endswith("Confidence: unknown.")
    assert then.startswith("Whether neighbours slowed today down is unknown.")


@pytest.mark.parametrize(
    ("first", "other", "said"),
    [
        ("yesterday", "bigger", "59 % longer than"),
        ("yesterday", "bigger", "9.00 s of it in I/O of its own (it wrote 2.15 GiB instead of 1.17 GiB)"),
        ("yesterday", "reader", "3.80 s of it in I/O of its own (it read 800 MiB instead of 0 B)"),
        ("yesterday", "storm", "600 ms of it in I/O of its own (it made 6,000 metadata calls instead of 0)"),
        (
            "bigger",
            "yesterday",
            "yesterday took 37 % less time than bigger: 9.00 s less, 9.00 s of it in I/O of its own",
        ),
        ("yesterday", "smaller", "in I/O that took longer (in write calls of 4 KiB instead of 1 MiB)"),
    ],
)
def test_reasons(runs, first, other, said):
    sentence = compare_words.headline(comparison(runs, first, other))
    if said.endswith("longer than"):
        said = "1.6 times as long as"
    assert said in sentence


@pytest.mark.parametrize(
    ("other", "low", "said"),
    [
        ("bigger", -1.0, "9.00 s of it in I/O calls that waited for a processor"),
        ("bigger", 8.0, "9.00 s of it in I/O of its own (it wrote 2.15 GiB instead of 1.17 GiB)"),
        ("today", 0.0, "10.8 s of it in I/O calls that waited for a processor"),
    ],
)
def test_calls_that_waited_for_a_processor_are_a_reason(runs, other, low, said):
    """Unless it surely did more: then that is the reason."""
    found = comparison(runs, "yesterday", other)
    own = replace(found.told.own_io, seconds=replace(found.told.own_io.seconds, low=low))
    outside = Outside(LOST.seconds, 9.0, 0.0, 9.0, 8.0, 0.99, 0.0, 0.0, 0.0, "", 0.0)
    found = replace(found, told=replace(found.told, own_io=own, outside=outside))
    assert said in compare_words.headline(found)
    assert not compare_words.next_step(found)  # no neighbour is looked for
    rows = {row[0].text for row in parts_table(found).rows}
    assert ("calls that waited for a processor" in rows, "unexplained" in rows) == (other == "today", other != "today")


def test_of_a_program_that_could_not_be_profiled_it_is_not_known_what_was_io(runs):
    """A Go program: "638 ms less, all of it outside of I/O calls. Confidence: high"."""
    found = comparison(runs, "yesterday", "today")
    found = replace(found, told=replace(found.told, of=replace(found.told.of, is_unseen=True)))
    assert "in I/O calls or outside of them, for no call" in compare_words.headline(found)
    assert found.told.confidence == "unknown"
    assert parts_table(found).rows[0][0].text == "in or outside of I/O calls"
    assert not comparison(runs, "yesterday", "today").told.is_unseen


def test_runs_that_took_as_long_need_no_confidence(runs):
    (first, *_) = compare_words.opening(comparison(runs, "today", "smaller"))
    assert first == "smaller took as long as today: 27.3 s and 27.3 s."


def test_of_several_runs_the_slowest_is_told_and_what_varies(runs):
    first, varies, *_ = compare_words.opening(comparison(runs, "yesterday", "today", "bigger"))
    assert first.startswith("today, the slowest of 3 runs, took 13 % longer than the median run, bigger: 3.10 s more")
    assert varies.startswith("Runtimes range from 15.2 s to 27.3 s: ")


def test_runs_that_hardly_vary_are_not_explained(tmp_path):
    rows = {at: wrote(100, 0.9) for at in range(12)}
    alike = [write_run(tmp_path / f"r{place}", 15.2 + place / 100, [rows]) for place in range(3)]
    first, varies, *_ = compare_words.opening(compare(read_digests(alike)))
    assert first.startswith("r2, the slowest of 3 runs, took as long as the median run, r1")
    assert varies == "Runtimes range from 15.2 s to 15.2 s, which is next to no variability."


def test_every_column_of_the_parts_adds_up(runs):
    found = comparison(runs, "yesterday", "storm", storm=lost(0.2, 0.1, 0.3))
    table = parts_table(found)
    whole = [row for row in table.rows if not row[0].text.startswith("  ")]
    for column in (1, 2, 3):
        *parts, runtime = [row[column].value for row in whole]
        assert sum(parts) == pytest.approx(runtime)
    assert [row[0].text for row in whole] == [
        "outside I/O calls", "own I/O", "lost to neighbours", "unexplained", "runtime",
    ]  # fmt: skip


def test_both_ends_of_an_interval_are_in_seconds():
    assert compare_report.interval(Estimate(-0.03, -0.042, -0.0096, ""), 9.9) == "[-0.0420 to -0.00960]"
    assert compare_report.interval(Estimate(2.0, -0.001, 12.5, ""), 9.9) == "[0 to +12.5]"


def test_what_is_not_known_is_called_so_in_the_tables(runs):
    found = comparison(runs, "yesterday", "smaller")
    shown = {row[0].text.strip(): row[3].text for row in parts_table(found).rows}
    assert shown["lost to neighbours"] == shown["other sizes of calls"] == "unknown"
    lost = [row[5].text for row in runs_table(comparison(runs, "yesterday", "today", "bigger")).rows]
    assert lost == ["unknown", "unknown", "-"]


def test_json_has_the_documented_keys(runs):
    record = compare_record(comparison(runs, "yesterday", "today", today=LOST), None)
    assert {"runs", "difference_seconds", "computing_seconds", "own_io_seconds", "lost_seconds"} <= set(record)
    assert set(record["own_io_seconds"]) == {"value", "low", "high", "how", "parts"}
    assert set(record["own_io_seconds"]["parts"]) == {"bytes", "calls", "sizes", "metadata"}
    assert record["neighbours"] == ["large"]
    several = compare_record(comparison(runs, "yesterday", "today", "bigger"), None)
    assert [each["job"] for each in several["differences"]] == ["yesterday", "today"]
    assert sum(several["variability"].values()) == pytest.approx(1)


def test_the_page_has_one_chart_for_two_runs_and_for_more(runs):
    for names in (("yesterday", "today"), ("yesterday", "today", "bigger")):
        page = compare_page(comparison(runs, *names), ["unseen"])
        assert sum(section.chart is not None for section in page.sections) == 1
        assert page.unseen[-1] == "unseen"


def test_the_command_writes_a_page_and_says_where(runs, tmp_path):
    done = answer_of("compare", runs["yesterday"], runs["today"])
    page = tmp_path / "compare-yesterday-today.html"
    assert f"Page: {page}" in done
    assert page.exists()
    as_json = slicewise_command("compare", runs["yesterday"], runs["today"], "--json")
    assert json.loads(as_json.output)["job"] == "today"
    refusal_of("compare", runs["yesterday"])
