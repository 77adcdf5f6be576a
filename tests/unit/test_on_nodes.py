"""Who took what a job waited for on its nodes, processors or memory, from files and from a catalog."""

from dataclasses import replace
from pathlib import Path

import pytest
from slicewise.analysis.blame.case import Case, case_of, kept_case
from slicewise.analysis.blame.on_nodes import words_of_nodes
from slicewise.catalog.kept import find_job
from slicewise.estimate import Estimate
from support.catalogs import catalog_of
from support.swz import build_profile

NS, MIB = 1_000_000_000, 1 << 20
FIRST, SECONDS = 1_700_000_000, 10


def job(directory: Path, number: int, computed: float, host: str = "n1", before: int = 0, waited: float = 0.0) -> Path:
    """A job of one process that began so many seconds before the others, and read a little."""
    start = FIRST - before
    process = {"process": number, "host": host, "program": "/usr/bin/python3", "slice_ns": NS}
    process |= {"start_ns": NS * start, "end_ns": NS * (FIRST + SECONDS)}
    used = {"process": number, "slice": start, "sampled_ns": NS * (before + SECONDS), "user_ns": round(computed * NS)}
    used |= {"delayed_ns": round(waited * NS), "first_thread_ns": round(computed * NS)}
    used |= {"peak_bytes": 2 << 30 if before else MIB}
    read = {"process": number, "read_bytes": MIB, "read_ops": 1, "read_ns": NS // 100, "threads": 1}
    slices = [read | {"slice": start + at} for at in range(before + SECONDS)]
    mounts = [{"process": number, "type": "ext4", "source": "/dev/sda1"}]
    return build_profile(directory, [process], slices, mounts, usage=[used])


@pytest.fixture
def jobs(tmp_path: Path) -> list[Path]:
    return [
        job(tmp_path / "waits", 1, 3.0, waited=6.0),
        job(tmp_path / "burn", 2, 18.0, before=10),
        job(tmp_path / "elsewhere", 3, 9.0, host="n2"),
        job(tmp_path / "idle", 4, 0.1),
    ]


def told(case: Case, has_names: bool = True) -> list[str]:
    return [note for note in case.result(has_names).notes if note.startswith("Processor time")]


def test_who_took_the_processors_is_named(jobs: list[Path]) -> None:
    case = case_of(jobs[0])
    assert told(case) == ["Processor time of others on its node meanwhile: burn 9.00 s"]
    assert told(case, has_names=False) == ["Processor time of others on its node meanwhile: 1 other job 9.00 s"]
    assert told(case_of(jobs[3])) == [], "it waited for none"


def test_a_catalog_names_the_same(jobs: list[Path], tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path / "catalog", *jobs)
    case, _ = kept_case(catalog, find_job(catalog, "waits"))
    assert told(case) == ["Processor time of others on its node meanwhile: burn 9.00 s"]


def test_who_had_the_memory_is_named(jobs: list[Path]) -> None:
    case = case_of(jobs[0])
    short = replace(case.result(), outside=None, delayed_seconds=None, memory_seconds=Estimate(2.0, 1.0, 3.0, ""))
    assert words_of_nodes(short, case.job, case.at_once(), has_names=True) == [
        "Memory of others on its node meanwhile: burn 2 GiB"
    ]
