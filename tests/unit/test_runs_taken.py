"""Which runs are taken as a job's standalone runs, and why not the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.case import case_of
from slicewise.analysis.blame.result import Blame
from slicewise.report.blame.explained import explanation
from support.blame_trials import digests
from support.swz import build_profile

NS = 1_000_000_000
MIB = 1 << 20
FIRST = 1_700_000_000


def write(
    directory: Path, key: int, start: int, slices: int, program: str = "reader", mib: float = 10, **counted: float
) -> Path:
    """A job that reads so many MiB a second, all of a second in calls. counted: fetched, what the kernel fetched of
    that (MiB a second); beside, MiB a second of others that the mount's counter saw.
    """
    process = {"process": key, "program": f"/opt/{program}", "slice_ns": NS}
    process |= {"start_ns": NS * start, "end_ns": NS * (start + slices)}
    rows = []
    for number in range(start, start + slices):
        rows.append(
            {"process": key, "slice": number, "threads": 1, "read_bytes": mib * MIB, "read_ops": 10, "read_ns": NS}
        )
        if "fetched" in counted:
            rows.append(
                {
                    "process": key, "slice": number, "mount": 0, "layer": "kernel", "read_bytes": mib * MIB,
                    "kernel_read_bytes": counted["fetched"] * MIB,
                }
            )  # fmt: skip
    rows = [row | {name: round(value) for name, value in row.items() if name.endswith("bytes")} for row in rows]
    others = {}
    if "beside" in counted:
        others["collected"] = {
            "nodes": [{"process": key + 1, "host": "n1", "slice_ns": NS}],
            "node_devices": [{"process": key + 1, "device": 0, "kind": "nfs", "name": "/scratch"}],
            "node_slices": [{"process": key + 1, "slice": start + at, "sampled_ns": NS} for at in range(slices)],
            "node_nfs": [
                {"process": key + 1, "slice": start + at, "read_bytes": round((mib + counted["beside"]) * MIB)}
                for at in range(slices)
            ],
        }
    return build_profile(directory, [process], rows, [{"process": key, "type": "nfs4"}], **others)


@pytest.fixture
def neighbour(tmp_path) -> Path:
    return write(tmp_path / "neighbour", 900, FIRST, 40, "other")


def told_of(job: Path, neighbour: Path, given: list[Path], found: list[Path]) -> Blame:
    return blame(*digests([job]), digests([neighbour]), digests(given), digests(found))


def test_a_warm_run_is_none_for_a_cold_one(tmp_path, neighbour):
    """A cold run of 40 s beside another job; alone, cold, it takes 20 s, and from the page cache 4 s."""
    job = write(tmp_path / "job", 1, FIRST, 40, fetched=10)
    warm = write(tmp_path / "warm", 11, FIRST - 1000, 4, mib=100, fetched=1)
    cold = write(tmp_path / "cold", 21, FIRST - 2000, 20, mib=20, fetched=20)
    told = told_of(job, neighbour, [warm, cold], [])
    assert {run.job: run.is_taken for run in told.runs} == {"warm": False, "cold": True}
    assert told.baseline is not None
    assert told.baseline.runs == ["cold"]
    assert told.lost is not None
    assert told.lost.value == pytest.approx(20, rel=0.02)
    (line,) = [line for line in explanation(told) if line.startswith("warm:")]
    assert line == (
        "warm: not taken as a standalone run: it read 99 % of its bytes from the page cache, and this job 0 %: "
        "runs of different warmth are not compared."
    )
    assert "cold: taken as a standalone run." in explanation(told)


def test_a_cold_run_is_none_for_a_warm_one(tmp_path, neighbour):
    job = write(tmp_path / "job", 1, FIRST, 40, fetched=0)
    cold = write(tmp_path / "cold", 21, FIRST - 2000, 20, mib=20, fetched=20)
    told = told_of(job, neighbour, [cold], [])
    assert [run.is_taken for run in told.runs] == [False]
    assert told.confidence == "low"


def test_the_page_cache_is_named_where_it_is_the_reason(tmp_path, neighbour):
    job = write(tmp_path / "job", 1, FIRST, 40, fetched=10)
    warm = write(tmp_path / "warm", 11, FIRST - 1000, 4, mib=100, fetched=0)
    told = told_of(job, neighbour, [warm], [])
    assert told.confidence == "low"
    (note,) = [note for note in told.notes if "warm" in note]
    assert note.startswith("warm is no standalone run of it: it read 100 % of its bytes from the page cache")
    assert note.endswith("The page cache alone makes such runs differ")


def test_reads_that_nobody_counted_are_of_no_other_warmth(tmp_path, neighbour):
    """FUSE does not tell the kernel what it fetches: 0 for all runs."""
    job = write(tmp_path / "job", 1, FIRST, 40, fetched=0)
    alone = write(tmp_path / "alone", 11, FIRST - 1000, 20, mib=20, fetched=0)
    told = told_of(job, neighbour, [alone], [])
    assert [run.is_taken for run in told.runs] == [True]


@pytest.mark.parametrize("is_given", [True, False])
def test_a_run_beside_a_stranger_is_not_found(tmp_path, neighbour, is_given):
    """Whoever gives it must know."""
    job = write(tmp_path / "job", 1, FIRST, 40)
    beside = write(tmp_path / "beside", 11, FIRST - 1000, 30, mib=400 / 30, beside=5.0)
    alone = write(tmp_path / "alone", 21, FIRST - 2000, 20, mib=20, beside=0.0)
    told = told_of(job, neighbour, [beside] if is_given else [], [beside, alone])
    assert {run.job: run.is_taken for run in told.runs} == {"beside": is_given, "alone": True}
    if not is_given:
        (why,) = [run.why_not for run in told.runs if not run.is_taken]
        assert why == (
            "it was not alone: the NFS mount /scratch counted 150 MiB of programs without a profile meanwhile"
        )
        assert told.lost is not None
        assert told.lost.value == pytest.approx(20, rel=0.02)


def test_a_run_of_another_size_is_said_to_be_one(tmp_path, neighbour):
    job = write(tmp_path / "job", 1, FIRST, 40)
    same = write(tmp_path / "same", 11, FIRST - 1000, 20, mib=20)
    small = write(tmp_path / "small", 21, FIRST - 2000, 10, mib=20)
    told = told_of(job, neighbour, [], [same, small])
    assert {run.job: run.why_not for run in told.runs} == {
        "same": "",
        "small": "it is of another size: it moved other amounts than this job",
    }


def test_runs_with_company_are_named(tmp_path, neighbour):
    """Two runs of the program side by side, elsewhere in time, and one alone."""
    job = write(tmp_path / "job", 1, FIRST, 40)
    write(tmp_path / "one", 11, FIRST - 1000, 40)
    write(tmp_path / "two", 21, FIRST - 1000, 40)
    write(tmp_path / "alone", 31, FIRST - 2000, 20, mib=20)
    told = case_of(job).result()
    assert {run.job: run.is_taken for run in told.runs} == {"alone": True, "one": False, "two": False}
    assert "one: not taken as a standalone run: it had company on the same file system." in explanation(told)
