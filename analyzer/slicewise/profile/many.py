"""Many profiles at once: job directories, files, and directories that hold job directories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from slicewise.profile import plan
from slicewise.profile.files import job_places, profile_files
from slicewise.profile.plan import Want
from slicewise.profile.reader import NOTHING, SLICES, Profile, profile_of, read_wanted, wants_of
from slicewise.profile.reading import Reading, read_jobs

# Of files that are read together: so many bytes, so that memory does not grow with the number of large jobs.
BYTES_AT_ONCE = 16 << 20


def read_profiles(paths: Iterable[Path]) -> list[Profile]:
    """The profiles at `paths`, each once; a directory of job directories stands for all of them.

    Raises UserError for what is no profile, and where there is none.
    """
    return profiles_of(job_places(paths))


def profiles_of(
    places: Sequence[Path], slices: Want = SLICES, other_slices: Want = NOTHING, distributions: bool = False
) -> list[Profile]:
    """The profiles of jobs that are known to be jobs. Each is what `read_profile` gives of it, with the same wishes.

    Small jobs are read together: to read one costs more than its rows do.
    """
    wants = wants_of(slices, other_slices, distributions)
    return [profile for some in _batches(places) for profile in _read_together(some, wants)]


def _batches(places: Sequence[Path]) -> Iterator[list[Path]]:
    batch: list[Path] = []
    together = 0
    for place in places:
        size = sum(file.stat().st_size for file in profile_files(place) if file.exists())
        if batch and together + size > BYTES_AT_ONCE:
            yield batch
            batch, together = [], 0
        batch.append(place)
        together += size
    if batch:
        yield batch


def _read_together(places: list[Path], wants: Mapping[str, Want]) -> Iterator[Profile]:
    if len(places) == 1:
        yield read_wanted(places[0], wants)
        return
    reading = read_jobs(places, wants)
    parts = {name: _by_job(frame) for name, frame in reading.tables.items()}
    for number, place in enumerate(places):
        own = _own_tables(reading, number, wants, parts)
        if own is None:
            yield read_wanted(place, wants)
            continue
        yield profile_of(reading.sources[number], own)


def _by_job(frame: pl.DataFrame) -> dict[int, pl.DataFrame]:
    """A frame's rows, which are sorted by job, by the number of the job. Nothing is copied."""
    if frame.is_empty():
        return {}
    runs = frame[plan.SOURCE].rle().struct.unnest()
    ends = runs["len"].cum_sum()
    rows = zip(runs["value"], ends - runs["len"], runs["len"], strict=True)
    return {job: frame.slice(begin, length) for job, begin, length in rows}


def _own_tables(
    reading: Reading, number: int, wants: Mapping[str, Want], parts: Mapping[str, Mapping[int, pl.DataFrame]]
) -> dict[str, pl.DataFrame] | None:
    """One job's tables, with the columns of its own schema alone: a column that only another version has would say 0
    where nobody counted. None where that cannot be told, and the job is to be read by itself.
    """
    source = reading.sources[number]
    if source.schemas != 1:
        return None
    own = {}
    for name, want in wants.items():
        alone = plan.plan(want, (source.schema,), (0,), False).empty
        rows = parts[name].get(number)
        own[name] = alone if rows is None else rows.select(alone.columns)
        if own[name].schema != alone.schema:
            return None
    return own
