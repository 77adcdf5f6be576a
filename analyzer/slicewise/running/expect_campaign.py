"""Runs a small campaign of a benchmark in a directory, until the union of the runs' boxes has stopped growing. A run's
result is in DIR/run-NN; a run that was interrupted leaves none. The data lies in DIR/data meanwhile.
"""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from slicewise.analysis.expect.expectation import box_of, growth
from slicewise.contract import without_library
from slicewise.errors import UserError, mended_by
from slicewise.io500 import results
from slicewise.io500.results import SUMMARY_FILES, read_results
from slicewise.io500.texts import Phase, api_name
from slicewise.running import benchmarks
from slicewise.running.benchmarks import Api, Name, Programs, RunSize
from slicewise.running.started import IN_ITS_OWN_GROUP, started
from slicewise.text import words

# A trial says how long the programs take to start and how much work a phase can do. Its figures are not kept.
RUNS_WANTED = 6
LEAST_PHASE_SECONDS, MOST_PHASE_SECONDS = 0.5, 5.0


@dataclass(frozen=True)
class CampaignPlan:
    """What to run: for how long at most, how often at most, and how."""

    programs: Programs
    benchmark: Name
    size: RunSize
    seconds: float
    most_runs: int
    api: Api
    stonewall_seconds: int


def run_campaign(plan: CampaignPlan, directory: Path, say: Callable[[str], None]) -> None:
    """Do runs until the union stops growing, or time or number is used up. Raises UserError."""
    directory = directory.absolute()
    data = directory / "data"
    with mended_by(f"{directory}: cannot be used", "choose another directory"):
        directory.mkdir(parents=True, exist_ok=True)
        taken = [entry for entry in directory.iterdir() if not entry.name.startswith("run-")]
        if taken:
            raise UserError(f"{directory}: holds other files ({taken[0].name}); choose another directory")
        data.mkdir()
    try:
        _runs(plan, directory, data, say)
    finally:
        shutil.rmtree(data, ignore_errors=True)


def _runs(plan: CampaignPlan, directory: Path, data: Path, say: Callable[[str], None]) -> None:
    deadline = time.monotonic() + plan.seconds
    size = plan.size
    if plan.benchmark != "io500":
        began = time.monotonic()
        trial = _one(plan, plan.size, None, data)
        measured = {phase.name: phase for phase in trial}
        working = sum(phase.seconds or 0.0 for phase in trial)
        starting = max(0.0, time.monotonic() - began - working)
        each = (deadline - time.monotonic()) / RUNS_WANTED - starting
        phase_seconds = min(MOST_PHASE_SECONDS, max(LEAST_PHASE_SECONDS, each / len(trial)))
        size = plan.size.fitted(measured, phase_seconds)
    longest = 0.0
    first = 1 + max(
        (int(entry.name[4:]) for entry in directory.glob("run-[0-9]*") if entry.name[4:].isdigit()), default=0
    )
    for number in range(first, first + plan.most_runs):
        began = time.monotonic()
        if number > first and began + longest > deadline:
            say(f"the time of {words.duration(plan.seconds)} is used up")
            return
        place = directory / f"run-{number:02}"
        if plan.benchmark == "io500":
            _one_of_io500(plan, place, data)
        else:
            _one(plan, size, place, data)
        longest = max(longest, time.monotonic() - began)
        settled, done = _settled(directory)
        say(f"run {number}: {words.duration(time.monotonic() - began)}" + (f", {settled}" if settled else ""))
        if done:
            return


def _settled(directory: Path) -> tuple[str, bool]:
    runs = read_results([directory]).runs
    boxes = [box for run in runs if not (box := box_of(run.phases, "aggregate")).anomalies]
    grown = growth(boxes)
    if grown.added is None:
        return "", False
    return f"the last runs added {words.percent(grown.added, 2)} to the union", grown.settled_after is not None


def _one(plan: CampaignPlan, size: RunSize, place: Path | None, data: Path) -> list[Phase]:
    """One run of what is not IO500, with its result in `place`; None: it is not kept."""
    start = datetime.now(timezone.utc)
    make = benchmarks.load_steps if plan.benchmark == "load" else benchmarks.ior_steps
    found: list[Phase] = []
    for step in make(plan.programs, size, data, plan.api):
        if step.is_reading:
            _leave_page_cache(data)
        found += step.read(_output(benchmarks.commands(plan.programs, step.words, size.processes)))
    _empty(data)
    if place is None:
        return found
    phases, label = {phase.name: phase for phase in found}, benchmarks.LABELS[plan.benchmark]
    run = results.IO500Run(place.name, place, phases, api_name(plan.api), start, label, size.processes)
    with mended_by(f"{place}: cannot be written", "choose another directory"):
        place.mkdir()
        (place / results.RUN_FILE).write_text(results.run_text(run), encoding="utf-8")
    return found


def _one_of_io500(plan: CampaignPlan, place: Path, data: Path) -> None:
    place.mkdir()
    config = place / "config.ini"
    config.write_text(benchmarks.io500_config(data, place, plan.stonewall_seconds, plan.api), encoding="utf-8")
    words_of = [[plan.programs.paths["io500"], str(config)]]
    text = _output(benchmarks.commands(plan.programs, words_of, plan.size.processes))
    if not any((place / name).is_file() for name in SUMMARY_FILES):
        last = (text.strip().splitlines() or ["nothing"])[-1]
        raise UserError(f"io500: wrote no result to {place}, and said last: {last[:120]}")
    _empty(data)


def _output(command: Sequence[str]) -> str:
    """What a command prints. Raises UserError where it cannot be started or fails."""
    # Without what would have this very campaign profiled.
    environment = without_library(os.environ)
    try:
        with started(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
            **IN_ITS_OWN_GROUP,
        ) as process:  # fmt: skip
            output, _ = process.communicate()
    except OSError as error:
        raise UserError(f"{command[0]}: cannot be started ({error.strerror}); name another with --launcher") from error
    text = str(output.decode(errors="replace"))
    if process.returncode:
        said = [line for line in text.splitlines() if any(letter.isalpha() for letter in line)] or ["nothing"]
        first = next((line for line in said if "slicewise-load:" in line or "ERROR" in line), said[0])
        raise UserError(f"{' '.join(command[:6])} ...: ended with status {process.returncode} and said: {first[:160]}")
    return text


def _leave_page_cache(data: Path) -> None:
    """Asks this node's kernel to forget the files: reads should meet the storage. What is not synced would stay, as
    after IOR of older versions by HDF5, whose syncs do nothing.
    """
    for root, _, names in os.walk(data):
        for name in names:
            with contextlib.suppress(OSError):
                file = os.open(Path(root, name), os.O_RDONLY)
                try:
                    os.fsync(file)
                    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                finally:
                    os.close(file)


def _empty(data: Path) -> None:
    """Removes what a run left; IO500 removes the directory, too."""
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(exist_ok=True)
