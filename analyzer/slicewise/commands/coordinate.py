"""Wait for the job's turn at I/O, then run a command.

For jobs that cannot be profiled while they run, and for steps of batch scripts that do nothing but I/O, such as copying
files: the command has its turn as a whole, and gives it up at its end. Example:

    slicewise coordinate --at unix:/run/slicewise/scratch --bytes 50e9 -- cp -r results /scratch/archive
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from slicewise.errors import UserError
from slicewise.running.command import NotStarted, run_command
from slicewise.running.turns import Turns
from slicewise.text.safe_text import say

# A wait that a user would notice (s).
WORTH_TELLING = 0.1


app = typer.Typer(add_completion=False)


@app.command(context_settings={"allow_interspersed_args": False})
def coordinate(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="The command and its arguments.")],
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="ADDRESS", help="unix:/PATH or tcp:ADDRESS:PORT; else SLICEWISE_COORDINATE_AT."),
    ] = None,
    secret_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The secret of a coordinator at tcp:.")
    ] = None,
    volume: Annotated[
        float, typer.Option("--bytes", metavar="N", help="How many bytes the command will move, as far as you know.")
    ] = 1e9,
    seconds: Annotated[float, typer.Option(metavar="S", help="Seconds that it takes alone, if you know.")] = 0.0,
    processes: Annotated[int, typer.Option(metavar="N", help="Processes that do its I/O.")] = 1,
    deadline: Annotated[
        float | None, typer.Option(metavar="S", help="Go on after so long without a turn (60 s unless told otherwise).")
    ] = None,
) -> None:
    """Wait for the job's turn at I/O, then run a command.

    Example: slicewise coordinate --at unix:/run/slicewise/scratch --bytes 50e9 -- cp -r results /archive
    """
    if volume < 0 or seconds < 0 or processes < 1:
        raise UserError("--bytes and --seconds must be 0 or more, and --processes 1 or more")
    given = {
        "SLICEWISE_COORDINATE_AT": at,
        "SLICEWISE_COORDINATE_SECRET": None if secret_file is None else os.fspath(secret_file),
        "SLICEWISE_COORDINATE_DEADLINE": None if deadline is None else f"{deadline:f}",
    }
    command_environment = dict(os.environ)
    os.environ.update({name: value for name, value in given.items() if value is not None})
    if not os.environ.get("SLICEWISE_COORDINATE_AT"):
        raise UserError("nobody knows where the coordinator is; give --at, or set SLICEWISE_COORDINATE_AT")
    turns = Turns()
    turns.prepare(int(volume), seconds=seconds, processes=processes)
    turns.inform()
    turns.wait()
    if turns.waited >= WORTH_TELLING:
        say(f"waited {turns.waited:.1f} s for its turn")
    try:
        ended = run_command(command, command_environment)
    except NotStarted as reason:
        say(str(reason))
        raise typer.Exit(reason.status) from reason
    turns.complete()
    raise typer.Exit(ended.status)
