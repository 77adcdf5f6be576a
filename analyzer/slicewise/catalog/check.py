"""Whether a catalog is sound: every file is as it was written and is complete, and no job is there twice."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import polars as pl

from slicewise.catalog.schema import FRAMES, KEY
from slicewise.catalog.store import JOURNAL, Batch, Catalog, index_bytes, opened_here
from slicewise.catalog.sums import MISSING, Damaged, damaged, unsound
from slicewise.digest.slices import SUMS

# What polars raises where a file is damaged: its own errors, or that its code gave up.
OF_POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
WAY_OUT = "move this directory out of the catalog and ingest again"
# What lies aside may be the only copy of what the journal was about to put in its place.
WAY_OUT_OF_JOURNAL = "move this file and .aside out of the catalog and ingest again"


class Wrong(TypedDict):
    place: str
    what: str


def check(catalog: Catalog) -> list[Wrong]:
    """Read all of a catalog. What is wrong, in order of days; nothing where all is well."""
    damage: list[Damaged] = []
    try:
        batches = catalog.batches(wrong=damage)
    except Damaged as error:
        return [Wrong(place=str(catalog.path / JOURNAL), what=f"{error.reason}; {WAY_OUT_OF_JOURNAL}")]
    wrong = [
        Wrong(place=str(error.file.parent), what=f"{error.file.name} {error.reason}; {WAY_OUT}")
        for error in damage
        if error.file is not None
    ]
    keys = []
    for batch in batches:
        found = _of_batch(batch)
        wrong += [Wrong(place=str(batch.place), what=what) for what in found]
        if not found:
            keys.append(batch.read_unchecked("jobs").select(KEY, "job", place=pl.lit(str(batch.place))))
    if keys:
        jobs = pl.concat(keys)
        twice = jobs.filter(pl.col(KEY).is_duplicated()).unique(KEY, maintain_order=True)
        wrong += [Wrong(place=place, what=f"the job {job} is there twice") for _, job, place in twice.iter_rows()]
    return sorted(wrong, key=lambda one: one["place"])


def without_sums(batches: Sequence[Batch]) -> int:
    """How many batches have no checksums, as earlier builds wrote them."""
    return sum(not batch.crc32 for batch in batches)


def damage_behind(error: BaseException) -> str | None:
    """The line about a file of a catalog that this process has opened, if that can be what made a library fail.

    Queries run long after their files were named, and polars does not say which file it was. So all files of the
    catalogs are read until one fails. None: all are sound, and the error is a defect.
    """
    try:
        if isinstance(error, FileNotFoundError) and any(str(path) in str(error) for path in opened_here):
            return missing_file() or changes(error)
        if isinstance(error, OF_POLARS):
            return _unreadable_file()
    except Damaged as found:
        return str(found)
    return None


def missing_file() -> str | None:
    """The line about the first file that is missing in a batch of the catalogs that this process has opened. None:
    there is none, and what was missed went with its batch."""
    for path in sorted(opened_here):
        try:
            for batch in Catalog(path).batches():
                for file in map(batch.file, batch.rows):
                    if _is_missing(file):
                        return str(damaged(file, MISSING, path))
        except FileNotFoundError as error:
            if error.filename is not None and _is_missing(Path(error.filename)):
                return str(damaged(Path(error.filename), MISSING, path))
    return None


def changes(error: FileNotFoundError) -> str:
    return f"the catalog changes while it is read ({error}); run the command again later"


def _is_missing(file: Path) -> bool:
    return not file.exists() and file.parent.exists()


def _unreadable_file() -> str | None:
    for path in sorted(opened_here):
        for batch in Catalog(path).batches():
            for name in batch.rows:
                found = _frame(batch, name)
                if isinstance(found, str):
                    return str(damaged(batch.file(name), found, path))
    return None


def _frame(batch: Batch, name: str) -> pl.DataFrame | str:
    """A frame of a batch, or why it cannot be used. Raises FileNotFoundError."""
    reason = unsound(batch.written(name))
    if reason:
        return reason
    try:
        frame = batch.read_unchecked(name)
    except FileNotFoundError:
        raise
    except (OSError, *OF_POLARS) as error:
        return f"cannot be read: {_reason(error)}"
    if frame.height != batch.rows[name]:
        return f"has {frame.height:,} rows of {batch.rows[name]:,}"
    if name in FRAMES and frame.schema != FRAMES[name].polars_schema:  # newer versions may have other tables
        return "has other columns than docs/catalog.md lists"
    return frame


def _reason(error: BaseException) -> str:
    return str(error).partition("\n")[0].removeprefix("parquet: ").removeprefix("File out of specification: ")


def _of_batch(batch: Batch) -> list[str]:
    wrong = []
    frames: dict[str, pl.DataFrame] = {}
    for name in batch.rows:
        found = MISSING if _is_missing(batch.file(name)) else _frame(batch, name)
        if isinstance(found, str):
            wrong.append(f"{name}.parquet {found}; {WAY_OUT}")
        else:
            frames[name] = found
    if not wrong:
        wrong += _of_index(batch, frames["jobs"])
    if wrong:
        return wrong
    for name, frame in frames.items():
        if KEY in frame.columns and not frame.join(frames["jobs"], on=KEY, how="anti").is_empty():
            wrong.append(f"{name}.parquet has rows of jobs that are not in jobs.parquet")
    if {"process_slices", "job_slices"} <= set(frames):
        sums = [frames[name].select(pl.col(SUMS).sum()) for name in ("process_slices", "job_slices")]
        if not sums[0].equals(sums[1]):
            wrong.append("job_slices.parquet does not add up to process_slices.parquet")
    return wrong


def _of_index(batch: Batch, jobs: pl.DataFrame) -> list[str]:
    """What is wrong with the index. Batches of the first builds have none, and need none."""
    try:
        reason = unsound(batch.index)
        if not reason and batch.index.crc32 is None:
            is_own = batch.index.path.read_bytes() == index_bytes(jobs)
            reason = "" if is_own else "is not the one of its jobs"
    except FileNotFoundError:
        reason = MISSING if batch.index.crc32 is not None and batch.place.exists() else ""
    return [f"{batch.index.path.name} {reason}; {WAY_OUT}"] if reason else []
