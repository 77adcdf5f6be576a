"""Clocks that are not the node's, and functions of libc that are another library's: the kernel itself is asked."""

import time
from pathlib import Path

import polars as pl
import pytest
from support.programs import LIBRARY, Apps, Ended, Job, total

FAKETIME = sorted(Path("/usr/lib").glob("*/faketime/libfaketime*.so.1"))
# One that counts its readings, until its library is taken down; before 1970; after 2262; fast; slow.
TIMES = ["@2026-01-01 00:00:00 i5.0", "@1960-01-01 00:00:00", "@2300-01-01 00:00:00", "-1d x100", "+1d x0.1"]
ORDERS = {"behind": (LIBRARY, "{other}"), "before": ("{other}", LIBRARY)}
LINES = sum(len(f"line {number}\n") for number in range(1000)) + len("the end\n")
OTHERS = 3 * 100 * 10


def preload(order: str, other: Path) -> str:
    return ":".join(str(each).format(other=other) for each in ORDERS[order])


def write(job: Job, apps: Apps, **settings: str) -> Ended:
    """What a program wrote and how it ended is as without the library."""
    file = job.data / "file"
    file.unlink(missing_ok=True)
    ended = job.run([apps.build("plain_writer"), file], timeout_seconds=30, **settings)
    assert (ended.status, ended.output, ended.errors) == (0, b"done\n", "")
    assert file.stat().st_size == LINES + OTHERS
    return ended


def assert_counted(job: Job, began_ns: int) -> None:
    profile = job.profile()
    assert job.segments() == []
    assert profile.mishaps.is_empty()
    assert total(profile, "write_bytes", layers=["stdio"], obj="file") == LINES
    assert total(profile, "write_bytes", obj="file") == OTHERS
    assert profile.processes.height == 3
    times = profile.processes.select(pl.col("start_ns").min().alias("first"), pl.col("end_ns").max().alias("last"))
    assert began_ns <= times["first"][0] <= times["last"][0] <= time.time_ns()


@pytest.mark.skipif(not FAKETIME, reason="not installed: faketime")
@pytest.mark.parametrize("sites", ["0", "10"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("faked", TIMES)
def test_faked_time(job: Job, apps: Apps, faked: str, order: str, sites: str) -> None:
    for number, other in enumerate(FAKETIME):
        job.spool_dir = job.folder / f"job-{number}"
        began_ns = time.time_ns()
        own = {"SLICEWISE_JOB": job.spool_dir.name, "SLICEWISE_SITE_MS": sites, "FAKETIME": faked}
        write(job, apps, LD_PRELOAD=preload(order, other), **own)
        assert_counted(job, began_ns)
        command = ["nice", "timeout", "20", "bash", "-c", "seq 10000 > seq; tail -n 1 seq"]
        ended = job.run(command, timeout_seconds=30, LD_PRELOAD=preload(order, other), **own)
        assert (ended.status, ended.output, ended.errors) == (0, b"10000\n", "")


@pytest.mark.parametrize("order", ORDERS)
def test_functions_of_libc_that_are_somebody_elses(job: Job, apps: Apps, order: str) -> None:
    others = apps.build("others_functions", "-shared", "-fPIC")
    began_ns = time.time_ns()
    write(job, apps, LD_PRELOAD=preload(order, others), SLICEWISE_SITE_MS="1")
    assert_counted(job, began_ns)


def test_kernel_without_an_object_of_its_own(job: Job, apps: Apps) -> None:
    none = apps.build("no_vdso", "-shared", "-fPIC")
    for clock in ("auto", "vdso"):
        job.spool_dir = job.folder / clock
        began_ns = time.time_ns()
        own = {"SLICEWISE_JOB": clock, "SLICEWISE_CLOCK": clock}
        write(job, apps, LD_PRELOAD=preload("behind", none), **own)
        assert_counted(job, began_ns)


def test_kernel_that_does_not_tell_the_time(job: Job, apps: Apps) -> None:
    """A filter of whoever started the program refuses the call: nothing is profiled, and nothing waits for ever."""
    program, none = apps.build("sandboxed"), apps.build("no_vdso", "-shared", "-fPIC")
    command = [program, "prctl", "errno", "clock_gettime", program, "prctl", "errno", "flock"]
    bare = job.run_plainly(command)
    ended = job.run_plainly(command, PRELOAD_LATER=preload("behind", none), timeout_seconds=30)
    assert (ended.status, ended.output) == (bare.status, bare.output)
    said = set(ended.errors.splitlines()) - set(bare.errors.splitlines())
    assert said == {"slicewise: not profiled: the kernel does not tell the time here"}
    assert not job.spool_dir.exists()
