"""Measures bandwidth and latency by transfer size on one file system, with the installation's slicewise-trials. Each
repeat does every configuration once, in an order of its own. A campaign that is out of time ends with what is done.
"""

import contextlib
import mmap
import os
import random
import select
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from slicewise.analysis.size.points import POINTS
from slicewise.errors import UserError, mended_by
from slicewise.running.installation import find_installation
from slicewise.running.started import IN_ITS_OWN_GROUP, started
from slicewise.text import words

PROGRAM = "slicewise-trials"
SECOND_JOB = "a second job of 1 process"
# Of the time that a campaign may take, the part that trials may fill: calls end late, and files are made before.
SHARE_OF_TRIALS = 0.75
SHORTEST_TRIAL = 0.05
SECONDS_TO_BEGIN = 30.0
ALIGNMENT = 4096
FIELDS = 7
LAST_LINES = 3

OPEN_MPI = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclass(frozen=True)
class SizePlan:
    """directory: where files are made, and removed. sizes: of transfers, bytes. processes: numbers of them. repeats: of
    each configuration. seconds: that all of it may take. file_bytes: of each process. has_second: whether a second job
    runs beside some trials. launcher: of MPI programs, with {n} for the number of processes; None: mpirun.
    """

    directory: Path
    sizes: Sequence[int]
    processes: Sequence[int]
    repeats: int
    seconds: float
    file_bytes: int
    has_second: bool
    launcher: str | None = None
    seed: int = 1


@dataclass(frozen=True)
class Trial:
    """One line of the program's file."""

    repeat: int
    processes: int
    has_second: bool
    direction: str
    access: str
    sharing: str
    size: int


@dataclass(frozen=True)
class SizeCampaign:
    """points: `points.POINTS`. notes: what is to be known of them, a sentence each. took: seconds."""

    points: pl.DataFrame
    notes: Sequence[str]
    took: float


def trials_of(plan: SizePlan) -> list[Trial]:
    """All trials in the order in which they are done."""
    kinds = [
        (processes, direction, access, sharing)
        for processes in plan.processes
        for direction in ("write", "read")
        for access in ("sequential", "random")
        for sharing in ("file per process", "shared file")[: 1 if processes == 1 else 2]
    ]
    each = [(*kind, size, False) for kind in kinds for size in plan.sizes]
    if plan.has_second:
        most = max(plan.processes)
        each += [
            (most, way, "sequential", "file per process", size, True)
            for way in ("write", "read")
            for size in plan.sizes
        ]
    chance = random.Random(plan.seed)
    trials = []
    for repeat in range(1, plan.repeats + 1):
        chance.shuffle(each)
        trials += [
            Trial(repeat, processes, has_second, direction, access, sharing, size)
            for processes, direction, access, sharing, size, has_second in each
        ]
    return trials


def run_size_campaign(plan: SizePlan, say: Callable[[str], None]) -> SizeCampaign:
    """Do the trials. say: takes a line of progress. Raises UserError where that cannot be."""
    began = time.monotonic()
    program = find_installation().collector.parent / PROGRAM
    if not program.is_file():
        raise UserError(f"{program}: is missing; build and install Slicewise where there is an MPI compiler (mpicc)")
    trials = trials_of(plan)
    seconds = max(SHORTEST_TRIAL, plan.seconds * SHARE_OF_TRIALS / len(trials))
    with _place(plan.directory) as place:
        is_direct = all(size % ALIGNMENT == 0 for size in plan.sizes) and _takes_direct(place / "probe")
        (place / "trials").write_text("".join(_line(at, trial, seconds) for at, trial in enumerate(trials)))
        command = [
            *_launcher(plan), str(program), *(["--direct"] if is_direct else []), str(plan.file_bytes),
            str(place / "trials"), str(place / "file"),
        ]  # fmt: skip
        say(f"{words.count(len(trials), 'trial')} of {words.duration(seconds)} in {plan.directory}")
        rows = list(_rows(plan, command, place / "errors", trials, began, say))
    if not rows:
        raise UserError(f"{plan.directory}: no trial ended within {plan.seconds:g} s; give more with --seconds")
    took = time.monotonic() - began
    return SizeCampaign(
        pl.DataFrame(rows, schema=POINTS), _notes(plan, is_direct, len(rows), len(trials), seconds, took), took
    )


