"""The workload program: what it moves, where that lies in its files, when its groups begin."""

import re
import subprocess
import time
from collections.abc import Sequence

import pytest
from support.programs import need
from support.workload import LOAD, MPIRUN, require_load

KIB = 1 << 10
LINE = re.compile(
    r"(\d+) processes (wrote|read) (\d+) bytes in ([0-9.]+) s: [0-9.]+ MiB/s, "
    r"in calls ([0-9.]+) s at most, ([0-9.]+) s in the mean, from ([0-9.]+)$",
    re.MULTILINE,
)


def load(ranks: int, *options: object, before: Sequence[object] = ()) -> subprocess.CompletedProcess[str]:
    """Runs the program; `before` is what its command line begins with, such as strace."""
    require_load()
    command = [*before, *MPIRUN, str(ranks), LOAD, "--transfer", "4K", *options]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120, check=False)


def lines(done: subprocess.CompletedProcess[str]) -> list[tuple[int, str, int, float]]:
    """processes, did, bytes and start of each group."""
    assert done.returncode == 0, done.stderr
    return [(int(n), did, int(size), float(start)) for n, did, size, *_, start in LINE.findall(done.stdout)]


def clock(done: subprocess.CompletedProcess[str]) -> tuple[float, float, float]:
    """Seconds that the only group took; in calls the process with most, and the mean one."""
    assert done.returncode == 0, done.stderr
    [(_, _, _, *seconds, _)] = LINE.findall(done.stdout)
    return tuple(map(float, seconds))


def letters(content: bytes) -> str:
    """The letter that each transfer of 4 KiB is full of; a rank writes its own."""
    blocks = [set(content[at : at + 4 * KIB]) for at in range(0, len(content), 4 * KIB)]
    assert all(len(block) == 1 for block in blocks)
    return "".join(chr(block.pop()) for block in blocks)


@pytest.mark.parametrize("api", [[], ["--api", "mpiio"], ["--api", "mpiio", "--collective"]])
@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ([], "AABBBCCC"), (["--strided"], "ABCABCAB"), (["--block", "8K"], "AABBCCAA"),
        (["--block", "8K", "--random"], "AABBCCAA"), (["--random"], "AABBBCCC"),
    ],
)  # fmt: skip
def test_a_shared_file(tmp_path, api, layout, expected):
    options = [*api, *layout, "--shared", "--volume", "32K", "--fsync", tmp_path / "file"]
    [(ranks, did, size, _)] = lines(load(3, *options, "--repeats", "2"))
    assert (ranks, did, size) == (3, "wrote", 64 * KIB)
    assert letters((tmp_path / "file").read_bytes()) == expected
    [(_, did, size, _)] = lines(load(3, *options, "--read", "--remove"))
    assert (did, size) == ("read", 32 * KIB)
    assert not (tmp_path / "file").exists()


def test_transfers_in_an_order_of_chance_are_each_done_once(tmp_path):
    """And no two processes have one order."""
    need("strace")
    traced = ["strace", "-ff", "-y", "-e", "trace=pwrite64", "-o", tmp_path / "log"]
    lines(load(2, "--random", "--volume", "128K", tmp_path / "file", before=traced))
    text = "".join(log.read_text() for log in tmp_path.glob("log.*"))
    orders = [
        [int(at) for at in re.findall(rf"pwrite64\(\d+<\S+/file\.{rank}>, .*, (\d+)\) += 4096", text)]
        for rank in (0, 1)
    ]
    for order in orders:
        assert sorted(order) == list(range(0, 64 * KIB, 4 * KIB))
        assert order != sorted(order)
    assert orders[0] != orders[1]


def test_a_file_a_process(tmp_path):
    [(ranks, _, size, _)] = lines(load(3, "--volume", "32K", tmp_path / "file"))
    assert (ranks, size) == (3, 32 * KIB)
    assert [letters((tmp_path / f"file.{rank}").read_bytes()) for rank in range(3)] == ["AA", "BBB", "CCC"]


@pytest.mark.parametrize("delay", [0.5, -0.5])
def test_two_groups_each_with_its_volume(tmp_path, delay):
    start = time.time() + 1
    options = ["--start-at", start, "--second", 1, "--delay", delay, "--volume", "16K", "--shared", tmp_path / "file"]
    groups = {ranks: (size, began) for ranks, _, size, began in lines(load(3, *options))}
    assert {ranks: size for ranks, (size, _) in groups.items()} == {2: 16 * KIB, 1: 16 * KIB}
    assert groups[2][1] >= start - 0.01
    assert groups[1][1] >= start + delay - 0.01
    assert letters((tmp_path / "file").read_bytes()) == "AABB"
    assert letters((tmp_path / "file.second").read_bytes()) == "CCCC"


def test_many_small_files(tmp_path):
    watched = ["strace", "-f", "-qq", "-e", "trace=openat,unlink", "-o", tmp_path / "calls"]
    need("strace")
    [(ranks, _, size, _)] = lines(load(2, "--files", "5", tmp_path / "file", before=watched))
    assert (ranks, size) == (2, 2 * 5 * 4 * KIB)
    calls = (tmp_path / "calls").read_text()
    for rank in range(2):
        for number in range(5):
            assert calls.count(f'"{tmp_path}/file.{rank}.{number}", O_WRONLY|O_CREAT') == 1
            assert calls.count(f'unlink("{tmp_path}/file.{rank}.{number}"') == 1
    assert [path.name for path in tmp_path.iterdir()] == ["calls"]


