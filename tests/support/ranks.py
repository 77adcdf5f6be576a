"""Digests of jobs whose ranks call MPI, made by hand, with no more in them than analyses of ranks take."""

from types import SimpleNamespace

import polars as pl
from slicewise.digest.schema import FRAMES

SECOND = 1_000_000_000
KINDS = ("read", "write", "meta", "sync")


def digest_of(
    runtime: float,
    calls: list[tuple[int, int, str, float]],
    io: list[tuple[int, int, str, float]],
    ranks: int = 2,
    first: int = 0,
) -> SimpleNamespace:
    """A digest of ranks of one runtime. calls: rank, slice, class of MPI, seconds; io: rank, slice, kind, seconds. Each
    rank had a processor all the time. first: the slice that counts as 0.
    """
    sums = {kind: [sum(s for r, _, k, s in io if r == rank and k == kind) for rank in range(ranks)] for kind in KINDS}
    processes = pl.DataFrame(
        {
            "process": pl.Series(range(ranks), dtype=pl.UInt64),
            "rank": list(range(ranks)),
            "ranks": [ranks] * ranks,
            "label": [f"rank {rank} on n" for rank in range(ranks)],
            "start_ns": [first * SECOND] * ranks,
            "end_ns": [first * SECOND + int(runtime * SECOND)] * ranks,
            "is_of_job": [True] * ranks,
            **{f"{kind}_ns": [int(seconds * SECOND) for seconds in sums[kind]] for kind in KINDS},
        }
    )
    slices = pl.DataFrame(
        [
            (rank, first + number, *(int(seconds * SECOND) if kind == one else 0 for one in KINDS))
            for rank, number, kind, seconds in io
        ],
        schema={"process": pl.UInt64, "slice": pl.Int64, **{f"{kind}_ns": pl.Int64 for kind in KINDS}},
        orient="row",
    ).with_columns(read_bytes=pl.lit(0, pl.Int64), read_ops=pl.lit(0, pl.Int64))
    communication = pl.DataFrame(
        [(rank, first + number, name, 1, int(seconds * SECOND), 0) for rank, number, name, seconds in calls],
        schema=FRAMES["communication"].polars_schema,
        orient="row",
    )
    usage = pl.DataFrame(
        {"process": processes["process"], "slice": [first] * ranks, "sampled_ns": [int(runtime * SECOND)] * ranks},
        schema_overrides={"slice": pl.Int64},
    ).with_columns(user_ns=pl.col("sampled_ns"), system_ns=pl.lit(0))
    return SimpleNamespace(
        processes=processes,
        process_slices=slices,
        communication=communication,
        usage=usage,
        fetched=pl.DataFrame(schema=FRAMES["fetched"].polars_schema),
        thread_waits=pl.DataFrame(schema=FRAMES["thread_waits"].polars_schema),
        accelerated=pl.DataFrame(schema=FRAMES["accelerated"].polars_schema),
        not_kept={},
        slice_ns=SECOND,
    )
