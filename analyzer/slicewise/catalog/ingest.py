"""Profiles into a catalog: each job once, however often it is met, and whoever is killed meanwhile.

A job is known by its processes' unique ids. Of two profiles of one job (one was read while it ran, or lacks a node) the
fuller one stays. A profile whose files are as they were is not read again.
"""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from slicewise.catalog.find import JOBS_AT_ONCE, JobFiles, chunks
from slicewise.catalog.rows import read_rows
from slicewise.catalog.schema import FRAMES, KEY, conform
from slicewise.catalog.store import ASIDE, BATCH_PREFIX, Batch, Catalog, Writing, number_of_name, write_batch
from slicewise.constants import EQUAL_VOLUMES, SAMPLE_NS, WORTH_NAMING_BYTES
from slicewise.digest.processes import SERVED
from slicewise.errors import UserError
from slicewise.profile.files import is_of_servers
from slicewise.scalars import whole

# What is held before a batch is written: so many rows of slices, so many bytes in memory, or as much as came in so many
# seconds. Small jobs have more bytes in their other frames.
ROWS_A_BATCH = 2_000_000
BYTES_A_BATCH = 24 << 20
SECONDS_A_BATCH = 30.0
# A day with more batches than this has its small ones put together, by the rows of the largest frame: it lies in memory
# then.
MOST_BATCHES = 8
SMALL_ROWS = 500_000
MERGED_ROWS = 1_500_000
# How a disk says that it is full, or that its user has had his share.
FULL = (errno.ENOSPC, errno.EDQUOT)
# So far the clocks of file servers and of whoever ingests may differ.
CLOCKS_APART_NS = 3_600_000_000_000
# What is fuller of two profiles of one job, most telling first.
FULLNESS = ("profiled", "all_processes", "finished", "records", "moved", "calls")

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class JobsPart:
    """Jobs that were read together. jobs: their frame of that name, with the day of each; processes: key and process;
    records: rows of process_slices by key; damaged: keys. frames: all of it; bytes: that these take in memory.
    """

    jobs: pl.DataFrame
    processes: pl.DataFrame
    records: Mapping[int, int]
    damaged: frozenset[int]
    frames: Mapping[str, pl.DataFrame]
    bytes: int


def part_of(frames: Mapping[str, pl.DataFrame]) -> JobsPart:
    jobs = frames["jobs"]
    return JobsPart(
        jobs,
        frames["processes"].select(KEY, "process"),
        dict(jobs.select(KEY, "records").iter_rows()),
        frozenset(frames["damage"][KEY] if "damage" in frames else ()),
        frames,
        sum(int(frame.estimated_size()) for frame in frames.values()),
    )


@dataclass(frozen=True)
class Piece:
    """Jobs of one day: those of a part, or of a batch that is to go, with these keys; None: all of them."""

    source: JobsPart | Batch
    keys: Collection[int] | None = None

    def names(self) -> list[str]:
        if isinstance(self.source, JobsPart):
            return list(self.source.frames)
        unknown = sorted(set(self.source.rows) - set(FRAMES))
        if unknown:
            raise UserError(
                f"{self.source.place}: has a table {unknown[0]} that this slicewise does not know and would lose; "
                "use the newer one that wrote it"
            )
        return list(self.source.rows)

    def frame(self, name: str) -> pl.DataFrame:
        frame = self.source.frames[name] if isinstance(self.source, JobsPart) else self.source.read(name)
        return frame if self.keys is None else frame.filter(pl.col(KEY).is_in(list(self.keys)))


def write_aside(catalog: Path, pieces: Sequence[Piece]) -> str:
    """Write a batch of some jobs of one day beside the catalog's days, and say under what name."""
    names = sorted({name for piece in pieces for name in piece.names()})
    frames = (
        (name, pl.concat([conform(name, piece.frame(name)) for piece in pieces if name in piece.names()]))
        for name in names
    )
    batch = f"{BATCH_PREFIX}{secrets.token_hex(8)}"
    write_batch(catalog / ASIDE / batch, frames)
    return batch


