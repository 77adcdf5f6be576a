"""What `slicewise blame` says of jobs whose clients cache what they write, beside what their own stopwatches said.

The recordings are of a guest with a real kernel (tests/golden/cached): NFS 4.2 and 3 and CIFS on a link of 40 Mbit/s,
and ext4 on a disk of 5 MB/s, with default caches; jobs that nobody tuned for.
"""

import csv
import functools
import statistics
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from slicewise.analysis.blame.case import case_of
from slicewise.analysis.blame.result import Blame

from testbed.tables import Table, listed

# A loss of less than this share of the time alone is none; runs alone differ by as much.
NO_LOSS = 0.10
SURE = ("high", "medium")


@dataclass(frozen=True)
class Told:
    """A job beside others: when it took `took` seconds, and `alone` in the median of its runs alone. blame: what is
    said of it.
    """

    file_system: str
    case: str
    job: str
    beside: str
    is_profiled: bool
    alone: float
    took: float
    blame: Blame

    @property
    def truth(self) -> float:
        """Seconds that it lost."""
        return self.took - self.alone

    @property
    def has_lost(self) -> bool:
        """Whether that is a loss."""
        return self.truth > NO_LOSS * self.alone

    @property
    def lost(self) -> float:
        """Seconds that it lost in I/O and outside of it, as told; 0 where nothing is."""
        outside = self.blame.outside.seconds if self.blame.outside else 0.0
        return outside + (self.blame.lost.value if self.blame.lost else 0.0)

    @property
    def is_told(self) -> bool:
        """Whether any loss is claimed, however sure."""
        return self.blame.is_claimed or self.blame.outside is not None

    @property
    def is_claimed(self) -> bool:
        """Whether a loss is claimed with high or medium confidence."""
        return self.blame.is_claimed and self.blame.confidence in SURE

    @property
    def to_nobody(self) -> float:
        """The share of the loss in I/O that no neighbour is blamed for."""
        lost = self.blame.lost.value if self.blame.lost else 0.0
        blamed = sum(one.lost.value for one in self.blame.neighbours)
        return abs(lost - blamed) / lost if lost > 0 else 0.0


@functools.cache
def told(recordings: Path, with_runs: bool = True) -> list[Told]:
    """What is told of all jobs beside others; with_runs: their runs alone are given."""
    with (recordings / "truth.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    alone = defaultdict(list)
    for row in rows:
        if row["role"] == "alone":
            alone[row["fs"], load_of(row["job"])].append(row)
    found = []
    for row in rows:
        place = recordings / row["fs"] / row["case"] / row["job"]
        runs = alone[row["fs"], load_of(row["job"])]
        if row["role"] == "alone" or row["profiled"] != "yes" or not runs:
            continue
        near = sorted(other for other in place.parent.iterdir() if other != place and any(other.glob("*.swz")))
        given = [recordings / row["fs"] / one["case"] / one["job"] for one in runs] if with_runs else []
        case = case_of(place, near, given)
        blame = (case if with_runs else replace(case, found=[])).result()
        median = statistics.median(float(one["seconds_whole"]) for one in runs)
        names = (row["fs"], row["case"], row["job"], row["beside"])
        found.append(Told(*names, bool(near), median, float(row["seconds_whole"]), blame))
    return found


def load_of(job: str) -> str:
    """What a job ran, by its name: "write60" of "write60-2" and "write60-neighbour"."""
    name, _, number = job.rpartition("-")
    return name if name and (number.isdigit() or number == "neighbour") else job


def tables(recordings: Path) -> list[Table]:
    """All that is told, a row a job, with and without runs alone."""
    return [
        listed(f"by job, runs alone {name}", told(recordings, given), JOB)
        for given, name in ((True, "given"), (False, "withheld"))
    ]


JOB: dict[str, Callable[[Told], Any]] = {
    "on": lambda one: one.file_system,
    "case": lambda one: one.case,
    "job": lambda one: one.job,
    "beside": lambda one: one.beside,
    "alone, s": lambda one: one.alone,
    "took, s": lambda one: one.took,
    "lost, s": lambda one: one.truth,
    "told, s": lambda one: one.lost if one.is_told else "nothing" if one.blame.lost else "unknown",
    "confidence": lambda one: one.blame.confidence,
    "blamed": lambda one: (
        ", ".join(f"{each.job or 'not profiled'} {each.lost.value:.1f}" for each in one.blame.neighbours)
        if one.is_told
        else ""
    ),
}
