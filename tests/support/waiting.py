"""Waiting for something that another process does, no longer than a loaded machine may take."""

import time
from collections.abc import Callable

LONGEST_WAIT_SECONDS = 120


def wait_until(
    holds: Callable[[], object],
    told: object = "",
    *,
    longest_seconds: float = LONGEST_WAIT_SECONDS,
    pause_seconds: float = 0.01,
) -> None:
    """Until it holds; fails with what is told, called then if it is a function."""
    deadline = time.monotonic() + longest_seconds
    while not holds():
        assert time.monotonic() < deadline, told() if callable(told) else told
        time.sleep(pause_seconds)