@contextlib.contextmanager
def _place(directory: Path) -> Iterator[Path]:
    with mended_by(f"{directory}: cannot be used", "choose another directory"):
        directory.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix="slicewise-size-", dir=directory)).resolve()
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _takes_direct(path: Path) -> bool:
    """Whether files there can be written and read past this machine's page cache."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
    except OSError:
        return False
    try:
        with mmap.mmap(-1, ALIGNMENT) as page:
            return os.pwrite(file, page, 0) == ALIGNMENT and os.preadv(file, [page], 0) == ALIGNMENT
    except OSError:
        return False
    finally:
        os.close(file)


def _line(number: int, trial: Trial, seconds: float) -> str:
    sharing = "shared" if trial.sharing == "shared file" else "own"
    return (
        f"{number} {trial.processes} {int(trial.has_second)} {trial.direction} {trial.access} {sharing} {trial.size} "
        f"{seconds:.4f}\n"
    )


def _launcher(plan: SizePlan) -> list[str]:
    ranks = max(plan.processes) + plan.has_second
    if plan.launcher is not None:
        return shlex.split(plan.launcher.replace("{n}", str(ranks)))
    found = next((path for name in ("mpirun.openmpi", "mpirun", "mpiexec") if (path := shutil.which(name))), None)
    if found is None:
        raise UserError("no mpirun and no mpiexec was found; name one with --launcher 'COMMAND -n {n}'")
    return [found, "-n", str(ranks)]


def _rows(
    plan: SizePlan,
    command: Sequence[str],
    errors: Path,
    trials: Sequence[Trial],
    began: float,
    say: Callable[[str], None],
) -> Iterator[dict[str, object]]:
    """A point a trial, as they end, until all are done or the time is over."""
    environment = OPEN_MPI | (AS_ROOT if os.geteuid() == 0 else {}) | dict(os.environ)
    mount = _mount(plan.directory)
    told = 0
    with (
        errors.open("wb") as error_file,
        started(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=error_file, env=environment,
            **IN_ITS_OWN_GROUP,
        ) as process,
    ):  # fmt: skip
        for line in _lines_until(process, began + max(plan.seconds, SECONDS_TO_BEGIN)):
            row = _point(plan, trials, mount, line)
            if row is None:
                continue
            yield row
            told += 1
            if told % max(1, len(trials) // 5) == 0:
                say(f"{told}/{len(trials)} trials")
        if process.poll() not in (None, 0):
            said = errors.read_text(errors="replace").strip().splitlines()
            own = [each for each in said if PROGRAM in each]
            reason = " ".join((own or said)[:LAST_LINES]) or f"status {process.returncode}"
            raise UserError(
                f"{shlex.join(command[:3])} ...: failed: {reason}; another MPI's mpirun can be named with --launcher"
            )


def _lines_until(process: subprocess.Popen[bytes], deadline: float) -> Iterator[str]:
    """Lines of a process's output, until it ends or the time is over."""
    assert process.stdout is not None
    output = process.stdout.fileno()
    pending = b""
    while True:
        ready, _, _ = select.select([output], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return
        read = os.read(output, 1 << 16)
        if not read:
            process.wait()
            return
        *lines, pending = (pending + read).split(b"\n")
        yield from (line.decode(errors="replace") for line in lines)


def _point(plan: SizePlan, trials: Sequence[Trial], mount: str, line: str) -> dict[str, object] | None:
    fields = line.split()
    if len(fields) != FIELDS:
        return None
    try:
        number, moved, calls = (int(field) for field in fields[:3])
        seconds, in_calls, slow = (float(field) for field in fields[3:6])
    except ValueError:
        return None
    if not (0 <= number < len(trials) and moved > 0 and calls > 0 and seconds > 0 and in_calls > 0):
        return None
    trial = trials[number]
    return {
        "mount": mount, "direction": trial.direction, "access": trial.access, "sharing": trial.sharing,
        "processes": trial.processes, "block_size": plan.file_bytes, "file_size": plan.file_bytes * trial.processes,
        "beside": SECOND_JOB if trial.has_second else "", "size": trial.size, "run": f"repeat {trial.repeat}",
        "bandwidth": moved / seconds, "latency": in_calls / calls, "latency_p99": slow,
        "in_flight": float(trial.processes),
    }  # fmt: skip


def _mount(directory: Path) -> str:
    place = directory.resolve()
    while not place.is_mount():
        place = place.parent
    return str(place)


def _notes(plan: SizePlan, is_direct: bool, done: int, planned: int, seconds: float, took: float) -> list[str]:
    caches = (
        "This machine's page cache was passed by (O_DIRECT): each call went to the file system. A program that writes "
        "through the page cache has its small calls combined, and its sizes matter less."
        if is_direct
        else "O_DIRECT is not possible there. Each file's pages were dropped before a trial and no byte was moved "
        "twice in it; the fsync of what was written counts in the bandwidth and not in the time of a call."
    )
    notes = [
        caches,
        f"Each process moved bytes of its {words.size(plan.file_bytes)}: caches of disks and servers may hold them "
        "(--file-size makes files larger).",
        f"{words.count(done, 'trial')} of {words.duration(seconds)} took {words.duration(took)} in all, "
        f"{words.count(plan.repeats, 'repeat')} each in an order of its own.",
    ]
    if done < planned:
        notes.append(f"Time was over after {done} of {planned} trials: some have fewer repeats (--seconds gives more).")
    return notes
