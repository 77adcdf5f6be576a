"""What runs of IO500 say a file system gives: a box a run, their union, anomalies, and each phase's tails, in GiB/s and
kIOPS, as IO500 has them.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

import numpy as np
import polars as pl

from slicewise.analysis.blame.unprofiled import counted_rows, counter_of
from slicewise.analysis.runs.storage import Storage
from slicewise.constants import LEAST_OF_JOB
from slicewise.digest.activity import DIRECTIONS, Direction, members
from slicewise.digest.coverage import TYPES_IN_MEMORY
from slicewise.digest.digest import Digest
from slicewise.digest.storages import NETWORK_TYPES
from slicewise.io500.ranks import Laggards, laggards
from slicewise.io500.results import IO500Run, Results
from slicewise.io500.texts import PHASES, Phase

Point = tuple[float, float]
Axis = Literal["bandwidth", "metadata"]
AXES: tuple[Axis, ...] = ("bandwidth", "metadata")

# A union has stopped growing after the first runs to which at least LATER_RUNS later ones add no more than LEAST_GROWTH
# of its area, all together.
LATER_RUNS = 3
LEAST_GROWTH = 0.05


@dataclass(frozen=True)
class Box:
    """From the rates of the hard phases to those of the easy ones. Where hard is better than easy, it is no box."""

    hard: Point
    easy: Point

    @property
    def anomalies(self) -> list[Axis]:
        """The axes on which hard is better than easy."""
        return [axis for axis, hard, easy in zip(AXES, self.hard, self.easy, strict=True) if hard > easy]

    def holds(self, point: Point) -> bool:
        return all(low <= value <= high for low, value, high in zip(self.hard, point, self.easy, strict=True))


def hull(boxes: Sequence[Box]) -> Box | None:
    """The smallest rectangle around all boxes."""
    if not boxes:
        return None
    hard, easy = zip(*((box.hard, box.easy) for box in boxes), strict=True)
    return Box(
        (min(point[0] for point in hard), min(point[1] for point in hard)),
        (max(point[0] for point in easy), max(point[1] for point in easy)),
    )


def area(box: Box | None) -> float:
    """The area of one box; 0 without one."""
    return (box.easy[0] - box.hard[0]) * (box.easy[1] - box.hard[1]) if box else 0.0


def union_area(boxes: Sequence[Box]) -> float:
    """The area that the boxes cover together."""
    return sum((right - left) * sum(high - low for low, high in covered) for left, right, covered in strips(boxes))


def strips(boxes: Sequence[Box]) -> list[tuple[float, float, list[Point]]]:
    """The union as upright strips, left to right: from, to, and the stretches of metadata rate that it covers there."""
    edges = sorted({edge for box in boxes for edge in (box.hard[0], box.easy[0])})
    found = []
    for left, right in pairwise(edges):
        inside = [(box.hard[1], box.easy[1]) for box in boxes if box.hard[0] <= left and right <= box.easy[0]]
        found.append((left, right, merged(inside)))
    return found


def merged(stretches: Sequence[Point]) -> list[Point]:
    """Stretches of a line without overlaps, in order."""
    found: list[Point] = []
    for low, high in sorted(stretches):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


@dataclass(frozen=True)
class Growth:
    """areas: that of the union after each run. settled_after: how many runs it took until it stopped growing; None: it
    still grows, or there are too few runs to tell. added: by what share of its area the last LATER_RUNS runs made it
    larger (None: there are not more runs than that).
    """

    areas: list[float]
    settled_after: int | None
    added: float | None


def growth(boxes: Sequence[Box]) -> Growth:
    areas = [union_area(boxes[: number + 1]) for number in range(len(boxes))]
    if len(areas) <= LATER_RUNS or areas[-1] <= 0:
        return Growth(areas, None, None)
    candidates = range(1, len(areas) - LATER_RUNS + 1)
    settled = next((runs for runs in candidates if areas[-1] - areas[runs - 1] <= LEAST_GROWTH * areas[-1]), None)
    return Growth(areas, settled, 1 - areas[-1 - LATER_RUNS] / areas[-1])


Aspect = Literal["aggregate", "write", "read"]
KINDS: tuple[Aspect, ...] = ("aggregate", "write", "read")
# What changes the namespace is counted with writes, what only looks at it with reads. find is left out.
_PARTS: dict[Aspect, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "aggregate": (("write", "read"), ("write", "stat", "read", "delete")),
    "write": (("write",), ("write", "delete")),
    "read": (("read",), ("stat", "read")),
}


@dataclass(frozen=True)
class RunBox:
    """The box of a run. why: what makes it an anomaly, in words; empty where it is none. laggards: the ranks or nodes
    that lagged in the phases that made it one, where per-rank files lie beside the result.
    """

    run: IO500Run
    box: Box
    why: str = ""
    laggards: tuple[Laggards, ...] = ()

    @property
    def is_anomaly(self) -> bool:
        return bool(self.why)


@dataclass(frozen=True)
class Boxes:
    """The boxes of one API, benchmark and kind, in the order of the runs; `good` are those that make the union."""

    api: str
    benchmark: str
    kind: Aspect
    runs: list[RunBox]

    @property
    def good(self) -> list[RunBox]:
        return [run for run in self.runs if not run.is_anomaly]

    @property
    def union(self) -> list[Box]:
        return [run.box for run in self.good]

    @property
    def union_area(self) -> float:
        return union_area(self.union)

    @property
    def hull_area(self) -> float:
        return area(hull(self.union))

    @property
    def growth(self) -> Growth:
        return growth(self.union)

    @property
    def easy(self) -> Point | None:
        """What well-formed I/O gets: the median of the runs' easy rates."""
        if not self.good:
            return None
        return median(box.easy[0] for box in self.union), median(box.easy[1] for box in self.union)

    def within(self, point: Point) -> list[str]:
        return [run.run.name for run in self.good if run.box.holds(point)]


