"""Evidence for causes of interference: what moved is named first, and nothing is asserted without proof."""

from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.delta import resources_by_offset
from slicewise.analysis.nodes.causes import (
    EVIDENCE,
    FLOW_CONTROL,
    SIGNALS_SCHEMA,
    evidence,
    evidence_of,
    node_signals,
    preferring,
    request_signals,
    window_of,
)
from slicewise.charts.delta import resource
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from slicewise.report.nodes.evidence import evidence_table, evidence_words
from support.swz import build_profile
from support.tabled_jobs import EPOCH, TAU_NS, write_job

ALONE, TOGETHER = range(100, 110), range(110, 120)
NS = 1_000_000_000


def signals(slices: range, **values: float) -> pl.DataFrame:
    rows = [("n1", place, signal, value) for place in slices for signal, value in values.items()]
    return pl.DataFrame(rows, schema=SIGNALS_SCHEMA, orient="row")


def counted(table: pl.DataFrame) -> list[str]:
    return table.filter("counts")["cause"].unique(maintain_order=True).to_list()


def test_what_moved_most_comes_first():
    quiet = {"cpu_stall": 0.01, "disk_busy": 0.3, "tcp_retransmissions": 0.0, "tcp_zero_windows": 0.0}
    busy = quiet | {"disk_busy": 0.95, "cpu_stall": 0.09}
    table = evidence(signals(ALONE, **quiet), signals(TOGETHER, **busy))
    assert counted(table) == ["device", "client processors"]
    assert table["cause"].to_list()[:2] == ["device", "client processors"]
    row = table.row(0, named=True)
    assert (row["alone"], row["together"], row["change"]) == pytest.approx((0.3, 0.95, 0.65))
    assert set(table.filter(~pl.col("moved"))["signal"]) == {"tcp_retransmissions", "tcp_zero_windows"}


@pytest.mark.parametrize(
    ("asymmetry", "zero_windows", "is_flow_control"),
    [(0.9, 40.0, True), (0.1, 40.0, False), (None, 40.0, False), (0.9, 0.0, False)],
)
def test_flow_control_needs_asymmetry_and_closed_windows(asymmetry, zero_windows, is_flow_control):
    alone = signals(ALONE, tcp_zero_windows=0.0, tcp_retransmissions=0.0)
    together = signals(TOGETHER, tcp_zero_windows=zero_windows, tcp_retransmissions=0.0)
    table = evidence(alone, together, asymmetry)
    assert (FLOW_CONTROL in counted(table)) == is_flow_control
    assert table.filter(pl.col("signal") == "tcp_zero_windows")["moved"].item() == (zero_windows > 0)
    said = evidence_words(table)
    assert ("changed for: server and flow control" in said) == is_flow_control
    assert ("TCP zero windows moved, which" in said) == (zero_windows > 0 and not is_flow_control)


def test_closed_windows_beside_a_cause():
    alone = signals(ALONE, tcp_zero_windows=0.0, disk_busy=0.3)
    said = evidence_words(evidence(alone, signals(TOGETHER, tcp_zero_windows=40.0, disk_busy=0.95)))
    assert "changed for: device." in said
    assert "TCP zero windows moved too, which" in said


def test_what_is_full_alone_is_named_though_it_does_not_move():
    """Windows closed 151 times a second alone and 98 together: less, and still what the jobs compete for."""
    calm = {"cpu_stall": 0.05, "disk_busy": 0.1, "network_sent": 1e6}
    alone, together = signals(ALONE, tcp_zero_windows=151.0, **calm), signals(TOGETHER, tcp_zero_windows=98.0, **calm)
    table = evidence(alone, together, 0.01)
    assert counted(table) == []
    assert table.filter("full")["signal"].to_list() == ["tcp_zero_windows"]
    assert table["cause"][0] == FLOW_CONTROL
    assert evidence_words(table) == (
        "At its limit alone and together, so that it need not have changed: server and flow control (TCP zero windows: "
        "151/s alone and 98.0/s together; the limit is 10.0/s). No node counter (CPU, network, disk) changed compared "
        "with the standalone runs."
    )
    limits = {row[1].text: row[-1].text for row in evidence_table(table).rows}
    assert limits == {"TCP zero windows": "yes", "CPU stall": "no", "disk busy": "no", "network sent": ""}


