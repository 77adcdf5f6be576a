"""What a run did on one storage: who took part, how much, and how long; and slice by slice of all kinds of call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

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
from slicewise.digest.processes import known_nodes
from slicewise.digest.slices import BYTES, some_processes
from slicewise.estimate import Estimate


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
    span = io_span(_while_alive(moved, processes, slice_ns), processes, slice_ns) or io_span(moved, processes, slice_ns)
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

    lived = (_while_alive(part, run.members, slice_ns) for part in parts())
    return (span_of(lived, run.members, slice_ns) or span_of(parts(), run.members, slice_ns)) if used else None


def _while_alive(moved: pl.DataFrame, processes: pl.DataFrame, slice_ns: int) -> pl.DataFrame:
    """Activity without slices that began when a process had ended: what it never synced is served then, and nobody
    waits for it.
    """
    ended = processes.select("process", ended_ns=pl.col("end_ns").cast(pl.Int64))
    is_alive = (pl.col("slice") * slice_ns < pl.col("ended_ns")).fill_null(True)
    return moved.join(ended, on="process", how="left", maintain_order="left").filter(is_alive).drop("ended_ns")


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
    at_limit: by slice, how long what its control group did takes at the group's limit (s); None: none held it up.
    """

    digest: Digest
    processes: int
    nodes: int
    bytes: dict[Kind, int]
    calls: dict[Kind, int]
    span: tuple[int, int]
    rows: pl.DataFrame
    at_limit: Mapping[int, float] | None = None

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


def run_there(digest: Digest, storage: int) -> AloneRun | None:
    """A job on a storage; None where it moved nothing there."""
    spans = [io_span(activity(digest, way, storage), digest.processes, digest.slice_ns) for way in DIRECTIONS]
    there = [span for span in spans if span is not None]
    if not there:
        return None
    rows = call_rows(digest, digest.slice_ns).filter(pl.col("storage") == storage)
    who = digest.processes.join(rows, on="process", how="semi")
    sums = rows.select(pl.col(*AMOUNTS.values(), *CALLS.values()).sum()).row(0, named=True)
    return AloneRun(
        digest,
        max(1, len(who)),
        max(1, who["node"].n_unique()),
        {kind: int(sums[AMOUNTS[kind]]) for kind in KINDS},
        {kind: int(sums[CALLS.get(kind, AMOUNTS[kind])]) for kind in KINDS},
        (min(span.start_ns for span in there), max(span.end_ns for span in there)),
        rows.group_by("slice").agg(pl.col(*AMOUNTS.values(), *CALLS.values(), *SECONDS.values()).sum()).sort("slice"),
    )
