"""What takes turns with a job may die, hang or be cut off: the job ends whole, and late by the deadline at most."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from support.coordination import Coordinator, coordinator, is_as_written, start_burst, waited_seconds
from support.mpi import LAUNCHES, MPICH, OPEN_MPI, Mpi, make_build  # noqa: F401 fixture
from support.networks import Network, network
from support.programs import LIBRARY, Apps, Job, below, executable

# How often each fault is tried; SLICEWISE_TEST_REPEATS says how often in a soak.
TIMES = int(os.environ.get("SLICEWISE_TEST_REPEATS", "2"))
TIMES_OF_MPI = int(os.environ.get("SLICEWISE_TEST_REPEATS", "1"))
DEADLINE_SECONDS = 1.0
# Of a busy machine: until a process is over, and until it runs again when its wait is.
TIMEOUT_SECONDS, LATE_SECONDS = 15.0, 1.0
each_time = pytest.mark.parametrize("time_of", range(TIMES))
each_time_of_mpi = pytest.mark.parametrize("time_of", range(TIMES_OF_MPI))


@contextmanager
def two_jobs(
    job: Job, apps: Apps, tmp_path: Path, *options: str, launcher: Sequence[str] = (), **settings: str
) -> Iterator[tuple[Coordinator, subprocess.Popen[bytes], subprocess.Popen[bytes]]]:
    """One that has its turn for a while yet, and one that waits for it."""
    program = apps.build("burst")
    listen = "tcp:127.0.0.1:17643" if launcher else None
    with coordinator(tmp_path, "--policy", "fcfs", *options, listen=listen, launcher=launcher) as service:
        ours = settings_of(service) | settings
        first = start_burst(job, program, "first", 30, 40, launcher=launcher, **ours)
        with ended(first):
            service.await_event("authorise")
            second = start_burst(job, program, "second", 6, 0, launcher=launcher, **ours)
            with ended(second):
                service.await_two_jobs()
                yield service, first, second


def settings_of(service: Coordinator) -> dict[str, str]:
    return {"SLICEWISE_COORDINATE_AT": service.address, "SLICEWISE_COORDINATE_DEADLINE": str(DEADLINE_SECONDS)}


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """A process that is over, with all that it started, when the block is."""
    try:
        yield
    finally:
        kill_all(process)
        process.wait()


def kill_all(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        for pid in list(below(process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def assert_finishes(
    job: Job,
    process: subprocess.Popen[bytes],
    name: str,
    mebibytes: int,
    within: float,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> str:
    """Returns what it said."""
    began = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert time.monotonic() - began < within + TIMEOUT_SECONDS
    assert is_as_written(job.data / name, mebibytes)
    assert waited_seconds(job, name) < deadline_seconds + LATE_SECONDS
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


@contextmanager
def cut_from_coordinator(
    job: Job, apps: Apps, tmp_path: Path, deadline_seconds: float
) -> Iterator[tuple[Network, subprocess.Popen[bytes], subprocess.Popen[bytes]]]:
    """Two jobs, one of which has its turn, in a network that is cut."""
    secret = tmp_path / "secret"
    secret.write_text("a secret of the site")
    secret.chmod(0o600)
    ours = {"SLICEWISE_COORDINATE_SECRET": str(secret), "SLICEWISE_COORDINATE_DEADLINE": str(deadline_seconds)}
    with (
        network() as net,
        two_jobs(job, apps, tmp_path, "--secret-file", str(secret), launcher=net.enter, **ours) as (_, first, second),
    ):
        net.cut()
        yield net, first, second


@each_time
def test_the_network_is_cut(job: Job, apps: Apps, tmp_path: Path, time_of: int) -> None:
    with cut_from_coordinator(job, apps, tmp_path, DEADLINE_SECONDS) as (_net, first, second):
        said = assert_finishes(job, second, "second", 6, DEADLINE_SECONDS)
        assert said.startswith("slicewise: I/O is not coordinated any more: ")
        assert_finishes(job, first, "first", 30, 3 + DEADLINE_SECONDS)


@each_time
def test_the_network_is_cut_for_a_moment(job: Job, apps: Apps, tmp_path: Path, time_of: int) -> None:
    deadline_seconds = 20.0
    with cut_from_coordinator(job, apps, tmp_path, deadline_seconds) as (net, first, second):
        time.sleep(0.3)
        net.heal()
        assert assert_finishes(job, first, "first", 30, 3, deadline_seconds) == ""
        assert assert_finishes(job, second, "second", 6, 3, deadline_seconds) == ""
        assert waited_seconds(job, "second") > 0.3


def start_mpi(
    job: Job, apps: Apps, mpi: Mpi, program: Path, service: Coordinator, *, is_slow: bool
) -> subprocess.Popen[bytes]:
    """Two ranks that write together, slow ones without an end in sight, and wait for their turn as patiently."""
    slow = apps.build("slow_writes", "-shared", "-fPIC", "-ldl", "-DPAUSE_US=60000000", "-DLEAST_BYTES=65536")
    preload = f"LD_PRELOAD={LIBRARY}" + (f":{slow}" if is_slow else "")
    ours = {"SLICEWISE_JOB": "ranks", "SLICEWISE_COORDINATE": "fcfs"} | settings_of(service)
    ours |= {"SLICEWISE_COORDINATE_DEADLINE": "60"}
    return job.start([*mpi.launcher, "2", "env", preload, program, "all", job.data / "shared"], **ours)


def asks(launched: subprocess.Popen[bytes], service: Coordinator, others: int) -> bool:
    """Whether it asks for its turn; MPICH 4.0 now and then aborts by itself before."""
    service.await_that(lambda: service.jobs() > others or launched.poll() is not None)
    return launched.poll() is None


def rank_0_of(launched: subprocess.Popen[bytes], program: Path) -> int:
    """The first rank's process."""
    for pid in below(launched.pid):
        told = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        if executable(pid) == program and (b"OMPI_COMM_WORLD_RANK=0" in told or b"PMI_RANK=0" in told):
            return pid
    pytest.fail("no first rank")


