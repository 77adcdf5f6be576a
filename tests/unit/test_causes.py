"""Evidence for causes of interference: what moved is named first, and nothing is asserted without proof."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
import pytest
from slicewise.analysis.causes import (
    FLOW_CONTROL,
    SIGNALS_SCHEMA,
    evidence,
    evidence_of,
    node_signals,
    request_signals,
    window_of,
)
from slicewise.profile.reader import Profile
from slicewise.report.evidence import evidence_table, evidence_words
from support.tabled_jobs import EPOCH, TAU_NS, write_job

ALONE, TOGETHER = range(100, 110), range(110, 120)
NS = 1_000_000_000


def signals(slices: range, **values: float) -> pl.DataFrame:
    rows = [("n1", place, signal, value) for place in slices for signal, value in values.items()]
    return pl.DataFrame(rows, schema=SIGNALS_SCHEMA, orient="row")


def counted(table: pl.DataFrame) -> list[str]:
    return table.filter("counts")["cause"].unique(maintain_order=True).to_list()


def test_what_moved_most_comes_first():
    quiet = {"processor_stall": 0.01, "device_busy": 0.3, "retransmissions": 0.0, "zero_windows": 0.0}
    busy = quiet | {"device_busy": 0.95, "processor_stall": 0.09}
    table = evidence(signals(ALONE, **quiet), signals(TOGETHER, **busy))
    assert counted(table) == ["device", "client processors"]
    assert table["cause"].to_list()[:2] == ["device", "client processors"]
    row = table.row(0, named=True)
    assert (row["alone"], row["together"], row["change"]) == pytest.approx((0.3, 0.95, 0.65))
    assert set(table.filter(~pl.col("moved"))["signal"]) == {"retransmissions", "zero_windows"}


@pytest.mark.parametrize(
    ("asymmetry", "zero_windows", "is_flow_control"),
    [(0.9, 40.0, True), (0.1, 40.0, False), (None, 40.0, False), (0.9, 0.0, False)],
)
def test_flow_control_needs_asymmetry_and_closed_windows(asymmetry, zero_windows, is_flow_control):
    alone = signals(ALONE, zero_windows=0.0, retransmissions=0.0)
    together = signals(TOGETHER, zero_windows=zero_windows, retransmissions=0.0)
    table = evidence(alone, together, asymmetry)
    assert (FLOW_CONTROL in counted(table)) == is_flow_control
    assert table.filter(pl.col("signal") == "zero_windows")["moved"].item() == (zero_windows > 0)
    said = evidence_words(table)
    assert ("moved for: server and flow control" in said) == is_flow_control
    assert said.startswith("Zero windows moved, which") == (zero_windows > 0 and not is_flow_control)


def test_closed_windows_beside_a_cause():
    alone = signals(ALONE, zero_windows=0.0, device_busy=0.3)
    said = evidence_words(evidence(alone, signals(TOGETHER, zero_windows=40.0, device_busy=0.95)))
    assert "moved for: device." in said
    assert "Zero windows moved too, which" in said


def test_noise_is_no_evidence():
    alone = pl.concat([signals(range(k, k + 1), device_busy=0.2 + 0.3 * (k % 2)) for k in ALONE])
    together = signals(TOGETHER, device_busy=0.6)
    assert counted(evidence(alone, together)) == []


def test_signals_of_the_collectors_tables():
    tables = {
        "nodes": pl.DataFrame({"process": [9], "host": ["n1"]}),
        "node_slices": pl.DataFrame(
            {"process": [9], "slice": [100], "sampled_ns": [2 * NS], "cpu_stall_ns": [NS], "memory_stall_ns": [0]}
            | {"tcp_sent_segments": [1000], "tcp_retransmissions": [20], "tcp_timeouts": [4]}
            | {"tcp_to_zero_window": [6], "tcp_from_zero_window": [4], "tcp_want_zero_window": [2]}
        ),
        "node_networks": pl.DataFrame(
            {"process": [9, 9], "slice": [100, 100], "device": [1, 2], "received_bytes": [10, 20]}
            | {"sent_bytes": [30, 40], "received_drops": [1, 0], "sent_drops": [0, 1]}
            | {"received_errors": [0, 0], "sent_errors": [0, 2]}
        ),
        "node_blocks": pl.DataFrame(
            {"process": [9, 9], "slice": [100, 100], "device": [3, 4], "busy_ns": [NS, 2 * NS], "read_ops": [0, 1]}
            | {"write_ops": [10, 3], "read_ns": [0, NS], "write_ns": [NS, NS]}
        ),
    }
    found = {row["signal"]: row["value"] for row in node_signals(tables).iter_rows(named=True)}
    assert found == pytest.approx(
        {"processor_stall": 0.5, "memory_stall": 0, "retransmissions": 0.02, "zero_windows": 6, "tcp_timeouts": 2}
        | {"interface_drops": 2, "interface_bytes": 50, "device_busy": 1, "device_time": 0.5}
    )
    assert node_signals({}).is_empty()


def test_signals_of_requests():
    slices = pl.DataFrame({"node": ["n1", "n1"], "slice": [1, 2], "calls": [100, 4], "bytes": [100 << 10, 4 << 20]})
    files = pl.DataFrame({"process": [1, 2, 3], "path": ["/a", "/a", "/b"], "bytes": [20, 10, 10]})
    found = request_signals(slices, files, 2.0)
    assert found.filter(pl.col("signal") == "small_requests")["value"].to_list() == [50, 0]
    assert found.filter(pl.col("signal") == "shared_file")["value"].to_list() == [1.75, 1.75]


@dataclass(frozen=True)
class WithNodes:
    """A profile that has a collector's tables."""

    profile: Profile
    nodes: pl.DataFrame
    node_slices: pl.DataFrame

    def __getattr__(self, name: str) -> object:
        if name.startswith("node_"):
            raise AttributeError(name)
        return getattr(self.profile, name)


def with_nodes(profile: Profile, stall_ns: int) -> WithNodes:
    slices = [EPOCH + place for place in range(-1, 4)]
    nodes = pl.DataFrame({"process": [9], "host": ["n1"], "slice_ns": [TAU_NS]})
    zero = dict.fromkeys(("memory_stall_ns", "tcp_sent_segments", "tcp_retransmissions", "tcp_timeouts"), 0)
    zero |= {f"tcp_{way}_zero_window": 0 for way in ("to", "from", "want")}
    rows = [{"process": 9, "slice": place, "sampled_ns": TAU_NS, "cpu_stall_ns": stall_ns} | zero for place in slices]
    # Outside of the window nothing counts.
    rows[0]["cpu_stall_ns"] = TAU_NS
    return WithNodes(profile, nodes, pl.DataFrame(rows))


def test_evidence_of_profiles(tmp_path):
    profile = write_job(tmp_path / "job", [[4, 4, 4]])
    assert evidence_of([window_of(profile)], [window_of(profile)]).is_empty()
    calm, busy = with_nodes(profile, 0), with_nodes(profile, TAU_NS // 2)
    table = evidence_of([window_of(calm)], [window_of(busy)])
    assert counted(table) == ["client processors"]
    assert table.row(0, named=True)["together"] == pytest.approx(0.5)
    assert {"small_requests", "shared_file"} <= set(table["signal"])
    assert "moved for: client processors" in evidence_words(table)
    assert len(evidence_table(table).rows) == len(table)
