"""Processes and threads: how they begin and end, and that each one's calls are counted once, as its own."""

import polars as pl
import pytest
from slicewise.profile.reader import Profile
from support.oracle import doors_of, trace
from support.programs import Apps, Job, calls, total
from support.waiting import wait_until

ORDERLY = {
    "return": "exit", "exit": "exit", "quick_exit": "exit", "_exit": "underscore_exit", "_Exit": "underscore_exit",
    "by_number": "underscore_exit",
}  # fmt: skip
SUDDEN = {"abort": -6, "fault": -11, "term": -15, "kill": -9, "bare": 3}


def written_by_process(profile: Profile) -> pl.DataFrame:
    """pid, parent, ending, bytes and calls written, one row a process in the order of their start."""
    written = (
        profile.slices.filter(pl.col("layer") == "posix")
        .group_by("process")
        .agg(pl.col("write_bytes", "write_ops").sum())
    )
    rows = profile.processes.join(written, on="process", how="left").sort("start_ns")
    return rows.select("pid", "parent", "ending", "write_bytes", "write_ops")


def test_family(job: Job, apps: Apps) -> None:
    command = [apps.build("life_family"), job.data]
    seen, _ = trace(job, command)
    profile = job.profiled(command)
    assert doors_of(calls(profile)) == seen.doors()
    assert total(profile, "write_bytes", obj="file") == seen.bytes_written()
    first, child, grandchild = written_by_process(profile).to_dicts()
    assert (first["write_bytes"], first["write_ops"], first["ending"]) == (1000 + 1 + 5 + 4, 4, "exit")
    assert (child["write_bytes"], child["ending"], child["parent"]) == (202, "exit", first["pid"])
    assert (grandchild["write_bytes"], grandchild["ending"]) == (30, "underscore_exit")
    assert grandchild["parent"] == child["pid"]
    assert calls(profile)["fork"] == 2
    assert job.segments() == []


def test_programs_started(job: Job, apps: Apps) -> None:
    job.must_run([apps.build("life_spawn"), apps.build("life_start"), "after"])
    rows = written_by_process(job.profile())
    assert rows.filter(pl.col("write_bytes") == 50).height == 1
    assert rows.filter(pl.col("write_bytes") == 200).height == 4
    assert rows.filter(pl.col("ending") == "killed").is_empty()
    assert job.segments() == []


@pytest.mark.parametrize("way", ORDERLY)
def test_orderly_ending(job: Job, apps: Apps, way: str) -> None:
    assert job.run([apps.build("life_ending"), way]).status == 3
    assert written_by_process(job.profile()).select("ending", "write_bytes").rows() == [(ORDERLY[way], 300)]
    assert job.segments() == []


@pytest.mark.parametrize("way", SUDDEN)
def test_sudden_ending(job: Job, apps: Apps, way: str) -> None:
    ended = job.run([apps.build("life_ending"), way])
    assert (ended.status, ended.errors) == (SUDDEN[way], "")
    assert len(job.segments()) == 1
    job.must_recover(job.spool_dir)
    profile = job.profile()
    assert written_by_process(profile).select("ending", "write_bytes", "write_ops").rows() == [("killed", 300, 3)]
    assert calls(profile) == {"open": 1, "write": 3}
    assert job.segments() == []


def test_threads(job: Job, apps: Apps) -> None:
    profile = job.profiled([apps.build("life_threads", "-pthread"), "8"])
    assert total(profile, "write_bytes", obj="file") == 8 * 1000 + 1 + 2 + 3
    assert total(profile, "write_ops", obj="file") == 8 * 10 + 3
    assert profile.processes["ending"].to_list() == ["exit"]
    if profile.slices["slice"].n_unique() == 1:
        assert total(profile, "threads", obj="file") == 1 + 8 + 3


def test_signal_handler_that_writes(job: Job, apps: Apps) -> None:
    writes = 20_000
    ended = job.must_run([apps.build("life_signals"), str(writes)], SLICEWISE_SLICE="0.1")
    handled = ended.told["handled"]
    assert handled > 100
    profile = job.profile()
    assert calls(profile)["pwrite"] == writes + handled
    assert total(profile, "write_ops", obj="file") == writes + handled
    assert total(profile, "write_bytes", obj="file") == 10 * writes + handled
    by_file = dict(profile.files.select("path", "write_ops").iter_rows())
    assert by_file[str(job.data / "thread")] == writes
    assert by_file[str(job.data / "handler")] == handled


def test_before_main_and_after(job: Job, apps: Apps) -> None:
    profile = job.profiled([apps.build("life_early_and_late")])
    # All but the 1 of .preinit_array: libc itself has not started there, and has no environment to find settings in.
    assert total(profile, "write_bytes", obj="file") == 2 + 4 + 8 + 16
    assert calls(profile) == {"open": 4, "write": 4, "close": 4}


def test_constructor_that_runs_before_ours(job: Job, apps: Apps) -> None:
    """Its first call lasts as long as it took, in the slice in which it was."""
    library = apps.build("life_first", "-DFIRST", "-shared", "-fPIC")
    program = apps.build("life_first", str(library), f"-Wl,-rpath,{library.parent}")
    profile = job.profiled([program])
    assert calls(profile) == {"open": 2, "read": 2, "close": 2}
    begin, end, slice_ns = profile.processes.select("start_ns", "end_ns", "slice_ns").row(0)
    assert set(profile.slices["slice"]) <= set(range(begin // slice_ns, end // slice_ns + 1))
    assert total(profile, "meta_slowest_ns") <= end - begin


def test_library_opened_while_running(job: Job, apps: Apps) -> None:
    plug_in = apps.build("life_plug_in", "-DPLUG_IN", "-shared", "-fPIC")
    job.must_run([apps.build("life_plug_in"), plug_in])
    assert total(job.profile(), "write_bytes", obj="file") == 10 + 200 + 3000


def test_child_that_outlives_its_parents(job: Job) -> None:
    """A daemon: the first process of the job, which named it, is gone when the child still writes."""
    script = "(trap '' HUP; sleep 0.3; echo late > late; touch done) < /dev/null > /dev/null 2>&1 & echo early > early"
    assert job.run(["setsid", "bash", "-c", script], SLICEWISE_JOB="").status == 0
    wait_until(lambda: (job.data / "done").exists() and not job.segments())
    (job.spool_dir,) = job.folder.glob("*-[0-9]*")
    profile = job.profile()
    written = dict(profile.files.group_by("path").agg(pl.col("write_bytes").sum()).iter_rows())
    assert {written[str(job.data / name)] for name in ("early", "late")} == {len("early\n"), len("late\n")}
