"""Corners of MPI: neighbourhood collectives, persistent and partitioned requests, one-sided calls, programs that MPI
starts, sessions, and the interface for tools. Each works under the library as it does bare, and its calls are counted
once.
"""

import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl
import pytest
from slicewise.digest.digest import Digest
from slicewise.digest.processes import with_world
from slicewise.profile.reader import Profile
from support.mpi import (
    APPS,
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
    "persistent": [{"message": TIMES, "wait": TIMES, "test": 1}] * 2,
    "partitioned": [{"message": 1 + TIMES, "wait": 1, "test": 1}, {"message": 1, "test": TIMES + 1, "wait": 1}],
    "session": [{"collective": TIMES, "group": 2}] * 2,
}
BEGIN_AND_END = 2
INT_BYTES = 4
# A rank's one-sided calls in mpi_corners.c, and how many numbers each call names as moved.
ONE_SIDED = {
    "put": (TIMES, 4), "put to nobody": (1, 0), "accumulate": (TIMES, 2), "fence": (4, 0), "get": (1, 4),
    "post, start, complete, wait": (4, 0), "locked get": (TIMES, 3), "lock, flush, unlock": (3 * TIMES, 0),
    "fetch and op": (TIMES, 1), "flush local, flush": (2, 0), "rput": (1, 4), "get accumulate": (1, 4),
    "lock all, flush all, sync, unlock all": (4, 0),
}  # fmt: skip
CALLS["one-sided"] = [
    {"one_sided": sum(calls for calls, _ in ONE_SIDED.values()), "barrier": 1, "wait": 1, "group": 2}
] * 2


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
    if what != "one-sided":
        return
    rows = profile.communication.group_by("process", "class").agg(pl.col("bytes").sum()).filter(pl.col("bytes") > 0)
    moved = INT_BYTES * sum(calls * numbers for calls, numbers in ONE_SIDED.values())
    assert rows.select("class", "bytes").rows() == [("one_sided", moved)] * 2


@pytest.mark.parametrize("mpi", [OPEN_MPI], ids=by_name)  # Debian's MPICH starts none, bare neither
def test_a_program_that_mpi_starts_is_profiled_too(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    profile, _ = job.run([*mpi.launcher, "2", build(mpi, "mpi_corners.c"), "spawn"])
    both = {"life": BEGIN_AND_END, "group": 2}
    child = {"life": BEGIN_AND_END, "group": 1, "message": 1}
    assert counted(profile) == in_order([both, both | {"message": 1}, child])
    ranks = Digest(profile).processes.filter(pl.col("rank") >= 0)
    assert ranks["label"].n_unique() == 3  # the child is rank 0, too
    parents, children = with_world(ranks).sort("world").partition_by("world", maintain_order=True)
    assert (parents["ranks"].to_list(), children["ranks"].to_list()) == ([2, 2], [1])


def test_the_standard_interface_of_mpi_5(tmp_path: Path, job: Job) -> None:
    """Its handles, requests and statuses are others than MPICH's own, although the same MPI may have both."""
    source, library, program = APPS / "mpi_standard_interface.c", tmp_path / "libmpi_abi.so", tmp_path / "program"
    subprocess.run(["gcc", "-DIS_LIBRARY", "-shared", "-fPIC", source, "-o", library], check=True)
    subprocess.run(["gcc", source, library, f"-Wl,-rpath,{tmp_path}", "-o", program], check=True)
    profile, _ = job.run([program, tmp_path / "file"])
    assert profile.processes.select("rank", "ranks").rows() == [(3, 5)]
    assert profile.sums.filter(pl.col("layer") == "mpiio")["read_ops"].sum() == 2
    assert profile.sums.filter(pl.col("layer") == "mpiio")["read_bytes"].sum() == 100 + 200  # as the statuses say
    assert profile.communication.filter(pl.col("class") == "message")["bytes"].sum() == 7
