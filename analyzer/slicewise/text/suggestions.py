"""What was probably meant by a name that is not known: of a command, an option, a value, a setting."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# Share of letters that two names have in common, from which on one is taken for a slip of the other.
LEAST_ALIKE = 0.65
LEAST_PREFIX = 2


def nearest(typed: str, known: Iterable[str]) -> str:
    """The name that was probably meant, or nothing: the only one that begins so, else the most alike.

    Dashes in front of options do not count: all options have them in common.
    """
    names = {name.lstrip("-"): name for name in known}
    own = typed.lstrip("-")
    longer = [name for name in names if name.startswith(own)] if len(own) >= LEAST_PREFIX else []
    found = longer if len(longer) == 1 else difflib.get_close_matches(own, names, 1, LEAST_ALIKE)
    return names[found[0]] if found else ""
