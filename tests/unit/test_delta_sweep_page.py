"""The page of a sweep: a row and a section a panel, and the cause that its evidence names first."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
from slicewise.analysis.delta import RESOURCES_SCHEMA, DeltaGraph, delta_graph, who_gains
from slicewise.analysis.nodes.causes import EVIDENCE_SCHEMA, SIGNALS_SCHEMA, evidence
from slicewise.report.delta.delta_page import Panel, advantage, hints, sweep_page, sweep_table, verdict
from slicewise.report.page import html_of
from unit.test_delta import OFFSETS, jobs_of, times_by_shares, times_in_turn

NOTHING = pl.DataFrame(schema=EVIDENCE_SCHEMA)
NO_LEVELS = pl.DataFrame(schema=RESOURCES_SCHEMA)


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
