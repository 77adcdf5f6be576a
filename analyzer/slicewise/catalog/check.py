"""Whether a catalog is sound: every file can be read, is complete, and no job is there twice."""

from __future__ import annotations

from typing import TypedDict

import polars as pl

from slicewise.catalog.schema import FRAMES, KEY
from slicewise.catalog.store import Batch, Catalog
from slicewise.digest.slices import SUMS


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


def _of_batch(batch: Batch) -> list[str]:
    wrong = []
    frames: dict[str, pl.DataFrame] = {}
    for name, rows in batch.rows.items():
        try:
            frames[name] = batch.read(name)
        except (OSError, pl.exceptions.PolarsError) as error:
            wrong.append(f"{name}.parquet cannot be read: {str(error).splitlines()[0]}; ingest its jobs again")
            continue
        if frames[name].height != rows:
            wrong.append(f"{name}.parquet has {frames[name].height:,} rows of {rows:,}; ingest its jobs again")
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
