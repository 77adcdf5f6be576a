"""The storage that jobs have in common, from what each of them moved."""

from pathlib import Path

import polars as pl
from slicewise.analysis.runs.storage import apart_from_most, describe, most_used, shared_storage, storage_of
from support.blame_trials import digests
from support.swz import build_profile

SCHEMA = {"storage": pl.UInt64, "bytes": pl.Int64}


def moved(**on: int) -> pl.DataFrame:
    """A job's bytes by storage: moved(s1=5, s2=7)."""
    rows = [(int(name[1:]), size) for name, size in on.items()]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def test_the_shared_storage_is_the_one_where_the_smallest_job_moved_most():
    jobs = [moved(s1=100, s2=10, s3=9), moved(s2=8, s3=9)]
    assert shared_storage(jobs) == 3
    assert shared_storage([moved(s1=1), moved(s2=1)]) is None
    assert shared_storage([moved(s1=100, s2=4), moved(s1=100, s2=90)], 0.05) == 1


def test_the_most_used_storage_is_that_of_most_jobs_and_not_of_most_bytes():
    jobs = {"a": moved(s1=1, s2=900), "b": moved(s1=1), "c": moved(s3=9)}
    assert most_used(jobs.values()) == (1, 2)
    assert apart_from_most(jobs) == (1, ["c"])
    assert apart_from_most({"a": moved(s1=1), "c": moved(s3=9)}) is None


def test_jobs_that_wait_somewhere_share_that_and_not_where_their_libraries_are(tmp_path):
    """Two storms of small synced files wrote 0.2 MiB in 10 s, and read 2 MiB of Python's modules from memory in 2 ms:
    predict had 2 ms for their I/O.
    """
    one, two = (storm(tmp_path / name, number) for number, name in enumerate(("one", "two"), 1))
    assert describe(storage_of(digests(one, two), ""), digests(one)).source == "/dev/work"


def storm(directory: Path, number: int) -> Path:
    second, first = 10**9, 1_700_000_000
    process = {"process": number, "host": "n1", "program": "/usr/bin/python3", "slice_ns": second}
    process |= {"start_ns": first * second, "end_ns": (first + 10) * second, "ending": "exit"}
    there = {"process": number, "threads": 1}
    loaded = there | {"slice": first, "read_bytes": 2 << 20, "read_ops": 200, "read_ns": 2_000_000, "mount": 0}
    wrote = there | {"write_bytes": 20_000, "write_ops": 200, "sync_ops": 200, "sync_ns": second, "mount": 1}
    mounts = [
        {"process": number, "mount": at, "type": "ext4", "source": source, "point": point}
        for at, (source, point) in enumerate((("/dev/system", "/"), ("/dev/work", "/work")))
    ]
    return build_profile(directory, [process], [loaded, *(wrote | {"slice": first + at} for at in range(10))], mounts)
