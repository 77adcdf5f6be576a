"""Which jobs, and which files of a large job, are read at once; and which rows are whose."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import polars as pl

from slicewise.errors import UserError
from slicewise.profile import plan
from slicewise.profile.files import profile_files
from slicewise.profile.plan import Want
from slicewise.profile.reading import Reading, read_jobs

# Of files that are read together: so many bytes, so that memory does not grow with the number of large jobs.
BYTES_AT_ONCE = 16 << 20
Place = TypeVar("Place")


def profile_bytes(place: Path) -> int:
    return sum(file.stat().st_size for file in profile_files(place) if file.exists())


def batches(places: Sequence[Place], size_of: Callable[[Place], int], most: float = math.inf) -> Iterator[list[Place]]:
    """Jobs that are to be read together: so many at most, and about BYTES_AT_ONCE."""
    batch: list[Place] = []
    together = 0
    for place in places:
        size = size_of(place)
        if batch and (len(batch) >= most or together + size > BYTES_AT_ONCE):
            yield batch
            batch, together = [], 0
        batch.append(place)
        together += size
    if batch:
        yield batch


def _whose(table: pl.DataFrame) -> pl.DataFrame:
    """Whose rows a table has. Those of one process stand together: to look is faster than to hash them all."""
    whose = table.select(plan.SOURCE, "process")
    return whose.filter(pl.any_horizontal(pl.all().ne_missing(pl.all().shift())))


class Whole(Exception):
    """A job that must be read at once."""


def parts_of(place: Path, wants: Mapping[str, Want]) -> Iterator[Reading]:
    """A large job some of its files at a time, as if each file were a job, so that memory does not grow with it. Raises
    Whole where that is not the same as to read it at once: a process has frames in two files, or anything is amiss with
    a file.
    """
    seen, kinds, before = list[pl.DataFrame](), set[object](), 0
    try:
        for files in batches(profile_files(place), profile_bytes):
            reading = read_jobs(files, wants)
            kinds |= {(source.job, source.slice_ns, source.schema) for source in reading.sources}
            if any(source.damage or source.schemas != 1 for source in reading.sources) or len(kinds) > 1:
                raise Whole
            own = pl.concat(_whose(table) for table in reading.tables.values() if len(table)).unique()
            seen.append(own.with_columns(pl.col(plan.SOURCE) + before))
            before += len(files)
            yield reading
    except UserError as error:
        raise Whole from error
    if pl.concat(seen)["process"].is_duplicated().any():
        raise Whole