@each_time_of_mpi
@pytest.mark.parametrize("is_whole", [False, True], ids=["first rank", "whole job"])
@pytest.mark.parametrize("mpi", [OPEN_MPI, MPICH], ids=lambda mpi: mpi.name)
@pytest.mark.parametrize("has_turn", [False, True], ids=["waits", "has its turn"])
def test_an_mpi_job_is_killed(
    mpi: Mpi,
    is_whole: bool,
    has_turn: bool,
    build: Callable[..., Path],
    job: Job,
    apps: Apps,
    tmp_path: Path,
    time_of: int,
) -> None:
    program, timeout_seconds = build(mpi, "mpi_turns.c"), 20.0
    with ExitStack() as ending:
        service = ending.enter_context(coordinator(tmp_path, "--policy", "fcfs", "--idle-seconds", "60"))

        def start_ranks() -> subprocess.Popen[bytes]:
            others = service.jobs()
            for _ in range(LAUNCHES if mpi is MPICH else 1):
                launched = start_mpi(job, apps, mpi, program, service, is_slow=has_turn)
                ending.enter_context(ended(launched))
                if asks(launched, service, others):
                    break
            return launched

        def start_survivor(mebibytes: int) -> subprocess.Popen[bytes]:
            ours = settings_of(service) | {"SLICEWISE_COORDINATE_DEADLINE": str(timeout_seconds)}
            process = start_burst(job, apps.build("burst"), "survivor", mebibytes, 40, **ours)
            ending.enter_context(ended(process))
            return process

        if has_turn:
            ranks = start_ranks()
            survivor = start_survivor(6)
            service.await_two_jobs()
        else:
            survivor = start_survivor(20)
            service.await_event("authorise")
            survivor.send_signal(signal.SIGSTOP)  # it keeps its turn until the ranks ask
            ranks = start_ranks()
        if is_whole:
            kill_all(ranks)
        else:
            os.kill(rank_0_of(ranks, program), signal.SIGKILL)
        survivor.send_signal(signal.SIGCONT)
        assert assert_finishes(job, survivor, "survivor", 6 if has_turn else 20, 3, timeout_seconds) == ""
        assert ranks.wait(TIMEOUT_SECONDS) != 0
        assert service.has_logged("leave")


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
