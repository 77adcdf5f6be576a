"""A command that does not outlive whoever began it."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

SECONDS_TO_END = 10
# Options of Popen that give a command a process group of its own. Python 3.10 has no option for that alone.
IN_ITS_OWN_GROUP: dict[str, Any] = {"process_group": 0} if sys.version_info >= (3, 11) else {"preexec_fn": os.setpgrp}


@contextlib.contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A running command (options: of Popen). One that still runs at the end is asked to end, and killed if not."""
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[Any]) -> None:
    """Asks a command that still runs to end, and kills it if it does not."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
