"""A file system of profiles that does not answer: the program neither waits for it nor notices, and nothing is lost."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.hanging import HangingFileSystem, hanging_file_system
from support.programs import Apps, Job, need, total
from support.tally import assert_counts_tally, read_tally, wait_for
from support.waiting import wait_until

TIMEOUT_SECONDS = 20  # of a busy machine; what hangs would hang for good


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[HangingFileSystem]:
    need("sshfs")
    with hanging_file_system(tmp_path) as file_system:
        yield file_system


def settings(spool: HangingFileSystem, **others: str) -> dict[str, str]:
    return {"SLICEWISE_DIR": str(spool.point), **others}


def recover_all(job: Job, spool: HangingFileSystem) -> None:
    spool.answer()
    job.must_recover()
    job.spool_dir = spool.export / "job"


def test_a_spool_on_a_server_that_answers(job: Job, apps: Apps, spool: HangingFileSystem) -> None:
    ended = job.run([apps.build("life_ending"), "exit"], **settings(spool))
    assert (ended.status, ended.errors) == (3, "")
    job.spool_dir = spool.export / "job"
    profile = job.profile()
    assert total(profile, "write_bytes", obj="file") == 300
    assert profile.mishaps.height == 0


@pytest.mark.parametrize(("ending", "told"), [("exit", "exit"), ("_exit", "underscore_exit")])
def test_an_exit_waits_no_longer_than_it_may(
    job: Job, apps: Apps, spool: HangingFileSystem, ending: str, told: str
) -> None:
    spool.hang()
    began = time.monotonic()
    ended = job.run([apps.build("life_ending"), ending], **settings(spool, SLICEWISE_EXIT_WAIT="1"))
    assert 1 <= time.monotonic() - began < TIMEOUT_SECONDS
    assert ended.status == 3
    assert ended.errors.startswith(f"slicewise: {spool.point / 'job'}")
    assert "did not answer" in ended.errors
    assert ended.errors.count("\n") == 1
    recover_all(job, spool)
    profile = job.profile()
    assert total(profile, "write_bytes", obj="file") == 300
    assert profile.processes["ending"].to_list() == [told]


@pytest.mark.parametrize("way", ["below/it", "link", "link/below/it"])
def test_a_directory_that_is_reached_through_what_hangs(
    job: Job, apps: Apps, spool: HangingFileSystem, way: str
) -> None:
    """The program's start and its first call look for where its profile belongs, and wait for nobody; its exit waits as
    long as it may.
    """
    link = spool.point.parent / "link"
    link.symlink_to(spool.point)
    directory = link.parent / way if way.startswith("link") else spool.point / way
    spool.hang()
    began = time.monotonic()
    ended = job.run([apps.build("life_ending"), "exit"], SLICEWISE_DIR=str(directory), SLICEWISE_EXIT_WAIT="1")
    assert 1 <= time.monotonic() - began < TIMEOUT_SECONDS
    assert ended.status == 3
    assert "did not answer" in ended.errors
    spool.answer()
    assert job.recover().returncode == 0
    assert job.segments() == []
    job.spool_dir = directory / "job"
    assert total(job.profile(), "write_bytes", obj="file") == 300


def test_a_program_that_does_nothing_waits_for_nothing(job: Job, spool: HangingFileSystem) -> None:
    spool.hang()
    began = time.monotonic()
    assert job.run(["/bin/true"], **settings(spool, SLICEWISE_EXIT_WAIT="60")).status == 0
    assert time.monotonic() - began < TIMEOUT_SECONDS


def test_a_signal_ends_a_program_that_waits_at_its_end(job: Job, apps: Apps, spool: HangingFileSystem) -> None:
    spool.hang()
    program = job.start([apps.build("life_ending"), "exit"], **settings(spool, SLICEWISE_EXIT_WAIT="60"))
    wait_for_a_carrier(program.pid)
    program.terminate()
    assert program.wait(TIMEOUT_SECONDS) == -signal.SIGTERM
    recover_all(job, spool)
    assert total(job.profile(), "write_bytes", obj="file") == 300


def test_a_program_computes_on_while_its_spool_hangs(job: Job, apps: Apps, spool: HangingFileSystem) -> None:
    """Its segment is drained often, and nobody answers; then a signal ends it, as it would without us."""
    spool.hang()
    tally = job.folder / "tally"
    command = [apps.build("tally", "-pthread"), "restless", "2", "60", tally, job.data, job.data]
    program = job.start(command, **settings(spool, SLICEWISE_SLICE="0.1"))
    wait_for(tally)
    wait_for_a_carrier(program.pid)
    before = sum(read_tally(tally))
    time.sleep(0.3)
    assert sum(read_tally(tally)) > before
    program.terminate()
    assert program.wait(TIMEOUT_SECONDS) == -signal.SIGTERM
    recover_all(job, spool)
    profile = job.profile()
    mishaps = profile.mishaps["mishap"].to_list()
    assert "segment_full" in mishaps
    if "records_dropped" not in mishaps:
        assert_counts_tally(profile, read_tally(tally), 2)


def test_a_new_process_beside_a_dead_one_whose_spool_hangs(job: Job, apps: Apps, spool: HangingFileSystem) -> None:
    job.run([apps.build("life_ending"), "kill"], **settings(spool))
    spool.hang()
    began = time.monotonic()
    ended = job.run([apps.build("life_ending"), "exit"], SLICEWISE_EXIT_WAIT="60")
    assert (ended.status, ended.errors) == (3, "")
    assert time.monotonic() - began < TIMEOUT_SECONDS
    assert len(job.segments()) == 1
    assert job.profile().processes["ending"].to_list() == ["exit"]
    recover_all(job, spool)
    assert job.profile().processes["ending"].to_list() == ["killed"]


def test_a_job_named_by_its_first_process_ends_beside_a_hung_one(
    job: Job, apps: Apps, spool: HangingFileSystem
) -> None:
    """The first process looks at all others when it ends."""
    killed = f"SLICEWISE_DIR={spool.point} {apps.build('life_ending')} kill"
    script = f"{killed}; kill -STOP $SERVER; exit 5"
    server = str(spool._server.pid)
    ended = job.run(["bash", "-c", script], SLICEWISE_JOB="", SERVER=server, SLICEWISE_EXIT_WAIT="60")
    assert ended.status == 5
    assert len(job.segments()) == 1
    recover_all(job, spool)


def test_a_job_waits_once_and_not_each_of_its_processes(job: Job, apps: Apps, spool: HangingFileSystem) -> None:
    """The first one waits, and notes that it was in vain; the others leave their counts in the segment at once."""
    processes, wait_seconds = 10, 3
    spool.hang()
    began = time.monotonic()
    for number in range(processes):
        ended = job.run(
            [apps.build("life_ending"), "exit"],
            **settings(spool, SLICEWISE_EXIT_WAIT=str(wait_seconds), SLICEWISE_VERBOSE="1" if number == 0 else ""),
        )
        assert ended.status == 3
        assert ("did not answer" in ended.errors) == (number == 0)
    took = time.monotonic() - began
    assert wait_seconds <= took < processes * wait_seconds / 2
    spool.answer()
    recovered = job.must_recover()
    assert f"recovered {processes} processes that had ended without writing their profile" in recovered.stdout
    job.spool_dir = spool.export / "job"
    assert total(job.profile(), "write_bytes", obj="file") == processes * 300


def test_a_spool_that_answers_again_is_asked_again(job: Job, apps: Apps, spool: HangingFileSystem) -> None:
    """After ten times the wait; whoever gets an answer finishes what others left, and says that there is one."""
    short = settings(spool, SLICEWISE_EXIT_WAIT="0.1")
    spool.hang()
    for _ in range(2):
        assert "did not answer" in job.run([apps.build("life_ending"), "exit"], **short).errors
    spool.answer()
    time.sleep(1.2)
    answering = settings(spool, SLICEWISE_EXIT_WAIT="5")
    wait_until(
        lambda: not job.run([apps.build("life_ending"), "exit"], **answering).errors, longest_seconds=TIMEOUT_SECONDS
    )
    (page,) = job.segments()  # and no segment
    assert page.name == ".job.job"
    assert job.run([apps.build("life_ending"), "exit"], **short | {"SLICEWISE_EXIT_WAIT": "5"}).errors == ""
    job.spool_dir = spool.export / "job"
    assert total(job.profile(), "write_bytes", obj="file") >= 4 * 300


def wait_for_a_carrier(pid: int) -> None:
    """Until the program has a child of our own."""

    def has_one() -> bool:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        children = [child for task in tasks for child in (task / "children").read_text().split()]
        return any(Path(f"/proc/{child}/comm").read_text() == "slicewise\n" for child in children)

    wait_until(has_one, "the program has nobody carry its frames")
