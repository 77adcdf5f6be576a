"""Where a job lies in the plane of bandwidth and metadata rate, and in the box of what to expect.

Digests in, frozen dataclasses out. A job's point, in the units of IO500:

- bandwidth = bytes / data time (GiB/s), metadata rate = metadata operations / metadata time (kIOPS). Each time is
  added up over slices, in each that of the process with most of it: seconds in calls, of several threads their mean.
- An operation is what mdtest counts as one: a file opened and closed again is one, so closes are left out, and so are
  seeks; their time is not. The rate over the wall time stands beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl

from slicewise.analysis.blame.case import Case
from slicewise.analysis.blame.result import Blame
from slicewise.analysis.calls import SEEKS
from slicewise.analysis.expect.expectation import (
    AXES,
    Aspect,
    Axis,
    Box,
    Boxes,
    Expectation,
    Point,
    Reached,
    hull,
    is_cached,
    merged,
    reached,
)
from slicewise.analysis.job.job_calls import CLOSES
from slicewise.analysis.job.period import runs_above
from slicewise.analysis.runs.storage import Storage, describe
from slicewise.constants import LEAST_OF_JOB, LEAST_OF_RATE, ONE_DIRECTION
from slicewise.digest.activity import members
from slicewise.digest.digest import Digest
from slicewise.digest.layers import MPIIO_LAYERS
from slicewise.digest.slices import REQUEST_TIMES, TIMES
from slicewise.errors import UserError
from slicewise.io500.results import UNKNOWN_API
from slicewise.io500.texts import HDF5

GIB = 1 << 30
# Where profiles explain less of a storage's traffic, somebody else was active.
MOST_COVERED = 0.8
# Functions by what they do (names of schema/operations.def).
OPENS = ("open", "openat", "creat", "fopen", "freopen")
# Of a row of `process_slices`: ns in calls and requests of all kinds.
SPENT = pl.sum_horizontal(*TIMES, *REQUEST_TIMES)


@dataclass(frozen=True)
class PlacedWork:
    """What was done in some time (s on the clock); data_seconds, metadata_seconds: of the slices' busiest process."""

    seconds: float
    read_bytes: int
    write_bytes: int
    operations: float
    data_seconds: float
    metadata_seconds: float

    @property
    def bytes(self) -> int:
        return self.read_bytes + self.write_bytes

    @property
    def bandwidth(self) -> float:
        """GiB/s over the data time."""
        return self.bytes / GIB / self.data_seconds if self.data_seconds > 0 else 0.0

    @property
    def metadata(self) -> float:
        """kIOPS over the metadata time."""
        return self.operations / 1e3 / self.metadata_seconds if self.metadata_seconds > 0 else 0.0

    @property
    def metadata_per_wall(self) -> float:
        """kIOPS over the wall time."""
        return self.operations / 1e3 / self.seconds if self.seconds > 0 else 0.0

    @property
    def point(self) -> Point:
        return self.bandwidth, self.metadata

    @property
    def judged(self) -> list[Axis]:
        """The axes that took enough of the I/O time to tell anything."""
        total = self.data_seconds + self.metadata_seconds
        times = (self.data_seconds, self.metadata_seconds)
        return [axis for axis, time in zip(AXES, times, strict=True) if total > 0 and time >= LEAST_OF_JOB * total]


@dataclass(frozen=True)
class Position:
    """Where work lies in boxes. is_inside: on the axes that are judged. sides: by judged axis, "below" (worse than any
    hard phase), "above" (better than any easy one) or "within" the range. share_of_easy: the time that the same work
    would take at the easy rates, over the time that it took. held_back: the axis on which most of that time was lost.
    """

    kind: Aspect
    is_inside: bool
    sides: dict[Axis, str]
    share_of_easy: float | None
    held_back: Axis | None


