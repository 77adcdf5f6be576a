"""MPI's communication in C and Fortran: programs that compute, communicate and write, against their own clocks."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.job.split import split as split_of
from slicewise.digest.digest import Digest
from slicewise.profile.reader import Profile
from support.mpi import (
    BOTH_MPIS,
    LIBRARY,
    Job,
    Mpi,
    by_name,
    make_build,  # noqa: F401 fixture
    make_job,  # noqa: F401 fixture
)

RANKS = 2
ATTEMPTS = 4
LINE = re.compile(r"rank (\d+) mpi (\S+) io (\S+) all (\S+) calls (\d+) bytes (\d+)")
NOT_TIMED = ("life", "file")  # what the programs' clocks of MPI leave out
CALLS = ("posix", "stdio")
pytestmark = pytest.mark.parametrize("mpi", BOTH_MPIS, ids=by_name)


@dataclass(frozen=True)
class Split:
    """Seconds of a rank, its calls of MPI, and the bytes that they named."""

    mpi: float
    io: float
    runtime: float
    calls: int
    bytes: int


def told(output: str) -> dict[int, Split]:
    """What the program's own clock said, by rank."""
    return {
        int(rank): Split(float(mpi), float(io), float(runtime), int(calls), int(size))
        for rank, mpi, io, runtime, calls, size in LINE.findall(output)
    }


def of_rank(frame: pl.DataFrame, profile: Profile, rank: int) -> pl.DataFrame:
    return frame.join(profile.processes.filter(pl.col("rank") == rank).select("process"), on="process")


def classes(profile: Profile, rank: int) -> dict[str, dict[str, float]]:
    """Calls, seconds and bytes by class."""
    rows = of_rank(profile.communication, profile, rank).group_by("class").agg(pl.col("calls", "ns", "bytes").sum())
    return {row["class"]: row for row in rows.to_dicts()}


def file_seconds(profile: Profile, rank: int) -> float:
    """In POSIX and stdio calls on files."""
    files = profile.mounts.filter(pl.col("object") == "file").select("process", "mount")
    rows = of_rank(profile.slices, profile, rank).join(files, on=["process", "mount"])
    total = sum(
        rows.filter(pl.col("layer").is_in(CALLS))[f"{kind}_ns"].sum() for kind in ("read", "write", "meta", "sync")
    )
    return total / 1e9


def launched(mpi: Mpi, job: Job, *command: str | Path, **environment: str) -> tuple[Profile, dict[int, Split], str]:
    """A job of two ranks, in slices of half a second."""
    job.data.mkdir(exist_ok=True)
    settings = {"SLICEWISE_SLICE": "0.5"} | environment
    profile, output = job.run([*mpi.launcher, str(RANKS), *command], settings)
    splits = told(output)
    assert sorted(splits) == list(range(RANKS))
    return profile, splits, output


def assert_counts(profile: Profile, splits: dict[int, Split]) -> None:
    """Every rank's calls and bytes are the program's."""
    for rank, own in splits.items():
        timed = [row for name, row in classes(profile, rank).items() if name not in NOT_TIMED]
        assert sum(row["calls"] for row in timed) == own.calls
        assert sum(row["bytes"] for row in timed) == own.bytes


def is_split(profile: Profile, splits: dict[int, Split]) -> bool:
    """Whether every rank's computing, MPI and I/O are the program's within 3 % of its runtime."""
    for rank, own in splits.items():
        seen = classes(profile, rank)
        mpi = sum(row["ns"] for name, row in seen.items() if name not in NOT_TIMED) / 1e9
        io = file_seconds(profile, rank) + (seen["file"]["ns"] / 1e9 if "file" in seen else 0)
        differences = (mpi - own.mpi, io - own.io, mpi + io - own.mpi - own.io)
        if max(map(abs, differences)) > 0.03 * own.runtime:
            return False
    return True


def is_critical(profile: Profile, splits: dict[int, Split]) -> bool:
    """Whether it is rank 1, as it computes longest, and by what rank 0 waited for it."""
    found = split_of(Digest(profile))
    assert found is not None
    critical = found.phases.filter(pl.col("label").str.starts_with("rank 1"), pl.col("by") == "computing")
    waited = splits[0].mpi - splits[1].mpi
    return waited > 0 and abs(RANKS * critical["longer"].sum() - waited) < 0.1 * waited


def launched_until(
    is_right: Callable[[Profile, dict[int, Split]], bool], mpi: Mpi, job: Job, *command: str | Path
) -> tuple[Profile, str]:
    """A job whose clocks agree: on a busy machine a rank loses its processor between two clocks now and then."""
    for _ in range(ATTEMPTS):
        profile, splits, output = launched(mpi, job, *command)
        assert_counts(profile, splits)
        if is_right(profile, splits):
            return profile, output
    raise AssertionError(f"{splits} is not {[classes(profile, rank) for rank in splits]}")


