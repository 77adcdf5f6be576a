"""Seconds in calls and amounts by process, storage and slice: the rows that blame starts from."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise.constants import WAITING_SHARE
from slicewise.digest.activity import members
from slicewise.digest.counters import counters_of
from slicewise.digest.digest import Digest
from slicewise.digest.served import BY_CALLS, Counters, served_writes
from slicewise.digest.shared import frames_of
from slicewise.digest.slices import FETCHED, synced_ns, with_mapped
from slicewise.equal_rows import begins_of_equal_rows, is_ordered

Kind = Literal["read", "write", "meta"]
KINDS: tuple[Kind, ...] = ("read", "write", "meta")
# What each kind of call moves, or does.
AMOUNTS: dict[Kind, str] = {"read": "read_bytes", "write": "write_bytes", "meta": "meta_ops"}
SECONDS: dict[Kind, str] = {kind: f"{kind}_seconds" for kind in KINDS}

# How many calls, of the kinds whose calls differ in size.
CALLS: dict[Kind, str] = {"read": "read_ops", "write": "write_ops"}
# Of the bytes written, those that a cache had taken before they were served.
CACHED = "cached_bytes"
# Bytes that calls wrote, whenever the storage served them.
WRITTEN = "written_bytes"
COUNTS = (*AMOUNTS.values(), *CALLS.values(), CACHED, WRITTEN)

SECONDS_A_NS = 1 / 1e9

# Functions that count among metadata calls, and ask no storage for anything.
SEEKS = ("lseek", "fseek", "seekdir")

# Of the rows of calls.
ORDER = ("process", "storage", "slice")

UNCOUNTED = Counters()


def call_rows(digest: Digest, grid_ns: int) -> pl.DataFrame:
    """What each of a job's processes that matter did: process, storage, slice, and for each kind the columns of SECONDS
    (s, f64) and AMOUNTS, and CALLS (i64), CACHED and WRITTEN. A write is not there before it is synced, so the time of
    syncs is that of writes. Requests count as the time that they were under way, and waiting for them as none besides.
    Where threads were in calls at the same time, their times in a slice are divided by the least number of threads that
    can have spent them: the seconds over the slice's length, and at a burst's ends, which are parts of slices, that of
    the slice beside it. So what one thread spent counts in full, and what eight spent side by side counts once.
    Each slice has its own number: a second thread in one slice leaves the others as they are. Bytes written are those
    that the storage served (`digest.served`).
    """
    together = [digest, *(one for one in digest.beside if not grid_ns % one.slice_ns)]
    known = counters_of(together, grid_ns)
    some = together if len(known.sent) else [digest]
    rows = pl.concat([_on_grid(_did([one]), one.slice_ns, grid_ns) for one in some])
    return _calls(rows, members(digest), grid_ns, known).sort("storage", "slice", "process").rechunk()


def shares_of_seeks(digests: Sequence[Digest]) -> list[float]:
    """The part of each job's metadata calls that only move a position."""
    is_seek = pl.col("operation").is_in(list(SEEKS))
    seeks = frames_of(digests, "calls").group_by("place").agg(pl.col("calls").filter(is_seek).sum())
    asked = frames_of(digests, "processes").group_by("place").agg(pl.col("meta_ops").sum())
    found = {place: (calls, ops) for place, calls, ops in seeks.join(asked, on="place").iter_rows()}
    return [min(1.0, calls / max(1, ops)) for calls, ops in (found.get(place, (0, 1)) for place in range(len(digests)))]


def _did(digests: Sequence[Digest]) -> pl.LazyFrame:
    did, fetched = (frames_of(digests, name).drop("place") for name in ("process_slices", "fetched"))
    return with_mapped(did, fetched).lazy()


