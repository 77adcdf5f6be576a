"""Whether a job's calls asked anything of a disk: if not, nobody who used the disk made them take longer.

Digests in, answers out.
"""

import math

import polars as pl

from slicewise.analysis.blame.memory import PAGE_BYTES
from slicewise.analysis.blame.unprofiled import changing
from slicewise.analysis.runs.limits import bytes_fetched, limits_on, of_disk, synced_writes
from slicewise.analysis.runs.storage import Storage, busy_on, describe_all
from slicewise.constants import LITTLE_BYTES, TRIVIAL
from slicewise.digest.digest import Digest
from slicewise.digest.slices import TIMES
from slicewise.digest.storages import way_of
from slicewise.scalars import real


def asked_no_disk(storage: Storage, digest: Digest) -> bool:
    """Whether a local file system's disk had nothing to do for a job that made calls there: all that it read was in
    memory, but for pages that took next to no time; it changed no metadata; and what little it wrote it left to the
    page cache.
    """
    is_disk = bool(storage.host) and way_of(storage.type, storage.source) == "disk"
    if not is_disk or storage.type.startswith("fuse"):  # whose server reads for others
        return False
    fetched = bytes_fetched(digest)
    if fetched is None or synced_writes(digest, storage.number):
        return False
    its = digest.process_slices.filter(pl.col("storage") == storage.number)
    sums = its.select(pl.col("write_bytes", "sync_ops", "meta_ops").sum(), ns=pl.sum_horizontal(pl.col(*TIMES).sum()))
    wrote, syncs, calls, in_calls_ns = sums.row(0)
    if wrote >= LITTLE_BYTES or syncs or calls * changing(digest, wrote > calls):
        return False
    return not fetched or _seconds_of(fetched, storage, digest) <= TRIVIAL * in_calls_ns / 1e9


def _seconds_of(fetched: int, storage: Storage, digest: Digest) -> float:
    """For how long so many bytes held a job up at most, page by page, each as long as the disk's mean request in the
    slice in which these took longest; infinite where nobody counted them, or a group's limit may have let them wait.
    """
    signals = ("disk_request", "disk_reads", "disk_writes")
    rows = of_disk(storage, digest).filter(pl.col("signal").is_in(signals))
    if rows.is_empty() or not limits_on(storage, digest).is_empty():
        return math.inf
    seconds, *requests = (pl.col("amount").filter(pl.col("signal") == signal).sum() for signal in signals)
    each = rows.group_by("slice").agg(seconds=seconds / pl.sum_horizontal(requests))["seconds"]
    longest = each.filter(each.is_finite()).max()
    return math.inf if longest is None else fetched / PAGE_BYTES * real(longest)


def is_in_memory(digest: Digest) -> bool:
    """Whether that is so wherever it spent time in calls that is worth a word."""
    where = describe_all(busy_on(digest), [digest]) if bytes_fetched(digest) is not None else []
    return bool(where) and all(asked_no_disk(one, digest) for one in where)
