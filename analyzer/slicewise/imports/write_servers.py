"""What a site has kept of its servers' counts as profiles of servers: one a file system and day (docs/format.md)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from slicewise import contract
from slicewise.constants import DAY_NS
from slicewise.contract import job_name
from slicewise.digest.storages import POOLS
from slicewise.errors import UserError
from slicewise.imports import write
from slicewise.imports.events import in_parts
from slicewise.imports.job import identity
from slicewise.imports.write import FrameWriter
from slicewise.profile.files import SUFFIX
from slicewise.profile.servers import COUNTS, read_servers

OF_SERVERS = ("server_runs", "server_targets", "server_jobs", "server_slices")
# The tables that every profile has are empty here.
WRITER = FrameWriter([*write.TABLES, *(table for table in contract.TABLES if table["name"] in OF_SERVERS)])
# Counts of a longer time than this, as of a job before the first reading, say nothing of a slice: they are left out.
LONGEST_NS = DAY_NS
ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class WrittenProfile:
    """A profile that was written. left_out: bytes that are of no slice."""

    path: Path
    storage: str
    jobs: int
    targets: int
    read_bytes: int
    write_bytes: int


def storage_of(target: str) -> str:
    """The file system that a target is of: lus of lus-OST0003, ceph of ceph/host; empty: a log without names."""
    if target.startswith("#"):
        return ""
    if target.partition("/")[0] in POOLS.values():
        return target.partition("/")[0]
    head, _, kind = target.rpartition("-")
    return head if head and kind[:3] in ("OST", "MDT") else target


def write_servers(
    served: pl.DataFrame, slice_ns: int, into: Path, source: str, unnamed: str = ""
) -> tuple[list[WrittenProfile], int]:
    """Write what servers counted (SERVED_SCHEMA), and give what was written, and how many bytes are of no slice.
    source: what it was read from; the same source replaces its own file. unnamed: the file system of targets that have
    no name. Raises UserError where nothing can be written.
    """
    is_known = pl.col("end_ns") - pl.col("begin_ns") <= LONGEST_NS
    storages = {target: storage_of(target) or unnamed for target in served["target"].unique()}
    rows = served.filter(is_known).with_columns(
        storage=pl.col("target").replace_strict(storages, return_dtype=pl.String),
    )
    left_out = int(served.remove(is_known).select(pl.sum_horizontal("read_bytes", "write_bytes").sum()).item())
    slices = in_slices(rows, slice_ns)
    day = pl.col("slice") * slice_ns // DAY_NS
    written = []
    for (storage, number), part in slices.group_by("storage", day.alias("day"), maintain_order=True):
        name = datetime.fromtimestamp(int(number) * 86400, timezone.utc).date().isoformat()
        written.append(_write(part, str(storage), name, slice_ns, into, source))
    return written, left_out


def in_slices(rows: pl.DataFrame, slice_ns: int) -> pl.DataFrame:
    """Rows by slice: storage, target, job, is_client, slice and COUNTS. Sums stay the same to the byte."""
    keys = ["storage", "target", "job", "is_client"]
    parts = [
        _cut(rows.slice(first, ROWS_AT_ONCE), slice_ns, keys) for first in range(0, max(rows.height, 1), ROWS_AT_ONCE)
    ]
    found = pl.concat(parts).group_by(*keys, "slice").agg(pl.col(COUNTS).sum())
    return found.filter(pl.any_horizontal(pl.col(COUNTS) > 0)).sort("storage", "slice", "target", "job")


def _cut(rows: pl.DataFrame, slice_ns: int, keys: Sequence[str]) -> pl.DataFrame:
    parts = in_parts(rows, slice_ns)
    spread = [pl.Series(name, parts.shared(rows[name])) for name in COUNTS]
    return rows.select(keys)[parts.row].with_columns(pl.Series("slice", parts.slice), *spread)


def _write(slices: pl.DataFrame, storage: str, day: str, slice_ns: int, into: Path, source: str) -> WrittenProfile:
    directory = into / job_name(f"servers.{storage or 'unnamed'}.{day}")
    code = hashlib.blake2b(os.fsencode(source), digest_size=4).hexdigest()
    path = directory / f"import-{code}{SUFFIX}"
    sums = [int(slices[name].sum()) for name in ("read_bytes", "write_bytes")]

    def check(aside: Path) -> None:
        found = read_servers([aside]).rows
        if [int(found[name].sum()) for name in ("read_bytes", "write_bytes")] != sums:
            raise UserError(f"{path}: what was written is not what was read; please report this")

    payloads = list(_payloads(slices, storage, slice_ns))
    frames = WRITER.frames(identity("servers", storage, day, code), payloads)
    write.write_aside(path, [WRITER.schema_frame, *frames], check)
    return WrittenProfile(path, storage, slices["job"].n_unique(), slices["target"].n_unique(), *sums)


def _payloads(slices: pl.DataFrame, storage: str, slice_ns: int) -> Iterator[bytes]:
    targets = slices["target"].unique(maintain_order=True)
    who = slices.select("job", "is_client").unique(maintain_order=True)
    of_lustre = all(storage_of(target) != target for target in targets)
    run: dict[str, list[Any]] = {
        "host": [""], "storage": [storage], "type": ["lustre" if of_lustre else ""], "slice_ns": [slice_ns],
        "start_ns": [int(slices["slice"].min()) * slice_ns],  # type: ignore[arg-type]
        "end_ns": [(int(slices["slice"].max()) + 1) * slice_ns],  # type: ignore[arg-type]
    }  # fmt: skip
    yield WRITER.chunk("server_runs", run)
    yield from WRITER.chunks("server_targets", {"target": np.arange(len(targets)), "name": targets.to_list()})
    is_client = who["is_client"].cast(pl.Int64).to_numpy()
    jobs = {"job": np.arange(who.height), "name": who["job"].to_list(), "is_client": is_client}
    yield from WRITER.chunks("server_jobs", jobs)
    numbered = slices.join(
        pl.DataFrame({"target": targets}).with_row_index("of_target"), on="target", maintain_order="left"
    ).join(who.with_row_index("of_job"), on=["job", "is_client"], maintain_order="left")
    columns = {"slice": "slice", "target": "of_target", "job": "of_job"} | {name: name for name in COUNTS}
    rows = {name: numbered[column].cast(pl.Int64).to_numpy() for name, column in columns.items()}
    yield from WRITER.chunks("server_slices", rows)
