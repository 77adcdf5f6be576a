"""Keys as they are pressed, on a terminal that is given back as it was."""

import contextlib
import os
import select
import sys
import termios
import tty
from collections.abc import Iterator

NAMES = {
    "\r": "enter", "\n": "enter", "\x1b": "escape", "\x1b[A": "up", "\x1b[B": "down", "\x1bOA": "up", "\x1bOB": "down",
}  # fmt: skip
MOST_BYTES = 64


@contextlib.contextmanager
def keys_one_by_one() -> Iterator[None]:
    """Makes standard input give keys at once, unseen; nothing where it is no terminal."""
    if not sys.stdin.isatty():
        yield
        return
    former = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, former)


def wait_for_key(*others: int, seconds: float) -> str | None:
    """The key that is pressed, by its letter or name, or None if there is anything to read on one of `others` or the
    time is over. At the end of input it is `q`."""
    ready, _, _ = select.select([sys.stdin, *others], [], [], seconds)
    if sys.stdin not in ready:
        return None
    pressed = os.read(sys.stdin.fileno(), MOST_BYTES).decode(errors="replace")
    return NAMES.get(pressed, pressed[:1]) if pressed else "q"
