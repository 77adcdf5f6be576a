"""What a run did on one storage: who took part, how much, and how long; and slice by slice of all kinds of call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

import numpy as np
import polars as pl

from slicewise.analysis.calls import AMOUNTS, CALLS, KINDS, SECONDS, Kind, call_rows
from slicewise.analysis.job.io_span import IoSpan, io_span, span_of
from slicewise.analysis.runs.matching import Run
from slicewise.analysis.runs.rates import StandaloneRun, rate_alone
from slicewise.constants import LARGE_PART, LEAST_DIRECTION, MAINLY, NO_SECONDS, PAUSED
from slicewise.digest.activity import DIRECTIONS, Direction, activity, in_direction, members
from slicewise.digest.counters import served_slices
from slicewise.digest.digest import Digest
from slicewise.digest.processes import LEAST_SHARE_OF_TIME, known_nodes
from slicewise.digest.sampled import on_storages
from slicewise.digest.slices import BYTES, some_processes, synced_ns
from slicewise.estimate import Estimate
from slicewise.scalars import real

# The end of a process that still runs.
ENDLESS_NS = (1 << 63) - 1


@dataclass(frozen=True)
class RunOnStorage:
    """activity: on the run's own grid; processes: those that moved bytes there; span: None: it moved nothing."""

    run: Run
    processes: pl.DataFrame
    activity: pl.DataFrame
    span: IoSpan | None

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def nodes(self) -> int:
        return self.processes["node"].n_unique()

    @property
    def known_nodes(self) -> int | None:
        """How many nodes these processes ran on, to be told; None where that is not known (imported jobs)."""
        return len(known_nodes(self.processes)) or None

    @property
    def bytes(self) -> int:
        return int(self.activity["bytes"].sum())

    def rate(self) -> Estimate:
        """The run's bytes/s over its I/O time span. It must have moved bytes."""
        assert self.span is not None
        return rate_alone(self.activity, self.span, self.run.digest.slice_ns)

    def as_standalone(self) -> StandaloneRun:
        """The run as a standalone one. It must have moved bytes."""
        assert self.span is not None
        return StandaloneRun(self.name, self.bytes, self.span.seconds, self.rate())


def on_storage(run: Run, storage: int | None, direction: Direction) -> RunOnStorage:
    """A run on a storage (its number; None: on all of them)."""
    moved = activity(run.digest, direction, storage)
    processes, slice_ns = run.members.join(moved, on="process", how="semi"), run.digest.slice_ns
    # All of it where nobody lived (an imported job, a clock that was set).
    waited = _waited_for(moved, processes, _syncing(run.digest, storage), slice_ns)
    span = io_span(waited, run.digest.processes, slice_ns) or io_span(moved, processes, slice_ns)
    return RunOnStorage(run, processes, moved, span)


def whole_span(run: Run) -> IoSpan | None:
    """From the first to the last byte that a run moved in any direction that is not next to nothing; None: no byte."""
    rows, slice_ns = served_slices(run.digest), run.digest.slice_ns
    sums = rows.lazy().join(run.members.lazy(), on="process", how="semi").select(pl.col(BYTES).sum()).collect().row(0)
    used = [way for way, count in zip(DIRECTIONS, sums, strict=True) if count >= max(LEAST_DIRECTION * sum(sums), 1)]

    def parts() -> Iterator[pl.DataFrame]:  # so that memory does not grow with the job
        for part in some_processes(rows):
            own = part.join(run.members, on="process", how="semi")
            both = pl.concat(in_direction(own, way) for way in used)
            yield both.group_by("process", "slice").agg(pl.col("io_ns").sum(), pl.col("threads").max())

    syncing = _syncing(run.digest)
    lived = (_waited_for(part, run.members, syncing, slice_ns) for part in parts())
    everyone = run.digest.processes
    return (span_of(lived, everyone, slice_ns) or span_of(parts(), everyone, slice_ns)) if used else None


def _syncing(digest: Digest, storage: int | None = None) -> pl.DataFrame:
    """slice, process, io_ns: the process of the job that synced for longest in each slice, and for how long."""
    rows = digest.process_slices.lazy()
    rows = rows if storage is None else rows.filter(pl.col("storage") == storage)
    synced = rows.group_by("process", "slice").agg(io_ns=synced_ns().sum())
    longest = synced.filter(pl.col("io_ns") > 0).sort("io_ns", "process", descending=True)
    return longest.unique("slice", keep="first", maintain_order=True).select("slice", "process", "io_ns").collect()


