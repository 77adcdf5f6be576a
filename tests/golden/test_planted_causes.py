"""Causes of interference that were planted on the testbed: the recorded profiles are judged anew."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from testbed import plants_page

ARCHIVE = Path(__file__).parent / "planted.tar.xz"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "causes-measured.md"
MOST_BYTES = 1 << 20
# All cases are read once.
pytestmark = pytest.mark.xdist_group("planted")


def test_planted_causes_are_named_first():
    planted = [one for one in plants_page.read_all(ARCHIVE) if not one.name.startswith(plants_page.FLOW)]
    assert len(planted) >= 10
    assert {one.case.cause for one in planted} == {
        "device", "link", "server processors", "client processors", "incast",
    }  # fmt: skip
    right = [one.name for one in planted if one.named[:1] == [one.case.cause]]
    assert len(right) >= plants_page.AIM * len(planted), {one.name for one in planted} - set(right)


def test_flow_control_decides_how_fair_the_same_jobs_share():
    flow = {one.name: one.graph for one in plants_page.read_all(ARCHIVE) if one.name.startswith(plants_page.FLOW)}
    assert flow["flow-one-call"].asymmetry < 0.1
    assert flow["flow-long-queue"].asymmetry > 3 * flow["flow-one-call"].asymmetry
    assert max(flow["flow-one-call"].peak.values()) == pytest.approx(2, abs=0.1)


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


def test_the_page_is_made_from_these():
    assert PAGE.read_text(encoding="utf-8") == plants_page.page(plants_page.read_all(ARCHIVE))


def test_the_archive_is_small():
    assert ARCHIVE.stat().st_size <= MOST_BYTES
