"""Processes that no library profiles, as a collector sampled them: what of their rows counts, and what is said."""

from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.blame.blame import blame
from slicewise.analysis.coverage import coverage
from slicewise.analysis.site.jobs import list_profiles
from slicewise.catalog.find import places
from slicewise.catalog.kept import KeptDigest, find_job
from slicewise.digest.digest import Digest
from slicewise.digest.shared import read_digests, read_together
from slicewise.errors import UserError
from slicewise.profile.reader import read_profile
from slicewise.report.coverage import coverage_words
from slicewise.report.coverage.unseen import sampled_table, unseen_lines
from support.catalogs import catalog_of
from support.swz import START_NS, build_profile

MIB = 1 << 20
SECOND = 10**9
SLICE_NS = 4 * SECOND
FIRST = START_NS // SLICE_NS
COLLECTOR = 99
RUN = {"process": COLLECTOR, "host": "n1", "slice_ns": SLICE_NS, "start_ns": START_NS, "end_ns": START_NS + 60 * SECOND}
TICK = {"process": COLLECTOR, "slice": FIRST, "sampled_ns": SLICE_NS}
RUN_NUMBER = 99
NODE = {"host": "n1", "slice_ns": SLICE_NS, "start_ns": START_NS, "end_ns": START_NS + 60 * SECOND}


def sampled(number: int = 1, **columns: object) -> dict:
    """A row of node_processes: a Go program that began with the job and was looked at for half a minute."""
    known = {
        "pid": 50, "inner_pid": 50, "program": "/opt/copy", "start_ns": START_NS, "first_ns": START_NS + 4 * SECOND,
    }  # fmt: skip
    return (
        {"process": COLLECTOR, "number": number, "end_ns": START_NS + 30 * SECOND, "is_from_start": 1} | known | columns
    )


def moved(place: int, number: int = 1, **counts: int) -> dict:
    return {"process": COLLECTOR, "number": number, "slice": FIRST + place} | counts


@pytest.fixture
def digest(tmp_path: Path):
    """digest(sampled processes, their slices, profiled processes, **tables) of a small job on one node."""

    def build(found: list[dict], rows: list[dict], processes: list[dict] | None = None, **tables: list[dict]) -> Digest:
        own = processes or [{"process": 1, "pid": 7}]
        slices = tables.pop("slices", [{"process": 1, "slice": FIRST, "write_bytes": MIB, "write_ops": 1}])
        collected = {"nodes": [RUN], "node_slices": [TICK], "node_processes": found, "node_process_slices": rows}
        directory = build_profile(tmp_path / "job", own, slices, collected=collected, **tables)
        profile = read_profile(directory)
        assert profile.damage == []
        return Digest(profile)

    return build


def written(digest: Digest) -> dict[int, int]:
    """Bytes written by the slice's place."""
    return {place - FIRST: count for place, count in digest.sampled_slices.select("slice", "write_bytes").iter_rows()}


def test_what_was_sampled_has_a_name_a_time_and_bytes_by_slice_and_is_in_no_total(digest):
    rows = [moved(0, write_bytes=MIB, write_ops=2, kernel_write_bytes=512), moved(1, write_bytes=3 * MIB, read_bytes=5)]
    noted = {"process": 1, "number": 1, "program": "/opt/copy", "reason": "go", "times": 1, "pid": 50}
    job = digest([sampled()], rows, unprofiled=[noted])
    (one,) = coverage(job).sampled
    assert (one.process, one.program, one.reason) == ("process 50 on n1", "/opt/copy", "go")
    assert (one.begin_ns, one.end_ns) == (START_NS, START_NS + 30 * SECOND)
    assert (one.write_bytes, one.read_bytes, one.write_calls) == (4 * MIB, 5, 2)
    assert one.busiest_ns == (FIRST + 1) * SLICE_NS
    assert written(job) == {0: MIB, 1: 3 * MIB}
    assert job.processes["process"].to_list() == [1]
    assert (job.about["write_bytes"], job.process_slices["write_bytes"].sum()) == (MIB, MIB)


def test_the_kernels_count_of_it_is_part_of_what_was_not_seen(digest):
    own = [
        {"process": 1, "slice": FIRST, "write_bytes": MIB, "write_ops": 1},
        {"process": 1, "mount": 0, "layer": "kernel", "slice": FIRST, "write_bytes": MIB, "write_ops": 1},
    ]
    seen = coverage(digest([sampled()], [moved(0, write_bytes=3 * MIB)], slices=own))
    assert (seen.write, seen.kernel_write_bytes, seen.unprofiled_write_bytes) == (0.25, 4 * MIB, 3 * MIB)
    lines = list(coverage_words.gap_lines(seen))
    assert lines[0] == "By the kernel's count, what could not be profiled wrote 3 MiB and read 0 B."
    assert lines[1].startswith("copy (process 50 on n1, why is not known) wrote 3 MiB")
    assert [cell.text for cell in sampled_table(seen, 5).rows[0]][:3] == [
        "process 50 on n1",
        "copy",
        "why is not known",
    ]


def shell(**columns: object) -> dict:
    """A shell that was profiled and that the sampled program took the place of."""
    own = {"pid": 50, "program": "/bin/sh", "ending": "exec", "start_ns": START_NS, "end_ns": START_NS + SECOND}
    return {"process": 2, "all_write_bytes": 3 * MIB, "all_read_bytes": 10} | own | columns


def test_what_the_program_before_it_counted_itself_is_taken_off_the_first_slices(digest):
    rows = [moved(0, write_bytes=2 * MIB, read_bytes=10), moved(1, write_bytes=2 * MIB), moved(2, write_bytes=2 * MIB)]
    job = digest([sampled()], rows, [{"process": 1, "pid": 7}, shell()])
    assert written(job) == {0: 0, 1: MIB, 2: 2 * MIB}
    (one,) = coverage(job).sampled
    assert (one.write_bytes, one.read_bytes) == (3 * MIB, 0)


