"""Causes of interference that were planted on the testbed: the recorded profiles are judged anew."""

import shutil
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.delta import who_gains
from slicewise.analysis.nodes.causes import preferring
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from testbed import measured, plants_tables

ARCHIVE = Path(__file__).parent / "planted.tar.xz"
MOST_BYTES = 9 << 18
# All cases are read once.
pytestmark = pytest.mark.xdist_group("planted")


def test_planted_causes_are_named_first():
    planted = plants_tables.of_kind(plants_tables.read_all(ARCHIVE), "")
    assert len(planted) >= 10
    assert sum(one.case.is_blind for one in planted) >= 4
    assert {one.case.cause for one in planted} == {
        "device", "link", "server processors", "client processors", "incast",
    }  # fmt: skip
    right = [one.name for one in planted if one.is_right]
    assert len(right) >= plants_tables.AIM * len(planted), {one.name for one in planted} - set(right)


def test_flow_control_decides_how_fair_the_same_jobs_share():
    flow = {one.name: one.graph for one in plants_tables.of_kind(plants_tables.read_all(ARCHIVE), plants_tables.FLOW)}
    assert flow["flow-one-call"].asymmetry < 0.1
    assert flow["flow-long-queue"].asymmetry > 3 * flow["flow-one-call"].asymmetry
    assert max(flow["flow-one-call"].peak.values()) == pytest.approx(2, abs=0.1)


def test_a_slow_device_and_many_connections_prefer_who_comes_first():
    flow = {one.name: one for one in plants_tables.of_kind(plants_tables.read_all(ARCHIVE), plants_tables.FLOW)}
    for name in ("flow-pool", "flow-pool-servers"):
        one = flow[name]
        assert one.graph.asymmetry > 0.5
        assert who_gains(one.graph.points, one.graph.alone_seconds) == "first"
        assert preferring(one.evidence, one.graph.asymmetry) == "server and flow control"
    assert flow["flow-pool-few-writers"].graph.asymmetry < 0.2
    partitioned = flow["flow-pool-partitioned"].graph
    assert partitioned.asymmetry is None
    assert max(partitioned.peak.values()) < 1.1
    assert [place.split(":")[0] for _, place in sorted(partitioned.apart.items())] == ["10.77.0.1", "10.77.0.2"]
    assert all(one.is_right for name, one in flow.items() if name.startswith("flow-pool"))


def test_a_flat_graph_is_the_same_on_every_device_and_slow():
    flat = {one.name: one.graph for one in plants_tables.of_kind(plants_tables.read_all(ARCHIVE), plants_tables.FLAT)}
    free = flat.pop("flat-not")
    assert max(free.peak.values()) > 1.9
    assert len(flat) == 3
    for graph in flat.values():
        assert max(graph.peak.values()) < 1.2
        # Without that limit more is written in a fraction of the time.
        assert max(free.alone_seconds.values()) < 0.2 * max(graph.alone_seconds.values())


@pytest.mark.parametrize("name", ["link-glusterfs", "incast-glusterfs", "server-processor-sshfs", "incast-sshfs"])
def test_connections_of_real_mounts_carried_what_the_job_wrote(name, tmp_path):
    """Over one connection or several, and the server's ends have what the clients' sent."""
    shutil.unpack_archive(ARCHIVE, tmp_path)
    digest = Digest(read_profile(tmp_path / name / "a-alone-1"))
    of_node = digest.node_slices.filter(pl.col("kind") == "connection").group_by("node", "signal")
    moved = {(node, signal): amount for node, signal, amount in of_node.agg(pl.col("amount").sum()).iter_rows()}
    written = digest.process_slices["write_bytes"].sum()
    assert written <= moved["n1", "connection_sent"] <= 1.005 * written
    assert moved["server", "connection_received"] == pytest.approx(moved["n1", "connection_sent"], rel=1e-3)


def test_the_figures_are_those_that_were_looked_at():
    assert measured.made("causes") == measured.kept("causes")


def test_the_archive_is_small():
    assert ARCHIVE.stat().st_size <= MOST_BYTES