def test_mixed_sizes_of_calls(tmp_path):
    watched = ["strace", "-f", "-qq", "-e", "trace=pwrite64", "-o", tmp_path / "calls"]
    need("strace")
    [(_, _, size, _)] = lines(load(1, "--mixed", "1K", "--volume", "16K", tmp_path / "file", before=watched))
    assert size == 16 * KIB
    sizes = [
        int(found) for found in re.findall(r"pwrite64\(.* = (\d+)$", (tmp_path / "calls").read_text(), re.MULTILINE)
    ]
    assert sizes == 2 * [4096, 1024, 1024, 1024, 1024]
    assert letters((tmp_path / "file.0").read_bytes()) == "AAAA"


def test_computing_is_no_time_in_calls(tmp_path):
    seconds, most, mean = clock(load(2, "--volume", "40K", "--compute", "0.1", tmp_path / "file"))
    assert 0.5 <= seconds < 1.5
    assert mean <= most < 0.3


def test_opening_and_removal_are_time_in_calls(tmp_path):
    """And the runtime ends with the removal, as a profile of the program does. Opening is before the start."""
    slow = "inject=openat,unlink:delay_enter=300000"
    watched = ["strace", "-f", "-qq", "-P", tmp_path / "file.0", "-e", slow, "-o", tmp_path / "calls"]
    need("strace")
    seconds, most, _ = clock(load(1, "--volume", "4K", "--remove", tmp_path / "file", before=watched))
    assert 0.3 <= seconds < 0.6
    assert 0.6 <= most < 0.9
    assert not (tmp_path / "file.0").exists()


def test_a_process_moves_no_more_than_its_rate(tmp_path):
    seconds, most, _ = clock(load(2, "--volume", "80K", "--rate", "40K", tmp_path / "file"))
    assert 0.9 <= seconds < 2
    assert most < 0.5


def test_phases_with_computing_between_them(tmp_path):
    """Two transfers of each process in each of three phases: it computes three times, not six."""
    options = ["--volume", "16K", "--phases", "--repeats", "3", "--compute", "0.3"]
    seconds, _, _ = clock(load(2, *options, tmp_path / "file"))
    assert 3 * 0.3 <= seconds < 6 * 0.3


def test_phases_begin_when_they_are_due_or_when_the_one_before_is_over(tmp_path):
    done = load(2, "--volume", "40K", "--rate", "40K", "--phases-at", "0.1,0.2,2", tmp_path / "file")
    told = re.findall(r"^phase (\d): ([\d.]+) s from ([\d.]+)$", done.stdout, re.MULTILINE)
    assert [number for number, _, _ in told] == ["1", "2", "3"]
    (_, first_took, first), (_, second_took, second), (_, _, third) = told
    assert float(second) - float(first) == pytest.approx(float(first_took), abs=0.3)
    assert float(first_took) > 0.1
    assert float(second_took) > 0.1
    assert float(third) - float(first) >= 1.85


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--phases-at", "1,soon"], "'soon' is not a number of seconds"),
        (["--phases-at", ""], "--phases-at needs a time for each phase"),
        (["--volume", "5K"], "the volume is not a multiple of the transfer size"),
        (["--volume", "much"], "'much' is not a size"),
        (["--repeats", "0"], "'0' is not a count"),
        (["--api", "hdf"], "there is no API 'hdf'"),
        (["--collective"], "--collective needs --api mpiio and --shared"),
        (["--strided"], "--strided needs --shared"),
        (["--block", "8K"], "--block needs --shared, and not --strided"),
        (["--shared", "--block", "6K"], "a block is a multiple of the transfer size"),
        (["--files", "2", "--random"], "--random does not go with --files"),
        (["--api", "mpiio", "--direct"], "--direct and --dsync need --api posix"),
        (["--delay", "1"], "--delay needs a second group: --second N"),
        (["--files", "2", "--read"], "--files needs --api posix, and neither --shared nor --read"),
        (["--mixed", "3K"], "--mixed needs --api posix, and a transfer that is a multiple of it"),
        (["--compute", "-1"], "--compute takes no less than 0 seconds"),
        (["--second", "2"], "--second 2 of 2 processes leaves none for the first group"),
    ],
)
def test_mistakes_are_told(tmp_path, options, complaint, monkeypatch):
    monkeypatch.setenv("OMPI_MCA_odls_base_sigkill_timeout", "0")  # else mpirun waits a second for the other one
    done = load(2, *options, tmp_path / "file")
    assert done.returncode == 2
    assert done.stderr.count(f"slicewise-load: {complaint}") == 1
    assert "MPI_ABORT" not in done.stderr


def test_a_missing_path_is_one_line():
    require_load()
    done = subprocess.run([LOAD], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "slicewise-load: PATH is missing, as in: slicewise-load --volume 1G FILE; all options: slicewise-load --help\n"
    )