@pytest.mark.parametrize(
    ("alone", "together", "said"), [(0.847, 0.767, "nearly"), (0.847, 0.7, "no"), (0.7, 0.767, "no")]
)
def test_what_was_full_alone_is_still_full_where_it_is_nearly_so(alone, together, said):
    """A link of 100 Mbit/s, whose jobs have more slices that they begin or end in beside each other."""
    table = evidence(
        signals(ALONE, connection_network_limited=alone), signals(TOGETHER, connection_network_limited=together)
    )
    assert evidence_table(table).rows[0][-1].text == said
    assert table["full"].item() == (said == "nearly")
    assert ("At its limit alone, and nearly so together: link" in evidence_words(table)) == (said == "nearly")


@pytest.mark.parametrize(
    ("own", "asymmetry", "cause"),
    [
        ({"disk_busy": 0.97, "tcp_zero_windows": 40.0}, 0.8, "server and flow control"),
        ({"disk_busy": 0.97, "tcp_zero_windows": 40.0}, 0.1, None),
        ({"disk_busy": 0.97, "tcp_zero_windows": 40.0}, None, None),
        ({"disk_busy": 0.97, "tcp_zero_windows": 0.0}, 0.8, None),
        ({"tcp_timeouts": 5.0, "connection_network_limited": 0.9}, 0.8, "incast"),
        ({"tcp_timeouts": 0.0, "connection_network_limited": 0.9}, 0.8, "link"),
    ],
)
def test_what_prefers_one_job_need_not_be_what_both_compete_for(own, asymmetry, cause):
    table = evidence(signals(ALONE, **own), signals(TOGETHER, **own), asymmetry)
    assert preferring(table, asymmetry) == cause


def test_segments_that_are_sent_again_alone_prefer_nobody():
    """Equal jobs that sync at the end on a slow disk: who comes second gains, and no connection waited for a timer."""
    calm = {"tcp_timeouts": 0.0, "tcp_zero_windows": 0.0}
    alone = signals(ALONE, tcp_resent_share=0.0, tcp_retransmissions=0.1, connection_network_limited=0.362, **calm)
    again = {"tcp_resent_share": 0.0103, "tcp_retransmissions": 40.6, "connection_network_limited": 0.395}
    table = evidence(alone, signals(TOGETHER, **again, **calm), 0.33)
    assert set(counted(table)) >= {"incast", "link"}
    assert preferring(table, 0.33) is None


def test_what_is_full_comes_before_what_moved():
    alone = signals(ALONE, cpu_stall=0.0, disk_busy=0.97)
    table = evidence(alone, signals(TOGETHER, cpu_stall=0.4, disk_busy=0.99))
    assert table["cause"].to_list() == ["device", "client processors"]
    assert counted(table) == ["client processors"]


@pytest.mark.parametrize(
    ("cause", "own"),
    [
        ("device", {"disk_busy": 0.97, "server_cpu_stall": 0.6, "connection_window_limited": 0.9}),
        ("server processors", {"server_cpu_stall": 0.9, "connection_window_limited": 0.95, "tcp_zero_windows": 300.0}),
        ("incast", {"tcp_resent_share": 0.1, "tcp_timeouts": 5.0, "connection_network_limited": 0.95}),
        ("client processors", {"cpu_stall": 0.8, "connection_network_limited": 0.1}),
        ("link", {"connection_network_limited": 0.97, "connection_window_limited": 0.0}),
        (FLOW_CONTROL, {"connection_window_limited": 0.9, "server_cpu_stall": 0.1, "disk_busy": 0.2}),
    ],
)
def test_what_explains_the_others_is_named_first(cause, own):
    """All of it alone as well: a resource that one job fills does not move."""
    table = evidence(signals(ALONE, **own), signals(TOGETHER, **own))
    assert table["cause"][0] == cause
    assert table.row(0, named=True)["full"]


def test_noise_is_no_evidence():
    alone = pl.concat([signals(range(k, k + 1), disk_busy=0.2 + 0.3 * (k % 2)) for k in ALONE])
    together = signals(TOGETHER, disk_busy=0.6)
    assert counted(evidence(alone, together)) == []


