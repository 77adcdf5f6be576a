"""Dask workers that do a catalog's work: those of a scheduler that a site has started, or a few of this machine. A task
that was lost with a worker is given to the next: tasks change nothing but files of their own, and what they give back
is taken once, here. Dask is an extra, imported when asked for.
"""

import itertools
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from slicewise import __version__
from slicewise.catalog.workers import Task, Workers
from slicewise.errors import UserError
from slicewise.text import words
from slicewise.text.safe_text import say

T = TypeVar("T")
LOCAL = "local"
# So many tasks a thread of the workers wait at the scheduler, so that no worker waits for this process.
AHEAD = 4
# How long a scheduler may take to answer at first, and to come back.
FIRST_SECONDS, PATIENCE_SECONDS = 30.0, 600.0
# How often it is asked whether it is there while a task takes long, and how long it may take to say so.
ASK_SECONDS, ANSWER_SECONDS = 10.0, 10.0
BETWEEN_TRIES_SECONDS = 1.0
# A task that was lost so often with nothing done in between will be lost again.
MOST_LOSSES = 20


@contextmanager
def workers_at(where: str | None) -> Iterator[Workers | None]:
    """The workers of a scheduler: its address, or the file that it wrote; `local`: a process for each core here. None
    for None. Raises UserError where Dask is not installed, or no scheduler answers.
    """
    if where is None:
        yield None
        return
    _dask()
    cluster: Any = None
    try:
        if where == LOCAL:
            cluster = local_cluster(len(os.sched_getaffinity(0)))
        workers = DaskWorkers(where if cluster is None else cluster.scheduler_address)
        try:
            yield workers
        finally:
            workers.close()
    finally:
        if cluster is not None:
            cluster.close()


def local_cluster(count: int) -> Any:
    """So many workers on this machine, each a process with one thread of polars."""
    return _dask().LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        dashboard_address=None,
        silence_logs=50,
        env={"POLARS_MAX_THREADS": "1"},
    )


def called(version: str, function: Callable[..., T], task: Task) -> T:
    """A task, on a worker. Raises UserError where that is of another version."""
    if version != __version__:
        raise UserError(f"a worker has slicewise {__version__}, and this is {version}; start workers of one version")
    return function(*task)


@dataclass
class _Given:
    """A task, and, while a scheduler has it, its promise. generation: of the scheduler that gave it."""

    task: Task
    future: Any = None
    generation: int = -1


class DaskWorkers:
    """The workers of a scheduler."""

    def __init__(self, where: str) -> None:
        """Raises UserError where no scheduler answers."""
        self.where = where
        self._generation = 0
        try:
            self._client = self._connected(FIRST_SECONDS)
        except _NOT_THERE as error:
            raise UserError(
                f"--dask {where}: no scheduler answers ({_line(error)}); start one: dask scheduler; or: --dask local"
            ) from error

    def close(self) -> None:
        with suppress(Exception):
            self._client.close(timeout=ANSWER_SECONDS)

    def each(self, function: Callable[..., T], tasks: Iterable[Task]) -> Iterator[T]:
        """What the function gives for each task, in order. Raises UserError if workers die of one, or all are gone."""
        rest = iter(tasks)
        given: deque[_Given] = deque()
        while True:
            ahead = AHEAD * max(1, self._threads())
            given.extend(_Given(task) for task in itertools.islice(rest, max(0, ahead - len(given))))
            if not given:
                return
            yield self._result(function, given)

    def _result(self, function: Callable[..., T], given: deque[_Given]) -> T:
        """What the first of the tasks gives. All of them are with the scheduler while it is waited for."""
        dask = _dask()
        losses = 0
        asked = time.monotonic()
        while True:
            try:
                for one in given:
                    if one.generation != self._generation:
                        one.future = self._client.submit(called, __version__, function, one.task, pure=False)
                        one.generation = self._generation
                result: T = given[0].future.result(timeout=ASK_SECONDS)
                given.popleft()
                return result
            except TimeoutError:
                if given[0].future.status == "error":  # it is the task's own
                    raise
                # Either the task takes long, or nobody is there any more.
                if self._is_there():
                    continue
            except dask.KilledWorker as error:
                raise UserError(
                    f"--dask {self.where}: {words.count(MOST_DEATHS, 'worker')} died one after the other of one task "
                    f"({_line(error)}); give workers more memory, and run the command again"
                ) from error
            except ModuleNotFoundError as error:
                if error.name is None or error.name.partition(".")[0] != "slicewise":
                    raise
                raise UserError(
                    f"--dask {self.where}: its workers have no slicewise; start them in an environment that has it"
                ) from error
            except CancelledError:
                pass
            except (OSError, dask.client.ClosedClientError) as error:
                if not isinstance(error, dask.comm.CommClosedError | dask.client.ClosedClientError):
                    raise  # the task's own
            losses = losses + 1 if time.monotonic() - asked < PATIENCE_SECONDS else 1
            asked = time.monotonic()
            if losses > MOST_LOSSES:
                raise UserError(f"--dask {self.where}: its tasks are lost again and again; see the scheduler's log")
            self._reconnect()

    def _threads(self) -> int:
        with suppress(Exception):
            return sum(self._client.nthreads().values())
        return 1

    def _is_there(self) -> bool:
        with suppress(Exception):
            self._client.sync(self._client.scheduler.identity, callback_timeout=ANSWER_SECONDS)
            return True
        return False

    def _reconnect(self) -> None:
        """Wait until the scheduler is back, perhaps elsewhere if a file says where. Raises UserError if it is not."""
        say(f"--dask {self.where}: the scheduler is gone; waiting for it")
        self.close()
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                self._client = self._connected(ANSWER_SECONDS)
                self._generation += 1
                return
            except _NOT_THERE as error:
                if time.monotonic() > until:
                    raise UserError(
                        f"--dask {self.where}: the scheduler did not come back ({_line(error)}); what was done stays, "
                        "run the same command again"
                    ) from error
                time.sleep(BETWEEN_TRIES_SECONDS)

    def _connected(self, seconds: float) -> Any:
        client = _dask().Client
        if Path(self.where).is_file():
            return client(scheduler_file=self.where, timeout=seconds, set_as_default=False)
        return client(self.where, timeout=seconds, set_as_default=False)


# What a client says of a scheduler that does not answer: TimeoutError is an OSError.
_NOT_THERE = (OSError, ValueError)
MOST_DEATHS = 4


def _line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _dask() -> Any:
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise UserError("--dask: Dask is not installed; install it with: pip install 'slicewise[dask]'") from error
    # What it says of lost connections is said here, in one line.
    for name in ("distributed", "distributed.client"):  # Dask gives the second one a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return distributed
