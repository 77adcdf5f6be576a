"""Whether a job's bytes met the storage or only the page cache: what was moved to and from the device or the network
against what the application read and wrote.

Digest in, dataclasses out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.analysis.blame.unprofiled import counted_rows, counter_of
from slicewise.analysis.runs.storage import Storage
from slicewise.digest.activity import DIRECTIONS, Direction, members
from slicewise.digest.coverage import TYPES_IN_MEMORY
from slicewise.digest.digest import Digest
from slicewise.digest.storages import NETWORK_TYPES

# Below this share of its bytes a job is said to have worked in the page cache.
LEAST_REACHED = 0.5
MOST_REACHED = 1.5
# A direction with less of the job's bytes is not looked at.
LEAST_SHARE = 0.05
# So much of what was written must be of processes that synced, to take it for stored.
MOST_SYNCED = 0.9


@dataclass(frozen=True)
class Reached:
    """One direction. bytes: the application's. reached: those that the device or network moved (None: not counted).
    is_cached: None where nothing tells. how: why, as the end of a sentence.
    """

    direction: Direction
    bytes: int
    reached: int | None
    is_cached: bool | None
    how: str

    @property
    def share(self) -> float | None:
        return None if self.reached is None or not self.bytes else min(1.0, self.reached / self.bytes)


def is_cached(found: Sequence[Reached]) -> bool | None:
    """Whether most of a job's bytes stayed in the page cache; None where too little is known."""
    total = sum(one.bytes for one in found)
    if not total:
        return False
    in_cache = sum(one.bytes for one in found if one.is_cached)
    unknown = sum(one.bytes for one in found if one.is_cached is None)
    if in_cache >= LEAST_REACHED * total:
        return True
    return None if in_cache + unknown >= LEAST_REACHED * total else False


def cached_share(found: Sequence[Reached]) -> float:
    """The share of a job's bytes that are known not to have met the storage."""
    total = sum(one.bytes for one in found)
    return sum(one.bytes * (1 - (one.share or 0.0)) for one in found if one.is_cached) / total if total else 0.0


def reached(digest: Digest, storage: Storage, moved: dict[Direction, int]) -> list[Reached]:
    """Each direction that matters. moved: the job's bytes on the storage."""
    total = sum(moved.values())
    return [_one(digest, storage, way, moved[way]) for way in DIRECTIONS if moved[way] > LEAST_SHARE * total]


def _one(digest: Digest, storage: Storage, way: Direction, moved: int) -> Reached:
    if storage.type in TYPES_IN_MEMORY:
        return Reached(way, moved, 0, True, f"{storage.point} is {storage.type}, which lies in memory")
    counted = _counted(digest, storage, way)
    if counted is not None:
        amount, what = counted
        # A counter that shows far more is others', too, and says nothing of this job.
        if amount <= MOST_REACHED * moved:
            return Reached(way, moved, amount, amount < LEAST_REACHED * moved, f"counted at {what}")
    own = digest.coverage.join(members(digest), on="process", how="semi")
    kernel = int(own[f"{way}_storage"].sum())
    is_local = storage.type not in NETWORK_TYPES
    if way == "read":
        if is_local or kernel:
            return Reached(way, moved, kernel, kernel < LEAST_REACHED * moved, "by the kernel's count of its processes")
        return Reached(way, moved, None, None, f"nobody counted what came from {storage.source}")
    synced = _synced_share(digest, storage)
    if synced >= MOST_SYNCED:
        return Reached(way, moved, None, False, "its processes synced what they wrote")
    if is_local and kernel < LEAST_REACHED * moved:
        return Reached(way, moved, kernel, True, "by the kernel's count of its processes")
    # The kernel counts a write when it is put into the page cache: that does not tell whether it left it.
    by_whom = f"{counted[1]} stored mostly bytes of others" if counted else "nobody counted what the device stored"
    why = f"it did not sync what it wrote, and {by_whom}"
    return Reached(way, moved, None, None, why)


def _counted(digest: Digest, storage: Storage, way: Direction) -> tuple[int, str] | None:
    counter = counter_of(storage, digest)
    if counter is None:
        return None
    job = digest.jobs.row(0, named=True)
    grid_ns = digest.slice_ns
    rows = counted_rows(counter, digest, grid_ns).filter(
        pl.col("slice").is_between(job["start_ns"] // grid_ns, job["end_ns"] // grid_ns)
    )
    return int(rows[f"{way}_bytes"].sum()), counter.what


def _synced_share(digest: Digest, storage: Storage) -> float:
    """The share of the bytes written that is of processes that synced in the slice of their last write, or later."""
    rows = (
        digest.process_slices.lazy()
        .filter(pl.col("storage") == storage.number)
        .join(members(digest).lazy(), on="process", how="semi")
        .group_by("process")
        .agg(
            pl.col("write_bytes").sum(),
            wrote=pl.col("slice").filter(pl.col("write_bytes") > 0).max(),
            synced=pl.col("slice").filter(pl.col("sync_ops") > 0).max(),
        )
        .collect()
    )
    total = int(rows["write_bytes"].sum())
    stored = int(rows.filter(pl.col("synced") >= pl.col("wrote"))["write_bytes"].sum())
    return stored / total if total else 0.0
