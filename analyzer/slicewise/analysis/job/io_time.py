"""One job by itself: what it moved in every slice, how long each process was in I/O, how large and slow its calls were.

Digest's frames in, frames out. What a job moved is what all of its own processes moved; times are those of the
processes that matter.
"""

from dataclasses import dataclass

import polars as pl

from slicewise.digest.digest import Digest
from slicewise.digest.processes import in_processes
from slicewise.digest.schema import FRAMES
from slicewise.kinds import KINDS
from slicewise.scalars import real

NO_BINS = FRAMES["distributions"].polars_schema.to_frame().drop("what")


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
    return of_own_processes(digest, digest.process_slices)


def of_own_processes(digest: Digest, rows: pl.DataFrame) -> pl.DataFrame:
    others = digest.processes.filter(~pl.col("is_of_job"))
    return rows.join(others, on="process", how="anti", maintain_order="left") if others.height else rows


def per_slice(own: pl.DataFrame) -> pl.DataFrame:
    """slice, read_bytes, write_bytes, read_ops, write_ops, meta_ops, sync_ops: summed over processes and storages;
    sorted.
    """
    columns = ("read_bytes", "write_bytes", "read_ops", "write_ops", "meta_ops", "sync_ops")
    return own.lazy().group_by("slice").agg(pl.col(*columns).sum()).sort("slice").collect()


def per_storage_slice(digest: Digest) -> pl.DataFrame:
    """point, type, source, slice, read_bytes, write_bytes, meta_ops, read_seconds, write_seconds, meta_seconds: of the
    job's own processes, summed over file systems that are called the same.
    """
    named = digest.storages.lazy().select("storage", "point", "type", "source")
    sums = ("read_bytes", "write_bytes", "meta_ops")
    seconds = ((pl.col(f"{kind}_ns").sum() / 1e9).alias(f"{kind}_seconds") for kind in ("read", "write", "meta"))
    rows = own_slices(digest).lazy().join(named, on="storage")
    return rows.group_by("point", "type", "source", "slice").agg(pl.col(*sums).sum(), *seconds).collect()


def io_time(digest: Digest) -> IoTime:
    """How long each process that matters was in I/O calls, in all of its programs; in the order of ranks.

    Of asynchronous requests it is the time in the calls that submitted and awaited them.
    """
    names = [f"{kind}_seconds" for kind in KINDS]
    processes = (
        digest.processes.filter("is_of_job")
        .sort("rank", "node", "start_ns", "process")
        .group_by(in_processes(digest.processes), maintain_order=True)
        .agg(
            pl.col("rank", "label").first(),
            pl.col("matters").any(),
            *((pl.col(f"{kind}_ns").sum() / 1e9).alias(f"{kind}_seconds") for kind in KINDS),
        )
        .filter("matters")
        .drop("matters")
        .with_columns(seconds=pl.sum_horizontal(*names))
    )
    if not processes.height:
        return IoTime(processes, 0.0, "", 0.0)
    slowest = processes.row(processes["seconds"].arg_max(), named=True)
    return IoTime(processes, slowest["seconds"], slowest["label"], real(processes["seconds"].median()))


def by_bin(digest: Digest, what: str) -> pl.DataFrame:
    """Calls by bin of `what` ("size" or "latency"): kind, bin (0 and on), least, most, calls.

    least, most: what a bin holds, both included, in bytes or ns; `most` of the last bin is None. One row a bin and kind
    that was used, from one bin below the lowest to one above the highest. None of a digest that has no distributions.
    """
    if "distributions" in digest.not_kept:
        return NO_BINS
    frame = digest.distributions.filter(pl.col("what") == what).select("kind", "bin", "least", "most", "calls")
    used = frame.filter(pl.col("calls") > 0)
    return frame.filter(
        pl.col("bin").is_between(pl.lit(used["bin"].min()) - 1, pl.lit(used["bin"].max()) + 1),
        pl.col("kind").is_in(used["kind"].implode()),
    )


@dataclass(frozen=True)
class FilesWithoutRow:
    """All files together that the tables of the processes have no row for, and what any one of them had at most."""

    opens: int
    bytes: int
    most_bytes: int
    most_seconds: float


def files_without_row(digest: Digest) -> FilesWithoutRow | None:
    """None where each file has its row. Each process keeps a table, so that what one file had at most is a sum."""
    of_job = digest.files.join(digest.processes.filter("is_of_job"), on="process", how="semi")
    rows = of_job.filter(pl.col("path") == "", pl.sum_horizontal("opens", "read_bytes", "write_bytes") > 0)
    if rows.height == 0:
        return None
    sums = {name: int(rows[name].sum()) for name in ("opens", "read_bytes", "write_bytes", "error_bytes", "error_ns")}
    return FilesWithoutRow(
        sums["opens"], sums["read_bytes"] + sums["write_bytes"], sums["error_bytes"], sums["error_ns"] / 1e9
    )


def busiest_files(digest: Digest, most: int) -> pl.DataFrame:
    """The files with most bytes, falling, at most so many rows.

    path (empty: all files without a row of their own), processes, opens, read_bytes, write_bytes, seconds (in reads,
    writes), and what the file can have had beyond these at most: error_bytes, error_seconds. A process keeps rows of
    the files that moved most and took longest (store/files.h). A file that got its row late moved some bytes
    before; a process without a row of the file can have moved as many bytes of it as of any file that has none.
    """
    files = digest.files.join(digest.processes.filter("is_of_job"), on="process", how="semi")
    without_row = files.filter(pl.col("path") == "").select("process", others_bytes="error_bytes", others_ns="error_ns")
    any_bytes, any_ns = (int(without_row[name].sum()) for name in ("others_bytes", "others_ns"))
    is_other = pl.col("path") == ""
    rows = files.filter(pl.sum_horizontal("opens", "read_bytes", "write_bytes") > 0).join(
        without_row, on="process", how="left"
    )
    # The bound of processes that have a row of the path is not added on top of that row's own error.
    known_bytes = pl.struct("process", "others_bytes").unique().struct.field("others_bytes").sum()
    known_ns = pl.struct("process", "others_ns").unique().struct.field("others_ns").sum()
    return (
        rows.with_columns(pl.col("others_bytes", "others_ns").fill_null(0))
        .group_by("path")
        .agg(
            in_processes(digest.processes).n_unique().alias("processes"),
            pl.col("opens", "read_bytes", "write_bytes").sum(),
            ((pl.col("read_ns").sum() + pl.col("write_ns").sum()) / 1e9).alias("seconds"),
            (pl.col("error_bytes").sum().cast(pl.Int64) + any_bytes - known_bytes.cast(pl.Int64)).alias("error_bytes"),
            ((pl.col("error_ns").sum().cast(pl.Int64) + any_ns - known_ns.cast(pl.Int64)) / 1e9).alias("error_seconds"),
        )
        .with_columns(
            pl.when(is_other).then(0).otherwise(pl.col("error_bytes")).alias("error_bytes"),
            pl.when(is_other).then(0.0).otherwise(pl.col("error_seconds")).alias("error_seconds"),
        )
        .sort(pl.col("read_bytes") + pl.col("write_bytes"), "path", descending=[True, False])
        .head(most)
    )
