"""What a report says that profiling cost, against processor time in pairs: bare and profiled by turns."""

import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from slicewise import read
from slicewise.analysis.job.totals import profiler_cost
from support.programs import LIBRARY, Apps

CALLS = 20_000
ROUNDS = 6
FACTOR = 1.5


@pytest.fixture
def in_memory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="own-price-") as name:
        yield Path(name)


def least_ns(program: Path, kind: str, directory: Path, **environment: str) -> float:
    done = subprocess.run(
        [program, kind, str(CALLS)], cwd=directory, env={**os.environ, **environment}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return float(done.stdout)


@pytest.mark.parametrize("kind", ["open", "name", "directory", "transfer", "look", "items"])
def test_each_kind_of_call_costs_what_is_told(apps: Apps, tmp_path: Path, in_memory: Path, kind: str) -> None:
    """Least of many short stretches: whoever else runs only adds to a stretch. On a file system in memory. What pairs
    differ by themselves, no figure can be better than.
    """
    program = apps.build("own_price")
    bare, profiled, told = [], [], []
    with_library = {"LD_PRELOAD": str(LIBRARY), "SLICEWISE_DIR": str(tmp_path), "SLICEWISE_SITE_MS": "0"}
    for number in range(ROUNDS):
        bare.append(least_ns(program, kind, in_memory))
        profiled.append(least_ns(program, kind, in_memory, **with_library, SLICEWISE_JOB=str(number)))
        job = read(tmp_path / str(number))
        slow_paths = job.processes["profiler_ns"].sum()
        told.append((profiler_cost(job).seconds * 1e9 - slow_paths) / CALLS)
    added = min(profiled) - min(bare)
    unsure = sum(statistics.median(times) - min(times) for times in (bare, profiled))
    found = statistics.median(told)
    assert (added - unsure) / FACTOR <= found <= (added + unsure) * FACTOR, (added, unsure, told)
