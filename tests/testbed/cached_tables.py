"""What `slicewise blame` says of jobs whose clients cache what they write, beside what their own stopwatches said.

The recordings are of a guest with a real kernel (tests/golden/cached): NFS 4.2 and 3 and CIFS on a link of 40 Mbit/s,
and ext4 on a disk of 5 MB/s, with default caches; jobs that nobody tuned for.
"""

import csv
import functools
import statistics
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

from slicewise.analysis.blame.case import case_of
from slicewise.analysis.blame.result import Blame

from testbed.tables import Table, table

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
    """All that is told, a row a job, with and without runs alone; and the sums."""
    made = []
    for given, name in ((True, "given"), (False, "withheld")):
        jobs = told(recordings, given)
        lost = [one for one in jobs if one.has_lost]
        claimed = [one for one in lost if one.is_claimed]
        errors = [abs(one.lost / one.truth - 1) for one in claimed]
        nobody = [one.to_nobody for one in claimed if one.is_profiled]
        false = [one for one in jobs if not one.has_lost and one.is_claimed]
        made.append(
            table(
                f"sums, runs alone {name}",
                [
                    "losses", "claimed", "error, mean", "error, most", "to nobody, mean", "nothing lost",
                    "claimed all the same",
                ],
                [
                    [
                        str(len(lost)),
                        str(len(claimed)),
                        _percent(statistics.mean(errors)) if errors else "",
                        _percent(max(errors)) if errors else "",
                        _percent(statistics.mean(nobody)) if nobody else "",
                        str(len(jobs) - len(lost)),
                        str(len(false)),
                    ]
                ],
            )
        )  # fmt: skip
        made.append(
            table(
                f"by job, runs alone {name}",
                ["on", "case", "job", "beside", "alone, s", "took, s", "lost, s", "told, s", "confidence", "blamed"],
                [_row(one) for one in jobs],
            )
        )
    return made


def _row(one: Told) -> list[str]:
    blamed = ", ".join(f"{each.job or 'not profiled'} {each.lost.value:.1f}" for each in one.blame.neighbours)
    is_told = one.blame.is_claimed or one.blame.outside is not None
    return [
        one.file_system,
        one.case,
        one.job,
        one.beside,
        f"{one.alone:.1f}",
        f"{one.took:.1f}",
        f"{one.truth:.1f}",
        f"{one.lost:.1f}" if is_told else "nothing" if one.blame.lost else "unknown",
        one.blame.confidence,
        blamed if is_told else "",
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
