"""What to change in a program: the costliest of its habits that one would not have for free.

A digest and its call sites in, dataclasses out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import polars as pl

from slicewise.analysis.job.habits import CostlyHabit, Habit, JobCalls, habits_of_calls
from slicewise.analysis.job.io_time import of_own_processes
from slicewise.analysis.job.sites import Sites
from slicewise.analysis.job.split import Split
from slicewise.digest.activity import runtime_of
from slicewise.digest.digest import Digest
from slicewise.estimate import Estimate
from slicewise.kinds import KINDS
from slicewise.scalars import real

# Nothing is said of what costs less, in seconds and of the runtime; and no more than so many things.
LEAST_SECONDS, LEAST_SHARE, MOST_ADVICE = 1.0, 0.02, 3
# Of the seconds of a process in calls: who spends less of its life there waits for others.
IDLE = 0.02
# Of the ranks' time in I/O: who has so much does it all.
BY_ONE = 0.8


def no_sizes(paths: Sequence[str], end_ns: int) -> Mapping[str, int]:
    return {}


def advise(
    digest: Digest,
    found: Sites,
    lost_share: float = 0.0,
    ranks: Split | None = None,
    size_of: Callable[[Sequence[str], int], Mapping[str, int]] = no_sizes,
) -> list[CostlyHabit]:
    """The habits that cost a job most, those first where a change saves most. The digest was read with its
    distributions. lost_share: of its time in calls, what others cost it: that is not the program's fault, and taken
    off. size_of: of paths, the sizes of those that are still there and were not written after a time (ns since 1970).
    """
    runtime = runtime_of(digest)
    own = of_own_processes(digest, digest.process_slices)
    if own.is_empty() or runtime <= 0 or "files" in digest.not_kept:
        return []
    files = of_own_processes(digest, digest.files)
    part = (1 - lost_share) / _side_by_side(digest, own)
    end_ns = int(digest.about["end_ns"])
    calls = JobCalls(digest, own, files, found, runtime, part, lambda paths: size_of(paths, end_ns), 1 - lost_share)
    told = [*habits_of_calls(calls), *_habits_of_ranks(ranks, lost_share)]
    least = max(LEAST_SECONDS, LEAST_SHARE * runtime)
    worth = [one for one in told if one.seconds >= least and (one.saving is None or one.saving.value >= least)]
    return sorted(worth, key=lambda one: -(one.saving.value if one.saving else 0.0))[:MOST_ADVICE]


def _side_by_side(digest: Digest, own: pl.DataFrame) -> float:
    """How many processes with I/O lived at a time, on average, 1 at least; each thread of them counts where several
    surely were in calls at once, as a process then was for longer than its slice lasted.
    """
    ns = pl.sum_horizontal("^(read|write|meta|sync)_ns$")
    threads = pl.when(ns > digest.slice_ns).then(pl.col("threads").clip(1)).otherwise(1)
    in_turn = own.select(real_ns=ns.sum(), thread_ns=(ns / threads).sum()).row(0, named=True)
    at_once = real(in_turn["real_ns"]) / max(1.0, real(in_turn["thread_ns"]))
    spent = own.group_by("process").agg(ns=ns.sum())
    lived = digest.processes.join(spent, on="process").select(
        "start_ns", "end_ns", life=pl.col("end_ns") - pl.col("start_ns"), ns="ns"
    )
    busy = lived.filter(pl.col("ns") >= IDLE * pl.col("life")).sort("start_ns")
    until = busy["end_ns"].cum_max().shift(1, fill_value=0)
    union = (busy["end_ns"] - pl.select(pl.max_horizontal(busy["start_ns"], until)).to_series()).clip(0).sum()
    return max(1.0, at_once) * max(1.0, real(busy["life"].sum()) / max(1.0, real(union)))


def _habits_of_ranks(found: Split | None, lost_share: float) -> Iterator[CostlyHabit]:
    """One rank whose I/O the others wait for in MPI. Where the storage gives one rank all that it has, spreading the
    I/O saves nothing; else all but each rank's part.
    """
    if found is None or not found.holds:
        return
    of_rank = found.processes.select("process", "label", io=pl.sum_horizontal(*KINDS, "mpi_io"))
    total, ranks = real(of_rank["io"].sum()), of_rank.height
    most = max(found.holds, key=lambda hold: hold.seconds * hold.held)
    its_own = real(of_rank.filter(pl.col("process") == most.process)["io"].sum())
    held = sum(hold.seconds for hold in found.holds if hold.process == most.process)
    seconds = (1 - lost_share) * held
    high = seconds * (1 - 1 / ranks)
    habit: Habit = "one rank" if its_own >= BY_ONE * total else "uneven ranks"
    saving = Estimate(high / 2, 0.0, high, "from none, if one rank alone gets all that the storage has, to all")
    yield CostlyHabit(habit, seconds, saving, most.held, 0.0, who=most.label)
