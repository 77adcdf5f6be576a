"""Profile a command, and say where the profile is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from slicewise.errors import UserError
from slicewise.running.command import (
    Ended,
    NodeCollector,
    NotStarted,
    job_directory,
    passing_on,
    profiled_environment,
    remove_if_empty,
    run_command,
)
from slicewise.running.installation import Installation, find_installation
from slicewise.terminal.shared_options import SliceSeconds
from slicewise.text.masked import masked
from slicewise.text.safe_text import say

app = typer.Typer(add_completion=False)


@app.command(context_settings={"allow_interspersed_args": False})
def run(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND", help="The command and its arguments.")],
    directory: Annotated[
        str | None,
        typer.Option("--dir", metavar="DIR", help="Where profiles go; else $SLICEWISE_DIR, else ./slicewise."),
    ] = None,
    job: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The job's name; else $SLICEWISE_JOB, the scheduler's id, or a new one."),
    ] = None,
    slice_seconds: SliceSeconds = None,
    collector: Annotated[
        bool,
        typer.Option(help="Run a collector beside the command: it saves counts as they come, and samples the node."),
    ] = True,
) -> None:
    """Profile a command, and say where the profile is. Its exit status is the command's.

    Example: slicewise run --job first -- mpirun -n 4 ./program input.nml
    """
    installation = find_installation()
    job_dir, were_profiles_there = job_directory(directory, job, command, os.environ)
    environment = profiled_environment(os.environ, installation.library, job_dir, slice_seconds, command)
    spool = job_dir / f"{os.uname().nodename}.swz"
    spool_bytes = _size(spool)
    if job is not None and spool_bytes:  # a scheduler's job may have several commands, and they belong together
        raise UserError(f"{spool}: is the profile of an earlier run; choose another name with --job, or remove it")
    node = NodeCollector(installation.collector, environment) if collector else None
    try:
        ended = run_command(passing_on(command, environment), environment)
    except NotStarted as reason:
        if node:
            node.end()
        remove_if_empty(job_dir, were_profiles_there)
        say(str(reason))
        raise typer.Exit(reason.status) from reason
    written_beside = node.end() if node else 0
    own_bytes = max(0, _size(spool) - spool_bytes - written_beside)
    _finish(installation, job_dir, _launch_row(installation, command, ended, own_bytes), spool, node)
    remove_if_empty(job_dir, were_profiles_there)
    raise typer.Exit(ended.status)


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _launch_row(installation: Installation, command: list[str], ended: Ended, own_bytes: int) -> dict[str, int | str]:
    """What the profile shall know of the command as a whole (the table `launches`)."""
    look = [str(installation.collector), "look", command[0]]
    reason, _, program = subprocess.run(look, capture_output=True, text=True, check=False).stdout.strip().partition(" ")
    row: dict[str, int | str] = {"pid": ended.pid, "own_bytes": own_bytes}
    row |= {"host": os.uname().nodename, "program": masked(program, os.environ), "reason": reason or "unknown"}
    counts = {"read_bytes": "rchar", "write_bytes": "wchar", "read_ops": "syscr", "write_ops": "syscw"}
    return row | {column: ended.counts.get(name, 0) for column, name in counts.items()}


def _finish(
    installation: Installation, job_dir: Path, launch: dict[str, int | str], spool: Path, node: NodeCollector | None
) -> None:
    """Completes the profiles of processes that were killed, and says what was seen. The command's ending is no longer
    touched."""
    subprocess.run([installation.collector, "recover", job_dir], stdout=subprocess.DEVNULL, check=False)
    # Imported only now: the command does not wait for it.
    from slicewise.analysis.job.io_time import io_time
    from slicewise.analysis.job.totals import summarize
    from slicewise.digest.digest import Digest
    from slicewise.profile.launch_row import append_launch
    from slicewise.profile.reader import read_profile
    from slicewise.report.job.run_lines import LITTLE_BYTES, nothing_line, run_lines

    if not any(job_dir.glob("*.swz")):
        if launch["reason"] == "unknown" and int(launch["read_bytes"]) + int(launch["write_bytes"]) < LITTLE_BYTES:
            say("no I/O to profile: no process of the command read or wrote anything itself")
        else:
            moved = int(launch["write_bytes"]), int(launch["read_bytes"])
            say(nothing_line(str(launch["program"]), str(launch["reason"]), *moved, node is not None))
        return
    try:
        if spool.exists() and (launch["read_ops"] or launch["write_ops"]):
            append_launch(spool, launch)
        digest = Digest(read_profile(job_dir, needs_axis=False))
    except OSError as error:
        say(f"{spool}: the command's own counts could not be added ({error.strerror})")
        return
    except UserError as error:
        say(str(error))
        return
    for line in run_lines(summarize(digest), io_time(digest), job_dir):
        say(line)
