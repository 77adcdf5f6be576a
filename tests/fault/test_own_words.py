"""What the library says on standard error neither kills the program nor holds it up, whatever standard error is. Unless
it is asked to say everything, that is one line of a job, on a terminal."""

import fcntl
import os
import pty
import resource
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.programs import LIBRARY, TIMEOUT_SECONDS, Apps, Job, need

STATUS = 3  # of tests/apps/life_ending.c
PIPE_BYTES = 4096


def status_of(job: Job, apps: Apps, errors: int, prepare: Callable[[], None] | None = None, **settings: str) -> int:
    """How a program ends that the library has something to say about."""
    return subprocess.run(
        [apps.build("life_ending"), "exit"],
        env=job.environment({"SLICEWISE_SLICE": "never", **settings}),
        cwd=job.data,
        stderr=errors,
        preexec_fn=prepare,
        timeout=TIMEOUT_SECONDS,
        check=False,
    ).returncode


def full_pipe() -> tuple[int, int]:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    os.write(writer, b"x" * PIPE_BYTES)
    return reader, writer


@pytest.mark.parametrize("settings", [{}, {"SLICEWISE_DIR": "/proc/nowhere"}], ids=["", "nor a place for profiles"])
def test_pipe_without_a_reader(job: Job, apps: Apps, settings: dict[str, str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    assert status_of(job, apps, writer, **settings) == STATUS
    os.close(writer)


def test_full_pipe(job: Job, apps: Apps) -> None:
    reader, writer = full_pipe()
    assert status_of(job, apps, writer) == STATUS
    assert os.read(reader, 2 * PIPE_BYTES) == b"x" * PIPE_BYTES
    assert fcntl.fcntl(writer, fcntl.F_GETFL) & os.O_NONBLOCK == 0
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("is_open", [True, False])
def test_socket(job: Job, apps: Apps, is_open: bool) -> None:
    ours, theirs = socket.socketpair()
    if not is_open:
        ours.close()
    assert status_of(job, apps, theirs.fileno()) == STATUS
    if is_open:
        assert ours.recv(1000).startswith(b"slicewise: SLICEWISE_SLICE=never: ")
        ours.close()
    theirs.close()


def test_file_at_its_size_limit(job: Job, apps: Apps, tmp_path: Path) -> None:
    """Nor may the profile itself pass the limit; its counts are kept, or lost with a word that nobody reads."""
    log = tmp_path / "log"
    log.write_bytes(b"x" * 4096)
    with log.open("ab") as errors:
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
        assert status_of(job, apps, errors.fileno(), limit) == STATUS
    assert log.stat().st_size == 4096


def test_a_spool_that_others_brought_to_the_size_limit(job: Job, apps: Apps) -> None:
    """The limit is lowered between our look at it and our write. Here the look fails, so that the kernel refuses the
    write.
    """
    need("strace", "prlimit")
    trace = job.folder / "trace"
    program = ["prlimit", "--fsize=1000:1000", "env", f"LD_PRELOAD={LIBRARY}", apps.build("life_ending"), "exit"]
    watch = ["strace", "-o", trace, "-e", "trace=prlimit64,getrlimit"]
    seen = job.run_plainly([*watch, *program])
    assert (seen.status, "cannot write the profile" in seen.errors) == (3, True)
    looks = [line for line in trace.read_text().splitlines() if line.startswith("prlimit64(")]
    assert "RLIMIT_FSIZE" in looks[-2]  # the last one is before the loss is noted in the job's page
    blinded = [*watch, "-e", f"inject=prlimit64:error=EPERM:when={len(looks) - 1}", *program]
    assert "No space left" in job.run_plainly(blinded).errors  # up to the limit it is written
    ended = job.run_plainly(blinded)
    assert "SIGXFSZ {" not in trace.read_text()
    assert "(INJECTED)" in trace.read_text()
    assert ended.status == 3
    assert "File too large" in ended.errors


def test_signal_of_the_programs_own_is_left(job: Job, apps: Apps) -> None:
    """One that was under way already arrives."""
    reader, writer = os.pipe()
    os.close(reader)
    program = ["/bin/sh", "-c", "trap 'echo arrived; exit 5' PIPE; kill -PIPE $$; exit 6"]
    environment = job.environment({"SLICEWISE_SLICE": "never"})
    done = subprocess.run(program, env=environment, stderr=writer, stdout=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (5, b"arrived\n")
    os.close(writer)


def test_nothing_goes_into_a_file_or_a_pipe(job: Job, apps: Apps, tmp_path: Path) -> None:
    """Programs' output is compared and parsed. Each of these processes has two things to say."""
    job.spool_dir.write_text("in the way")
    log = tmp_path / "log"
    with log.open("wb") as errors:
        assert status_of(job, apps, errors.fileno(), SLICEWISE_VERBOSE="") == STATUS
    assert log.read_bytes() == b""
    reader, writer = os.pipe()
    assert status_of(job, apps, writer, SLICEWISE_VERBOSE="") == STATUS
    os.close(writer)
    assert os.read(reader, PIPE_BYTES) == b""
    os.close(reader)
    assert len(job.segments()) == 2


def said_on_a_terminal(job: Job, command: list[str | Path], **settings: str) -> list[str]:
    """What stands on a terminal that is standard error, and nothing else, of a command."""
    ours, theirs = pty.openpty()
    subprocess.run(
        command, env=job.environment({"SLICEWISE_SLICE": "never", "SLICEWISE_VERBOSE": "", **settings}), cwd=job.data,
        stdout=subprocess.DEVNULL, stderr=theirs, timeout=TIMEOUT_SECONDS, check=False,
    )  # fmt: skip
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 4096):
            said += part
    except OSError:  # nobody has the other end any more
        pass
    os.close(ours)
    return said.decode().splitlines()


@pytest.mark.parametrize("name", ["job", ""])
def test_a_job_speaks_once_on_a_terminal(job: Job, apps: Apps, name: str) -> None:
    """The first process that has something to say; the name is given, or the first process's."""
    (job.folder / (name or "way")).write_text("in the way")
    ending = apps.build("life_ending")
    command: list[str | Path] = ["bash", "-c", f"{ending} exit; {ending} exit; exec {ending} exit"]
    said = said_on_a_terminal(job, command, SLICEWISE_JOB=name)
    assert [line.split(": ")[:2] for line in said] == [["slicewise", "SLICEWISE_SLICE=never"]]
    assert said_on_a_terminal(job, command, SLICEWISE_JOB="other", SLICEWISE_QUIET="1") == []
    assert len(said_on_a_terminal(job, command, SLICEWISE_JOB="third", SLICEWISE_VERBOSE="1")) >= 4
    assert len(said_on_a_terminal(job, command, SLICEWISE_JOB="fourth")) == 1


def test_a_job_of_its_first_process_leaves_no_trace_of_its_words(job: Job, apps: Apps) -> None:
    assert len(said_on_a_terminal(job, [apps.build("life_ending"), "exit"], SLICEWISE_JOB="")) == 1
    assert job.segments() == []


def test_processes_without_memory_are_counted(job: Job, apps: Apps) -> None:
    """They have no profile that could say so: whoever recovers the job does."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (25 << 20, 25 << 20))  # noqa: E731
    reader, writer = os.pipe()
    for _ in range(2):
        assert status_of(job, apps, writer, limit, SLICEWISE_VERBOSE="", SLICEWISE_SLICE="") == STATUS
    os.close(writer)
    assert os.read(reader, PIPE_BYTES) == b""
    os.close(reader)
    assert "slicewise: job job: 2 processes not profiled: no memory was available" in job.recover().stderr
    assert job.segments() == []
