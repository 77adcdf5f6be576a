"""Single numbers out of frames: what polars types as anything, as what it is."""

from __future__ import annotations


def whole(found: object) -> int:
    """An integer. Raises TypeError for anything else, null included."""
    if not isinstance(found, int):
        raise TypeError(f"{found!r} is no integer")
    return found


def whole_or_none(found: object) -> int | None:
    """An integer, or None for null."""
    return None if found is None else whole(found)


def real(found: object) -> float:
    """A number. Raises TypeError for anything else, null included."""
    if not isinstance(found, int | float):
        raise TypeError(f"{found!r} is no number")
    return float(found)


def real_or_none(found: object) -> float | None:
    """A number, or None for null."""
    return None if found is None else real(found)
