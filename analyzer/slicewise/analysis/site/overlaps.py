"""Who was together with whom, on what storage, for how long: both made calls on it at one time, to a slice."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise.catalog.answers import Answers
from slicewise.catalog.beside import AMOUNTS, LEAST_GRID_NS, nobody
from slicewise.catalog.clients import at_work
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Batch, Catalog
from slicewise.catalog.workers import OneByOne, Workers
from slicewise.constants import DAY_NS
from slicewise.contract import seconds_allowed

# A job's first slice began before it, and on a grid of longer slices it begins earlier still.
MARGIN_NS = 2 * int(seconds_allowed("SLICEWISE_SLICE")[1] * 1e9)
Integers = npt.NDArray[np.int64]
# So many meetings (two jobs, a storage and a slice) are counted at most: it bounds time and memory. A synthetic day of
# 30,000 jobs has 7.6 million.
MOST_MEETINGS = 10_000_000


@dataclass(frozen=True)
class Span:
    """A part of some time, at most a day: slices that begin in [begin_ns, until_ns) of those that touch [start_ns,
    end_ns). batches: where such can be.
    """

    batches: Sequence[Batch]
    begin_ns: int
    until_ns: int
    start_ns: int
    end_ns: int

    def rows(self, catalog: Path, begin: pl.Expr) -> pl.LazyFrame:
        """The rows of `job_slices` that are in it. begin: when a row is said to begin."""
        touched = (pl.col("begin_ns") < self.end_ns, pl.col("end_ns") > self.start_ns)
        whole = Catalog(catalog)
        rows = at_work(whole, self.batches, whole.scan("job_slices", self.batches))
        return rows.filter(*touched, begin >= self.begin_ns, begin < self.until_ns)


def spans_of(batches: Sequence[Batch], start_ns: int, end_ns: int) -> list[Span]:
    """The time between two instants, as far as batches have jobs then, day by day."""
    if not batches:
        return []
    first = (max(start_ns, min(batch.start_ns for batch in batches)) - MARGIN_NS) // DAY_NS
    last = (min(end_ns, max(batch.end_ns for batch in batches)) + MARGIN_NS) // DAY_NS
    spans = []
    for day in range(first, last + 1):
        begin_ns, until_ns = day * DAY_NS, (day + 1) * DAY_NS
        near = [
            batch for batch in batches if batch.start_ns - MARGIN_NS < until_ns and batch.end_ns + MARGIN_NS >= begin_ns
        ]
        if near:
            spans.append(Span(near, begin_ns, until_ns, start_ns, end_ns))
    return spans


@dataclass(frozen=True)
class Pairs:
    """rows: the pairs. jobs: among how many jobs they were looked for, of how many that were active then."""

    rows: pl.DataFrame
    jobs: int
    of: int


def known_pairs(
    catalog: Catalog, batches: Sequence[Batch], start_ns: int, end_ns: int, most: int, workers: Workers | None = None
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
    end_ns, and what both did together in that time: read_bytes, write_bytes, meta_ops. most: so many pairs. All jobs
    are looked at, or, where these met more than most_meetings times, as many of those that moved most as met no more
    often. workers: who does it, day by day and storage by storage; whoever it is, the frame is the same.
    """
    hands = workers or OneByOne()
    spans = spans_of(batches, start_ns, end_ns)
    found = list(hands.each(_moved, ((catalog.path, span) for span in spans)))
    moved = pl.concat(found).group_by(KEY).agg(pl.col("moved").sum(), pl.col("slice_ns").max()) if found else None
    if moved is None or moved.is_empty():
        return Pairs(_no_pairs().drop("slices"), 0, 0)
    ranked = moved.sort("moved", KEY, descending=[True, False]).with_row_index("rank")
    grid_ns = max(int(ranked["slice_ns"].max()), LEAST_GRID_NS)  # type: ignore[arg-type]
    parts = [
        (catalog.path, span, storage, grid_ns)
        for span, frame in zip(spans, found, strict=True)
        for storage in frame["storage"].unique().sort()
    ]
    keys = ranked[KEY]
    met = np.zeros(len(keys), np.int64)
    for ranks, counts in hands.each(_meetings, [(*part, keys) for part in parts]):
        met[ranks] += counts
    # Nobody but those before the first one with whom they would be too many.
    jobs = int(np.searchsorted(met.cumsum(), most_meetings, side="right"))
    asked = keys.head(jobs)
    counted = pl.concat([_NO_COUNTS, *hands.each(_counted, [(*part, asked) for part in parts])])
    longest = _longest(counted, asked, most)
    told = pl.concat([_no_pairs().drop("seconds"), *hands.each(_told, [(*part, longest) for part in parts])])
    rows = (
        told.group_by(KEY, "other", "storage")
        .agg(
            pl.col("slices").sum(),
            pl.col("start_ns").min(),
            pl.col("end_ns").max(),
            *(pl.col(name).sum() for name in AMOUNTS),
        )
        .with_columns(seconds=pl.col("slices") * grid_ns / 1e9)
        .select(_no_pairs().drop("slices").columns)
        .sort("seconds", "read_bytes", "write_bytes", KEY, "other", "storage", descending=[True] * 3 + [False] * 3)
        .head(most)
    )
    return Pairs(rows, jobs, ranked.height)


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


