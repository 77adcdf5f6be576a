"""What processes fetched by mapped files (mmap), and how long they waited for it: a page fault is no call. The kernel
says how many bytes in sum, the node's counters of the storage in which slices, or, of a node that nobody sampled, the
page faults. Where no fault was one that reads, the kernel read ahead of all, and the collector saw threads sleep. A
process waited for pages in what is left of such a slice without its computing, its calls and its waits for a processor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise.constants import LITTLE_BYTES, SECOND_NS, WORTH_NAMING_BYTES
from slicewise.digest.counters import SEPARATOR, amounts_on_grid, counters_in
from slicewise.digest.schema import FRAMES
from slicewise.digest.served import LEAST_COUNTED, LEAST_OF_MEAN
from slicewise.digest.slices import REQUEST_TIMES, TIMES
from slicewise.kept_once import kept_once

if TYPE_CHECKING:
    from slicewise.digest.digest import Digest

Floats = npt.NDArray[np.float64]
# Page faults that read from storage: a cold start of a program and its libraries makes fewer (of Python 60 to 150).
# Readers in order make as few for more bytes: the kernel reads ahead.
MANY_FAULTS = 200
# Whoever slept for longer for each page fault slept for something else. Alone faults took 2.4 ms, and beside a
# neighbour on a disk with a limit of 400 requests a second 5.9 ms.
LONGEST_FAULT_NS = 20_000_000


def fetched_frame(digest: Digest, mapped: pl.DataFrame) -> pl.DataFrame:
    """The digest's frame `fetched`. mapped: process, storage, mapped_bytes, where files of storages were mapped.
    Nothing is said of a process for which the kernel fetched little beyond its calls, or more than it mapped; nor where
    its node was sampled and no counter shows when.
    """
    who = who_fetched(digest, mapped)
    if who.is_empty():
        return pl.DataFrame(schema=FRAMES["fetched"].polars_schema)
    looks, in_calls = (_by_process(frame, who) for frame in (digest.usage, _in_calls(digest)))
    rows = [
        _of_process(
            digest,
            process,
            looks[process],
            in_calls.get(process),
            _counted(digest, node, storage),
            storage,
            more,
            part,
        )
        for process, node, storage, more, part in who.iter_rows()
    ]
    return pl.concat([pl.DataFrame(schema=FRAMES["fetched"].polars_schema), *rows]).sort("process", "storage", "slice")


def may_have_fetched(digest: Digest) -> bool:
    """Whether any process may have fetched by mapped files, as far as can be said without its page faults."""
    if digest.mapped.is_empty():
        return False
    mapped = digest.mapped.group_by("process").agg(pl.col("mapped_bytes").sum())
    found = digest.coverage.select("process", more=_beyond_calls()).filter(pl.col("more") >= LITTLE_BYTES)
    both = found.join(mapped, on="process")
    return not both.filter(pl.col("mapped_bytes") >= LEAST_COUNTED * pl.col("more")).is_empty()


def unplaced_bytes(digest: Digest) -> int:
    """The bytes that the kernel fetched from storages for a job, and that neither its calls nor the frame `fetched`
    have in any slice: read ahead, or mapped. 0 where the kernel's count was not kept.
    """
    if "coverage" in digest.not_kept:
        return 0
    placed = int(digest.fetched["fetched_bytes"].sum())
    of_files = digest.mounts.group_by("process").agg(of_files=pl.col("read_bytes").sum())
    each = digest.coverage.select("process", more=_beyond_calls()).join(of_files, on="process", how="left")
    # What a process had from a cache another one fetched, perhaps; what it had from a pipe, no storage.
    more = pl.max_horizontal("more", -pl.col("of_files").fill_null(0))
    return max(0, int(each.select(more.sum()).item() or 0) - placed)


def _beyond_calls() -> pl.Expr:
    """Of rows of the digest's frame `coverage`."""
    counted = pl.sum_horizontal("read_seen", "read_requested")
    return pl.col("read_storage").cast(pl.Int64) - counted.cast(pl.Int64)


