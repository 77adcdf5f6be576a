"""Campaigns of `slicewise storage benchmark`: which benchmark, its commands, what it prints, and when it ends."""

import itertools
from datetime import datetime, timezone

import pytest
from slicewise.analysis.expect.expectation import box_of
from slicewise.errors import UserError
from slicewise.io500 import results
from slicewise.io500.results import read_results
from slicewise.io500.texts import METADATA_PHASES, PHASES, Phase, Unreadable
from slicewise.running import benchmarks, expect_campaign
from slicewise.running.benchmarks import Programs, Size, choose, commands, ior_steps, load_steps
from slicewise.running.expect_campaign import CampaignPlan, run_campaign

ALL = Programs(["mpirun"], {"io500": "/b/io500", "ior": "/b/ior", "mdtest": "/b/mdtest", "load": "/b/slicewise-load"})
SIZE = Size(2, easy_mib=64, hard_transfers=400, files=100)
IOR_TABLE = """
access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     2048.00    2048.00    0.001000    8192       1024.00    0.000087   0.010651   0.000369   0.500000   0
"""
MDTEST_TABLE = """
   Operation                     Max            Min           Mean        Std Dev
   File creation                 0.000          0.000          0.000          0.000
   File stat                  4000.000       4000.000       4000.000          0.000
"""


def test_the_most_real_benchmark_that_is_there_is_chosen():
    assert choose(ALL, None) == "io500"
    without = Programs(["mpirun"], {name: path for name, path in ALL.paths.items() if name != "io500"})
    assert choose(without, None) == "ior"
    assert choose(without, "load") == "load"
    assert choose(Programs(["mpirun"], {"ior": "/b/ior", "load": "/b/load"}), None) == "load"
    with pytest.raises(UserError, match="needs io500 in PATH; install that, or give results that you have"):
        choose(without, "io500")
    with pytest.raises(UserError, match="io500 in PATH, or ior and mdtest in PATH, or slicewise-load"):
        choose(Programs(["mpirun"]), None)


def test_processes_with_words_of_their_own_are_one_job():
    assert commands(ALL, [["a", "b"]], 3) == ["mpirun", "-n", "3", "a", "b"]
    assert commands(ALL, [["a"], ["b"]], 2) == ["mpirun", "-n", "1", "a", ":", "-n", "1", "b"]


def test_ior_and_mdtest_give_every_phase(tmp_path):
    steps = ior_steps(ALL, SIZE, tmp_path, "posix")
    said = {"ior": IOR_TABLE, "mdtest": MDTEST_TABLE.replace("0.000", "8000.0", 1)}
    for what in ("File read", "File removal"):
        said["mdtest"] += f"   {what}  1000.000  1000.000\n"
    phases = [phase for step in steps for phase in step.read(said[step.words[0][0].rsplit("/", 1)[-1]], 1.0)]
    assert {phase.name for phase in phases} == set(PHASES)
    rates = {phase.name: (phase.rate, phase.seconds) for phase in phases}
    assert rates["ior-easy-write"] == (2.0, 0.5)
    assert rates["mdtest-easy-stat"] == (4.0, 0.05)


def test_the_workload_program_gives_both_axes(tmp_path):
    said = (
        "2 processes wrote 1073741824 bytes in 2.000 s: 512.00 MiB/s, in calls 2 s at most, 2 s in the mean, from 1.0\n"
    )
    phases = {phase.name: phase for step in load_steps(ALL, SIZE, tmp_path, "posix") for phase in step.read(said, 2.0)}
    assert phases["ior-hard-read"].rate == 0.5
    assert phases["mdtest-easy-write"].rate == pytest.approx(0.2)
    for kind in ("aggregate", "write", "read"):
        assert box_of(phases, kind).hard == (0.5, pytest.approx(0.2))
    with pytest.raises(UserError, match="ior-easy-write printed no result, and last: mpirun: no such host"):
        load_steps(ALL, SIZE, tmp_path, "posix")[0].read("mpirun: no such host\n", 1.0)


def test_sizes_are_fitted_to_the_time_of_a_phase():
    took = {"ior-easy-write": 0.5, "ior-easy-read": 0.1, "ior-hard-write": 4.0, "mdtest-hard-write": 0.25}
    phases = {name: Phase(name, 1.0, seconds) for name, seconds in took.items()}
    assert SIZE.fitted(phases, 2.0) == Size(2, easy_mib=256, hard_transfers=200, files=800)


def test_a_run_is_kept_with_its_label(tmp_path):
    phases = {name: Phase(name, 1.5, 2.0) for name in PHASES}
    start = read_results([tmp_path])
    assert start.runs == []
    run = results.OwnRun(phases, "POSIX", datetime.now(timezone.utc), "x (not IO500)", 2)
    (tmp_path / "run-01").mkdir()
    (tmp_path / "run-01" / results.RUN_FILE).write_text(results.run_text(run))
    (found,) = read_results([tmp_path]).runs
    assert (found.benchmark, found.processes, found.phases, found.start) == ("x (not IO500)", 2, phases, run.start)
    with pytest.raises(Unreadable, match="damaged"):
        results.read_run("{}")


def campaign(tmp_path, monkeypatch, rates, **changed):
    """A campaign whose programs say these rates, one after the other for ever."""
    said = itertools.cycle(rates)

    def one_run(*_):
        rate = next(said)
        hard = {name: Phase(name, rate / 2 if "hard" in name else rate, 0.1) for name in PHASES}
        return [benchmarks.Step([["x"]], lambda *_: list(hard.values()))]

    monkeypatch.setattr(benchmarks, "load_steps", one_run)
    monkeypatch.setattr(expect_campaign, "_output", lambda *_: "")
    plan = CampaignPlan(ALL, "load", SIZE, changed.get("seconds", 60), changed.get("most_runs", 20), "posix", 1)
    run_campaign(plan, tmp_path / "campaign", lambda _: None)
    return read_results([tmp_path / "campaign"]).runs


def test_a_campaign_ends_when_the_union_stops_growing(tmp_path, monkeypatch):
    runs = campaign(tmp_path, monkeypatch, [2.0])
    assert len(runs) == 4
    assert all(run.benchmark == "slicewise-load (not IO500)" for run in runs)
    assert set(METADATA_PHASES) <= set(runs[0].phases)
    assert not (tmp_path / "campaign" / "data").exists()


def test_a_campaign_ends_when_its_runs_are_used_up(tmp_path, monkeypatch):
    assert len(campaign(tmp_path, monkeypatch, [2.0**power for power in range(10)], most_runs=5)) == 5


def test_a_directory_with_other_files_is_refused(tmp_path, monkeypatch):
    (tmp_path / "campaign").mkdir()
    (tmp_path / "campaign" / "thesis.tex").write_text("")
    with pytest.raises(UserError, match=r"holds other files \(thesis.tex\)"):
        campaign(tmp_path, monkeypatch, [1.0])
