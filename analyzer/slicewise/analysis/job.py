"""One job by itself: what it moved in every slice, how long each process was in I/O, how large and slow its calls were.

Digest's frames in, frames out. What a job moved is what all of its own processes moved; times are those of the
processes that matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from slicewise.digest.activity import members
from slicewise.digest.digest import Digest
from slicewise.digest.processes import KINDS


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


def own_slices(digest: Digest) -> pl.DataFrame:
    """The rows of `process_slices` of the job's own processes."""
    own = digest.processes.lazy().filter("is_of_job")
    return digest.process_slices.lazy().join(own, on="process", how="semi").collect()


def per_slice(own: pl.DataFrame) -> pl.DataFrame:
    """slice, read_bytes, write_bytes, meta_ops, sync_ops: summed over processes and storages; sorted."""
    columns = ("read_bytes", "write_bytes", "meta_ops", "sync_ops")
    return own.group_by("slice").agg(pl.col(*columns).sum()).sort("slice")


def io_time(digest: Digest) -> IoTime:
    """How long each process that matters was in I/O calls, in the order of ranks.

    Of asynchronous requests it is the time in the calls that submitted and awaited them.
    """
    names = [f"{kind}_seconds" for kind in KINDS]
    processes = (
        members(digest)
        .sort("rank", "node", "process")
        .select("process", "rank", "label", *((pl.col(f"{kind}_ns") / 1e9).alias(f"{kind}_seconds") for kind in KINDS))
        .with_columns(seconds=pl.sum_horizontal(*names))
    )
    if not processes.height:
        return IoTime(processes, 0.0, "", 0.0)
    slowest = processes.row(processes["seconds"].arg_max(), named=True)
    return IoTime(processes, slowest["seconds"], slowest["label"], processes["seconds"].median())


def by_bin(digest: Digest, what: str) -> pl.DataFrame:
    """Calls by bin of `what` ("size" or "latency"): kind, bin (0 and on), least, most, calls.

    least, most: what a bin holds, both included, in bytes or ns; `most` of the last bin is None. One row a bin and kind
    that was used, from one bin below the lowest to one above the highest.
    """
    frame = digest.distributions.filter(pl.col("what") == what).select("kind", "bin", "least", "most", "calls")
    used = frame.filter(pl.col("calls") > 0)
    return frame.filter(
        pl.col("bin").is_between(pl.lit(used["bin"].min()) - 1, pl.lit(used["bin"].max()) + 1),
        pl.col("kind").is_in(used["kind"].implode()),
    )


def busiest_files(digest: Digest, most: int) -> pl.DataFrame:
    """The files with most bytes, falling, at most so many rows.

    path (empty: all that did not fit the table), processes, opens, read_bytes, write_bytes, seconds (in reads, writes).
    """
    return (
        digest.files.join(digest.processes.filter("is_of_job"), on="process", how="semi")
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
