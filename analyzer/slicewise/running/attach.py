"""`slicewise run --attach PID`: a process that runs already, and what it begins from now on, sampled from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

from slicewise.contract import without_library
from slicewise.errors import UserError
from slicewise.running.command import job_directory, profiled_environment, remove_if_empty, timeout_seconds
from slicewise.running.installation import find_installation
from slicewise.running.run import say_where
from slicewise.text.safe_text import masked, say

WAY_OUT = "give the number of a process that runs, as ps has it"


def attach(pid: int, directory: str | None, job: str | None, slice_seconds: float | None) -> int:
    """Samples until the process has ended, or somebody interrupts. Returns the exit status. Raises UserError where that
    cannot be, with the reason.
    """
    command = _command_of(pid)
    installation = find_installation()
    place = job_directory(directory, job, command, os.environ)
    if place.note:
        say(place.note)
    environment = profiled_environment(os.environ, [installation.library], place.job_dir, slice_seconds, command)
    collector = subprocess.Popen(
        [installation.collector, "node", "--json", "--attach", "--parent", str(pid)],
        env=without_library(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,  # what the terminal sends is for us, who end it
    )
    program = masked(Path(command[0]).name, os.environ)
    say(f"sampling {program} (process {pid}) and what it begins, until it has ended, or Ctrl-C")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        said, _ = collector.communicate()
    except KeyboardInterrupt:
        collector.terminate()
        said, _ = collector.communicate(timeout=timeout_seconds(environment))
    if collector.returncode != 0:
        remove_if_empty(place.job_dir, place.was_there)
        return int(collector.returncode)
    if any(place.job_dir.glob("*.swz")) and json.loads(said)["sampled"]:
        say_where(place.job_dir)
    else:
        say(f"no I/O to profile: process {pid} read and wrote next to nothing meanwhile, or its end")
        remove_if_empty(place.job_dir, place.was_there)
    return 0


def _command_of(pid: int) -> list[str]:
    """The process's command line. Raises UserError where there is no such process, or its counts may not be read."""
    try:
        Path(f"/proc/{pid}/io").read_bytes()
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return [os.fsdecode(word) for word in words if word] or [Path(f"/proc/{pid}/comm").read_text().strip()]
    except (FileNotFoundError, ProcessLookupError) as error:
        raise UserError(f"process {pid}: there is none on this node; {WAY_OUT}") from error
    except PermissionError as error:
        raise UserError(
            f"process {pid}: the kernel tells its counts to its user and to root alone; run this as one of them"
        ) from error