@dataclass
class Ingested:
    """What became of the profiles. unread: those that are no profiles or too damaged, each in a line."""

    added: int = 0
    replaced: int = 0
    known: int = 0
    damaged: int = 0
    records: int = 0
    unread: list[str] = field(default_factory=list)


@dataclass
class _Pending:
    """Jobs that wait to be written: those of a part with these keys."""

    part: JobsPart
    keys: set[int]

    @property
    def records(self) -> int:
        return sum(self.part.records[key] for key in self.keys)


@dataclass(frozen=True)
class _KnownJob:
    """A job that is in the catalog, or about to be. batch: where; None while it waits to be written. is_served: servers
    counted it, and it has no profile. moved: its bytes."""

    key: int
    job: str
    start_ns: int
    end_ns: int
    fullness: tuple[int, ...]
    path: str
    batch: Batch | None
    is_served: bool
    moved: int

    def is_counted_twice(self, other: _KnownJob) -> bool:
        """Whether servers counted, of the two, what the other one's profile has: by name, or by bytes and time."""
        if self.job == other.job:
            return True
        served, profiled = (self, other) if self.is_served else (other, self)
        is_within = served.start_ns >= profiled.start_ns - SAMPLE_NS and served.end_ns <= profiled.end_ns + SAMPLE_NS
        is_alike = abs(served.moved - profiled.moved) <= EQUAL_VOLUMES * profiled.moved
        return is_within and is_alike and profiled.moved >= WORTH_NAMING_BYTES


def ingest(
    catalog: Catalog,
    places: Sequence[JobFiles],
    progress: Callable[[int, int], None] = lambda jobs, bytes: None,
    is_waiting: Callable[[], None] | None = None,
    rows_a_batch: int = ROWS_A_BATCH,
    jobs_at_once: int = JOBS_AT_ONCE,
) -> Ingested:
    """Take profiles into a catalog. progress: is told how many profiles, and bytes of them, are done since last time.

    is_waiting: is called if another process changes the catalog; then this one waits. Raises UserError where the
    catalog's disk is full; what came in until then stays.
    """
    try:
        with catalog.locked(is_waiting) as writing:
            return _Ingest(writing, rows_a_batch, jobs_at_once).run(places, progress)
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise UserError(
            f"{catalog.path}: {error.strerror}; make room, and run the same command again: it goes on where it was"
        ) from error


def _ahead(function: Callable[[T], U], tasks: Iterable[T]) -> Iterator[U]:
    """What the function gives for each task, in order, by a thread a core; they are as many tasks ahead."""
    count = max(1, len(os.sched_getaffinity(0)))
    with ThreadPoolExecutor(count) as pool:
        begun: deque[Future[U]] = deque()
        for task in chain(tasks, [None] * count):
            if task is not None:
                begun.append(pool.submit(function, task))
            if begun and (task is None or len(begun) > count):
                yield begun.popleft().result()