def _waited_for(moved: pl.DataFrame, processes: pl.DataFrame, syncing: pl.DataFrame, slice_ns: int) -> pl.DataFrame:
    """Activity without slices that began when a process had ended. What is served then is of the process of the job
    that syncs meanwhile (of a `sync` after `cp`); without one nobody waits for it.
    """
    ended = processes.select("process", ended_ns=pl.col("end_ns").cast(pl.Int64))
    at = moved.join(ended, on="process", how="left", maintain_order="left")
    is_alive = (pl.col("slice") * slice_ns < pl.col("ended_ns")).fill_null(True)
    later = at.filter(~is_alive).drop("process", "io_ns").join(syncing, on="slice", maintain_order="left")
    return pl.concat([at.filter(is_alive), later.select(at.columns)]).drop("ended_ns")


def file_sharing(digest: Digest, direction: Direction, point: str) -> str:
    """Whether most bytes below the mount point are in files that several processes moved bytes of."""
    files = digest.files.join(members(digest), on="process", how="semi").filter(
        pl.col(f"{direction}_bytes") > 0, pl.col("path").str.starts_with(point)
    )
    by_path = files.group_by("path").agg(
        processes=pl.col("process").n_unique(), bytes=pl.col(f"{direction}_bytes").sum()
    )
    shared = by_path.filter(pl.col("processes") > 1)["bytes"].sum()
    return "shared file" if shared > MAINLY * float(by_path["bytes"].sum()) else "file per process"


@dataclass(frozen=True)
class AloneRun:
    """A job by itself on the storage. span: first and last I/O there, in ns; rows: by slice, of all processes.
    at_limit: by slice, how long what its control group read, and wrote, takes at the group's limits (s); None: none
    held it up. bytes_a_request: of that group there. is_sampled: of `sampled_there`.
    """

    digest: Digest
    processes: int
    nodes: int
    bytes: dict[Kind, int]
    calls: dict[Kind, int]
    span: tuple[int, int]
    rows: pl.DataFrame
    at_limit: Mapping[int, tuple[float, float]] | None = None
    bytes_a_request: float = 0.0
    is_sampled: bool = False

    @property
    def seconds(self) -> float:
        return (self.span[1] - self.span[0]) / 1e9

    @cached_property
    def in_requests(self) -> AloneRun:
        """The same with calls in place of bytes."""
        counted = self.rows.with_columns(pl.col(CALLS[kind]).alias(AMOUNTS[kind]) for kind in CALLS)
        return replace(self, bytes=self.calls, rows=counted)

    def most_buffered(self, served: Mapping[Kind, float]) -> float:
        """The time that the storage takes, at its mean rate, for the most that was not yet stored, as a part."""
        if "write" not in served:
            return 0.0
        tau = self.digest.slice_ns / 1e9
        left = most = 0.0
        last = None
        for slice_, moved in self.rows.select("slice", AMOUNTS["write"]).iter_rows():
            idle = 0 if last is None else slice_ - last - 1
            left = max(0.0, max(0.0, left - idle * tau) + moved / served["write"] - tau)
            most, last = max(most, left), slice_
        return most / max(self.seconds, NO_SECONDS)

    def stored(self) -> tuple[float, float]:
        """bytes/s stored while it wrote or waited for that, and by what part of that time memory was ahead at most."""
        tau = self.digest.slice_ns / 1e9
        rows = self.rows.filter(pl.col(SECONDS["write"]) >= PAUSED * tau)
        lengths = self.lengths(rows)
        moved, whole = rows[AMOUNTS["write"]].to_numpy().astype(float), float(lengths.sum())
        if not moved.sum() or whole <= 0:
            return 0.0, 0.0
        rate = float(moved.sum()) / whole
        return rate, max(0.0, float(np.max(np.cumsum(moved) / rate - np.cumsum(lengths)))) / whole

    def lengths(self, rows: pl.DataFrame) -> np.ndarray:
        """How much of each row's slice lies between its first and its last I/O (s)."""
        slice_ns = self.digest.slice_ns
        ends = rows["slice"].to_numpy()[:, None] * slice_ns + np.array([0, slice_ns])
        lengths: np.ndarray = np.diff(np.clip(ends, *self.span), axis=1).ravel() / 1e9
        return lengths

    def rates(self, kind: Kind) -> np.ndarray:
        """What it got of a kind in each slice with any (bytes/s, calls/s), over the part between its first and its last
        I/O. Slices of which only a small part is there are left out where others have more: such a part is an estimate.
        """
        rows = self.rows.filter(pl.col(AMOUNTS[kind]) > 0)
        if rows.is_empty():
            return np.empty(0)
        lengths = np.maximum(self.lengths(rows), NO_SECONDS)
        is_large = lengths >= LARGE_PART * lengths.max()
        rates: np.ndarray = rows[AMOUNTS[kind]].to_numpy()[is_large] / lengths[is_large]
        return rates

    def call_seconds(self, kind: Kind) -> float:
        """How long a call of a kind takes (s); 0 without any."""
        return float(self.rows[SECONDS[kind]].sum()) / self.calls[kind] if self.calls[kind] else 0.0

    def in_metadata(self) -> float:
        """The fraction of its time in calls that is of metadata."""
        seconds = {kind: float(self.rows[SECONDS[kind]].sum()) for kind in KINDS}
        return seconds["meta"] / sum(seconds.values()) if any(seconds.values()) else 0.0


