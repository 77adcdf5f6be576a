"""Whose the variation is of runs that did the same work: neighbours', of the hour in which they ran, or their own.

Frames in, dataclass out. After the litmus tests of M. Isakov et al., A Taxonomy of Error Sources in HPC I/O Machine
Learning Models (SC 2022): runs that did the same differ by what the model of their work cannot know; those at one time
by contention and chance alone. What contention cost each of them is here what `blame` says of it.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise.analysis.site.worst import Worst
from slicewise.catalog.clients import IS_PROFILED
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Catalog
from slicewise.constants import EQUAL_VOLUMES, FEWEST_REPEATS, LEAST_ERROR, SECOND_NS
from slicewise.estimate import Estimate
from slicewise.statistics import NORMAL

Floats = npt.NDArray[np.float64]
# What runs of one work have in common.
WORK = ("user", "program", "command", "processes")
# Runs that began in one hour met the same storage, as far as it changes by the day: its load has that of the hour.
HOUR_NS = 3600 * SECOND_NS
# Parts of the hours, or of the runs, that are left out in turn for the errors of the shares (jackknife).
PARTS = 20
# A prime, so that neighbours in time are in other parts.
SPREAD = 7
HOW = "by leaving out a part of the runs in turn"


@dataclass(frozen=True)
class Variation:
    """sets: a row for each set of runs that did the same: WORK, runs, median_seconds, deviation (of one run, relative),
    after_neighbours (the same without what neighbours cost). deviation: of all. neighbours, hours, own: the shares of
    the variance of log(runtime) within sets, which add up to 1; None where there are no such runs, or they do not vary.
    unasked: runs left out, since nobody knows what they lost.
    """

    sets: pl.DataFrame
    deviation: float
    neighbours: Estimate | None
    hours: Estimate | None
    own: Estimate | None
    unasked: int

    @property
    def runs(self) -> int:
        return int(self.sets["runs"].sum())


def variation(catalog: Catalog, start_ns: int, end_ns: int, told: Worst) -> Variation:
    """Of jobs with a profile that ran between two instants. told: what blame says of them."""
    ran = (pl.col("start_ns") <= end_ns, pl.col("end_ns") >= start_ns, ~pl.col("is_running"), pl.col("command") != "")
    lost = told.rows.select(pl.col(KEY).str.to_integer(base=16, dtype=pl.UInt64), "lost_seconds")
    jobs = (
        catalog.scan("jobs", catalog.batches_between(start_ns, end_ns))
        .filter(IS_PROFILED, *ran)
        .join(told.unasked.lazy(), on=KEY, how="left")
        .join(lost.lazy(), on=KEY, how="left")
        .with_columns(took=(pl.col("end_ns") - pl.col("start_ns")) / SECOND_NS)
        .select(KEY, *WORK, "start_ns", "took", "read_bytes", "write_bytes", "seconds", "lost_seconds")
        .collect()
    )
    for way in ("read_bytes", "write_bytes"):
        usual = pl.col(way).median().over(WORK)
        jobs = jobs.filter((pl.col(way) - usual).abs() <= EQUAL_VOLUMES * pl.max_horizontal(way, usual))
    jobs = jobs.filter(pl.len().over(WORK) >= FEWEST_REPEATS)
    unasked = jobs.filter(pl.col("seconds").is_not_null()).height
    rows = jobs.filter(pl.col("seconds").is_null(), pl.col("took") > 0)
    rows = rows.filter(pl.len().over(WORK) >= FEWEST_REPEATS).sort(*WORK, "start_ns")
    least = LEAST_ERROR * pl.col("took")  # a loss that blame tells is below the runtime, but for its error
    rows = rows.with_columns(
        log=pl.col("took").log(),
        without=pl.max_horizontal(pl.col("took") - pl.col("lost_seconds").fill_null(0.0), least).log(),
        hour=pl.col("start_ns") // HOUR_NS,
        set=pl.struct(WORK).rank("dense"),
    )
    sets = rows.group_by(WORK, maintain_order=True).agg(
        runs=pl.len(),
        median_seconds=pl.col("took").median(),
        deviation=pl.col("log").std(),
        after_neighbours=pl.col("without").std(),
    )
    freedom = rows.height - sets.height
    if not freedom or not (shares := _shares(rows)).sum():
        return Variation(sets, 0.0, None, None, None, unasked)
    deviation = float(np.sqrt(_squares(rows, "log") / freedom))
    neighbours, hours, own = _estimates(rows, shares)
    return Variation(sets, deviation, neighbours, hours, own, unasked)


def _squares(rows: pl.DataFrame, column: str) -> float:
    value = pl.col(column)
    return float(rows.select(((value - value.mean().over("set")) ** 2).sum()).item())


def _shares(rows: pl.DataFrame) -> Floats:
    """The parts of the sum of squares: what is gone without the losses; what runs of an hour then have in common beyond
    what as many groups have by chance; and what is left. All 0 where runs do not vary.
    """
    whole, rest = _squares(rows, "log"), _squares(rows, "without")
    if whole <= 0:
        return np.zeros(3)
    value = pl.col("without") - pl.col("without").mean().over("set")
    hours = rows.select("set", "hour", value=value).group_by("hour").agg(pl.col("value").sum(), runs=pl.len())
    between = float(hours.select((pl.col("value") ** 2 / pl.col("runs")).sum()).item())
    groups, free = hours.height - 1, rows.height - rows["set"].n_unique() - (hours.height - 1)
    common = max(0.0, between - groups * (rest - between) / free) if groups and free > 0 else 0.0
    by_neighbours = max(0.0, whole - rest)
    left = min(whole, rest)
    common = left * min(1.0, common / rest) if rest > 0 else 0.0
    return np.array([by_neighbours, common, left - common]) / whole


def _estimates(rows: pl.DataFrame, shares: Floats) -> list[Estimate]:
    # Runs of an hour go together. Few hours say nothing of others: then runs do.
    unit = "hour" if rows["hour"].n_unique() >= PARTS else "start_ns"
    parts = rows.with_columns(part=(pl.col(unit).rank("dense") * SPREAD) % PARTS)
    drawn = np.array([_shares(parts.filter(pl.col("part") != part)) for part in parts["part"].unique()])
    count = len(drawn)
    error = NORMAL * np.sqrt((count - 1) / count * ((drawn - drawn.mean(axis=0)) ** 2).sum(axis=0))
    return [
        Estimate(float(value), max(0.0, float(value - off)), min(1.0, float(value + off)), HOW)
        for value, off in zip(shares, error, strict=True)
    ]
