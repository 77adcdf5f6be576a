"""`losses` of some time, day by day: what a day's jobs lost is found with all that ran beside them, and then kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from slicewise.analysis.site.everyone import everyone
from slicewise.analysis.site.losses import GROUPS, Group, losses
from slicewise.catalog.answers import Answers
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import NS_A_DAY, Catalog
from slicewise.catalog.workers import OneByOne, Workers

# A clock that was set may have moved a job's first and last slice.
MARGIN_NS = NS_A_DAY // 1440
# Rows of what is kept of a day: of jobs, and of groups (by, name).
SCHEMA = {
    KEY: pl.UInt64, "by": pl.String, "name": pl.String, "lost_seconds": pl.Float64, "caused_seconds": pl.Float64,
    "confidence": pl.String, "caused_confidence": pl.String,
}  # fmt: skip


@dataclass(frozen=True)
class LostByAll:
    """jobs: key, lost_seconds (null: nothing is claimed), caused_seconds (null: of nobody beside it a loss is claimed),
    confidence (of the larger of the two), a row a job that lost or cost anything; beside: as of `Losses`.
    """

    jobs: pl.DataFrame
    beside: Mapping[Group, Mapping[object, float]]


def lost_by_all(catalog: Catalog, start_ns: int, end_ns: int, workers: Workers | None = None) -> LostByAll:
    """What the jobs that ran between two instants lost to others, and cost each other."""
    hands = workers or OneByOne()
    ran = catalog.scan("jobs", catalog.batches_between(start_ns, end_ns)).filter(
        pl.col("start_ns") <= end_ns, pl.col("end_ns") >= start_ns
    )
    days = ran.select((pl.col("start_ns") // NS_A_DAY).unique().sort()).collect().to_series().to_list()
    tasks = [
        (catalog.path, day * NS_A_DAY, max(start_ns, day * NS_A_DAY), min(end_ns, (day + 1) * NS_A_DAY)) for day in days
    ]
    rows = pl.concat([pl.DataFrame(schema=SCHEMA), *hands.each(_of_day, tasks)])
    is_job = pl.col("by") == ""
    jobs = (
        rows.filter(is_job)
        .group_by(KEY)
        .agg(
            lost_seconds=pl.col("lost_seconds").drop_nulls().first(),
            confidence=pl.col("confidence").filter(pl.col("lost_seconds").is_not_null()).first(),
            caused_confidence=pl.col("caused_confidence").sort_by("caused_seconds").last(),
            caused_seconds=pl.when(pl.col("caused_seconds").count() > 0).then(pl.col("caused_seconds").sum().clip(0)),
        )
    )
    is_loser = pl.col("lost_seconds").fill_null(0.0) >= pl.col("caused_seconds").fill_null(0.0)
    sure = pl.when(is_loser).then("confidence").otherwise("caused_confidence").alias("confidence")
    beside: dict[Group, Counter[object]] = {by: Counter() for by in GROUPS}
    for by, name, seconds in rows.filter(~is_job).select("by", "name", "lost_seconds").iter_rows():
        beside[by][int(name) if by == "user" else name] += seconds
    return LostByAll(jobs.select(KEY, "lost_seconds", "caused_seconds", sure).sort(KEY), dict(beside))


def _of_day(path: Path, day_ns: int, start_ns: int, end_ns: int) -> pl.DataFrame:
    """Rows of SCHEMA for the jobs that began on a day and ran between two instants. They are kept while the jobs beside
    them stay the same.
    """
    catalog = Catalog(path)
    asked = (
        pl.col("start_ns").is_between(day_ns, day_ns + NS_A_DAY, closed="left"),
        pl.col("start_ns") <= end_ns,
        pl.col("end_ns") >= start_ns,
    )
    last_ns = (
        catalog.scan("jobs", catalog.batches_between(day_ns, day_ns + NS_A_DAY))
        .filter(asked)
        .select(pl.col("end_ns").max())
        .collect()
        .item()
    )
    if last_ns is None:
        return pl.DataFrame(schema=SCHEMA)
    batches = catalog.batches_between(day_ns - MARGIN_NS, last_ns + MARGIN_NS)

    def find() -> pl.DataFrame:
        every = everyone(catalog, batches, day_ns - MARGIN_NS, last_ns + MARGIN_NS)
        found = losses(every, every.jobs.select(pl.all_horizontal(asked)).to_series().to_numpy())
        groups = [
            pl.DataFrame({"by": by, "name": [str(name) for name in its], "lost_seconds": list(its.values())})
            for by, its in found.beside.items()
            if its
        ]
        jobs = found.jobs.filter(pl.col("lost_seconds").is_not_null() | (pl.col("caused_seconds") > 0))
        parts = [jobs.with_columns(by=pl.lit("")), *groups]
        return pl.concat([pl.DataFrame(schema=SCHEMA), *parts], how="diagonal_relaxed").select(
            pl.col(name).cast(dtype) for name, dtype in SCHEMA.items()
        )

    return Answers(catalog, batches).known(f"lost-{start_ns}-{end_ns}", find)
