"""Whether a job's calls asked anything of a disk: if not, nobody who used the disk made them take longer.

Digests in, answers out.
"""

import polars as pl

from slicewise.analysis.blame.unprofiled import changing
from slicewise.analysis.runs.limits import bytes_fetched, synced_writes
from slicewise.analysis.runs.storage import Storage, busy_on, describe_all
from slicewise.constants import LITTLE_BYTES
from slicewise.digest.digest import Digest
from slicewise.digest.storages import way_of


def asked_no_disk(storage: Storage, digest: Digest) -> bool:
    """Whether a local file system's disk had nothing to do for a job that made calls there: all that it read was in
    memory, it changed no metadata, and what little it wrote it left to the page cache.
    """
    is_disk = bool(storage.host) and way_of(storage.type, storage.source) == "disk"
    if not is_disk or storage.type.startswith("fuse"):  # whose server reads for others
        return False
    if bytes_fetched(digest) != 0 or synced_writes(digest, storage.number):
        return False
    its = digest.process_slices.filter(pl.col("storage") == storage.number)
    wrote, syncs, calls = its.select(pl.col("write_bytes", "sync_ops", "meta_ops").sum()).row(0)
    return wrote < LITTLE_BYTES and not syncs and not calls * changing(digest, wrote > calls)


def is_in_memory(digest: Digest) -> bool:
    """Whether that is so wherever it spent time in calls that is worth a word."""
    where = describe_all(busy_on(digest), [digest]) if bytes_fetched(digest) == 0 else []
    return bool(where) and all(asked_no_disk(one, digest) for one in where)
