"""A command on a terminal of its own, as over ssh: what it shows is read, and keys are pressed."""

import os
import pty
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

LONGEST_WAIT_SECONDS = 60


class Terminal:
    """A terminal that knows no more than a VT100 does, with a command running on it. shown: all that it showed."""

    def __init__(self, command: Sequence[str | Path], environment: Mapping[str, str], columns: int) -> None:
        self.shown = b""
        self._seen = 0
        self._pid, self._end = pty.fork()
        if self._pid == 0:
            os.execvpe(command[0], list(map(str, command)), environment | {"TERM": "vt100", "COLUMNS": str(columns)})

    def wait_for(self, pattern: str) -> None:
        """Wait until it shows this, after what was waited for before."""
        deadline = time.monotonic() + LONGEST_WAIT_SECONDS
        while not re.search(pattern, self.shown[self._seen :].decode(errors="replace")):
            assert time.monotonic() < deadline, self.shown
            self.shown += os.read(self._end, 65536)
        self._seen = len(self.shown)

    def press(self, keys: bytes) -> None:
        os.write(self._end, keys)

    def end(self) -> int:
        """Read to the end of what it shows. Returns the command's exit status."""
        while True:
            try:
                more = os.read(self._end, 65536)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            self.shown += more
        _, status = os.waitpid(self._pid, 0)
        os.close(self._end)
        return os.waitstatus_to_exitcode(status)
