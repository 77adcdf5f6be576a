"""What a job's processes moved in every slice in one direction: the rows that analyses across jobs start from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from slicewise.digest.digest import Digest
from slicewise.digest.slices import BYTES, some_processes, synced_ns, with_mapped
from slicewise.errors import UserError
from slicewise.kept_once import kept_once
from slicewise.scalars import real

Direction = Literal["read", "write"]
DIRECTIONS: tuple[Direction, ...] = ("read", "write")

ACTIVITY_SCHEMA = pl.Schema(
    {"job": pl.String, "process": pl.UInt64, "node": pl.String}
    | dict.fromkeys(("rank", "slice", "bytes", "ops", "ns", "io_ns", "threads"), pl.Int64)
)
SUMMED = ("bytes", "ops", "ns", "io_ns")


def members(digest: Digest) -> pl.DataFrame:
    """The job's processes that matter: rows of the digest's frame `processes`."""
    return digest.processes.filter("matters")


def activity(digest: Digest, direction: Direction, storage: int | None = None) -> pl.DataFrame:
    """What each process that matters did in one direction, in each slice of the job's own length: job, process, node,
    rank, slice, bytes, ops, ns, io_ns, threads.

    Bytes written are those that the storage served (`digest.served`). Bytes read are also those of mapped files, and
    the waits for these are time in calls (the frame `fetched`).

    storage: the only one to count; None: all file systems. ns: time in calls and requests of that direction, of all
    threads together; io_ns: the same and, of writes, the syncs that follow them, since what is written is not there
    before it is synced. A row with 0 bytes: in that slice the process only synced. A process that moved no bytes in
    the whole run has no row.
    """
    if direction == "write":
        from slicewise.digest.counters import served_slices  # it brings numpy along

        rows = served_slices(digest)
    else:
        rows = with_mapped(digest.process_slices, digest.fetched)
    if storage is not None:
        rows = rows.filter(pl.col("storage") == storage)
    who = members(digest).select("job", "process", "node", "rank")
    # Names last: they are most of the bytes of a row, and strings are slow keys.
    parts = [
        in_direction(part, direction)
        .join(who, on="process")
        .select(pl.col(name).cast(dtype) for name, dtype in ACTIVITY_SCHEMA.items())
        for part in some_processes(rows)
    ]
    return pl.concat([pl.DataFrame(schema=ACTIVITY_SCHEMA), *parts]).sort("node", "rank", "process", "slice")


def in_direction(rows: pl.DataFrame, direction: Direction) -> pl.DataFrame:
    """The columns of `activity` that are of a process and slice. rows: of `served_slices`, all of some processes."""
    moved_ns = pl.col(f"{direction}_ns") + pl.col(f"{direction}_request_ns")
    sync_ns = synced_ns() if direction == "write" else pl.lit(0)
    moved = pl.col("moved_bytes" if direction == "write" else "read_bytes").sum()
    first = pl.col("slice").filter((pl.col("bytes") > 0) | (pl.col("moved_bytes") > 0)).min().over("process")
    return (
        rows.lazy()
        .group_by("process", "slice")
        .agg(
            pl.col(f"{direction}_bytes").sum().alias("bytes"),
            pl.col(f"{direction}_ops").sum().alias("ops"),
            moved_ns.sum().alias("ns"),
            (moved_ns + sync_ns).sum().alias("io_ns"),
            pl.col("threads").max(),
            moved_bytes=moved,
        )
        .filter((pl.col("bytes") > 0) | ((pl.col("io_ns") > 0) & (pl.col("slice") >= first)))
        .drop("moved_bytes")
        .collect()
    )


def bytes_by_storage(digest: Digest, direction: Direction) -> pl.DataFrame:
    """What the processes that matter moved on each file system (also mapped): storage, bytes; most first."""
    moved = _bytes_by_storage(digest).select("storage", bytes=f"{direction}_bytes").filter(pl.col("bytes") > 0)
    return moved.sort("bytes", "storage", descending=[True, False])


@kept_once
def _bytes_by_storage(digest: Digest) -> pl.DataFrame:
    own = (
        with_mapped(digest.process_slices, digest.fetched).lazy().join(members(digest).lazy(), on="process", how="semi")
    )
    return own.group_by("storage").agg(pl.col(BYTES).sum()).collect()


def runtime_of(digest: Digest) -> float:
    """From its first process's start to its last one's end, s."""
    return real(digest.about["end_ns"] - digest.about["start_ns"]) / 1e9


def common_slice_ns(digests: Sequence[Digest]) -> int:
    """The longest slice of all jobs, the common grid. Raises UserError where a shorter one does not divide it."""
    coarsest = max(digests, key=lambda digest: digest.slice_ns)
    for digest in digests:
        if coarsest.slice_ns % digest.slice_ns:
            raise UserError(
                f"{digest.job} has {digest.slice_ns / 1e9:g} s slices and {coarsest.job} has "
                f"{coarsest.slice_ns / 1e9:g} s ones, and neither divides the other; "
                "profile both with the same SLICEWISE_SLICE"
            )
    return coarsest.slice_ns


def on_grid(frame: pl.DataFrame, slice_ns: int, grid_ns: int) -> pl.DataFrame:
    """An activity frame with slices of `slice_ns` added up on a grid that is a whole multiple of it."""
    if slice_ns == grid_ns:
        return frame
    return (
        frame.with_columns(pl.col("slice") // (grid_ns // slice_ns))
        .group_by("job", "process", "node", "rank", "slice", maintain_order=True)
        .agg(pl.col(SUMMED).sum(), pl.col("threads").max())
    )
