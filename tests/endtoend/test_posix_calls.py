"""The rest of POSIX: copies between descriptors, attributes, directories; by operation, object, bytes as in strace."""

import sys
import tempfile
from pathlib import Path

import polars as pl
import pytest
from slicewise.profile.reader import Profile
from support.oracle import Trace, assert_same, trace
from support.programs import ROOT, Apps, Job, calls, total

FORTIFIED = ("-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2")
COPIES = ("sendfile", "copy_file_range", "splice", "tee")


def profile_and_trace(job: Job, apps: Apps, name: str, *options: str) -> tuple[Profile, Trace]:
    """The same scenario under strace and, in a directory of the same kind, under the library."""
    program = apps.build(name, *options)
    data = [job.data / "plain", job.data / "profiled"]
    for folder in data:
        folder.mkdir()
    seen, _ = trace(job, [program, data[0]])
    ended = job.run([program, data[1]])
    assert (ended.status, ended.output, ended.errors) == (0, b"", "")
    return job.profile(), seen


@pytest.mark.parametrize("options", [(), ("-DNAMES_64",)], ids=["plain", "names64"])
def test_copies(job: Job, apps: Apps, options: tuple[str, ...]) -> None:
    profile, seen = profile_and_trace(job, apps, "posix_copies", *options)
    assert_same(profile, seen)
    # A copy is a read and a write, and one call.
    copied = sum(call.result >= 0 for call in seen.calls if call.name in COPIES)
    operations = sum(total(profile, f"{kind}_ops") for kind in ("read", "write", "meta", "sync"))
    assert operations == sum(seen.doors().values()) + copied
    assert total(profile, "write_bytes", obj="socket") == 700
    assert total(profile, "write_bytes", obj="pipe") == 500 + 400 + 60 + 100
    by_file = profile.files.filter(pl.col("path") != "").select(
        pl.col("path").str.split("/").list.last(), "read_bytes", "write_bytes"
    )
    assert {path: written for path, _, written in by_file.iter_rows()} == {
        "from": 10_000, "to": 300 + 200 + 150 + 500 + 30 + 30,
    }  # fmt: skip
    assert dict(by_file.select("path", "read_bytes").iter_rows())["from"] == 300 + 200 + 150 + 700 + 500 + 30 + 30


def test_a_copys_time_is_that_of_the_side_that_is_no_memory(job: Job, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Files of a checkout, which is on a disk, are sent to memory, and from there back."""
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as disk, tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        Path(disk, "from").write_bytes(bytes(8 << 20))
        code = (
            "import os, sys\n"
            "def send(to, source): os.sendfile(os.open(to, os.O_WRONLY | os.O_CREAT), os.open(source, 0), 0, 8 << 20)\n"
            "send(sys.argv[2] + '/copy', sys.argv[1] + '/from')\n"
            "send(sys.argv[1] + '/to', sys.argv[2] + '/copy')\n"
        )
        job.must_run([sys.executable, "-c", code, disk, memory])
    rows = job.profile().files.filter(pl.col("path").str.contains("/(from|to|copy)$"))
    took = {
        Path(path).name: (read, write) for path, read, write in rows.select("path", "read_ns", "write_ns").iter_rows()
    }
    assert took["copy"] == (0, 0)
    assert took["from"][0] > 0
    assert took["to"][1] > 0


@pytest.mark.parametrize("options", [(), FORTIFIED], ids=["plain", "fortified"])
def test_attributes(job: Job, apps: Apps, options: tuple[str, ...]) -> None:
    profile, seen = profile_and_trace(job, apps, "posix_attributes", *options)
    assert_same(profile, seen)
    assert total(profile, "sync_ops") == 3


@pytest.mark.parametrize("options", [(), FORTIFIED], ids=["plain", "fortified"])
def test_functions_of_several_system_calls(job: Job, apps: Apps, options: tuple[str, ...]) -> None:
    program = apps.build("posix_composed", *options)
    job.must_run([program, job.data])
    assert calls(job.profile()) == {
        "open": 12, "close": 12, "dup": 1, "mkdir": 1,
        "opendir": 3, "readdir": 13 + 13 + 1, "getdents": 3, "seekdir": 2, "closedir": 3, "scandir": 3,
        "realpath": 3, "remove": 3, "tmpfile": 1, "fclose": 1, "sync": 1,
        "access": 1, "chmod": 1, "dprintf": 3,
    }  # fmt: skip
    assert total(job.profile(), "errors") == 7
    assert total(job.profile(), "write_bytes", obj="file") == 2 + 4
