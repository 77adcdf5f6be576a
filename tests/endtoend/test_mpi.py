"""MPI-IO as programs of both MPIs make it, from one library: bytes and calls of every layer against known answers."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest
from support.mpi import (
    ALL_MPIS,
    APPS,
    BOTH_MPIS,
    LIBRARY,
    MPICH,
    OPEN_MPI,
    OPEN_MPI_ROMIO,
    TIMEOUT_SECONDS,
    Job,
    Mpi,
    by_name,
    calls,
    file_bytes,
    make_build,  # noqa: F401 fixture
    make_job,  # noqa: F401 fixture
    totals,
)

RANKS = 4
INT_BYTES = 4

TRANSFERS = ("", "_at", "_all", "_at_all", "_shared", "_ordered")
COLLECTIVE = ("_all", "_at_all", "_ordered")
ELEMENTS = {suffix: 1000 * (i + 1) for i, suffix in enumerate(TRANSFERS)}


def bytes_of_every_routine(rank: int, suffixes: Sequence[str]) -> int:
    return sum(INT_BYTES * (ELEMENTS[suffix] + rank) for suffix in suffixes)


def calls_of_every_routine(init: str) -> dict[str, int]:
    once = [init, "MPI_Finalize", "MPI_File_open", "MPI_File_close", "MPI_File_sync", "MPI_File_set_view"]
    once += [f"MPI_File_{direction}{suffix}" for direction in ("read", "write") for suffix in TRANSFERS]
    return dict.fromkeys(once, 1) | {"MPI_File_seek": 4, "MPI_File_seek_shared": 2}


@pytest.mark.parametrize("mpi", ALL_MPIS, ids=by_name)
def test_every_routine_in_c(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    profile = job.launch(mpi, RANKS, build(mpi, "mpi_transfers.c"), "every_routine", job.data)
    independent = [suffix for suffix in TRANSFERS if suffix not in COLLECTIVE]
    for rank in range(RANKS):
        assert calls(profile, rank) == calls_of_every_routine("MPI_Init_thread")
        moved = bytes_of_every_routine(rank, independent)
        expected = {
            "read_ops": 3, "write_ops": 3, "meta_ops": 4, "sync_ops": 0, "read_bytes": moved, "write_bytes": moved,
            "errors": 0,
        }  # fmt: skip
        assert totals(profile, rank, "mpiio") == expected
        moved = bytes_of_every_routine(rank, COLLECTIVE)
        expected |= {"meta_ops": 5, "sync_ops": 1, "read_bytes": moved, "write_bytes": moved}
        assert totals(profile, rank, "mpiio_coll") == expected


@pytest.mark.parametrize("mpi", BOTH_MPIS, ids=by_name)
def test_levels_of_pcontrol_are_regions(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    profile = job.launch(mpi, 2, build(mpi, "mpi_control.c"), job.data)
    found = profile.regions.join(profile.processes.select("process", "rank"), on="process")
    for rank in range(2):
        own = found.filter(pl.col("rank") == rank).sort("begin_ns")
        assert own["name"].to_list() == 3 * ["solve", "MPI_Pcontrol 7"]
        assert own["write_bytes"].to_list() == 3 * [10 * (rank + 1), 0]
        assert (own["mpi_ns"] <= own["ns"]).all()
        assert own["mpi_ns"].min() > 0
    assert profile.mishaps.is_empty()


@pytest.mark.parametrize("module", ["mpi", "mpi_f08"])
@pytest.mark.parametrize("mpi", ALL_MPIS, ids=by_name)
def test_every_routine_in_fortran(mpi: Mpi, module: str, build: Callable[..., Path], job: Job) -> None:
    options = ["-cpp", "-DF08"] if module == "mpi_f08" else ["-cpp"]
    profile = job.launch(mpi, RANKS, build(mpi, "mpi_transfers_fortran.f90", *options), job.data)
    independent = [suffix for suffix in TRANSFERS if suffix not in COLLECTIVE]
    short_reads = 500 + 300
    expected_calls = calls_of_every_routine("MPI_Init")
    for name, more in {"open": 1, "close": 1, "write": 1, "read_at": 2}.items():
        expected_calls[f"MPI_File_{name}"] += more
    for rank in range(RANKS):
        assert calls(profile, rank) == expected_calls
        moved = bytes_of_every_routine(rank, independent)
        assert totals(profile, rank, "mpiio") == {
            "read_ops": 5, "write_ops": 4, "meta_ops": 4, "sync_ops": 0,
            "read_bytes": moved + short_reads, "write_bytes": moved + 1000, "errors": 0,
        }  # fmt: skip
        moved = bytes_of_every_routine(rank, COLLECTIVE)
        assert totals(profile, rank, "mpiio_coll") == {
            "read_ops": 3, "write_ops": 3, "meta_ops": 7, "sync_ops": 1,
            "read_bytes": moved, "write_bytes": moved, "errors": 0,
        }  # fmt: skip


@pytest.mark.parametrize("mpi", ALL_MPIS, ids=by_name)
def test_bytes_are_in_posix_again(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    profile = job.launch(mpi, RANKS, build(mpi, "mpi_transfers.c"), "whole_file", job.data)
    block = 8 * 65536
    for rank in range(RANKS):
        assert totals(profile, rank, "mpiio")["write_bytes"] == block
        assert totals(profile, rank, "mpiio_coll")["write_bytes"] == block
        assert totals(profile, rank, "mpiio")["write_ops"] == 8
    assert file_bytes(profile, job.data, "write_bytes") == 2 * block * RANKS == job.data.stat().st_size


@pytest.mark.parametrize("mpi", ALL_MPIS, ids=by_name)
def test_short_reads(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    profile = job.launch(mpi, 2, build(mpi, "mpi_transfers.c"), "short_reads", job.data)
    for rank in range(2):
        assert totals(profile, rank, "mpiio")["read_ops"] == 3
        assert totals(profile, rank, "mpiio")["read_bytes"] == 500 + 300 + 0
        assert file_bytes(profile, job.data.with_suffix(f".{rank}"), "read_bytes") == 500 + 300 + 0


@pytest.mark.parametrize("mpi", ALL_MPIS, ids=by_name)
def test_datatypes_count_by_size(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    profile = job.launch(mpi, 2, build(mpi, "mpi_transfers.c"), "datatypes", job.data)
    for rank in range(2):
        moved = 2 * 10 * 3 * INT_BYTES
        assert totals(profile, rank, "mpiio") == {
            "read_ops": 3, "write_ops": 3, "meta_ops": 0, "sync_ops": 0,
            "read_bytes": moved, "write_bytes": moved, "errors": 0,
        }  # fmt: skip


@pytest.mark.parametrize("mpi", ALL_MPIS, ids=by_name)
def test_errors_move_nothing(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    profile = job.launch(mpi, 2, build(mpi, "mpi_transfers.c"), "errors", job.data)
    for rank in range(2):
        independent, collective = totals(profile, rank, "mpiio"), totals(profile, rank, "mpiio_coll")
        assert (independent["write_ops"], independent["write_bytes"], independent["errors"]) == (2, 40, 1)
        assert (collective["meta_ops"], collective["errors"]) == (5, 1)


def test_large_counts(build: Callable[..., Path], job: Job) -> None:
    profile = job.launch(MPICH, 2, build(MPICH, "mpi_transfers.c"), "large_counts", job.data)
    for rank in range(2):
        assert calls(profile, rank)["MPI_File_write_at"] == 1
        assert totals(profile, rank, "mpiio")["write_bytes"] == 1000 * INT_BYTES
        assert totals(profile, rank, "mpiio_coll")["write_bytes"] == 2000 * INT_BYTES
        assert totals(profile, rank, "mpiio")["read_bytes"] == 3000 * INT_BYTES + 1000


@pytest.mark.parametrize("mpi", BOTH_MPIS, ids=by_name)
def test_threads(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    profile = job.launch(mpi, 2, build(mpi, "mpi_transfers.c"), "threads", job.data)
    for rank in range(2):
        assert calls(profile, rank)["MPI_File_open"] == calls(profile, rank)["MPI_File_close"] == 4 * 20
        assert totals(profile, rank, "mpiio")["write_ops"] == 4 * 20 * 50
        assert totals(profile, rank, "mpiio")["write_bytes"] == 4 * 20 * 50 * 100 * INT_BYTES


@pytest.mark.parametrize("mpi", [OPEN_MPI_ROMIO, MPICH], ids=by_name)
def test_a_name_that_chooses_a_driver(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    if not os.path.ismount("/dev/shm"):
        pytest.skip("/dev/shm is no file system of its own: the file's mount would prove nothing")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        profile = job.launch(mpi, 1, build(mpi, "mpi_transfers.c"), "whole_file", f"ufs:{folder}/data")
    of_mpiio = profile.slices.filter(pl.col("layer").str.starts_with("mpiio"))
    points = of_mpiio.join(profile.mounts, on=["process", "mount"])["point"].unique().to_list()
    assert points == ["/dev/shm"]


@pytest.mark.parametrize("mpi", BOTH_MPIS, ids=by_name)
def test_more_files_than_the_table_holds(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    profile = job.launch(mpi, 1, build(mpi, "mpi_transfers.c"), "many_files", job.data)
    known, other = totals(profile, 0, "mpiio"), totals(profile, 0, "mpiio", "other")
    assert known["write_ops"] + other["write_ops"] == 2 * 1300
    assert known["write_bytes"] + other["write_bytes"] == 2 * 1300 * 40
    assert 2 * 900 <= known["write_ops"] <= 2 * 1024  # not each place is within reach of a key's own


@pytest.mark.parametrize("mpi", BOTH_MPIS, ids=by_name)
def test_handles_pass_between_languages(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    profile = job.launch(mpi, 1, build(mpi, "mpi_handles.f90", "mpi_handles_in_c.c"), job.data)
    assert totals(profile, 0, "mpiio")["write_bytes"] == 300 * INT_BYTES
    assert totals(profile, 0, "mpiio", "other")["write_ops"] == 0
    assert totals(profile, 0, "mpiio_coll")["meta_ops"] == 4


@pytest.mark.parametrize("mpi", ALL_MPIS, ids=by_name)
def test_strided_collective_solver(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    edge, steps, ranks = 24, 5, 4
    profile = job.launch(mpi, ranks, build(mpi, "mpi_block_tridiagonal.f90"), job.data, str(edge), str(steps))
    block = 8 * 5 * edge**3 // ranks
    for rank in range(ranks):
        assert totals(profile, rank, "mpiio_coll") == {
            "read_ops": 1, "write_ops": steps, "meta_ops": 3, "sync_ops": 1,
            "read_bytes": block, "write_bytes": steps * block, "errors": 0,
        }  # fmt: skip
    assert file_bytes(profile, job.data, "write_bytes") == steps * ranks * block == job.data.stat().st_size


def test_namesakes_of_fortran_routines(tmp_path: Path, job: Job) -> None:
    library, program = tmp_path / "libnamesake.so", tmp_path / "namesake"
    subprocess.run(["gcc", "-DLIBRARY", "-shared", "-fPIC", APPS / "mpi_namesake.c", "-o", library], check=True)
    subprocess.run(["gcc", APPS / "mpi_namesake.c", library, f"-Wl,-rpath,{tmp_path}", "-o", program], check=True)
    profile, printed = job.run([program])
    assert printed == "hello 42 41 7\n"
    assert profile.processes["rank"].to_list() == [-1]


def test_a_program_without_mpi(job: Job) -> None:
    profile, printed = job.run(["/bin/echo", "hello"])
    assert printed == "hello\n"
    assert profile.processes.select("rank", "ranks").rows() == [(-1, 0)]
    assert profile.slices.filter(pl.col("layer").str.starts_with("mpiio")).is_empty()
    assert profile.calls.filter(pl.col("operation").str.starts_with("MPI_")).is_empty()


@pytest.mark.parametrize("mpi", BOTH_MPIS, ids=by_name)
def test_switched_off(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    command = [*mpi.launcher, "2", build(mpi, "mpi_transfers.c"), "every_routine", job.data]
    environment = os.environ | {"SLICEWISE_DIR": str(job.folder), "SLICEWISE_OFF": "1", "LD_PRELOAD": str(LIBRARY)}
    subprocess.run(command, env=environment, timeout=TIMEOUT_SECONDS, check=True)
    assert not list(job.folder.glob("**/*.swz"))


def test_error_handlers_that_jump_out_of_mpi(build: Callable[..., Path], job: Job) -> None:
    """Calls after it do not lie within the one that never returned. (MPICH itself does not outlive such a handler.)"""
    profile = job.launch(OPEN_MPI, 1, build(OPEN_MPI, "mpi_error_jumps.c"), job.folder)
    counted = calls(profile, 0)
    assert [counted[f"MPI_File_{name}"] for name in ("open", "write_at", "close")] == [5, 5, 5]
    assert totals(profile, 0, "mpiio")["write_bytes"] == 5 * 100 * INT_BYTES
