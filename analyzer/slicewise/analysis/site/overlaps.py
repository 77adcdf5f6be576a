"""Who was together with whom, on what storage, and for how long.

A catalog in, frames out. Jobs were together on a storage where both made calls on it at one time, to a slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from slicewise.analysis.site.jobs import places_of_storages, with_key_text
from slicewise.analysis.site.spans import Span, spans_of
from slicewise.catalog.answers import Answers
from slicewise.catalog.beside import AMOUNTS, LEAST_GRID_NS, nobody, on_grid
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Batch, Catalog
from slicewise.catalog.workers import OneByOne, Workers

# So many meetings (two jobs, a storage and a slice) are counted at most: it bounds time and memory. A synthetic day of
# 30,000 jobs has 7.6 million.
MOST_MEETINGS = 10_000_000
# So many at a time, which bounds memory.
MEETINGS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Pairs:
    """rows: the pairs. jobs: among how many jobs they were looked for, of how many that were active then."""

    rows: pl.DataFrame
    jobs: int
    of: int


def known_pairs(
    catalog: Catalog,
    batches: Sequence[Batch],
    start_ns: int,
    end_ns: int,
    most: int,
    workers: Workers | None = None,
) -> Pairs:
    """`pairs`, looked for once while these batches stay as they are."""

    def find() -> pl.DataFrame:
        told = pairs(catalog, batches, start_ns, end_ns, most, workers)
        counts = pl.DataFrame({"jobs": [told.jobs], "of": [told.of]})
        return counts.join(told.rows, how="cross") if told.rows.height else counts

    found = Answers(catalog, batches).known(f"pairs-{most}-{start_ns}-{end_ns}", find)
    jobs, of = found.select("jobs", "of").row(0)
    rows = found.drop("jobs", "of")
    return Pairs(rows if rows.width else pairs(catalog, [], start_ns, end_ns, most).rows, jobs, of)


def pairs(
    catalog: Catalog,
    batches: Sequence[Batch],
    start_ns: int,
    end_ns: int,
    most: int,
    workers: Workers | None = None,
    most_meetings: int = MOST_MEETINGS,
) -> Pairs:
    """The pairs of jobs that were together longest between two instants: key, other, storage, seconds, start_ns,
    end_ns, and what both did together in that time: read_bytes, write_bytes, meta_ops.

    most: so many pairs. All jobs are looked at, or, where these met more than most_meetings times, as many of those
    that moved most as met no more often. workers: who does it, day by day and storage by storage; whoever it is, the
    frame is the same.
    """
    hands = workers or OneByOne()
    spans = spans_of(batches, start_ns, end_ns)
    found = list(hands.each(_moved, ((catalog.path, span) for span in spans)))
    moved = pl.concat(found).group_by(KEY).agg(pl.col("moved").sum(), pl.col("slice_ns").max()) if found else None
    if moved is None or moved.is_empty():
        return Pairs(_no_pairs().drop("slices"), 0, 0)
    ranked = moved.sort("moved", KEY, descending=[True, False]).with_row_index("rank")
    grid_ns = max(int(ranked["slice_ns"].max()), LEAST_GRID_NS)  # type: ignore[arg-type]
    tasks = [
        (catalog.path, span, storage, ranked.select(KEY, "rank"), grid_ns)
        for span, frame in zip(spans, found, strict=True)
        for storage in frame["storage"].unique().sort()
    ]
    met = pl.concat(hands.each(_meetings, tasks)).group_by("rank").agg(pl.col("meetings").sum()).sort("rank")
    too_many = met.filter(pl.col("meetings").cum_sum() > most_meetings)["rank"]
    jobs = int(too_many[0]) if len(too_many) else ranked.height
    chosen = ranked.select(KEY, "rank").head(jobs)
    tasks = [(*task[:3], chosen, grid_ns) for task in tasks]
    together = pl.concat([_no_pairs().drop("seconds"), *hands.each(_pairs_of_storage, tasks)])
    rows = (
        _added_up(together)
        .with_columns(seconds=pl.col("slices") * grid_ns / 1e9)
        .select(_no_pairs().drop("slices").columns)
        .sort("seconds", "read_bytes", "write_bytes", KEY, "other", "storage", descending=[True] * 3 + [False] * 3)
        .head(most)
    )
    return Pairs(rows, jobs, ranked.height)


def _added_up(together: pl.DataFrame) -> pl.DataFrame:
    """Each pair and storage once."""
    return together.group_by(KEY, "other", "storage").agg(
        pl.col("slices").sum(),
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
        *(pl.col(name).sum() for name in AMOUNTS),
    )


def _moved(catalog: Path, span: Span) -> pl.DataFrame:
    """What each job moved on each storage in a span, and how long its slices are: key, storage, moved, slice_ns."""
    rows = span.rows(catalog, pl.col("begin_ns"))
    return (
        rows.group_by(KEY, "storage")
        .agg(
            moved=pl.sum_horizontal("read_bytes", "write_bytes").sum(),
            slice_ns=(pl.col("end_ns") - pl.col("begin_ns")).max(),
        )
        .collect()
    )


def _placed(catalog: Path, span: Span, storage: int, ranked: pl.DataFrame, grid_ns: int) -> pl.DataFrame:
    """What some jobs did on one storage in a span, by place on the grid: KEY, storage, at, rank, AMOUNTS."""
    # A place on the grid is in one span as a whole.
    begin = pl.col("begin_ns") // grid_ns * grid_ns
    rows = (
        span.rows(catalog, begin)
        .filter(pl.col("storage") == storage)
        .select(KEY, "storage", "begin_ns", *AMOUNTS)
        .join(ranked.lazy(), on=KEY)
        .collect()
    )
    return on_grid(rows, grid_ns).group_by(KEY, "storage", "at", "rank").agg(*(pl.col(name).sum() for name in AMOUNTS))


def _meetings(catalog: Path, span: Span, storage: int, ranked: pl.DataFrame, grid_ns: int) -> pl.DataFrame:
    """How often each job met one of a lower rank on one storage in a span: rank, meetings."""
    met = pl.col("rank").rank("ordinal").over("at").cast(pl.Int64) - 1
    placed = _placed(catalog, span, storage, ranked, grid_ns).select("rank", meetings=met)
    return placed.group_by("rank").agg(pl.col("meetings").sum())


def _pairs_of_storage(catalog: Path, span: Span, storage: int, ranked: pl.DataFrame, grid_ns: int) -> pl.DataFrame:
    """The pairs of some jobs on one storage in a span: as `pairs`, with the number of slices in place of seconds."""
    placed = _placed(catalog, span, storage, ranked, grid_ns).sort("at", KEY).drop("rank")
    # Each row meets all of its place, itself too, before each pair is kept once.
    part = pl.len().over("at").cast(pl.Int64).cum_sum() // (2 * MEETINGS_AT_ONCE)
    found = _no_pairs().drop("seconds")
    for some in placed.with_columns(part=part).partition_by("part", include_key=False):
        found = _added_up(pl.concat([found, _met(some, placed, grid_ns)])).select(found.columns)
    return found


def _met(some: pl.DataFrame, placed: pl.DataFrame, grid_ns: int) -> pl.DataFrame:
    """The pairs that some of the rows of one storage make with others: as `_pairs_of_storage`."""
    both = (
        some.lazy()
        .join(placed.lazy(), on=["storage", "at"], suffix="_other")
        .filter(pl.col(KEY) < pl.col(f"{KEY}_other"))
    )
    return (
        both.group_by(KEY, pl.col(f"{KEY}_other").alias("other"), "storage")
        .agg(
            slices=pl.len().cast(pl.Int64),
            start_ns=pl.col("at").min() * grid_ns,
            end_ns=(pl.col("at").max() + 1) * grid_ns,
            **{name: pl.col(name).sum() + pl.col(f"{name}_other").sum() for name in AMOUNTS},
        )
        .select(_no_pairs().drop("seconds").columns)
        .collect()
    )


def _no_pairs() -> pl.DataFrame:
    """Frame of `pairs` without a row."""
    empty = nobody().drop(KEY)
    return pl.DataFrame(schema={KEY: pl.UInt64, "other": pl.UInt64, **empty.schema, "slices": pl.Int64})


def named(catalog: Catalog, found: pl.DataFrame, batches: Sequence[Batch]) -> pl.DataFrame:
    """The frame with names: key and other as text, job, user, program of each key, and the storage's point and type."""
    jobs = catalog.scan("jobs", batches).select(KEY, "job", "user", "program")
    where = places_of_storages(catalog, batches).rename({"source": "storage_source"})
    frame = found.lazy().join(jobs, on=KEY, how="left", maintain_order="left")
    if "other" in found.columns:
        theirs = jobs.rename({KEY: "other", "job": "other_job", "user": "other_user", "program": "other_program"})
        frame = frame.join(theirs, on="other", how="left", maintain_order="left")
    told = frame.join(where, on="storage", how="left", maintain_order="left").drop("storage").collect()
    told = told.rename({"point": "storage", "type": "storage_type"})
    for column in (KEY, "other"):
        if column in told.columns:
            told = with_key_text(told, column)
    return told
