"""Time that jobs waited for their turn: in which slices it was, and that it is no time of any call."""

import subprocess
import time
from pathlib import Path

import polars as pl
from slicewise.profile.reader import Profile, read_profile
from support.command_line import slicewise_command
from support.coordination import Coordinator, coordinator, start_burst
from support.programs import BUILD, ROOT, Apps, Job

SLICE_SECONDS = 0.2


def settings_of(service: Coordinator) -> dict[str, str]:
    return {"SLICEWISE_COORDINATE_AT": service.address, "SLICEWISE_SLICE": str(SLICE_SECONDS)}


def start_two(job: Job, apps: Apps, service: Coordinator) -> tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]:
    """One that has its turn for a second and more, and one that waits for it."""
    program = apps.build("burst")
    first = start_burst(job, program, "first", 24, 60, **settings_of(service))
    service.await_event("authorise")
    second = start_burst(job, program, "second", 6, 0, **settings_of(service))
    service.await_two_jobs()
    return first, second


def assert_adds_up(profile: Profile) -> pl.DataFrame:
    """That the slices have all that the process has, and none more than it is long. Returns them."""
    (process,) = profile.processes.select("waited_ns", "waits").to_dicts()
    slices = profile.waits.group_by("slice").agg(pl.col("waited_ns", "waits").sum()).sort("slice")
    assert slices["waited_ns"].sum() == process["waited_ns"]
    assert slices["waits"].sum() == process["waits"]
    assert slices["waited_ns"].max() <= SLICE_SECONDS * 1e9
    return slices


def test_a_wait_of_several_slices(job: Job, apps: Apps, tmp_path: Path) -> None:
    with coordinator(tmp_path, "--policy", "fcfs") as service:
        began_ns = time.time_ns()
        first, second = start_two(job, apps, service)
        assert [second.wait(60), first.wait(60)] == [0, 0]
        ended_ns = time.time_ns()
        events = service.events()
    profile = read_profile(job.folder / "second")
    slices = assert_adds_up(profile)
    slice_ns = int(SLICE_SECONDS * 1e9)
    whole = slices.filter(pl.col("waited_ns") == slice_ns)
    assert len(whole) >= 2
    assert began_ns // slice_ns <= slices["slice"].min() <= slices["slice"].max() <= ended_ns // slice_ns
    waiting = set(whole["slice"])
    assert profile.slices.filter((pl.col("layer") == "posix") & pl.col("slice").is_in(waiting)).is_empty()
    asked, told = (
        next(entry["time_seconds"] for entry in events if entry["event"] == event and entry["job"] == 2)
        for event in ("inform", "authorise")
    )
    waited_ns = profile.processes["waited_ns"].item()
    assert abs(waited_ns / 1e9 - (told - asked)) < 0.05
    assert profile.slices["write_ns"].sum() < waited_ns / 2
    blamed = slicewise_command("blame", job.folder / "second", job.folder / "first").text
    assert "waited" in blamed.splitlines()[0]
    assert "for its turn while first had it" in blamed.splitlines()[0]


def test_killed_in_the_middle_of_a_wait(job: Job, apps: Apps, tmp_path: Path) -> None:
    with coordinator(tmp_path, "--policy", "fcfs") as service:
        first, second = start_two(job, apps, service)
        asked = time.monotonic()
        time.sleep(0.8)
        second.kill()
        waited_most = time.monotonic() - asked + 0.1
        second.wait()
        first.kill()
        first.wait()
    recovered = job.recover(job.folder / "second")
    assert (recovered.returncode, recovered.stderr) == (0, "")
    profile = read_profile(job.folder / "second")
    assert profile.processes["ending"].to_list() == ["killed"]
    slices = assert_adds_up(profile)
    assert slices["waits"].sum() == 1
    assert 0.5 < slices["waited_ns"].sum() / 1e9 < waited_most
    assert profile.processes["end_ns"].item() >= slices["slice"].max() * SLICE_SECONDS * 1e9


def test_by_calls_of_the_programs_own(job: Job, apps: Apps, tmp_path: Path) -> None:
    library = BUILD / "lib"
    program = apps.build(
        "turns", f"-I{ROOT / 'interface'}", f"-L{library}", "-lslicewise-coordinate", f"-Wl,-rpath,{library}"
    )
    with coordinator(tmp_path, "--policy", "fcfs") as service:
        first = start_burst(job, apps.build("burst"), "first", 16, 60, **settings_of(service))
        service.await_event("authorise")
        done = job.run([program, "own"], **settings_of(service))
        first.wait(60)
    assert (done.status, done.errors) == (0, "")
    profile = job.profile()
    assert assert_adds_up(profile)["waited_ns"].sum() == round(float(done.output) * 1e9) > 0.3e9
