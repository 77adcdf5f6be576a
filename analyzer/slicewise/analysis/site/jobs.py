"""Which jobs of a catalog fit what is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.catalog.find import JobFiles
from slicewise.catalog.kept import HASHED_COLUMNS, hashed, key_text
from slicewise.catalog.rows import read_rows
from slicewise.catalog.schema import FRAMES, KEY
from slicewise.catalog.store import Batch, Catalog

JOB_COLUMNS = (
    "job", "user", "account", "program", "command", "processes", "nodes", "start_ns", "end_ns", "is_running",
    "read_bytes", "write_bytes", "meta_ops", "path", "source",
)  # fmt: skip
LAST_NS = (1 << 63) - 1


@dataclass(frozen=True)
class Wanted:
    """What is asked for; None: anything. It ran between since_ns and until_ns. storage: a mount point or source."""

    user: int | None = None
    account: str | None = None
    program: str | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    storage: str | None = None

    def batches(self, catalog: Catalog) -> list[Batch]:
        if self.since_ns is None and self.until_ns is None:
            return catalog.batches()
        return catalog.batches_between(self.since_ns or 0, LAST_NS if self.until_ns is None else self.until_ns)


def list_jobs(catalog: Catalog, wanted: Wanted, keys: Sequence[int] | None = None) -> pl.DataFrame:
    """The jobs that fit, in order of their start: key (as text), the columns of JOB_COLUMNS, seconds, storage (the
    mount point that most of its bytes went through; null: it moved none) and damaged. keys: only jobs with these.
    """
    batches = wanted.batches(catalog)
    rows = catalog.scan("jobs", batches)
    if keys is not None:
        rows = rows.filter(pl.col(KEY).is_in(keys))
    for column in ("user", "account", "program"):
        value = getattr(wanted, column)
        if value is not None:
            known = hashed(catalog, value) if not catalog.has_names and column in HASHED_COLUMNS else value
            rows = rows.filter(pl.col(column) == known)
    if wanted.since_ns is not None:
        rows = rows.filter(pl.col("end_ns") > wanted.since_ns)
    if wanted.until_ns is not None:
        rows = rows.filter(pl.col("start_ns") < wanted.until_ns)
    moved = pl.sum_horizontal("read_bytes", "write_bytes")
    used = catalog.scan("storages", batches).filter(moved > 0)
    if wanted.storage is not None:
        of_name = used.filter((pl.col("point") == wanted.storage) | (pl.col("source") == wanted.storage))
        rows = rows.join(of_name, on=KEY, how="semi")
    return _told(rows, used, catalog.scan("damage", batches))


def list_profiles(places: Sequence[JobFiles]) -> tuple[pl.DataFrame, list[str]]:
    """The jobs of profiles, as `list_jobs`, and a line for each profile that cannot be read."""
    unread: list[str] = []
    frames: dict[str, list[pl.DataFrame]] = {name: [] for name in ("jobs", "storages", "damage")}
    for one in read_rows(places, unread):
        for name in frames.keys() & one.keys():
            frames[name].append(one[name])
    jobs, storages, damage = (
        pl.concat(parts).lazy() if parts else pl.LazyFrame(schema=FRAMES[name].polars_schema)
        for name, parts in frames.items()
    )
    return _told(jobs, storages.filter(pl.sum_horizontal("read_bytes", "write_bytes") > 0), damage), unread


def _told(jobs: pl.LazyFrame, used: pl.LazyFrame, damage: pl.LazyFrame) -> pl.DataFrame:
    moved = pl.sum_horizontal("read_bytes", "write_bytes")
    busiest = used.sort(moved, "point", descending=[True, False]).unique(KEY, keep="first", maintain_order=True)
    damaged = damage.filter(pl.col("kind") != "unfinished").select(KEY).unique().with_columns(damaged=pl.lit(True))
    found = (
        jobs.join(busiest.select(KEY, storage="point"), on=KEY, how="left")
        .join(damaged, on=KEY, how="left")
        .with_columns(pl.col("damaged").fill_null(False), seconds=(pl.col("end_ns") - pl.col("start_ns")) / 1e9)
        .sort("start_ns", KEY)
        .select(KEY, *JOB_COLUMNS, "seconds", "storage", "damaged")
        .collect()
    )
    return with_key_text(found)


def places_of_storages(catalog: Catalog, batches: Sequence[Batch]) -> pl.LazyFrame:
    """What storages are: storage, point (the mount point that most jobs have for it), type, source."""
    return (
        catalog.scan("storages", batches)
        .group_by("storage")
        .agg(pl.col("point").mode().sort().first(), pl.col("type").first(), pl.col("source").first())
    )


def with_key_text(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.Series(KEY, map(key_text, frame[KEY]), pl.String))


def named(catalog: Catalog, found: pl.DataFrame, batches: Sequence[Batch]) -> pl.DataFrame:
    """The frame with names: key as text, job, user, program of each key, and the storage's point and type."""
    jobs = catalog.scan("jobs", batches).select(KEY, "job", "user", "program")
    where = places_of_storages(catalog, batches).rename({"source": "storage_source"})
    frame = found.lazy().join(jobs, on=KEY, how="left", maintain_order="left")
    told = frame.join(where, on="storage", how="left", maintain_order="left").drop("storage").collect()
    return with_key_text(told.rename({"point": "storage", "type": "storage_type"}))
