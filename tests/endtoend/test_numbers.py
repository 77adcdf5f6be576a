"""System calls made by number, with syscall(): counted as the functions of their names."""

from support.oracle import assert_same, trace
from support.programs import Apps, Job, calls, total


def test_calls_by_number(job: Job, apps: Apps) -> None:
    command = [apps.build("posix_numbers"), job.data / "file"]
    seen, _ = trace(job, command)
    profile = job.profiled(command)
    counted = calls(profile)
    assert_same(profile, seen, unseen_objects=("pipe",))  # strace does not tell which end a vmsplice is of
    assert counted["statx"] == 1
    assert "syscall" not in counted
    assert total(profile, "read_bytes", obj="file") == 4000 + 500 + 300 + 300 + 300 + 200 + 100
    assert total(profile, "read_bytes", obj="pipe") == 60 + 70 + 40
    assert total(profile, "write_bytes", obj="pipe") == 100 + 70 + 40
    assert seen.errors() == 3
