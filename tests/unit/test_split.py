"""Where a job's time went: computing, MPI and I/O, who held whom, and the efficiencies."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest
from slicewise.analysis.job.split import split
from slicewise.digest.schema import FRAMES
from slicewise.report.job.split_words import split_lines, split_table

SECOND = 1_000_000_000
KINDS = ("read", "write", "meta", "sync")


def digest_of(
    runtime: float, calls: list[tuple[int, int, str, float]], io: list[tuple[int, int, str, float]], ranks: int = 2
) -> SimpleNamespace:
    """A digest of ranks of one runtime. calls: rank, slice, class of MPI, seconds; io: rank, slice, kind, seconds. Each
    rank had a processor all the time.
    """
    sums = {kind: [sum(s for r, _, k, s in io if r == rank and k == kind) for rank in range(ranks)] for kind in KINDS}
    processes = pl.DataFrame(
        {
            "process": pl.Series(range(ranks), dtype=pl.UInt64),
            "rank": list(range(ranks)),
            "label": [f"rank {rank} on n" for rank in range(ranks)],
            "start_ns": [0] * ranks,
            "end_ns": [int(runtime * SECOND)] * ranks,
            "is_of_job": [True] * ranks,
            **{f"{kind}_ns": [int(seconds * SECOND) for seconds in sums[kind]] for kind in KINDS},
        }
    )
    slices = pl.DataFrame(
        [
            (rank, number, *(int(seconds * SECOND) if kind == one else 0 for one in KINDS))
            for rank, number, kind, seconds in io
        ],
        schema={"process": pl.UInt64, "slice": pl.Int64, **{f"{kind}_ns": pl.Int64 for kind in KINDS}},
        orient="row",
    )
    communication = pl.DataFrame(
        [(rank, number, name, 1, int(seconds * SECOND), 0) for rank, number, name, seconds in calls],
        schema=FRAMES["communication"].polars_schema,
        orient="row",
    )
    usage = pl.DataFrame(
        {"process": processes["process"], "slice": [0] * ranks, "sampled_ns": processes["end_ns"]},
        schema_overrides={"slice": pl.Int64},
    ).with_columns(user_ns=pl.col("sampled_ns"), system_ns=pl.lit(0))
    return SimpleNamespace(
        processes=processes, process_slices=slices, communication=communication, usage=usage, not_kept={}
    )


def test_the_parts_of_a_runtime_add_up_to_it():
    calls = [(0, 0, "barrier", 1.0), (0, 1, "life", 0.5), (1, 0, "wait", 2.0), (1, 0, "file", 0.25)]
    found = split(digest_of(10, calls, [(0, 0, "write", 2.0), (1, 0, "read", 0.75)]))
    first, second = found.processes.to_dicts()
    assert (first["mpi"], first["begin_and_end"], first["write"], first["computing"]) == (1.0, 0.5, 2.0, 6.5)
    assert (second["mpi"], second["mpi_io"], second["read"], second["computing"]) == (2.0, 0.25, 0.75, 7.0)
    assert first["idle"] == second["idle"] == 0


def test_what_a_process_had_no_processor_for_was_idle():
    digest = digest_of(10, [(0, 0, "barrier", 1.0), (1, 0, "barrier", 1.0)], [])
    digest.usage = digest.usage.with_columns(user_ns=pl.lit(4 * SECOND))
    assert split(digest).processes["idle"].to_list() == [5.0, 5.0]
    assert split(digest).processes["computing"].to_list() == [4.0, 4.0]


def test_waiting_is_time_in_collectives_beyond_the_fastest_ranks_slice_by_slice():
    calls = [(0, 0, "barrier", 1.0), (1, 0, "collective", 3.0), (0, 1, "collective", 2.0), (0, 1, "message", 1.0)]
    # Rank 1 was in no collective in slice 1, and rank 2 never in one.
    found = split(digest_of(10, [*calls, (2, 0, "message", 1.0)], [], ranks=3))
    assert found.processes["waiting"].to_list() == [2.0, 2.0, 0.0]


def test_a_slow_ranks_io_holds_the_others_up():
    calls = [(rank, number, "barrier", 0.9) for rank in (1, 2, 3) for number in (0, 1)]
    calls += [(0, number, "barrier", 0.1) for number in (0, 1)]
    found = split(digest_of(10, calls, [(0, 0, "write", 0.8), (0, 1, "write", 0.8)], ranks=4))
    [hold] = found.holds
    assert (hold.label, hold.kind, hold.held, hold.slices) == ("rank 0 on n", "write", 3, 2)
    assert hold.seconds == pytest.approx(1.6)
    assert "The writes of rank 0 on n held 3 other ranks up for 1.60 s." in list(split_lines(found))


def test_who_computes_for_longer_holds_nobody_up_by_io():
    found = split(digest_of(10, [(0, 0, "barrier", 0.1), (1, 0, "barrier", 3.1)], [(0, 0, "write", 0.5)]))
    assert [hold.seconds for hold in found.holds] == [pytest.approx(0.5)]  # no more than its I/O
    assert split(digest_of(10, [(0, 0, "barrier", 0.1), (1, 0, "barrier", 3.1)], [])).holds == []


def test_efficiencies_are_those_of_pop():
    calls = [(0, 0, "barrier", 2.0), (1, 0, "barrier", 4.0)]
    found = split(digest_of(10, calls, [(0, 0, "write", 2.0), (1, 0, "write", 2.0)])).efficiency
    assert found.load_balance == pytest.approx(5 / 6)  # 6 s and 4 s
    assert found.io == pytest.approx(6 / 8)
    assert found.communication == pytest.approx(8 / 10)
    assert found.parallel == pytest.approx(5 / 10)


def test_threads_that_overlap_are_told():
    found = split(digest_of(1, [(0, 0, "collective", 3.0), (1, 0, "collective", 0.5)], []))
    assert found.has_threads == 1
    assert any("several threads" in line for line in split_lines(found))
    assert split_table(found).rows


def test_a_job_without_calls_of_mpi_has_no_split():
    assert split(digest_of(10, [], [(0, 0, "write", 1.0)])) is None
    assert list(split_lines(None)) == []