@dataclass(frozen=True)
class Tail:
    """How long a phase took over the runs (s): names and times in the order of the runs, and what they come to."""

    phase: str
    runs: list[str]
    seconds: list[float]
    median: float
    p95: float
    p99: float
    worst: float
    worst_run: str


@dataclass(frozen=True)
class Expectation:
    """boxes: for each API and benchmark, of each kind; those with most runs first. tails: of each phase that says its
    time. lagging: over all runs, the nodes (or ranks) that lagged, with the names of the phases and runs.
    """

    results: Results
    boxes: list[Boxes]
    tails: list[Tail]
    lagging: dict[str, list[Laggards]]

    @property
    def first(self) -> Boxes | None:
        """The aggregate of the API with most runs: what the headline is about."""
        return self.boxes[0] if self.boxes else None

    def of(self, api: str) -> Boxes | None:
        """The aggregate of an API: that with most runs."""
        return next((boxes for boxes in self.boxes if boxes.api == api and boxes.kind == "aggregate"), None)

    def like(self, boxes: Boxes, kind: Aspect) -> Boxes | None:
        same = (boxes.api, boxes.benchmark, kind)
        return next((other for other in self.boxes if (other.api, other.benchmark, other.kind) == same), None)


def box_of(phases: Mapping[str, Phase], kind: Aspect) -> Box:
    """The box of a run: the geometric mean of its hard phases, and of its easy ones."""
    data, metadata = _PARTS[kind]

    def mean(prefix: str, parts: Sequence[str]) -> float:
        there = [phases[f"{prefix}-{part}"].rate for part in parts if f"{prefix}-{part}" in phases]
        # What is not IO500 may have no phase that only looks at the namespace: then all of them stand for it.
        return _geometric_mean(there or [phase.rate for name, phase in phases.items() if name.startswith(prefix)])

    hard, easy = ((mean(f"ior-{level}", data), mean(f"mdtest-{level}", metadata)) for level in ("hard", "easy"))
    return Box(hard, easy)


def expectation(results: Results) -> Expectation:
    """Everything that runs say."""
    groups = [group for group, _ in Counter((run.api, run.benchmark) for run in results.runs).most_common()]
    lags = {run.name: laggards(run) for run in results.runs}
    boxes = [
        Boxes(
            api,
            benchmark,
            kind,
            [
                _run_box(run, kind, lags[run.name])
                for run in results.runs
                if (run.api, run.benchmark) == (api, benchmark)
            ],
        )
        for api, benchmark in groups
        for kind in KINDS
    ]
    lagging: dict[str, list[Laggards]] = {}
    for found in lags.values():
        for lag in found:
            for who in lag.who:
                lagging.setdefault(who, []).append(lag)
    ordered = dict(sorted(lagging.items(), key=lambda item: -len(item[1])))
    return Expectation(results, boxes, _tails(results.runs), ordered)


def _run_box(run: IO500Run, kind: Aspect, lags: Sequence[Laggards]) -> RunBox:
    box = box_of(run.phases, kind)
    wrong = box.anomalies
    if not wrong:
        return RunBox(run, box)
    said = []
    for axis in wrong:
        place = 0 if axis == "bandwidth" else 1
        unit = "GiB/s" if axis == "bandwidth" else "kIOPS"
        said.append(f"{axis}: hard is better than easy ({box.hard[place]:.4g} against {box.easy[place]:.4g} {unit})")
    prefixes = tuple("ior-" if axis == "bandwidth" else "mdtest-" for axis in wrong)
    guilty = tuple(lag for lag in lags if lag.phase.startswith(prefixes))
    return RunBox(run, box, "; ".join(said), guilty)


def _geometric_mean(values: Sequence[float]) -> float:
    """To twelve digits, so that the mean of equal rates is that rate: edges of boxes are compared with points."""
    return float(f"{math.exp(sum(math.log(value) for value in values) / len(values)):.12g}")


def _tails(runs: Sequence[IO500Run]) -> list[Tail]:
    names = dict.fromkeys([*PHASES, *(name for run in runs for name in run.phases)])
    tails = []
    for phase in names:
        timed = [
            (run.name, found.seconds) for run in runs if (found := run.phases.get(phase)) and found.seconds is not None
        ]
        # A phase of a millisecond is IO500's own bookkeeping (its timestamp).
        if not timed or (phase not in PHASES and max(seconds for _, seconds in timed) < 0.1):
            continue
        seconds = [time for _, time in timed]
        p95, p99 = (float(value) for value in np.percentile(seconds, [95, 99]))
        worst_run, worst = max(timed, key=lambda pair: pair[1])
        names_of = [name for name, _ in timed]
        tails.append(Tail(phase, names_of, seconds, median(seconds), p95, p99, worst, worst_run))
    return tails


# Below this share of its bytes a job is said to have worked in the page cache.
LEAST_REACHED = 0.5
MOST_REACHED = 1.5
# So much of what was written must be of processes that synced, to take it for stored.
MOST_SYNCED = 0.9


@dataclass(frozen=True)
class Reached:
    """One direction. bytes: the application's. reached: the device's or network's (None: not counted). how: why."""

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
    return [_one(digest, storage, way, moved[way]) for way in DIRECTIONS if moved[way] > LEAST_OF_JOB * total]


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
