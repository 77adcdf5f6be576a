"""What a storage can serve of reads, writes and metadata calls together: its capacity region, from jobs' slices.

Digests in, dataclasses out. What it can do of each kind, and the exponent, are those that blame finds
(blame/storage_time.py). Here it is told besides whether the storage was full, and how full a full one is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from slicewise.analysis.blame.storage_time import EXPONENTS, ONE_KIND, Capacities, capacities
from slicewise.analysis.blame.timeline import AMOUNTS, KINDS, SECONDS, Kind, job_rows
from slicewise.analysis.blame.uncontended import block_error
from slicewise.analysis.runs.storage import Storage
from slicewise.digest.activity import common_slice_ns
from slicewise.digest.digest import Digest
from slicewise.estimate import Estimate

# A job was slowed down if its calls took so many times as long as those of its program and size alone.
SLOWED = 1 / 0.95
# In calls for this share of a slice: it filled the slice.
FILLED = 0.9
FEWEST_SLICES = 4
LEAST_ERROR, MOST_ERROR = 0.01, 0.25


@dataclass(frozen=True)
class Region:
    """most: bytes/s, or metadata calls/s, by kind of call that the storage was seen busy with. exponent: how kinds meet
    (1: they take turns; 32: not at all); is_exponent_seen: whether slices tell, else it is taken to be 1; mixed: how
    many. level: how much of its time a full storage was seen to spend, 1 or little less. unfilled: kinds of which it
    may well do more.
    """

    most: dict[Kind, float]
    exponent: float
    is_exponent_seen: bool
    mixed: int
    level: Estimate
    unfilled: frozenset[Kind]

    def parts(self, amounts: Mapping[Kind, float]) -> dict[Kind, float]:
        """Seconds of the storage's time that amounts of each kind take."""
        return {kind: amounts.get(kind, 0.0) / rate for kind, rate in self.most.items()}


def region_of(storage: Storage, everyone: Sequence[Digest], alone: Mapping[str, Digest]) -> Region | str:
    """The region of a storage, or why the slices of these jobs do not show it.

    alone: by the names of jobs, runs of their program and size that had no company. What nobody did alone is taken to
    have been slowed down wherever several were at it.
    """
    grid_ns = common_slice_ns(everyone)
    seconds = grid_ns / 1e9
    rows = job_rows(everyone, grid_ns).filter(pl.col("storage") == storage.number)
    known = capacities(rows, grid_ns).get(storage.number, Capacities({}))
    busy = rows.filter(pl.sum_horizontal(SECONDS.values()) >= FILLED * seconds)
    shared = busy.filter(pl.len().over("slice") > 1)
    if shared["slice"].n_unique() < FEWEST_SLICES:
        return "no two profiles show it with two jobs at work"
    slower = _slower(shared, rows, alone)
    filled = frozenset(kind for kinds in slower.values() for kind in kinds)
    if "read" not in known.most or "write" not in known.most:
        return f"nobody was seen {'reading' if 'read' not in known.most else 'writing'} there"
    # Calls that ask for no data wait for a server's answer: how many it can give shows where several jobs wait.
    most = {kind: known.most[kind] for kind in KINDS if kind in known.most and (kind != "meta" or kind in filled)}
    exponent = known.exponent or EXPONENTS[0]
    slowed = [job for job, kinds in slower.items() if kinds]
    chosen = shared.filter(pl.col("slice").is_in(shared.filter(pl.col("job").is_in(slowed))["slice"].implode()))
    spent = _spent(chosen if slowed else shared, rows, most, exponent, seconds)
    error = LEAST_ERROR + min(block_error(spent, np.ones(len(spent))), MOST_ERROR)
    value = float(spent.mean())
    level = Estimate(value, value * (1 - error), value * (1 + error), "in the slices that several jobs filled")
    return Region(most, exponent, known.exponent is not None, known.mixed, level, frozenset(most) - filled)


def _slower(shared: pl.DataFrame, rows: pl.DataFrame, alone: Mapping[str, Digest]) -> dict[str, set[Kind]]:
    """The kinds of call that took longer in shared slices than alone, for each job that shared some."""
    found: dict[str, set[Kind]] = {}
    for (job,), own in shared.group_by("job", maintain_order=True):
        run = alone.get(str(job))
        found[str(job)] = set()
        for kind in KINDS:
            amount, took = float(own[AMOUNTS[kind]].sum()), float(own[SECONDS[kind]].sum())
            if took < ONE_KIND * float(own.select(pl.sum_horizontal(SECONDS.values()).sum()).item()):
                continue
            before = None if run is None else _cost(rows.filter(pl.col("job") == run.job), kind)
            if before is None or took > SLOWED * before * amount:
                found[str(job)].add(kind)
    return found


def _cost(rows: pl.DataFrame, kind: Kind) -> float | None:
    """Seconds in calls for each byte, or for each metadata call."""
    amount = float(rows[AMOUNTS[kind]].sum())
    return float(rows[SECONDS[kind]].sum()) / amount if amount else None


def _spent(
    shared: pl.DataFrame, rows: pl.DataFrame, most: Mapping[Kind, float], exponent: float, seconds: float
) -> np.ndarray:
    """What all jobs took of the storage's time in each of these slices, as kinds of call meet."""
    slices = rows.join(shared.select("slice").unique(), on="slice", how="semi").group_by("slice").agg(
        pl.col(AMOUNTS.values()).sum()
    ).sort("slice")  # fmt: skip
    parts = np.array([slices[AMOUNTS[kind]].to_numpy() / seconds / rate for kind, rate in most.items()])
    if exponent >= EXPONENTS[1]:
        return np.asarray(parts.max(0))
    return np.asarray((parts**exponent).sum(0) ** (1 / exponent))
