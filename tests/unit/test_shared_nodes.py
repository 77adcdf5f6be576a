"""A node's traffic, as file servers counted it, among the jobs that ran there and the rest of it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.blame.servers import shared_out
from slicewise.analysis.runs.storage import describe_all
from slicewise.digest.digest import Digest
from slicewise.digest.storages import lustre_name
from slicewise.imports.jobstats import read_served
from slicewise.profile.reader import read_profile
from support.jobs import FIRST_SLICE, SLICE_NS, write_job

MIB = 1 << 20
GRID_NS = 4_000_000_000
SLICES = range(10)
BEGIN = FIRST_SLICE * SLICE_NS // 10**9


@pytest.fixture
def jobs(tmp_path: Path) -> list[Digest]:
    """Two jobs on node n1 that write 10 and 30 MiB/s for 40 s, and one elsewhere."""
    for name, rate, node in (("7", 10.0, 1), ("8", 30.0, 1), ("9", 5.0, 2)):
        write_job(tmp_path / name, 2, 2, {SLICES: rate}, first_node=node)
    return [Digest(read_profile(tmp_path / name)) for name in ("7", "8", "9")]


def counted(folder: Path, clients: dict[str, float], seconds: int = 40, target: str = "") -> pl.DataFrame:
    """What a server counted of clients, MiB/s by client."""
    rows = [
        f"{BEGIN + at},{BEGIN + at + 4},{client},{target},{round(rate * 4 * MIB)}"
        for client, rate in clients.items()
        for at in range(0, seconds, 4)
    ]
    table = folder / f"clients-{target}.csv"
    table.write_text("begin,end,client,target,write_bytes\n" + "\n".join(rows) + "\n")
    return read_served([table])


def by_name(jobs: list[Digest], counts: pl.DataFrame) -> dict[str, float]:
    storages = describe_all(jobs[0].process_slices["storage"].unique().to_list(), jobs)
    told = shared_out(counts, jobs, storages, GRID_NS)
    sums = told.group_by("job").agg(pl.col("write_bytes").sum() / MIB)
    assert told["write_bytes"].sum() == pytest.approx(counts["write_bytes"].sum(), abs=100)
    return {name: float(size) for name, size in sums.rows()}


def test_jobs_of_one_node_have_what_their_profiles_say(jobs, tmp_path):
    """Headers and what was sent again are theirs, too; and nobody else was there."""
    found = by_name(jobs, counted(tmp_path, {"n1.cluster": 40.8, "n2": 5.0}))
    assert set(found) == {"7", "8", "9"}
    assert found["7"] == pytest.approx(40.8 / 4 * 40, rel=0.05)
    assert found["8"] == pytest.approx(40.8 * 3 / 4 * 40, rel=0.05)


def test_what_no_profile_explains_is_of_the_rest_of_the_node(jobs, tmp_path):
    found = by_name(jobs, counted(tmp_path, {"n1": 100.0}))
    assert found["the rest of n1"] == pytest.approx(60 * 40, rel=0.05)
    assert found["7"] == pytest.approx(400, rel=0.1)
    assert found["8"] == pytest.approx(1200, rel=0.1)


def test_before_and_after_its_jobs_a_node_is_a_client(jobs, tmp_path):
    """What it moved just before and after is no rest that was there beside them."""
    found = by_name(jobs, counted(tmp_path, {"n1": 40.0}, seconds=120))
    assert set(found) == {"7", "8", "n1"}
    assert found["n1"] == pytest.approx(40 * 80, rel=0.05)


def test_a_node_without_profiled_jobs_is_a_client(jobs, tmp_path):
    assert by_name(jobs, counted(tmp_path, {"n3": 40.0})) == {"n3": 1600.0}


def test_other_file_systems_are_none_of_it(jobs, tmp_path):
    (storage,) = describe_all(jobs[0].process_slices["storage"].unique().to_list(), jobs)
    here = counted(tmp_path, {"n1": 40.0}, target=f"{lustre_name(storage.source)}-OST0001")
    found = by_name(jobs, pl.concat([here, counted(tmp_path, {"n1": 500.0}, target="other-OST0001")]))
    assert found == {"7": pytest.approx(400, rel=0.1), "8": pytest.approx(1200, rel=0.1), "n1": 20_000}


def test_an_address_is_the_node_whose_jobs_moved_its_bytes(jobs, tmp_path):
    """As of clients of NFS 3, which have no names: two addresses, and one that nobody can be."""
    found = by_name(jobs, counted(tmp_path, {"10.0.0.1": 40.0, "10.0.0.2": 5.0, "10.0.0.3": 90.0}))
    assert set(found) == {"7", "8", "9", "10.0.0.3"}
