"""Which file systems there are, and which mounts of different processes, nodes and jobs are one and the same."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Literal

import polars as pl

from slicewise.scalars import number_of

# File systems whose source names the same storage on every node, even where it does not look like server:/path.
NETWORK_TYPES = (
    "nfs", "nfs4", "lustre", "gpfs", "beegfs", "beegfs_nodev", "ceph", "cifs", "smb3", "pvfs2", "panfs", "wekafs",
    "afs", "9p", "virtiofs", "ocfs2", "gfs2", "fuse.glusterfs", "fuse.ceph-fuse", "fuse.sshfs", "fuse.juicefs",
    "fuse.dfuse", "fuse.daos", "fuse.cvmfs2", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone",
)  # fmt: skip
# Clients of these sleep without being interruptible (state D) until a server answers, as whoever waits for a local disk
# does. Lustre's and FUSE's sleep otherwise, and CephFS's sometimes.
UNINTERRUPTIBLE_TYPES = ("nfs", "nfs4", "cifs", "smb3", "9p")
NETWORK_SOURCE = r"^[^/].*:/|^//[^/]"
# What is served by servers each of which is a file system by itself: an NFS mount's source names an export of it, a
# CIFS mount's a share. The options of both have its address.
SERVERS = {"nfs": "nfs", "nfs4": "nfs", "cifs": "cifs", "smb3": "cifs"}
# What is served by many servers together, each of which may be the one that a mount names, or none.
POOLS = {
    "fuse.glusterfs": "glusterfs", "ceph": "ceph", "fuse.ceph": "ceph", "fuse.ceph-fuse": "ceph", "beegfs": "beegfs",
    "beegfs_nodev": "beegfs", "pvfs2": "pvfs2",
}  # fmt: skip
# All mounts of BeeGFS have one source. Which file system one is, its options say: by its management server or the file
# that names it, which most nodes have here.
BEEGFS, BEEGFS_SOURCE, BEEGFS_FILE = "beegfs", "beegfs_nodev", "/etc/beegfs/beegfs-client.conf"
KEY = ("type", "source", "node", "of_point")


def mounts_with_storage(mounts: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """The file systems among a profile's mounts: process, mount, point, storage and the columns of KEY. mounts:
    process, mount, object, type, source, point, and address if the profile has it. nodes: process, node. A network file
    system is one storage on every node (`contended`); any other is one a node. A volume's source is the disk beneath.
    Where the source names no device, as a tmpfs's does not, the mount point is part of what tells storages apart
    (of_point).
    """
    is_network = pl.col("type").is_in(NETWORK_TYPES) | pl.col("source").str.contains(NETWORK_SOURCE)
    names_device = is_network | pl.col("source").str.starts_with("/")
    if "address" not in mounts.columns:
        mounts = mounts.with_columns(address=pl.lit(""))
    is_volume = pl.col("source").str.starts_with("/dev/") & (pl.col("address") != "") & ~is_network
    files = (
        mounts.filter(pl.col("object") == "file")
        .with_columns(pl.col("type", "source", "point", "address").cast(pl.String).fill_null(""))
        .with_columns(
            source=pl.when(is_volume).then(pl.format("/dev/{}", "address")).otherwise("source"),
            kind=pl.when(is_volume).then(pl.lit("disk")).otherwise("type"),
        )
        .join(nodes.select("process", "node"), on="process")
        .with_columns(
            node=pl.when(is_network).then(pl.lit("")).otherwise("node"),
            of_point=pl.when(names_device).then(pl.lit("")).otherwise("point"),
            # A server has names and aliases, and mounts of it have its address.
            server=pl.when(pl.col("type").is_in(list(SERVERS)) & (pl.col("address") != ""))
            .then(pl.format("{}:/", "address"))
            .when((pl.col("type") == BEEGFS) & ~pl.col("address").is_in(["", BEEGFS_FILE]))
            .then("address")
            .otherwise("source"),
        )
    )
    told_by = ["kind", "server", "node", "of_point"]
    keys = files.select(told_by).unique()
    numbers = pl.Series("storage", [storage_number(*contended(*key)) for key in keys.iter_rows()], pl.UInt64)
    return files.join(keys.with_columns(numbers), on=told_by).select("process", "mount", "point", "storage", *KEY)


def contended(type: str, source: str, node: str, of_point: str) -> tuple[str, str, str, str]:
    """A file system by what jobs contend for there: a server whichever of its exports, a Lustre or Ceph as a whole, a
    disk whichever of its partitions.
    """
    kind = SERVERS.get(type)
    if kind is not None and (source.startswith("//") or ":/" in source):
        server = source[2:].partition("/")[0] if source.startswith("//") else source.rpartition(":/")[0]
        return kind, server.lower(), node, of_point
    if type == "lustre" and ":/" in source:
        return type, lustre_name(source), node, of_point
    if way_of(type, source) == "disk" and disk_of(source) != source:
        return "disk", disk_of(source), node, of_point
    if type == "ceph":  # USER@CLUSTER.NAME=/DIRECTORY, or MONITORS:/DIRECTORY
        source = source.partition("/")[0].rpartition("@")[2].rstrip("=:")
    return POOLS.get(type, type), source, node, of_point


def lustre_name(source: str) -> str:
    """The name of a Lustre file system, with which those of its targets begin. source: SERVERS:/NAME[/DIRECTORY]."""
    return source.rpartition(":/")[2].split("/")[0]


def busiest_points(mounts: pl.DataFrame, storages: pl.DataFrame, of: Sequence[str] = ()) -> pl.DataFrame:
    """The storages (of each job, where columns `of` tell jobs apart), with the point where most bytes went through.
    mounts: the digest's frame, and `of`. storages: of `mounts_with_storage`.
    """
    what = storages.select("process", "storage", "point", "type", "source", "node").unique()
    points = (
        mounts.join(what, on=["process", "storage", "point"])
        .group_by(*of, "storage", "type", "source", "node", "point")
        .agg(bytes=(pl.col("read_bytes") + pl.col("write_bytes")).sum())
    )
    order = [False] * len(of) + [False, True, False]
    busiest = points.sort(*of, "storage", "bytes", "point", descending=order)
    return busiest.unique([*of, "storage"], keep="first", maintain_order=True).sort(*of, "storage")


def storage_number(type: str, source: str, node: str, of_point: str) -> int:
    """The number of a storage: the same in every profile, on every machine and in every version."""
    return number_of("\0".join((type, source, node, of_point)))


Way = Literal["nfs", "lustre", "disk"]
# Signals of the digest's `node_slices`, by direction.
SIGNALS: Mapping[Way, Mapping[str, str]] = {
    "nfs": {"read": "nfs_read", "write": "nfs_written"},
    "lustre": {"read": "lustre_read", "write": "lustre_written"},
    "disk": {"read": "disk_read", "write": "disk_written"},
}
DISK_REQUESTS: Mapping[str, str] = {"read": "disk_reads", "write": "disk_writes"}
# The same of control groups with a limit.
LIMITS: Mapping[str, str] = {"read": "limit_read", "write": "limit_written"}
LIMIT_REQUESTS: Mapping[str, str] = {"read": "limit_reads", "write": "limit_writes"}
# As the collector names a disk that a control group uses: "sda in /user.slice".
BETWEEN = " in "
# A partition's name and its disk's: sda1, nvme0n1p2. The kernel counts and limits whole disks.
PARTITION = re.compile(r"^((?:s|v|xv|h)d[a-z]+)\d+$|^((?:nvme\d+n|mmcblk|loop|nbd|md)\d+)p\d+$")
# Of the bytes of a job's calls: with less in a group's count the job did its I/O elsewhere, or (cgroup v1) through the
# page cache, which writes for nobody's group.
MOSTLY_IN_GROUP = 0.7
WRITTEN = tuple(signals["write"] for signals in SIGNALS.values())


def way_of(type: str, source: str) -> Way | None:
    """What counts a file system on the nodes that mount it; None: nothing does."""
    if type.startswith("nfs"):
        return "nfs"
    if type == "lustre":
        return "lustre"
    return "disk" if source.startswith("/dev/") else None


def devices_of(way: Way, source: str, rows: pl.DataFrame, points: Sequence[str]) -> list[list[str]]:
    """The devices that count a storage, those in one list that are counted once. points: of an NFS server."""
    if way == "nfs":  # mounts that share a client show the same amounts
        groups: dict[tuple[tuple[str, int, float], ...], list[str]] = {}
        for point in points:
            its = rows.filter(pl.col("device") == point).sort("signal", "slice")
            if len(its):
                groups.setdefault(tuple(its.select("signal", "slice", "amount").iter_rows()), []).append(point)
        return list(groups.values())
    devices = rows["device"].unique().to_list()
    if way == "lustre":
        return [[one] for one in sorted(devices) if one.startswith(f"{lustre_name(source)}-OST")]
    return [[disk] for disk in (PurePath(source).name, PurePath(disk_of(source)).name) if disk in devices][:1]


def disk_of(source: str) -> str:
    """The disk that a local file system's device is, or is a partition of."""
    device = PurePath(source)
    whole = PARTITION.match(device.name)
    return str(device.with_name(whole[1] or whole[2])) if whole else source


def limited(rows: pl.DataFrame, node: str, source: str) -> pl.DataFrame:
    """The rows of `node_slices` that count what control groups with a limit do on a local file system's disk."""
    if rows.is_empty() or way_of("", source) != "disk":
        return rows.clear()
    disks = [PurePath(source).name, PurePath(disk_of(source)).name]
    there = pl.col("device").str.split(BETWEEN).list.first().is_in(disks)
    return rows.filter(pl.col("kind") == "limit", pl.col("node") == node, there)
