"""MPI-IO of one rank against strace: what MPICH does underneath is in the profile, call by call and byte by byte."""

import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
from slicewise.profile.reader import Profile
from support.mpi import APPS, MPICH, make_build, settings_of_mpi4py  # noqa: F401 fixture
from support.programs import Command, Job, total
from support.witness import unexplained, witness

# Made inside libc for functions that are counted by their own names (realpath, seekdir, closedir) or not at all
# (shm_unlink): the transports' shared memory, and the library's look at the machine.
INSIDE_LIBC = {"close", "lseek", "readlink", "unlink"}


def hold_against_strace(job: Job, command: Command, *also: str, **settings: str) -> Profile:
    seen = witness(job, command, **settings)
    assert seen.ended.status == 0, seen.ended.errors
    profile = job.profile()
    assert unexplained(profile, seen, {}).keys() <= INSIDE_LIBC | set(also)
    return profile


def test_fortran(build: Callable[..., Path], job: Job) -> None:
    """Strided and collective, by one rank: each byte reaches the file once, for MPI-IO and for what is below it."""
    edge, steps = 12, 3
    solution = job.data / "solution"
    profile = hold_against_strace(job, [build(MPICH, "mpi_block_tridiagonal.f90"), solution, str(edge), str(steps)])
    written = steps * 5 * edge**3 * 8
    assert solution.stat().st_size == written
    assert total(profile, "write_bytes", layers=["mpiio", "mpiio_coll"]) == written
    assert profile.files.filter(pl.col("path") == str(solution))["write_bytes"].to_list() == [written]


def test_mpi4py(tmp_path: Path, job: Job) -> None:
    command = [sys.executable, APPS / "mpi_python.py", job.data / "file"]
    # The interpreter reads its script and settings by stdio: their bytes are compared, not how many calls that took.
    profile = hold_against_strace(job, command, "file read calls", **settings_of_mpi4py(MPICH, tmp_path))
    assert total(profile, "write_bytes", layers=["mpiio", "mpiio_coll"]) == 4 * 4000
