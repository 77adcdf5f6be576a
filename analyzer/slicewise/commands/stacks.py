"""Where the processes of a job on this node are now, function by function."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from slicewise.report.live.stack_words import stack_lines, stacks_record
from slicewise.running.installation import find_installation
from slicewise.stacks import job_processes, stacks_now, tree
from slicewise.terminal.output import AsJson, OutputFile, write_json, write_text

SHORTEST_SECONDS = 0.1


def stacks(
    job: Annotated[str | None, typer.Argument(metavar="JOB", help="The job; not needed where only one runs.")] = None,
    symbols: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Where programs or their debug information are; may be repeated."),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=SHORTEST_SECONDS, help="The longest time to read one process's stacks."),
    ] = 5.0,
    all_users: Annotated[bool, typer.Option("--all-users", help="Show all users' jobs; root alone may.")] = False,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Show where the processes of a job on this node are now: all stacks as a tree, with how many threads are where.
    For a job that hangs. A thread that waits is not touched; one that runs is stopped for a moment.

    Example: slicewise stacks 48213
    """
    collector = find_installation().collector
    name, processes = job_processes(collector, job, all_users)
    found = stacks_now(collector, name, processes, seconds, symbols or ())
    root = tree(found)
    host = os.uname().nodename
    if json:
        write_json(stacks_record(name, host, found, root), output)
    else:
        write_text([*stack_lines(name, host, found, root)], output)
