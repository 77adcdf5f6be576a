"""How far a command is that takes long: a line on a terminal's standard error, and nothing anywhere else."""

from __future__ import annotations

import sys
import time
from typing import TextIO

# Nobody is told of what takes less, nor more often than this.
SECONDS = 2.0


class ReadingProfiles:
    """Says how many profiles of how many are read, in one line that replaces itself."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._told = time.monotonic()
        self._has_line = False

    def __call__(self, done: int, total: int) -> None:
        """Called as profiles are read; the line goes when all are."""
        if not self._stream.isatty():
            return
        if self._has_line and done >= total:
            print("\r\x1b[K", end="", file=self._stream, flush=True)
            self._has_line = False
        elif done < total and time.monotonic() - self._told >= SECONDS:
            print(f"\rRead {done:,} of {total:,} profiles beside it ...", end="", file=self._stream, flush=True)
            self._told, self._has_line = time.monotonic(), True