def _rows(path: Path, span: Span, storage: int, grid_ns: int) -> pl.LazyFrame:
    # A place on the grid is in one span as a whole.
    begin = pl.col("begin_ns") // grid_ns * grid_ns
    return span.rows(path, begin).filter(pl.col("storage") == storage)


def _places(path: Path, span: Span, storage: int, grid_ns: int, keys: pl.Series) -> tuple[Integers, Integers]:
    """Who was at which place on the grid: ranks, those of one place together and the lowest first, and how many of its
    place come before each."""
    ranked = pl.DataFrame({KEY: keys}).with_row_index("rank")
    rows = _rows(path, span, storage, grid_ns).select(KEY, "begin_ns").join(ranked.lazy(), on=KEY)
    code = pl.col("begin_ns") // grid_ns * len(keys) + pl.col("rank")
    codes = rows.select(code.unique().sort()).collect().to_series().to_numpy()
    place, ranks = np.divmod(codes, max(1, len(keys)))
    first = np.flatnonzero(np.diff(place, prepend=-1))
    lengths = np.diff(first, append=len(place))
    return ranks, np.arange(len(place)) - np.repeat(first, lengths)


def _meetings(path: Path, span: Span, storage: int, grid_ns: int, keys: pl.Series) -> tuple[Integers, Integers]:
    """How often jobs met one of a lower rank on one storage in a span: their ranks, and the counts."""
    of_all, before = _places(path, span, storage, grid_ns, keys)
    ranks, which = np.unique(of_all, return_inverse=True)
    return ranks, np.bincount(which, before).astype(np.int64)


_NO_COUNTS = pl.DataFrame(schema={"pair": pl.Int64, "storage": pl.UInt64, "slices": pl.UInt32})


def _counted(path: Path, span: Span, storage: int, grid_ns: int, keys: pl.Series) -> pl.DataFrame:
    """In how many slices pairs of jobs were on a storage. pair: the lower rank times the jobs, and the other."""
    ranks, before = _places(path, span, storage, grid_ns, keys)
    ends = before.cumsum()
    # Each row meets all those of its place that come before it.
    met = np.arange(ends[-1] if len(ends) else 0) + (np.arange(len(ends)) - ends).repeat(before)
    pairs_met = ranks[met] * len(keys) + ranks.repeat(before)
    counts = pl.Series("pair", pairs_met, pl.Int64).value_counts(name="slices")
    return counts.select("pair", pl.lit(storage, pl.UInt64).alias("storage"), pl.col("slices").cast(pl.UInt32))


def _longest(counted: pl.DataFrame, keys: pl.Series, most: int) -> pl.DataFrame:
    """The pairs of most slices (and equals of the last): KEY, other (the higher key), storage."""
    sums = counted.group_by("pair", "storage").agg(pl.col("slices").sum())
    chosen = sums.filter(pl.col("slices").rank("min", descending=True) <= most)
    lower, other = (keys.gather(ranks) for ranks in (chosen["pair"] // len(keys), chosen["pair"] % len(keys)))
    both = pl.DataFrame({"one": lower, "two": other, "storage": chosen["storage"]})
    return both.select(
        pl.min_horizontal("one", "two").alias(KEY), pl.max_horizontal("one", "two").alias("other"), "storage"
    )


def _told(path: Path, span: Span, storage: int, grid_ns: int, chosen: pl.DataFrame) -> pl.DataFrame:
    """Some pairs on one storage in a span: as `pairs`, with the number of slices in place of seconds."""
    here = chosen.filter(pl.col("storage") == storage).drop("storage")
    keys = pl.concat([here[KEY], here["other"]]).unique()
    placed = (
        _rows(path, span, storage, grid_ns)
        .filter(pl.col(KEY).is_in(keys.implode()))
        .with_columns(at=pl.col("begin_ns") // grid_ns)
        .group_by(KEY, "storage", "at")
        .agg(pl.col(name).sum() for name in AMOUNTS)
        .collect()
        .lazy()
    )
    theirs = placed.drop("storage").rename({KEY: "other"})
    both = placed.join(here.lazy(), on=KEY).join(theirs, on=["other", "at"], suffix="_other")
    return (
        both.group_by(KEY, "other", "storage")
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
    """Frame of `pairs` without a row, with the number of slices."""
    empty = nobody().drop(KEY)
    return pl.DataFrame(schema={KEY: pl.UInt64, "other": pl.UInt64, **empty.schema, "slices": pl.Int64})
