"""System calls made by number, with syscall(): counted as the functions of their names."""

from support.oracle import OBJECTS, doors_of, trace
from support.programs import Apps, Job, calls, total


def test_calls_by_number(job: Job, apps: Apps) -> None:
    command = [apps.build("posix_numbers"), job.data / "file"]
    seen, _ = trace(job, command)
    ended = job.run(command)
    assert (ended.status, ended.errors) == (0, "")
    profile = job.profile()
    counted = calls(profile)
    assert doors_of(counted) == seen.doors()
    assert counted["statx"] == 1
    assert "syscall" not in counted
    for obj in OBJECTS:
        if obj != "pipe":  # strace does not tell which end a vmsplice is of
            assert total(profile, "read_bytes", obj=obj) == seen.bytes_read(obj), obj
            assert total(profile, "write_bytes", obj=obj) == seen.bytes_written(obj), obj
    assert total(profile, "read_bytes", obj="file") == 4000 + 500 + 300 + 300 + 300 + 200 + 100
    assert total(profile, "read_bytes", obj="pipe") == 60 + 70 + 40
    assert total(profile, "write_bytes", obj="pipe") == 100 + 70 + 40
    assert total(profile, "errors") == seen.errors() == 3
