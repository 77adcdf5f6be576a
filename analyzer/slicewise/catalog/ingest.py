"""Profiles into a catalog: each job once, however often it is met, and whoever is killed meanwhile.

A job is known by its processes' unique ids. Of two profiles of one job (one was read while it ran, or lacks a node) the
fuller one stays. A profile whose files are as they were is not read again.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from slicewise.catalog.find import JOBS_AT_ONCE, Place, chunks
from slicewise.catalog.rows import read_rows
from slicewise.catalog.schema import KEY, conform
from slicewise.catalog.store import Batch, Catalog, Writing, number_of_name
from slicewise.scalars import whole

# What is held in memory before a batch is written: so many rows of slices, or as much as came in so many seconds.
ROWS_A_BATCH = 2_000_000
SECONDS_A_BATCH = 30.0
# A day with more batches than this has its small ones put together.
MOST_BATCHES = 8
SMALL_ROWS = 1_000_000
MERGED_ROWS = 4_000_000
# So far the clocks of file servers and of whoever ingests may differ.
CLOCKS_APART_NS = 3_600_000_000_000
# What is fuller of two profiles of one job, most telling first.
FULLNESS = ("all_processes", "finished", "records", "moved", "calls")


@dataclass
class Ingested:
    """What became of the profiles. unread: those that are no profiles or too damaged, each in a line."""

    added: int = 0
    replaced: int = 0
    known: int = 0
    damaged: int = 0
    records: int = 0
    unread: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Known:
    """A job that is in the catalog, or about to be. batch: where; None while it waits to be written."""

    key: int
    start_ns: int
    end_ns: int
    fullness: tuple[int, ...]
    path: str
    batch: Batch | None


def ingest(
    catalog: Catalog,
    places: Sequence[Place],
    progress: Callable[[int, int], None] = lambda jobs, bytes: None,
    is_waiting: Callable[[], None] | None = None,
    rows_a_batch: int = ROWS_A_BATCH,
    jobs_at_once: int = JOBS_AT_ONCE,
) -> Ingested:
    """Take profiles into a catalog. progress: is told how many profiles, and bytes of them, are done since last time.

    is_waiting: is called if another process changes the catalog; then this one waits.
    """
    with catalog.locked(is_waiting) as writing:
        return _Ingest(writing, rows_a_batch, jobs_at_once).run(places, progress)


class _Ingest:
    def __init__(self, writing: Writing, rows_a_batch: int, jobs_at_once: int) -> None:
        self.writing, self.catalog = writing, writing.catalog
        self.rows_a_batch, self.jobs_at_once = rows_a_batch, jobs_at_once
        self.salt = self.catalog.salt
        self.done = Ingested()
        self.pending: list[dict[str, pl.DataFrame]] = []
        self.pending_rows = 0
        self.last_put = time.monotonic()
        self.waiting: dict[str, list[_Known]] = {}
        self.processes: dict[int, frozenset[int]] = {}
        self.days: set[str] = set()
        self.replaced: dict[Path, tuple[Batch, set[int]]] = {}

    def run(self, places: Sequence[Place], progress: Callable[[int, int], None]) -> Ingested:
        seen = self._fingerprints(places)
        fresh = [place for place in places if not seen or place.fingerprint(self.salt) not in seen]
        self.done.known = len(places) - len(fresh)
        progress(self.done.known, sum(place.size for place in places) - sum(place.size for place in fresh))
        workers = max(1, len(os.sched_getaffinity(0)))
        with ThreadPoolExecutor(workers) as pool:
            reading: deque[tuple[list[Place], Future[tuple[list[dict[str, pl.DataFrame]], list[str]]]]] = deque()
            for chunk in chain(chunks(fresh, self.jobs_at_once), [None] * workers):
                if chunk is not None:
                    reading.append((chunk, pool.submit(read_rows, chunk, self.salt)))
                if reading and (chunk is None or len(reading) > workers):
                    own, made = reading.popleft()
                    found, unread = made.result()
                    for frames in found:
                        self._take(frames)
                    self.done.unread += unread
                    progress(len(own), sum(place.size for place in own))
        self._put()
        self._merge()
        return self.done

    def _fingerprints(self, places: Sequence[Place]) -> set[int]:
        """Of profiles that came in as they are. What was changed last at some time came in later."""
        if not places:
            return set()
        since = min(place.changed_ns for place in places) - CLOCKS_APART_NS
        later = [batch for batch in self.catalog.batches() if batch.written_ns >= since]
        return set(self.catalog.scan("jobs", later).select("fingerprint").collect()["fingerprint"].to_list())

    def _take(self, frames: dict[str, pl.DataFrame]) -> None:
        """Take jobs in that are new, or fuller than what is known of them. No two of them are the same job."""
        jobs = frames["jobs"]
        ids = frames["processes"].group_by(KEY).agg(pl.col("process"))
        processes = {key: frozenset(found) for key, found in ids.iter_rows()}
        kept = self._kept(jobs)
        refused = []
        for row in jobs.sort("path").select(_described()).iter_rows(named=True):
            one = _Known(row[KEY], row["start_ns"], row["end_ns"], _fullness(row), row["path"], None)
            namesakes = [*kept.get(row["job"], ()), *self.waiting.get(row["job"], ())]
            same = [other for other in namesakes if self._is_same(one, processes[one.key], other)]
            if any(not _is_fuller(one, other) for other in same):
                refused.append(one.key)
                self.done.known += 1
                continue
            for other in same:
                self._forget(row["job"], other)
            self.done.replaced += bool(same)
            self.done.added += not same
            self.waiting.setdefault(row["job"], []).append(one)
            self.processes[one.key] = processes[one.key]
        if refused:
            frames = {name: frame.filter(~pl.col(KEY).is_in(refused)) for name, frame in frames.items()}
        if frames["jobs"].is_empty():
            return
        records = frames["process_slices"].height if "process_slices" in frames else 0
        self.done.damaged += frames["damage"][KEY].n_unique() if "damage" in frames else 0
        self.done.records += records
        self.pending.append(frames)
        self.pending_rows += records
        if self.pending_rows >= self.rows_a_batch or time.monotonic() - self.last_put > SECONDS_A_BATCH:
            self._put()

    def _kept(self, jobs: pl.DataFrame) -> dict[str, list[_Known]]:
        """The catalog's jobs of the same names from about the same time, by name."""
        start_ns, end_ns = whole(jobs["start_ns"].min()), whole(jobs["end_ns"].max())
        found: dict[str, list[_Known]] = {}
        numbers = [number_of_name(name) for name in jobs["job"]]
        for batch in self.catalog.batches_between(start_ns, end_ns):
            if not batch.may_have(numbers):
                continue
            gone = self.replaced.get(batch.place, (batch, set()))[1]
            namesakes = self.catalog.scan("jobs", [batch]).filter(pl.col("job").is_in(jobs["job"].implode()))
            for row in namesakes.select(_described()).collect().iter_rows(named=True):
                if row[KEY] not in gone:
                    one = _Known(row[KEY], row["start_ns"], row["end_ns"], _fullness(row), row["path"], batch)
                    found.setdefault(row["job"], []).append(one)
        return found

    def _is_same(self, one: _Known, processes: frozenset[int], other: _Known) -> bool:
        if one.start_ns > other.end_ns or other.start_ns > one.end_ns:
            return False
        if other.batch is None:
            return not processes.isdisjoint(self.processes[other.key])
        rows = self.catalog.scan("processes", [other.batch]).filter(pl.col(KEY) == other.key)
        return not processes.isdisjoint(rows.select("process").collect()["process"].to_list())

    def _forget(self, name: str, other: _Known) -> None:
        """Take a job out again that has a fuller profile."""
        if other.batch is not None:
            self.replaced.setdefault(other.batch.place, (other.batch, set()))[1].add(other.key)
            return
        self.waiting[name].remove(other)
        self.pending = [
            {name: frame.filter(pl.col(KEY) != other.key) for name, frame in frames.items()} for frames in self.pending
        ]

    def _put(self) -> None:
        """Write what waits, and rewrite the batches of which something was replaced."""
        days: dict[str, dict[str, list[pl.DataFrame]]] = {}
        for frames in self.pending:
            for (day,), jobs in frames["jobs"].group_by("day", maintain_order=True):
                is_all = jobs.height == frames["jobs"].height
                for name, frame in frames.items():
                    own = frame if is_all else frame.join(jobs, on=KEY, how="semi")
                    days.setdefault(str(day), {}).setdefault(name, []).append(own)
        for batch, gone in self.replaced.values():
            if len(gone) < batch.jobs:
                for name in batch.rows:
                    rest = batch.read(name).filter(~pl.col(KEY).is_in(list(gone)))
                    days.setdefault(batch.day, {}).setdefault(name, []).append(rest)
        whole_days = {day: {name: _put_together(name, parts) for name, parts in frames.items()}
                      for day, frames in days.items()}  # fmt: skip
        self.writing.put(whole_days, [batch for batch, _ in self.replaced.values()])
        self.days |= set(whole_days)
        self.pending, self.pending_rows, self.waiting, self.processes, self.replaced = [], 0, {}, {}, {}
        self.last_put = time.monotonic()

    def _merge(self) -> None:
        """Put small batches of a day together where there are many."""
        for day in sorted(self.days):
            batches = self.catalog.batches([day])
            if len(batches) <= MOST_BATCHES:
                continue
            small = sorted(
                (one for one in batches if one.slice_records < SMALL_ROWS), key=lambda one: one.slice_records
            )
            chosen: list[Batch] = []
            for batch in small:
                if sum(one.slice_records for one in chosen) + batch.slice_records <= MERGED_ROWS:
                    chosen.append(batch)
            if len(chosen) > 1:
                names = {name for batch in chosen for name in batch.rows}
                frames = {name: pl.concat([one.read(name) for one in chosen]) for name in names}
                self.writing.put({day: frames}, chosen)


def _put_together(name: str, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([conform(name, part) for part in parts])


def _described() -> list[pl.Expr]:
    """What tells a job from others, and a fuller profile of it from a less full one."""
    return [
        pl.col(KEY, "job", "start_ns", "end_ns", "path", "all_processes", "records"),
        (pl.col("all_processes") - pl.col("unfinished")).alias("finished"),
        pl.sum_horizontal("read_bytes", "write_bytes").alias("moved"),
        pl.sum_horizontal("read_ops", "write_ops", "meta_ops", "sync_ops").alias("calls"),
    ]


def _fullness(row: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(row[name] for name in FULLNESS)


def _is_fuller(one: _Known, other: _Known) -> bool:
    return (one.fullness, other.path) > (other.fullness, one.path)