@pytest.mark.parametrize("program", ["ping-pong", "halo", "collectives", "io", "mpi-io"])
def test_the_split_is_that_of_the_programs_own_clock(
    mpi: Mpi, build: Callable[..., Path], job: Job, program: str
) -> None:
    """And what the kernel counts of a process is there by slice."""
    checks = [is_split, is_critical] if program == "halo" else [is_split]
    profile, output = launched_until(
        lambda *found: all(check(*found) for check in checks), mpi, job, build(mpi, "mpi_split.c", "-pthread"),
        program, job.data,
    )  # fmt: skip
    for rank in range(RANKS):
        usage = of_rank(profile.usage, profile, rank)
        process = profile.processes.filter(pl.col("rank") == rank).row(0, named=True)
        assert usage["sampled_ns"].sum() == pytest.approx(process["end_ns"] - process["start_ns"], abs=20e6)
        until_finalize = int(re.search(rf"cpu of rank {rank}: (\d+) us", output)[1]) / 1e6
        processor = (usage["user_ns"] + usage["system_ns"]).sum() / 1e9
        assert until_finalize - 0.02 <= processor  # before it was profiled it took some
        assert processor <= usage["sampled_ns"].sum() / 1e9
        assert usage["peak_bytes"].max() > 1 << 20
        assert usage["minor_faults"].sum() > 100
        assert usage["slice"].n_unique() == usage.height


@pytest.mark.parametrize("interface", ["-DMPIF", "-DMPI", "-DF08"])
def test_the_split_of_a_fortran_program(mpi: Mpi, interface: str, build: Callable[..., Path], job: Job) -> None:
    launched_until(is_split, mpi, job, build(mpi, "mpi_split_fortran.f90", "-cpp", interface))


@pytest.mark.parametrize("way", ["barrier", "collective", "receive", "wait"])
def test_the_wait_for_a_slow_ranks_storage_is_attributed_to_it(
    mpi: Mpi, build: Callable[..., Path], job: Job, way: str
) -> None:
    def is_attributed(profile: Profile, splits: dict[int, Split]) -> bool:
        found = split_of(Digest(profile))
        assert found is not None
        held = sum(hold.seconds for hold in found.holds if hold.label.startswith("rank 0"))
        waited = splits[1].mpi - splits[0].mpi  # by the program's own clock
        own, other = found.processes["waiting"].to_list()
        critical = found.phases.filter(pl.col("label").str.starts_with("rank 0")).sort("longer", descending=True)
        return (
            abs(held - waited) < 0.05 * waited
            and abs(RANKS * critical["longer"].sum() - waited) < 0.05 * waited  # beyond the mean of both
            and critical.select("by", "sureness").head(1).rows() in ([("meta", "high")], [("meta", "medium")])
            and abs(other - waited) < 0.05 * waited
            and own < 0.05 * waited
            and waited > 0.5 * splits[0].io
        )

    program = build(mpi, "mpi_split.c", "-pthread")
    launched_until(is_attributed, mpi, job, program, "slow", job.data, "0.8", way)


def test_calls_of_several_threads_are_all_counted(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    profile, splits, _ = launched(mpi, job, build(mpi, "mpi_split.c", "-pthread"), "threads", job.data)
    assert_counts(profile, splits)


def test_a_tool_of_the_profiling_interface_works_beside(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    tool = build(mpi, "mpi_tool.c", "-shared")
    program = build(mpi, "mpi_split.c", "-pthread")
    both = f"{LIBRARY}:{tool}"
    profile, splits, output = launched(mpi, job, program, "collectives", job.data, LD_PRELOAD=both)
    assert output.count("sends 0 receives 0 reductions 50 barriers 50 waits 50") == RANKS
    assert_counts(profile, splits)


def test_a_tool_in_front_keeps_what_it_wraps_to_itself(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    tool = build(mpi, "mpi_tool.c", "-shared")
    program = build(mpi, "mpi_split.c", "-pthread")
    profile, _, output = launched(mpi, job, program, "collectives", job.data, LD_PRELOAD=f"{tool}:{LIBRARY}")
    assert output.count("sends 0 receives 0 reductions 50 barriers 50 waits 50") == RANKS
    assert {name: row["calls"] for name, row in classes(profile, 0).items()} == {
        "collective": 200,  # all but MPI_Allreduce
        "barrier": 50,  # MPI_Ibarrier
        "life": 1,  # MPI_Init
    }


def test_communication_is_not_counted_where_a_setting_says_so(mpi: Mpi, build: Callable[..., Path], job: Job) -> None:
    program = build(mpi, "mpi_split.c", "-pthread")
    profile, splits, _ = launched(mpi, job, program, "mpi-io", job.data, SLICEWISE_MPI="io")
    assert profile.communication.is_empty()
    moved = profile.sums.filter(pl.col("layer") == "mpiio_coll")["write_bytes"].sum()
    assert moved == RANKS * 50 * (1 << 20)
    assert all(own.calls > 0 for own in splits.values())
