"""What processes fetched by mapped files (mmap), and how long they waited for it: a page fault is no call.

The kernel says how many bytes it fetched from storage for a process, in sum. Its node's counters of the storage say in
which slices; and what of such a slice the process neither computed, nor was in calls, nor was ready to run, it waited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise.constants import LITTLE_BYTES, WORTH_NAMING_BYTES
from slicewise.digest.coverage import TYPES_IN_MEMORY
from slicewise.digest.schema import FRAMES
from slicewise.digest.served import LEAST_COUNTED, LEAST_OF_MEAN, amounts_on_grid, counters_in
from slicewise.digest.slices import REQUEST_TIMES, TIMES
from slicewise.kept_once import kept_once

if TYPE_CHECKING:
    from slicewise.digest.digest import Digest

Floats = npt.NDArray[np.float64]
# Page faults that read from storage: a cold start of a program and its libraries makes fewer (of Python 60 to 150).
# Readers in order make as few for more bytes: the kernel reads ahead.
MANY_FAULTS = 200


def fetched_frame(digest: Digest, mapped: pl.DataFrame) -> pl.DataFrame:
    """The digest's frame `fetched`. mapped: process, storage, mapped_bytes, where files of storages were mapped.

    Nothing is said of a process for which the kernel fetched little beyond its calls, or more than it mapped; nor where
    no counter of its node shows when.
    """
    rows = [_of_process(digest, *one) for one in _who_fetched(digest, mapped).iter_rows()]
    return pl.concat([pl.DataFrame(schema=FRAMES["fetched"].polars_schema), *rows]).sort("process", "storage", "slice")


def _who_fetched(digest: Digest, mapped: pl.DataFrame) -> pl.DataFrame:
    """process, node, storage, and the bytes that were fetched there beyond calls; shared out by what was mapped."""
    more = pl.col("read_storage") - pl.col("read_seen")
    of_all = pl.col("mapped_bytes").sum().over("process")
    faults = digest.usage.group_by("process").agg(pl.col("major_faults").sum())
    found = (
        digest.coverage.select("process", more=more)
        .join(faults, on="process")
        .filter(
            pl.col("more")
            >= pl.when(pl.col("major_faults") >= MANY_FAULTS).then(LITTLE_BYTES).otherwise(WORTH_NAMING_BYTES)
        )
        .join(mapped, on="process")
        .filter(of_all >= LEAST_COUNTED * pl.col("more"))
        .with_columns(more=pl.col("more") * (pl.col("mapped_bytes") / of_all))
        .filter(pl.col("more") >= LITTLE_BYTES)
    )
    nodes = digest.processes.filter("is_of_job").select("process", "node")
    return found.join(nodes, on="process").select("process", "node", "storage", "more").sort("process", "storage")


def _of_process(digest: Digest, process: int, node: str, storage: int, more: float) -> pl.DataFrame:
    """The frame's rows of a process and a storage."""
    slice_ns = digest.slice_ns
    its = digest.processes.row(by_predicate=pl.col("process") == process, named=True)
    first = its["start_ns"] // slice_ns
    begins = np.arange(first, (its["end_ns"] - 1) // slice_ns + 1) * slice_ns
    lives = np.clip(its["end_ns"] - begins, 0, slice_ns) - np.clip(its["start_ns"] - begins, 0, slice_ns)
    busy, faults = _looks(digest, process, begins, slice_ns)
    idle = np.clip(lives - busy - _in_calls(digest, process, first, len(begins)), 0.0, None)
    counted = _counted(digest, node, storage, first, len(begins)) * (faults > 0) * (idle > 0)
    if not counted.sum() >= LEAST_COUNTED * more:
        return pl.DataFrame(schema=FRAMES["fetched"].polars_schema)
    fetched = counted * (more / counted.sum())
    fetched[fetched < LEAST_OF_MEAN * fetched[fetched > 0].mean()] = 0.0
    slices = np.flatnonzero(fetched)
    return pl.DataFrame(
        {
            "process": np.full(len(slices), process, np.uint64),
            "storage": np.full(len(slices), storage, np.uint64),
            "slice": slices + first,
            "fetched_bytes": np.rint(fetched[slices]),
            "faults": np.rint(fetched[slices] * (faults.sum() / fetched.sum())),
            "waited_ns": np.rint(idle[slices]),
        },
        schema_overrides=FRAMES["fetched"].polars_schema,
    ).cast(FRAMES["fetched"].polars_schema)


def _looks(digest: Digest, process: int, begins: npt.NDArray[np.int64], slice_ns: int) -> tuple[Floats, Floats]:
    """By slice: ns in which the process computed or was ready to, and page faults that read from storage. From one look
    to the next they are evenly spread.
    """
    busy, faults = np.zeros(len(begins)), np.zeros(len(begins))
    for look in digest.usage.filter(pl.col("process") == process).iter_rows(named=True):
        begin, lasted = look["slice"] * slice_ns + look["late_ns"], max(1, look["sampled_ns"])
        part = (np.clip(begin + lasted - begins, 0, slice_ns) - np.clip(begin - begins, 0, slice_ns)) / lasted
        busy += part * (look["user_ns"] + look["system_ns"] + (look["delayed_ns"] or 0))
        faults += part * look["major_faults"]
    return busy, faults


def _in_calls(digest: Digest, process: int, first: int, length: int) -> Floats:
    """ns in calls on files, in requests and in calls of MPI by slice."""
    own = pl.col("process") == process
    calls = digest.process_slices.filter(own).select("slice", ns=pl.sum_horizontal(*TIMES, *REQUEST_TIMES))
    messages = digest.communication.filter(own).select("slice", pl.col("ns").cast(pl.Int64))
    return _laid_out(pl.concat([calls, messages]), "ns", first, length)


def _laid_out(rows: pl.DataFrame, name: str, first: int, length: int) -> Floats:
    its = rows.filter(pl.col("slice").is_between(first, first + length - 1))
    places = (its["slice"] - first).to_numpy()
    return np.asarray(np.bincount(places, its[name].cast(pl.Float64).to_numpy(), length), np.float64)


@kept_once
def _counted(digest: Digest, node: str, storage: int, first: int, length: int) -> Floats:
    """By slice, what the node read from a storage beyond the job's calls there."""
    found = np.zeros(length)
    for counter, of_storage, amounts, _ in counters_in(digest, "read"):
        if of_storage == storage and counter.partition("\0")[0] == node:
            on_grid = amounts_on_grid(amounts, digest.node_slice_ns, digest.slice_ns)
            found = np.maximum(found, _laid_out(on_grid, "sent", first, length))
    there = digest.processes.filter(pl.col("node") == node)
    read = digest.process_slices.filter(pl.col("storage") == storage).join(there, on="process", how="semi")
    return np.clip(found - _laid_out(read, "read_bytes", first, length), 0.0, None)


def is_stored() -> pl.Expr:
    """Whether what is mapped of a mount's files is fetched from a storage."""
    return ~pl.col("type").is_in(TYPES_IN_MEMORY)
