"""Jobs that no library can profile are named where the kernel's count of them explains what a disk read and wrote."""

from pathlib import Path

import pytest
from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.case import case_of, kept_case
from slicewise.analysis.blame.result import Blame
from slicewise.analysis.site.worst import worst
from slicewise.catalog.kept import find_job
from slicewise.catalog.neighbours import Company
from slicewise.catalog.store import day_of
from slicewise.digest.surroundings import Surroundings
from support.blame_trials import digests
from support.catalogs import catalog_of
from support.swz import build_profile, of_disk

MIB, SECOND, FIRST = 1 << 20, 1_000_000_000, 1_700_000_000
ON = {"host": "n1", "slice_ns": SECOND}


def reader(directory: Path, number: int, first: int, seconds: int, mib: int, disk_mib: int) -> Path:
    """A job that reads so many MiB in each second, on a disk that reads so many."""
    process = {"process": number, "program": "/usr/bin/dd", "start_ns": first * SECOND, **ON}
    process |= {"end_ns": (first + seconds) * SECOND, "ending": "exit"}
    did = {"process": number, "threads": 1, "read_bytes": mib * MIB, "read_ops": mib, "read_ns": SECOND}
    slices = range(first, first + seconds)
    collected = of_disk(5000 + number, slices, lambda _: {"read_bytes": disk_mib * MIB}, "vdb")
    mounts = [{"process": number, "type": "ext4", "source": "/dev/vdb"}]
    return build_profile(directory, [process], [did | {"slice": at} for at in slices], mounts, collected=collected)


def go_program(directory: Path, source: str, mib: float = 10, number: int = 7000) -> Path:
    """A static program of 20 s that reads so many MiB in each of them, and was killed. source: of the file system where
    it reads; empty: nobody knows where. Wherever that is mounted for it, it also writes a log elsewhere.
    """
    run = {"process": number}
    who = {"pid": 50, "inner_pid": 50, "program": "/opt/go", "start_ns": FIRST * SECOND, "first_ns": FIRST * SECOND}
    who |= {"number": 1, "end_ns": (FIRST + 20) * SECOND, "is_from_start": 1}
    slices = range(FIRST, FIRST + 20)
    collected = {
        "nodes": [run | ON | {"job": directory.name}],
        "node_slices": [run | {"slice": at, "sampled_ns": SECOND} for at in slices],
        "node_processes": [run | who],
        "node_mounts": [
            run | {"mount": at, "point": point, "type": "ext4", "source": device}
            for at, (point, device) in enumerate({"/home": "/dev/vda", "/in/container": source}.items())
            if source
        ],
        "node_process_mounts": [
            run | {"number": 1, "mount": at, "read_bytes": read, "write_bytes": MIB - read}
            for at, read in enumerate((0, MIB))
            if source
        ],
        "node_process_slices": [
            run | {"number": 1, "slice": at} | dict.fromkeys(("read_bytes", "kernel_read_bytes"), round(mib * MIB))
            for at in slices
        ],
    }
    return build_profile(directory, [], collected=collected)


def told(directory: Path, source: str, mib: float = 10) -> Blame:
    """A job of 200 MiB that took 10 s alone, and 20 s while the disk read as much for somebody else."""
    job = reader(directory / "job", 1, FIRST, 20, 10, 20)
    alone = reader(directory / "alone", 2, FIRST - 900, 10, 20, 20)
    return blame(*digests(job), digests(go_program(directory / "go", source, mib)), digests(alone))


def test_a_job_that_was_sampled_is_named_with_its_bytes(tmp_path):
    found = told(tmp_path, "/dev/vdb")
    assert {one.job: one.lost.value for one in found.neighbours} == {"go": pytest.approx(10, rel=0.05)}
    assert found.neighbours[0].read_bytes == pytest.approx(200 * MIB, rel=0.1)
    (traffic,) = found.traffic
    assert traffic.profiled == pytest.approx(traffic.counted, rel=0.1)
    assert "go could not be profiled: what it transferred is an estimate, by the kernel's count" in found.notes


@pytest.mark.parametrize("source", ["", "/dev/vda"])
def test_one_that_used_another_disk_or_nobody_knows_which_is_not(tmp_path, source):
    assert [one.job for one in told(tmp_path, source).neighbours] == [None]


def test_one_is_found_beside_a_job(tmp_path):
    """By the file system where it read, since it made no calls; it is no company of a run before it."""
    job, alone = reader(tmp_path / "job", 1, FIRST, 20, 10, 20), reader(tmp_path / "alone", 2, FIRST - 900, 10, 20, 20)
    go, elsewhere = go_program(tmp_path / "go", "/dev/vdb"), go_program(tmp_path / "elsewhere", "/dev/vda", number=7001)
    found = Surroundings().nearby(job)
    assert (found.neighbours, found.quiet, found.unread) == ([go], [alone], [])
    assert elsewhere not in found.neighbours
    (neighbour,) = case_of(job).result().neighbours
    assert (neighbour.job, neighbour.lost.value) == ("go", pytest.approx(10, rel=0.05))


def test_who_moved_a_part_is_named_for_that_part(tmp_path):
    lost = {one.job: one.lost.value for one in told(tmp_path, "/dev/vdb", mib=4).neighbours}
    assert lost == {"go": pytest.approx(4, abs=0.5), None: pytest.approx(6, abs=0.5)}


def test_of_a_job_that_was_sampled_the_runtimes_are_compared(tmp_path):
    """Another run of it has no calls to go by, either."""
    found = blame(*digests(go_program(tmp_path / "go", "/dev/vdb")), [])
    assert found.unknown_because.startswith("its processes were sampled from outside")
    assert found.next_step.endswith("slicewise compare go-alone go")


def test_what_is_left_beside_them_is_nobodys_if_it_is_not_worth_a_word(tmp_path):
    """Half a MiB in each second, of 20: readahead and blocks. It cost rsync 1.1 s while no other program was there."""
    found = told(tmp_path, "/dev/vdb", mib=9.5)
    assert [one.job for one in found.neighbours] == ["go"]
    (traffic,) = found.traffic
    assert traffic.counted == traffic.profiled


def test_a_catalog_names_it_with_the_same_seconds(tmp_path):
    """By its own question, and by those about a whole day; the job is no run alone, and who is elsewhere no company."""
    job = reader(tmp_path / "jobs/job", 1, FIRST, 20, 10, 20)
    reader(tmp_path / "jobs/alone", 2, FIRST - 900, 10, 20, 20)
    go_program(tmp_path / "jobs/go", "/dev/vdb")
    go_program(tmp_path / "jobs/elsewhere", "/dev/vda", number=7001)
    site = catalog_of(tmp_path / "site", tmp_path / "jobs")
    kept = find_job(site, "job")
    (of_files,) = case_of(job).result().neighbours
    (of_catalog,) = kept_case(site, kept)[0].result().neighbours
    assert (of_files.job, of_catalog.job) == ("go", "go")
    assert of_catalog.lost == of_files.lost
    had_company = {find_job(site, name).key for name in ("job", "go")}
    assert Company(site).not_quiet(day_of(FIRST * SECOND)) == had_company
    rows = worst(site, 0, 1 << 62).rows
    assert dict(rows.select("job", "caused_seconds").drop_nulls().rows()) == {"go": of_files.lost.value}
    assert dict(rows.select("job", "lost_seconds").drop_nulls().rows()) == {"job": of_files.lost.value}
