"""A profile that cannot be written: the program ends as ever, one line says why, and nothing counted is lost."""

import os
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
from support.programs import COLLECTOR, LIBRARY, Apps, Job, need, total


def assert_recovered(job: Job) -> None:
    assert len(job.segments()) == 1
    job.must_recover()
    profile = job.profile()
    assert total(profile, "write_bytes", obj="file") == 300
    assert profile.processes["ending"].to_list() == ["exit"]


def test_directory_that_cannot_be_made(job: Job, apps: Apps) -> None:
    job.spool_dir.write_text("a file where the job's directory should be")
    ended = job.run([apps.build("life_ending"), "exit"])
    assert ended.status == 3
    assert ended.errors.startswith(f"slicewise: {job.spool_dir}")
    assert "recover" in ended.errors
    assert ended.errors.count("\n") == 1
    failed = job.recover()
    assert failed.returncode == 1
    assert failed.stderr.startswith(f"slicewise: {job.spool_dir}")
    job.spool_dir.unlink()
    assert_recovered(job)


def test_directory_that_is_not_ours_to_write(job: Job, apps: Apps) -> None:
    need("setpriv")
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody who may not write")
    place = job.segment_dir  # which everybody can reach, unlike root's clone and pytest's folder
    place.chmod(0o755)
    library, program = place / "library", place / "program"
    shutil.copy(LIBRARY, library)
    shutil.copy(apps.build("life_ending"), program)
    for name in ("segments", "data"):
        (place / name).mkdir()
        (place / name).chmod(0o777)
    settings = [f"LD_PRELOAD={library}", f"SLICEWISE_DIR={place}", f"SLICEWISE_SEGMENT_DIR={place / 'segments'}"]
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", *settings]
    ended = job.run_plainly([*nobody, program, "exit"], cwd=place / "data")
    assert ended.status == 3
    assert ended.errors.startswith(f"slicewise: {place / 'job'}")
    assert "belongs to another user" in ended.errors
    assert ended.errors.count("\n") == 1


@pytest.mark.parametrize("kilobytes", [0, 64])
def test_full_disk(job: Job, apps: Apps, kilobytes: int) -> None:
    """The program ends without room for its profile; when there is room again, recovery finishes it."""
    need("unshare", "mount", "bash")
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    script = f"""
        mount -t tmpfs -o size={max(kilobytes, 16)}k none "$SPOOL" || exit 77
        head -c 1M /dev/zero > "$SPOOL/fill" 2> /dev/null
        LD_PRELOAD=$LIBRARY "$@"; echo "status $?"
        rm "$SPOOL/fill"
        {COLLECTOR} recover; echo "recovered $?"
        cp -r "$SPOOL" "$KEPT"
    """
    spool, kept = job.folder / "disk", job.folder / "kept"
    spool.mkdir()
    environment = job.environment({"SLICEWISE_DIR": str(spool), "SPOOL": str(spool), "KEPT": str(kept)})
    environment["LIBRARY"], environment["LD_PRELOAD"] = environment["LD_PRELOAD"], ""
    ended = subprocess.run(
        ["unshare", "-m", "bash", "-c", script, "bash", apps.build("life_ending"), "exit"],
        env=environment, cwd=job.data, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ended.returncode == 77:
        pytest.skip("mounting in a namespace of one's own is not allowed here")
    assert "status 3" in ended.stdout
    assert "recovered 0" in ended.stdout
    assert ended.stderr.startswith(f"slicewise: {spool}")
    assert ended.stderr.count("\n") == 1
    assert job.segments() == []
    job.spool_dir = kept / "job"
    profile = job.profile(is_damaged=True)
    assert all(
        damage.kind == "damaged" for damage in profile.damage
    )  # at most a torn frame that was then written again
    assert total(profile, "write_bytes", obj="file") == 300


def test_segments_of_another_build_are_left_alone(job: Job, apps: Apps) -> None:
    job.run([apps.build("life_ending"), "kill"])
    (segment,) = job.segments()
    content = segment.read_bytes()
    segment.write_bytes(content[:8] + b"9.9.9\0" + content[14:])
    recovered = job.recover()
    assert (recovered.returncode, recovered.stderr, job.segments()) == (0, "", [segment])


@pytest.mark.parametrize("garbage", [b"", b"x" * 100, b"slicewis" + bytes(5000)])
def test_garbage_among_segments_is_left_alone(job: Job, apps: Apps, garbage: bytes) -> None:
    job.run([apps.build("life_ending"), "kill"])
    stray = job.segments()[0].parent / "job.1.0"
    stray.write_bytes(garbage)
    recovered = job.recover()
    assert (recovered.returncode, recovered.stderr, job.segments()) == (0, "", [stray])
    assert job.profile().processes["ending"].to_list() == ["killed"]


def test_recovering_a_job_leaves_others_alone(job: Job, apps: Apps, tmp_path: Path) -> None:
    for name in ("one", "two"):
        job.run([apps.build("life_ending"), "kill"], SLICEWISE_JOB=name)
    assert job.recover(job.folder / "one").returncode == 0
    assert [segment.name.split(".")[0] for segment in job.segments()] == ["two"]
    nowhere = job.recover("no/such/place")
    assert nowhere.returncode == 2
    assert nowhere.stderr.startswith("slicewise: no/such/place: ")
    assert nowhere.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["relative", "relative/", "./relative", "linked"])
def test_a_job_is_recovered_by_any_of_its_names(job: Job, apps: Apps, name: str) -> None:
    """Also where its directory does not exist yet; through a link it does."""
    (job.folder / "linked").symlink_to(job.folder / "relative")
    if name == "linked":
        (job.folder / "relative").mkdir()
    job.run([apps.build("life_ending"), "kill"], SLICEWISE_JOB="relative")
    assert "recovered 1 process" in job.recover(name, cwd=job.folder).stdout
    assert job.segments() == []


def test_nothing_is_said_when_asked_to_be_quiet(job: Job, apps: Apps) -> None:
    job.spool_dir.write_text("in the way")
    ended = job.run([apps.build("life_ending"), "exit"], SLICEWISE_QUIET="1")
    assert (ended.status, ended.output, ended.errors) == (3, b"", "")


def test_the_line_is_not_written_into_a_programs_file(job: Job) -> None:
    """A program may close its standard error and open a file that gets the number."""
    job.spool_dir.write_text("in the way")
    job.must_run(["bash", "-c", "exec 2> replaced; echo told >&2"])
    assert (job.data / "replaced").read_text() == "told\n"


def test_processes_of_one_job_write_one_file(job: Job) -> None:
    script = "for i in 1 2 3 4 5 6 7 8; do (head -c 1000 /dev/zero > file$i) & done; wait"
    assert job.run(["bash", "-c", script]).status == 0
    assert len(list(job.spool_dir.iterdir())) == 1
    profile = job.profile()
    heads = profile.processes.filter(pl.col("program").str.ends_with("/head"))
    assert heads.height == 8
    assert profile.slices.filter(pl.col("layer").is_in(["posix", "stdio"]))["write_bytes"].sum() >= 8000
