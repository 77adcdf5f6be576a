"""What of jobs' calls a local disk moved, and what the page cache served.

Digests and frames in, frames out.
"""

from collections.abc import Sequence

import polars as pl

from slicewise.analysis.runs.storage import Storage
from slicewise.digest.digest import Digest
from slicewise.digest.slices import BYTES

# Of the bytes of a job's files in one direction: with so many on one storage the kernel's count of its processes is of
# that storage.
MOSTLY_THERE = 0.9


def from_disk(rows: pl.DataFrame, storage: Storage, digests: Sequence[Digest]) -> pl.DataFrame:
    """Rows of jobs on a storage with the bytes that its disk moved, by the kernel's count of their processes."""
    return by_disks(rows, disk_parts([storage], digests)) if storage.host else rows


def by_disks(rows: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Rows of jobs with the bytes that disks moved: the page cache served the other reads, and what was overwritten in
    it was written once. parts: of `disk_parts`.
    """
    if parts.is_empty():
        return rows
    return (
        rows.join(parts, on=["job", "storage"], how="left", maintain_order="left")
        .with_columns((pl.col(name) * pl.col(f"{name}_part").fill_null(1.0)).round().cast(pl.Int64) for name in BYTES)
        .select(rows.columns)
    )


def disk_parts(storages: Sequence[Storage], digests: Sequence[Digest]) -> pl.DataFrame:
    """The parts of what jobs' calls read and wrote that a local disk moved: job, storage, and {name}_part of BYTES,
    null where that is not known.
    """
    found = [
        {"job": digest.job, "storage": storage.number} | _disk_parts(digest, storage)
        for storage in storages
        for digest in digests
        if storage.host
    ]
    schema = {"job": pl.String, "storage": pl.UInt64} | {f"{name}_part": pl.Float64 for name in BYTES}
    return pl.DataFrame(found, schema)


def _disk_parts(digest: Digest, storage: Storage) -> dict[str, float]:
    if "coverage" in digest.not_kept or digest.coverage.is_empty():
        return {}
    on_files = digest.process_slices
    its, everywhere = (
        rows.select(pl.col(BYTES).sum()).row(0, named=True)
        for rows in (on_files.filter(pl.col("storage") == storage.number), on_files)
    )
    sums = digest.coverage.select(pl.selectors.matches("^(read|write)_(kernel|storage)$").sum()).row(0, named=True)
    return {
        f"{name}_part": min(1.0, int(sums[f"{way}_storage"] or 0) / its[name])
        for name, way in zip(BYTES, ("read", "write"), strict=True)
        if sums[f"{way}_kernel"] and its[name] and its[name] >= MOSTLY_THERE * everywhere[name]
    }
