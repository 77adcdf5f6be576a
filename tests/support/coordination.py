"""A coordinator of a test's own, and jobs that take turns by it."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from slicewise.profile.reader import read_profile
from support.decided_again import replay
from support.programs import COLLECTOR, Job
from support.waiting import wait_until

MIB = 1 << 20
TIMEOUT_SECONDS = 30


class Coordinator:
    def __init__(self, process: subprocess.Popen[str], address: str, log: Path) -> None:
        self.process, self.address, self.log = process, address, log
        self._forgotten = 0

    def events(self) -> list[dict[str, Any]]:
        """What it has logged since `forget`."""
        whole = self.log.read_text().rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()[self._forgotten :]]

    def forget(self) -> None:
        self._forgotten = self.log.read_text().count("\n")

    def count(self, event: str) -> int:
        return sum(entry["event"] == event for entry in self.events())

    def has_logged(self, event: str) -> bool:
        return self.count(event) > 0

    def await_event(self, event: str) -> None:
        self.await_that(lambda: self.has_logged(event))

    def await_two_jobs(self) -> None:
        self.await_that(self.has_two_jobs)

    def await_that(self, is_so: Callable[[], bool]) -> None:
        wait_until(is_so, self.log.read_text, longest_seconds=TIMEOUT_SECONDS)

    def jobs(self) -> int:
        """How many have asked."""
        return len({entry["job"] for entry in self.events() if entry["event"] == "inform"})

    def has_two_jobs(self) -> bool:
        return self.jobs() == 2


@contextmanager
def coordinator(
    folder: Path, *options: str, listen: str | None = None, launcher: Sequence[str] = ()
) -> Iterator[Coordinator]:
    """A coordinator at a path in the folder, or elsewhere, until the end of the block."""
    address = listen or f"unix:{folder}/coordinator"
    log = folder / "decisions.jsonl"
    command = [*launcher, str(COLLECTOR), "coordinate", "--listen", address, "--log", str(log), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == f"listening {address}\n"
            yield Coordinator(process, address, log)
        finally:
            process.kill()


def assert_replays(service: Coordinator) -> None:
    """Every decision that it logged is the one that its policy's rule gives."""
    assert replay(service.log.read_text().splitlines(), "log").disagreements == []


def start_burst(
    job: Job, program: Path, name: str, mebibytes: int, pause_ms: int, *, launcher: Sequence[str] = (), **settings: str
) -> subprocess.Popen[bytes]:
    """A job of its own name that writes a file of that name."""
    command: Sequence[str | Path] = [*launcher, program, job.data / name, str(mebibytes), str(pause_ms)]
    ours = {"SLICEWISE_JOB": name, "SLICEWISE_COORDINATE": "fcfs", "SLICEWISE_COORDINATE_BURST": "2"}
    return job.start(command, **(ours | settings))


@contextmanager
def another_goes(job: Job, program: Path, service: Coordinator, seconds: float = 0.5) -> Iterator[None]:
    """In the block a job has its turn, until another one has asked for it and waited for so long."""
    other = start_burst(job, program, "other", 250, 80, SLICEWISE_COORDINATE_AT=service.address)

    def end() -> None:
        try:
            service.await_two_jobs()
            time.sleep(seconds)
        finally:
            other.kill()
            other.wait()

    service.await_event("authorise")
    with ThreadPoolExecutor(1) as beside:
        ended = beside.submit(end)
        yield
        ended.result()


def waited_seconds(job: Job, name: str) -> float:
    return float(read_profile(job.folder / name).processes["waited_ns"].sum() / 1e9)


def is_as_written(path: Path, mebibytes: int) -> bool:
    """Whether the file of `burst` has every byte."""
    return path.read_bytes() == b"".join(bytes([part % 256]) * MIB for part in range(mebibytes))
