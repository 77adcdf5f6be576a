"""Neighbours without a profile, as root's collector sampled them: what of their rows counts, and what is said."""

import pwd
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.nodes.causes import beside_slow, by_user
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.kept import KeptDigest, find_job
from slicewise.catalog.store import Catalog
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from slicewise.report.nodes.other_words import other_lines, others_record, others_sections
from support.swz import START_NS, build_profile

MIB = 1 << 20
SECOND = 10**9
SLICE_NS = 4 * SECOND
FIRST = START_NS // SLICE_NS
RUN = 99
NOT_NAMED = 0xFFFF_FFFF
OWN = 1000


def moved(place: int, user: int, written: int, run: int = RUN, **counts: int) -> dict:
    return {"process": run, "slice": FIRST + place, "user": user, "processes": 2, "write_bytes": written} | counts


def job(
    tmp_path: Path, rows: list[dict], own_ns: tuple[int, ...] = (), has_second_run: bool = False, **node: int
) -> Path:
    """A job of 15 slices on n1, in each of which it wrote 1 MiB. own_ns: how long that took, slice by slice."""
    slices = [
        {"process": 1, "slice": FIRST + place, "write_bytes": MIB, "write_ops": 1, "write_ns": ns}
        for place, ns in enumerate(own_ns or (SECOND,))
    ]
    runs = [{"process": RUN, "host": "n1", "slice_ns": SLICE_NS} | node]
    if has_second_run:
        runs.append({"process": RUN + 1, "host": "n1", "slice_ns": SLICE_NS})
    ticks = [{"process": RUN, "slice": FIRST + place, "sampled_ns": SLICE_NS} for place in range(15)]
    collected = {"nodes": runs, "node_slices": ticks, "node_others": rows}
    return build_profile(tmp_path / "job", [{"process": 1, "pid": 7, "user": OWN}], slices, collected=collected)


def test_rows_of_the_jobs_time_add_up_by_user_and_slice(tmp_path):
    rows = [
        moved(-2, 1001, 7 * MIB),
        moved(1, 1001, MIB, write_ops=3, unsure_ns=5),
        moved(1, 1001, MIB, write_ops=4, unsure_ns=2, processes=9),
        moved(2, NOT_NAMED, 5 * MIB),
        moved(2, OWN, 2 * MIB),
        moved(99, 1001, 7 * MIB),
        moved(1, 1001, MIB, run=RUN + 1),
    ]
    digest = Digest(read_profile(job(tmp_path, rows, has_second_run=True)))
    assert digest.others.select(
        "node", "user", "slice", "processes", "write_bytes", "write_ops", "unsure_ns"
    ).rows() == [
        ("n1", None, FIRST + 2, 2, 5 * MIB, 0, 0),
        ("n1", OWN, FIRST + 2, 2, 2 * MIB, 0, 0),
        ("n1", 1001, FIRST + 1, 9, 3 * MIB, 7, 5),
    ]
    found = by_user(digest)
    assert found["user"].to_list() == [None, 1001, OWN]
    assert found["is_own_user"].to_list() == [False, False, True]
    assert digest.about["write_bytes"] == MIB  # and in no total


def test_an_older_profile_has_none(tmp_path):
    digest = Digest(read_profile(job(tmp_path, [])))
    assert digest.others.is_empty()
    assert others_record(digest) is None
    assert list(other_lines(digest)) == []
    assert others_sections(digest, range(FIRST, FIRST + 15), SLICE_NS) == []
    assert beside_slow(digest) is None


def test_daemons_are_no_news(tmp_path):
    digest = Digest(read_profile(job(tmp_path, [moved(1, 0, MIB)])))
    assert list(other_lines(digest)) == []
    assert others_record(digest)["users"][0]["write_bytes"] == MIB


# Machines have accounts of this number, or none.
OWN_NAME = next((one.pw_name for one in pwd.getpwall() if one.pw_uid == OWN), str(OWN))


@pytest.mark.parametrize(("user", "said"), [(1001, "user 1001"), (OWN, f"user {OWN_NAME}, this job's own"),
                                            (NOT_NAMED, "all other users together")])  # fmt: skip
def test_who_moved_much_is_named_as_the_site_has_it(tmp_path, user, said):
    digest = Digest(read_profile(job(tmp_path, [moved(1, user, 100 * MIB), moved(3, user, 300 * MIB)])))
    (line,) = other_lines(digest)
    assert line.startswith(f"Unprofiled neighbours on n1, by the kernel's count: {said} wrote 400 MiB (most about ")
    (section,) = others_sections(digest, range(FIRST, FIRST + 15), SLICE_NS)
    assert section.tables[0].rows[0][1].text == said
    assert max(value for value in section.chart.data[0].y if value is not None) == 75


def test_what_they_moved_in_the_jobs_slow_slices_is_said(tmp_path):
    own_ns = tuple(3 * SECOND if place in {4, 5, 6} else SECOND for place in range(12))
    rows = [moved(place, 1001, (200 if place in {4, 5, 6} else 4) * MIB) for place in range(12)]
    digest = Digest(read_profile(job(tmp_path, rows, own_ns)))
    beside = beside_slow(digest)
    assert (beside.slow, beside.other, beside.slow_rate, beside.other_rate) == (3, 9, 50 * MIB, MIB)
    line = list(other_lines(digest))[-1]
    assert "In the 3 slices of 4 s" in line
    assert "moved 50.0 MiB/s; in its other 9 slices with I/O 1.00 MiB/s" in line


def test_nothing_is_said_of_a_job_without_slow_slices(tmp_path):
    rows = [moved(place, 1001, 200 * MIB) for place in range(12)]
    digest = Digest(read_profile(job(tmp_path, rows, tuple([SECOND] * 10 + [9 * SECOND] * 2))))
    assert beside_slow(digest) is None
    assert len(list(other_lines(digest))) == 1


def test_what_could_not_be_counted_is_told(tmp_path):
    digest = Digest(read_profile(job(tmp_path, [moved(1, 0, MIB)], others_refused=3, others_left_out=2)))
    refused, left_out = digest.notes
    assert "the kernel did not tell what others' processes moved, 3 of them" in refused
    assert "2 times a process of others could not be counted" in left_out


@pytest.mark.parametrize("is_hashed", [False, True])
def test_a_catalog_keeps_them_and_hashes_users_with_its_names(tmp_path, is_hashed):
    place = job(tmp_path / "jobs", [moved(1, 1001, MIB), moved(1, NOT_NAMED, MIB)])
    catalog = Catalog.make(tmp_path / "catalog", hashes_names=is_hashed)
    ingest(catalog, places([tmp_path / "jobs"]))
    kept = KeptDigest(catalog, find_job(catalog, "job"))
    fresh = Digest(read_profile(place)).others
    assert kept.others.drop("user").equals(fresh.drop("user"))
    users = kept.others["user"].to_list()
    assert users[0] is None
    assert (users[1] == 1001) != is_hashed
    assert kept.others.filter(pl.col("user") == 1001).height == (0 if is_hashed else 1)
