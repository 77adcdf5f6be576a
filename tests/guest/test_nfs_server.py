"""Jobs on real clients of a real NFS server, held against their own stopwatch. `make guest` runs it, in about 4 min."""

from pathlib import Path

import polars as pl
import pytest
from slicewise.digest.digest import read_digest
from slicewise.profile.servers import read_servers
from support.guests import assert_blamed, run_servers

MIB = 1 << 20
NEIGHBOURS = {"victim": "c2", "victim-of-other": "other", "victim-of-own-node": "the rest of c1"}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_servers(tmp_path_factory.mktemp("guest"), "nfs.sh", "nfs_server.sh")


@pytest.mark.parametrize("job", NEIGHBOURS)
def test_who_cost_whom_how_much(ran, job):
    assert_blamed(ran, job, NEIGHBOURS[job], 0.20)


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
