"""What a job's own processes moved in every slice, in one direction: the frame that every analysis across jobs starts
from.

Frames in, frames out. A process's own bytes are those of the layers posix, stdio and async on objects that are files:
MPI-IO's are in posix again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from slicewise.errors import UserError
from slicewise.profile.reader import Profile

Direction = Literal["read", "write"]
DIRECTIONS: tuple[Direction, ...] = ("read", "write")

# Calls, whose times are the program's own, and requests, whose times overlap with it and with each other.
CALL_LAYERS = ("posix", "stdio")
OWN_LAYERS = (*CALL_LAYERS, "async")

ACTIVITY_SCHEMA = pl.Schema(
    {
        "job": pl.String,
        "process": pl.UInt64,
        "node": pl.String,
        "rank": pl.Int64,
        "slice": pl.Int64,
        "bytes": pl.Int64,
        "ns": pl.Int64,
        "threads": pl.Int64,
    }
)


def members(profile: Profile) -> pl.DataFrame:
    """The job's processes: those with a rank in an MPI job; in another one those that moved bytes of files.

    A row each: job, process, node, rank (-1 without MPI), program (the executable's name), start_ns, end_ns
    (CLOCK_REALTIME).
    """
    processes = profile.processes
    if (processes["rank"] >= 0).any():
        chosen = processes.filter(pl.col("rank") >= 0)
    else:
        moved = own_rows(profile).filter(pl.col("read_bytes") + pl.col("write_bytes") > 0)
        chosen = processes.join(moved.collect(), on="process", how="semi")
    return chosen.select(
        pl.lit(profile.job).alias("job"),
        "process",
        pl.col("host").cast(pl.String).alias("node"),
        pl.col("rank").cast(pl.Int64),
        pl.col("program").cast(pl.String).str.split("/").list.last(),
        pl.col("start_ns", "end_ns").cast(pl.Int64),
    ).sort("node", "rank", "process")


def activity(
    profile: Profile, processes: pl.DataFrame, direction: Direction, mounts: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Bytes and time of each of `processes` (see `members`) in each slice of the profile's own grid, where it moved
    any bytes.

    mounts: process and mount, the only ones to count; None: all files. Columns: `ACTIVITY_SCHEMA`; ns is the time in
    calls and requests, of all threads together; threads is the largest of the layers' counts, at least 1.
    """
    rows = own_rows(profile).join(processes.lazy().select("job", "process", "node", "rank"), on="process")
    if mounts is not None:
        rows = rows.join(mounts.lazy().select("process", "mount"), on=["process", "mount"], how="semi")
    return (
        rows.group_by("job", "process", "node", "rank", "slice")
        .agg(
            pl.col(f"{direction}_bytes").sum().alias("bytes"),
            pl.col(f"{direction}_ns").sum().alias("ns"),
            pl.col("threads").max().clip(1),
        )
        .filter(pl.col("bytes") > 0)
        .select(pl.col(name).cast(dtype) for name, dtype in ACTIVITY_SCHEMA.items())
        .sort("node", "rank", "process", "slice")
        .collect()
    )


def bytes_by_mount(profile: Profile, processes: pl.DataFrame, direction: Direction) -> pl.DataFrame:
    """What `processes` moved on each file system that they see: process, mount, bytes (i64), where there were any."""
    return (
        own_rows(profile)
        .join(processes.lazy(), on="process", how="semi")
        .group_by("process", "mount")
        .agg(pl.col(f"{direction}_bytes").sum().cast(pl.Int64).alias("bytes"))
        .filter(pl.col("bytes") > 0)
        .collect()
    )


def own_rows(profile: Profile) -> pl.LazyFrame:
    """Rows of `slices` that count what a process itself moved to and from files."""
    of_files = profile.mounts.lazy().filter(pl.col("object") == "file").select("process", "mount")
    return (
        profile.slices.lazy()
        .filter(pl.col("layer").is_in(OWN_LAYERS))
        .join(of_files, on=["process", "mount"], how="semi")
    )


def common_slice_ns(profiles: Sequence[Profile]) -> int:
    """The longest slice of all profiles, which is the common grid. Raises UserError where a shorter one does not
    divide it.
    """
    coarsest = max(profiles, key=lambda profile: profile.slice_ns)
    for profile in profiles:
        if coarsest.slice_ns % profile.slice_ns:
            raise UserError(
                f"{profile.job} has {profile.slice_ns / 1e9:g} s slices and {coarsest.job} has "
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
        .agg(pl.col("bytes", "ns").sum(), pl.col("threads").max())
    )
