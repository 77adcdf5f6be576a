"""The demo: two MPI jobs of different size, each alone and then both at once on the same storage, profiled and
compared.

Run by `make demo` as `python -m interference BUILD`, with tests/ and demo/ on the path. What it makes beside the
profiles and the page (files, control groups, processes) is gone when it ends, however it ends.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, NoReturn

from slicewise.running.started import started
from testbed.contention import Contention, contention
from testbed.disk import MIB

SECONDS_ALONE = 10
MOST_VOLUME = 3 << 30  # a job's; a fast disk is not worn for a demo
FILES_BYTES = 48 * MIB  # a job's, gone over again and again
SLICES_SECONDS = (1.0, 0.5, 0.2, 0.1)
FEWEST_SLICES = 10  # of a job alone
MOST_ATTEMPTS = 3  # where the machine is busy with something else
SURE_ENOUGH = ("high", "medium")
SECONDS_TO_SPARE = 0.3  # at the common start, beside what the jobs took to start alone; a longer wait is told as lost


@dataclass(frozen=True)
class Job:
    """One of the two competing jobs."""

    name: str
    processes: int


JOBS = (Job("large", 6), Job("small", 2))


@dataclass(frozen=True)
class Load:
    """What each job writes, and the slices that it is profiled with."""

    repeats: int
    slice_seconds: float

    @property
    def volume_mib(self) -> int:
        return self.repeats * FILES_BYTES // MIB


@dataclass(frozen=True)
class Places:
    """build: the build tree. profiles, page: what stays. storage: where the jobs write."""

    build: Path
    profiles: Path
    page: Path
    storage: Path


class Failed(Exception):
    """Why the demo could not go on."""


def main(build: Path) -> None:
    """Runs the demo; exits with status 1 and one line if a part of it fails."""
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, _interrupt)
    try:
        for attempt in range(1, MOST_ATTEMPTS + 1):
            places = _measured(build, is_first=attempt == 1)
            doubt = _doubt(places)
            if not doubt:
                break
            print(f"\nThese runs say too little: {doubt}. This machine seems to be busy with something else.")
            if attempt < MOST_ATTEMPTS:
                print(f"Measuring again ({attempt + 1} of {MOST_ATTEMPTS}).\n", flush=True)
            else:
                print("The figures below are of the last attempt. Try again where less else is going on.", flush=True)
        _compare(places)
    except Failed as reason:
        sys.exit(f"demo: {reason}")
    except KeyboardInterrupt:
        sys.exit("demo: interrupted; all that it had started is gone")


def _measured(build: Path, is_first: bool) -> Places:
    """Runs each job alone and then both at once. is_first: how is said, too."""
    with _places(build) as places, contention(places.storage) as shared:
        load = _load_for(shared)
        if is_first:
            _say_how(shared, load)
        took_to_start = [
            _run(f"{number}/3", places, shared, load, {f"{job.name}-alone": job}) for number, job in enumerate(JOBS, 1)
        ]
        start_at = time.time() + sum(took_to_start) + SECONDS_TO_SPARE
        _run("3/3", places, shared, load, {job.name: job for job in JOBS}, start_at)
    return places


def _doubt(places: Places) -> str:
    """Why the runs do not show what the demo is for; nothing where they do."""
    overlap, blame = (json.loads(_said(command)) for command in _questions(places, "--json"))
    if not overlap["contended"]:
        return str(overlap["contention"]["evidence"]).rstrip(".")
    if blame["confidence"] not in SURE_ENOUGH:
        return str(blame["unknown_because"] or f"confidence in the answer is {blame['confidence']}").rstrip(".")
    return ""


def _said(command: Sequence[str]) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"slicewise {command[1]} failed")
    return done.stdout


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


@contextlib.contextmanager
def _places(build: Path) -> Iterator[Places]:
    """A new directory for this run, so that nothing of an earlier one, interrupted maybe, gets into its profiles."""
    demo = build / "demo"
    profiles = demo / f"{datetime.now():%Y%m%d-%H%M%S}"
    profiles.mkdir(parents=True)
    try:
        with tempfile.TemporaryDirectory(dir=demo, prefix="storage-") as storage:
            yield Places(build, profiles, profiles / "overlap.html", Path(storage))
    finally:
        for job_dir in profiles.iterdir():
            if job_dir.is_dir():
                _recover(build, job_dir)


def _recover(build: Path, job_dir: Path) -> None:
    """Finishes the segments of processes that were interrupted, so that they do not stay in shared memory."""
    subprocess.run([build / "bin" / "slicewise", "recover", job_dir], stdout=subprocess.DEVNULL, check=False)


def _load_for(shared: Contention) -> Load:
    """As much as takes a job alone about SECONDS_ALONE, or what is left of that on a disk that is too fast."""
    volume = min(SECONDS_ALONE * shared.mib_s * MIB, MOST_VOLUME)
    repeats = max(1, math.ceil(volume / FILES_BYTES))
    seconds = repeats * FILES_BYTES / MIB / shared.mib_s
    fitting = [length for length in SLICES_SECONDS if length * FEWEST_SLICES <= seconds]
    return Load(repeats, (fitting or SLICES_SECONDS[-1:])[0])


def _say_how(shared: Contention, load: Load) -> None:
    sizes = " and ".join(f"{job.processes}" for job in JOBS)
    print(f"Two MPI jobs of {sizes} processes write {load.volume_mib} MiB each, first alone, then at once.")
    print(f"Contention: {shared.meaning} (method: {shared.method}, about {shared.mib_s:.0f} MiB/s).")
    for reason in shared.refused:
        print(f"  not used: {reason}")
    print(f"Slices of {load.slice_seconds:g} s instead of 4 s, so that this is over soon.\n", flush=True)


def _run(
    step: str, places: Places, shared: Contention, load: Load, jobs: dict[str, Job], start_at: float | None = None
) -> float:
    """Runs jobs, by their profiles' names, under `slicewise run`, all at once, and waits for them.

    Returns the seconds until the last of them began to write.
    """
    who = " and ".join(f"{name} ({job.processes} processes)" for name, job in jobs.items())
    print(f"{step}  {who} ", end="", flush=True)
    launched_at = time.time()
    with contextlib.ExitStack() as running:
        started = {
            name: running.enter_context(_started(_command(places, shared, load, name, job, start_at), shared))
            for name, job in jobs.items()
        }
        while any(process.poll() is None for process, _ in started.values()):
            time.sleep(1)
            print(".", end="", flush=True)
        print()
        return max(_began(name, process, output) for name, (process, output) in started.items()) - launched_at


def _began(name: str, process: subprocess.Popen[str], output: IO[str]) -> float:
    """When an ended job began to write, by the line that it printed, which is shown. Raises Failed if it failed."""
    output.seek(0)
    said = output.read().strip()
    line = re.search(r"^.* MiB/s, .*from ([0-9.]+)$", said, re.MULTILINE)
    if process.returncode != 0 or line is None:
        raise Failed(f"{name} ended with status {process.returncode}:\n{said}")
    print(f"     {name}: {line[0]}", flush=True)
    return float(line[1])


@contextlib.contextmanager
def _started(command: Sequence[str], shared: Contention) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """A running command and the file with its output. One that still runs at the end is ended."""
    with (
        tempfile.TemporaryFile("w+") as output,
        started(command, stdout=output, stderr=subprocess.STDOUT, text=True, preexec_fn=shared.join) as process,
    ):
        yield process, output


def _command(places: Places, shared: Contention, load: Load, name: str, job: Job, start_at: float | None) -> list[str]:
    # Both runs of a job go over the same files, so that only the first of them makes the file system allocate.
    work = [places.build / "bin" / "slicewise-load", "--volume", FILES_BYTES, "--repeats", load.repeats]
    work += ["--transfer", shared.transfer_bytes]
    work += ["--direct"] * shared.is_direct + ["--dsync"] * shared.is_dsync
    work += ["--start-at", f"{start_at:.3f}"] if start_at else []
    work += [places.storage / job.name]
    run = [places.build / "bin" / "slicewise", "run", "--dir", places.profiles, "--job", name]
    run += ["--slice", f"{load.slice_seconds:g}", "--", *_mpirun(job.processes), *work]
    return [str(word) for word in run]


def _mpirun(processes: int) -> list[str]:
    """Open MPI's mpirun, for more processes than cores, as whatever user, in whatever container."""
    mpirun = shutil.which("mpirun.openmpi") or "mpirun"
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return [mpirun, *as_root, "--oversubscribe", "--bind-to", "none", "-n", str(processes)]


