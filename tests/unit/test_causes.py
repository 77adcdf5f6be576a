"""Evidence for causes of interference: what moved is named first, and nothing is asserted without proof."""

from __future__ import annotations

import polars as pl
import pytest
from slicewise.analysis.causes import FLOW_CONTROL, SIGNALS_SCHEMA, evidence, node_signals, request_signals

ALONE, TOGETHER = range(100, 110), range(110, 120)
NS = 1_000_000_000


def signals(slices: range, **values: float) -> pl.DataFrame:
    rows = [("n1", place, signal, value) for place in slices for signal, value in values.items()]
    return pl.DataFrame(rows, schema=SIGNALS_SCHEMA, orient="row")


def moved(table: pl.DataFrame) -> list[str]:
    return table.filter("moved")["cause"].unique(maintain_order=True).to_list()


def test_what_moved_most_comes_first():
    quiet = {"processor_stall": 0.01, "device_busy": 0.3, "retransmissions": 0.0, "zero_windows": 0.0}
    busy = quiet | {"device_busy": 0.95, "processor_stall": 0.09}
    table = evidence(signals(ALONE, **quiet), signals(TOGETHER, **busy))
    assert moved(table) == ["device", "client processors"]
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
    assert (FLOW_CONTROL in moved(evidence(alone, together, asymmetry))) == is_flow_control


def test_noise_is_no_evidence():
    alone = pl.concat([signals(range(k, k + 1), device_busy=0.2 + 0.3 * (k % 2)) for k in ALONE])
    together = signals(TOGETHER, device_busy=0.6)
    assert moved(evidence(alone, together)) == []


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
    files = pl.DataFrame({"process": [1, 2, 3], "path": ["/a", "/a", "/b"], "write_bytes": [1, 1, 1]})
    found = request_signals(slices, files, "write", 2.0)
    assert found.filter(pl.col("signal") == "small_requests")["value"].to_list() == [50, 0]
    assert found.filter(pl.col("signal") == "shared_file")["value"].to_list() == [2, 2]
