"""Advice about syncs: told where they are planted, with what they save."""

import pytest
from slicewise.report.job.advice_words import advice_lines, advice_record
from support.advised import FIRST, LARGE, MIB, NS, SYNCS, sites, told


def test_a_sync_after_each_record(tmp_path):
    (one,) = told(tmp_path, SYNCS, found=sites("fsync", 12.0), sent=3000 * 8192)
    assert (one.habit, one.seconds, one.calls, one.bytes) == ("syncs", pytest.approx(12), 3000, 512)
    assert (one.saving.low, one.saving.high) == (pytest.approx(11.88 * (1 - 512 / 8192)), pytest.approx(11.98))
    (line,) = advice_lines([one], 20.0)
    assert line.startswith(
        "3,000 syncs, one for every 512 B written, took 12.0 s of 20.0 s, by fsync() called by write_row (io.f90:123). "
        "About 11.5 s [11.1-12.0] of that can be saved by one sync in place of 100: sync once"
    )
    (record,) = advice_record([one], 20.0)
    assert (record["kind"], record["site"][1]["line"], record["sentence"]) == ("syncs", 123, line)


def test_a_write_may_wait_for_the_sync_before_it(tmp_path):
    """On GlusterFS each took 0.15 ms after a sync, and next to nothing without. Synchronous writes take as long in any
    case: the estimate stays, and no other advice has these seconds.
    """
    (one,) = told(tmp_path / "a", SYNCS | {"write_ns": NS}, sent=3000 * 8192)
    assert (one.saving.low, one.saving.high) == (pytest.approx(11.88 * (1 - 512 / 8192)), pytest.approx(12.88))
    (line,) = advice_lines([one], 20.0)
    assert "About 11.5 s [11.1-12.9] can be saved by one sync in place of 100, with the calls that go with them" in line
    wrote = {"write_ops": 3000, "write_bytes": 3000 * 512, "write_ns": 6 * NS}
    file, large = {"path": "/scratch/log", "opens": 1, **wrote}, LARGE | {"write_ns": NS // 5}
    (one,) = told(tmp_path / "b", SYNCS | wrote, [file, large])
    assert (one.habit, one.saving.low, one.saving.value, one.saving.high) == (
        "syncs",
        *(pytest.approx(seconds) for seconds in (5.94, 8.91, 17.88)),
    )
    first, second = told(tmp_path / "c", SYNCS | wrote | {"sync_ns": 3 * NS}, [file, large])
    assert (first.habit, second.habit, second.saving.high) == ("small writes", "syncs", pytest.approx(2.97))


def test_a_database_writes_its_pages_and_a_journal_anew_for_each_change(tmp_path):
    """What it wrote is not there at the end, and the calls for a journal go with its changes."""
    wrote, data = {"write_ops": 6000, "write_bytes": 6000 * 8192, "write_ns": NS // 5}, tmp_path / "data.db"
    did = SYNCS | wrote | {"meta_ops": 15_000, "meta_ns": 3 * NS, "errors": 2000}
    journal = {"path": f"{data}-journal", "opens": 1000, "write_ops": 3000, "write_bytes": 3000 * 8192}
    files = [journal, {"path": str(data), "opens": 1, "write_ops": 3000, "write_bytes": 3000 * 8192}]
    data.write_bytes(bytes(MIB))
    (one,) = told(tmp_path / "job", did, files, sent=6000 * 8192, sizes={str(data): MIB})
    low, value, high = one.saving.low, one.saving.value, one.saving.high
    assert (one.habit, one.seconds) == ("syncs", pytest.approx(12))
    assert (low, value) == (pytest.approx(11.9, rel=0.03), pytest.approx(15, rel=0.03))
    assert high == pytest.approx(20, rel=0.03)  # the job is as good as done


def test_seconds_are_of_the_runtime(tmp_path):
    """Of processes and threads side by side the mean one's; of those one after another all."""
    (one,) = told(tmp_path / "threads", SYNCS | {"threads": 4})
    assert one.seconds == pytest.approx(3)
    for name, after, seconds in (("beside", False, 12), ("after", True, 48)):
        (one,) = told(tmp_path / name, SYNCS, processes=4, one_after_another=after)
        assert one.seconds == pytest.approx(seconds)


def test_processes_whose_syncs_of_one_file_take_turns(tmp_path):
    """6 of 20 s in each of three: one after another 18 s, if a lock sees to it."""
    did = {"write_ops": 800, "write_bytes": 800 * 4096, "sync_ops": 800, "sync_ns": 6 * NS}
    file = {"path": "/scratch/r.db", "opens": 1, "write_ops": 800, "write_bytes": 800 * 4096}
    (one,) = told(tmp_path / "a", did, [file], processes=3)
    assert (one.habit, one.seconds, one.saving.high) == ("syncs", pytest.approx(6), pytest.approx(18 * 0.99))
    (one,) = told(tmp_path / "b", did | {"sync_ns": 9 * NS}, [file], processes=3)
    assert one.saving.high == pytest.approx(9 * 0.99), "they were in syncs at the same time"


@pytest.mark.parametrize(("computing", "high"), [(10, 9), (4, 4), (0, None)])
def test_a_sync_that_could_go_on_while_the_program_computes(tmp_path, computing, high):
    did = {
        "write_ops": 400, "write_bytes": 400 * MIB, "write_ns": (11 - computing) * NS, "sync_ops": 1, "sync_ns": 9 * NS,
    }  # fmt: skip
    found = told(tmp_path, did)
    assert [(one.habit, one.saving.low, one.saving.high) for one in found] == [
        ("last syncs", pytest.approx(high / 2), pytest.approx(high)) for _ in range(high is not None)
    ]


def test_a_sync_that_goes_on_while_the_program_computes(tmp_path):
    """In a thread of its own: its 6 s and the 14 s of computing passed together."""
    did = {"write_ops": 480, "write_bytes": 480 * MIB, "write_ns": 6 * NS, "sync_ops": 12, "sync_ns": 6 * NS}
    usage = [{"process": 1, "number": 1, "slice": FIRST, "sampled_ns": 20 * NS, "user_ns": 14 * NS}]
    usage[0]["first_thread_ns"] = 14 * NS
    assert told(tmp_path / "a", did | {"threads": 2}, usage=usage, slices=12) == []
    (one,) = told(tmp_path / "b", did | {"threads": 1}, usage=usage, slices=12)
    assert one.habit == "last syncs"
    usage[0] |= {"user_ns": 8 * NS, "first_thread_ns": 8 * NS}
    (one,) = told(tmp_path / "c", did | {"threads": 2}, usage=usage)
    assert one.saving.high == pytest.approx(3), "two threads side by side"


def test_threads_that_compute_side_by_side_hide_no_sync(tmp_path):
    """Four compute for 10 s each, and then one of them writes and waits for 10 s."""
    did = {"write_ops": 400, "write_bytes": 400 * MIB, "write_ns": 4 * NS, "sync_ops": 1, "sync_ns": 6 * NS}
    usage = {"process": 1, "number": 1, "slice": FIRST, "sampled_ns": 20 * NS, "user_ns": 40 * NS, "system_ns": NS}
    (one,) = told(tmp_path, did | {"threads": 2}, usage=[usage | {"first_thread_ns": 11 * NS}])
    assert (one.habit, one.saving.low, one.saving.high) == ("last syncs", pytest.approx(1.5), pytest.approx(3))


def test_syncs_by_a_program_of_their_own(tmp_path):
    """`sync FILE` after each copy: each is a process with one sync."""
    sync = {"sync_ops": 1, "sync_ns": NS // 20}
    (one,) = told(tmp_path, sync, processes=400, seconds=1, one_after_another=True)
    assert (one.habit, one.calls, one.seconds) == ("syncs", 400, pytest.approx(20))
    assert told(tmp_path / "few", sync, processes=40, seconds=1, one_after_another=True) == []


def test_a_share_of_a_long_job_is_little(tmp_path):
    assert told(tmp_path, SYNCS, seconds=1000) == []


@pytest.mark.parametrize(("user", "stays"), [(8, 6), (30, 0)])
def test_what_other_threads_compute_behind_syncs_stays(tmp_path, user, stays):
    """A pool of threads whose results one lock writes: 18 s of 20 s in syncs, and 8 s of computing, which one thread
    may have done. Of 30 s it is not known: threads may have done them before, side by side.
    """
    did = {"write_ops": 2000, "write_bytes": 2000 * 29, "sync_ops": 2000, "sync_ns": 18 * NS, "threads": 6}
    usage = {"process": 1, "number": 1, "slice": FIRST, "sampled_ns": 20 * NS, "user_ns": user * NS, "system_ns": NS}
    (one,) = told(tmp_path, did, usage=[usage | {"first_thread_ns": NS}], slices=20)
    high = 18 * 0.99
    assert (one.habit, one.saving.high) == ("syncs", pytest.approx(high))
    assert one.saving.low == pytest.approx(high / 2 - stays)
    assert one.saving.low <= one.saving.value <= one.saving.high


def test_what_others_cost_is_taken_off(tmp_path):
    (one,) = told(tmp_path / "a", SYNCS, lost=0.5)
    assert one.seconds == pytest.approx(6)
    assert told(tmp_path / "b", SYNCS, lost=0.95) == []
