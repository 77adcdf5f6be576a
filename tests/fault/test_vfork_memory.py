"""Children that share their parent's memory but not its descriptors: theirs are not taken for the parent's."""

import sys

import polars as pl
import pytest
from slicewise.profile.reader import Profile
from support.programs import Apps, Job, calls, total

ROUNDS = 3


def written_by_name(profile: Profile) -> dict[str, int]:
    """Bytes written by the last part of each file's path."""
    rows = profile.files.filter(pl.col("write_bytes") > 0).select("path", "write_bytes")
    return {path.rsplit("/", 1)[-1]: count for path, count in rows.iter_rows()}


@pytest.mark.parametrize("how", ["vfork", "clone_vfork"])
def test_childs_descriptors_are_its_own(job: Job, apps: Apps, how: str) -> None:
    profile = job.profiled([apps.build("vfork_memory"), job.data / "file", job.data / "other", how])
    of_parent = ROUNDS * (10 + 1000 * 5000)
    assert total(profile, "write_bytes", obj="file") == of_parent + ROUNDS * 5
    assert total(profile, "write_bytes", obj="device") == ROUNDS * 3
    # The child's descriptors have no place in the table, and so its files none among the busiest.
    assert written_by_name(profile) == {"file": of_parent}
    assert calls(profile)["vfork" if how == "vfork" else "clone"] == ROUNDS


def test_child_that_nobody_waits_for(job: Job, apps: Apps) -> None:
    """It shares even the thread's state, so it is let alone."""
    job.must_run([apps.build("vfork_memory"), job.data / "file", job.data / "other", "clone"])
    assert total(job.profile(), "write_bytes", obj="file") == ROUNDS * (10 + 1000 * 5000)


PYTHON = """
import os, subprocess
for _ in range(5):
    os.write(1, b"x" * 1000)
    subprocess.run(["true"], stdout=subprocess.DEVNULL, stdin=subprocess.PIPE, check=True)
    os.write(1, b"x" * 5_000_000)
"""


def test_python_starts_programs(job: Job) -> None:
    """Its `subprocess` forks by vfork, and points the child's standard output elsewhere."""
    command = f"exec {sys.executable} -c '{PYTHON}' > {job.data}/out"
    profile = job.profiled(["/bin/sh", "-c", command])
    assert total(profile, "write_bytes", obj="file") == 5 * 5_001_000
    assert total(profile, "write_bytes", obj="device") == 0