def _compare(places: Places) -> None:
    """Prints what `slicewise overlap` says of the two runs at once, beside the runs alone, who slowed down the smaller
    one, and what to try next."""
    slicewise = _from_here(places.build / "bin" / "slicewise")
    together = [_from_here(places.profiles / job.name) for job in JOBS]
    for command in _questions(places):
        print(f"\n$ {' '.join(command)}", flush=True)
        if subprocess.run(command).returncode != 0:
            raise Failed(f"slicewise {command[1]} failed")
    print("\nNext, for instance:")
    print(f"  xdg-open {_from_here(places.page)}")
    print(f"  {slicewise} report {together[0]}")
    print(f"  {slicewise} report --detail {together[1]}")
    print(f"  {slicewise} run -- mpirun -n 2 YOUR_PROGRAM")


def _questions(places: Places, *options: str) -> list[list[str]]:
    """The commands that compare the runs at once with those alone, and that say who slowed down the smaller job."""
    together = [_from_here(places.profiles / job.name) for job in JOBS]
    alone = [word for job in JOBS for word in ("--alone", _from_here(places.profiles / f"{job.name}-alone"))]
    slicewise = _from_here(places.build / "bin" / "slicewise")
    return [
        [slicewise, "overlap", *together, *alone, "--html", _from_here(places.page), *options],
        [slicewise, "blame", together[-1], *options],
    ]


def _from_here(path: Path) -> str:
    return os.path.relpath(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
