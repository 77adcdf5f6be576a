"""Jobs in control groups with limits (cgroup v2), held against their own stopwatch. `make guest` runs it."""

import json
from pathlib import Path

import polars as pl
import pytest
from slicewise.digest.digest import read_digest
from support.command_line import run_slicewise
from support.guests import run_in_guest, seconds_of


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_in_guest(tmp_path_factory.mktemp("guest"), "limits.sh")


@pytest.mark.parametrize(("job", "neighbour", "part"), [("victim", None, 0.8), ("victim-of-other", "other", 0.6)])
def test_who_shares_the_limit_cost_it_and_who_does_not_is_left_out(ran, job, neighbour, part):
    """The run beside another group's traffic is one alone, and nobody asked for it. part: of the loss, at least."""
    took = seconds_of(ran)
    done = run_slicewise("blame", job, "--json", directory=ran / "profiles")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    lost = took[job] - took["alone"]
    assert lost > 2.0
    assert found["lost_seconds"]["value"] == pytest.approx(lost, rel=0.15)
    assert [one["job"] for one in found["neighbours"]] == [neighbour]
    assert part * lost <= found["neighbours"][0]["lost_seconds"]["value"] <= 1.1 * lost
    assert any("control group /users/anna" in note for note in found["notes"])


def test_a_group_is_counted_at_its_limit(ran):
    rows = read_digest(ran / "profiles" / "alone").node_slices
    its = rows.filter(rows["kind"] == "limit")
    assert set(its["device"]) == {"loop0 in /users/anna"}
    sums = dict(its.group_by("signal").agg(pl.col("amount").sum()).rows())
    assert sums["limit_written"] == pytest.approx(60 << 20, rel=0.2)  # a part came before it was met
    assert sums["at_limit"] == pytest.approx((60 << 20) / 10_000_000, rel=0.2)
