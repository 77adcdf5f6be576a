"""Corners of MPI: neighbourhood collectives, persistent and partitioned requests, programs that MPI starts, sessions,
and the interface for tools. Each works under the library as it does bare, and its calls are counted once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl
import pytest
from slicewise.profile.reader import Profile
from support.mpi import (
    BOTH_MPIS,
    OPEN_MPI,
    Job,
    Mpi,
    by_name,
    make_build,  # noqa: F401 fixture
    make_job,  # noqa: F401 fixture
)

TIMES = 10  # as in mpi_corners.c
# Calls by class of the two ranks, beside MPI's begin and end.
CALLS = {
    "neighbours": [{"collective": 2 * TIMES, "wait": TIMES, "group": 2}] * 2,
    "tools": [{"barrier": TIMES}] * 2,
    "persistent": [{"message": TIMES, "wait": TIMES + 1}] * 2,  # MPI_Request_free is of waits, too
    "partitioned": [{"message": 1 + TIMES, "wait": 2}, {"message": 1, "test": TIMES, "wait": 2}],
    "session": [{"collective": TIMES, "group": 2}] * 2,
}
BEGIN_AND_END = 2


Calls = list[list[tuple[str, int]]]


def in_order(calls: Iterable[dict[str, int]]) -> Calls:
    """Calls by class of processes, in no process's order: without MPI_Init a process knows no rank."""
    return sorted(sorted(of.items()) for of in calls)


def counted(profile: Profile) -> Calls:
    """What all processes of MPI did together, without classes of no call."""
    rows = profile.communication.group_by("process", "class").agg(pl.col("calls").sum()).filter(pl.col("calls") > 0)
    of_process = rows.partition_by("process")
    return in_order(dict(rows.select("class", "calls").iter_rows()) for rows in of_process)


@pytest.mark.parametrize("mpi", BOTH_MPIS, ids=by_name)
@pytest.mark.parametrize("what", CALLS)
def test_calls_are_counted_once(mpi: Mpi, build: Callable[..., Path], job: Job, what: str) -> None:
    profile, output = job.run([*mpi.launcher, "2", build(mpi, "mpi_corners.c"), what])
    if "unknown" in output:
        pytest.skip(f"{by_name(mpi)} is older than MPI 4")  # and the program has run to its end
    assert counted(profile) == in_order({"life": BEGIN_AND_END} | calls for calls in CALLS[what])


@pytest.mark.parametrize("mpi", [OPEN_MPI], ids=by_name)  # Debian's MPICH starts none, bare neither
def test_a_program_that_mpi_starts_is_profiled_too(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    profile, _ = job.run([*mpi.launcher, "2", build(mpi, "mpi_corners.c"), "spawn"])
    both = {"life": BEGIN_AND_END, "group": 2}
    child = {"life": BEGIN_AND_END, "group": 1, "message": 1}
    assert counted(profile) == in_order([both, both | {"message": 1}, child])
