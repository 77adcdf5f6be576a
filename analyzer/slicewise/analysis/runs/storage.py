"""Which storage jobs have in common, and what each of them moved there and elsewhere."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.constants import SECOND_NS, TRIVIAL
from slicewise.digest.activity import DIRECTIONS, Direction, bytes_by_storage, runtime_of
from slicewise.digest.digest import Digest
from slicewise.digest.sampled import on_storages
from slicewise.digest.slices import BYTES, REQUEST_TIMES, TIMES
from slicewise.errors import UserError


@dataclass(frozen=True)
class Storage:
    """One file system. number: the digest's; host: empty for a network file system; point: where it is mounted."""

    number: int
    type: str
    source: str
    host: str
    point: str


@dataclass(frozen=True)
class StorageUse:
    """What a job moved on the storage under analysis and elsewhere, in bytes; elsewhere_share: 0 to 1."""

    job: str
    bytes: int
    elsewhere_bytes: int
    elsewhere_share: float


def busy_on(digest: Digest) -> list[int]:
    """The storages that a job spent a part of its time in calls on that is worth a word, and of its runtime, or fetched
    mapped files of: what it did in less, such as loading its program, made it no slower.
    """
    took = digest.process_slices.group_by("storage").agg(ns=pl.sum_horizontal(pl.col(*TIMES, *REQUEST_TIMES).sum()))
    least = pl.max_horizontal(TRIVIAL * pl.col("ns").sum(), TRIVIAL * runtime_of(digest) * SECOND_NS)
    busy = took.filter(pl.col("ns") >= least)["storage"]
    return sorted({*busy, *digest.fetched["storage"]})


def moved_by(digest: Digest) -> pl.DataFrame:
    """storage, bytes: what a job read and wrote."""
    both = pl.concat([bytes_by_storage(digest, way) for way in DIRECTIONS])
    return both.group_by("storage").agg(pl.col("bytes").sum())


def _moved_at_all(digest: Digest) -> pl.DataFrame:
    """The same with what the kernel moved for processes that could not be profiled."""
    if digest.sampled_storages.is_empty():
        return moved_by(digest)
    unseen = on_storages(digest.sampled_slices, digest.sampled_storages)
    both = pl.concat([moved_by(digest), unseen.select("storage", bytes=pl.sum_horizontal(BYTES))])
    return both.group_by("storage").agg(pl.col("bytes").sum())


def storage_of(digests: Sequence[Digest], so: str) -> int:
    """The storage that all jobs use, by bytes of both directions: one on which all of them waited, if there is any, and
    not where programs have their libraries from. Raises UserError without one, and says so why.
    """
    moved = [_moved_at_all(digest) for digest in digests]
    busy = [{*busy_on(digest), *digest.sampled_storages["storage"]} for digest in digests]
    on_busy = [own.filter(pl.col("storage").is_in(list(where))) for own, where in zip(moved, busy, strict=True)]
    found = next((one for each in (on_busy, moved) if (one := shared_storage(each)) is not None), None)
    if found is None:
        raise UserError(f"these jobs moved bytes on no common file system, so {so}")
    return found


def busier_direction(digests: Sequence[Digest], storage: int | None = None) -> Direction:
    """The direction in which jobs moved most bytes on a storage (None: on all); of equal ones reading."""
    where = pl.lit(True) if storage is None else pl.col("storage") == storage

    def moved(way: Direction) -> int:
        return sum(int(bytes_by_storage(digest, way).filter(where)["bytes"].sum()) for digest in digests)

    return max(DIRECTIONS, key=moved)


def shared_storage(moved: Collection[pl.DataFrame], least_share: float = 0.0) -> int | None:
    """The storage on which every job moved bytes. If there are several, the one where the smallest job moved most.
    moved: of each job, storage, bytes (see `bytes_by_storage`). least_share: one on which a job moved less than this
    part of what it moved on its busiest is not counted. None where there is no such storage.
    """
    each = (
        pl.concat(own.filter(pl.col("bytes") >= least_share * pl.col("bytes").max()) for own in moved)
        .group_by("storage")
        .agg(pl.len().alias("jobs"), pl.col("bytes").min().alias("least"), pl.col("bytes").sum().alias("all"))
    )
    common = each.filter(pl.col("jobs") == len(moved)).sort("least", "all", "storage", descending=[True, True, False])
    return None if common.is_empty() else int(common["storage"][0])


def most_used(moved: Collection[pl.DataFrame]) -> tuple[int, int]:
    """The storage that most jobs moved bytes on, then with most bytes; and how many jobs these are."""
    each = pl.concat(moved).group_by("storage").agg(pl.len().alias("jobs"), pl.col("bytes").sum())
    storage, jobs, _ = each.sort("jobs", "bytes", "storage", descending=[True, True, False]).row(0)
    return storage, jobs


def apart_from_most(moved: Mapping[str, pl.DataFrame]) -> tuple[int, list[str]] | None:
    """The storage that most jobs moved bytes on, and those that moved none there, where most did."""
    storage, jobs = most_used(moved.values())
    if 2 * jobs <= len(moved):
        return None
    return storage, [name for name, own in moved.items() if storage not in own["storage"]]


def describe(storage: int, digests: Sequence[Digest]) -> Storage:
    """What a storage is, and where it is mounted: where most bytes of all jobs went through."""
    return describe_all([storage], digests)[0]


def describe_all(storages: Sequence[int], digests: Sequence[Digest]) -> list[Storage]:
    """The same of several, in order. Jobs that servers counted have a name that stands for their mounts."""
    asked = pl.col("storage").is_in(list(storages))
    known = pl.concat([digest.storages for digest in digests]).filter(asked).unique("storage", keep="first")
    points = (
        pl.concat([digest.mounts.with_columns(is_served=pl.lit(digest.is_served)) for digest in digests])
        .filter(asked)
        .group_by("storage", "point")
        .agg(pl.col("is_served").all(), bytes=(pl.col("read_bytes") + pl.col("write_bytes")).sum())
        .sort("is_served", "bytes", "point", descending=[False, True, False])
        .unique("storage", keep="first", maintain_order=True)
    )
    rows = known.drop("point").join(points, on="storage").select("storage", "type", "source", "node", "point")
    found = {row[0]: Storage(*row) for row in rows.iter_rows()}
    return [found[storage] for storage in storages]


def use(job: str, moved: pl.DataFrame, storage: int | None) -> StorageUse:
    """What the job moved on a storage (None: on all of them) and elsewhere; moved: see `bytes_by_storage`."""
    total = int(moved["bytes"].sum())
    here = total if storage is None else int(moved.filter(pl.col("storage") == storage)["bytes"].sum())
    return StorageUse(job, here, total - here, (total - here) / total if total else 0.0)


def busiest(digest: Digest, moved: pl.DataFrame) -> str:
    """The file system that most of a job's bytes went to, as "on /scratch (lustre, mds1:/scratch)"."""
    found = describe(int(moved["storage"][0]), [digest])
    return f"on {found.point} ({found.type}, {found.source})"
