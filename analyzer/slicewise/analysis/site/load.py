"""What some time of a site was like: load by job, slow metadata, day after day. A slice counts when it began."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.analysis.site.jobs import places_of_storages, with_key_text
from slicewise.catalog.clients import once
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Batch, Catalog
from slicewise.constants import DAY_NS, SECOND_NS
from slicewise.text.words import MIB

MOST_STORAGES, MOST_JOBS = 4, 5
# Of how many pieces a chart is made over all of the time.
PIECES = 288
SHORTEST_PIECE_NS = SECOND_NS
# A metadata call of a job that made fewer says nothing of the file system.
FEWEST_META_OPS = 100
# Below this a program's time in I/O is no matter for anybody.
LEAST_SECONDS = 1.0
OTHERS = "all others"


@dataclass(frozen=True)
class StorageLoad:
    """A file system's load. rows: job (its name; OTHERS: those that moved less), slice (number of the piece), bytes.
    names: of the jobs in rows, those that moved most first. jobs: how many used it.
    """

    point: str
    type: str
    source: str
    jobs: int
    read_bytes: int
    write_bytes: int
    meta_ops: int
    names: Sequence[str]
    rows: pl.DataFrame


@dataclass(frozen=True)
class SiteLoad:
    """The load of the file systems that moved most. piece_ns: how long a piece of time is. first, end: numbers of the
    first piece and of the one after the last. storages: of how many file systems there is anything in that time.
    """

    storages: Sequence[StorageLoad]
    of: int
    piece_ns: int
    first: int
    end: int


def load(catalog: Catalog, batches: Sequence[Batch], start_ns: int, end_ns: int) -> SiteLoad | None:
    """The load between two instants; None if nobody moved anything."""
    rows = _between(catalog, batches, start_ns, end_ns)
    moved = _moved()
    totals = (
        rows.group_by("storage")
        .agg(
            pl.col("read_bytes", "write_bytes", "meta_ops").sum(),
            jobs=pl.col(KEY).n_unique(),
            begin_ns=pl.col("begin_ns").min(),
            end_ns=pl.col("begin_ns").max(),
        )
        .filter(moved > 0)
        .sort(moved, "storage", descending=[True, False])
        .collect()
    )
    if totals.is_empty():
        return None
    begin_ns, last_ns = int(totals["begin_ns"].min()), int(totals["end_ns"].max())  # type: ignore[arg-type]
    piece_ns = max(SHORTEST_PIECE_NS, -(-(last_ns + 1 - begin_ns) // PIECES))
    chosen = totals.head(MOST_STORAGES)
    by_job = (
        rows.filter(pl.col("storage").is_in(chosen["storage"].implode()), moved > 0)
        .group_by("storage", KEY)
        .agg(moved=moved.sum())
        .sort("moved", KEY, descending=[True, False])
        .group_by("storage", maintain_order=True)
        .head(MOST_JOBS)
        .join(catalog.scan("jobs", batches).select(KEY, "job"), on=KEY, how="left", maintain_order="left")
        .collect()
    )
    pieces = (
        rows.filter(pl.col("storage").is_in(chosen["storage"].implode()), moved > 0)
        .join(by_job.lazy().select("storage", KEY, "job"), on=["storage", KEY], how="left")
        .group_by("storage", pl.col("job").fill_null(OTHERS), slice=pl.col("begin_ns") // piece_ns)
        .agg(bytes=moved.sum())
        .sort("storage", "job", "slice")
        .collect()
    )
    where = places_of_storages(catalog, batches).collect()
    told = []
    for row in chosen.join(where, on="storage", how="left", maintain_order="left").iter_rows(named=True):
        own = pieces.filter(pl.col("storage") == row["storage"])
        names = list(dict.fromkeys(by_job.filter(pl.col("storage") == row["storage"])["job"]))
        told.append(
            StorageLoad(
                row["point"], row["type"], row["source"], row["jobs"], row["read_bytes"], row["write_bytes"],
                row["meta_ops"], names, own.select("job", "slice", "bytes"),
            )
        )  # fmt: skip
    return SiteLoad(told, totals.height, piece_ns, begin_ns // piece_ns, last_ns // piece_ns + 1)


def slow_metadata(
    catalog: Catalog, batches: Sequence[Batch], start_ns: int, end_ns: int, most: int
) -> tuple[pl.DataFrame, float | None]:
    """The jobs that waited longest for metadata, and the seconds of a call in the mean over all jobs (None: no calls).
    Rows: key (as text), job, user, program, storage (mount point), meta_ops, seconds (in these calls), call_seconds (of
    one in the mean). Only jobs with at least FEWEST_META_OPS calls there are among them.
    """
    rows = _between(catalog, batches, start_ns, end_ns)
    by_job = rows.group_by(KEY, "storage").agg(pl.col("meta_ops").sum(), pl.col("meta_ns").sum()).collect()
    calls, ns = int(by_job["meta_ops"].sum()), int(by_job["meta_ns"].sum())
    found = (
        by_job.lazy()
        .filter(pl.col("meta_ops") >= FEWEST_META_OPS, pl.col("meta_ns") > 0)
        .sort("meta_ns", KEY, "storage", descending=[True, False, False])
        .head(most)
        .join(catalog.scan("jobs", batches).select(KEY, "job", "user", "program"), on=KEY, how="left")
        .join(places_of_storages(catalog, batches).select("storage", "point"), on="storage", how="left")
        .sort("meta_ns", KEY, "storage", descending=[True, False, False])
        .select(
            KEY,
            "job",
            "user",
            "program",
            "meta_ops",
            storage="point",
            seconds=pl.col("meta_ns") / 1e9,
            call_seconds=pl.col("meta_ns") / pl.col("meta_ops") / 1e9,
        )
        .collect()
    )
    return with_key_text(found), ns / 1e9 / calls if calls else None


def by_day(catalog: Catalog, batches: Sequence[Batch], start_ns: int, end_ns: int) -> pl.DataFrame:
    """Each day (UTC) between two instants: day (a date), jobs, read_bytes, write_bytes, seconds (of processes in calls
    that read and write, made longer by neither cores nor ranks: jobs' sums), mib_per_second (bytes by these seconds),
    meta_ops, meta_call_seconds (in the mean).
    """
    rows = _between(catalog, batches, start_ns, end_ns)
    return (
        rows.group_by(day=pl.from_epoch(pl.col("begin_ns") // DAY_NS, time_unit="d"))
        .agg(
            pl.col("read_bytes", "write_bytes", "meta_ops", "meta_ns").sum(),
            jobs=pl.col(KEY).n_unique(),
            ns=_data_ns().sum(),
        )
        .sort("day")
        .with_columns(
            seconds=pl.col("ns") / 1e9,
            mib_per_second=_by(_moved() / MIB, pl.col("ns") / 1e9),
            meta_call_seconds=_by(pl.col("meta_ns") / 1e9, pl.col("meta_ops")),
        )
        .select(
            "day", "jobs", "read_bytes", "write_bytes", "seconds", "mib_per_second", "meta_ops", "meta_call_seconds"
        )
        .collect()
    )  # fmt: skip


def changed_programs(catalog: Catalog, batches: Sequence[Batch], start_ns: int, end_ns: int, most: int) -> pl.DataFrame:
    """Programs by how their time in I/O changed from the first half of the days to the second, the largest first.
    program, then of each half (first_, second_): jobs, bytes, seconds (in all calls), mib_per_second; change_seconds.
    Programs with less than LEAST_SECONDS of difference are left out.
    """
    middle_ns = (start_ns + end_ns) // 2
    half = pl.when(pl.col("begin_ns") < middle_ns).then(pl.lit("first")).otherwise(pl.lit("second"))
    all_ns = _data_ns() + pl.col("meta_ns") + pl.col("sync_ns")
    rows = _between(catalog, batches, start_ns, end_ns).join(
        catalog.scan("jobs", batches).select(KEY, "program"), on=KEY, how="left"
    )
    halves = (
        rows.group_by("program", half=half)
        .agg(jobs=pl.col(KEY).n_unique(), bytes=_moved().sum(), seconds=all_ns.sum() / 1e9, data=_data_ns().sum() / 1e9)
        .with_columns(mib_per_second=_by(pl.col("bytes") / MIB, pl.col("data")))
        .drop("data")
        .collect()
    )
    parts = [
        halves.filter(pl.col("half") == name)
        .drop("half")
        .rename({column: f"{name}_{column}" for column in ("jobs", "bytes", "seconds", "mib_per_second")})
        for name in ("first", "second")
    ]
    counts = [f"{name}_{column}" for name in ("first", "second") for column in ("jobs", "bytes", "seconds")]
    return (
        parts[0]
        .join(parts[1], on="program", how="full", coalesce=True)
        .with_columns(pl.col(counts).fill_null(0))
        .with_columns(change_seconds=pl.col("second_seconds") - pl.col("first_seconds"))
        .filter(pl.col("change_seconds").abs() >= LEAST_SECONDS)
        .sort(pl.col("change_seconds").abs(), "program", descending=[True, False])
        .head(most)
    )


def not_profiled(catalog: Catalog, batches: Sequence[Batch], most: int) -> pl.DataFrame:
    """Programs begun by jobs and not profiled, those of most jobs first: program, reason, jobs, times."""
    return (
        catalog.scan("unprofiled", batches)
        .group_by("program", "reason")
        .agg(jobs=pl.col(KEY).n_unique(), times=pl.col("times").sum())
        .sort("jobs", "times", "program", "reason", descending=[True, True, False, False])
        .head(most)
        .collect()
    )


def _between(catalog: Catalog, batches: Sequence[Batch], start_ns: int, end_ns: int) -> pl.LazyFrame:
    rows = once(catalog, batches, catalog.scan("job_slices", batches))
    return rows.filter(pl.col("begin_ns") < end_ns, pl.col("begin_ns") >= start_ns)


def _moved() -> pl.Expr:
    return pl.col("read_bytes") + pl.col("write_bytes")


def _data_ns() -> pl.Expr:
    return pl.sum_horizontal("read_ns", "write_ns", "read_request_ns", "write_request_ns")


def _by(amount: pl.Expr, count: pl.Expr) -> pl.Expr:
    return pl.when(count > 0).then(amount / count)
