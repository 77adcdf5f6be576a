"""Outlines of jobs that were read before, for as long as the files of their profiles are as they were.

They lie in the user's cache, all jobs of a directory in one file: to ask for 2,000 files would take longer than to read
2,000 small jobs.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import polars as pl

from slicewise import user_cache
from slicewise.digest.company import NEVER
from slicewise.digest.outlines import MOVED, Outline
from slicewise.errors import UserError
from slicewise.profile.files import profile_files

KIND = "outlines"
# Another one as soon as an outline says something else of the same profile.
FORMAT = 2
# A file that was changed just now may change again within the same tick of its file system's clock.
SETTLED_NS = 2_000_000_000
# So little is read sooner than found again.
LEAST_BYTES = 1 << 20

DID = ("processes", "start_ns", "end_ns", *MOVED)
# Of when it was active.
TIMES = {f"active_{name}": (name, NEVER.schema[name]) for name in NEVER.columns[1:]}
COLUMNS = pl.Schema(
    {"name": pl.String, "state": pl.String, "program": pl.String, "command": pl.String}
    | dict.fromkeys(DID, pl.Int64)
    | {"storages": pl.List(pl.UInt64), "ids": pl.List(pl.UInt64)}
    | {column: pl.List(dtype) for column, (_, dtype) in TIMES.items()}
)


def state_of(place: Path) -> tuple[str, int]:
    """A text that is another one as soon as a profile's files are, and how many bytes they have; without text where
    they may change unseen, or are not there.
    """
    try:
        stats = [(file.name, file.stat()) for file in profile_files(place)]
    except (OSError, UserError):
        return "", 0
    size = sum(stat.st_size for _, stat in stats)
    if max(max(stat.st_mtime_ns, stat.st_ctime_ns) for _, stat in stats) > time.time_ns() - SETTLED_NS:
        return "", size
    return repr([(name, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_dev) for name, s in stats]), size


class Kept:
    """What is known of some jobs. outlines: by place, of those that are as they were."""

    def __init__(self, places: Sequence[Path]) -> None:
        self._states = {place: state_of(place) for place in places}
        parents = [place.absolute().parent for place in places]
        self._directory = max(dict.fromkeys(parents), key=parents.count, default=Path())
        self._own = {
            place.name: place for place, parent in zip(places, parents, strict=True) if parent == self._directory
        }
        self._rows = self._read() if sum(size for _, size in self._states.values()) >= LEAST_BYTES else _NOTHING
        self.outlines = {outline.place: outline for outline in self._outlines()}

    def keep(self, fresh: Iterable[Outline]) -> None:
        """Keep what was found of the others, if that took long."""
        added = [one for one in fresh if self._own.get(one.place.name) == one.place and self._states[one.place][0]]
        if sum(self._states[one.place][1] for one in added) < LEAST_BYTES:
            return
        rows = [self._row(one) for one in added]
        content = io.BytesIO()
        pl.concat([self._rows, pl.DataFrame(rows, COLUMNS, orient="row")]).write_parquet(content, compression="zstd")
        user_cache.keep(KIND, self._key, content.getvalue())

    @property
    def _key(self) -> str:
        return f"{FORMAT} {os.fsencode(self._directory)!r}"

    def _read(self) -> pl.DataFrame:
        """The rows of jobs that are as they were."""
        content = user_cache.kept(KIND, self._key)
        if content is None:
            return _NOTHING
        rows = pl.read_parquet(content)
        states = {name: self._states[place][0] for name, place in self._own.items()}
        return (
            rows.filter(
                pl.Series(
                    [bool(state) and states.get(name) == state for name, state in rows["name", "state"].iter_rows()],
                    dtype=pl.Boolean,
                )
            )
            if rows.schema == COLUMNS
            else _NOTHING
        )

    def _row(self, outline: Outline) -> tuple[object, ...]:
        return (
            outline.place.name,
            self._states[outline.place][0],
            outline.program,
            outline.command,
            *(outline.did[name] for name in DID),
            sorted(outline.storages),
            sorted(outline.ids),
            *(outline.active[name].to_list() for name, _ in TIMES.values()),
        )

    def _outlines(self) -> Iterator[Outline]:
        lengths = self._rows[next(iter(TIMES))].list.len().to_list()
        active = pl.DataFrame(
            [self._rows[column].explode(empty_as_null=False).alias(name) for column, (name, _) in TIMES.items()]
        )
        ends = accumulate(lengths)
        for row, length, end in zip(self._rows.drop(TIMES).iter_rows(named=True), lengths, ends, strict=True):
            yield Outline(
                self._own[row["name"]],
                row["program"],
                row["command"],
                {name: row[name] for name in DID},
                frozenset(row["storages"]),
                frozenset(row["ids"]),
                active.slice(end - length, length),
            )


_NOTHING = pl.DataFrame(schema=COLUMNS)
