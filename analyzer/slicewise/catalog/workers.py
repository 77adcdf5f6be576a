"""Who does a catalog's work: functions that are asked of many things, here or on other machines with the same files.

A task is a function of a module and what it takes. It may be begun several times, where a worker is lost: so it changes
nothing but files of its own, whose names it gives back, and what it gives back is small.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Task = tuple[Any, ...]


class Workers(Protocol):
    def each(self, function: Callable[..., T], tasks: Iterable[Task]) -> Iterator[T]:
        """What the function gives for each task, in the order of the tasks. Its own errors come as they are."""
        ...


class OneByOne:
    """This thread. What it calls uses all cores by itself."""

    def each(self, function: Callable[..., T], tasks: Iterable[Task]) -> Iterator[T]:
        return (function(*task) for task in tasks)


class Threads:
    """Threads of this process, one a core, which go ahead of what is asked for by as many tasks."""

    def each(self, function: Callable[..., T], tasks: Iterable[Task]) -> Iterator[T]:
        count = max(1, len(os.sched_getaffinity(0)))
        with ThreadPoolExecutor(count) as pool:
            begun: deque[Future[T]] = deque()
            for task in chain(tasks, [None] * count):
                if task is not None:
                    begun.append(pool.submit(function, *task))
                if begun and (task is None or len(begun) > count):
                    yield begun.popleft().result()
