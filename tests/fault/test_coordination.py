"""What takes turns with a job may die, hang or be cut off: the job ends whole, and late by the deadline at most."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support.coordination import Coordinator, coordinator, is_as_written, start_burst
from support.programs import Apps, Job

# How often each fault is tried; the soak tries more.
TIMES = int(os.environ.get("COORDINATION_FAULTS", "2"))
DEADLINE_SECONDS = 1.0
# Of a busy machine.
PATIENCE_SECONDS = 15.0
each_time = pytest.mark.parametrize("time_of", range(TIMES))


@contextmanager
def two_jobs(
    job: Job, apps: Apps, tmp_path: Path
) -> Iterator[tuple[Coordinator, subprocess.Popen[bytes], subprocess.Popen[bytes]]]:
    """One that has its turn for a while yet, and one that waits for it."""
    program = apps.build("burst")
    with coordinator(tmp_path, "--policy", "fcfs") as service:
        ours = {"SLICEWISE_COORDINATE_AT": service.address, "SLICEWISE_COORDINATE_DEADLINE": str(DEADLINE_SECONDS)}
        first = start_burst(job, program, "first", 30, 40, **ours)
        service.await_event("authorise")
        second = start_burst(job, program, "second", 6, 0, **ours)
        service.await_two_jobs()
        try:
            yield service, first, second
        finally:
            first.kill()
            second.kill()
            first.wait()
            second.wait()


def assert_finishes(job: Job, process: subprocess.Popen[bytes], name: str, mebibytes: int, within: float) -> str:
    """Returns what it said."""
    began = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert time.monotonic() - began < within + PATIENCE_SECONDS
    assert is_as_written(job.data / name, mebibytes)
    said = errors.decode()
    assert said.count("\n") <= 1
    return said


@each_time
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_the_coordinator_dies_or_hangs(job: Job, apps: Apps, tmp_path: Path, how: signal.Signals, time_of: int) -> None:
    with two_jobs(job, apps, tmp_path) as (service, first, second):
        service.process.send_signal(how)
        said = assert_finishes(job, second, "second", 6, DEADLINE_SECONDS)
        assert said.startswith("slicewise: I/O is not coordinated any more: ")
        assert_finishes(job, first, "first", 30, 3 + DEADLINE_SECONDS)


@each_time
def test_a_job_that_has_its_turn_is_killed(job: Job, apps: Apps, tmp_path: Path, time_of: int) -> None:
    with two_jobs(job, apps, tmp_path) as (service, first, second):
        first.kill()
        assert assert_finishes(job, second, "second", 6, 0) == ""
        assert service.has_logged("leave")


@each_time
def test_a_job_that_waits_is_killed(job: Job, apps: Apps, tmp_path: Path, time_of: int) -> None:
    with two_jobs(job, apps, tmp_path) as (_service, first, second):
        second.kill()
        assert assert_finishes(job, first, "first", 30, 3) == ""


@each_time
def test_a_job_that_has_its_turn_hangs(job: Job, apps: Apps, tmp_path: Path, time_of: int) -> None:
    with two_jobs(job, apps, tmp_path) as (_service, first, second):
        first.send_signal(signal.SIGSTOP)
        assert_finishes(job, second, "second", 6, DEADLINE_SECONDS)
        first.send_signal(signal.SIGCONT)
        assert_finishes(job, first, "first", 30, 3)


@each_time
def test_the_queue_of_new_jobs_is_full(job: Job, apps: Apps, tmp_path: Path, time_of: int) -> None:
    path = tmp_path / "full"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(0)
        waiting = [fill_queue(path) for _ in range(3)]
        ours = {"SLICEWISE_COORDINATE_AT": f"unix:{path}", "SLICEWISE_COORDINATE_DEADLINE": "1"}
        alone = start_burst(job, apps.build("burst"), "alone", 6, 0, **ours)
        said = assert_finishes(job, alone, "alone", 6, 1)
        assert said.startswith("slicewise: I/O is not coordinated any more: ")
        for client in waiting:
            client.close()


def fill_queue(path: Path) -> socket.socket:
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.setblocking(False)
    with suppress(BlockingIOError):
        client.connect(str(path))
    return client


@each_time
def test_a_program_that_closes_all_descriptors(job: Job, apps: Apps, tmp_path: Path, time_of: int) -> None:
    with coordinator(tmp_path) as service:
        ours = {"SLICEWISE_COORDINATE_AT": service.address, "SLICEWISE_COORDINATE_DEADLINE": "1"}
        alone = start_burst(job, apps.build("burst", "-DCLOSES_ALL"), "alone", 20, 0, **ours)
        assert assert_finishes(job, alone, "alone", 20, 1) == ""
