"""What stays on the node of processes that cannot write their profile: nothing without worth, and only so much."""

import json
import os
import shutil
import stat
import sys
from pathlib import Path

import polars as pl
import pytest
import slicewise
from support.programs import Apps, Job, total

# How much the node keeps of processes whose profile could not be written, and for how many days (store/keep.h).
KEPT = json.loads(Path(slicewise.__file__).with_name("contract.json").read_text(encoding="utf-8"))["kept"]
# Writes to files, so many that its last frame cannot be packed without memory, and then may have no more memory.
FILLS_ITS_MEMORY = """
import resource, sys
for number in range(200):
    with open(f"{sys.argv[1]}/a-file-with-a-rather-long-name-{number}", "wb", buffering=0) as file:
        file.write(bytes(10))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used, used))
"""


def block_the_spool(job: Job) -> None:
    job.spool_dir.write_text("a file where the job's directory should be")


def keep_others(job: Job, name: str, processes: int) -> None:
    """As if so many processes had left their segments already."""
    directory = job.segment_dir / f"slicewise-{os.geteuid()}"
    directory.mkdir(mode=0o700, exist_ok=True)
    for number in range(processes):
        file = directory / f"{name}.{number}.0"
        file.touch()
        file.chmod(stat.S_ISVTX | 0o600)


def test_a_process_with_little_to_tell_leaves_nothing(job: Job) -> None:
    assert job.run(["/bin/echo", "hello"]).status == 0
    assert job.profile().processes.height == 1
    shutil.rmtree(job.spool_dir)
    block_the_spool(job)
    assert job.run(["/bin/echo", "hello"]).output == b"hello\n"
    assert job.segments() == []


def test_a_process_that_closes_its_standard_error_first(job: Job) -> None:
    """As cat does: it says nothing, and its counts stay."""
    block_the_spool(job)
    (job.data / "in").write_text("hello")
    assert job.run(["bash", "-c", "exec cat in 2>&-"]).status == 0
    (segment,) = job.segments()
    assert segment.stat().st_mode & stat.S_ISVTX
    job.spool_dir.unlink()
    assert "recovered 1 process that had ended without writing its profile" in job.recover().stdout
    assert job.segments() == []
    cat = job.profile().processes.filter(pl.col("program").str.ends_with("/cat"))
    assert cat["ending"].to_list() == ["exit"]
    assert total(job.profile(), "read_bytes", obj="file") >= len("hello")


def test_programs_that_made_way_for_others_leave_no_more_than_these(job: Job) -> None:
    """Each exec leaves a segment, which the process's end finishes, or lets go."""
    block_the_spool(job)
    job.run(["bash", "-c", "echo 1; exec bash -c 'echo 2; exec bash -c \"echo 3; exec /bin/echo 4\"'"])
    assert job.segments() == []


def test_a_process_that_ended_at_its_memory_limit_was_not_killed(job: Job) -> None:
    ended = job.run([sys.executable, "-S", "-c", FILLS_ITS_MEMORY, job.data])
    assert ended.status == 0, ended.errors
    if job.segments():  # else it had memory to pack its last frame after all
        assert "recovered 1 process that had ended without writing its profile" in job.recover().stdout
    assert job.segments() == []
    assert job.profile().processes["ending"].to_list() == ["exit"]
    assert total(job.profile(), "write_bytes", obj="file") == 2000


@pytest.mark.parametrize(("name", "most"), [("job", KEPT["job_processes"]), ("another.job", KEPT["user_processes"])])
def test_no_more_stay_than_may(job: Job, apps: Apps, name: str, most: int) -> None:
    block_the_spool(job)
    keep_others(job, name, most - 1)
    for may_stay in (True, False):
        ended = job.run([apps.build("life_ending"), "exit"])
        assert ended.status == 3
        assert ("its counts are kept in " in ended.errors) == may_stay
        assert ("its counts are not kept: the node has as many as it keeps" in ended.errors) != may_stay
    assert len(list(job.segment_dir.glob("slicewise-*/[!.]*"))) == most
    job.spool_dir.unlink()
    recovered = job.recover()
    assert "recovered 1 process that had ended" in recovered.stdout
    assert "slicewise: job job: 1 process without a profile, and their counts are lost: " in recovered.stderr
    assert total(job.profile(), "write_bytes", obj="file") == 300
    assert "counts are lost" not in job.recover().stderr  # it is said once


def test_recover_says_once_what_many_processes_met(job: Job, apps: Apps) -> None:
    block_the_spool(job)
    for _ in range(3):
        job.run([apps.build("life_ending"), "exit"])
    failed = job.recover()
    assert failed.returncode == 1
    assert failed.stderr.count("\n") == 1
    assert "cannot write the profile of 3 processes (Not a directory); their counts stay in " in failed.stderr
    assert len(job.segments()) == 3


def test_killed_processes_are_told_from_those_that_ended(job: Job, apps: Apps) -> None:
    block_the_spool(job)
    for way in ("kill", "exit", "_exit"):
        job.run([apps.build("life_ending"), way])
    job.spool_dir.unlink()
    said = "recovered 3 processes: 1 killed before their profile was finished, 2 ended without writing it; 0 still run"
    assert said in job.recover().stdout
    assert sorted(job.profile().processes["ending"]) == ["exit", "killed", "underscore_exit"]
