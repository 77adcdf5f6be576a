"""MPI-IO that one call begins and another completes, in C, Fortran and Python: counted once, as long as both took."""

import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from slicewise.profile.reader import Profile
from support.mpi import (
    ALL_MPIS,
    APPS,
    BOTH_MPIS,
    MPICH,
    OPEN_MPI,
    OPEN_MPI_ROMIO,
    Job,
    Mpi,
    by_name,
    calls,
    make_build,  # noqa: F401 fixture
    make_job,  # noqa: F401 fixture
    settings_of_mpi4py,
    totals,
)

SOURCE = "mpi_nonblocking.c"
INT_BYTES = 4

# What an MPI cannot do by itself (seen without the library): the program hangs or dies.
BROKEN = {
    ("collective", OPEN_MPI_ROMIO): "its iwrite_all calls a null pointer",
    ("by_testall", MPICH): "MPICH 4.0's Testall of I/O fails an assertion",
    ("by_get_status", MPICH): "MPICH 4.0's Request_get_status of I/O never tells that it is complete",
    ("by_free", OPEN_MPI): "OMPIO's requests cannot be freed",
    ("short_reads", OPEN_MPI): "OMPIO's iread never completes at the end of a file",
    ("short_reads", OPEN_MPI_ROMIO): "its iread at the end of a file ends the program",
    ("short_split_read", OPEN_MPI): "OMPIO's split reads never complete at the end of a file",
    # On a busy machine 10 of 178 runs without the library, and 9 of 201 with it.
    ("threads", OPEN_MPI): "OMPIO hangs or crashes in one of twenty runs with several threads",
}


def launch(case: str, mpi: Mpi, build: Callable[..., Path], job: Job) -> Profile:
    if (case, mpi) in BROKEN:
        pytest.skip(f"{mpi.name}: {BROKEN[case, mpi]}")
    return job.launch(mpi, 2, build(mpi, SOURCE), case, job.data)


def mishaps(profile: Profile, rank: int) -> dict[str, int]:
    """Problems of MPI's operations; those of requests are ROMIO's, which makes its own with POSIX aio."""
    of_rank = profile.processes.filter(pl.col("rank") == rank).select("process")
    own = profile.mishaps.filter(~pl.col("mishap").str.starts_with("requests_")).join(of_rank, on="process")
    return {row["mishap"]: row["count"] for row in own.to_dicts()}


def time_ns(profile: Profile, rank: int, layer: str) -> int:
    of_rank = profile.processes.filter(pl.col("rank") == rank).select("process")
    return profile.slices.filter(pl.col("layer") == layer).join(of_rank, on="process")["write_ns"].sum()


def transfers(profile: Profile, rank: int, layer: str) -> tuple[int, int, int, int, int]:
    sums = totals(profile, rank, layer)
    return sums["read_ops"], sums["read_bytes"], sums["write_ops"], sums["write_bytes"], sums["errors"]


@pytest.mark.parametrize("mpi", ALL_MPIS, ids=by_name)
@pytest.mark.parametrize(
    ("case", "layer", "requests", "numbers"),
    [("independent", "mpiio", 3, 6000), ("collective", "mpiio_coll", 2, 3000), ("split", "mpiio_coll", 3, 6000)],
)
def test_requests(
    mpi: Mpi, case: str, layer: str, requests: int, numbers: int, build: Callable[..., Path], job: Job
) -> None:
    profile = launch(case, mpi, build, job)
    for rank in range(2):
        moved = INT_BYTES * (numbers + requests * rank)
        assert transfers(profile, rank, layer) == (requests, moved, requests, moved, 0)
        counted = calls(profile, rank)
        if case == "independent":
            for suffix in ("", "_at", "_shared"):
                assert counted[f"MPI_File_iread{suffix}"] == counted[f"MPI_File_iwrite{suffix}"] == 1
            assert counted["MPI_Wait"] == 6
            assert mishaps(profile, rank) == {}
        if case == "split":
            assert transfers(profile, rank, "mpiio") == (0, 0, 0, 0, 0)


