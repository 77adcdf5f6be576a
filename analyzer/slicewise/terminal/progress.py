"""How far a command is that takes long: a line on a terminal's standard error, and nothing anywhere else."""

import sys
import time
from typing import TextIO

# Nobody is told of what takes less, nor more often than this.
SECONDS = 2.0


class StepsDone:
    """Says how many steps of how many are done, in one line that replaces itself. text: with {done} and {total}."""

    def __init__(self, text: str, stream: TextIO | None = None) -> None:
        self._text = text
        self._stream = stream or sys.stderr
        self._told = time.monotonic()
        self._has_line = False

    def __call__(self, done: int, total: int) -> None:
        """Called as steps are done; the line goes when all are."""
        if not self._stream.isatty():
            return
        if self._has_line and done >= total:
            print("\r\x1b[K", end="", file=self._stream, flush=True)
            self._has_line = False
        elif done < total and time.monotonic() - self._told >= SECONDS:
            line = self._text.format(done=f"{done:,}", total=f"{total:,}")
            print(f"\r{line}", end="", file=self._stream, flush=True)
            self._told, self._has_line = time.monotonic(), True


def reading_profiles(stream: TextIO | None = None) -> StepsDone:
    return StepsDone("Read {done} of {total} profiles beside it ...", stream)
