"""Single numbers: out of frames, where polars types them as anything; of texts; and where a function is 0."""

import hashlib
from collections.abc import Callable

# Halvings of an interval after which its ends are the same number.
HALVINGS = 50


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


def number_of(text: str | bytes, salt: bytes = b"") -> int:
    """The number of 64 bits that stands for a text: the same on every machine and in every version."""
    content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return int.from_bytes(hashlib.blake2b(content, digest_size=8, key=salt).digest(), "little")


def zero_between(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that changes its sign between two places is 0, by halving."""
    is_above = function(low) > 0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if (function(middle) > 0) == is_above:
            low = middle
        else:
            high = middle
    return (low + high) / 2
