"""Settings that are wrong: one line each, the default is used, and the program does not notice."""

import os

import pytest
from support.programs import Apps, Job, total

WRONG = {
    "SLICEWISE_SLICE": ["0", "0.05", "61", "four", "-1", "4s", "1e2", "0.1.2", "99999999999999999999"],
    "SLICEWISE_CLOCK": ["atomic"],
    "SLICEWISE_QUIET": ["yes"],
    "SLICEWISE_OFF": ["2"],
    "SLICEWISE_COLOUR": ["red"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_wrong_setting(job: Job, apps: Apps, name: str, value: str) -> None:
    ended = job.run([apps.build("life_ending"), "exit"], **{name: value})
    assert ended.status == 3
    assert ended.errors.startswith(f"slicewise: {name}={value}: ")
    assert ended.errors.count("\n") == 1
    profile = job.profile()
    assert profile.slice_ns == 4_000_000_000
    assert dict(profile.mishaps.select("mishap", "count").iter_rows()) == {"bad_setting": 1}
    assert total(profile, "write_bytes", obj="file") == 300


@pytest.mark.parametrize(
    ("value", "slice_ns"), [("0.1", 10**8), ("60", 6 * 10**10), ("2.5", 25 * 10**8), ("", 4 * 10**9)]
)
def test_slice_length(job: Job, apps: Apps, value: str, slice_ns: int) -> None:
    ended = job.run([apps.build("life_ending"), "exit"], SLICEWISE_SLICE=value)
    assert (ended.status, ended.errors) == (3, "")
    profile = job.profile()
    assert profile.slice_ns == slice_ns
    (start,), (end,) = profile.processes.select("start_ns", "end_ns")
    assert set(profile.slices["slice"]) <= set(range(start // slice_ns, end // slice_ns + 1))


def test_directory_that_is_too_long(job: Job, apps: Apps) -> None:
    ended = job.run([apps.build("life_ending"), "exit"], SLICEWISE_DIR="/" + 900 * "x")
    assert (ended.status, ended.errors.count("\n")) == (3, 1)
    assert ended.errors.startswith("slicewise: SLICEWISE_DIR=/xxx")
    assert "too long; its default is used" in ended.errors
    job.spool_dir = job.data / "slicewise" / job.spool_dir.name
    assert total(job.profile(), "write_bytes", obj="file") == 300


def test_working_directory_that_is_too_long(job: Job, apps: Apps) -> None:
    """The profile is nowhere rather than in a directory whose name was cut off; the counts are kept."""
    deep = job.data
    for _ in range(6):
        deep = deep / (200 * "d")
        os.mkdir(deep)
    ended = job.run([apps.build("life_ending"), "exit"], cwd=deep, SLICEWISE_DIR="profiles")
    (segment,) = job.segments()
    assert (ended.status, ended.errors.count("\n")) == (3, 1)
    assert "File name too long" in ended.errors
    assert f"its counts are kept in {segment}" in ended.errors
    assert {path.name for path in deep.iterdir()} & {"profiles"} == set()


def test_segment_directory_that_is_too_long(job: Job, apps: Apps) -> None:
    places = {"SLICEWISE_SEGMENT_DIR": f"{job.folder}/{300 * 'x'}", "TMPDIR": str(job.folder)}
    ended = job.run([apps.build("life_ending"), "exit"], **places)
    assert (ended.status, ended.errors) == (3, "")
    profile = job.profile()
    assert profile.processes["place"].item() == "tmpdir"
    assert total(profile, "write_bytes", obj="file") == 300


def test_clock_without_tick_counter(job: Job, apps: Apps) -> None:
    assert job.run([apps.build("life_ending"), "exit"], SLICEWISE_CLOCK="vdso").status == 3
    profile = job.profile()
    assert profile.processes["clock"].item() == "vdso"
    assert total(profile, "write_bytes", obj="file") == 300


def test_off(job: Job, apps: Apps) -> None:
    ended = job.run([apps.build("life_ending"), "exit"], SLICEWISE_OFF="1")
    assert (ended.status, ended.errors) == (3, "")
    assert not job.spool_dir.exists()
    assert job.segments() == []


@pytest.mark.parametrize(
    ("given", "expected"), [("48213", "48213"), ("../up", "_._up"), ("a b/c", "a_b_c"), ("x" * 300, "x" * 127)]
)
def test_job_name_is_a_file_name(job: Job, apps: Apps, given: str, expected: str) -> None:
    assert job.run([apps.build("life_ending"), "exit"], SLICEWISE_JOB=given).status == 3
    assert {path.name for path in job.folder.iterdir()} - {"data"} == {expected}


@pytest.mark.parametrize("variable", ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"])
def test_job_name_of_the_scheduler(job: Job, apps: Apps, variable: str) -> None:
    job.run([apps.build("life_ending"), "exit"], SLICEWISE_JOB="", **{variable: "4711"})
    assert (job.folder / "4711").is_dir()
