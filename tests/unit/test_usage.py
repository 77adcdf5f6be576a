"""What the kernel counted of a job's processes, and what is said of it."""

from types import SimpleNamespace

import polars as pl
import pytest
from slicewise.analysis.job.usage import usage
from slicewise.digest.schema import FRAMES
from slicewise.report.job.job_tables import usage_lines, usage_record, usage_table

S, MIB = 1_000_000_000, 1 << 20


def digest_of(faults: int) -> SimpleNamespace:
    """Two ranks of 10 s, the second with twice the processor time; and a launcher, which is no process of the job."""
    columns = FRAMES["usage"].polars_schema
    rows = [
        # process, slice, late, sampled, user, system, given up, taken away, minor, major, peak, waited, first thread
        (1, 0, 0, 5 * S, 1 * S, 1 * S, 10, 1, 100, faults, 7 * MIB, 1 * S, None),
        (1, 5, 0, 5 * S, 1 * S, 1 * S, 10, 1, 100, 0, 9 * MIB, 2 * S, None),
        (2, 0, 0, 10 * S, 6 * S, 2 * S, 5, 2, 50, 1, 3 * MIB, None, None),
        (3, 0, 0, 10 * S, 9 * S, 0, 5, 2, 50, 1, 99 * MIB, None, None),
    ]
    processes = pl.DataFrame(
        {
            "process": pl.Series([1, 2, 3], dtype=pl.UInt64), "label": ["rank 0", "rank 1", "mpirun"],
            "start_ns": [0, 0, 0], "end_ns": [10 * S] * 3, "is_of_job": [True, True, False],
        }
    )  # fmt: skip
    return SimpleNamespace(usage=pl.DataFrame(rows, schema=columns, orient="row"), processes=processes)


def test_the_kernels_counts_of_a_process_add_up_over_slices():
    found = usage(digest_of(300))
    first, second = found.processes.to_dicts()
    assert (first["label"], first["user"], first["system"], first["peak_bytes"]) == ("rank 1", 6.0, 2.0, 3 * MIB)
    assert (second["sampled"], second["voluntary_switches"], second["peak_bytes"]) == (10.0, 20, 9 * MIB)
    assert found.processor == pytest.approx(0.6)
    assert (first["delayed"], second["delayed"]) == (None, 3.0)
    assert found.most("peak_bytes") == ("rank 0", 9 * MIB)
    assert usage_table(found).rows
    assert [row["label"] for row in usage_record(found)] == ["rank 1", "rank 0"]


def test_page_faults_from_storage_are_told_where_they_are_many():
    [line] = usage_lines(usage(digest_of(300)))
    assert line == "301 page faults read memory from storage, in no call's time; rank 0 had most of them, 300."
    assert list(usage_lines(usage(digest_of(3)))) == []


@pytest.mark.parametrize(
    ("label", "said"),
    [("python3 82389", ["Python3 82389 waited 3.00 s of its 10.0 s for a processor."]), ("rank 0", [])],
)
def test_a_wait_for_a_processor_is_told(label, said):
    """Not of ranks: those that wait for others may spin."""
    digest = digest_of(3)
    digest.processes = digest.processes.with_columns(label=pl.Series([label, "rank 1", "mpirun"]))
    assert list(usage_lines(usage(digest))) == said


def test_without_counts_there_is_nothing_to_tell():
    empty = digest_of(0)
    empty.usage = empty.usage.clear()
    assert usage(empty) is None
    assert list(usage_lines(None)) == []
    assert usage_record(None) is None
