"""Finish the profiles of processes that were killed."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated

import typer

from slicewise.running.installation import find_installation


def recover(
    job_dir: Annotated[
        Path | None, typer.Argument(metavar="JOBDIR", help="A job's directory; else all of yours on this node.")
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option("--into", metavar="DIR", help="A directory of profiles to use where a process's own is gone."),
    ] = None,
) -> None:
    """Complete the profiles of killed processes. The node keeps their counts in its memory until the node restarts.

    Example: slicewise recover slicewise/48213
    """
    options = ["--into", str(into)] if into else []
    command = [str(find_installation().collector), "recover", *options, *([str(job_dir)] if job_dir else [])]
    raise typer.Exit(subprocess.run(command, check=False).returncode)
