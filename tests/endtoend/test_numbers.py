"""System calls made by number, with syscall(): counted as the functions of their names."""

from __future__ import annotations

from support.oracle import trace
from support.programs import Apps, Job, calls, total


def test_calls_by_number(job: Job, apps: Apps) -> None:
    command = [apps.build("posix_numbers"), job.data / "file"]
    seen, _ = trace(job, command)
    ended = job.run(command)
    assert (ended.status, ended.errors) == (0, "")
    profile = job.profile()
    assert calls(profile) == {
        "openat": 2, "write": 2, "pwrite": 1, "writev": 1, "pwritev": 1, "fdatasync": 1, "fsync": 1, "lseek": 1,
        "read": 2, "pread": 1, "readv": 1, "preadv": 1, "dup2": 1, "getdents": 1, "close": 3,
    }  # fmt: skip
    assert total(profile, "write_bytes", obj="file") == seen.bytes_written("file")
    assert total(profile, "read_bytes", obj="file") == seen.bytes_read("file") == 4000 + 500 + 300 + 300
    assert total(profile, "errors") == 1
