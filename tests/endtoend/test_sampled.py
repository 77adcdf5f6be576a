"""Programs that no library can profile, beside ones that are: their bytes by slice against the kernel's own count."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import shutil
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.coverage import coverage
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from support.programs import APPS, BUILD, LIBRARY, Apps, need, need_built

SLICEWISE = BUILD / "bin" / "slicewise"
SLICE_NS = 2_000_000_000
SECONDS = 11
# Of a slice's bytes, and of what the run moved in a slice on average.
TOLERANCE = 0.05


class Witness:
    """Reads what the kernel counted of a program, some hundred times a slice."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._readings: list[tuple[int, int]] = []  # when, and bytes written

    def watch(self, job: subprocess.Popen) -> None:
        io = None
        while job.poll() is None:
            time.sleep(0.02 if io else 0.1)
            io = io or self._of_program()
            with contextlib.suppress(OSError):
                if io:
                    self._readings.append((time.time_ns(), int(io.read_text().split()[3])))

    def by_slice(self) -> dict[int, int]:
        """Bytes written in each slice that lies between two readings as a whole."""
        first, last = self._readings[0][0] // SLICE_NS + 1, self._readings[-1][0] // SLICE_NS
        turns = [self._until(number * SLICE_NS) for number in range(first, last + 1)]
        return {first + place: after - before for place, (before, after) in enumerate(itertools.pairwise(turns))}

    def _until(self, time_ns: int) -> int:
        after = bisect.bisect_left(self._readings, (time_ns,))
        (begin, before), (end, count) = self._readings[after - 1 : after + 1]
        return before + (count - before) * (time_ns - begin) // (end - begin)

    @property
    def last(self) -> int:
        return self._readings[-1][1]

    def _of_program(self) -> Path | None:
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "exe").readlink().name == self._program:
                    return process / "io"
        return None


@pytest.fixture(scope="session")
def static_program(apps: Apps, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shutil.copy(apps.build("paced_writer", "-static"), tmp_path_factory.mktemp("static") / "paced-static")


@pytest.fixture(scope="session")
def go_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("go")
    folder = tmp_path_factory.mktemp("go")
    shutil.copy(APPS / "paced_writer.go", folder / "main.go")
    (folder / "go.mod").write_text("module writer\n\ngo 1.18\n")
    settings = {
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOCACHE": str(folder / "cache"),
        "PATH": "/usr/bin:/usr/local/go/bin",
    }
    subprocess.run(["go", "build", "-o", "paced-go", "."], cwd=folder, env=settings, check=True)
    return folder / "paced-go"


@pytest.fixture
def run(tmp_path: Path):
    """run(command, program) under `slicewise run`: the job's digest and what the kernel counted of the program."""
    need_built(SLICEWISE, LIBRARY)

    def start(command: list[str | Path], program: str) -> tuple[Digest, Witness]:
        witness = Witness(program)
        options = ["--dir", tmp_path / "profiles", "--job", "job", "--slice", str(SLICE_NS / 1e9)]
        with subprocess.Popen(
            [SLICEWISE, "run", *options, "--", *command], cwd=tmp_path, stderr=subprocess.PIPE
        ) as job:
            witness.watch(job)
        profile = read_profile(tmp_path / "profiles" / "job")
        assert profile.damage == []
        return Digest(profile), witness

    return start


def assert_is_the_kernels(digest: Digest, witness: Witness, name: str) -> None:
    (one,) = [one for one in coverage(digest).sampled if Path(one.program).name == name]
    sampled = dict(digest.sampled_slices.group_by("slice").agg(pl.col("write_bytes").sum()).iter_rows())
    counted = witness.by_slice()
    assert len(counted) >= 3
    for number, count in counted.items():
        assert sampled[number] == pytest.approx(
            count, rel=TOLERANCE, abs=TOLERANCE * witness.last * SLICE_NS / 1e9 / SECONDS
        ), number
    assert one.write_bytes <= witness.last * (1 + TOLERANCE)
    assert one.write_bytes >= witness.last * (1 - TOLERANCE)


@pytest.mark.flaky(reruns=3)  # by slice: who looks late sees two of them as one
def test_a_static_program_is_sampled_slice_by_slice(run, static_program):
    script = f"{static_program} {SECONDS} data & dd if=/dev/zero of=other bs=1M count=3 2>/dev/null; wait"
    digest, witness = run(["sh", "-c", script], static_program.name)
    assert_is_the_kernels(digest, witness, static_program.name)
    assert digest.about["write_bytes"] == 3 << 20  # what dd wrote, and nothing that was sampled
    assert coverage(digest).sampled[0].reason == "static"


@pytest.mark.flaky(reruns=3)  # by slice: who looks late sees two of them as one
def test_a_go_program_is_sampled_slice_by_slice(run, go_program):
    digest, witness = run(["sh", "-c", f"echo begun > begun; {go_program} {SECONDS} data; true"], go_program.name)
    assert_is_the_kernels(digest, witness, go_program.name)
    assert coverage(digest).sampled[0].reason == "go"


@pytest.mark.flaky(reruns=3)  # as above
@pytest.mark.parametrize("binding", ["without", "with"])
def test_a_process_in_a_container_counts_once(run, apps, binding, tmp_path):
    """In bwrap's namespaces of processes, users and mounts: without the library it is sampled, with it profiled."""
    need("bwrap")
    program = shutil.copy(apps.build("paced_writer"), tmp_path / f"paced-{binding}")
    container = [
        "bwrap",
        "--unshare-pid",
        "--unshare-user",
        "--bind",
        "/",
        "/",
        "--dev-bind",
        "/dev",
        "/dev",
        "--proc",
        "/proc",
    ]
    if binding == "without":
        container += ["--unsetenv", "LD_PRELOAD", "--setenv", "SLICEWISE_OFF", "1"]
    command = [*container, program, str(SECONDS), "data"]
    quoted = " ".join(map(str, command))
    digest, witness = run(["sh", "-c", f"echo begun > begun; {quoted}; true"], program.name)
    names = [Path(one.program).name for one in coverage(digest).sampled]
    if binding == "without":
        assert_is_the_kernels(digest, witness, program.name)
    else:
        own = digest.processes.filter(pl.col("program") == program.name)
        assert own["write_bytes"].sum() == pytest.approx(witness.last, rel=TOLERANCE)
        assert program.name not in names


def test_a_thousand_short_processes_are_profiled_and_none_is_sampled(run):
    """A shell loop: each process counts by itself, however short it is."""
    count = 1000
    script = f"i=0; while [ $i -lt {count} ]; do /bin/echo $i >> out; i=$((i + 1)); done"
    digest, _ = run(["sh", "-c", script], "nobody")
    echoes = digest.processes.filter(pl.col("program").str.contains("echo|coreutils"))
    assert echoes.height == count
    written = digest.coverage.join(echoes, on="process", how="semi")
    assert (
        written["write_seen"].sum()
        == written["write_kernel"].sum()
        == sum(len(f"{number}\n") for number in range(count))
    )
    assert coverage(digest).sampled == []
