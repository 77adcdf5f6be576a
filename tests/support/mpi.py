"""Programs of MPI-IO: compiled with each MPI there is, run under the library as jobs, and what their profiles say."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from slicewise.profile.reader import Profile, read_profile
from support.programs import APPS, COLLECTOR, LIBRARY, TIMEOUT_SECONDS, compiled, need_built

LAUNCHES = 4  # of MPICH 4.0, which now and then aborts by itself, with or without us
SECONDS_TO_DIE = 5


@dataclass(frozen=True)
class Mpi:
    """One MPI as its packages name it, and how its launcher is called here."""

    name: str
    suffix: str
    packages: str
    launcher: tuple[str, ...]

    def tool(self, name: str) -> str:
        """The path of its compiler; skips the test where there is none."""
        path = shutil.which(f"{name}.{self.suffix}")
        if path is None:
            pytest.skip(f"{name}.{self.suffix} is missing: apt install {self.packages}")
        return path


OPEN_MPI = Mpi(
    "Open MPI", "openmpi", "openmpi-bin libopenmpi-dev gfortran",
    ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np"),
)  # fmt: skip
OPEN_MPI_ROMIO = Mpi(
    "Open MPI with ROMIO", "openmpi", OPEN_MPI.packages, (*OPEN_MPI.launcher[:-1], "--mca", "io", "romio321", "-np")
)
MPICH = Mpi("MPICH", "mpich", "mpich libmpich-dev gfortran", ("mpiexec.mpich", "-n"))
ALL_MPIS = (OPEN_MPI, OPEN_MPI_ROMIO, MPICH)
BOTH_MPIS = (OPEN_MPI, MPICH)


def settings_of_mpi4py(mpi: Mpi, folder: Path) -> dict[str, str]:
    """mpi4py asks for MPICH by the name that MPICH gives its library, and Debian another: a link in the folder."""
    for place in (Path("/usr/lib"), *Path("/usr/lib").glob("*-linux-gnu")):
        if (place / "libmpich.so.12").exists() and not (folder / "libmpi.so.12").exists():
            (folder / "libmpi.so.12").symlink_to(place / "libmpich.so.12")
    return {"MPI4PY_MPIABI": mpi.suffix, "LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"}


def by_name(mpi: Mpi) -> str:
    return mpi.name


@pytest.fixture(scope="session", name="build")
def make_build() -> Callable[..., Path]:
    """build(mpi, source, ...): the program (or with -shared the library) made of sources and options."""

    def build(mpi: Mpi, *parts: str) -> Path:
        compiler = mpi.tool("mpifort" if parts[0].endswith(".f90") else "mpicc")
        sources = [APPS / part for part in parts if not part.startswith("-")]
        options = [part for part in parts if part.startswith("-")]
        return compiled(f"{sources[0].stem}.{mpi.suffix}", [compiler, "-O1", "-g", "-fPIC", "-w", *options, *sources])

    return build


class Job:
    """Runs programs under the library, each as a job of its own below one directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"

    def run(self, command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> tuple[Profile, str]:
        """The profile of a command that must succeed, and what the command printed."""
        own = {"SLICEWISE_DIR": str(self.folder), "SLICEWISE_JOB": "job", "LD_PRELOAD": str(LIBRARY)}
        for _ in range(LAUNCHES if "mpich" in str(command[0]) else 1):
            shutil.rmtree(self.folder / "job", ignore_errors=True)
            done = subprocess.run(
                command, env=os.environ | own | dict(environment or {}), capture_output=True, text=True,
                timeout=TIMEOUT_SECONDS, check=False,
            )  # fmt: skip
            if done.returncode == 0:
                break
        assert done.returncode == 0, done.stdout + done.stderr
        assert "slicewise:" not in done.stderr
        profile = self.finished()
        assert profile.damage == []
        return profile, done.stdout

    def finished(self) -> Profile:
        """The profile after recovery: MPICH's launcher kills a process that takes its time after MPI_Finalize, as
        Python does, and does not wait until it is gone.
        """
        until = time.monotonic() + SECONDS_TO_DIE
        while True:
            subprocess.run([COLLECTOR, "recover", self.folder / "job"], check=True, stdout=subprocess.DEVNULL)
            profile = read_profile(self.folder / "job")
            if not profile.damage or time.monotonic() > until:
                return profile
            time.sleep(0.1)

    def launch(
        self, mpi: Mpi, ranks: int, *command: str | Path, environment: Mapping[str, str] | None = None
    ) -> Profile:
        if shutil.which(mpi.launcher[0]) is None:
            pytest.skip(f"{mpi.launcher[0]} is missing: apt install {mpi.packages}")
        profile, _ = self.run([*mpi.launcher, str(ranks), *command], environment)
        of_ranks = profile.processes.filter(pl.col("rank") >= 0).sort("rank")
        assert of_ranks["rank"].to_list() == list(range(ranks))
        assert of_ranks["ranks"].to_list() == [ranks] * ranks
        return profile


@pytest.fixture(name="job")
def make_job(tmp_path: Path) -> Job:
    need_built(LIBRARY)
    return Job(tmp_path)


def totals(profile: Profile, rank: int, layer: str, obj: str = "file") -> dict[str, int]:
    """Counters of a rank's slices in a layer, on mounts of a kind of object, added up."""
    rows = (
        profile.slices.join(profile.processes.filter(pl.col("rank") == rank).select("process"), on="process")
        .join(profile.mounts.select("process", "mount", "object"), on=["process", "mount"])
        .filter(pl.col("layer") == layer, pl.col("object") == obj)
    )
    sums = ("read_ops", "write_ops", "meta_ops", "sync_ops", "read_bytes", "write_bytes", "errors")
    return rows.select(pl.col(sums).sum()).row(0, named=True)


def calls(profile: Profile, rank: int) -> dict[str, int]:
    """How often a rank called each function of MPI."""
    rows = profile.calls.join(profile.processes.filter(pl.col("rank") == rank).select("process"), on="process")
    return {row["operation"]: row["calls"] for row in rows.to_dicts() if row["operation"].startswith("MPI_")}


def file_bytes(profile: Profile, path: Path, column: str) -> int:
    """What all processes moved to or from a file by POSIX and stdio."""
    return profile.files.filter(pl.col("path") == str(path))[column].sum()
