"""Which storage jobs have in common: the mounts of different processes, nodes and jobs that are one file system.

Frames in, frames and dataclasses out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from slicewise.profile.reader import Profile

# File systems whose source names the same storage on every node, even where it does not look like server:/path.
NETWORK_TYPES = (
    "nfs", "nfs4", "lustre", "gpfs", "beegfs", "beegfs_nodev", "ceph", "cifs", "smb3", "pvfs2", "panfs", "wekafs",
    "afs", "9p", "virtiofs", "ocfs2", "gfs2", "fuse.glusterfs", "fuse.ceph-fuse", "fuse.sshfs", "fuse.juicefs",
    "fuse.dfuse", "fuse.daos", "fuse.cvmfs2", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone",
)  # fmt: skip
NETWORK_SOURCE = r"^[^/].*:/|^//[^/]"

KEY = ("type", "source", "host", "of_point")


@dataclass(frozen=True)
class Storage:
    """One file system. host is empty where it is a network file system, which is the same on every node; point: where
    it is mounted.
    """

    type: str
    source: str
    host: str
    point: str


@dataclass(frozen=True)
class StorageUse:
    """What a job moved on the storage under analysis and elsewhere (other file systems), in bytes; elsewhere_share: 0
    to 1.
    """

    job: str
    bytes: int
    elsewhere_bytes: int
    elsewhere_share: float


def file_mounts(profile: Profile) -> pl.DataFrame:
    """The profile's file systems with what tells one storage from another.

    A row a process and mount: process, mount, point, and the key: type, source, host (empty for a network file system)
    and of_point (the mount point where the source names no device, as a tmpfs's does not; else empty).
    """
    is_network = pl.col("type").is_in(NETWORK_TYPES) | pl.col("source").str.contains(NETWORK_SOURCE)
    names_device = is_network | pl.col("source").str.starts_with("/")
    return (
        profile.mounts.filter(pl.col("object") == "file")
        .with_columns(pl.col("type", "source", "point").cast(pl.String).fill_null(""))
        .join(profile.processes.select("process", pl.col("host").cast(pl.String)), on="process")
        .with_columns(
            host=pl.when(is_network).then(pl.lit("")).otherwise(pl.col("host")),
            of_point=pl.when(names_device).then(pl.lit("")).otherwise(pl.col("point")),
        )
        .select("process", "mount", "point", *KEY)
    )


def shared_storage(moved: Mapping[str, pl.DataFrame]) -> pl.DataFrame | None:
    """The storage on which every job moved bytes: of several the one where the job that moved least there moved most.

    moved: job -> its `file_mounts` with the bytes moved on each (column bytes). Gives a frame of one row with the key's
    columns, or None.
    """
    by_job = [frame.group_by(KEY).agg(pl.col("bytes").sum()).filter(pl.col("bytes") > 0) for frame in moved.values()]
    each = (
        pl.concat(by_job)
        .group_by(KEY)
        .agg(pl.len().alias("jobs"), pl.col("bytes").min().alias("least"), pl.col("bytes").sum().alias("all"))
    )
    common = each.filter(pl.col("jobs") == len(moved)).sort(
        "least", "all", *KEY, descending=[True, True, False, False, False, False]
    )
    return None if common.is_empty() else common.head(1).select(KEY)


def describe(key: pl.DataFrame, moved: Mapping[str, pl.DataFrame]) -> Storage:
    """The storage of a key, with the mount point that most of the bytes went through."""
    type_, source, host, _ = key.row(0)
    points = (
        pl.concat([on_storage(frame, key) for frame in moved.values()]).group_by("point").agg(pl.col("bytes").sum())
    )
    return Storage(type_, source, host, points.sort("bytes", "point", descending=[True, False])["point"][0])


def on_storage(mounts: pl.DataFrame, key: pl.DataFrame) -> pl.DataFrame:
    """The rows of `file_mounts` that are the storage of a key."""
    return mounts.join(key, on=KEY, how="semi")


def use(job: str, moved: pl.DataFrame, key: pl.DataFrame | None) -> StorageUse:
    """What the job moved on the storage of a key (None: on all of them) and elsewhere."""
    total = int(moved["bytes"].sum())
    here = total if key is None else int(on_storage(moved, key)["bytes"].sum())
    return StorageUse(job, here, total - here, (total - here) / total if total else 0.0)


def busiest(moved: pl.DataFrame) -> str:
    """The file system that most of a job's bytes went to, as "on /scratch (lustre, mds1:/scratch)"."""
    points = moved.group_by("point", "type", "source").agg(pl.col("bytes").sum())
    point, type_, source, _ = points.sort("bytes", "point", descending=[True, False]).row(0)
    return f"on {point} ({type_}, {source})"
