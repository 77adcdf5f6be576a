"""Jobs of which no process was profiled, and some were sampled from outside: they are read as any other is."""

from pathlib import Path

import pytest
from slicewise.analysis.coverage import coverage
from slicewise.analysis.site.jobs import list_profiles
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.kept import KeptDigest, find_job
from slicewise.catalog.store import Catalog
from slicewise.digest.digest import Digest
from slicewise.digest.shared import read_digests
from slicewise.digest.together import read_together
from slicewise.errors import UserError
from slicewise.profile.reader import read_profile
from slicewise.report.coverage.unseen import unseen_lines
from support.swz import START_NS, build_profile

MIB = 1 << 20
SECOND = 10**9
SLICE_NS = 4 * SECOND
FIRST = START_NS // SLICE_NS
RUN = 99
NODE = {"host": "n1", "slice_ns": SLICE_NS, "start_ns": START_NS, "end_ns": START_NS + 60 * SECOND}


def static(job: str, run: int = RUN, **node: object) -> dict[str, list[dict]]:
    """The tables of a collector that sampled two static programs of the job, one of which became the other by exec."""
    who = {
        "process": run,
        "pid": 50,
        "inner_pid": 50,
        "user": 1000,
        "start_ns": START_NS,
        "first_ns": START_NS + SECOND,
    }
    return {
        "nodes": [{"process": run, "job": job} | NODE | node],
        "node_slices": [{"process": run, "slice": FIRST, "sampled_ns": SLICE_NS}],
        "node_processes": [
            who | {"number": 1, "program": "/opt/first", "end_ns": START_NS + 9 * SECOND, "is_from_start": 1},
            who | {"number": 2, "program": "/opt/second", "end_ns": START_NS + 20 * SECOND, "is_from_start": 0},
        ],
        "node_process_slices": [
            {"process": run, "number": number, "slice": FIRST + number, "write_bytes": number * MIB, "write_ops": 1}
            for number in (1, 2)
        ],
    }


def sampled_alone(directory: Path, job: str, run: int = RUN, **node: object) -> Path:
    return build_profile(directory / job, [], collected=static(job, run, **node))


def test_all_that_was_sampled_is_there_and_nothing_is_counted(tmp_path):
    profile = read_profile(sampled_alone(tmp_path, "alone"))
    assert (profile.damage, profile.job, profile.slice_ns) == ([], "alone", SLICE_NS)
    digest = Digest(profile)
    assert digest.processes.select("node", "pid", "rank", "path", "start_ns", "end_ns", "ending").rows() == [
        ("n1", 50, -1, "/opt/first", START_NS, START_NS + 9 * SECOND, "sampled"),
        ("n1", 50, -1, "/opt/second", START_NS + SECOND, START_NS + 20 * SECOND, "sampled"),
    ]
    assert digest.sampled_slices.select("slice", "write_bytes").rows() == [(FIRST + 1, MIB), (FIRST + 2, 2 * MIB)]
    assert digest.about["user"] == 1000
    assert (digest.about["processes"], digest.about["write_bytes"]) == (0, 0)
    seen = coverage(digest)
    assert (seen.is_sampled_alone, seen.write, seen.unprofiled_write_bytes) == (True, 0.0, 3 * MIB)


def test_a_node_of_a_profiled_job_on_which_processes_were_sampled_alone(tmp_path):
    """Nothing stands for them among the processes: they are in their own frames."""
    own = [{"process": 1, "pid": 7, "host": "n0"}]
    slices = [{"process": 1, "slice": FIRST, "write_bytes": MIB, "write_ops": 1}]
    digest = Digest(read_profile(build_profile(tmp_path / "job", own, slices, collected=static("job"))))
    assert digest.processes["process"].to_list() == [1]
    assert digest.sampled_slices["write_bytes"].sum() == 3 * MIB
    assert not coverage(digest).is_sampled_alone


def test_processes_for_which_the_collector_had_no_room_are_told(tmp_path):
    digest = Digest(read_profile(sampled_alone(tmp_path, "alone", processes_left_out=144)))
    (line,) = unseen_lines([digest])[:1]
    assert line.startswith("alone: on n1 144 processes that could not be profiled were not sampled either")
    none = Digest(read_profile(sampled_alone(tmp_path, "none")))
    assert not any("not sampled" in line for line in unseen_lines([none]))


def test_beside_other_jobs_it_is_the_same(tmp_path):
    sampled_alone(tmp_path, "b-alone")
    for place, name in enumerate(("a", "c"), 1):
        slices = [{"process": place, "slice": FIRST, "write_bytes": MIB, "write_ops": 1}]
        build_profile(tmp_path / name, [{"process": place, "pid": 7}], slices)
    sampled_alone(tmp_path, "d-alone", RUN + 10)
    digests = read_digests(sorted(tmp_path.iterdir()))
    assert [digest.job for digest in digests] == ["a", "b-alone", "c", "d-alone"]
    assert [digest.processes.height for digest in digests] == [1, 2, 1, 2]
    assert [digest.sampled_slices["write_bytes"].sum() for digest in digests] == [0, 3 * MIB, 0, 3 * MIB]
    assert [len(one.sources) for one in read_together(sorted(tmp_path.iterdir()))] == [4]
    found, unread = list_profiles(places([tmp_path]))
    assert unread == []
    assert sorted(found["job"]) == ["a", "b-alone", "c", "d-alone"]


def test_a_catalog_keeps_it(tmp_path):
    place = sampled_alone(tmp_path / "jobs", "alone")
    catalog = Catalog.make(tmp_path / "catalog")
    ingest(catalog, places([tmp_path / "jobs"]))
    kept = KeptDigest(catalog, find_job(catalog, "alone"))
    assert kept.sampled_slices.equals(Digest(read_profile(place)).sampled_slices)
    assert coverage(kept).is_sampled_alone


@pytest.mark.parametrize("tables", [("node_processes", "node_process_slices"), ("job",)])
def test_a_collectors_file_without_the_job_or_anybody_of_it_is_no_job(tmp_path, tables):
    """A file server's samples, or those of a collector that wrote no job's name."""
    collected = static("job")
    for table in tables:
        if table == "job":
            collected["nodes"][0]["job"] = ""
        else:
            collected[table] = []
    with pytest.raises(UserError, match=r"describes a process|holds no process"):
        read_profile(build_profile(tmp_path / "job", [], collected=collected))