@dataclass(frozen=True)
class Placed:
    """A job in its box. phase, phase_position: of its busiest phase (None: it did no I/O). direction: its position in
    the box of its one direction, if it has one. measured: when the newest run of the box began.
    """

    job: str
    processes: int
    storage: Storage
    whole: PlacedWork
    phase: PlacedWork | None
    api: str
    boxes: Boxes
    position: Position
    phase_position: Position | None
    direction: Position | None
    opens: int
    read_ops: int
    write_ops: int
    cache: list[Reached]
    start: datetime
    measured: datetime | None
    neighbours: list[str]
    blame: Blame

    @property
    def is_cached(self) -> bool | None:
        return is_cached(self.cache)

    @property
    def is_inside(self) -> bool:
        """In the box, and not in the page cache: no honest box holds what met no storage."""
        return self.position.is_inside and not self.is_apart

    @property
    def is_apart(self) -> bool:
        """Its bandwidth is that of the page cache. A job whose bytes took next to no time is judged by its metadata."""
        return self.is_cached is True and "bandwidth" in self.whole.judged

    @property
    def is_below(self) -> bool:
        return "below" in self.position.sides.values()

    @property
    def company(self) -> list[str]:
        """Who else was active on its storages: jobs by name, and traffic that is in no profile."""
        has_more = any(neighbour.job is None for neighbour in self.blame.neighbours) or any(
            traffic.storage.number == self.storage.number and (traffic.covered or 1.0) < MOST_COVERED
            for traffic in self.blame.traffic
        )
        return [*self.neighbours, *(["traffic that is in no profile"] if has_more else [])]

    @property
    def is_news(self) -> bool:
        """Worse than any run of the box while nobody else was active: the storage, and not the company, has changed."""
        return self.is_below and not self.is_apart and not self.company


def place(case: Case, found: Expectation) -> Placed:
    """Where a job lies. Raises UserError where it did no I/O on files, or where there is no sound run."""
    digest = case.job
    rows = digest.process_slices.join(members(digest).select("process"), on="process", how="semi")
    if rows.is_empty():
        raise UserError(f"{digest.job}: did no I/O on files, so it has no place in a box; give another job")
    by_storage = rows.group_by("storage").agg(SPENT.sum().alias("ns")).sort("ns", "storage", descending=[True, False])
    storage = describe(int(by_storage["storage"][0]), [digest])
    on_storage = rows.filter(pl.col("storage") == storage.number)
    share_of_operations, opens = _operations(digest, rows)
    job = digest.jobs.row(0, named=True)
    whole = _work(on_storage, digest.slice_ns, share_of_operations, (job["end_ns"] - job["start_ns"]) / 1e9)
    phase_rows = _busiest_phase(on_storage)
    phase_slices = phase_rows["slice"].n_unique()
    phase = _work(phase_rows, digest.slice_ns, share_of_operations, phase_slices * digest.slice_ns / 1e9)
    api = _api(digest, whole.bytes)
    if _is_by_hdf5(digest) and found.of(HDF5):
        api = HDF5  # and without such a box, the API below it
    boxes = found.of(api) or found.of(UNKNOWN_API) or found.first
    if boxes is None or not boxes.union:
        raise UserError(
            "--box: holds no sound run, so there is no box to place a job in; slicewise storage expect says why"
        )
    starts = [run.run.start for run in boxes.good if run.run.start]
    one_way = _one_way(whole)
    alone = found.like(boxes, one_way) if one_way else None
    return Placed(
        job=digest.job,
        processes=job["processes"],
        storage=storage,
        whole=whole,
        phase=phase,
        api=api,
        boxes=boxes,
        position=position(whole, boxes),
        phase_position=position(phase, boxes),
        direction=position(whole, alone) if alone and alone.union else None,
        opens=opens,
        read_ops=int(on_storage["read_ops"].sum()),
        write_ops=int(on_storage["write_ops"].sum()),
        cache=reached(digest, storage, {"read": whole.read_bytes, "write": whole.write_bytes}),
        start=datetime.fromtimestamp(job["start_ns"] / 1e9).astimezone(),
        measured=max(starts, default=None),
        neighbours=[neighbour.job for neighbour in case.neighbours],
        blame=case.result(),
    )


def position(work: PlacedWork, boxes: Boxes) -> Position:
    """Where work lies in the union of boxes: by the axes that it can be judged by."""
    union, easy = boxes.union, boxes.easy
    around = hull(union)
    judged = work.judged
    sides: dict[Axis, str] = {}
    if around is not None:
        for place_, axis in enumerate(AXES):
            if axis in judged:
                low, value, high = around.hard[place_], work.point[place_], around.easy[place_]
                sides[axis] = "below" if value < low else "above" if value > high else "within"
    share, held_back = _share_of_easy(work, easy)
    return Position(boxes.kind, _is_inside(work.point, judged, union), sides, share, held_back)


def _is_inside(point: Point, judged: Sequence[Axis], union: Sequence[Box]) -> bool:
    if not judged:
        return False
    if len(judged) == len(AXES):
        return any(box.holds(point) for box in union)
    axis = AXES.index(judged[0])
    return any(low <= point[axis] <= high for low, high in merged([(box.hard[axis], box.easy[axis]) for box in union]))


