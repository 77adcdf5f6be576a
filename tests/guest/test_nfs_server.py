"""Jobs on real clients of a real NFS server, held against their own stopwatch. `make guest` runs it, in about 4 min."""

import json
from pathlib import Path

import polars as pl
import pytest
from slicewise.digest.digest import read_digest
from slicewise.profile.servers import read_servers
from support.command_line import run_slicewise
from support.programs import BUILD
from testbed.guest import guest_in

MIB = 1 << 20
TIMEOUT_SECONDS = 1800.0
# Of the loss.
MOST_ERROR, MOST_ELSEWHERE = 0.15, 0.20
NEIGHBOURS = {"victim": "c2", "victim-of-other": "other", "victim-of-own-node": "the rest of c1"}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the guest left: `profiles`, and `took`."""
    out = tmp_path_factory.mktemp("guest")
    scripts = [Path(__file__).with_name(name) for name in ("nodes.sh", "nfs_server.sh")]
    guest_in(BUILD / "guest").run(scripts, out, BUILD, TIMEOUT_SECONDS)
    return out


@pytest.fixture(scope="module")
def took(ran: Path) -> dict[str, float]:
    lines = (ran / "took").read_text().splitlines()
    return {name: float(seconds) for name, seconds in (line.split() for line in lines)}


@pytest.mark.parametrize("job", NEIGHBOURS)
def test_who_cost_whom_how_much(ran, took, job):
    done = run_slicewise("blame", job, "--alone", "alone", "--json", directory=ran / "profiles")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    lost = took[job] - took["alone"]
    assert lost > 1.0
    assert found["lost_seconds"]["value"] == pytest.approx(lost, rel=MOST_ERROR)
    (one,) = [each for each in found["neighbours"] if each["job"]]
    assert one["job"] == NEIGHBOURS[job]
    assert one["lost_seconds"]["value"] == pytest.approx(lost, rel=MOST_ELSEWHERE)


def test_the_server_counts_what_clients_sent(ran):
    (place,) = (ran / "profiles").glob("servers.*")
    sums = read_servers([place]).rows.group_by("job").agg(pl.col("write_bytes").sum() / MIB)
    sent = {name: float(size) for name, size in sums.rows()}
    assert sent["c2"] == pytest.approx(120, rel=0.05)
    assert sent["c1"] == pytest.approx(4 * 100 + 120 + 9, rel=0.05)
    assert sent["10.9.0.13"] == pytest.approx(100, rel=0.05)


def test_bytes_are_on_the_mount_that_was_used(ran):
    """The kernel has one st_dev for both."""
    mounts = read_digest(ran / "profiles" / "mounts").mounts
    wrote = dict(mounts.select("point", pl.col("write_bytes") / MIB).rows())
    assert (wrote["/n"], wrote["/h"]) == (1, 8)
    assert mounts.filter(pl.col("point").is_in(["/n", "/h"]))["storage"].n_unique() == 1
