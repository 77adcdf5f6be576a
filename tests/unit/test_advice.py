"""What to change in a program, and what that saves: told where a habit is planted, and nothing where there is none."""

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.job.file_sizes import sizes_since
from slicewise.analysis.job.sites import Sites
from slicewise.report.job.advice_words import advice_lines, advice_record
from slicewise.report.job.site_words import place_words
from slicewise.symbols.resolve import CodePlace, demangled
from support.advised import FIRST, LARGE, MIB, NS, SMALL, samples, sites, told
from support.command_line import slicewise_command
from support.swz import build_profile

WROTE = {"write_ops": 100_100, "write_bytes": 100_000 * 4096 + 100 * MIB, "write_ns": 21 * NS // 2}


def test_small_writes_cost_what_large_ones_do_not(tmp_path):
    """In pieces of 1 MiB 391 MiB take 1.95 s; half or twice that in another run."""
    (one,) = told(tmp_path, WROTE, [SMALL, LARGE])
    assert (one.habit, one.file, one.calls) == ("small writes", "/scratch/out.dat", 100_000)
    rest = 100_000 * 4096 / MIB / 200
    low, value, high = one.saving.low, one.saving.value, one.saving.high
    assert (low, value, high) == tuple(pytest.approx(10 - rest * factor) for factor in (2, 1, 0.5))


@pytest.mark.parametrize(
    ("size", "ns", "is_told", "has_saving"),
    [
        (4096, 100_000, True, False),  # waits for a device, and nothing shows how fast that is
        (4096, 20_000, False, False),  # into a cache: what pages cost is not the program's habit
        (100, 20_000, True, True),  # hardly anything to copy
        (60_000, 300_000, False, False),  # 200 MB/s
    ],
)
def test_what_large_ones_cost_is_not_always_known(tmp_path, size, ns, is_told, has_saving):
    small = SMALL | {"write_bytes": 100_000 * size, "write_ns": 100_000 * ns}
    found = told(tmp_path, {"write_ops": 100_000, "write_bytes": 100_000 * size, "write_ns": 100_000 * ns}, [small])
    assert [one.saving is not None for one in found] == [has_saving] * is_told
    for line in advice_lines(found, 20.0):
        assert ("This run does not show" in line) != has_saving


def test_one_file_that_is_opened_again_and_again(tmp_path):
    log = {"path": "/scratch/log", "opens": 30_000, "write_ops": 30_000, "write_bytes": 3_000_000, "write_ns": NS}
    did = {"meta_ops": 60_000, "meta_ns": 5 * NS, "write_ops": 30_000, "write_bytes": 3_000_000, "write_ns": NS // 2}
    (one,) = told(tmp_path / "a", did, [log], found=sites("open", 5.0))
    assert (one.habit, one.file, one.seconds, one.calls) == ("opens", "/scratch/log", pytest.approx(6), 30_000)
    assert (one.saving.low, one.saving.high) == pytest.approx((4, 7.03), rel=0.001), "with a buffer its writes, too"
    assert told(tmp_path / "b", did, [log], found=sites("open", 5.0, samples=10)) == [], "too few samples"
    script, few = {"program": "/usr/bin/python3.11", "script": "/home/a.py"}, log | {"write_ns": 0}
    (one,) = told(tmp_path / "d", did | {"meta_ns": 9 * NS // 10}, [few], found=sites("open", 0.9), who=script)
    assert (one.seconds < 1, one.saving.value > 1) == (True, True), "it is worth what it saves"
    many = [log | {"path": f"/scratch/{n}", "opens": 1, "write_ops": 1} for n in range(50)]
    assert told(tmp_path / "c", did, many, found=sites("open", 5.0)) == [], "each file once"


def test_files_without_rows_are_opened_as_those_that_have_one(tmp_path):
    """A script appended to 800 files by an open each: 513 of them had rows, and half of its opens were told of."""
    log = {"opens": 400, "write_ops": 400, "write_bytes": 20_000, "write_ns": NS // 1000}
    rest = {"path": "", "opens": 100_000, "write_ops": 100_000, "write_bytes": 5_000_000, "write_ns": NS // 10}
    logs = [{"path": f"/out/{n}", **log} for n in range(500)]
    did = {"meta_ops": 600_000, "meta_ns": 5 * NS}
    (one,) = told(tmp_path, did, [*logs, rest], found=sites("open", 5.0))
    assert (one.habit, one.calls, one.seconds, one.bytes) == ("opens", 300_000, pytest.approx(5.5), 50)
    assert "300,000 opens of more than 500 files, for 50 B each, took 5.50 s" in next(advice_lines([one], 20.0))


def test_many_files_of_a_little_each(tmp_path):
    """Most have no row of their own."""
    one = {"opens": 1, "read_ops": 1, "read_bytes": 3000, "read_ns": 1000}
    rest = {"path": "", "opens": 20_000, "read_ops": 20_000, "read_bytes": 20_000 * 3000, "read_ns": NS // 2}
    did = {"meta_ops": 60_000, "meta_ns": 9 * NS}
    (few,) = told(tmp_path, did, [{"path": "/a", **one}, {"path": "/b", **one}, rest], found=sites("openat", 5.0))
    assert (few.habit, few.calls, few.bytes) == ("small files", 20_002, 3000)
    assert (few.saving.low, few.saving.high) == pytest.approx((2.5, 6.52), rel=0.001)
    (line,) = advice_lines([few], 20.0)
    assert line.startswith("20,002 opens of small files, with their reads, 2.93 KiB each, took 5.00 s of 20.0 s, by")


def test_small_files_that_storage_fetches_one_by_one(tmp_path):
    """A loader on a cold disk of 600 requests/s: opens took no time, and each file's first read waited."""
    reads = {"read_ops": 12_000, "read_bytes": 6000 * 8000, "read_ns": 10 * NS}
    (one,) = told(tmp_path / "a", reads | {"read_consecutive": 6000}, [{"path": "", "opens": 6000, **reads}])
    assert (one.habit, one.calls, one.seconds) == ("small files", 6000, pytest.approx(10))
    assert (one.saving.low, one.saving.high) == pytest.approx((5, 10), rel=0.001)
    large = reads | {"read_ops": 60_000, "read_bytes": 6000 * MIB}
    assert told(tmp_path / "b", large | {"read_consecutive": 54_000}, [{"path": "", "opens": 6000, **large}]) == []


def test_small_pieces_in_many_shared_files(tmp_path):
    """A dump a step: each file has few of the calls."""
    pieces = {"write_ops": 200, "write_bytes": 200 * 2048, "write_ns": NS // 2}
    did = {name: 20 * value for name, value in pieces.items()} | {"write_consecutive": 0}
    files = [{"path": f"/n/dump{n}", "opens": 1, **pieces} for n in range(20)]
    (one,) = told(tmp_path, did, files, processes=4)
    assert (one.habit, one.calls, one.files, one.file) == ("shared file", 4 * 20 * 200, 20, "")
    assert (one.seconds, one.times) == (pytest.approx(10), 4)


def test_moves_in_a_stream_that_move_its_buffer(tmp_path):
    did = {"write_ops": 100_000, "write_bytes": 70 * MIB, "write_ns": NS // 2, "meta_ops": 12_000, "meta_ns": 12 * NS}
    (one,) = told(tmp_path / "a", did, calls={"fseek": 12_000}, found=sites("fseek", 12.0))
    assert (one.habit, one.calls, one.seconds) == ("stream seeks", 12_000, pytest.approx(12))
    assert (one.saving.low, one.saving.high) == pytest.approx((6, 12))
    (one,) = told(tmp_path / "cold", did, calls={"fseek": 12_000}, found=sites("fseek", 12.0), fetched=12_000 * 4096)
    assert (one.habit, one.saving) == ("stream seeks", None), "all of the file in order may take as long"
    assert told(tmp_path / "b", did, calls={"lseek": 12_000}, found=sites("lseek", 12.0)) == []


def test_a_slow_server_makes_few_calls_a_habit(tmp_path):
    """300 synchronous writes took 3 s; so many that do not wait are none."""
    few = {"path": "/n/out", "opens": 1, "write_ops": 300, "write_bytes": 300 * 4096, "write_ns": 3 * NS}
    did = {"write_ops": 400, "write_bytes": 300 * 4096 + 100 * MIB, "write_ns": 7 * NS // 2}
    (one,) = told(tmp_path / "a", did, [few, LARGE])
    assert (one.habit, one.calls, one.seconds) == ("small writes", 300, pytest.approx(3))
    reads = {"read_ops": 300, "read_bytes": 300 * 4096, "read_ns": 3 * NS}
    (one,) = told(tmp_path / "b", reads | {"read_sequential": 9}, [{"path": "/n/in", "opens": 1, **reads}])
    assert (one.habit, one.calls) == ("random reads", 300)
    opens = {"path": "", "opens": 300, "read_ops": 300, "read_bytes": 300 * 4096, "read_ns": NS // 10}
    (one,) = told(tmp_path / "c", {"meta_ops": 600, "meta_ns": 3 * NS}, [opens], found=sites("open", 3.0))
    assert (one.habit, one.calls) == ("small files", 300)
    (one,) = told(tmp_path / "d", {"meta_ops": 300, "meta_ns": 3 * NS}, calls={"stat": 300}, found=sites("stat", 3.0))
    assert (one.habit, one.calls) == ("looks", 300)


def test_transfers_that_wait_for_an_open(tmp_path):
    """GlusterFS opens a file when it is first used: half of what opens cost was told as small writes."""
    log = {"path": "/n/log", "opens": 5000, "write_ops": 5000, "write_bytes": 5000, "write_ns": 3 * NS // 2}
    did = {"meta_ops": 10_000, "meta_ns": 2 * NS, "write_ops": 5000, "write_bytes": 5000, "write_ns": 3 * NS // 2}
    (one,) = told(tmp_path / "a", did, [log], found=sites("open", 1.0))
    assert (one.habit, one.seconds) == ("opens", pytest.approx(2.5))
    assert (one.saving.low, one.saving.value, one.saving.high) == pytest.approx((0.8, 1.754, 2.705), rel=0.001)
    slow = {"write_ns": 9 * NS}
    first, second = told(tmp_path / "b", did | slow, [log | slow], found=sites("open", 1.1))
    assert (first.habit, second.habit, second.seconds) == ("small writes", "opens", pytest.approx(1.1))
    cached = {"write_ns": NS // 10}
    (one,) = told(tmp_path / "c", did | cached, [log | cached], found=sites("open", 1.1))
    assert (one.habit, one.seconds) == ("opens", pytest.approx(1.2)), "in memory"


def test_large_reads_are_not_in_no_order(tmp_path):
    file = {"path": "/scratch/a", "opens": 1, "read_ops": 20_000, "read_bytes": 20_000 * 4096, "read_ns": 10 * NS}
    both = {what: READ[what] + BIG.get(what, 0) * 10 for what in READ}
    (one,) = told(
        tmp_path, both, [file, BIG | {what: BIG[what] * 10 for what in ("read_ops", "read_bytes", "read_ns")}]
    )
    assert (one.habit, one.seconds, one.calls, one.bytes) == ("random reads", pytest.approx(10), 20_000, 4096)


def test_a_close_may_wait_for_what_was_written(tmp_path):
    """It fails for no name: 4 of these 6 s are the closes'."""
    did, called = {"meta_ops": 3000, "meta_ns": 6 * NS, "errors": 1500}, {"close": 1000, "stat": 2000}
    found = sites("close", 4.0)
    (one,) = told(tmp_path / "a", did, calls=called, found=found)
    assert (one.habit, one.seconds) == ("failing calls", pytest.approx(1.5))
    (one,) = told(tmp_path / "b", did, calls={"stat": 3000})
    assert one.seconds == pytest.approx(3)


def test_calls_on_sockets_are_none_on_names(tmp_path):
    """100,000 closes of sockets made a job's 1,500 failing calls of 10,000 those with all the time."""
    did = {"meta_ops": 10_000, "meta_ns": 8 * NS, "errors": 1500}
    for name in ("stat", "close", "fcntl"):
        (one,) = told(tmp_path / name, did, calls={"stat": 10_000} | ({name: 100_000} if name != "stat" else {}))
        assert (one.habit, one.seconds, one.saving.value) == ("failing calls", *[pytest.approx(1.2, rel=0.001)] * 2)
        assert (one.saving.low > 0) == (name != "fcntl"), "what failed may be locks"
    mounts = [{"mount": 1}, {"mount": 2, "object": "socket", "point": "", "type": "", "source": ""}]
    sockets = {"mount": 2, "meta_ops": 100_000}
    called = {"stat": 8000, "close": 102_000}
    (one,) = told(tmp_path / "sockets", did, calls=called, mounts=mounts, more=[sockets])
    assert one.seconds == pytest.approx(8 * 1500 / 8000)


def test_names_that_are_not_there(tmp_path):
    (one,) = told(tmp_path, {"meta_ops": 10_000, "meta_ns": 8 * NS, "errors": 7500})
    assert (one.habit, one.seconds, one.calls) == ("failing calls", pytest.approx(6), 7500)
    assert (one.saving.low, one.saving.high) == pytest.approx((6 * 0.8, 6 * 1.2), rel=0.001)
    (one,) = told(tmp_path / "many", {"meta_ops": 15_000, "meta_ns": 16 * NS, "errors": 1500})
    assert (one.saving.low, one.saving.high) == pytest.approx((1.6 * 0.55, 1.6 * 1.45), rel=0.001)


@pytest.mark.parametrize(
    "did",
    [
        {"write_ops": 400, "write_bytes": 400 * MIB, "write_ns": 19 * NS, "sync_ops": 1, "sync_ns": NS},  # no computing
        {"sync_ops": 3000, "sync_ns": NS // 2, "write_ops": 3000, "write_bytes": 3000},  # half a second
        {"sync_ops": 200, "sync_ns": 12 * NS, "write_ops": 200, "write_bytes": 200 * MIB},  # a MiB each
        {"meta_ops": 10_000, "meta_ns": 8 * NS, "errors": 500},
    ],
)
def test_who_does_well_is_told_nothing(tmp_path, did):
    assert told(tmp_path, did) == []


READ = {"read_ops": 20_000, "read_bytes": 20_000 * 4096, "read_ns": 10 * NS, "read_sequential": 1000}
BIG = {"path": "/scratch/big", "opens": 1, "read_ops": 100, "read_bytes": 100 * MIB, "read_ns": NS // 2}


def test_reads_in_no_order_that_wait(tmp_path):
    file = {"path": "/scratch/a", "opens": 1, "read_ops": 20_000, "read_bytes": 20_000 * 4096, "read_ns": 10 * NS}
    rest, cached = 20_000 * 4096 / MIB / 200, {"read_ops": 40_000, "read_ns": 3 * NS // 2}
    (one,) = told(tmp_path / "a", READ, [file, BIG])
    assert (one.habit, one.seconds, one.file) == ("random reads", pytest.approx(10), "/scratch/a")
    assert (one.saving.low, one.saving.high) == (pytest.approx(10 - 2 * rest), pytest.approx(10 - rest / 2))
    assert told(tmp_path / "b", READ | cached, [file | cached]) == [], "from a cache"
    (one,) = told(tmp_path / "flash", READ | cached, [file | cached], fetched=30_000 * 4096)
    assert (one.habit, one.saving) == ("random reads", None), "storage had three of four, though it was fast"
    (one,) = told(tmp_path / "fast", READ | cached, [file | cached, BIG | {"read_ns": NS // 50}])
    assert (one.habit, one.calls) == ("random reads", 40_000), "from a device that large reads are faster on"
    (one,) = told(tmp_path / "c", READ | {"read_sequential": 19_000, "read_consecutive": 18_000}, [file])
    assert one.habit == "small reads"


def test_a_file_that_is_read_again(tmp_path):
    """Where storage sent it each time all but one is saved; from the cache it is not known what the first cost. The
    memory for it may be given back each time, at most.
    """
    did = {"read_ops": 400, "read_bytes": 400 * MIB, "read_ns": 10 * NS}
    file = did | {"path": "/scratch/a", "opens": 4}
    (one,) = told(tmp_path / "a", did, [file], sizes={"/scratch/a": 100 * MIB})
    assert (one.habit, one.seconds, one.times, one.file) == ("reads again", pytest.approx(10), 4, "/scratch/a")
    copied = 300 * MIB / 10e9
    assert (one.saving.low, one.saving.high) == pytest.approx((copied, 7.5 + 4 * copied))
    (line,) = advice_lines([one], 20.0)
    assert line.startswith("Reading /scratch/a 4 times, 100 MiB each, took 10.0 s of 20.0 s.")
    assert told(tmp_path / "b", did, [file], sizes={"/scratch/a": 300 * MIB}) == []
    assert told(tmp_path / "c", did, [file]) == [], "it is there no longer"


@pytest.mark.parametrize(("fetched", "low"), [(0, 6), (100, 300 * MIB / 10e9), (400, 6)])
def test_a_file_of_which_each_read_costs_the_same(tmp_path, fetched, low):
    """On a disk of the node, by what the kernel fetched: nothing, since it was in memory, or all of it each time."""
    did = {"read_ops": 400, "read_bytes": 400 * MIB, "read_ns": 10 * NS}
    file = did | {"path": "/data/a", "opens": 4}
    mounts = [{"point": "/data", "type": "ext4", "source": "/dev/sda1"}]
    sizes = {"/data/a": 100 * MIB}
    (one,) = told(tmp_path, did, [file], sizes=sizes, mounts=mounts, fetched=fetched * MIB)
    assert (one.habit, one.saving.low) == ("reads again", pytest.approx(low))


def test_what_is_around_calls_takes_longer_where_a_program_waits_for_processors(tmp_path):
    """It ran for 4 s, and waited as long: the 1 s of what Python does around 400,000 looks took 2 s."""
    did, calls = {"meta_ops": 400_000, "meta_ns": 4 * NS}, {"stat": 400_000}
    python = {"program": "/usr/bin/python3.11", "script": "/home/a.py"}
    ran = {"process": 1, "number": 1, "slice": FIRST, "user_ns": 2 * NS, "first_thread_ns": 4 * NS}
    for waited, most in ((0, 5), (4, 6)):
        usage = [ran | {"delayed_ns": waited * NS, "sampled_ns": 20 * NS}]
        found = samples((1, "stat", 4.0, 400_000))
        (one,) = told(tmp_path / str(waited), did, calls=calls, found=found, who=python, usage=usage)
        assert (one.habit, one.saving.high) == ("looks", pytest.approx(most, rel=0.01))


@pytest.mark.parametrize(("fetched", "computed", "seconds"), [(600, 2, 17), (600, 19.5, None), (400, 2, None)])
def test_mapped_files_of_which_pages_were_evicted(tmp_path, fetched, computed, seconds):
    """Page faults are no calls: 17 of 20 s are neither calls nor computing, and half of what was fetched was again."""
    did = {"read_ops": 10, "read_bytes": 10, "read_ns": NS, "mapped_bytes": 300 * MIB}
    usage = [{"process": 1, "number": 1, "slice": FIRST, "sampled_ns": 20 * NS, "user_ns": int(computed * NS)}]
    found = told(tmp_path, did, usage=usage, fetched=fetched * MIB)
    expected = (
        [] if seconds is None else [("mapped again", pytest.approx(seconds, rel=0.01), pytest.approx(2, rel=0.01))]
    )
    assert [(one.habit, one.seconds, one.times) for one in found] == expected
    for one in found:
        assert (one.saving.low, one.saving.high) == pytest.approx((17 * 0.4, 17 * 0.6), rel=0.01)


@pytest.mark.parametrize(("waited", "is_told"), [(1000, False), (20_000, True)])
def test_reads_that_the_kernel_is_ahead_of(tmp_path, waited, is_told):
    """One read in 80 waits, for a large piece; reads of 1 MiB took as long."""
    bins = {"read_latency_5": 80_000 - waited, "read_latency_17": waited, "read_sequential": 79_999}
    did = {"read_ops": 80_000, "read_bytes": 80_000 * 4096, "read_ns": 10 * NS}
    found = told(tmp_path, did | bins | {"read_consecutive": 79_999}, [did | {"path": "/scratch/a", "opens": 1}])
    assert [one.habit for one in found] == ["small reads"] * is_told


def test_a_stream_with_a_small_buffer(tmp_path):
    """fprintf is called often; the kernel is when the buffer is full."""
    bins = {"write_size_0": 800_000, "write_latency_12": 20_000}
    did = {"write_ops": 800_000, "write_bytes": 20_000 * 4096, "write_ns": 10 * NS, **bins}
    file = {"path": "/scratch/a", "opens": 1, "write_ops": 800_000, "write_bytes": 20_000 * 4096, "write_ns": 10 * NS}
    (one,) = told(tmp_path, did, [file])
    assert (one.habit, one.calls, one.bytes, one.saving) == ("small buffers", 20_000, 4096, None)


def test_processes_that_write_one_file_in_between_each_other(tmp_path):
    did = {"write_ops": 10_000, "write_bytes": 10_000 * 4096, "write_ns": 10 * NS, "write_consecutive": 100}
    file = {"path": "/scratch/a", "opens": 1, "write_ops": 10_000, "write_bytes": 10_000 * 4096, "write_ns": 10 * NS}
    (one,) = told(tmp_path / "a", did, [file], processes=4)
    assert (one.habit, one.seconds, one.times, one.file) == ("shared file", pytest.approx(10), 4, "/scratch/a")
    (one,) = told(tmp_path / "b", did, [file], processes=4, calls={"MPI_File_write_at": 10_000})
    assert one.habit == "shared file"
    (one,) = told(tmp_path / "d", did, [file], processes=4, one_after_another=True, lost=0.5)
    assert one.seconds == pytest.approx(5), "no more than of one, although these lived less time together"
    (one,) = told(tmp_path / "c", did, [file], calls={"MPI_File_write_at": 10_000})
    assert one.habit == "independent MPI-IO"
    for after in (False, True):  # the bytes of the one that writes longest, at 200 MiB/s
        large = LARGE | {"path": "/scratch/b"}
        (one,) = told(tmp_path / f"large{after}", did, [file, large], processes=4, one_after_another=after)
        assert (one.seconds, one.saving.value) == (pytest.approx(10), pytest.approx(10 - 10_000 * 4096 / MIB / 200))


def test_a_collective_call_that_does_not_gather_its_pieces(tmp_path):
    did = {"write_ops": 10_000, "write_bytes": 10_000 * 48, "write_ns": 10 * NS}
    file = {"path": "/scratch/a", "opens": 1, **did}
    for calls, habit in ((8, "collective pieces"), (5000, "small writes")):
        (one,) = told(tmp_path / habit, did, [file], calls={"MPI_File_write_all": calls})
        assert one.habit == habit
    assert "fcoll" in advice_record([replace(one, habit="collective pieces")], 20.0)[0]["how"]


def test_a_file_that_a_library_opens_again_and_again(tmp_path):
    """Each open reads what is in it, and opens what it needs; that may be many bytes, and few calls."""
    did = {"meta_ops": 2000, "meta_ns": NS // 10, "read_ops": 4000, "read_bytes": 1000 * 80 << 10, "read_ns": NS // 10}
    file = {"path": "/scratch/a.h5", "opens": 1000, "read_ops": 4000, "read_bytes": 1000 * 80 << 10}
    calls = {"library": "hdf5", "calls": 1000, "file_ns": NS // 10}
    opens = [calls | {"function": "H5Fopen", "ns": 2 * NS}, calls | {"function": "H5Dopen", "ns": NS}]
    other = calls | {"function": "H5Dwrite", "ns": 4 * NS}
    (one,) = told(tmp_path / "a", did, [file], library=[*opens, other])
    assert (one.habit, one.file, one.seconds, one.calls) == ("opens", "/scratch/a.h5", pytest.approx(3), 1000)
    assert (one.saving.low, one.saving.high) == (pytest.approx(1.5, rel=0.01), pytest.approx(3.6, rel=0.01))
    assert told(tmp_path / "b", did, [file], library=[other]) == []


def test_looks_again_and_again(tmp_path):
    did = {"meta_ops": 90_000, "meta_ns": 8 * NS}
    (one,) = told(tmp_path / "a", did, calls={"stat": 90_000}, found=sites("stat", 8.0))
    assert (one.habit, one.seconds, one.calls) == ("looks", pytest.approx(8), 90_000)
    assert (one.saving.low, one.saving.high) == (0, pytest.approx(8.009)), "none, if each looks at something else"
    assert "90,000 looks at files and directories (stat) took" in next(advice_lines([one], 20.0))
    assert one.site[-1].function == "stat"
    (one,) = told(tmp_path / "b", did | {"errors": 80_000}, calls={"stat": 90_000}, found=sites("stat", 8.0))
    assert one.habit == "failing calls"
    (one,) = told(tmp_path / "c", did, calls={"open": 90_000}, found=sites("open", 8.0))
    assert one.habit == "looks", "nothing is transferred with what it opens"


def test_the_line_that_a_program_has_of_its_own():
    """Not that of a library in between: a C++ stream's, or Python's."""
    own = CodePlace("main", "nbody", "/home/nbody.cpp", 49)
    fmt = CodePlace("core::fmt::write", "lines", "/rustc/59807616e1/library/core/src/fmt/mod.rs", 1664)
    adapter = CodePlace("_$LT$std..io..default_write_fmt..Adapter$LT$T$GT$$u20$as$u20$core..fmt..Write$GT$", "lines")
    rust = CodePlace("lines::main", "lines")
    assert not demangled(b"_ZN3std2io5Write9write_all17h0123456789abcdefE.llvm.16274201736773155708").startswith("_Z")
    assert place_words((rust, fmt, adapter, CodePlace("write"))) == "write() called for lines::main"
    endl = CodePlace("std::endl", "nbody", "/usr/include/c++/12/ostream", 689)
    stream = CodePlace("std::__basic_file<char>::xsputn(char const*, long)", "libstdc++.so.6")
    assert place_words((own, endl, stream, CodePlace("write"))) == "write() called for main (nbody.cpp:49)"
    exists = CodePlace("exists", "", "<frozen genericpath>", 19)
    assert place_words((own, exists, CodePlace("stat"))) == "stat() called for main (nbody.cpp:49)"
    module = CodePlace("stmt_step", "_sqlite3.so", "/tmp/Python-3.11.7/Modules/_sqlite/cursor.c", 523)
    assert place_words((own, module, CodePlace("fsync"))) == "fsync() called for main (nbody.cpp:49)"
    begin = CodePlace("clone3", "libc.so.6", "./misc/../sysdeps/unix/sysv/linux/x86_64/clone3.S", 81)
    assert place_words((begin, CodePlace("force0", "libnio.so"), CodePlace("fsync"))) == "fsync() called by force0"
    libc = CodePlace("_IO_new_file_write", "libc.so.6", "./libio/fileops.c", 1180)
    assert place_words((CodePlace("run", "nbody"), libc, CodePlace("write"))) == "write() called for run"
    perl = CodePlace("Perl_pp_print", "libperl.so.5.36", "pp_hot.c", 9)
    assert place_words((CodePlace("a.pl", "", "a.pl"), perl, CodePlace("write"))) == "write() called for a.pl"
    shell = CodePlace("add", "", "/home/a.sh")
    assert place_words((begin, shell, CodePlace("open"))) == "open() called by add (a.sh)"
    assert place_words((own, CodePlace("stat"))) == "stat() called by main (nbody.cpp:49)"
    assert place_words((stream, CodePlace("write"))).startswith("write() called by std::__basic_file")


def test_what_changes_files_is_no_look(tmp_path):
    """A database's journal was told to be looked at less."""
    did = {"meta_ops": 90_000, "meta_ns": 8 * NS}
    assert told(tmp_path, did, calls={"unlink": 90_000}, found=sites("unlink", 8.0)) == []


@pytest.mark.parametrize(("calls", "user", "seconds"), [(20_000_000, 9, 2.0), (20_000_000, 1, 1.0), (900_000, 9, None)])
def test_numbers_that_are_written_as_text(tmp_path, calls, user, seconds):
    usage = [{"process": 1, "number": 1, "slice": FIRST, "sampled_ns": 20 * NS, "user_ns": user * NS}]
    found = told(tmp_path, {"write_ops": 10, "write_ns": 1}, calls={"fprintf": calls}, usage=usage)
    assert [one.seconds for one in found] == ([] if seconds is None else [pytest.approx(seconds)])


def test_a_crowd_in_one_directory_or_at_the_begin(tmp_path):
    files = [
        {"path": f"/scratch/d/{n}", "opens": 1, "write_ops": 1, "write_bytes": 99, "write_ns": 9} for n in range(200)
    ]
    did = {"meta_ops": 400, "meta_ns": 8 * NS}
    for processes, kind in ((8, "one directory"), (7, "small files")):
        (one,) = told(tmp_path / kind, did, files, processes=processes, found=sites("open", 8.0 * processes))
        assert (one.habit, one.calls) == (kind, 200 * processes)
    (one,) = told(tmp_path / "begin", did, processes=8)
    assert (one.habit, one.seconds, one.times) == ("metadata at the begin", pytest.approx(8), 8)


def test_files_on_a_server_that_only_their_writer_reads(tmp_path):
    file = {"path": "/n/tmp.1", "opens": 2, "write_bytes": 100 * MIB, "read_bytes": 100 * MIB}
    file |= {"write_ops": 100, "read_ops": 100, "write_ns": 5 * NS, "read_ns": 3 * NS}
    did = {"write_ops": 100, "write_bytes": 100 * MIB, "write_ns": 5 * NS, "read_ops": 100, "read_ns": 3 * NS}
    for point, type_, is_told in (("/n", "nfs4", True), ("/n", "ext4", False), ("/other", "nfs4", False)):
        mounts = [{"point": point, "type": type_, "source": "server:/x" if type_ == "nfs4" else "/dev/sda1"}]
        found = told(tmp_path / f"{type_}{point[1:]}", did, [file], mounts=mounts)
        assert [(one.habit, one.seconds, one.file) for one in found] == [("scratch files", 8, "/n/tmp.1")] * is_told
        copied = 200 * MIB / 1e9
        for one in found:
            assert (one.saving.low, one.saving.high) == pytest.approx((8 - copied, 8 - copied / 10))
    mounts = [{"point": "/n", "type": "nfs4", "source": "server:/x"}]
    behind = did | {"write_bytes": 200 * MIB, "meta_ops": 9, "meta_ns": 5 * NS}
    (one,) = told(tmp_path / "behind", behind, [file], mounts=mounts, found=sites("close", 4.0))
    assert one.seconds == pytest.approx(8 + 2), "half of what is written"


def test_closes_of_scratch_files_are_not_those_of_small_files(tmp_path):
    """All that was written is in scratch files, and closes wait for that."""
    file = {"path": "/n/tmp.1", "opens": 2, "write_bytes": 100 * MIB, "read_bytes": 100 * MIB}
    file |= {"write_ops": 100, "read_ops": 100, "write_ns": 2 * NS, "read_ns": NS}
    small = {"path": "", "opens": 9998, "read_ops": 9998, "read_bytes": 30_000_000, "read_ns": 1000}
    did = {"write_ops": 100, "write_bytes": 100 * MIB, "write_ns": 2 * NS, "read_ops": 100, "read_ns": NS}
    did |= {"meta_ops": 20_000, "meta_ns": 7 * NS}
    both = pl.concat([sites("close", 4.0).samples, sites("open", 3.0).samples])
    found = Sites(sites("close", 4.0).stacks, both, 0.001)
    mounts = [{"point": "/n", "type": "nfs4", "source": "server:/x"}]
    calls = {"open": 10_000, "close": 10_000}
    scratch, opens = told(tmp_path, did, [file, small], mounts=mounts, found=found, calls=calls)
    assert (scratch.habit, scratch.seconds) == ("scratch files", pytest.approx(3 + 4))
    assert (opens.habit, opens.seconds) == ("small files", pytest.approx(3, rel=0.01))


def test_reads_that_do_not_follow_each_other_are_never_to_be_buffered(tmp_path):
    """Half of those at random begin beyond the last one. Who read 1 MiB for each 12 KiB took 10 s longer."""
    file = {"path": "/scratch/a", "opens": 1} | {name: READ[name] for name in ("read_ops", "read_bytes", "read_ns")}
    for sequential in (9_900, 10_100, 20_000):  # or all of them, with gaps
        (one,) = told(tmp_path / str(sequential), READ | {"read_sequential": sequential}, [file])
        assert one.habit == "random reads"
        (line,) = advice_lines([one], 20.0)
        assert "setvbuf" not in line
    cached = {"read_ops": 400_000, "read_ns": 19 * NS, "read_bytes": 400_000 * 100, "read_sequential": 200_500}
    assert told(tmp_path / "cached", cached, [file | {name: cached[name] for name in file.keys() & cached}]) == []
    apart, calls = READ | {"read_sequential": 20_000}, {"MPI_File_read_at": 20_000}
    (one,) = told(tmp_path / "together", apart, [file], calls=calls)
    assert one.habit == "independent MPI-IO"


def test_large_transfers_elsewhere_show_nothing(tmp_path):
    """How fast a local disk is says nothing of a server."""
    mounts = [
        {"mount": 1, "point": "/n", "type": "nfs4", "source": "s:/x"},
        {"mount": 2, "point": "/data", "type": "ext4"},
    ]
    small = {"write_ops": 100_000, "write_bytes": 100_000 * 4096, "write_ns": 10 * NS}
    (one,) = told(tmp_path, small, [SMALL | {"path": "/n/out"}, LARGE | {"path": "/data/big"}], mounts=mounts)
    assert (one.habit, one.saving) == ("small writes", None)


def test_sizes_of_files_that_are_as_they_were(tmp_path):
    (tmp_path / "a\tb\nc").write_bytes(b"12345")
    paths = [str(tmp_path / name) for name in ("a\tb\nc", "none", ".")]
    now_ns = time.time_ns()
    assert sizes_since(paths, now_ns) == {paths[0]: 5}
    assert sizes_since(paths, now_ns - 2 * NS) == {}, "written later"
    assert sizes_since([], now_ns) == {}


def test_a_report_has_the_advice_without_what_a_neighbour_cost(tmp_path):
    """The job beside it took the disk half of the time. One whose slices fit none of the job's tells nothing of it."""
    wrote = {"write_ops": 100_000, "write_bytes": 10_000_000, "write_ns": NS}
    small = {"path": "/data/out", "opens": 1, "write_ops": 2_000_000, "write_bytes": 200_000_000, "write_ns": 20 * NS}
    job_of(tmp_path / "job", 1, NS, 20, wrote, small)
    (alone,) = asked(tmp_path)
    assert alone["seconds"] == pytest.approx(20)
    job_of(tmp_path / "odd", 9, 700_000_000, 20, wrote, small)
    (odd,) = asked(tmp_path)
    assert odd["seconds"] == pytest.approx(20)
    shutil.rmtree(tmp_path / "odd")
    run = {"write_ops": 200_000, "write_bytes": 20_000_000, "write_ns": NS}
    job_of(tmp_path / "alone", 2, NS, 10, run, small | {"write_ns": 10 * NS}, start=FIRST - 1000)
    job_of(tmp_path / "other", 3, NS, 20, wrote, small)
    (beside,) = asked(tmp_path)
    assert beside["seconds"] == pytest.approx(10, rel=0.05)


def job_of(
    directory: Path, number: int, slice_ns: int, slices: int, did: dict[str, int], file: dict[str, object],
    start: int = FIRST,
) -> None:  # fmt: skip
    """A job that does the same in each of its slices."""
    first = start * NS // slice_ns
    process = {"process": number, "host": "n1", "program": f"/bin/p{number if number > 2 else 1}"}
    process |= {"slice_ns": slice_ns, "start_ns": first * slice_ns, "end_ns": (first + slices) * slice_ns}
    rows = [{"process": number, "slice": first + at, **did} for at in range(slices)]
    mounts = [{"process": number, "point": "/data", "type": "ext4", "source": "/dev/sda1"}]
    build_profile(directory, [process], rows, mounts, files=[{"process": number, "file": 1, **file}])


def asked(directory: Path) -> list[dict[str, object]]:
    done = slicewise_command("report", directory / "job", "--json", "--html", directory.parent / "page.html")
    assert done.status == 0, done.errors
    return json.loads(done.output)["advice"]
