"""Runs the two commands of a Delta-graph, alone and together, each under `slicewise run`, and goes on where it stopped.

What is done is in DIR/done, a line a run; a run that was interrupted is not, and is done again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from slicewise.errors import UserError
from slicewise.running.node_collectors import hosts_of, sampled
from slicewise.running.started import IN_ITS_OWN_GROUP, started
from slicewise.text import words

START = "{start}"
MOST_OFFSETS = 1000
SECONDS_TO_START = 3.0  # of commands that are told when


@dataclass(frozen=True)
class DeltaPlan:
    """Commands A and B as one line each, the offsets of B (s), repeats, and the slice (s; None: the default).

    nodes_a, nodes_b, servers: nodes of A, of B, and file servers, which a collector samples over ssh (see `hosts_of`).
    """

    a: str
    b: str
    offsets: list[float]
    repeats: int
    slice_seconds: float | None
    nodes_a: str = ""
    nodes_b: str = ""
    servers: str = ""


def offsets_of(where: str, first: float, last: float, step: float) -> list[float]:
    """The offsets of a plan. Raises UserError where there are none, or too many."""
    if not (step > 0 and last >= first and (last - first) / step < MOST_OFFSETS):
        raise UserError(f"{where}: no offsets; give for instance -20, 20 and 5")
    return [float(first + place * step) for place in range(int((last - first) / step + 1e-9) + 1)]


@dataclass(frozen=True)
class DeltaRun:
    """One run: its name, and the commands by their profiles' names with the second of its start that each begins at."""

    name: str
    jobs: dict[str, tuple[str, float]]


def runs_of(plan: DeltaPlan) -> list[DeltaRun]:
    """All runs in the order in which they are done: round robin, each repeat alone and at every offset."""
    found = []
    for repeat in range(1, plan.repeats + 1):
        found.append(DeltaRun(f"a-alone-{repeat}", {f"a-alone-{repeat}": (plan.a, 0.0)}))
        if plan.b != plan.a:
            found.append(DeltaRun(f"b-alone-{repeat}", {f"b-alone-{repeat}": (plan.b, 0.0)}))
        for offset in plan.offsets:
            name = f"dt{offset:+g}-{repeat}"
            first = max(0.0, -offset)
            jobs = {f"{name}-a": (plan.a, first), f"{name}-b": (plan.b, first + offset)}
            found.append(DeltaRun(name, jobs))
    return found


def runs_left(plan: DeltaPlan, directory: Path) -> list[DeltaRun]:
    """The runs that are not done yet, of a directory that is made ready for them. Raises as `run_campaign`."""
    done = _open_campaign(plan, directory)
    return [run for run in runs_of(plan) if run.name not in done]


def run_campaign(plan: DeltaPlan, directory: Path, say: Callable[[str], None]) -> None:
    """Do all runs that are not done yet. say: takes a line of progress.

    Raises UserError where the directory holds another campaign, cannot be written, or a command fails; interrupted, it
    ends what it started, and the same call goes on.
    """
    left = runs_left(plan, directory)
    done = len(runs_of(plan)) - len(left)
    if done:
        say(f"{words.count(done, 'run')} done already; {len(left)} to go")
    took: list[float] = []
    told: set[str] = set()

    def say_once(line: str) -> None:
        if line not in told:
            told.add(line)
            say(line)

    for place, run in enumerate(left):
        remaining = words.duration(sum(took) / len(took) * (len(left) - place)) if took else "unknown"
        say(f"{done + place + 1}/{done + len(left)}  {run.name}  (time left: {remaining})")
        began = time.monotonic()
        _run_one(plan, run, directory, say_once)
        took.append(time.monotonic() - began)
        with (directory / "done").open("a", encoding="utf-8") as log:
            log.write(run.name + "\n")


def _open_campaign(plan: DeltaPlan, directory: Path) -> set[str]:
    """The names of the runs that are done in the directory, which is made ready for the others."""
    described = directory / "campaign.json"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if described.exists():
            if DeltaPlan(**json.loads(described.read_text(encoding="utf-8"))) != plan:
                raise UserError(f"{directory}: holds a campaign of other commands or offsets; choose another --dir")
        elif any(directory.iterdir()):
            raise UserError(f"{directory}: holds other files; choose another --dir")
        else:
            described.write_text(json.dumps(asdict(plan), indent=2) + "\n", encoding="utf-8")
        (directory / "output").mkdir(exist_ok=True)
        log = directory / "done"
        return set(log.read_text(encoding="utf-8").split()) if log.exists() else set()
    except OSError as error:
        raise UserError(f"{directory}: cannot be used: {error.strerror}; choose another --dir") from error
    except (ValueError, TypeError) as error:
        raise UserError(f"{described}: is damaged; choose another --dir") from error


def _run_one(plan: DeltaPlan, run: DeltaRun, directory: Path, say: Callable[[str], None]) -> None:
    for job in run.jobs:
        shutil.rmtree(directory / job, ignore_errors=True)
    is_told = any(START in command for command, _ in run.jobs.values())
    start_at = time.time() + (SECONDS_TO_START if is_told else 0.0)
    with sampled(_sampled_hosts(plan, run), directory, plan.slice_seconds, say), contextlib.ExitStack() as running:
        processes = {}
        for job, (command, delay) in sorted(run.jobs.items(), key=lambda item: item[1][1]):
            if START not in command:
                time.sleep(max(0.0, start_at + delay - time.time()))
            words_of = shlex.split(command.replace(START, f"{start_at + delay:.3f}"))
            processes[job] = running.enter_context(_started(_profiled(plan, job, directory, words_of), directory, job))
        for job, process in processes.items():
            status = process.wait()
            if status != 0:
                output = directory / "output" / job
                raise UserError(f"{run.jobs[job][0]}: ended with status {status}; its output is in {output}")


def _sampled_hosts(plan: DeltaPlan, run: DeltaRun) -> dict[str, list[str]]:
    """Whom collectors sample for each job of a run: its own nodes and the servers."""
    found = {}
    for job in run.jobs:
        is_of_b = job.endswith("-b") or job.startswith("b-")
        found[job] = hosts_of(f"{plan.nodes_b if is_of_b else plan.nodes_a},{plan.servers}")
    return found


def _profiled(plan: DeltaPlan, job: str, directory: Path, command: Sequence[str]) -> list[str]:
    of_slice = ["--slice", f"{plan.slice_seconds:g}"] if plan.slice_seconds else []
    run = [sys.executable, "-I", "-m", "slicewise", "run", "--dir", str(directory), "--job", job, *of_slice, "--"]
    return [*run, *command]


@contextlib.contextmanager
def _started(command: Sequence[str], directory: Path, job: str) -> Iterator[subprocess.Popen[bytes]]:
    """A running command, its output in a file."""
    with (
        (directory / "output" / job).open("wb") as output,
        started(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=os.environ, **IN_ITS_OWN_GROUP
        ) as process,
    ):
        yield process
