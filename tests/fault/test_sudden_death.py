"""SIGKILL at any moment: what the program had counted itself is in the recovered profile, and little more."""

import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from slicewise.profile.reader import Profile
from support.programs import COLLECTOR, SHARED_MEMORY, Apps, Job, job_in, total
from support.tally import assert_counts_tally, read_tally, wait_for_count
from support.waiting import wait_until

KILLS = {("steady", 1): 8, ("steady", 4): 8, ("restless", 1): 17, ("restless", 4): 17}
LONGEST_LIFE_SECONDS = 0.45


@pytest.fixture
def other_mount() -> Iterator[Path]:
    folder = tempfile.mkdtemp(prefix="slicewise-test-data-", dir=SHARED_MEMORY)
    yield Path(folder)
    shutil.rmtree(folder)


def start(job: Job, apps: Apps, mode: str, threads: int, other: Path, seconds: float = 60) -> subprocess.Popen[bytes]:
    program = apps.build("tally", "-pthread")
    arguments = [mode, str(threads), str(seconds), other / "tally", job.data, other]
    return job.start([program, *arguments], SLICEWISE_SLICE="0.1")


def assert_holds_tally(profile: Profile, tally: list[int], threads: int) -> None:
    assert_counts_tally(profile, tally, threads)
    for counter, own in (("write_ops", tally[0] + tally[2]), ("read_ops", tally[4])):
        of_files = total(profile, counter, layers=["posix", "stdio"], obj="file")
        assert abs(profile.files[counter].sum() - of_files) <= threads, counter
        assert of_files <= own + threads


@pytest.mark.parametrize(("mode", "threads"), KILLS)
def test_killed_at_any_moment(tmp_path: Path, apps: Apps, other_mount: Path, mode: str, threads: int) -> None:
    moments = random.Random(f"{mode} {threads}")
    for attempt in range(KILLS[mode, threads]):
        folder, other = tmp_path / str(attempt), other_mount / str(attempt)
        folder.mkdir()
        other.mkdir()
        with job_in(folder) as job:
            kill_and_recover(job, apps, mode, threads, other, moments.random() * LONGEST_LIFE_SECONDS)


def kill_and_recover(job: Job, apps: Apps, mode: str, threads: int, other: Path, after_seconds: float) -> None:
    victim = start(job, apps, mode, threads, other)
    wait_for_count(other / "tally")
    time.sleep(after_seconds)
    victim.kill()
    assert victim.wait() == -signal.SIGKILL
    job.must_recover(job.spool_dir)
    profile = job.profile()
    assert profile.processes["ending"].to_list() == ["killed"]
    assert "records_dropped" not in profile.mishaps["mishap"].to_list()
    assert_holds_tally(profile, read_tally(other / "tally"), threads)


def test_restless_runs_do_pack_and_drain(job: Job, apps: Apps, other_mount: Path) -> None:
    """Else killing them would not try what it is meant to try."""
    with start(job, apps, "restless", 4, other_mount, seconds=2) as process:
        assert process.wait() == 0
    profile = job.profile()
    assert_holds_tally(profile, read_tally(other_mount / "tally"), 0)
    mishaps = dict(profile.mishaps.select("mishap", "count").iter_rows())
    assert mishaps["segment_full"] > 1
    assert set(mishaps) == {"segment_full"}


def test_recovered_twice_and_by_two_at_once(job: Job, apps: Apps, other_mount: Path) -> None:
    victim = start(job, apps, "restless", 4, other_mount)
    wait_for_count(other_mount / "tally")
    time.sleep(0.3)
    victim.kill()
    victim.wait()
    both = [
        subprocess.Popen(
            [COLLECTOR, "recover", job.spool_dir], env=job.environment({"LD_PRELOAD": ""}), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    outputs = [recovery.communicate()[0] for recovery in both]
    assert [recovery.returncode for recovery in both] == [0, 0]
    assert sorted("recovered 1 process " in output for output in outputs) == [False, True]
    once = job.profile()
    assert_holds_tally(once, read_tally(other_mount / "tally"), 4)
    again = job.must_recover(job.spool_dir)
    assert "recovered 0 processes" in again.stdout
    assert job.profile().slices.equals(once.slices)


def test_running_job_is_readable(job: Job, apps: Apps, other_mount: Path) -> None:
    with start(job, apps, "restless", 4, other_mount, seconds=4) as process:
        wait_until(lambda: any(file.stat().st_size for file in job.spool_dir.glob("*.swz")))
        profile = job.profile(is_damaged=True)
        assert [damage.kind for damage in profile.damage] == ["unfinished"]
        assert profile.processes["ending"].to_list() == ["running"]
        assert total(profile, "write_bytes") > 0
        still_running = job.recover(job.spool_dir)
        assert "1 still runs" in still_running.stdout
        assert process.wait() == 0
    assert_holds_tally(job.profile(), read_tally(other_mount / "tally"), 0)
    assert total(job.profile(), "write_bytes") > total(profile, "write_bytes")


def test_killed_child_of_a_shell_is_finished_by_the_first_process(job: Job, apps: Apps, other_mount: Path) -> None:
    """A job without a name from outside is named by its first process, which picks up what others of it left."""
    tally = f"{apps.build('tally', '-pthread')} steady 1 60 {other_mount}/tally {job.data} {other_mount}"
    ended = job.run(["bash", "-c", f"{tally} & sleep 0.3; kill -9 $!; wait; exit 5"], SLICEWISE_JOB="")
    assert ended.status == 5
    assert job.segments() == []
    (spool_dir,) = [path for path in job.folder.iterdir() if path.name.startswith("bash-")]
    job.spool_dir = spool_dir
    profile = job.profile()
    assert profile.processes.filter(pl.col("ending") == "killed").height == 1


@pytest.mark.parametrize("job_names", [{}, {"SLURM_JOB_ID": "job", "SLICEWISE_JOB": ""}])
def test_killed_process_is_finished_by_the_next_one_of_its_job(
    job: Job, apps: Apps, other_mount: Path, job_names: dict[str, str]
) -> None:
    victim = start(job, apps, "restless", 1, other_mount)
    wait_for_count(other_mount / "tally")
    victim.kill()
    victim.wait()
    reader = ["cat", "/dev/null"]
    assert job.run(reader, SLICEWISE_JOB="another").status == 0
    assert job.run(["true"], SLICEWISE_SLICE="0.1", **job_names).status == 0  # it counts nothing, and pays for nothing
    assert len(job.segments()) == 1
    assert job.run(reader, SLICEWISE_SLICE="0.1", **job_names).status == 0
    assert job.segments() == []
    profile = job.profile()
    assert sorted(profile.processes["ending"]) == ["exit", "killed"]
    victims_and_readers = 2  # the reader's one call is in the profile, too
    assert_counts_tally(profile, read_tally(other_mount / "tally"), victims_and_readers)
