"""Wait for the job's turn at I/O, then run a command.

For jobs that cannot be profiled while they run, and for steps of batch scripts that do nothing but I/O, such as copying
files: the command has its turn as a whole, and gives it up at its end.
"""

import os
from pathlib import Path

from slicewise.errors import UserError
from slicewise.running.command import NotStarted, run_command
from slicewise.running.turns import Turns
from slicewise.text.safe_text import say

# A wait that a user would notice (s).
NOTICED_SECONDS = 0.1


def coordinate(
    command: list[str],
    at: str | None,
    secret_file: Path | None,
    volume: float,
    seconds: float,
    processes: int,
    deadline: float | None,
) -> None:
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
    if turns.waited >= NOTICED_SECONDS:
        say(f"waited {turns.waited:.1f} s for its turn")
    try:
        ended = run_command(command, command_environment)
    except NotStarted as reason:
        say(str(reason))
        raise SystemExit(reason.status) from reason
    turns.complete()
    raise SystemExit(ended.status)
