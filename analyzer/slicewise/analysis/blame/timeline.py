"""Seconds in calls and amounts by process, storage and slice: the rows that blame starts from.

Digests in, frames out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from slicewise.digest.activity import members
from slicewise.digest.digest import Digest

Kind = Literal["read", "write", "meta"]
KINDS: tuple[Kind, ...] = ("read", "write", "meta")
# What each kind of call moves, or does.
AMOUNTS: dict[Kind, str] = {"read": "read_bytes", "write": "write_bytes", "meta": "meta_ops"}
SECONDS: dict[Kind, str] = {kind: f"{kind}_seconds" for kind in KINDS}

# How many calls, of the kinds whose calls differ in size.
CALLS: dict[Kind, str] = {"read": "read_ops", "write": "write_ops"}

# A slice in which a process was in write calls and wrote less than this share of its mean rate is one in which it
# waited for what it had written before.
WAITS_BELOW = 0.1

# Time in calls of several threads may be this fraction above a whole number of threads' without another thread.
ROUNDING = 0.02


def call_rows(digest: Digest, grid_ns: int, processes: pl.DataFrame | None = None) -> pl.DataFrame:
    """What each of a job's processes did: process, storage, slice, and for each kind the columns of SECONDS (s, f64)
    and AMOUNTS, and CALLS (i64).

    processes: those that count (column process); None: those that matter. A write is not there before it is synced, so
    the time of syncs is that of writes. Requests count as the time that they were under way. Where threads were in
    calls at the same time, their times are divided by the least number of threads that can have spent them: the most
    seconds in any slice over the slice's length. So what one thread spent counts in full, and what eight spent side by
    side counts as their mean. Bytes that went to memory in an instant, and that the process then waited for in writes
    and syncs, are spread over that time: the storage took them then.
    """
    who = (members(digest) if processes is None else processes).lazy().select("process")
    ns: dict[Kind, pl.Expr] = {
        "read": pl.col("read_ns") + pl.col("read_request_ns"),
        "write": pl.col("write_ns") + pl.col("write_request_ns") + pl.col("sync_ns"),
        "meta": pl.col("meta_ns"),
    }
    summed = (
        digest.process_slices.lazy()
        .join(who, on="process", how="semi")
        .group_by("process", "storage", slice=pl.col("slice") // (grid_ns // digest.slice_ns))
        .agg(
            *(pl.col(name).sum() for name in (*AMOUNTS.values(), *CALLS.values())),
            *((ns[kind].sum() / 1e9).alias(SECONDS[kind]) for kind in KINDS),
        )
    )
    in_slice = pl.sum_horizontal(SECONDS.values()).sum().over("process", "slice") / (grid_ns / 1e9)
    threads = (in_slice - ROUNDING).ceil().clip(1).max().over("process")
    return (
        summed.sort("process", "storage", "slice")
        .with_columns(threads=threads, write_bytes=_as_storage_took_them())
        .select(
            "process",
            "storage",
            "slice",
            pl.col(SECONDS.values()) / pl.col("threads"),
            *AMOUNTS.values(),
            *CALLS.values(),
        )
        .sort("storage", "slice", "process")
        .collect()
    )


def _as_storage_took_them() -> pl.Expr:
    """The bytes that a process wrote, of rows in order; those that it waited for later are spread by time in calls."""
    of_process = ("process", "storage")
    moved, seconds = pl.col("write_bytes"), pl.col(SECONDS["write"])
    mean = (moved.sum() / seconds.sum()).over(of_process)
    is_wait = (seconds > 0) & (moved < WAITS_BELOW * mean * seconds)
    follows = (pl.col("slice") == pl.col("slice").shift() + 1).over(of_process).fill_null(False)
    burst = (~(is_wait & follows)).cum_sum().over(of_process)
    within = (*of_process, burst)
    spread = moved.sum().over(within) * (seconds / seconds.sum().over(within))
    return pl.when(pl.len().over(within) > 1).then(spread.round().cast(pl.Int64)).otherwise(moved)


def job_rows(digests: Sequence[Digest], grid_ns: int, nodes: Sequence[str] | None = None) -> pl.DataFrame:
    """What jobs did, all of their processes together: job, storage, slice and the columns of SECONDS and AMOUNTS.

    nodes: only processes on these; None: all.
    """
    there = pl.lit(True) if nodes is None else pl.col("node").is_in(nodes)
    return pl.concat(
        call_rows(digest, grid_ns, digest.processes.filter(there))
        .group_by("storage", "slice")
        .agg(pl.col(*SECONDS.values(), *AMOUNTS.values()).sum())
        .select(pl.lit(digest.job).alias("job"), "storage", "slice", *SECONDS.values(), *AMOUNTS.values())
        .sort("storage", "slice")
        for digest in digests
    )


def slice_rows(calls: pl.DataFrame) -> pl.DataFrame:
    """The job as a whole: storage, slice, the columns of SECONDS (of the mean process: divided by all that made any
    call) and of AMOUNTS and CALLS (of all), and at_work (processes in calls).
    """
    count = max(1, calls["process"].n_unique())
    return (
        calls.group_by("storage", "slice")
        .agg(
            pl.col(SECONDS.values()).sum() / count,
            pl.col(*AMOUNTS.values(), *CALLS.values()).sum(),
            at_work=(pl.sum_horizontal(SECONDS.values()) > 0).sum(),
        )
        .sort("storage", "slice")
    )


def process_seconds(calls: pl.DataFrame) -> pl.DataFrame:
    """process, seconds: in calls on all storages."""
    return (
        calls.group_by("process")
        .agg(seconds=pl.sum_horizontal(SECONDS.values()).sum())
        .sort("seconds", "process", descending=[True, False])
    )
