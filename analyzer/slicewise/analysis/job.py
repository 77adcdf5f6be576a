"""One job by itself: what it moved in every slice, how long each process was in I/O, how large and slow its calls were.

Profile in, frames out. Bytes and calls are those of the layers posix, stdio and async on files, and the processes are
those with a rank in an MPI job, as everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

import polars as pl

from slicewise.analysis.activity import CALL_LAYERS, members, own_rows
from slicewise.profile.reader import Profile

KINDS = ("read", "write", "meta", "sync")


@dataclass(frozen=True)
class IoTime:
    """Seconds in I/O calls.

    processes: process, rank, label, read_seconds, write_seconds, meta_seconds, sync_seconds, seconds. slowest, median:
    of a process's `seconds`; slowest_label: whose it is. All zero where there is no process.
    """

    processes: pl.DataFrame
    slowest: float
    slowest_label: str
    median: float


def own_slices(profile: Profile) -> pl.DataFrame:
    """The rows of slices that are the job's own I/O on files."""
    return own_rows(profile).join(members(profile).lazy(), on="process", how="semi").collect()


def per_slice(own: pl.DataFrame) -> pl.DataFrame:
    """slice, read_bytes, write_bytes, meta_ops, sync_ops: summed over processes, mounts and layers; sorted."""
    columns = ("read_bytes", "write_bytes", "meta_ops", "sync_ops")
    return own.group_by("slice").agg(pl.col(*columns).sum()).sort("slice")


def io_time(profile: Profile, own: pl.DataFrame) -> IoTime:
    """How long each process was in I/O calls, in the order of ranks.

    Of asynchronous requests it is the time in the calls that submitted and awaited them.
    """
    in_calls = own.filter(pl.col("layer").is_in(CALL_LAYERS))
    seconds = in_calls.group_by("process").agg(
        (pl.col(f"{kind}_ns").sum() / 1e9).alias(f"{kind}_seconds") for kind in KINDS
    )
    names = [f"{kind}_seconds" for kind in KINDS]
    processes = (
        members(profile)
        .sort("rank", "node", "process")
        .join(profile.processes.select("process", "pid"), on="process", maintain_order="left")
        .join(seconds, on="process", how="left", maintain_order="left")
        .with_columns(pl.col(*names).fill_null(0.0))
        .with_columns(
            seconds=pl.sum_horizontal(*names),
            label=pl.when(pl.col("rank") >= 0)
            .then(pl.format("rank {} on {}", "rank", "node"))
            .otherwise(pl.format("process {} on {}", "pid", "node")),
        )
        .select("process", "rank", "label", *names, "seconds")
    )
    if not processes.height:
        return IoTime(processes, 0.0, "", 0.0)
    slowest = processes.row(processes["seconds"].arg_max(), named=True)
    return IoTime(processes, slowest["seconds"], slowest["label"], processes["seconds"].median())


def by_bin(profile: Profile, own: pl.DataFrame, what: str) -> pl.DataFrame:
    """Calls by bin of `what` ("size" or "latency"): kind, bin (0 and on), least, most, calls.

    least, most: what a bin holds, both included, in bytes or ns; `most` of the last bin is None. One row a bin and kind
    that was used, from one bin below the lowest to one above the highest. Needs a profile that was read with its bins.
    """
    rows = [
        (kind, place, least, above and above - 1, int(own[f"{kind}_{what}_{place}"].sum()))
        for kind, edges in ((kind, profile.schema.bin_edges.get(f"{kind}_{what}", ())) for kind in KINDS)
        for place, (least, above) in enumerate(zip_longest(edges, edges[1:]))
    ]
    frame = pl.DataFrame(rows, schema={"kind": str, "bin": int, "least": int, "most": int, "calls": int}, orient="row")
    used = frame.filter(pl.col("calls") > 0)
    return frame.filter(
        pl.col("bin").is_between(pl.lit(used["bin"].min()) - 1, pl.lit(used["bin"].max()) + 1),
        pl.col("kind").is_in(used["kind"].implode()),
    )


def busiest_files(profile: Profile, most: int) -> pl.DataFrame:
    """The files with most bytes, falling, at most so many rows.

    path (empty: all that did not fit the table), processes, opens, read_bytes, write_bytes, seconds (in reads, writes).
    """
    return (
        profile.files.join(members(profile), on="process", how="semi")
        .filter(pl.sum_horizontal("opens", "read_bytes", "write_bytes") > 0)
        .group_by("path")
        .agg(
            pl.col("process").n_unique().alias("processes"),
            pl.col("opens", "read_bytes", "write_bytes").sum(),
            ((pl.col("read_ns").sum() + pl.col("write_ns").sum()) / 1e9).alias("seconds"),
        )
        .sort(pl.col("read_bytes") + pl.col("write_bytes"), "path", descending=[True, False])
        .head(most)
    )
