"""Profiles of file servers: written, read, damaged, and as jobs of a catalog."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from slicewise.analysis.site.worst import worst
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.store import Catalog
from slicewise.errors import UserError
from slicewise.imports.write_servers import write_servers
from slicewise.profile.servers import read_in_parts, read_servers
from slicewise.report.site.site_tables import worst_sentence
from support.catalogs import catalog_of
from support.served_rows import BEGIN, MIB, SECOND, rows

SLICE_NS = 4 * SECOND


@pytest.fixture
def profile(tmp_path):
    data = rows(
        ("4716", "lus-OST0000", 0, 30, 10), ("4716", "lus-OST0001", 5, 9, 3), ("dd.1000", "lus-OST0001", 3, 17, 7)
    )
    written, left_out = write_servers(data, SLICE_NS, tmp_path / "into", "log")
    assert left_out == 0
    (one,) = written
    assert (one.storage, one.jobs, one.targets, one.write_bytes) == ("lus", 2, 2, (300 + 12 + 98) * MIB)
    return one.path


def test_what_was_written_is_read(profile):
    found = read_servers([profile.parent])
    assert found.runs.select("storage", "type", "slice_ns").rows() == [("lus", "lustre", SLICE_NS)]
    sums = {key: own["write_bytes"].sum() // MIB for key, own in found.rows.group_by("target", "job")}
    assert sums == {("lus-OST0000", "4716"): 300, ("lus-OST0001", "4716"): 12, ("lus-OST0001", "dd.1000"): 98}
    assert ((found.rows["end_ns"] - found.rows["begin_ns"]) == SLICE_NS).all()


def test_the_same_log_twice_is_one_profile(profile, tmp_path):
    before = profile.read_bytes()
    write_servers(rows(("4716", "lus-OST0000", 0, 30, 10)), SLICE_NS, tmp_path / "into", "log")
    assert len(list(profile.parent.glob("*.swz"))) == 1
    assert profile.read_bytes() != before


def test_a_damaged_one_says_so_in_one_line(profile):
    data = bytearray(profile.read_bytes())
    data[-20] ^= 0xFF
    profile.write_bytes(data)
    told = []
    found = read_servers([profile], told.append)
    assert found.runs.height == 1
    assert len(told) == 1
    profile.write_bytes(b"no profile")
    with pytest.raises(UserError):
        read_servers([profile])


def test_parts_of_a_profile_have_each_job_whole(profile, monkeypatch):
    monkeypatch.setattr("slicewise.profile.servers.JOBS_A_PART", 1)
    parts = [part.rows for part in read_in_parts(profile.parent)]
    assert [part["job"].unique().to_list() for part in parts] == [["4716"], ["dd.1000"]]
    assert_frame_equal(pl.concat(parts), read_servers([profile.parent]).rows, check_row_order=False)


def test_a_catalog_takes_its_jobs_once(profile, tmp_path):
    catalog = Catalog.make(tmp_path / "catalog")
    for added in (2, 0):
        assert ingest(catalog, places([tmp_path / "into"])).added == added
    jobs = catalog.scan("jobs", catalog.batches()).collect()
    told = {row["job"]: row for row in jobs.iter_rows(named=True)}
    assert set(told) == {"4716", "dd.1000"}
    assert told["4716"]["write_bytes"] == 312 * MIB
    assert told["4716"]["write_ns"] == 0  # of its time in calls nothing is known
    assert (told["dd.1000"]["program"], told["dd.1000"]["user"], told["dd.1000"]["source"]) == ("dd", 1000, "servers")


def test_whom_servers_alone_know_is_not_asked_who_slowed_it_down(profile, tmp_path):
    """They met on a target, and servers count no time that could be lost."""
    catalog = catalog_of(tmp_path / "catalog", tmp_path / "into")
    found = worst(catalog, BEGIN * SECOND, (BEGIN + 60) * SECOND)
    assert (found.of, found.rows.height, found.unasked.height) == (0, 0, 0)
    assert worst_sentence(found).startswith("No job with a profile shared")
