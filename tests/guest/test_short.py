"""A job and its neighbour on real clients of a real NFS server, held against their own stopwatch: the part of
`make guest` that `make test` has, 1 min.
"""

from pathlib import Path

import polars as pl
import pytest
from slicewise.digest.digest import read_digest
from support.guests import assert_blamed, run_servers

MIB = 1 << 20


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_servers(tmp_path_factory.mktemp("guest"), "nfs.sh", "short.sh")


def test_a_neighbour_by_another_version_name_and_export_is_blamed(ran):
    """NFS 4.2 to an alias of the server, and NFS 3 to its address. Of 3 s lost on a busy machine 45 % were unexplained,
    of 5 s on a quiet one 20 %: so short a session tells who it was, and how much in all.
    """
    assert_blamed(ran, "victim", "other", most_elsewhere=0.6, most_error=0.25)


@pytest.mark.parametrize("job", ["alone", "victim", "other"])
def test_each_byte_is_counted(ran, job):
    mounts = read_digest(ran / "profiles" / job).mounts
    assert mounts.filter(pl.col("point") == "/n")["write_bytes"].to_list() == [50 * MIB]


def test_mounts_of_a_server_are_one_storage_and_each_has_its_bytes(ran):
    """Two exports, a mount point with a space, a bind mount, NFS 3 and 4.2: the kernel has one st_dev for most."""
    (ours, others) = (read_digest(ran / "profiles" / job).mounts for job in ("mounts", "other"))
    its = ours.filter(pl.col("write_bytes") >= MIB)
    wrote = dict(its.select("point", "write_bytes").rows())
    assert wrote == {"/n": MIB, "/h": 2 * MIB, "/tmp/n sp": 3 * MIB, "/tmp/again": 4 * MIB}
    there = others.filter(pl.col("point") == "/n")["storage"]
    assert set(its["storage"]) == set(there)
    assert len(set(there)) == 1