def sampled_there(digest: Digest, storage: int) -> AloneRun | None:
    """A job on a storage of which no call shows what it did there, by the kernel's count of processes that could not be
    profiled. They are taken to wait for it while it serves them, at the highest rate that they got; no metadata call is
    known. None where they moved nothing there.
    """
    moved = on_storages(digest.sampled_slices, digest.sampled_storages).filter(pl.col("storage") == storage)
    if moved.is_empty():
        return None
    slice_ns, seconds = digest.slice_ns, max(digest.slice_ns, digest.node_slice_ns) / 1e9
    whole = pl.sum_horizontal(BYTES)
    rows = (
        moved.group_by(slice=pl.col("slice").cast(pl.Int64) * digest.node_slice_ns // slice_ns)
        .agg(pl.col(BYTES).sum())
        .sort("slice")
        .with_columns(in_calls=whole / whole.max() * seconds)
        .with_columns(
            *(pl.lit(0, pl.Int64).alias(name) for name in ("meta_ops", *CALLS.values())),
            *((pl.col("in_calls") * pl.col(f"{way}_bytes") / whole).alias(SECONDS[way]) for way in DIRECTIONS),
            meta_seconds=0.0,
        )
        .drop("in_calls")
    )
    who = digest.sampled_processes.join(moved, on=["process", "nth"], how="semi")
    first, last = rows["slice"][0] * slice_ns, (rows["slice"][-1] + 1) * slice_ns
    begin, end = (real(one) for one in who.select(pl.col("start_ns").min(), pl.col("end_ns").max()).row(0))
    sums = rows.select(pl.col(*BYTES).sum()).row(0, named=True)
    return AloneRun(
        digest,
        1,
        max(1, who["node"].n_unique()),
        {kind: int(sums.get(AMOUNTS[kind], 0)) for kind in KINDS},
        dict.fromkeys(KINDS, 0),
        (max(first, int(begin)), min(last, int(end)) if end > first else last),
        rows,
        is_sampled=True,
    )


def at_one_time(who: pl.DataFrame, rows: pl.DataFrame) -> int:
    """How many of these processes ran at one time at most: of a script's hundred, one after another, it is one that
    asks the storage. rows: their calls; who is in calls for next to nothing asks for nothing.
    """
    took = rows.group_by("process").agg(seconds=pl.sum_horizontal(SECONDS.values()).sum())
    busy = took.filter(pl.col("seconds") >= LEAST_SHARE_OF_TIME * pl.col("seconds").max())
    lives = who.join(busy, on="process", how="semi").select("start_ns", pl.col("end_ns").fill_null(ENDLESS_NS))
    events = [(begin, 1) for begin in lives["start_ns"]] + [(end, -1) for end in lives["end_ns"]]
    return max(1, *accumulate(step for _, step in sorted(events))) if events else 1


def run_there(digest: Digest, storage: int) -> AloneRun | None:
    """A job on a storage; None where it moved nothing there."""
    syncing, slice_ns = _syncing(digest, storage), digest.slice_ns
    moved = [activity(digest, way, storage) for way in DIRECTIONS]
    waited = [_waited_for(one, digest.processes, syncing, slice_ns) for one in moved]
    spans = [io_span(one, digest.processes, slice_ns) for one in waited]
    there = [span for span in spans if span is not None] or [
        span for one in moved if (span := io_span(one, digest.processes, slice_ns)) is not None
    ]
    if not there:
        return None
    rows = call_rows(digest, digest.slice_ns).filter(pl.col("storage") == storage)
    who = digest.processes.join(rows, on="process", how="semi")
    sums = rows.select(pl.col(*AMOUNTS.values(), *CALLS.values()).sum()).row(0, named=True)
    return AloneRun(
        digest,
        at_one_time(who, rows),
        max(1, who["node"].n_unique()),
        {kind: int(sums[AMOUNTS[kind]]) for kind in KINDS},
        {kind: int(sums[CALLS.get(kind, AMOUNTS[kind])]) for kind in KINDS},
        (min(span.start_ns for span in there), max(span.end_ns for span in there)),
        rows.group_by("slice").agg(pl.col(*AMOUNTS.values(), *CALLS.values(), *SECONDS.values()).sum()).sort("slice"),
    )
