"""POSIX calls, by name and by number: by operation, object and bytes as strace and the kernel saw them."""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import polars as pl
import pytest
from slicewise.profile.reader import Profile
from support.arguments import operations, write_table
from support.oracle import DOORS, Trace, assert_same, trace
from support.programs import FORTIFIED, ROOT, Apps, Command, Job, calls, need, symbols_wanted, total

COPIES = ("sendfile", "copy_file_range", "splice", "tee")
VARIANTS = {
    "plain": (), "offset64": ("-D_FILE_OFFSET_BITS=64",), "names64": ("-DNAMES_64",), "fortified": FORTIFIED,
}  # fmt: skip
SYMBOLS = {
    "plain": {"pread", "pwritev", "lseek"}, "offset64": {"pread64", "pwritev64", "lseek64", "open64"},
    "names64": {"pread64", "pwritev64", "lseek64", "open64"}, "fortified": {"__read_chk", "__pread_chk"},
}  # fmt: skip
# And what libc refuses by itself (no name at all for utimensat).
OF_SEVERAL_CALLS = {
    "lchmod", "euidaccess", "eaccess", "dprintf", "readdir", "getdirentries", "getdirentries64", "utimensat",
}  # fmt: skip


def profile_and_trace(job: Job, command: Command, *, is_counted: bool = True) -> tuple[Profile, Trace]:
    """The same scenario under the library and under strace.

    is_counted: what the profile has as the kernel's count must be what the scenario read of it in the run without the
    library (in the other one the library's own calls, which the profile leaves out, are among them).
    """
    seen, told = trace(job, command)
    shutil.rmtree(job.data)
    job.data.mkdir()
    ended = job.must_run(command)
    profile = job.profile()
    if not is_counted:
        return profile, seen
    assert seen.bytes_read() == told["kernel_read_bytes"]
    assert seen.bytes_written() == told["kernel_write_bytes"]
    counted = ("read_bytes", "write_bytes", "read_ops", "write_ops")
    assert {name: total(profile, name, layers=["kernel"]) for name in counted} == {
        "read_bytes": told["kernel_read_bytes"] + ended.told["sampling_read_bytes"],
        "write_bytes": told["kernel_write_bytes"] + ended.told_file.stat().st_size,
        "read_ops": told["kernel_reads"] + 1,  # the scenario's second look; the first is before any counted call
        "write_ops": told["kernel_writes"] + 1,  # its telling
    }
    return profile, seen


def assert_same_operations(profile: Profile, seen: Trace) -> None:
    assert_same(profile, seen)
    operations = sum(total(profile, f"{kind}_ops") for kind in ("read", "write", "meta", "sync"))
    assert operations == sum(seen.doors().values())


@pytest.mark.parametrize("variant", VARIANTS)
def test_transfers(job: Job, apps: Apps, variant: str) -> None:
    program = apps.build("posix_transfers", *VARIANTS[variant])
    assert symbols_wanted(program) >= SYMBOLS[variant]
    profile, seen = profile_and_trace(job, [program, job.data / "file"])
    assert_same_operations(profile, seen)
    assert total(profile, "write_bytes", obj="file") == 10 * 1000 + 5 * 777 + 600 + 300 + 600
    by_file = profile.files.filter(pl.col("path") == str(job.data / "file"))
    for column in ("read_bytes", "write_bytes"):
        assert by_file[column].to_list() == [total(profile, column, obj="file")]


def test_objects(job: Job, apps: Apps) -> None:
    profile, seen = profile_and_trace(job, [apps.build("posix_objects"), job.data])
    assert_same_operations(profile, seen)
    assert total(profile, "write_bytes", obj="pipe") == 3 * 1000 + 2 * 500
    assert total(profile, "write_bytes", obj="file") == 77


def test_paths(job: Job, apps: Apps) -> None:
    job.must_run([apps.build("posix_paths"), job.data])
    written = dict(job.profile().files.filter(pl.col("path") != "").select("path", "write_bytes").iter_rows())
    assert written == {
        str(job.data / "same"): 100 + 300, str(job.data / "deep/same"): 200, str(job.data / "deep/one"): 5,
        str(job.data / "deep/two"): 7, str(job.data / "deep/three"): 3, str(job.data / "deep/four"): 4 + 2 + 1,
    }  # fmt: skip


def test_nobody_asks_for_a_name_that_has_just_been_removed(job, tmp_path):
    """On a network file system that would be one more request to the server for each file that a program removes."""
    need("strace", "rm")
    files = [job.data / "first", job.data / "second", job.data / "directory" / "third"]
    files[2].parent.mkdir()
    for file in files:
        file.touch()
    ended = job.run(["strace", "-f", "-o", tmp_path / "trace", "rm", "-r", *files[:2], files[2].parent])
    assert ended.status == 0, ended.errors
    removed = set()
    for line in (tmp_path / "trace").read_text().splitlines():
        named = re.search(r'"([^"]+)"', line)
        assert named is None or named[1] not in removed, line
        if "unlink" in line and line.endswith(" = 0") and named is not None:
            removed.add(named[1])
    assert {str(file) for file in files[:2]} <= removed
    assert calls(job.profile())["unlinkat"] == len(files) + 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_calls_that_fail_are_on_the_mount_that_their_name_leads_to_then(job: Job, apps: Apps) -> None:
    """The kernel is not asked at each call, and yet: mounts, links, roots and directories come and go between them."""
    profile = job.profiled([apps.build("posix_elsewhere"), job.data])
    failed = profile.slices.filter(layer="posix").join(profile.mounts.select("mount", "source"), on="mount")
    by_source = dict(failed.group_by("source").agg(pl.col("errors").sum()).iter_rows())
    one, two = 2 + 8 + 16 + 32 + 256 + 512 + 1, 4
    assert {source: by_source.pop(source) for source in ("one", "two")} == {"one": one, "two": two}
    assert sum(by_source.values()) == 1 + 64 + 128 + 1024 + 2048


@pytest.mark.parametrize("options", [(), ("-DNAMES_64",)], ids=["plain", "names64"])
def test_copies(job: Job, apps: Apps, options: tuple[str, ...]) -> None:
    profile, seen = profile_and_trace(job, [apps.build("posix_copies", *options), job.data], is_counted=False)
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


def test_every_function_of_one_system_call(job: Job, apps: Apps) -> None:
    """And every system call by number; with some that fail."""
    of_doors = {operation for door, (_, named) in DOORS.items() for operation in named}
    only = {
        symbol
        for symbol, operation in operations().items()
        if operation in of_doors and not {symbol, operation} & OF_SEVERAL_CALLS
    }
    only |= {f"syscall:{name}" for names, _ in DOORS.values() for name in names}
    table = write_table(job.folder / "table.txt", only)
    profile, seen = profile_and_trace(job, [apps.build("bad_pointers"), table, "good"], is_counted=False)
    assert_same(profile, seen, unseen_objects=("pipe",))  # strace does not tell which end a vmsplice is of
    assert seen.errors() > 25


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


def test_calls_by_number(job: Job, apps: Apps) -> None:
    profile, seen = profile_and_trace(job, [apps.build("posix_numbers"), job.data / "file"], is_counted=False)
    assert_same(profile, seen)
    assert "syscall" not in calls(profile)
    assert total(profile, "write_bytes", obj="file") == 1000 + 500 + 300 + 7 + 11
