"""The storage that jobs have in common, from what each of them moved."""

import polars as pl
from slicewise.analysis.runs.storage import apart_from_most, most_used, shared_storage

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
