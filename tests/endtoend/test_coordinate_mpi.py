"""MPI jobs that take turns: every kind of collective transfer asks once, in C and in Fortran, and all ranks go on."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
from support.coordination import Coordinator, another_goes, assert_replays, coordinator, start_burst
from support.mpi import BOTH_MPIS, LAUNCHES, MPICH, OPEN_MPI, Mpi, by_name, make_build  # noqa: F401 fixture
from support.programs import LIBRARY, ROOT, Apps, Ended, Job

RANKS = 2
PART = 1 << 18
KINDS = ("all", "at_all", "ordered", "split_all", "split_at_all", "split_ordered", "request_all", "request_at_all")


def expected(dtype_bytes: int = 1) -> bytes:
    """The whole file: a part for each kind and rank, of one number each."""
    numbers = (16 * kind + rank for kind in range(len(KINDS)) for rank in range(RANKS))
    return b"".join(number.to_bytes(dtype_bytes, "little") * (PART // dtype_bytes) for number in numbers)


def launch(job: Job, mpi: Mpi, program: Sequence[str | Path], service: Coordinator, **settings: str) -> Ended:
    service.forget()
    mpi.tool("mpicc")
    ours = {"SLICEWISE_COORDINATE": "fcfs", "SLICEWISE_COORDINATE_AT": service.address} | settings
    return job.run([*mpi.launcher, str(RANKS), *program], **ours)


def succeed(mpi: Mpi, attempt: Callable[[], Ended]) -> None:
    """MPICH 4.0 now and then aborts by itself."""
    for _ in range(LAUNCHES if mpi is MPICH else 1):
        done = attempt()
        if done.status == 0:
            break
    assert (done.status, done.errors) == (0, "")


def steps(service: Coordinator) -> int:
    """How often a job asked and left: each is told by one event. It must have ended its phases."""
    events = service.events()
    assert events[-1]["event"] in ("release", "leave")
    informed = sum(event["event"] == "inform" for event in events)
    assert informed % 2 == 0
    return informed // 2


@pytest.mark.parametrize("option", ["C", "-cpp", "-DF08"])
@pytest.mark.parametrize("mpi", BOTH_MPIS, ids=by_name)
def test_every_kind_asks_in_c_and_fortran(
    mpi: Mpi, option: str, build: Callable[..., Path], job: Job, tmp_path: Path
) -> None:
    is_c, name = option == "C", tmp_path / "shared"
    in_c, in_fortran = ["mpi_turns.c"], ["mpi_turns_fortran.f90", "-cpp", option]
    with coordinator(tmp_path) as service:
        program = [build(mpi, *(in_c if is_c else in_fortran)), *["every"] * is_c, name]
        succeed(mpi, lambda: launch(job, mpi, program, service))
        assert steps(service) == (1 + is_c) * len(KINDS)
    assert name.read_bytes() == (expected() if is_c else expected(4))
    assert_replays(service)


@pytest.mark.parametrize(
    ("mpi", "kind", "waits"),
    [
        (OPEN_MPI, "ordered", [1, 1]),
        (MPICH, "split_all", [1, 1]),
        (OPEN_MPI, "request_at_all", [1, 0]),
        (MPICH, "request_all", [1, 0]),
    ],
    ids=lambda value: value.name if isinstance(value, Mpi) else value if isinstance(value, str) else "",
)
def test_who_waits(
    mpi: Mpi, kind: str, waits: list[int], build: Callable[..., Path], job: Job, apps: Apps, tmp_path: Path
) -> None:
    """A transfer that may not wait for other ranks has rank 0 wait alone; the wait is no part of its time."""
    name = tmp_path / "shared"
    program = [build(mpi, "mpi_turns.c"), kind, name]

    def beside_another() -> Ended:
        with another_goes(job, apps.build("burst"), service, seconds=1):
            return launch(job, mpi, program, service)

    with coordinator(tmp_path, "--policy", "fcfs") as service:
        succeed(mpi, beside_another)
    place = KINDS.index(kind) * RANKS
    assert name.read_bytes()[place * PART :] == expected()[place * PART : (place + RANKS) * PART]
    profile = job.profile()
    ranks = profile.processes.filter(pl.col("rank") >= 0).sort("rank")
    assert ranks["waits"].to_list() == waits
    assert ranks["waited_ns"][0] > 0.3e9
    collective = profile.slices.filter(pl.col("layer") == "mpiio_coll", pl.col("process") == ranks["process"][0])
    assert collective["write_ops"].sum() == 1
    assert collective["write_ns"].sum() < ranks["waited_ns"][0]
    assert_replays(service)


@pytest.mark.parametrize("mpi", BOTH_MPIS, ids=by_name)
def test_a_rank_that_waits_for_nobody_goes_on(mpi: Mpi, build: Callable[..., Path], job: Job, tmp_path: Path) -> None:
    """Rank 0 never tells whether to go: the other one waits for it once, and both do what they should."""
    name = tmp_path / "shared"
    with coordinator(tmp_path) as service:
        program = [build(mpi, "mpi_turns.c", "-DUNLIKE"), "at_all", name]
        began = time.monotonic()
        succeed(mpi, lambda: launch(job, mpi, program, service, SLICEWISE_COORDINATE_DEADLINE="1"))
        assert time.monotonic() - began > 1
        assert service.events()[1:] == []
    place = KINDS.index("at_all") * RANKS
    assert name.read_bytes()[place * PART :] == expected()[place * PART : (place + RANKS) * PART]


@pytest.mark.parametrize("step", ["round", "file"])
def test_where_a_collective_call_lets_others_go(
    step: str, build: Callable[..., Path], job: Job, apps: Apps, tmp_path: Path
) -> None:
    """Between the rounds of one call a rank that writes waits; a file that is open keeps the turn."""
    name, hints = tmp_path / "shared", tmp_path / "hints"
    hints.write_text("cb_buffer_size 1048576\ncb_config_list *:2\nromio_cb_write enable\n")
    slow = apps.build("slow_writes", "-shared", "-fPIC", "-ldl", "-DPAUSE_US=100000", "-DLEAST_BYTES=65536")
    settings = {"SLICEWISE_COORDINATE_BY": step, "SLICEWISE_COORDINATE_BURST": "2", "ROMIO_HINTS": str(hints)}
    program = build(MPICH, "mpi_turns.c", "-DPART_BYTES=16777216")

    def beside_another() -> Ended:
        with ThreadPoolExecutor(1) as beside:
            large = ["env", f"LD_PRELOAD={LIBRARY}:{slow}", program, "at_all", name]
            service.forget()
            running = beside.submit(launch, job, MPICH, large, service, **settings)
            service.await_event("authorise")
            time.sleep(0.1)
            other = start_burst(job, apps.build("burst"), "other", 30, 20, SLICEWISE_COORDINATE_AT=service.address)
            done = running.result()
            assert other.wait(60) == 0
            return done

    with coordinator(tmp_path, "--policy", "interrupt") as service:
        succeed(MPICH, beside_another)
        asked = sum(event["event"] == "inform" and event["job"] == 1 for event in service.events())
    ranks = job.profile().processes.filter(pl.col("rank") >= 0)
    if step == "file":
        assert asked == 1
    else:
        assert ranks["waited_ns"].max() > 0.1e9  # another rank may wait for this one within MPI meanwhile
    assert_replays(service)


@pytest.mark.parametrize("mpi", BOTH_MPIS, ids=by_name)
def test_a_program_tells_of_a_phase_by_an_mpi_info(
    mpi: Mpi, build: Callable[..., Path], job: Job, tmp_path: Path
) -> None:
    library = ["-Wl,--no-as-needed", f"-L{LIBRARY.parent}", "-lslicewise-coordinate", f"-Wl,-rpath,{LIBRARY.parent}"]
    program = build(mpi, "mpi_info_turns.c", f"-I{ROOT / 'interface'}", *library)
    with coordinator(tmp_path) as service:
        succeed(mpi, lambda: launch(job, mpi, [program], service))
        informed = [event for event in service.events() if event["event"] == "inform"]
    assert {one["bytes"] for one in informed} <= {3200, 6400}  # of one rank, or of both
    assert {(one["period"], one["targets"]) for one in informed} == {(30.0, "0000000000000005")}
