"""What recovers profiles waits for no file system that does not answer: it says which, and goes on with the rest."""

import fcntl
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.hanging import HangingFileSystem, hanging_file_system
from support.programs import COLLECTOR, Apps, Job, need, total

TIMEOUT_SECONDS = 40  # of a busy machine; what hangs would hang for good
WAIT = {"SLICEWISE_EXIT_WAIT": "1"}


@pytest.fixture
def hanging(tmp_path: Path) -> Iterator[HangingFileSystem]:
    need("sshfs")
    with hanging_file_system(tmp_path) as file_system:
        yield file_system


def kill_one(job: Job, apps: Apps, **settings: str) -> None:
    assert job.run([apps.build("life_ending"), "kill"], **settings).status == -9


def test_recover_with_a_spool_that_hangs(job: Job, apps: Apps, hanging: HangingFileSystem) -> None:
    for _ in range(3):
        kill_one(job, apps, SLICEWISE_DIR=str(hanging.point))
    kill_one(job, apps)
    hanging.hang()
    began = time.monotonic()
    done = job.recover(**WAIT)
    assert time.monotonic() - began < TIMEOUT_SECONDS
    assert done.returncode == 1
    assert "recovered 1 process " in done.stdout
    (line,) = done.stderr.splitlines()
    assert f"{hanging.point}/job/" in line
    assert "the profile of 3 processes (the file system did not answer in time); their counts stay in " in line
    assert total(job.profile(), "write_bytes", obj="file") == 300

    hanging.answer()
    done = job.must_recover(**WAIT)
    assert "recovered 3 processes killed before " in done.stdout
    job.spool_dir = hanging.export / "job"
    assert total(job.profile(), "write_bytes", obj="file") == 3 * 300


def test_recover_of_one_job_asks_no_other_jobs_file_system(job: Job, apps: Apps, hanging: HangingFileSystem) -> None:
    kill_one(job, apps, SLICEWISE_DIR=str(hanging.point))
    kill_one(job, apps)
    hanging.hang()
    done = job.recover(job.spool_dir, **WAIT)
    assert (done.returncode, done.stderr) == (0, "")
    assert total(job.profile(), "write_bytes", obj="file") == 300
    done = job.recover(hanging.point / "job", **WAIT)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "does not answer" in done.stderr
    assert len(job.segments()) == 1


def test_recover_with_a_tmpdir_that_hangs(job: Job, apps: Apps, hanging: HangingFileSystem) -> None:
    kill_one(job, apps)
    hanging.hang()
    done = job.recover(TMPDIR=str(hanging.point), **WAIT)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"slicewise: {hanging.point}: does not answer; segments that may lie there are left alone"
    ]
    assert "recovered 1 process " in done.stdout


def test_the_collector_ends_though_its_spool_hangs(job: Job, apps: Apps, hanging: HangingFileSystem) -> None:
    settings = {"SLICEWISE_DIR": str(hanging.point), "SLICEWISE_SLICE": "0.5", **WAIT}
    kill_one(job, apps, **settings)
    hanging.hang()
    parent = subprocess.Popen(["sleep", "3"])
    environment = job.environment(settings) | {"LD_PRELOAD": ""}
    done = subprocess.run(
        [COLLECTOR, "node", "--parent", str(parent.pid)],
        env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS,
    )  # fmt: skip
    parent.wait()
    assert done.returncode == 1
    assert "did not answer" in done.stderr
    hanging.answer()
    assert job.recover().returncode == 0
    assert job.segments() == []
    job.spool_dir = hanging.export / "job"
    assert total(job.profile(), "write_bytes", obj="file") == 300


def test_a_pipe_in_place_of_a_spool(job: Job, apps: Apps) -> None:
    """Nobody reads it, or somebody does: nothing is written to it, and nobody waits."""
    job.spool_dir.mkdir(mode=0o700)
    pipe = job.spool_dir / f"{os.uname().nodename}.swz"
    os.mkfifo(pipe, 0o600)
    for flags in (None, os.O_RDONLY | os.O_NONBLOCK):
        reader = os.open(pipe, flags) if flags is not None else None
        ended = job.run([apps.build("life_ending"), "exit"])
        assert ended.status == 3
        assert ended.errors.count("\n") == 1
        done = job.recover(**WAIT)
        assert done.returncode == 1
        assert "cannot write the profile" in done.stderr
        if reader is not None:
            assert os.read(reader, 1) == b""
            os.close(reader)
    pipe.unlink()
    assert job.recover().returncode == 0
    assert total(job.profile(), "write_bytes", obj="file") == 2 * 300


def test_a_segment_that_somebody_holds_locked(job: Job, apps: Apps) -> None:
    kill_one(job, apps)
    (segment,) = job.segments()
    with segment.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = job.recover(**WAIT)
        assert done.returncode == 0
        assert "1 more is being finished by somebody else" in done.stdout
    assert "recovered 1 process " in job.recover().stdout
