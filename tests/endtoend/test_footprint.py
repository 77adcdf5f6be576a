"""What the library leaves alone: no descriptor of its own, no thread, no file while the program runs."""

import os
import re
import time
from pathlib import Path

from support.programs import LIBRARY, Apps, Job, need
from support.waiting import wait_until


def test_no_descriptor_no_thread_no_file_while_it_runs(job: Job, apps: Apps) -> None:
    command = [apps.build("tally", "-pthread"), "steady", "3", "3", job.folder / "tally", job.data, job.data]
    with job.start(command, SLICEWISE_SLICE="0.1") as process:
        wait_until((job.data / "steady2").exists)
        time.sleep(0.5)
        proc = Path(f"/proc/{process.pid}")
        descriptors = {os.readlink(link) for link in (proc / "fd").iterdir()}
        threads = len(list((proc / "task").iterdir()))
        spool_was_there = job.spool_dir.exists()
        assert len(job.segments()) == 1
        assert process.wait() == 0
    assert {path for path in descriptors if path.startswith("/")} == {str(job.data / f"steady{i}") for i in range(3)}
    assert threads == 1 + 3
    assert not spool_was_there
    assert job.profile().slices["slice"].n_unique() >= 10


def test_memory_of_a_process(job: Job, apps: Apps) -> None:
    """Of a segment's many megabytes of addresses only what is used has memory behind it."""
    with job.start(
        [apps.build("tally", "-pthread"), "steady", "1", "3", job.folder / "tally", job.data, job.data]
    ) as process:
        wait_until((job.data / "steady0").exists)
        time.sleep(0.3)
        (segment,) = job.segments()
        assert segment.stat().st_blocks * 512 <= 128 << 10
        assert process.wait() == 0


def test_files_are_opened_at_the_end_alone(job: Job, apps: Apps) -> None:
    """By the order of system calls: the profile's directory and file are made after the program's last write."""
    need("strace")
    trace = job.folder / "trace"
    watched = ["strace", "-f", "-o", trace, "-e", "trace=open,openat,creat,mkdir,mkdirat,write"]
    command = [*watched, "-E", f"LD_PRELOAD={LIBRARY}", apps.build("posix_transfers"), job.data / "file"]
    assert job.run_plainly(command).status == 0
    lines = trace.read_text().splitlines()
    last_write = max(number for number, line in enumerate(lines) if " write(" in line)
    names = f'"({job.folder}|{job.spool_dir.name}|{os.uname().nodename}.swz)"'  # each below the one before
    is_of_spool = [re.search(names, line) is not None and "= -1" not in line for line in lines]
    assert sum(is_of_spool) >= 2
    assert not any(is_of_spool[:last_write])
    assert sum(str(job.segment_dir) in line and "O_CREAT" in line for line in lines) == 1
