"""What is asked of several jobs at once is what each job's profile by itself gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from polars.testing import assert_frame_equal
from slicewise.digest import shared
from slicewise.digest.digest import Digest
from slicewise.digest.schema import FRAMES
from slicewise.digest.shared import several
from slicewise.profile.files import job_places
from slicewise.profile.many import profiles_of
from support.jobs import write_competing_jobs
from support.swz import build_profile

NEED_BINS = {"distributions", "storage_distributions"}
OLDER = Path(__file__).resolve().parents[1] / "golden" / "format-1.swz"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Competing jobs on several nodes; a job without I/O; one with several mounts of one storage; an older profile."""
    folder = tmp_path_factory.mktemp("jobs")
    nfs = {"type": "nfs4", "source": "server:/export"}
    mounts = [{"process": 7, "mount": place, "point": f"/at{place}", **nfs} for place in range(2)]
    rows = [
        {"process": 7, "mount": place, "slice": number, "threads": 1, "write_bytes": 4096 << place, "write_ops": 1}
        for place in range(2)
        for number in range(3)
    ]
    idle = build_profile(folder / "idle", [{"process": 6, "rank": 1, "ranks": 2}, {"process": 5}], [])
    return [
        *write_competing_jobs(folder),
        idle,
        build_profile(folder / "mounts", [{"process": 7}], rows, mounts),
        OLDER,
    ]


def assert_as_by_themselves(digests: list[Digest], places: list[Path]) -> None:
    for digest, place in zip(digests, places, strict=True):
        (profile,) = profiles_of(job_places([place]))
        alone = Digest(profile, digest.job)
        assert alone.active_slices.sort().equals(digest.active_slices.sort())
        for name in FRAMES.keys() - NEED_BINS:
            assert_frame_equal(getattr(digest, name), getattr(alone, name))


@pytest.mark.parametrize("rows", [shared.ROWS_AT_ONCE, 1])
def test_frames_of_jobs_that_are_looked_at_together(places, rows, monkeypatch):
    monkeypatch.setattr(shared, "ROWS_AT_ONCE", rows)
    digests = several(profiles_of(job_places(places)))
    assert sum(type(digest) is not Digest for digest in digests) == (len(places) - 1 if rows > 1 else 0)
    assert_as_by_themselves(digests, places)


def test_a_job_that_is_there_twice(places):
    digests = several([profile for place in [*places, places[0]] for profile in profiles_of(job_places([place]))])
    assert digests[-1].job == f"{digests[0].job} (2)"
    assert_as_by_themselves(digests, [*places, places[0]])


def test_a_job_may_get_another_name(places):
    first, second, *_ = several(profiles_of(job_places(places)))
    second.job = "another"
    assert first.processes["job"].unique().to_list() == [first.job]
    assert second.processes["job"].unique().to_list() == second.jobs["job"].to_list() == ["another"]
