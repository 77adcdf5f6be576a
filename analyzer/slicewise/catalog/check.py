"""Whether a catalog is sound: every file can be read, is complete, and no job is there twice."""

from __future__ import annotations

from typing import TypedDict

import polars as pl

from slicewise.catalog.schema import FRAMES, KEY
from slicewise.catalog.store import Batch, Catalog, opened_here
from slicewise.digest.slices import SUMS

# What polars raises where a file is damaged: its own errors, or that its code gave up.
OF_POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
WAY_OUT = "remove this directory and ingest again"


class Wrong(TypedDict):
    """Something that is wrong: where, and what."""

    place: str
    what: str


def check(catalog: Catalog) -> list[Wrong]:
    """Read all of a catalog. What is wrong, in order of days; nothing where all is well."""
    wrong: list[Wrong] = []
    keys = []
    for batch in catalog.batches():
        found = _of_batch(batch)
        wrong += [Wrong(place=str(batch.place), what=what) for what in found]
        if not found:
            keys.append(batch.read("jobs").select(KEY, "job", place=pl.lit(str(batch.place))))
    if keys:
        jobs = pl.concat(keys)
        twice = jobs.filter(pl.col(KEY).is_duplicated()).unique(KEY, maintain_order=True)
        wrong += [Wrong(place=place, what=f"the job {job} is there twice") for _, job, place in twice.iter_rows()]
    return wrong


def damage_behind(error: BaseException) -> str | None:
    """The line about a damaged file of a catalog that this process has opened, if that can be what polars raised.

    Queries run long after their files were named, and polars does not say which file it was. So all files of the
    catalogs are read until one fails. None: all are sound, and the error is a defect.
    """
    if not isinstance(error, OF_POLARS):
        return None
    for path in sorted(opened_here):
        for batch in Catalog(path).batches():
            for name in batch.rows:
                reason = _unreadable(batch, name)
                if reason:
                    return f"{batch.file(name)}: {reason}; see: slicewise catalog verify {path}"
    return None


def _unreadable(batch: Batch, name: str) -> str:
    """Why a frame of a batch cannot be read as docs/catalog.md has it; nothing if it can."""
    try:
        frame = batch.read(name)
    except (OSError, *OF_POLARS) as error:
        return f"cannot be read: {_reason(error)}"
    return "" if frame.schema == FRAMES[name].polars_schema else "has other columns than docs/catalog.md lists"


def _reason(error: BaseException) -> str:
    return str(error).partition("\n")[0].removeprefix("parquet: ").removeprefix("File out of specification: ")


def _of_batch(batch: Batch) -> list[str]:
    wrong = []
    frames: dict[str, pl.DataFrame] = {}
    for name, rows in batch.rows.items():
        try:
            frames[name] = batch.read(name)
        except (OSError, *OF_POLARS) as error:
            wrong.append(f"{name}.parquet cannot be read: {_reason(error)}; {WAY_OUT}")
            continue
        if frames[name].height != rows:
            wrong.append(f"{name}.parquet has {frames[name].height:,} rows of {rows:,}; {WAY_OUT}")
        elif frames[name].schema != FRAMES[name].polars_schema:
            wrong.append(f"{name}.parquet has other columns than docs/catalog.md lists")
    if wrong:
        return wrong
    for name, frame in frames.items():
        if not frame.join(frames["jobs"], on=KEY, how="anti").is_empty():
            wrong.append(f"{name}.parquet has rows of jobs that are not in jobs.parquet")
    if {"process_slices", "job_slices"} <= set(frames):
        sums = [frames[name].select(pl.col(SUMS).sum()) for name in ("process_slices", "job_slices")]
        if not sums[0].equals(sums[1]):
            wrong.append("job_slices.parquet does not add up to process_slices.parquet")
    return wrong
