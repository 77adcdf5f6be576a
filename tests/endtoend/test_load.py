"""The workload program: what it moves, where that lies in its files, when its groups begin."""

from __future__ import annotations

import re
import subprocess
import time

import pytest
from support.workload import LOAD, MPIRUN, require_load

KIB = 1 << 10
LINE = re.compile(r"(\d+) processes (wrote|read) (\d+) bytes in [0-9.]+ s: [0-9.]+ MiB/s, from ([0-9.]+)")


def load(ranks: int, *options: object) -> subprocess.CompletedProcess[str]:
    require_load()
    command = [*MPIRUN, str(ranks), LOAD, "--transfer", "4K", *options]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120, check=False)


def lines(done: subprocess.CompletedProcess[str]) -> list[tuple[int, str, int, float]]:
    """processes, did, bytes and start of each group."""
    assert done.returncode == 0, done.stderr
    return [(int(n), did, int(size), float(start)) for n, did, size, start in LINE.findall(done.stdout)]


def letters(content: bytes) -> str:
    """The letter that each transfer of 4 KiB is full of; a rank writes its own."""
    blocks = [set(content[at : at + 4 * KIB]) for at in range(0, len(content), 4 * KIB)]
    assert all(len(block) == 1 for block in blocks)
    return "".join(chr(block.pop()) for block in blocks)


@pytest.mark.parametrize("api", [[], ["--api", "mpiio"], ["--api", "mpiio", "--collective"]])
@pytest.mark.parametrize(("layout", "expected"), [([], "AABBBCCC"), (["--strided"], "ABCABCAB")])
def test_a_shared_file(tmp_path, api, layout, expected):
    options = [*api, *layout, "--shared", "--volume", "32K", "--fsync", tmp_path / "file"]
    [(ranks, did, size, _)] = lines(load(3, *options, "--repeats", "2"))
    assert (ranks, did, size) == (3, "wrote", 64 * KIB)
    assert letters((tmp_path / "file").read_bytes()) == expected
    [(_, did, size, _)] = lines(load(3, *options, "--read", "--remove"))
    assert (did, size) == ("read", 32 * KIB)
    assert not (tmp_path / "file").exists()


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


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--volume", "5K"], "the volume is not a multiple of the transfer size"),
        (["--volume", "much"], "'much' is not a size"),
        (["--repeats", "0"], "'0' is not a count"),
        (["--api", "hdf"], "there is no API 'hdf'"),
        (["--collective"], "--collective needs --api mpiio and --shared"),
        (["--strided"], "--strided needs --shared"),
        (["--api", "mpiio", "--direct"], "--direct and --dsync need --api posix"),
        (["--delay", "1"], "--delay needs a second group: --second N"),
        (["--second", "2"], "--second 2 of 2 processes leaves none for the first group"),
    ],
)
def test_mistakes_are_told(tmp_path, options, complaint):
    done = load(2, *options, tmp_path / "file")
    assert done.returncode != 0
    assert f"slicewise-load: {complaint}" in done.stderr
