"""Standard output and standard error that may be closed, full, or read by nobody: the one home of what follows.

A result that cannot be written is one line and status 1. What the command says on standard error matters less: it is
dropped where it cannot be written, and changes no status. `slicewise run` must end as its command did.
"""

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator
from typing import IO, Any

STDOUT, STDERR = 1, 2
FAILED_STATUS = 1


class OutputError(Exception):
    """Standard output cannot be written; why."""


class _Descriptor(io.RawIOBase):
    """An open or closed descriptor to write to. is_needed: a failure is raised, as BrokenPipeError or OutputError.
    is_lost: what is written from now on is dropped."""

    def __init__(self, descriptor: int, *, is_needed: bool) -> None:
        self._descriptor, self._is_needed = descriptor, is_needed
        self.is_lost = False

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        try:
            return len(data) if self.is_lost else os.write(self._descriptor, data)
        except BrokenPipeError:
            if self._is_needed:
                raise
        except OSError as error:
            if self._is_needed:
                raise OutputError(error.strerror) from error
        return len(data)


class _Closed(_Descriptor):
    """The process began without it: the number may be another file's by now."""

    def fileno(self) -> int:
        raise io.UnsupportedOperation("fileno")

    def isatty(self) -> bool:
        return False

    def write(self, data: Any) -> int:
        if self._is_needed and not self.is_lost:
            raise OutputError(os.strerror(errno.EBADF))
        return len(data)


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Run a command with standard streams that are whole. Exits with status 1 if its result could not be written."""
    output = _replaced("stdout", STDOUT, is_needed=True)
    _replaced("stderr", STDERR, is_needed=False)
    try:
        try:
            yield
        except SystemExit:
            sys.stdout.flush()  # Python would do so later, and say in its own words that it cannot
            raise
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read it has seen enough
        _lose(output)
        sys.exit(FAILED_STATUS)
    except OutputError as error:
        _lose(output)
        from slicewise.text.safe_text import say

        say(f"standard output: cannot be written ({error}); send it elsewhere, or give a file to -o")
        sys.exit(FAILED_STATUS)


def _replaced(name: str, descriptor: int, *, is_needed: bool) -> _Descriptor | None:
    """What lies under a standard stream from now on; None where somebody has put another stream there (tests)."""
    stream: IO[str] | None = getattr(sys, name)
    if stream is None:
        raw: _Descriptor = _Closed(descriptor, is_needed=is_needed)
    elif isinstance(stream, io.TextIOWrapper) and isinstance(getattr(stream.buffer, "raw", stream.buffer), io.FileIO):
        stream.flush()
        raw = _Descriptor(stream.fileno(), is_needed=is_needed)
    else:
        # Paths may hold bytes that are no text, and a terminal may lack letters; neither is worth a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
        return None
    encoding = getattr(stream, "encoding", "utf-8")
    is_by_line = raw.isatty() or descriptor == STDERR
    text = io.TextIOWrapper(io.BufferedWriter(raw), encoding, "backslashreplace", line_buffering=is_by_line)
    setattr(sys, name, text)
    return raw


def _lose(output: _Descriptor | None) -> None:
    if output is not None:
        output.is_lost = True