def test_counts_from_the_first_look_on_have_nothing_of_the_program_before(digest):
    rows = [moved(1, write_bytes=2 * MIB)]
    job = digest([sampled(is_from_start=0)], rows, [{"process": 1, "pid": 7}, shell()])
    assert written(job) == {1: 2 * MIB}


def test_a_look_between_a_shells_fork_and_the_begin_of_its_segment_loses_nothing(digest):
    """The shell's segment was finished by the collector: it ends with the slice."""
    edge = (START_NS // SLICE_NS + 1) * SLICE_NS
    first_look = edge - SECOND
    fork = shell(start_ns=first_look + 1_000_000, end_ns=edge, all_write_bytes=0, all_read_bytes=0)
    rows = [moved(place, write_bytes=MIB) for place in range(3)]
    job = digest([sampled(is_from_start=0, first_ns=first_look)], rows, [{"process": 1, "pid": 7}, fork])
    assert written(job) == {0: MIB, 1: MIB, 2: MIB}


@pytest.mark.parametrize(
    "program", ["/opt/copy", "/bin/dynamic"], ids=["its segment came late", "exec of a dynamic one"]
)
def test_slices_in_which_it_was_profiled_count_once(digest, program):
    """What the process counted itself stands; what was sampled in the same slices goes."""
    later = {
        "process": 2, "pid": 50, "program": program, "start_ns": START_NS + 9 * SECOND,
        "end_ns": START_NS + 13 * SECOND,
    }  # fmt: skip
    rows = [moved(place, write_bytes=MIB) for place in range(6)]
    job = digest([sampled()], rows, [{"process": 1, "pid": 7}, later])
    assert sorted(written(job)) == [0, 1, 4, 5]


def test_one_that_is_profiled_all_the_time_is_not_there(digest):
    """Its segment lay where the collector did not see it."""
    rows = [moved(place, write_bytes=MIB) for place in range(6)]
    job = digest([sampled()], rows, [{"process": 2, "pid": 50, "program": "/opt/copy"}])
    assert coverage(job).sampled == []
    assert job.sampled_slices.is_empty()


def test_in_a_container_a_profiled_process_is_known_by_its_inner_number_and_its_program(digest):
    contained = sampled(inner_pid=2)
    own = {"process": 2, "pid": 2, "host": "container", "program": "/opt/copy"}
    assert coverage(digest([contained], [moved(0, write_bytes=MIB)], [own])).sampled == []


def test_another_program_of_that_number_in_another_container_stays(digest):
    own = {"process": 2, "pid": 2, "host": "container", "program": "/opt/other"}
    job = digest([sampled(inner_pid=2)], [moved(0, write_bytes=MIB)], [own])
    assert written(job) == {0: MIB}


def test_an_earlier_process_of_that_number_is_another_one(digest):
    before = {"process": 2, "pid": 50, "start_ns": START_NS - 99 * SECOND, "end_ns": START_NS - 90 * SECOND}
    job = digest([sampled(start_ns=START_NS)], [moved(0, write_bytes=MIB)], [{"process": 1, "pid": 7}, before])
    assert written(job) == {0: MIB}


def test_one_that_the_kernel_does_not_tell_of_is_named(digest):
    job = digest([sampled(is_refused=1, program="sudo")], [])
    (one,) = coverage(job).sampled
    assert (one.is_refused, one.busiest_ns) == (True, None)
    (line,) = coverage_words.sampled_lines([one])
    assert line.endswith("the kernel does not tell what it read and wrote.")
    assert coverage(job).unprofiled_write_bytes is None


def test_many_are_named_in_part_and_told_in_sum(digest):
    found = [sampled(number, pid=50 + number, inner_pid=50 + number) for number in range(1, 6)]
    job = digest(found, [moved(0, number, write_bytes=number * MIB) for number in range(1, 6)])
    seen = coverage(job)
    assert [one.write_bytes // MIB for one in seen.sampled] == [5, 4, 3, 2, 1]
    lines = list(coverage_words.sampled_lines(seen.sampled))
    assert len(lines) == coverage_words.MOST_SAMPLED + 1
    assert lines[-1] == "2 more processes without a profile wrote 3 MiB; sampled."


def test_slices_are_those_of_the_collectors(digest):
    job = digest([sampled()], [moved(0, write_bytes=MIB)])
    assert job.sampled_slices.schema["slice"] == pl.Int64
    assert job.node_slice_ns == SLICE_NS


def static(job: str, run: int = RUN_NUMBER, **node: object) -> dict[str, list[dict]]:
    """The tables of a collector that sampled two static programs of the job, one of which became the other by exec."""
    who = {
        "process": run, "pid": 50, "inner_pid": 50, "user": 1000, "start_ns": START_NS, "first_ns": START_NS + SECOND,
    }  # fmt: skip
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


def sampled_alone(directory: Path, job: str, run: int = RUN_NUMBER, **node: object) -> Path:
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
    said = [coverage_words.sampled_alone(seen, 1), coverage_words.seen(seen), *coverage_words.gap_lines(seen)]
    assert "could not be profiled" not in " ".join(said)
    assert "not known" not in " ".join(said)
    assert blame(digest, []).unknown_because.startswith("its processes were sampled from outside")


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
    sampled_alone(tmp_path, "d-alone", RUN_NUMBER + 10)
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
    catalog = catalog_of(tmp_path / "catalog", tmp_path / "jobs")
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
