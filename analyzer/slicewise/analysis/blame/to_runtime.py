"""From I/O time that processes lost to runtime that the job lost.

Frames in, numbers out. Ranks wait for each other at the end of each phase, so the slowest one of a phase decides; of
processes that do not, the slowest in sum; those that ran one after another count as one of these (strands.py).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl

from slicewise.analysis.blame.uncontended import alone_seconds
from slicewise.analysis.calls import KINDS, SECONDS
from slicewise.analysis.job.period import runs_above
from slicewise.constants import LEAST_OF_RATE

Waits = Literal["ranks", "processes", "strands", "one process"]


def phase_of_slices(slices: pl.DataFrame) -> pl.DataFrame:
    """slice, phase: of each slice in which the job made calls (`timeline.slice_rows`). What lies between two phases is
    of the earlier one.
    """
    took = (
        slices.group_by("slice", maintain_order=True)
        .agg(seconds=pl.sum_horizontal(SECONDS.values()).sum())
        .filter(pl.col("seconds") > 0)
        .sort("slice")
    )
    if took.is_empty():
        return pl.DataFrame(schema={"slice": pl.Int64, "phase": pl.Int64})
    first = int(took["slice"][0])
    series = np.zeros(int(took["slice"][-1]) - first + 1)
    series[took["slice"].to_numpy() - first] = took["seconds"].to_numpy()
    starts = [run.start for run in runs_above(series, LEAST_OF_RATE)][1:]
    phases = np.searchsorted(starts, took["slice"].to_numpy() - first, side="right")
    return pl.DataFrame({"slice": took["slice"], "phase": phases.astype(np.int64)})


def decisive(parts: np.ndarray, waits: Waits) -> float:
    """What of processes' seconds, (processes, phases), is the job's: of ranks that wait for each other the sum of each
    phase's most; of others the most of any process's sum.
    """
    if not parts.size:
        return 0.0
    return float(parts.max(0).sum() if waits == "ranks" else parts.sum(1).max())


def by_phase(rows: pl.DataFrame, phases: pl.DataFrame, value: pl.Expr) -> np.ndarray:
    """A value of rows with process and slice, added up: (processes, phases)."""
    summed = (
        rows.with_columns(value=value)
        .join(phases, on="slice", maintain_order="left")
        .group_by("process", "phase", maintain_order=True)
        .agg(pl.col("value").sum())
        .with_columns(row=pl.col("process").rank("dense") - 1, column=pl.col("phase").rank("dense") - 1)
    )
    if summed.is_empty():
        return np.zeros((0, 0))
    shape = (int(summed["row"].max() or 0) + 1, int(summed["column"].max() or 0) + 1)  # type: ignore[arg-type]
    parts = np.zeros(shape)
    parts[summed["row"].to_numpy(), summed["column"].to_numpy()] = summed["value"].to_numpy()
    return parts


def in_calls() -> pl.Expr:
    """Seconds in calls of all kinds."""
    return pl.sum_horizontal(SECONDS.values())


def unevenness(calls: pl.DataFrame, phases: pl.DataFrame, waits: Waits) -> float:
    """By which factor what decides exceeds the mean process's time in calls."""
    return uneven_parts(by_phase(calls, phases, in_calls()), waits)


def uneven_parts(parts: np.ndarray, waits: Waits) -> float:
    """The same of processes' seconds in calls, (processes, phases)."""
    mean = float(parts.sum()) / max(1, len(parts))
    return decisive(parts, waits) / mean if mean > 0 else 1.0


def lost_runtime(
    calls: pl.DataFrame, prices: pl.DataFrame, phases: pl.DataFrame, waits: Waits, uneven: float | None
) -> tuple[float, float]:
    """Seconds of the job's runtime that its I/O lost; and how uneven its processes are alone, as a factor.

    calls: of `timeline.call_rows`. prices: of `uncontended.price_frame`, seconds of the mean process for a byte of the
    job. uneven: the `unevenness` of the job alone; None where it is not known: then a process's own bytes are taken to
    cost alone so much times the number of processes, and what decides is the most that any lost.
    """
    count = calls["process"].n_unique()
    priced = calls.join(prices, on="storage", how="left", maintain_order="left")
    alone = pl.sum_horizontal(
        pl.when(pl.col(f"{kind}_price").is_null()).then(SECONDS[kind]).otherwise(count * alone_seconds(kind))
        for kind in KINDS
    )
    return lost_parts(by_phase(priced, phases, in_calls()), by_phase(priced, phases, alone), waits, uneven)


def lost_parts(parts: np.ndarray, alone: np.ndarray, waits: Waits, uneven: float | None) -> tuple[float, float]:
    """The same of processes' seconds in calls, and what these would have taken alone: (processes, phases)."""
    mean_alone = float(alone.sum()) / max(1, len(alone))
    if uneven is None:
        return decisive(parts - alone, waits), decisive(alone, waits) / mean_alone if mean_alone > 0 else 1.0
    return decisive(parts, waits) - uneven * mean_alone, uneven
