"""What the library says on standard error neither kills the program nor holds it up, whatever standard error is."""

from __future__ import annotations

import fcntl
import os
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


def test_pipe_without_a_reader(job: Job, apps: Apps) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    assert status_of(job, apps, writer) == STATUS
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
    assert "RLIMIT_FSIZE" in looks[-1]
    blinded = [*watch, "-e", f"inject=prlimit64:error=EPERM:when={len(looks)}", *program]
    assert "No space left" in job.run_plainly(blinded).errors  # up to the limit it is written
    ended = job.run_plainly(blinded)
    assert "SIGXFSZ {" not in trace.read_text()
    assert "(INJECTED)" in trace.read_text()
    assert ended.status == 3
    assert "File too large" in ended.errors


def test_directory_that_cannot_be_written(job: Job, apps: Apps) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    assert status_of(job, apps, writer, SLICEWISE_DIR="/proc/nowhere") == STATUS
    os.close(writer)


def test_signal_of_the_programs_own_is_left(job: Job, apps: Apps) -> None:
    """One that was under way already arrives."""
    reader, writer = os.pipe()
    os.close(reader)
    program = ["/bin/sh", "-c", "trap 'echo arrived; exit 5' PIPE; kill -PIPE $$; exit 6"]
    environment = job.environment({"SLICEWISE_SLICE": "never"})
    done = subprocess.run(program, env=environment, stderr=writer, stdout=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (5, b"arrived\n")
    os.close(writer)
