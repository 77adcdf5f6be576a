"""What a disk moves for a job beside the bytes of its calls, its journal above all, is no stranger's."""

from __future__ import annotations

from pathlib import Path

import pytest
from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.result import Blame
from slicewise.report.blame import blame_words
from support.blame_trials import digests
from support.swz import build_profile

NS = 1_000_000_000
MIB, KIB = 1 << 20, 1 << 10
FIRST, SECONDS = 1_700_000_000, 30
COMMITS = 200  # a second


def database(directory: Path, journal_a_commit: int = 12 * KIB, beside: int = 0, start: int = FIRST) -> Path:
    """A job on ext4 that commits so often, 4 KiB each, with what its disk wrote: its bytes, its journal, and so many
    bytes a second of others.
    """
    process = {"process": 1 + start % 1000, "host": "n1", "program": "/usr/bin/sqlite3", "slice_ns": NS}
    process |= {"start_ns": NS * start, "end_ns": NS * (start + SECONDS)}
    own = {"write_bytes": 4 * KIB * COMMITS, "write_ops": COMMITS, "write_ns": NS // 20, "sync_ops": COMMITS}
    own |= {"sync_ns": NS // 2, "threads": 1, "process": process["process"]}
    wrote = own["write_bytes"] + journal_a_commit * COMMITS + beside
    run = {"process": 5000 + start % 1000}
    collected = {
        "nodes": [run | {"host": "n1", "slice_ns": NS}],
        "node_devices": [run | {"device": 0, "kind": "block", "name": "vdb"}],
        "node_slices": [run | {"slice": start + at, "sampled_ns": NS} for at in range(SECONDS)],
        "node_blocks": [run | {"device": 0, "slice": start + at, "write_bytes": wrote} for at in range(SECONDS)],
    }
    rows = [own | {"slice": start + at} for at in range(SECONDS)]
    mounts = [{"process": process["process"], "type": "ext4", "source": "/dev/vdb"}]
    return build_profile(directory, [process], rows, mounts, collected=collected)


def told_of(*jobs: Path) -> Blame:
    own, *runs = digests(jobs)
    return blame(own, [], runs)


def test_a_database_that_is_alone_is_not_told_to_run_alone(tmp_path):
    """Its journal is three times its bytes."""
    told = told_of(database(tmp_path / "job"))
    (traffic,) = told.traffic
    assert traffic.counted == traffic.profiled == 4 * KIB * COMMITS * SECONDS
    assert blame_words.headline(told).startswith("Nobody is known to have slowed job down")


def test_who_wrote_beside_a_database_is_still_seen(tmp_path):
    told = told_of(database(tmp_path / "job", beside=20 * MIB))
    (traffic,) = told.traffic
    assert traffic.counted is not None
    # The journal may be as large as 16 KiB a commit: what it was less than that hides as much of the others.
    others = traffic.counted - traffic.profiled
    assert others == pytest.approx(20 * MIB * SECONDS, rel=0.05)


def test_a_run_alone_is_not_taken_for_one_in_company(tmp_path):
    told = told_of(database(tmp_path / "job"), database(tmp_path / "alone", start=FIRST - 500))
    assert [run.is_taken for run in told.runs] == [True]
    assert not told.is_claimed
    assert not told.neighbours
