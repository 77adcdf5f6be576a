"""Which counters of a node count what goes to a storage: its disk's, its NFS mounts', its Lustre targets'."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Literal

import polars as pl

from slicewise.digest.storages import lustre_name

Way = Literal["nfs", "lustre", "disk"]
# Signals of the digest's `node_slices`, by direction.
SIGNALS: Mapping[Way, Mapping[str, str]] = {
    "nfs": {"read": "nfs_read", "write": "nfs_written"},
    "lustre": {"read": "lustre_read", "write": "lustre_written"},
    "disk": {"read": "disk_read", "write": "disk_written"},
}
# The same of control groups with a limit.
LIMITS: Mapping[str, str] = {"read": "limit_read", "write": "limit_written"}
LIMIT_REQUESTS: Mapping[str, str] = {"read": "limit_reads", "write": "limit_writes"}
# As the collector names a disk that a control group uses: "sda in /user.slice".
BETWEEN = " in "
# A partition's name and its disk's: sda1, nvme0n1p2. The kernel counts and limits whole disks.
PARTITION = re.compile(r"^([a-z]+)\d+$|^(.*\d)p\d+$")
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
    """The devices that count a storage: what is counted once for all of a list's is in one list. rows: of
    `node_slices`, of the way's signals; points: where an NFS server is mounted.
    """
    if way == "nfs":
        return _mounts_counted_apart(rows, points)
    devices = rows["device"].unique().to_list()
    if way == "lustre":
        return [[target] for target in _lustre_targets(source, devices)]
    disk = PurePath(source).name
    return [[disk]] if disk in devices else []


def _mounts_counted_apart(rows: pl.DataFrame, points: Sequence[str]) -> list[list[str]]:
    """Mounts of one storage by what counts them: mounts that share a client show the same amounts."""
    groups: dict[tuple[tuple[str, int, float], ...], list[str]] = {}
    for point in points:
        its = rows.filter(pl.col("device") == point).sort("signal", "slice")
        if len(its):
            groups.setdefault(tuple(its.select("signal", "slice", "amount").iter_rows()), []).append(point)
    return list(groups.values())


def _lustre_targets(source: str, devices: Sequence[str]) -> list[str]:
    """Those of the devices that are a client's for the targets of a Lustre file system."""
    return sorted(device for device in devices if device.startswith(f"{lustre_name(source)}-OST"))


def limited(rows: pl.DataFrame, node: str, source: str) -> pl.DataFrame:
    """The rows of `node_slices` that count what control groups with a limit do on a local file system's disk."""
    if rows.is_empty() or way_of("", source) != "disk":
        return rows.clear()
    name = PurePath(source).name
    whole = PARTITION.match(name)
    disks = [name] + ([whole[1] or whole[2]] if whole else [])
    there = pl.col("device").str.split(BETWEEN).list.first().is_in(disks)
    return rows.filter(pl.col("kind") == "limit", pl.col("node") == node, there)