class _Ingest:
    def __init__(self, writing: Writing, rows_a_batch: int, jobs_at_once: int) -> None:
        self.writing, self.catalog = writing, writing.catalog
        self.rows_a_batch, self.jobs_at_once = rows_a_batch, jobs_at_once
        self.salt = self.catalog.salt
        self.done = Ingested()
        self.pending: list[_Pending] = []
        self.last_put = time.monotonic()
        self.waiting: dict[str, list[_KnownJob]] = {}
        self.processes: dict[int, frozenset[int]] = {}
        self.days: set[str] = set()
        self.replaced: dict[Path, tuple[Batch, set[int]]] = {}

    def run(self, places: Sequence[JobFiles], progress: Callable[[int, int], None]) -> Ingested:
        seen = self._fingerprints(places)
        fresh = [place for place in places if not seen or place.fingerprint(self.salt) not in seen]
        self.done.known = len(places) - len(fresh)
        progress(self.done.known, sum(place.size for place in places) - sum(place.size for place in fresh))
        of_servers = [place for place in fresh if is_of_servers(place.path)]
        together = list(chunks([place for place in fresh if place not in of_servers], self.jobs_at_once))
        for own, (parts, unread) in zip(together, _ahead(self._read, together), strict=True):
            for part in parts:
                self._take(part)
            self.done.unread += unread
            progress(len(own), sum(place.size for place in own))
        for place in of_servers:  # as many jobs as a day has lie in one file, and not in memory
            for frames in read_rows([place], self.done.unread, self.salt):
                self._take(part_of(frames))
            progress(1, place.size)
        self._put()
        self._merge()
        return self.done

    def _read(self, places: Sequence[JobFiles]) -> tuple[list[JobsPart], list[str]]:
        unread: list[str] = []
        return [part_of(frames) for frames in read_rows(places, unread, self.salt)], unread

    def _fingerprints(self, places: Sequence[JobFiles]) -> set[int]:
        """Of profiles that came in as they are. What was changed last at some time came in later."""
        if not places:
            return set()
        since = min(place.changed_ns for place in places) - CLOCKS_APART_NS
        later = [batch for batch in self.catalog.batches() if batch.written_ns >= since]
        return set(self.catalog.scan("jobs", later).select("fingerprint").collect()["fingerprint"].to_list())

    def _take(self, part: JobsPart) -> None:
        """Take jobs in that are new, or fuller than what is known of them. No two of them are the same job."""
        jobs = part.jobs
        ids = part.processes.group_by(KEY).agg(pl.col("process"))
        processes = {key: frozenset(found) for key, found in ids.iter_rows()}
        kept, twice = self._kept(jobs), self._other_kind(jobs)
        taken = _Pending(part, set(jobs[KEY]))
        for row in jobs.sort("path").select(_described()).iter_rows(named=True):
            one = _known(row, None)
            namesakes = [*kept.get(row["job"], ()), *self.waiting.get(row["job"], ())]
            namesakes += twice.get(one.is_served, ()) if one.moved >= WORTH_NAMING_BYTES else ()
            same = [other for other in namesakes if self._is_same(one, processes[one.key], other)]
            if any(not ((one.fullness, other.path) > (other.fullness, one.path)) for other in same):
                taken.keys.discard(one.key)
                self.done.known += 1
                continue
            for other in same:
                self._forget(other)
            is_copy = any(one.fullness == other.fullness for other in same)
            self.done.known += is_copy
            self.done.replaced += bool(same) and not is_copy
            self.done.added += not same
            self.waiting.setdefault(row["job"], []).append(one)
            self.processes[one.key] = processes[one.key]
        if not taken.keys:
            return
        self.done.damaged += len(part.damaged & taken.keys)
        self.done.records += taken.records
        self.pending.append(taken)
        is_much = (
            sum(one.records for one in self.pending) >= self.rows_a_batch
            or sum(one.part.bytes for one in self.pending) >= BYTES_A_BATCH
        )
        if is_much or time.monotonic() - self.last_put > SECONDS_A_BATCH:
            self._put()

    def _kept(self, jobs: pl.DataFrame) -> dict[str, list[_KnownJob]]:
        """The catalog's jobs of the same names from about the same time, by name."""
        found: dict[str, list[_KnownJob]] = {}
        numbers = [number_of_name(name) for name in jobs["job"]]
        for one in self._in_catalog(jobs, pl.col("job").is_in(jobs["job"].implode()), numbers):
            found.setdefault(one.job, []).append(one)
        return found

    def _other_kind(self, jobs: pl.DataFrame) -> dict[bool, list[_KnownJob]]:
        """Jobs from about the same time that may be some of these once more, counted by servers or with a profile; by
        whether these are counted by servers."""
        found: dict[bool, list[_KnownJob]] = {}
        for is_served in jobs.select((pl.col("source") == SERVED).unique()).to_series():
            others = [one for some in self.waiting.values() for one in some if one.is_served != is_served]
            is_large = pl.sum_horizontal("read_bytes", "write_bytes") >= WORTH_NAMING_BYTES
            others += self._in_catalog(jobs, ((pl.col("source") == SERVED) != pl.lit(is_served)) & is_large)
            found[is_served] = others
        return found

    def _in_catalog(
        self, jobs: pl.DataFrame, wanted: pl.Expr, numbers: Sequence[int] | None = None
    ) -> Iterator[_KnownJob]:
        """The catalog's jobs that are wanted, from about the time of `jobs`. numbers: of names, one of which a batch
        must have."""
        start_ns, end_ns = whole(jobs["start_ns"].min()), whole(jobs["end_ns"].max())
        while_there = (pl.col("start_ns") <= end_ns, pl.col("end_ns") >= start_ns)
        for batch in self.catalog.batches_between(start_ns, end_ns):
            if numbers is not None and not batch.may_have(numbers):
                continue
            gone = self.replaced.get(batch.place, (batch, set()))[1]
            rows = self.catalog.scan("jobs", [batch]).filter(wanted, *while_there).select(_described()).collect()
            yield from (_known(row, batch) for row in rows.iter_rows(named=True) if row[KEY] not in gone)

    def _is_same(self, one: _KnownJob, processes: frozenset[int], other: _KnownJob) -> bool:
        if one.start_ns > other.end_ns or other.start_ns > one.end_ns:
            return False
        if one.is_served != other.is_served:
            return one.is_counted_twice(other)
        if other.batch is None:
            return not processes.isdisjoint(self.processes[other.key])
        rows = self.catalog.scan("processes", [other.batch]).filter(pl.col(KEY) == other.key)
        return not processes.isdisjoint(rows.select("process").collect()["process"].to_list())

    def _forget(self, other: _KnownJob) -> None:
        if other.batch is not None:
            self.replaced.setdefault(other.batch.place, (other.batch, set()))[1].add(other.key)
            return
        self.waiting[other.job].remove(other)
        for one in self.pending:
            one.keys.discard(other.key)

    def _put(self) -> None:
        """Write what waits, and rewrite the batches of which something was replaced."""
        days: dict[str, list[Piece]] = {}
        for one in self.pending:
            for (day,), jobs in one.part.jobs.group_by("day", maintain_order=True):
                keys = one.keys.intersection(jobs[KEY])
                if keys:
                    is_all = len(keys) == one.part.jobs.height
                    days.setdefault(str(day), []).append(Piece(one.part, None if is_all else keys))
        for batch, gone in self.replaced.values():
            if len(gone) < batch.jobs:
                days.setdefault(batch.day, []).append(Piece(batch, set(batch.read("jobs")[KEY]) - gone))
        self._write(days, [batch for batch, _ in self.replaced.values()])
        self.days |= set(days)
        self.pending, self.waiting, self.processes, self.replaced = [], {}, {}, {}
        self.last_put = time.monotonic()

    def _write(self, days: Mapping[str, Sequence[Piece]], removes: Sequence[Batch]) -> None:
        self.writing.install({day: write_aside(self.catalog.path, pieces) for day, pieces in days.items()}, removes)

    def _merge(self) -> None:
        """Put small batches of a day together where there are many."""
        for day in sorted(self.days):
            batches = self.catalog.batches([day])
            if len(batches) <= MOST_BATCHES:
                continue
            small = sorted((one for one in batches if one.most_rows < SMALL_ROWS), key=lambda one: one.most_rows)
            chosen: list[Batch] = []
            for batch in small:
                if sum(one.most_rows for one in chosen) + batch.most_rows <= MERGED_ROWS:
                    chosen.append(batch)
            if len(chosen) > 1:
                self._write({day: [Piece(batch) for batch in chosen]}, chosen)


def _described() -> list[pl.Expr]:
    return [
        pl.col(KEY, "job", "start_ns", "end_ns", "path", "source", "all_processes", "records"),
        (pl.col("source") != SERVED).cast(pl.Int64).alias("profiled"),
        (pl.col("all_processes") - pl.col("unfinished")).alias("finished"),
        pl.sum_horizontal("read_bytes", "write_bytes").alias("moved"),
        pl.sum_horizontal("read_ops", "write_ops", "meta_ops", "sync_ops").alias("calls"),
    ]


def _known(row: Mapping[str, Any], batch: Batch | None) -> _KnownJob:
    is_served = bool(row["source"] == SERVED)
    return _KnownJob(
        row[KEY],
        row["job"],
        row["start_ns"],
        row["end_ns"],
        tuple(row[name] for name in FULLNESS),
        row["path"],
        batch,
        is_served,
        row["moved"],
    )
