"""A job as an import found it: its processes, mounts and files, what it did when, and what its log says it moved."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import polars as pl

from slicewise.errors import UserError
from slicewise.imports import events
from slicewise.scalars import number_of

WAYS = events.MOVING
OTHER_THINGS = "other"
MOST_NAMED = 3


@dataclass(frozen=True)
class Mount:
    """Where files lie: `object` is "file" for a file system, OTHER_THINGS for streams and the like."""

    point: str
    type: str
    source: str
    object: str = "file"


@dataclass(frozen=True)
class Process:
    """A process. number: unique id. rank: -1 without MPI. clock_error_ns: by so much its times may be off."""

    number: int
    host: str
    pid: int
    program: str
    start_ns: int
    end_ns: int
    rank: int = -1
    ranks: int = 0
    clock_error_ns: int = 0


@dataclass(frozen=True)
class ImportedJob:
    """A job. source: the profiler, and what of its log this was made of. mounts, paths: what the events' numbers stand
    for. moved: bytes by layer and way, as the log itself adds them up. opens: by (process, file). notes: sentences for
    whoever imports it.
    """

    name: str
    source: str
    user: int
    slice_ns: int
    processes: Sequence[Process]
    mounts: Sequence[Mount]
    paths: Sequence[str]
    events: pl.DataFrame
    moved: Mapping[tuple[str, str], int]
    opens: Mapping[tuple[int, int], int] = field(default_factory=dict)
    notes: Sequence[str] = ()


Thing = TypeVar("Thing", bound=Hashable)


class Numbered(Generic[Thing]):
    """Things in the order in which they were met, each once."""

    def __init__(self) -> None:
        self._places: dict[Thing, int] = {}

    def __call__(self, thing: Thing) -> int:
        """Its number, from 0 on."""
        return self._places.setdefault(thing, len(self._places))

    @property
    def things(self) -> list[Thing]:
        return list(self._places)


@dataclass
class Met:
    """A process while its logs are read. place: how many were met before it; begin_ns, end_ns: of its calls so far."""

    place: int
    begin_ns: int
    end_ns: int
    program: str = ""
    rank: int = -1

    def calls(self, begin_ns: int, end_ns: int) -> None:
        """Takes note of a call's times."""
        self.begin_ns, self.end_ns = min(self.begin_ns, begin_ns), max(self.end_ns, end_ns)


@dataclass
class Gathered:
    """A job while its logs are read: rows of events, and what else an `ImportedJob` has."""

    rows: list[tuple[object, ...]] = field(default_factory=list)
    mounts: Numbered[Mount] = field(default_factory=Numbered)
    paths: Numbered[str] = field(default_factory=Numbered)
    moved: Counter[tuple[str, str]] = field(default_factory=Counter)
    opens: Counter[tuple[int, int]] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def job(self, name: str, source: str, user: int, slice_ns: int, processes: Sequence[Process]) -> ImportedJob:
        found = events.events(self.rows)
        mounts, paths, moved = self.mounts.things, self.paths.things, dict(self.moved)
        return ImportedJob(name, source, user, slice_ns, processes, mounts, paths, found, moved, self.opens, self.notes)


def identity(*parts: object) -> int:
    """A process's unique id from what tells it apart: the same whenever the same log is imported; never 0."""
    return number_of("\0".join(str(part) for part in parts)) or 1


def mount_of(path: str, points: Sequence[str]) -> str:
    """The mount point that a path lies under: the longest of `points`; empty if none."""
    found = [point for point in points if path == point or path.startswith(point.rstrip("/") + "/")]
    return max(found, key=len, default="")


def require_same_bytes(
    place: Path | str, expected: Mapping[tuple[str, str], int], found: Mapping[tuple[str, str], int]
) -> None:
    """Raises UserError where bytes by layer and way are not those that the log has."""
    for layer, way in sorted({*expected, *found}):
        there, here = expected.get((layer, way), 0), found.get((layer, way), 0)
        if there != here:
            raise UserError(
                f"{place}: its {layer} {way}s are {there:,} bytes, and {here:,} would have come out; nothing was "
                "written; please report it, with the log if you may"
            )


def moved_in(rows: pl.DataFrame) -> dict[tuple[str, str], int]:
    """Bytes by layer and way of rows that have a column `layer` and bytes of each way."""
    summed = rows.group_by("layer").agg(pl.col(f"{way}_bytes").cast(pl.Int64).sum() for way in WAYS)
    return {(str(row[0]), way): row[1 + place] for row in summed.iter_rows() for place, way in enumerate(WAYS)}


class BadLine(Exception):
    """What is wrong with a line of a log."""


def refuse_lines(file: Path, bad: Sequence[str]) -> None:
    """Raises UserError where a file has bad lines; bad: what is wrong with each."""
    if bad:
        more = f" and {len(bad) - MOST_NAMED:,} more lines" if len(bad) > MOST_NAMED else ""
        raise UserError(f"{file}: {'; '.join(bad[:MOST_NAMED])}{more}; nothing was imported, for it would lack these")