def _share_of_easy(work: PlacedWork, easy: Point | None) -> tuple[float | None, Axis | None]:
    total = work.data_seconds + work.metadata_seconds
    if easy is None or total <= 0:
        return None, None
    at_easy = work.bytes / GIB / easy[0], work.operations / 1e3 / easy[1]
    lost = work.data_seconds - at_easy[0], work.metadata_seconds - at_easy[1]
    # An axis without work, or with too little time to judge by, holds nothing back.
    judged = [(lost[place], axis) for place, axis in enumerate(AXES) if axis in work.judged and at_easy[place] > 0]
    most, held_back = max(judged, default=(0.0, AXES[0]))
    return sum(at_easy) / total, held_back if most > 0 else None


def _work(rows: pl.DataFrame, slice_ns: int, share_of_operations: float, seconds: float) -> PlacedWork:
    data = pl.sum_horizontal("read_ns", "write_ns", "sync_ns", "read_request_ns", "write_request_ns")
    # Slice by slice, so that programs that run one after the other add up.
    longest = (
        rows.with_columns(
            data=pl.min_horizontal(data / pl.col("threads"), pl.lit(slice_ns)),
            metadata=pl.min_horizontal(pl.col("meta_ns") / pl.col("threads"), pl.lit(slice_ns)),
        )
        .group_by("process", "slice")
        .agg(pl.col("data", "metadata").sum())
        .group_by("slice")
        .agg(pl.col("data", "metadata").max())
        .select(pl.col("data", "metadata").sum())
        .row(0)
    )
    return PlacedWork(
        seconds,
        int(rows["read_bytes"].sum()),
        int(rows["write_bytes"].sum()),
        int(rows["meta_ops"].sum()) * share_of_operations,
        (longest[0] or 0.0) / 1e9,
        (longest[1] or 0.0) / 1e9,
    )


def _operations(digest: Digest, rows: pl.DataFrame) -> tuple[float, int]:
    """What share of the metadata calls on files are operations, and how many files were opened. A close ends what its
    open began, and a seek asks no storage: neither is an operation.
    """
    called = digest.calls.join(members(digest).select("process"), on="process", how="semi")

    def count(operations: Sequence[str]) -> int:
        return int(called.filter(pl.col("operation").is_in(operations))["calls"].sum())

    calls = int(rows["meta_ops"].sum())
    opens = count(OPENS)
    # Closes of pipes and sockets are no calls on files: there are as many closes of files as there were opens.
    others = min(opens, count(CLOSES)) + count(SEEKS)
    return max(0, calls - others) / calls if calls else 1.0, opens


def _busiest_phase(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of the phase with most time in calls: slices without a break in I/O."""
    by_slice = rows.group_by("slice").agg(SPENT.cast(pl.Float64).sum().alias("ns")).sort("slice")
    first = by_slice["slice"][0]
    times = np.bincount(by_slice["slice"].to_numpy() - first, weights=by_slice["ns"].to_numpy())
    runs = runs_above(times, LEAST_OF_RATE)
    if not runs:
        return rows
    busiest = max(runs, key=lambda run: float(times[run.start : run.stop].sum()))
    return rows.filter(pl.col("slice").is_between(first + busiest.start, first + busiest.stop, closed="left"))


def _api(digest: Digest, moved: int) -> str:
    if not digest.is_by_layer:
        return UNKNOWN_API
    through = digest.counters.filter(pl.col("layer").is_in(MPIIO_LAYERS))
    mpiio = int(through["read_bytes"].sum()) + int(through["write_bytes"].sum())
    return "MPI-IO" if moved and mpiio >= moved / 2 else "POSIX"


def _is_by_hdf5(digest: Digest) -> bool:
    """Whether most of the time in reads and writes of files was within calls of HDF5."""
    if "library_calls" in digest.not_kept:
        return False
    within = int(digest.library_calls.filter(library="hdf5")["file_ns"].sum())
    moving = digest.process_slices.select(pl.sum_horizontal("read_ns", "write_ns").sum()).item()
    return within > 0 and within >= int(moving) / 2


def _one_way(work: PlacedWork) -> Aspect | None:
    if not work.bytes:
        return None
    share = work.write_bytes / work.bytes
    return "write" if share >= ONE_DIRECTION else "read" if share <= 1 - ONE_DIRECTION else None
