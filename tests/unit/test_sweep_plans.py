"""The plans of sweeps that are shipped: each is a plan, and its commands are ones that can be run."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.delta import RESOURCES_SCHEMA, DeltaGraph, delta_graph, who_gains
from slicewise.analysis.nodes.causes import EVIDENCE_SCHEMA, SIGNALS_SCHEMA, evidence
from slicewise.errors import UserError
from slicewise.report.delta.delta_page import Panel, advantage, hints, sweep_page, sweep_table, verdict
from slicewise.report.page import html_of
from slicewise.running.delta_campaign import SweepPlan, read_plan, shipped_plans
from support.command_line import completed
from unit.test_delta import OFFSETS, jobs_of, times_by_shares, times_in_turn

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = set(re.findall(r"^    \"  (--[a-z-]+)", (ROOT / "workload/load.c").read_text(), re.MULTILINE))
NAMES = ("device", "network", "pairs", "request", "servers", "sizes", "stripe", "writers")
NOTHING = pl.DataFrame(schema=EVIDENCE_SCHEMA)
NO_LEVELS = pl.DataFrame(schema=RESOURCES_SCHEMA)


def test_the_plans_of_the_paper_are_there():
    assert tuple(shipped_plans()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_plan_is_one(name):
    plan = read_plan(Path(name))
    assert len(plan.panels) >= 4
    for panel in plan.panels:
        assert panel.sweep
        assert panel.plan.offsets == ([0] if name == "pairs" else [-40, -30, -20, -10, 0, 10, 20, 30, 40])
        for command in (panel.plan.a, panel.plan.b, panel.setup, panel.teardown):
            assert "{" not in command.replace("{start}", "")
            shlex.split(command)
        for command, job in ((panel.plan.a, "a"), (panel.plan.b, "b")):
            words = shlex.split(command)
            load = words[words.index("slicewise-load") + 1 :]
            assert {word for word in load if word.startswith("--")} <= OPTIONS
            assert job in re.split(r"[/-]", load[-1])
        assert panel.plan.a != panel.plan.b
        assert panel.plan.slice_seconds is not None
        for nodes, command in ((panel.plan.nodes_a, panel.plan.a), (panel.plan.nodes_b, panel.plan.b)):
            assert f"--host {nodes} " in command
        assert panel.plan.servers in {"root@server1", "server1"}


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_is_printed_as_it_is(name, tmp_path):
    """`slicewise study plan NAME > NAME.toml` is a file to adapt, and `-o` the same."""
    text = shipped_plans()[name].read_text()
    assert completed("study", "plan", name, directory=tmp_path).stdout == text
    assert completed("study", "plan", name, "-o", "it.toml", directory=tmp_path).returncode == 0
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


def signals(**values: float) -> pl.DataFrame:
    rows = [("n1", place, signal, value) for place in range(8) for signal, value in values.items()]
    return pl.DataFrame(rows, schema=SIGNALS_SCHEMA, orient="row")


def graphs() -> tuple[DeltaGraph, DeltaGraph]:
    return (
        delta_graph("memory", jobs_of(times_by_shares, OFFSETS[2:7])),
        delta_graph("disk", jobs_of(times_in_turn, OFFSETS[2:7])),
    )


def test_the_cause_is_what_is_at_its_limit_or_changed():
    fair, _ = graphs()
    calm = {"cpu_stall": 0.0, "disk_busy": 0.3}
    still = evidence(signals(**calm), signals(**calm))
    full = evidence(signals(cpu_stall=0.0, disk_busy=0.97), signals(cpu_stall=0.4, disk_busy=0.99))
    moved = evidence(signals(**calm), signals(cpu_stall=0.2, disk_busy=0.3))
    causes = [Panel("device", fair, found, NO_LEVELS, 0.1).cause for found in (NOTHING, still, full, moved)]
    assert causes == [None, None, "device", "client processors"]


def test_the_index_has_no_sign_and_the_words_have():
    _, unfair = graphs()
    assert who_gains(unfair.points, unfair.alone_seconds) == "first"
    assert verdict(unfair).endswith("who comes first wins (asymmetry index 1.00).")
    turned = replace(unfair, points=unfair.points.with_columns(dt=-pl.col("dt"), point=-pl.col("point")))
    assert who_gains(turned.points, turned.alone_seconds) == "second"
    assert verdict(turned).endswith("who comes second wins (asymmetry index 1.00).")


def test_what_lets_one_job_go_first_is_told_beside_what_both_compete_for():
    fair, unfair = graphs()
    windows = signals(disk_busy=0.97, tcp_zero_windows=40.0)
    found = evidence(windows, windows, unfair.asymmetry)
    assert Panel("device", unfair, found, NO_LEVELS, 0.1).cause == "device"
    assert advantage(unfair, found) == [
        "What may prefer the job that comes first is server and flow control: the server closed receive windows of "
        "connections, so that some wait while others send."
    ]
    assert advantage(fair, found) == []


def test_a_row_and_a_section_a_panel():
    fair, unfair = graphs()
    full = evidence(signals(disk_busy=0.97, tcp_timeouts=0.0), signals(disk_busy=0.99, tcp_timeouts=0.0))
    levels = pl.DataFrame(
        [
            (signal, run, dt, 0.98, 0.97)
            for signal in ("disk_busy", "cpu_stall")
            for run, dt in (("r1", -2.0), ("r2", 2.0))
        ],
        schema=RESOURCES_SCHEMA,
        orient="row",
    )
    panels = [Panel("device", fair, NOTHING, NO_LEVELS, 0.1), Panel("device", unfair, full, levels, 0.1)]
    rows = [[getattr(cell, "text", cell) for cell in row] for row in sweep_table(panels).rows]
    assert rows == [
        ["device", "memory", "0.00", "2.00", "2.00", "2.00", "none"],
        ["device", "disk", "1.00", "1.75", "2.00", "2.00", "device"],
    ]
    page = sweep_page("The device", panels, ["throttled"], ["A: saw 60 % of the bytes"])
    assert [section.heading for section in page.sections] == [
        "All panels", "device: memory", "device: disk", "Disk busy of disk",
    ]  # fmt: skip
    [table] = page.sections[2].tables
    assert [row[1].text for row in table.rows] == ["disk busy"]
    assert page.sentences == [
        "Whoever comes first gains most in disk: asymmetry 1.00.", "The device: 2 panels, a Delta-graph each."
    ]  # fmt: skip
    untold = Panel("device", replace(fair, asymmetry=None, asymmetry_reason="none"), NOTHING, NO_LEVELS, 0.1)
    assert sweep_page("The device", [*panels, untold], [], []).sentences[-1] == (
        "1 panel of 3 cannot tell who gains; sections say why."
    )
    assert sweep_page("The device", panels[:1], [], []).sentences[0] == (
        "Nobody gains much by coming first or second: asymmetry 0.00 at most, in memory."
    )
    assert list(page.unseen) == ["throttled: not recorded yet", "A: saw 60 % of the bytes"]
    assert "device: disk" in html_of(page)


def test_a_panel_of_short_jobs_says_so():
    fair, _ = graphs()
    alone = min(fair.alone_seconds.values())
    assert hints(Panel("device", fair, NOTHING, NO_LEVELS, alone / 6)) == []
    [said] = hints(Panel("device", fair, NOTHING, NO_LEVELS, alone / 4))
    assert said == (
        f"memory: a job alone takes {alone:.1f} s, which is less than 5 slices of {alone / 4:g} s: take a larger "
        "volume or shorter slices."
    )
    slow_alone = replace(fair, points=fair.points.with_columns(pl.col("interference") * 0.5))
    [said] = hints(Panel("device", slow_alone, NOTHING, NO_LEVELS, alone / 6))
    assert said.startswith("memory: at ")
    assert "something else probably slowed the standalone run down" in said
    spread = replace(fair, points=fair.points.with_columns(pl.col("dt", "point") * 10))
    [said] = hints(Panel("device", spread, NOTHING, NO_LEVELS, alone / 6))
    assert said.startswith("memory: the jobs meet at 1 of 5 offsets, since the first one has ended")