def test_signals_of_the_collectors_tables(tmp_path):
    """Interfaces of a node add up, of its disks the busiest counts, and what was sampled and did not move is 0."""
    digest = with_nodes(
        tmp_path / "job",
        [{"slice": EPOCH, "sampled_ns": 2 * NS, "cpu_stall_ns": NS, "tcp_retransmissions": 20, "tcp_timeouts": 4}
         | {"tcp_sent_segments": 400}
         | {"tcp_to_zero_window": 4, "tcp_from_zero_window": 2}],
        node_devices=[{"device": n, "kind": "network" if n < 2 else "block", "name": f"d{n}"} for n in range(4)],
        node_networks=[{"slice": EPOCH, "device": 0, "received_bytes": 10, "sent_drops": 1},
                       {"slice": EPOCH, "device": 1, "received_bytes": 20, "received_errors": 3}],
        node_blocks=[{"slice": EPOCH, "device": 2, "busy_ns": NS, "write_ops": 10, "write_ns": NS},
                     {"slice": EPOCH, "device": 3, "busy_ns": 2 * NS, "write_ops": 4, "write_ns": 2 * NS}],
    )  # fmt: skip
    found = {row["signal"]: row["value"] for row in node_signals(digest).iter_rows(named=True)}
    assert found == pytest.approx(
        {"cpu_stall": 0.5, "memory_stall": 0, "tcp_retransmissions": 10, "tcp_zero_windows": 3, "tcp_timeouts": 2}
        | {"network_drops": 2, "network_received": 15, "tcp_resent_share": 20 / 420}
        | {"network_sent": 0, "disk_busy": 1, "disk_request": 0.5}
    )


def test_signals_of_requests():
    slices = pl.DataFrame({"node": ["n1", "n1"], "slice": [1, 2], "calls": [100, 4], "bytes": [100 << 10, 4 << 20]})
    files = pl.DataFrame({"process": [1, 2, 3], "path": ["/a", "/a", "/b"], "bytes": [20, 10, 10]})
    found = request_signals(slices, files, 2.0)
    assert found.filter(pl.col("signal") == "small_requests")["value"].to_list() == [50, 0]
    assert found.filter(pl.col("signal") == "shared_file")["value"].to_list() == [1.75, 1.75]


def test_a_server_is_a_node_without_processes_of_the_job(tmp_path):
    rows = [{"slice": EPOCH, "sampled_ns": 2 * NS, "cpu_stall_ns": NS}]
    device = [{"device": 0, "kind": "network", "name": "eth0"}]
    sent = [{"slice": EPOCH, "device": 0, "sent_bytes": 10}]
    digest = with_nodes(tmp_path / "job", rows, host="server", node_devices=device, node_networks=sent)
    found = {row["signal"]: row["value"] for row in node_signals(digest).iter_rows(named=True)}
    assert found["server_cpu_stall"] == pytest.approx(0.5)
    assert not {"cpu_stall", "memory_stall", "network_sent"} & set(found)


def test_a_node_on_which_only_a_launcher_ran_is_neither_client_nor_server(tmp_path):
    """mpirun waits on a node of its own: what others did there says nothing of a file server."""
    span = {"start_ns": EPOCH * TAU_NS, "end_ns": (EPOCH + 3) * TAU_NS}
    processes = [{"process": 1} | span, {"process": 2, "host": "login"} | span]
    slices = [{"process": 1, "slice": EPOCH + place, "write_bytes": 4 << 20, "write_ops": 1} for place in range(3)]
    rows = [{"process": 9, "slice": EPOCH, "sampled_ns": TAU_NS, "cpu_stall_ns": TAU_NS}]
    collected = {"nodes": [{"process": 9, "host": "login", "slice_ns": TAU_NS}], "node_slices": rows}
    digest = Digest(read_profile(build_profile(tmp_path / "job", processes, slices, collected=collected)))
    assert set(digest.node_samples["node"]) == {"login"}
    assert node_signals(digest).is_empty()


def test_a_window_is_from_the_first_to_the_last_slice_of_the_jobs_io(tmp_path):
    """A trickle before and after is none of it, and a pause within it is."""
    window = window_of(write_job(tmp_path / "job", [[0.01, 4, 0, 4, 0.01]]))
    assert (window.start_ns, window.end_ns) == ((EPOCH + 1) * TAU_NS, (EPOCH + 4) * TAU_NS)


def with_nodes(directory: Path, node_slices: list[dict], host: str = "n1", **tables: list[dict]) -> Digest:
    """A job of three slices, and what its node's collector counted."""
    processes = [{"process": 1, "start_ns": EPOCH * TAU_NS, "end_ns": (EPOCH + 3) * TAU_NS}]
    slices = [{"process": 1, "slice": EPOCH + place, "write_bytes": 4 << 20, "write_ops": 1} for place in range(3)]
    collected = {"nodes": [{"host": host, "slice_ns": TAU_NS}], "node_slices": node_slices} | tables
    rows = {name: [{"process": 9} | row for row in table] for name, table in collected.items()}
    return Digest(read_profile(build_profile(directory, processes, slices, collected=rows)))


