"""One job's transfer sizes: what it uses where, what that costs it, and whose code the calls come from."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.analysis.job.io_time import busiest_files
from slicewise.analysis.job.sites import Sites, sites
from slicewise.analysis.size.cost import SizeCost, size_cost
from slicewise.analysis.size.points import SizeCurve
from slicewise.analysis.size.profiles import Accesses
from slicewise.digest.digest import Digest

MOST_FILES = 20
ATTRIBUTE = "lustre.lov"
# lov_user_md: magic, pattern, object id (16 bytes), stripe size, stripe count. A composite layout has such ones within.
PLAIN = (0x0BD10BD0, 0x0BD30BD0, 0x0BD50BD0)
COMPOSITE = 0x0BD60BD0
HEAD = struct.Struct("<II16sIH")
# lov_comp_md_v1: entries begin at byte 32, each of 48 bytes with its layout's place in bytes 24 to 32.
ENTRY_COUNT, ENTRIES_AT, PLACE_AT = 14, 32, 24


@dataclass(frozen=True)
class SiteSize:
    """A call site: its stack (a number of `Sites.stacks`), direction, seconds in calls, calls, the mean size of these,
    and its share of the time in all sites of its direction. Estimates from samples.
    """

    stack: int
    direction: str
    seconds: float
    calls: float
    mean_size: float
    share: float


@dataclass(frozen=True)
class JobSizes:
    """A job's sizes. costs: by file system and direction, most seconds first. sites: where in the program the calls
    are; site_sizes: those of reads and writes, most calls' seconds first. stripes: of its files on Lustre.
    """

    digest: Digest
    costs: Sequence[SizeCost]
    sites: Sites
    site_sizes: Sequence[SiteSize]
    stripes: Sequence[Stripes]

    @property
    def saved(self) -> list[SizeCost]:
        """What is claimed to be saved."""
        return [cost for cost in self.costs if cost.is_claimed]


def job_sizes(digest: Digest, accesses: Sequence[Accesses], curves: Sequence[SizeCurve]) -> JobSizes:
    """What the job's sizes cost it. curves: of whatever was measured at other sizes."""
    found = sites(digest)
    costs = [size_cost(each, curves) for each in accesses]
    directions = {each.direction for each in accesses}
    of_directions = [site for site in site_sizes(digest, found) if site.direction in directions]
    return JobSizes(digest, costs, found, of_directions, _stripes(digest, accesses))


def site_sizes(digest: Digest, found: Sites) -> list[SiteSize]:
    """The call sites of reads and writes, those with most time first."""
    summed = found.samples.group_by("stack", "operation").agg(pl.col("seconds", "bytes", "calls").sum())
    kinds = {name: digest.kind_of_operation(name) for name in summed["operation"].unique()}
    all_seconds = {
        kind: sum(row["seconds"] for row in summed.to_dicts() if kinds[row["operation"]] == kind)
        for kind in ("read", "write")
    }
    rows = [
        SiteSize(
            row["stack"],
            kinds[row["operation"]],
            row["seconds"],
            row["calls"],
            row["bytes"] / row["calls"],
            row["seconds"] / all_seconds[kinds[row["operation"]]],
        )
        for row in summed.to_dicts()
        if kinds[row["operation"]] in all_seconds and row["calls"] > 0 and row["seconds"] > 0
    ]
    return sorted(rows, key=lambda site: (-site.seconds, site.stack))


def _stripes(digest: Digest, accesses: Sequence[Accesses]) -> list[Stripes]:
    """The stripes of the busiest files on Lustre, as far as these are still there."""
    points = [each.curve.mount for each in accesses if each.storage_type == "lustre"]
    if not points:
        return []
    paths = [path for path in busiest_files(digest, MOST_FILES)["path"] if path.startswith(tuple(points))]
    return [stripes for stripes in map(stripes_of, paths) if stripes is not None]


@dataclass(frozen=True)
class Stripes:
    """How one file is laid out: of a composite layout, its first component. size in bytes; count: of objects."""

    path: str
    size: int
    count: int


def stripes_of(path: str) -> Stripes | None:
    """The layout of a file; None where it is not on Lustre, is gone, or has no layout."""
    try:
        layout = os.getxattr(path, ATTRIBUTE)
    except (OSError, ValueError):
        return None
    return parsed(path, layout)


def parsed(path: str, layout: bytes) -> Stripes | None:
    """The attribute's bytes as what they say; None for what is no layout."""
    try:
        (magic,) = struct.unpack_from("<I", layout)
        at = 0
        if magic == COMPOSITE:
            if struct.unpack_from("<H", layout, ENTRY_COUNT)[0] == 0:
                return None
            (at,) = struct.unpack_from("<I", layout, ENTRIES_AT + PLACE_AT)
        magic, _, _, size, count = HEAD.unpack_from(layout, at)
    except struct.error:
        return None
    return Stripes(path, size, count) if magic in PLAIN and size > 0 else None
