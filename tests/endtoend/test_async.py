"""Asynchronous requests: POSIX aio, libaio and io_uring, against known answers."""

import polars as pl
import pytest
from slicewise.profile.reader import Profile
from support.programs import Apps, Job, calls, total

SYSTEM_CALLS = {"functions": ["-laio"], "numbers": ["-DBY_NUMBER"]}


def mishaps(profile: Profile) -> dict[str, int]:
    return dict(profile.mishaps.select("mishap", "count").iter_rows())


def requests(profile: Profile, column: str) -> int:
    return total(profile, column, layers=["async"])


@pytest.mark.parametrize("options", [(), ("-DNAMES_64",)], ids=["plain", "names64"])
def test_posix_aio(job: Job, apps: Apps, options: tuple[str, ...]) -> None:
    profile = job.profiled([apps.build("aio_requests", *options), job.data / "file"])
    counted = calls(profile)
    assert {name: counted[name] for name in ("aio_write", "aio_read", "aio_fsync", "lio_listio")} == {
        "aio_write": 8 + 8 + 1 + 1, "aio_read": 1 + 8 + 2, "aio_fsync": 1, "lio_listio": 2,
    }  # fmt: skip
    assert requests(profile, "write_bytes") == (8 + 8 + 1 + 1) * 10_000
    assert requests(profile, "read_bytes") == 5_000 + 8 * 10_000
    assert requests(profile, "kernel_write_bytes") == requests(profile, "write_bytes")
    assert requests(profile, "kernel_read_bytes") == requests(profile, "read_bytes")
    assert requests(profile, "errors") == 2
    assert mishaps(profile)["requests_unclaimed"] == 2
    by_file = profile.files.filter(pl.col("path") == str(job.data / "file"))
    assert by_file["write_bytes"].to_list() == [(8 + 8 + 1 + 1) * 10_000]
    assert 0 < requests(profile, "write_ns") < 60e9


@pytest.mark.parametrize("way", SYSTEM_CALLS)
def test_kernel_aio(job: Job, apps: Apps, way: str) -> None:
    profile = job.profiled([apps.build("aio_kernel", *SYSTEM_CALLS[way]), job.data / "file"])
    counted = calls(profile)
    expected = {"libaio_read": 16 + 5, "libaio_write": 16, "libaio_sync": 1, "io_submit": 5, "io_getevents": 4}
    assert {name: counted[name] for name in expected} == expected
    assert requests(profile, "write_bytes") == 16 * 8192
    assert requests(profile, "read_bytes") == 15 * 8192 + 100 + 4 * 8192 + 100
    assert requests(profile, "kernel_read_bytes") == 0
    assert total(profile, "errors") == 1
    assert "requests_unclaimed" not in mishaps(profile)


def test_libraries_of_a_plug_in(job: Job, apps: Apps) -> None:
    """A library that a plug-in brought along, out of everybody else's scope."""
    plug_in = apps.build("aio_plug_in", "-DPLUG_IN", "-shared", "-fPIC", "-laio", "-luring")
    profile = job.profiled([apps.build("aio_plug_in"), plug_in, job.data / "file"])
    assert requests(profile, "write_bytes") == 4096 + 100
    assert mishaps(profile) == {"uring_used": 1}


BATCHES = 40
RINGS = {
    "plain": "0",
    "submission thread": "IORING_SETUP_SQPOLL",
    "large completions": "IORING_SETUP_CQE32|IORING_SETUP_SQE128",
}


@pytest.mark.parametrize("setup", RINGS)
def test_liburing(job: Job, apps: Apps, setup: str) -> None:
    profile = job.profiled([apps.build("uring_requests", f"-DSETUP={RINGS[setup]}", "-luring"), job.data / "file"])
    counted = calls(profile)
    assert {name: counted[name] for name in counted if name.startswith("uring")} == {
        "uring_write": 16 * BATCHES + 4 + 1, "uring_read": BATCHES + 2, "uring_sync": BATCHES, "uring_other": 1,
    }  # fmt: skip
    assert requests(profile, "write_bytes") == 16 * 5000 * BATCHES + 4 * 10 + 55
    assert requests(profile, "read_bytes") == 100 * BATCHES + 77
    assert requests(profile, "errors") == 1
    assert mishaps(profile) == {"uring_used": 1}
    by_file = profile.files.filter(pl.col("path") == str(job.data / "file"))
    assert by_file["write_bytes"].to_list() == [16 * 5000 * BATCHES + 4 * 10 + 55]


def test_rings_entered_by_number(job: Job, apps: Apps) -> None:
    profile = job.profiled([apps.build("uring_numbers"), job.data / "file"])
    assert requests(profile, "write_ops") == 30 * 8
    assert requests(profile, "write_bytes") == 30 * 8 * 3000
    assert mishaps(profile) == {"uring_used": 1}


@pytest.mark.parametrize(
    ("options", "expected"),
    [(["-DINLINE"], 240), (["-DINLINE", "-DLEFT"], 240), (["-DINLINE", "-DLOST"], 0)],
    ids=["unmapped", "left", "lost"],
)
def test_rings_entered_unseen(job: Job, apps: Apps, options: list[str], expected: int) -> None:
    """Instructions of the program's own pass by every library: their requests are known by
    number, while the ring is there to be read.
    """
    profile = job.profiled([apps.build("uring_numbers", *options), job.data / "file"])
    assert requests(profile, "write_ops") == 0
    assert mishaps(profile).get("uring_unseen", 0) == expected
    assert mishaps(profile)["uring_used"] == 1