def stalled(directory: Path, stall_ns: int) -> Digest:
    stalls = {-1: TAU_NS, 0: stall_ns, 1: stall_ns, 2: stall_ns}  # outside of the window nothing counts
    rows = [{"slice": EPOCH + at, "sampled_ns": TAU_NS, "cpu_stall_ns": ns} for at, ns in stalls.items()]
    return with_nodes(directory, rows)


def test_evidence_of_profiles(tmp_path):
    job = write_job(tmp_path / "job", [[4, 4, 4]])
    assert evidence_of([window_of(job)], [window_of(job)]).is_empty()
    calm, busy = stalled(tmp_path / "calm", 0), stalled(tmp_path / "busy", TAU_NS // 2)
    table = evidence_of([window_of(calm)], [window_of(busy)])
    assert counted(table) == ["client processors"]
    assert table.row(0, named=True)["together"] == pytest.approx(0.5)
    assert {"small_requests", "shared_file"} <= set(table["signal"])
    assert "changed for: client processors" in evidence_words(table)
    assert len(evidence_table(table).rows) == len(table)


def test_resources_over_the_offset(tmp_path):
    """Stalled for a quarter of the time alone, for all of it in one run, for half of it in the other."""
    stalls = {"alone": TAU_NS // 4, "r1-a": TAU_NS, "r1-b": TAU_NS // 2, "r2-a": TAU_NS // 2, "r2-b": TAU_NS // 8}
    windows = {job: window_of(stalled(tmp_path / job, stall)) for job, stall in stalls.items()}
    points = pl.DataFrame({"run": ["r2", "r2", "r1", "r1"], "dt": [4.0, 4.0, -1.0, -1.0], "job": list(stalls)[:0:-1]})
    found = resources_by_offset(points, windows)
    assert found.rows() == [("cpu_stall", "r1", -1.0, 1.0, 0.25), ("cpu_stall", "r2", 4.0, 0.5, 0.25)]
    chart = resource(found, "share of the time", EVIDENCE["cpu_stall"].full)
    assert [line.name for line in chart.data] == ["together", "alone", "its limit"]
    assert resources_by_offset(
        points, {job: window_of(write_job(tmp_path / f"bare-{job}", [[4, 4, 4]])) for job in stalls}
    ).is_empty()


def test_a_connection_held_up_by_its_server_is_evidence(tmp_path):
    """Only where connections were sampled: no figure of them is invented where nobody looked."""
    sampled = [{"slice": EPOCH, "sampled_ns": 4 * NS}, {"slice": EPOCH + 1, "sampled_ns": 4 * NS}]
    device = [{"device": 0, "kind": "connection", "name": "10.0.0.1:2049 from port 700"}]
    held = [{"slice": EPOCH, "device": 0, "busy_ns": 4 * NS, "window_limited_ns": 3 * NS, "retransmissions": 8}]
    digest = with_nodes(tmp_path / "job", sampled, node_devices=device, node_connections=held)
    found = {(row["slice"], row["signal"]): row["value"] for row in node_signals(digest).iter_rows(named=True)}
    assert found[EPOCH, "connection_window_limited"] == pytest.approx(0.75)
    assert found[EPOCH, "connection_retransmissions"] == pytest.approx(2)
    assert found[EPOCH + 1, "connection_window_limited"] == 0
    without = with_nodes(tmp_path / "other", sampled)
    assert not node_signals(without)["signal"].str.starts_with("connection").any()
    calm = {"tcp_zero_windows": 0.0, "cpu_stall": 0.01}
    table = evidence(
        signals(ALONE, connection_window_limited=0.8, **calm), signals(TOGETHER, connection_window_limited=0.8, **calm)
    )
    assert table["cause"][0] == FLOW_CONTROL
    assert table.filter("full")["signal"].to_list() == ["connection_window_limited"]
    table = evidence(
        signals(ALONE, connection_window_limited=0.0, **calm),
        signals(TOGETHER, connection_window_limited=0.4, **calm),
        0.9,
    )
    assert counted(table) == [FLOW_CONTROL]
