"""What runs of IO500 say a file system gives: a box a run, their union, anomalies, and the tails of each phase.

Runs in, frozen dataclasses out. Bandwidth is in GiB/s and metadata rates are in kIOPS throughout, as IO500 has them.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

import numpy as np

from slicewise.analysis.expect.box import Axis, Box, Growth, Point, area, growth, hull, union_area
from slicewise.io500.ranks import Laggards, laggards
from slicewise.io500.results import IO500Run, Results
from slicewise.io500.texts import PHASES, Phase

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
        """The names of the runs whose boxes hold a point."""
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
class Placement:
    """Where a figure lies among public results: the share of them that are below it, of how many."""

    name: str
    axis: Axis
    value: float
    below: float
    of: int


@dataclass(frozen=True)
class Expectation:
    """boxes: for each API and benchmark, of each kind; those with most runs first. tails: of each phase that says its
    time. lagging: over all runs, the nodes (or ranks) that lagged, with the names of the phases and runs.
    """

    results: Results
    boxes: list[Boxes]
    tails: list[Tail]
    lagging: dict[str, list[Laggards]]
    places: list[Placement]
    against: int = 0

    @property
    def first(self) -> Boxes | None:
        """The aggregate of the API with most runs: what the headline is about."""
        return self.boxes[0] if self.boxes else None

    def of(self, api: str) -> Boxes | None:
        """The aggregate of an API: that with most runs."""
        return next((boxes for boxes in self.boxes if boxes.api == api and boxes.kind == "aggregate"), None)

    def like(self, boxes: Boxes, kind: Aspect) -> Boxes | None:
        """The boxes of the same runs, of another kind."""
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


def expectation(results: Results, public: Results | None = None) -> Expectation:
    """Everything that runs say; public: results to say where these lie among."""
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
    first = boxes[0] if boxes else None
    places = _places(first, public) if first and public else []
    return Expectation(results, boxes, _tails(results.runs), ordered, places, len(public.runs) if public else 0)


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
        tails.append(
            Tail(phase, [name for name, _ in timed], seconds, median(seconds), p95, p99, worst, worst_run)
        )  # fmt: skip
    return tails


def _places(boxes: Boxes, public: Results) -> list[Placement]:
    """Where the median run's rates lie among those of public results."""
    own = [run.box for run in boxes.runs]
    others = [box_of(run.phases, "aggregate") for run in public.runs]
    if not own or not others:
        return []
    places = []
    axes: tuple[tuple[int, Axis], ...] = ((0, "bandwidth"), (1, "metadata"))
    for level in ("easy", "hard"):
        for place, axis in axes:
            value = median(getattr(box, level)[place] for box in own)
            below = sum(getattr(box, level)[place] < value for box in others) / len(others)
            places.append(Placement(f"{level} {axis}", axis, value, below, len(others)))
    return places
