"""The plans of sweeps that are shipped: each is a plan, and its commands are ones that can be run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from slicewise.errors import UserError
from slicewise.running.delta_campaign import SweepPlan, read_plan, shipped_plans
from support.command_line import run_slicewise

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = set(re.findall(r"^    \"  (--[a-z-]+)", (ROOT / "workload/load.c").read_text(), re.MULTILINE))
NAMES = ("device", "network", "request", "servers", "sizes", "stripe", "writers")


def test_the_plans_of_the_paper_are_there():
    assert tuple(shipped_plans()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_plan_is_one(name):
    plan = read_plan(Path(name))
    assert len(plan.panels) >= 4
    for panel in plan.panels:
        assert panel.sweep
        assert panel.plan.offsets == [-40, -30, -20, -10, 0, 10, 20, 30, 40]
        for command in (panel.plan.a, panel.plan.b, panel.setup, panel.teardown):
            assert "{" not in command.replace("{start}", "")
            shlex.split(command)
        for command, name in ((panel.plan.a, "a"), (panel.plan.b, "b")):
            words = shlex.split(command)
            load = words[words.index("slicewise-load") + 1 :]
            assert {word for word in load if word.startswith("--")} <= OPTIONS
            assert name in re.split(r"[/-]", load[-1])
        assert panel.plan.a != panel.plan.b
        assert panel.plan.slice_seconds is not None
        for nodes, command in ((panel.plan.nodes_a, panel.plan.a), (panel.plan.nodes_b, panel.plan.b)):
            assert f"--host {nodes} " in command
        assert panel.plan.servers in {"root@server1", "server1"}


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_is_printed_as_it_is(name, tmp_path):
    """`slicewise study plan NAME > NAME.toml` is a file to adapt, and `-o` the same."""
    text = shipped_plans()[name].read_text()
    assert run_slicewise("study", "plan", name, directory=tmp_path).stdout == text
    assert run_slicewise("study", "plan", name, "-o", "it.toml", directory=tmp_path).returncode == 0
    assert (tmp_path / "it.toml").read_text() == text


def in_panel(plan: SweepPlan, name: str) -> list[str]:
    panel = next(panel for panel in plan.panels if panel.name == name)
    return [panel.plan.a, panel.plan.b, panel.setup]


def test_partitioned_servers_are_others_for_each_job():
    plan = read_plan(Path("servers"))
    assert "-o 0,1,2,3 /mnt/scratch/4-servers/b" in in_panel(plan, "4-servers")[2]
    assert "-o 0,1 /mnt/scratch/4-servers-partitioned/a" in in_panel(plan, "4-servers-partitioned")[2]
    assert "-o 2,3 /mnt/scratch/4-servers-partitioned/b" in in_panel(plan, "4-servers-partitioned")[2]


def test_settings_are_given_in_place_of_a_plans_own():
    plan = read_plan(Path("request"), {"directory": "/scratch/me", "processes": "4"})
    command = in_panel(plan, "request-64k-sync-on")[0]
    assert "-n 4 slicewise-load" in command
    assert command.endswith("--start-at {start} --remove /scratch/me/a")
    with pytest.raises(UserError, match="has no setting folder; it has directory, from, hosts_a"):
        read_plan(Path("request"), {"folder": "/scratch"})


def test_offsets_repeats_and_slices_are_given_likewise():
    given = {"from": "-2", "to": "2", "step": "2", "repeat": "3", "slice": "0.5"}
    for panel in read_plan(Path("request"), given).panels:
        assert panel.plan.offsets == [-2, 0, 2]
        assert (panel.plan.repeats, panel.plan.slice_seconds) == (3, 0.5)
    for text in ("x", "inf"):
        with pytest.raises(UserError, match=f"--set step={text}: is no number; give for instance step=5"):
            read_plan(Path("request"), {"step": text})


def test_a_panel_may_give_each_job_a_file_system_of_its_own():
    a, b, setup = in_panel(read_plan(Path("servers")), "file-system-each")
    assert a.endswith("/mnt/scratch/file-system-each/a/file")
    assert b.endswith("/mnt/scratch2/file-system-each/b/file")
    assert shlex.split(setup)[-2:] == ["/mnt/scratch/file-system-each/a", "/mnt/scratch2/file-system-each/b"]


def test_whom_collectors_sample_is_a_setting_of_every_plan(tmp_path):
    given = {"nodes_a": "", "servers": "oss1,oss2"}
    for panel in read_plan(Path("writers"), given).panels:
        assert (panel.plan.nodes_a, panel.plan.servers) == ("", "oss1,oss2")
        assert panel.plan.nodes_b.startswith("n3:")
    bare = tmp_path / "bare.toml"
    bare.write_text('a = "x"\nb = "y"\nfrom = 0\nto = 0\nstep = 1\n[[panel]]\nname = "one"\n')
    [panel] = read_plan(bare).panels
    assert (panel.plan.nodes_a, panel.plan.nodes_b, panel.plan.servers) == ("", "", "")
    assert read_plan(bare, {"servers": "oss1"}).panels[0].plan.servers == "oss1"
    bare.write_text(bare.read_text() + "servers = 1\n")
    with pytest.raises(UserError, match="panel one: servers is no list of nodes; give it as servers = 'HOST,HOST'"):
        read_plan(bare)
