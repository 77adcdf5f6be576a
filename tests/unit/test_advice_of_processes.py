"""What to change in a program of several processes: whose time is the runtime's, and who waits for whom."""

from dataclasses import replace

import polars as pl
import pytest
from slicewise.analysis.job.advice import advise
from slicewise.analysis.job.split import Split, split
from slicewise.digest.digest import read_digest
from slicewise.report.job.advice_words import advice_lines
from support.advised import FIRST, MIB, NOWHERE, NS, samples, told_of_each
from support.ranks import digest_of
from support.swz import build_profile


def test_opens_of_one_rank_are_not_shared_out_among_all(tmp_path):
    """A log on a server by rank 0 took 7.93 of 20 s: 1 s was told, for MPI opened as many files within microseconds."""
    log = {"path": "/n/log", "opens": 1200, "write_ops": 1200, "write_bytes": 20_000, "write_ns": 1000}
    wrote = {"write_ops": 1000, "write_bytes": 1000 * MIB, "write_ns": 10 * NS, "meta_ops": 500, "meta_ns": NS // 20}
    did = [wrote | {"meta_ops": 3000, "meta_ns": 8 * NS}, wrote, wrote, wrote]
    calls = [{"fopen": 1217, "fclose": 1210, "openat": 190}, *[{"openat": 190}] * 3]
    found = samples(
        (1, "fopen", 4.54, 1217), (1, "fclose", 3.39, 1210), (1, "openat", 0.05, 190), (2, "openat", 0.05, 190)
    )
    (one,) = told_of_each(tmp_path, did, [[log]], calls=calls, found=found)
    assert (one.habit, one.calls, one.file) == ("opens", 1200, "/n/log")
    assert one.seconds == pytest.approx(4.54 * 1200 / 1217 + 3.39 * 1200 / 1210, rel=0.01)
    assert one.saving.value == pytest.approx(one.seconds, rel=0.01)


def test_processes_with_next_to_no_io_share_nothing_out(tmp_path):
    """A parent that waits for its workers has 3 % of its life in I/O."""
    worker = {"write_ops": 200_000, "write_bytes": 20_000_000, "write_ns": 19 * NS}
    file = {"path": "/data/out", "opens": 1, **worker}
    parent = {"write_ops": 1, "write_bytes": MIB, "write_ns": 6 * NS // 10}
    for workers in (1, 2):
        (one,) = told_of_each(
            tmp_path / str(workers),
            [parent, *[worker] * workers],
            [[], *([file | {"path": f"/data/{n}"}] for n in range(workers))],
        )
        assert (one.habit, one.seconds) == ("small writes", pytest.approx(19))
    lives = [(0, 20), (0, 10), (10, 20)]
    half = {"write_ops": 100_000, "write_bytes": 10_000_000, "write_ns": 9 * NS}
    (one,) = told_of_each(
        tmp_path / "after", [parent, half, half], [[], [file | half], [file | half | {"path": "/data/2"}]], lives=lives
    )
    assert one.seconds == pytest.approx(18), "one after another"


def test_large_reads_of_another_process_are_no_part_of_small_ones(tmp_path):
    """The file's header, read by the parent in pieces of 4 MiB; and what an interpreter reads for itself."""
    read = {"read_ops": 20_000, "read_bytes": 20_000 * 4096, "read_ns": 10 * NS}
    large = {"read_ops": 16, "read_bytes": 64 * MIB, "read_ns": NS // 2, "read_consecutive": 15, "read_sequential": 15}
    small = read | {"read_sequential": 10_000}
    files = [
        [{"path": "/scratch/a", "opens": 1} | {name: large[name] for name in read}],
        [
            {"path": "/scratch/a", "opens": 1, **read},
            *(
                {"path": f"/lib/{n}", "opens": 1, "read_ops": 2, "read_bytes": 9000, "read_ns": NS // 1000}
                for n in range(99)
            ),
        ],
    ]
    (one,) = told_of_each(tmp_path, [large, small], files)
    assert (one.habit, one.calls, one.bytes, one.file, one.files) == ("random reads", 20_000, 4096, "/scratch/a", 1)
    rest = 20_000 * 4096 / (64 * MIB) / 2
    assert (one.saving.low, one.saving.value) == pytest.approx((10 - 2 * rest, 10 - rest))


def test_thousands_of_brief_processes(tmp_path):
    """A loop of a shell, by which two live at a time: cut | sort."""
    rows = [
        {"process": 1, "start_ns": FIRST * NS, "end_ns": (FIRST + 20) * NS, "program": "/bin/bash", "script": "/a.sh"}
    ]
    for n in range(1000):
        begin = FIRST * NS + n * 20_000_000
        lives = {"start_ns": begin, "end_ns": begin + 10_000_000, "profiler_ns": 2_000_000}
        rows += [{"process": 2 * n + k, **lives, "program": name} for k, name in ((2, "/bin/cut"), (3, "/bin/sort"))]
    rows = [{"slice_ns": NS, **row} for row in rows]
    slices = [{"process": 1, "slice": FIRST, "read_ops": 1, "read_bytes": 1, "read_ns": 1000}]
    for kept, is_told in ((2001, True), (900, False)):
        profile = build_profile(tmp_path / str(kept), rows[:kept], slices)
        found = advise(read_digest(profile, distributions=True), NOWHERE)
        assert [(one.habit, one.calls, one.seconds) for one in found] == [
            ("brief processes", 2000, pytest.approx(9)) for _ in range(is_told)
        ]
        assert all(one.saving is None for one in found)  # lives of 8 ms are no mere starts and ends
        for line in advice_lines(found, 20.0):
            assert line.startswith("2,000 processes of less than 100 ms each, or of 1 s if scripts (cut, sort;")


@pytest.mark.parametrize(
    ("count", "program", "is_told"), [(100, "python3.11", True), (60, "python3.11", False), (100, "cc1", False)]
)
def test_an_interpreter_for_each_file(tmp_path, count, program, is_told):
    rows = [
        {"process": 1, "start_ns": FIRST * NS, "end_ns": (FIRST + 20) * NS, "program": "/bin/bash", "script": "/a.sh"}
    ]
    for n in range(count):
        lives = {"start_ns": FIRST * NS + n * 200_000_000, "end_ns": FIRST * NS + n * 200_000_000 + 150_000_000}
        rows.append({"process": n + 2, **lives, "program": f"/usr/bin/{program}"})
    rows = [{"slice_ns": NS, **row} for row in rows]
    slices = [{"process": 1, "slice": FIRST, "read_ops": 1, "read_bytes": 1, "read_ns": 1000}]
    found = advise(read_digest(build_profile(tmp_path / "job", rows, slices), distributions=True), NOWHERE)
    assert [(one.habit, one.calls) for one in found] == [("brief processes", count)] * is_told


def test_processes_that_hardly_do_more_than_begin_and_end(tmp_path):
    rows = [{"process": 1, "start_ns": FIRST * NS, "end_ns": (FIRST + 20) * NS, "program": "/usr/bin/find"}]
    for n in range(2000):
        begin = FIRST * NS + n * 10_000_000
        lives = {"start_ns": begin, "end_ns": begin + (6 if n % 2 else 1) * 1_000_000}
        rows.append({"process": n + 2, **lives, "program": "/bin/gzip"})
    rows = [{"slice_ns": NS, **row} for row in rows]
    slices = [{"process": 1, "slice": FIRST, "read_ops": 1, "read_bytes": 1, "read_ns": 1000}]
    (one,) = advise(read_digest(build_profile(tmp_path / "job", rows, slices), distributions=True), NOWHERE)
    assert one.seconds == pytest.approx(2000 * (3.5 + 1) / 1e3)
    assert (one.saving.low, one.saving.high) == (pytest.approx(3, rel=0.1), pytest.approx(17.5, rel=0.01))


def test_hundreds_of_commands_of_a_script(tmp_path):
    """600 runs of `git add` took 5.7 s, of which one saves 5.6; a shell beside others waits between them."""
    rows = [{"process": 1, "start_ns": FIRST * NS, "end_ns": (FIRST + 6) * NS, "program": "/bin/dash"}]
    for n in range(600):
        begin = FIRST * NS + n * 10_000_000
        rows.append({"process": n + 2, "start_ns": begin, "end_ns": begin + 4_000_000, "program": "/usr/bin/git"})
    slices = [{"process": 1, "slice": FIRST, "read_ops": 1, "read_bytes": 1, "read_ns": 1000}]
    profile = build_profile(tmp_path / "job", [{"slice_ns": NS, **row} for row in rows], slices)
    (one,) = advise(read_digest(profile, distributions=True), NOWHERE)
    assert (one.habit, one.calls, one.seconds) == ("brief processes", 600, pytest.approx(3))
    assert (one.saving.low, one.saving.high) == (pytest.approx(2.7, rel=0.01), pytest.approx(6, rel=0.01))


@pytest.mark.parametrize(("waited", "is_told"), [(8, True), (0, False)])
def test_commands_that_wait_for_processors_do_no_work_of_their_own(tmp_path, waited, is_told):
    """300 runs of `tar -r` on a busy machine: of 9 ms each ran for one, where a compiler would run for all of them."""
    rows = [{"process": 1, "start_ns": FIRST * NS, "end_ns": (FIRST + 8) * NS, "program": "/bin/bash"}]
    usage = []
    for n in range(300):
        begin = FIRST * NS + n * 25_000_000
        rows.append({"process": n + 2, "start_ns": begin, "end_ns": begin + 9_000_000, "program": "/bin/tar"})
        ran = {"user_ns": (9 - waited) * 500_000, "first_thread_ns": (9 - waited) * 1_000_000}
        usage.append({"process": n + 2, "number": 1, "slice": FIRST, "delayed_ns": waited * 1_000_000, **ran})
    slices = [{"process": 1, "slice": FIRST, "read_ops": 1, "read_bytes": 1, "read_ns": 1000}]
    profile = build_profile(tmp_path / "job", [{"slice_ns": NS, **row} for row in rows], slices, usage=usage)
    found = advise(read_digest(profile, distributions=True), NOWHERE)
    assert [(one.habit, one.calls) for one in found] == [("brief processes", 300)] * is_told
    for one in found:
        assert one.saving.low < one.seconds < one.saving.high == pytest.approx(300 * (9 + 16) / 1e3, rel=0.01)


def of_ranks(kind: str, others: float) -> Split:
    """Four ranks, of which rank 0 (process 1) is in I/O for 0.9 s a slice."""
    calls = [(rank, at, "barrier", 0.9 - others / 10) for rank in (1, 2, 3) for at in range(10)]
    io = [(0, at, kind, 0.9) for at in range(10)]
    io += [(rank, at, kind, others / 10) for rank in (1, 2, 3) for at in range(10)]
    found = split(digest_of(10, calls, io, ranks=4))
    holds = [replace(hold, process=hold.process + 1) for hold in found.holds]
    return replace(found, holds=holds, processes=found.processes.with_columns(pl.col("process") + 1))


@pytest.mark.parametrize(("others", "kind"), [(0.0, "one rank"), (2.0, "uneven ranks")])
def test_ranks_that_wait_for_the_io_of_one(tmp_path, others, kind):
    wrote = {"write_ops": 4, "write_bytes": 4 * MIB}
    did = [wrote, *[wrote if others else {"meta_ops": 1}] * 3]
    did[0] = {"write_ops": 8, "write_bytes": 8 * MIB}
    (one,) = told_of_each(tmp_path, did, ranks=of_ranks("write", others))
    waited = 9.0 - others
    assert (one.habit, one.seconds, one.calls, one.who) == (kind, pytest.approx(waited), 3, "rank 0 on n")
    assert (one.saving.low, one.saving.high) == (0, pytest.approx(0.75 * waited))
    (line,) = advice_lines([one], 20.0)
    assert line.startswith("The wait of other ranks (3) for the I/O of rank 0 on n, which ")
    assert told_of_each(tmp_path / "even", [wrote] * 4, ranks=of_ranks("write", others)) == [], "as many bytes"


def test_ranks_that_wait_for_the_syncs_of_one(tmp_path):
    """They are its I/O, too; but not what is told of as a sync for each little."""
    did = [
        {"write_ops": 8, "write_bytes": 8 * MIB, "write_ns": 11 * NS, "sync_ops": 1, "sync_ns": 9 * NS},
        *[{"meta_ops": 1}] * 3,
    ]
    (one,) = told_of_each(tmp_path / "a", did, ranks=of_ranks("sync", 0.0))
    assert (one.habit, one.seconds) == ("one rank", pytest.approx(9))
    did[0] |= {"sync_ops": 3000, "write_ops": 3000, "write_bytes": 3000 * 512}
    (one,) = told_of_each(tmp_path / "b", did, ranks=of_ranks("sync", 0.0))
    assert one.habit == "syncs"


def test_ranks_that_wait_for_the_calls_on_names_of_one(tmp_path):
    """To divide reading and writing changes nothing; and the same seconds are not told of twice."""
    wrote, log = {"write_ops": 4, "write_bytes": 4 * MIB}, {"path": "/n/log", "opens": 1200, "write_ops": 1200}
    (one,) = told_of_each(tmp_path / "a", [wrote] * 4, ranks=of_ranks("meta", 0.0))
    assert (one.habit, one.seconds, one.who) == ("names by one rank", pytest.approx(9), "rank 0 on n")
    did = [wrote | {"meta_ops": 2400, "meta_ns": 9 * NS}, *[wrote] * 3]
    found = samples((1, "open", 9.0, 1200))
    (one,) = told_of_each(tmp_path / "b", did, [[log]], found=found, ranks=of_ranks("meta", 0.0))
    assert (one.habit, one.seconds) == ("opens", pytest.approx(9))
