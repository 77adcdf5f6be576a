"""What follows from an object alone, looked for once."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

Found = TypeVar("Found")


def kept_once(find: Callable[..., Found]) -> Callable[..., Found]:
    """A function that looks once for an object, and keeps what it found as long as that is there."""
    known: WeakKeyDictionary[Any, dict[tuple[Any, ...], Found]] = WeakKeyDictionary()

    @wraps(find)
    def found(of: Any, *more: Any) -> Found:
        its = known.setdefault(of, {})
        if more not in its:
            its[more] = find(of, *more)
        return its[more]

    return found
