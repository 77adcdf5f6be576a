"""Users by their names on this machine."""

from __future__ import annotations

import functools
import pwd


@functools.cache
def user_name(number: int) -> str:
    """A user's name, or the number where this machine knows none: of another site, or one that stands for a user."""
    try:
        return pwd.getpwuid(number).pw_name
    except (KeyError, OverflowError):
        return str(number)