# Reads and their bytes, writes and theirs, and errors of a rank; and its mishaps, where they are looked at.
CASES: dict[str, tuple[tuple[int, int, int, int, int], dict[str, int] | None]] = {
    "among_messages": ((6, 6 * 4000, 7, 4000 + 6 * 400, 0), None),  # requests of communication stay as they were
    "unseen": ((0, 0, 3, 3 * 4000, 0), {"completion_unseen": 3}),  # they complete behind our back
    "errors": ((0, 0, 1, 0, 2), None),
    "threads": ((0, 0, 8000, 8000 * 400, 0), {}),
    "bottom": ((1, 150 * INT_BYTES, 1, 150 * INT_BYTES, 0), None),  # no buffer, and a datatype that was freed
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mpi", ALL_MPIS, ids=by_name)
def test_each_is_counted_once(mpi: Mpi, case: str, build: Callable[..., Path], job: Job) -> None:
    profile = launch(case, mpi, build, job)
    moved, expected = CASES[case]
    for rank in range(2):
        assert transfers(profile, rank, "mpiio") == moved
        assert expected is None or mishaps(profile, rank) == expected
        assert case != "errors" or calls(profile, rank)["MPI_File_delete"] == 2


WAITS = ("wait", "waitall", "waitany", "waitsome")
TESTS = ("test", "testall", "testany", "testsome", "get_status")


@pytest.mark.parametrize("mpi", ALL_MPIS, ids=by_name)
def test_every_completion(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    """All in one run; of each the writes have a size of their own, so that none makes up for another."""
    possible = [call for call in (*WAITS, *TESTS, "free") if (f"by_{call}", mpi) not in BROKEN]
    profile = launch(",".join(f"by_{call}" for call in possible), mpi, build, job)
    elements = sum(10 * (1000 + place) for place in range(len(possible)))
    own_waits = 10 * ("get_status" in possible)
    names = (("MPI_Wait", WAITS, own_waits), ("MPI_Test", TESTS, 0), ("MPI_Request_free", ("free",), 0))
    for rank in range(2):
        assert transfers(profile, rank, "mpiio") == (0, 0, 10 * len(possible), elements * INT_BYTES, 0)
        counted = calls(profile, rank)
        for name, of, beside in names:
            among = len([call for call in of if call in possible])
            assert among <= counted.get(name, 0) - beside <= 10 * among, name
        assert mishaps(profile, rank) == {}


@pytest.mark.parametrize("mpi", ALL_MPIS, ids=by_name)
@pytest.mark.parametrize(
    ("case", "layer", "found"), [("short_reads", "mpiio", 800), ("short_split_read", "mpiio_coll", 200)]
)
def test_short_reads(mpi: Mpi, case: str, layer: str, found: int, build: Callable[..., Path], job: Job) -> None:
    profile = launch(case, mpi, build, job)
    for rank in range(2):
        assert totals(profile, rank, layer)["read_bytes"] == found


@pytest.mark.parametrize("mpi", ALL_MPIS, ids=by_name)
def test_time_is_from_submission_to_completion(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    profile = launch("left_alone", mpi, build, job)
    for rank in range(2):
        for layer in ("mpiio", "mpiio_coll"):
            assert totals(profile, rank, layer)["write_ops"] == 1
            assert 250e6 <= time_ns(profile, rank, layer) < 1e9


@pytest.mark.parametrize("mpi", BOTH_MPIS, ids=by_name)
def test_more_requests_than_the_table_holds(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    profile = launch("many_requests", mpi, build, job)
    for rank in range(2):
        assert transfers(profile, rank, "mpiio") == (0, 0, 5000, 5000 * 40, 0)
        (unseen,) = mishaps(profile, rank).values()
        assert 5000 - 4096 <= unseen <= 5000 - 3900  # not each place is within reach of a key's own


@pytest.mark.parametrize("mpi", ALL_MPIS, ids=by_name)
def test_attributes(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    profile = launch("attributes", mpi, build, job)
    once = ("set_size", "preallocate", "get_size", "set_info", "set_atomicity", "get_position_shared")
    for rank in range(2):
        assert {name: calls(profile, rank)[f"MPI_File_{name}"] for name in once} == dict.fromkeys(once, 1)
        assert totals(profile, rank, "mpiio")["meta_ops"] == 2
        assert totals(profile, rank, "mpiio_coll")["meta_ops"] == 4 + 2
        assert totals(profile, rank, "mpiio_coll")["errors"] == 0


def test_large_counts(build: Callable[..., Path], job: Job) -> None:
    profile = launch("large_counts", MPICH, build, job)
    for rank in range(2):
        assert transfers(profile, rank, "mpiio") == (1, 12000, 1, 4000, 0)
        assert transfers(profile, rank, "mpiio_coll") == (0, 0, 1, 8000, 0)


@pytest.mark.parametrize("module", ["mpi", "mpi_f08"])
@pytest.mark.parametrize("mpi", ALL_MPIS, ids=by_name)
def test_fortran(mpi: Mpi, module: str, build: Callable[..., Path], job: Job) -> None:
    options = ["-cpp", "-DF08"] if module == "mpi_f08" else ["-cpp"]
    profile = job.launch(mpi, 2, build(mpi, "mpi_nonblocking_fortran.f90", *options), job.data)
    for rank in range(2):
        assert transfers(profile, rank, "mpiio") == (1, 4000, 16, 16 * 4000, 0)
        assert transfers(profile, rank, "mpiio_coll") == (1, 4000, 1, 4000, 0)
        counted = calls(profile, rank)
        assert counted["MPI_File_iwrite_at"] == 16
        assert [counted[f"MPI_File_{name}"] for name in ("delete", "get_size", "set_size", "iread_at")] == [1] * 4
        assert mishaps(profile, rank) == {}


@pytest.mark.parametrize("mpi", BOTH_MPIS, ids=by_name)
def test_files_of_mpi4py(mpi: Mpi, tmp_path: Path, job: Job) -> None:
    mpi.tool("mpicc")
    program = (sys.executable, APPS / "mpi_python.py", job.data)
    profile = job.launch(mpi, 2, *program, environment=settings_of_mpi4py(mpi, tmp_path))
    for rank in range(2):
        assert transfers(profile, rank, "mpiio") == (1, 4000, 3, 3 * 4000, 0)
        assert transfers(profile, rank, "mpiio_coll") == (1, 4000, 1, 4000, 0)
        assert mishaps(profile, rank) == {}
