"""The plans of sweeps that are shipped: each is a plan, and its commands are ones that can be run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from slicewise.errors import UserError
from slicewise.running.delta_sweep import SweepPlan, read_plan, shipped_plans

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
    with pytest.raises(UserError, match="has no setting folder; it has directory, hosts_a"):
        read_plan(Path("request"), {"folder": "/scratch"})