def _on_grid(rows: pl.LazyFrame, slice_ns: int, grid_ns: int) -> pl.LazyFrame:
    """Rows of process_slices in slices of the grid, with ns in calls by kind."""
    counts = (*AMOUNTS.values(), *CALLS.values())
    own = rows.with_columns(read_bytes=pl.coalesce(FETCHED, "read_bytes")).select(
        "process", "storage", "slice", *counts,
        read=pl.col("read_ns") + pl.col("read_request_ns"),
        write=pl.col("write_ns") + pl.col("write_request_ns"),
        meta=pl.col("meta_ns"),
        sync=synced_ns(),
        sync_ops="sync_ops",
    )  # fmt: skip
    if grid_ns == slice_ns:
        return own
    place = ("process", "storage", pl.col("slice") // (grid_ns // slice_ns))
    return own.group_by(place).agg(pl.col(*counts, *KINDS, "sync", "sync_ops").sum())


def _calls(rows: pl.LazyFrame, processes: pl.DataFrame, grid_ns: int, known: Counters) -> pl.DataFrame:
    if known.sent.is_empty():
        rows = rows.join(processes.lazy().select("process"), on="process", how="semi", maintain_order="left")
    found = rows.collect()
    # In this order, so that sums are the same to the last byte, whichever other jobs are there. A catalog has it.
    ordered = found if is_ordered(found, ORDER) else found.sort(*ORDER)
    ordered = served_writes(ordered, known)
    if len(known.sent):
        ordered = ordered.fill_null(0).join(processes, on="process", how="semi", maintain_order="left")
    ordered = ordered.with_columns(
        write=pl.col("write") + pl.col("sync"),
        write_bytes="served",
        write_ops="served_ops",
        written_bytes="write_bytes",
        cached_bytes=pl.when(pl.col("how") == BY_CALLS).then(0).otherwise("served"),
    )
    # Not by polars, which rounds a quotient by a constant otherwise where a row is alone in its chunk.
    ordered = ordered.select(
        *ORDER,
        *(pl.Series(SECONDS[kind], ordered[kind].to_numpy() * SECONDS_A_NS) for kind in KINDS),
        *COUNTS,
    )
    seconds = pl.col(SECONDS.values())
    threads = _threads(ordered, grid_ns)
    return ordered.select(
        *ORDER,
        seconds if threads is None else seconds / threads,
        *COUNTS,
    )


def _threads(ordered: pl.DataFrame, grid_ns: int) -> pl.Series | None:
    """The least number of threads that can have spent the time of each row's process; None where each had one. A
    process of which even the longest slices on all storages, added up, fit into one slice needs no closer look.
    """
    if ordered.is_empty():
        return None
    process, storage = ordered["process"].to_numpy(), ordered["storage"].to_numpy()
    seconds = np.add.reduce([ordered[name].to_numpy() for name in SECONDS.values()])
    starts = begins_of_equal_rows(process, storage)
    longest = np.add.reduceat(np.maximum.reduceat(seconds, starts), begins_of_equal_rows(process[starts]))
    of_process = begins_of_equal_rows(process)
    is_close = longest > grid_ns / 1e9
    if not is_close.any():
        return None
    close = ordered.filter(np.repeat(is_close, np.diff(of_process, append=len(process))))
    of_slices = (
        close.group_by("process", "slice", maintain_order=True)
        .agg(threads=pl.sum_horizontal(SECONDS.values()).sum() / (grid_ns / 1e9))
        .filter(pl.col("threads") >= WAITING_SHARE)
        .sort("process", "slice")
    )
    if not (of_slices["threads"] > 1).any():
        return None
    at, many = pl.col("slice"), pl.col("threads")

    def is_beside(step: int) -> pl.Expr:
        return (at - at.shift(step) == step).over("process").fill_null(False)

    ends = [pl.when(is_beside(-step) & ~is_beside(step)).then(many.shift(-step).over("process")) for step in (1, -1)]
    threads = of_slices.select("process", "slice", threads=pl.max_horizontal(many, *ends, 1.0))
    found = ordered.select("process", "slice").join(threads, on=["process", "slice"], how="left", maintain_order="left")
    return found["threads"].fill_null(1.0)


def job_rows(digests: Sequence[Digest], grid_ns: int, nodes: Sequence[str] | None = None) -> pl.DataFrame:
    """What jobs did, all of their processes together: job, storage, slice and the columns of SECONDS and AMOUNTS.
    nodes: only processes on these; None: all.
    """
    there = pl.lit(True) if nodes is None else pl.col("node").is_in(nodes)
    if not digests:
        return named_rows([], [], pl.DataFrame(schema=OF_JOBS))
    processes = frames_of(digests, "processes").filter(there).select("process", "place")
    if len(digests) > 1 and processes["process"].is_duplicated().any():  # a profile is given twice, by two names
        return pl.concat(job_rows([digest], grid_ns, nodes) for digest in digests)
    by_slice: dict[int, list[Digest]] = {}
    for digest in digests:
        by_slice.setdefault(digest.slice_ns, []).append(digest)
    lazy = {length: _did(some) for length, some in by_slice.items()}
    rows = by_job(calls_of_processes(lazy, processes, grid_ns, counters_of(digests, grid_ns)))
    found = rows["place"].rle()
    places, lengths = found.struct.field("value").to_list(), found.struct.field("len").to_list()
    return named_rows([digests[place].job for place in places], lengths, rows.drop("place"))


OF_JOBS = {"storage": pl.UInt64, "slice": pl.Int64} | dict.fromkeys(SECONDS.values(), pl.Float64) | dict.fromkeys(
    AMOUNTS.values(), pl.Int64
)  # fmt: skip


def calls_of_processes(
    rows: Mapping[int, pl.LazyFrame], processes: pl.DataFrame, grid_ns: int, known: Counters = UNCOUNTED
) -> pl.DataFrame:
    """`call_rows` of many jobs in one pass, with place (the job's number), in order of process, storage and slice.
    rows: process_slices with what mapped files fetched, by the length of a slice in ns. processes: process, place; a
    process is of one job.
    """
    placed = [_on_grid(some, slice_ns, grid_ns) for slice_ns, some in rows.items()]
    calls = _calls(pl.concat(placed), processes, grid_ns, known)
    return calls.join(processes, on="process", maintain_order="left")


def by_job(calls: pl.DataFrame) -> pl.DataFrame:
    """`calls_of_processes` added up: place, storage, slice, SECONDS, AMOUNTS."""
    by, values = ("place", "storage", "slice"), (*SECONDS.values(), *AMOUNTS.values())
    if calls.is_empty():
        return calls.select(*by, *values)
    order, begins = _ordered_by_job(*(calls[name].to_numpy() for name in by))
    sums = {name: pl.Series(np.add.reduceat(calls[name].to_numpy()[order], begins)) for name in values}
    return calls.select(by)[order[begins]].with_columns(**sums)


def _ordered_by_job(
    place: npt.NDArray[np.uint32], storage: npt.NDArray[np.uint64], slices: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The order of rows by all three, rows that are equal in these as they came, and where each sum begins in it. One
    number stands for the three, and a storage is looked up once for each run of its rows: to sort by three columns
    takes four times as long.
    """
    starts = begins_of_equal_rows(place, storage)
    names, of_run = np.unique(storage[starts], return_inverse=True)
    first = int(slices.min())
    span = int(slices.max()) - first + 1
    of_runs = (place[starts].astype(np.int64) * len(names) + of_run) * span
    number = np.repeat(of_runs, np.diff(starts, append=len(place))) + (slices - first)
    # Short numbers are counted, and not compared.
    order = np.argsort(number.astype(np.uint16) if int(number.max()) < 1 << 16 else number, kind="stable")
    return order, begins_of_equal_rows(number[order])


def named_rows(jobs: Sequence[str], lengths: Sequence[int], rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of `job_rows` from jobs' names, how many rows each has, and their other columns."""
    names = pl.Series("job", list(jobs), pl.String).gather(np.repeat(np.arange(len(jobs)), lengths))
    return rows.select(names, *OF_JOBS)


class Rows:
    """What jobs did, from their digests. Whoever has it at hand for many jobs gives it without their frames."""

    def others(self, digest: Digest, neighbours: Sequence[Digest]) -> list[Digest]:
        """The neighbours without the job itself, which may lie among them."""
        own = frames_of(neighbours, "processes").join(digest.processes, on="process", how="semi")
        itself = set(own["place"])
        return [other for place, other in enumerate(neighbours) if place not in itself]

    def of(self, digests: Sequence[Digest], grid_ns: int) -> pl.DataFrame:
        """As `job_rows`."""
        return job_rows(digests, grid_ns)


def slice_rows(calls: pl.DataFrame) -> pl.DataFrame:
    """The job as a whole: storage, slice, the columns of SECONDS (of the mean process: divided by all that made any
    call) and of COUNTS (of all), and at_work (processes in calls).
    """
    count = max(1, calls["process"].n_unique())
    return (
        calls.group_by("storage", "slice", maintain_order=True)
        .agg(
            pl.col(SECONDS.values()).sum() / count,
            pl.col(COUNTS).sum(),
            at_work=(pl.sum_horizontal(SECONDS.values()) > 0).sum(),
        )
        .sort("storage", "slice")
    )


def process_seconds(calls: pl.DataFrame) -> pl.DataFrame:
    """process, seconds: in calls on all storages."""
    return (
        calls.group_by("process", maintain_order=True)
        .agg(seconds=pl.sum_horizontal(SECONDS.values()).sum())
        .sort("seconds", "process", descending=[True, False])
    )
