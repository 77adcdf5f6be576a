"""How good a catalog's data are: what share of the bytes was seen, what is damaged, what is missing.

A catalog in, a frame out.
"""

from collections.abc import Sequence

import polars as pl

from slicewise.analysis.coverage import MOST_SMALL_BYTES
from slicewise.analysis.site.jobs import with_key_text
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Batch, Catalog
from slicewise.digest.jobs import COUNTED

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