def who_fetched(digest: Digest, mapped: pl.DataFrame) -> pl.DataFrame:
    """process, node, storage, and more: bytes that were fetched there beyond calls; shared out by what was mapped.
    part: of all that was fetched so for the process.
    """
    of_all = pl.col("mapped_bytes").sum().over("process")
    faults = digest.usage.group_by("process").agg(pl.col("major_faults").sum())
    found = (
        digest.coverage.select("process", more=_beyond_calls())
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
    known = found.join(nodes, on="process").with_columns(part=pl.col("more") / pl.col("more").sum().over("process"))
    return known.select("process", "node", "storage", "more", "part").sort("process", "storage")


def _by_process(frame: pl.DataFrame, who: pl.DataFrame) -> dict[int, pl.DataFrame]:
    its = frame.join(who, on="process", how="semi").partition_by("process", as_dict=True)
    return {int(process): rows for (process,), rows in its.items()}


def _of_process(
    digest: Digest, process: int, looks: pl.DataFrame, calls: pl.DataFrame | None, counted: pl.DataFrame, storage: int,
    more: float, part: float,
) -> pl.DataFrame:  # fmt: skip
    """The frame's rows of a process and a storage. looks: of `usage`; calls: `_in_calls`; counted: `_counted`; part: of
    `who_fetched`.
    """
    slice_ns = digest.slice_ns
    its = digest.processes.row(by_predicate=pl.col("process") == process, named=True)
    first = its["start_ns"] // slice_ns
    begins = np.arange(first, (its["end_ns"] - 1) // slice_ns + 1) * slice_ns
    lives = np.clip(its["end_ns"] - begins, 0, slice_ns) - np.clip(its["start_ns"] - begins, 0, slice_ns)
    busy, faults = _looks(looks, begins, slice_ns)
    spent = np.zeros(len(begins)) if calls is None else _laid_out(calls, "ns", first, len(begins))
    idle = np.clip(lives - busy - spent, 0.0, None)
    read = _laid_out(counted, "sent", first, len(begins))
    if digest.node_slices.is_empty():
        is_waiting = faults.sum() >= max(MANY_FAULTS, idle[faults > 0].sum() / LONGEST_FAULT_NS)
        read = faults * (more / max(1.0, faults.sum())) * is_waiting  # one page costs as much as the next, about
    if faults.sum() < MANY_FAULTS and spent.sum() > idle.sum():
        # The kernel read ahead of calls, which waited for it: that time is theirs, and hardly a fault found no page.
        idle = np.zeros(len(begins))
        read = read * (spent > 0)
    else:
        found = read * (faults > 0) * (idle > 0)
        if not found.sum() >= LEAST_COUNTED * more:
            # Whoever goes through a file in order meets pages that are being read already: such a fault is a minor one.
            idle = np.minimum(idle, _laid_out(_slept(digest, its["node"]), "ns", first, len(begins)))
            found = read * (idle > 0)
        read = found
    if not read.sum() >= LEAST_COUNTED * more:
        return pl.DataFrame(schema=FRAMES["fetched"].polars_schema)
    fetched = read * (more / read.sum())
    fetched[fetched < LEAST_OF_MEAN * fetched[fetched > 0].mean()] = 0.0
    slices = np.flatnonzero(fetched)
    its_part = part if digest.node_slices.is_empty() else 1.0  # no counter tells storages apart
    return pl.DataFrame(
        {
            "process": np.full(len(slices), process, np.uint64),
            "storage": np.full(len(slices), storage, np.uint64),
            "slice": slices + first,
            "fetched_bytes": np.rint(fetched[slices]),
            "faults": np.rint(fetched[slices] * (its_part * faults.sum() / fetched.sum())),
            "waited_ns": np.rint(its_part * idle[slices]),
        },
        schema_overrides=FRAMES["fetched"].polars_schema,
    ).cast(FRAMES["fetched"].polars_schema)


def _looks(looks: pl.DataFrame, begins: npt.NDArray[np.int64], slice_ns: int) -> tuple[Floats, Floats]:
    """By slice, evenly between looks: ns of computing or being ready to, and page faults that read from storage."""
    busy, faults = np.zeros(len(begins)), np.zeros(len(begins))
    for look in looks.iter_rows(named=True):
        begin, lasted = look["slice"] * slice_ns + look["late_ns"], max(1, look["sampled_ns"])
        part = (np.clip(begin + lasted - begins, 0, slice_ns) - np.clip(begin - begins, 0, slice_ns)) / lasted
        busy += part * (look["user_ns"] + look["system_ns"] + (look["delayed_ns"] or 0))
        faults += part * look["major_faults"]
    return busy, faults


def _in_calls(digest: Digest) -> pl.DataFrame:
    """process, slice, ns in calls on files, in requests and in calls of MPI."""
    in_calls = pl.sum_horizontal(*TIMES, *REQUEST_TIMES).cast(pl.Int64)
    calls = digest.process_slices.select("process", "slice", ns=in_calls)
    return pl.concat([calls, digest.communication.select("process", "slice", pl.col("ns").cast(pl.Int64))])


def _laid_out(rows: pl.DataFrame, name: str, first: int, length: int) -> Floats:
    its = rows.filter(pl.col("slice").is_between(first, first + length - 1))
    places = (its["slice"] - first).to_numpy()
    return np.asarray(np.bincount(places, its[name].cast(pl.Float64).to_numpy(), length), np.float64)


@kept_once
def _slept(digest: Digest, node: str) -> pl.DataFrame:
    """slice, ns: for how long threads of the job slept in the node's kernel beyond its calls, as the collector saw."""
    waits = digest.node_slices.filter(pl.col("signal") == "waiting", pl.col("node") == node)
    amounts = waits.group_by("slice").agg(sent=pl.col("amount").sum())
    slept = amounts_on_grid(amounts, digest.node_slice_ns, digest.slice_ns)
    there = digest.processes.filter(pl.col("node") == node).select("process")
    in_calls = _in_calls(digest).join(there, on="process", how="semi").group_by("slice").agg(pl.col("ns").sum())
    both = slept.join(in_calls, on="slice", how="left").sort("slice")
    return both.select("slice", ns=(pl.col("sent") * SECOND_NS - pl.col("ns").fill_null(0)).clip(0.0))


@kept_once
def _counted(digest: Digest, node: str, storage: int) -> pl.DataFrame:
    """slice, sent: what the node read from a storage beyond the job's calls there."""
    nothing = pl.DataFrame(schema={"slice": pl.Int64, "sent": pl.Float64})
    found = [
        amounts_on_grid(amounts, digest.node_slice_ns, digest.slice_ns).select("slice", pl.col("sent").cast(pl.Float64))
        for counter, of_storage, amounts, _ in counters_in(digest, "read")
        if of_storage == storage and counter.partition(SEPARATOR)[0] == node
    ]
    there = digest.processes.filter(pl.col("node") == node)
    own = digest.process_slices.filter(pl.col("storage") == storage).join(there, on="process", how="semi")
    read = own.group_by("slice").agg(pl.col("read_bytes").sum())
    most = pl.concat([nothing, *found]).group_by("slice").agg(pl.col("sent").max())
    both = most.join(read, on="slice", how="left").sort("slice")
    return both.select("slice", sent=(pl.col("sent") - pl.col("read_bytes").fill_null(0)).clip(0.0))
