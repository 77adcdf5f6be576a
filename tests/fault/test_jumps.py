"""Signal handlers, exceptions and cancellation that leave the library's own frames and never come back."""

import subprocess
from pathlib import Path

import pytest
from support.programs import APPS, Apps, Ended, Job, calls, job_in, need, total

JUMPED = "counting_left"
# The least of so many runs each: what else the machine does only ever adds to a run.
RUNS = 3
SLOWER_AT_MOST = 1.5


def run(job: Job, apps: Apps, hertz: int, mode: str) -> Ended:
    ended = job.must_run([apps.build("jumps"), job.data / "file", "0.5", str(hertz), mode])
    return ended


@pytest.mark.parametrize("mode", ["return", "jump", "deep", "alternate"])
@pytest.mark.parametrize("hertz", [700, 5000])
def test_handlers_that_jump_lose_no_calls(job: Job, apps: Apps, hertz: int, mode: str) -> None:
    told = run(job, apps, hertz, mode).told
    profile = job.profile()
    mishaps = dict(profile.mishaps.select("mishap", "count").iter_rows())
    left = mishaps.pop(JUMPED, 0)
    assert mishaps == {}
    assert left <= (0 if mode == "return" else told["handled"])
    sure = told["returned"] + told["of_handler"]
    counted = calls(profile)["pwrite"]
    # A call that a handler jumped out of may have been made and counted, made and not counted, or not been made.
    jumped_out_of = 0 if mode == "return" else told["handled"]
    assert sure - left <= counted <= sure + jumped_out_of
    assert sure - left <= total(profile, "write_ops") <= sure + jumped_out_of
    assert profile.slices["threads"].max() == 1
    assert job.segments() == []


def test_handlers_that_jump_cost_no_more_than_those_that_return(tmp_path: Path, apps: Apps) -> None:
    cost: dict[str, list[float]] = {"return": [], "jump": []}
    for attempt in range(RUNS):
        for mode, costs in cost.items():
            folder = tmp_path / f"{mode}-{attempt}"
            folder.mkdir()
            with job_in(folder) as job:
                told = run(job, apps, 5000, mode).told
                costs.append(told["cpu_us"] / told["returned"])
    assert min(cost["jump"]) <= SLOWER_AT_MOST * min(cost["return"])


def test_exceptions_and_cancelled_threads(job: Job, tmp_path: Path) -> None:
    need("g++")
    program = tmp_path / "thrown"
    subprocess.run(["g++", "-O1", "-g", "-Wall", "-Werror", APPS / "thrown.cpp", "-o", program], check=True)
    assert (ended := job.run([program, job.data])).status == 0, ended.errors
    profile = job.profile()
    # Asynchronously, a thread may be cancelled in the middle of bookkeeping.
    assert set(profile.mishaps["mishap"]) <= {JUMPED}
    # Each of 100 cancelled threads wrote 5 bytes while its stack was unwound; then the first one wrote seven times.
    assert total(profile, "write_bytes") >= 100 * 5 + 7 * 10
    assert calls(profile)["pthread_create"] == 2 * 100
    assert job.segments() == []


@pytest.mark.parametrize("mode", ["yield", "preempt"])
def test_contexts_that_wander_from_thread_to_thread(job: Job, apps: Apps, mode: str) -> None:
    ended = job.must_run([apps.build("contexts", "-pthread"), job.data / "file", "0.5", mode], SLICEWISE_SLICE="0.1")
    profile = job.profile()
    mishaps = dict(profile.mishaps.select("mishap", "count").iter_rows())
    left = mishaps.pop(JUMPED, 0)
    assert mishaps == {}
    assert left <= ended.told["handled"]
    # A context that lost its thread in the middle of bookkeeping goes on later, over some of what was counted since.
    for counted in (calls(profile)["pwrite"], total(profile, "write_ops")):
        assert abs(counted - ended.told["returned"]) <= (0 if mode == "yield" else 0.01 * ended.told["returned"])
    assert job.segments() == []
