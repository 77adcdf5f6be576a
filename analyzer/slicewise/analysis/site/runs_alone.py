"""What the processes of all jobs of some time did in all, and which jobs had the storages to themselves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from slicewise.analysis.blame.on_storage import Floats, Mask
from slicewise.analysis.blame.timeline import AMOUNTS, CALLS, KINDS, SECONDS
from slicewise.analysis.blame.to_runtime import uneven_parts
from slicewise.analysis.blame.uncontended import Place, Price, StandaloneRows
from slicewise.analysis.site.everyone import Everyone
from slicewise.catalog.beside import MOST_ASKED
from slicewise.digest.beside import MOST_RUNS
from slicewise.digest.outlines import Work
from slicewise.digest.processes import DIRECTIONS


class Processes:
    """What each job's processes did, all slices together: a phase as long as the job."""

    def __init__(self, every: Everyone) -> None:
        rows = every.processes
        places = rows["place"].to_numpy()
        self._bounds = np.searchsorted(places, np.arange(every.jobs.height + 1))
        self._process = rows.select(pl.struct("place", "process").rle_id()).to_series().to_numpy().astype(np.int64)
        self._storages = rows["storage"].to_numpy()
        names = (*SECONDS.values(), *AMOUNTS.values(), *CALLS.values())
        self._columns = {name: rows[name].cast(pl.Float64).to_numpy() for name in names}

    def _its(self, place: int) -> slice:
        return slice(int(self._bounds[place]), int(self._bounds[place + 1]))

    def _by_process(self, place: int, values: Floats) -> Floats:
        """A value of the job's rows, added up: (processes, 1)."""
        its = self._process[self._its(place)]
        return np.asarray(np.bincount(its - its[0], values)[:, None], np.float64)

    def count(self, place: int) -> int:
        """How many made calls."""
        its = self._process[self._its(place)]
        return int(its[-1] - its[0]) + 1 if len(its) else 0

    def in_calls(self, place: int) -> Floats:
        """Seconds of each process in calls: (processes, 1)."""
        its = self._its(place)
        return self._by_process(place, np.asarray(sum(self._columns[name][its] for name in SECONDS.values())))

    def alone(self, place: int, prices: Mapping[Place, Price]) -> Floats:
        """Seconds that each process's calls would have taken alone: (processes, 1)."""
        its, count = self._its(place), self.count(place)
        storages = self._storages[its]
        alone = np.zeros(len(storages))
        for kind in KINDS:
            cost = self._columns[SECONDS[kind]][its].copy()
            for (storage, of), price in prices.items():
                if of == kind:
                    here = storages == storage
                    calls = self._columns[CALLS[kind]][its][here] if kind in CALLS else 0.0
                    amounts = self._columns[AMOUNTS[kind]][its][here]
                    cost[here] = count * (price.seconds * amounts + price.call_seconds * calls)
            alone += cost
        return self._by_process(place, alone)


class RunsAlone:
    """The jobs that had the storages to themselves, as runs that others of their program are compared with."""

    def __init__(self, every: Everyone, processes: Processes) -> None:
        self._own, self._processes = cache(every.on_storages), processes
        self._jobs = every.jobs
        self._job = cache(self._named)
        programs = every.jobs["program"].to_list()
        is_running = every.jobs["is_running"].to_list()
        self._quiet: dict[str, list[int]] = {}
        for place in np.flatnonzero(np.bincount(every.pieces[0], minlength=every.jobs.height)).tolist():
            if not is_running[place] and not every.had_company[place]:
                self._quiet.setdefault(programs[place], []).append(place)
        self._run = cache(self._made)

    def _named(self, place: int) -> dict[str, Any]:
        return self._jobs.row(place, named=True)

    def has_some(self) -> Mask:
        """Whether there are runs of each job's program, whatever they did, by place."""
        return self._jobs["program"].is_in(list(self._quiet)).to_numpy()

    def of(self, place: int) -> list[StandaloneRows]:
        """Runs of the job's program that did the same kind of work, of its size and of others: MOST_RUNS each, those
        on its storages first, then those nearest in time.
        """
        job = self._job(place)
        quiet = self._quiet.get(job["program"], [])
        if not quiet:
            return []
        storages = set(self._own(place))
        nearest = sorted(
            quiet,
            key=lambda other: (
                -len(storages & set(self._own(other))),
                abs(self._job(other)["start_ns"] - job["start_ns"]),
            ),
        )
        found = []
        for is_like in (True, False):
            its = [other for other in nearest if (self._job(other)["processes"] == job["processes"]) == is_like]
            same = (other for other in islice(its, MOST_ASKED) if _work(self._job(other)).is_as(_work(job)))
            found += [self._run(other) for other in islice(same, MOST_RUNS)]
        return found

    def _made(self, place: int) -> StandaloneRows:
        return StandaloneRows(
            self._job(place)["job"],
            self._processes.count(place),
            self._own(place),
            uneven_parts(self._processes.in_calls(place), "processes"),
        )


def _work(row: Mapping[str, int]) -> Work:
    return Work(row["processes"], {way: (row[f"{way}_bytes"], row[f"{way}_ops"]) for way in DIRECTIONS})
