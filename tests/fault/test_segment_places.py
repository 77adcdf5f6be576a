"""Where segments lie: shared memory, else TMPDIR, else private memory; and shared memory that is too small."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.programs import Apps, Job, need, total

UNUSABLE = "/proc"  # nobody can make a directory there


def place_and_mishaps(job: Job) -> tuple[str, dict[str, int]]:
    profile = job.profile()
    assert total(profile, "write_bytes", obj="file") == 300
    return profile.processes["place"].item(), dict(profile.mishaps.select("mishap", "count").iter_rows())


@pytest.mark.parametrize(
    ("settings", "place", "mishaps"),
    [
        ({}, "shm", {}),
        ({"SLICEWISE_SEGMENT_DIR": UNUSABLE, "TMPDIR": "FOLDER"}, "tmpdir", {"segment_in_tmpdir": 1}),
        ({"SLICEWISE_SEGMENT_DIR": UNUSABLE, "TMPDIR": UNUSABLE}, "private", {"segment_private": 1}),
    ],
)
def test_where_segments_lie(job: Job, apps: Apps, settings: dict, place: str, mishaps: dict) -> None:
    given = {name: value.replace("FOLDER", str(job.folder)) for name, value in settings.items()}
    ended = job.run([apps.build("life_ending"), "exit"], **given)
    assert ended.status == 3
    assert ended.errors.count("\n") == (place == "private")
    assert ended.errors.startswith("slicewise: " if place == "private" else "")
    assert place_and_mishaps(job) == (place, mishaps)


def test_killed_with_its_segment_in_tmpdir(job: Job, apps: Apps) -> None:
    places = {"SLICEWISE_SEGMENT_DIR": UNUSABLE, "TMPDIR": str(job.folder)}
    job.run([apps.build("life_ending"), "kill"], **places)
    assert job.recover(job.spool_dir, **places).returncode == 0
    assert place_and_mishaps(job) == ("tmpdir", {"segment_in_tmpdir": 1})


NOBODY = 65534  # also what every user is called in a user namespace that has no numbers of its own


def test_somebody_elses_directory_is_not_used(job: Job, apps: Apps) -> None:
    """A directory of our name that others may write to, or a link of it, could have anything planted in it."""
    planted = job.segment_dir / f"slicewise-{os.geteuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    ended = job.run([apps.build("life_ending"), "exit"], TMPDIR=str(job.folder))
    assert (ended.status, ended.errors) == (3, "")
    assert place_and_mishaps(job) == ("shm", {})
    assert job.segments() == []
    assert list(planted.iterdir()) == []


def test_killed_in_a_user_namespace(job: Job, apps: Apps) -> None:
    """Whoever owns the directory finishes what lies in it, whatever number it is named for."""
    need_user_namespaces()
    job.run(["unshare", "--user", apps.build("life_ending"), "kill"])
    (segment,) = job.segments()
    assert segment.parent.name == f"slicewise-{NOBODY}"
    done = job.recover()
    assert done.returncode == 0
    assert job.segments() == []
    assert place_and_mishaps(job) == ("shm", {})


@pytest.mark.parametrize("kilobytes", [4, 16, *range(40, 84, 4), 128, 256, 512])
def test_shared_memory_that_is_too_small(job: Job, apps: Apps, kilobytes: int) -> None:
    """No room at the start, or none left later on: the program never sees a SIGBUS and nothing is counted wrong."""
    need_small_memory(job, kilobytes)
    tally = [apps.build("tally", "-pthread"), "restless", "16", "0.2", job.folder / "tally", job.data, job.data]
    script = 'mount -t tmpfs -o size="$0"k none "$SLICEWISE_SEGMENT_DIR" && exec "$@"'
    ended = job.run(
        ["unshare", "-m", "bash", "-c", script, str(kilobytes), *tally], SLICEWISE_SLICE="0.1", TMPDIR=str(job.folder)
    )
    assert ended.status == 0, ended.errors
    assert ended.errors.count("\n") <= 2
    profile = job.profile()
    mishaps = set(profile.mishaps["mishap"])
    names = profile.processes["program"].str.split("/").list.last()
    (place,) = profile.processes.filter(names.str.starts_with("tally"))["place"]
    assert place == "shm" or "segment_in_tmpdir" in mishaps
    own = sum_of_tallies(job.folder / "tally")
    counted = total(profile, "write_ops", layers=["posix", "stdio"])
    assert ("closed records lost" in ended.errors) == ("records_dropped" in mishaps)
    assert ("calls not counted" in ended.errors) == ("calls_dropped" in mishaps)
    if mishaps & {"records_dropped", "calls_dropped"}:
        assert counted <= own + 10  # what was dropped may have been other calls
    else:
        assert own <= counted <= own + 10  # the shell's own few


def need_user_namespaces() -> None:
    need("unshare")
    if os.geteuid() != 0 or subprocess.run(["unshare", "--user", "true"], check=False).returncode != 0:
        pytest.skip("needs root and user namespaces")


def need_small_memory(job: Job, kilobytes: int) -> None:
    need("unshare", "mount", "bash")
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small shared memory in a namespace of its own")
    attempt = subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", job.segment_dir]
    )
    if attempt.returncode != 0:
        pytest.skip("mounting in a namespace of one's own is not allowed here")


def sum_of_tallies(file: Path) -> int:
    words = memoryview(file.read_bytes()).cast("Q")
    return sum(words[0::8]) + sum(words[2::8])


def test_directory_that_goes_away(job: Job, apps: Apps) -> None:
    """Somebody cleans up shared memory while the program runs: it does not notice, and its profile is whole."""
    command = [apps.build("tally", "-pthread"), "steady", "1", "0.5", job.folder / "tally", job.data, job.data]
    with job.start(command) as process:
        while not job.segments():
            pass
        for folder in job.segment_dir.iterdir():
            shutil.rmtree(folder)
        assert process.wait() == 0
    profile = job.profile()
    assert total(profile, "write_ops") == sum_of_tallies(job.folder / "tally")


def test_a_landlock_that_forbids_to_write_what_may_be_made(job: Job, apps: Apps) -> None:
    """An open that makes a file and fails leaves it: we do not."""
    program = [apps.build("landlocked")]
    status = job.run_plainly(program, cwd=job.data).status
    if status == 77:
        pytest.skip("the kernel has no landlock")
    assert job.run(program, cwd=job.data, TMPDIR=str(job.segment_dir)).status == status == 3
    left = [path for path in job.segment_dir.rglob("*") if path.is_file()]
    assert [path for path in left if not path.name.startswith(".job.")] == []
