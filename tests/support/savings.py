"""What to change, held against a stopwatch: a program as it was, and as it is told to be."""

import os
import subprocess
import tempfile
from pathlib import Path

from support.command_line import json_of
from support.programs import BUILD, LIBRARY, Apps, need_built

SLICEWISE = BUILD / "venv/bin/slicewise"
# Of the saving: what else runs on this machine makes runs differ.
NOISE = 0.2
BARE_RUNS = 3
MIB = 1 << 20


def saving_holds(apps: Apps, before: str, after: str, kind: str, mib: int = 0, is_of_processor: bool = False) -> None:
    """Asserts that the advice for a habit of tests/apps/habits.c comes, saves what it says, and is gone afterwards.

    mib: of cold files. Of looks a run shows the most that can be saved. What a disk does in the same time differs from
    run to run; where the processor has all the work the run before is one without profiling.
    """
    need_built(LIBRARY)
    program = apps.build("habits")
    with tempfile.TemporaryDirectory(dir=BUILD) as name:  # on a disk, where a sync costs something
        folder = Path(name)
        run = [SLICEWISE, "run", "--dir", folder, "--job"]
        seconds = 4 if kind in ("locks", "looks") else 2  # of which half the processes wait, or half is told
        cold_files(folder, mib)
        steps, took_profiled = did([*run, "before", "--", program, before, folder / "file", f"{seconds}s"]).split()[:2]
        took = {before: float(took_profiled)}
        if is_of_processor:  # of several, the one that waited least for a processor
            took[before] = min(took_by(program, before, folder, mib, steps) for _ in range(BARE_RUNS))
        took[after] = took_by(program, after, folder, mib, steps)
        did([*run, "after", "--", program, after, folder / "file", "10"])
        (one,) = advice(folder / "before")
        assert one["kind"] == kind
        assert one["site"][-2]["file"].endswith("habits.c")
        saving, saved = one["saving_seconds"], took[before] - took[after]
        assert (1 - NOISE) * saving["low"] <= saved <= (1 + NOISE) * saving["high"], (saving, took)
        assert advice(folder / "after") == []


def took_by(program: Path, way: str, folder: Path, mib: int, steps: str) -> float:
    cold_files(folder, mib)
    return float(did([program, way, folder / "file", steps]).split()[1])


def cold_files(folder: Path, mib: int) -> None:
    """Two files, none of which is in the page cache."""
    for path, size in ((folder / "file", mib), (folder / "file.large", min(mib, 32))) if mib else ():
        if not path.exists():
            path.write_bytes(os.urandom(MIB) * size)
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def did(command: list[object]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def advice(job: Path) -> list[dict]:
    return json_of("report", job, "--html", job.parent / "page.html")["advice"]
