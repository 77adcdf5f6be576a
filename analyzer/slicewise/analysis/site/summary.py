"""All that a page says of some time of a site. A catalog in, the page's frames out."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import polars as pl

from slicewise.analysis.coverage import MOST_SMALL_BYTES
from slicewise.analysis.site.jobs import Wanted, list_jobs, with_key_text
from slicewise.analysis.site.load import SiteLoad, by_day, changed_programs, load, not_profiled, slow_metadata
from slicewise.analysis.site.worst import Worst, worst
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Batch, Catalog
from slicewise.constants import DAY_NS
from slicewise.digest.processes import COUNTED

WAYS = ("read", "write")
# Of a job's bytes: from here on what went by unseen is told.
LEAST_SEEN = 0.95


def quality(catalog: Catalog, batches: Sequence[Batch]) -> pl.DataFrame:
    """Each job's quality, in order of their start: key (as text), job, start_ns, read_seen, write_seen (share of the
    kernel's bytes, of its own processes; null: the kernel counted none), missing_ranks, unfinished (processes), damage
    (parts that could not be read), lost_frames, mishaps (times), unprofiled (programs begun), is_good (nothing of that
    is amiss; up to MOST_SMALL_BYTES that a process read unseen are the loader's and libc's own; null: nothing is known
    to be amiss, and there is no count of the kernel to compare with); source, is_imported,
    spread (over how many slices bytes of it were spread at most), clock_error_seconds.
    """
    jobs = catalog.scan("jobs", batches)
    own = catalog.scan("processes", batches).filter("is_of_job").select(KEY, "process", "ending")
    ended = own.filter(pl.col("ending") != "killed")
    seen = (
        catalog.scan("coverage", batches)
        .join(ended, on=[KEY, "process"], how="semi")
        .group_by(KEY)
        .agg(
            expression
            for way in WAYS
            for expression in (
                (_seen(way).sum() / pl.col(f"{way}_kernel").sum()).fill_nan(None).alias(f"{way}_seen"),
                (_lacking(way).sum() > (1 - LEAST_SEEN) * pl.col(f"{way}_kernel").sum()).alias(f"{way}_lacks"),
            )
        )
    )
    damage = (
        catalog.scan("damage", batches)
        .filter(pl.col("kind") != "unfinished")
        .group_by(KEY)
        .agg(damage=pl.len().cast(pl.Int64), lost_frames=pl.col("lost_frames").sum())
    )
    mishaps = catalog.scan("mishaps", batches).group_by(KEY).agg(mishaps=pl.col("count").sum())
    unprofiled = catalog.scan("unprofiled", batches).group_by(KEY).agg(unprofiled=pl.col("times").sum())
    counts = ["damage", "lost_frames", "mishaps", "unprofiled"]
    found = jobs.select(
        KEY, "job", "start_ns", "missing_ranks", "unfinished", "source", "spread",
        is_imported=pl.col("source") != COUNTED, clock_error_seconds=pl.col("clock_error_ns") / 1e9,
    )  # fmt: skip
    for more in (seen, damage, mishaps, unprofiled):
        found = found.join(more, on=KEY, how="left")
    bad = (
        (pl.col("missing_ranks") > 0)
        | (pl.col("unfinished") > 0)
        | (pl.col("damage") > 0)
        | pl.any_horizontal(pl.col(f"{way}_lacks").fill_null(False) for way in WAYS)
    )
    is_compared = pl.any_horizontal(pl.col(f"{way}_seen").is_not_null() for way in WAYS)
    return with_key_text(
        found.with_columns(pl.col(counts).fill_null(0))
        .with_columns(is_good=pl.when(bad).then(False).when(is_compared).then(True))
        .sort("start_ns", KEY)
        .select(
            KEY,
            "job",
            "start_ns",
            "read_seen",
            "write_seen",
            "missing_ranks",
            "unfinished",
            *counts,
            "is_good",
            "source",
            "is_imported",
            "spread",
            "clock_error_seconds",
        )
        .collect()
    )


def _seen(way: str) -> pl.Expr:
    """How many of the bytes that the kernel counted of a process were seen."""
    return pl.min_horizontal(f"{way}_seen", f"{way}_kernel")


def _lacking(way: str) -> pl.Expr:
    """How many of them were not. Nobody misses what the loader and libc read for themselves: that counts as seen."""
    unseen = pl.col(f"{way}_kernel") - _seen(way)
    return pl.when(unseen > (MOST_SMALL_BYTES if way == "read" else 0)).then(unseen).otherwise(0)


# Rows of a table, and of that of the busiest jobs.
MOST_ROWS, MOST_JOBS = 50, 500
# From so many days on there is something to say of how they differ.
FEWEST_DAYS = 2


@dataclass(frozen=True)
class SiteSummary:
    """Some time of a site. jobs: how many ran; users: how many people's; busiest: rows of `list_jobs`, those that moved
    most first; worst: of blame; metadata: `slow_metadata`, and metadata_call_seconds
    its mean; quality: of all jobs; days and programs: nothing where there are fewer than FEWEST_DAYS days.
    """

    start_ns: int
    end_ns: int
    jobs: int
    users: int
    read_bytes: int
    write_bytes: int
    busiest: pl.DataFrame
    load: SiteLoad | None
    worst: Worst
    metadata: pl.DataFrame
    metadata_call_seconds: float | None
    quality: pl.DataFrame
    unprofiled: pl.DataFrame
    days: pl.DataFrame
    programs: pl.DataFrame

    @property
    def is_of_several_days(self) -> bool:
        return self.days.height >= FEWEST_DAYS


def summary(catalog: Catalog, start_ns: int, end_ns: int, most_asked: int | None, most_seconds: float) -> SiteSummary:
    """What a page says of the time between two instants. most_asked, most_seconds: as of `worst`."""
    # Blame, which takes longest, is asked here, so that Ctrl-C ends it at once.
    with ThreadPoolExecutor(1) as beside:
        rest = beside.submit(_all_but_blame, catalog, start_ns, end_ns)
        asked = worst(catalog, start_ns, end_ns, most_asked, most_seconds)
        return rest.result()(worst=asked)


def _all_but_blame(catalog: Catalog, start_ns: int, end_ns: int) -> Callable[..., SiteSummary]:
    batches = catalog.batches_between(start_ns, end_ns)
    jobs = list_jobs(catalog, Wanted(since_ns=start_ns, until_ns=end_ns))
    moved = pl.sum_horizontal("read_bytes", "write_bytes")
    metadata, call_seconds = slow_metadata(catalog, batches, start_ns, end_ns, MOST_ROWS)
    days = by_day(catalog, batches, start_ns, end_ns)
    first_ns = max(start_ns, int(jobs["start_ns"].min() or 0)) if jobs.height else start_ns  # type: ignore[arg-type]
    last_ns = min(end_ns, int(jobs["end_ns"].max() or 0)) if jobs.height else end_ns  # type: ignore[arg-type]
    is_long = days.height >= FEWEST_DAYS and last_ns - first_ns > DAY_NS
    return partial(
        SiteSummary,
        start_ns=first_ns,
        end_ns=last_ns,
        jobs=jobs.height,
        users=jobs["user"].n_unique(),
        read_bytes=int(days["read_bytes"].sum()),
        write_bytes=int(days["write_bytes"].sum()),
        busiest=jobs.sort(moved, "key", descending=[True, False]).head(MOST_JOBS),
        load=load(catalog, batches, start_ns, end_ns),
        metadata=metadata,
        metadata_call_seconds=call_seconds,
        quality=quality(catalog, batches),
        unprofiled=not_profiled(catalog, batches, MOST_ROWS),
        days=days if is_long else days.clear(),
        programs=changed_programs(catalog, batches, first_ns, last_ns, MOST_ROWS) if is_long else pl.DataFrame(),
    )
