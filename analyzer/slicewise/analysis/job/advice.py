"""What to change in a program: the costliest of its habits that one would not have for free.

A digest and its call sites in, dataclasses out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

import polars as pl

from slicewise.analysis.job.habits import habits_of_calls
from slicewise.analysis.job.io_time import of_own_processes, own_slices
from slicewise.analysis.job.job_calls import AT_LEAST, CostlyHabit, Habit, JobCalls
from slicewise.analysis.job.sites import Sites
from slicewise.analysis.job.split import Split
from slicewise.digest.activity import runtime_of
from slicewise.digest.digest import Digest
from slicewise.estimate import Estimate
from slicewise.scalars import real

# Nothing is said of what costs less, in seconds and of the runtime; and no more than so many things.
LEAST_SECONDS, LEAST_SHARE, MOST_ADVICE = 1.0, 0.02, 3
# Of the ranks' bytes, and of their time in I/O: who has so much does it all.
BY_ONE = 0.8
# A rank has more to transfer than others by this share of the mean rank's bytes, or dividing them changes nothing.
LEAST_MORE = 0.1
# Kinds of I/O that can be divided among ranks; and where syncs are told, those without these.
DIVIDED, SYNCS = ("read", "write", "mpi_io", "sync"), ("syncs", "last syncs")
# Habits that are calls on names: where one is told, the wait for a rank's is a part of it.
OF_NAMES = ("opens", "small files", "one directory", "failing calls", "looks", "locks")


def advise(
    digest: Digest,
    found: Sites,
    lost_share: float = 0.0,
    ranks: Split | None = None,
    size_of: Callable[[Sequence[str], int], Mapping[str, int]] = lambda paths, end_ns: {},
) -> list[CostlyHabit]:
    """The habits that cost a job most, those first where a change saves most. The digest was read with its
    distributions. lost_share: of its time in calls, what others cost it: that is not the program's fault, and taken
    off. size_of: of paths, the sizes of those that are still there and were not written after a time (ns since 1970).
    """
    runtime = runtime_of(digest)
    own = own_slices(digest)
    if own.is_empty() or runtime <= 0 or "files" in digest.not_kept:
        return []
    files = of_own_processes(digest, digest.files)
    end_ns = int(digest.about["end_ns"])
    calls = JobCalls(digest, own, files, found, runtime, lambda paths: size_of(paths, end_ns), 1 - lost_share)
    least = max(LEAST_SECONDS, LEAST_SHARE * runtime)

    def worth_it(told: Iterable[CostlyHabit]) -> list[CostlyHabit]:
        return [one for one in told if (one.saving.value if one.saving else one.seconds) >= least]

    told = worth_it(habits_of_calls(calls))
    of_ranks = _habits_of_ranks(digest, ranks, lost_share, {one.habit for one in told})
    worth = [_without_computing(one, calls) for one in (*told, *worth_it(of_ranks))]
    return sorted(worth, key=lambda one: -(one.saving.value if one.saving else one.seconds / 2))[:MOST_ADVICE]


def _without_computing(one: CostlyHabit, of: JobCalls) -> CostlyHabit:
    """The same; of its saving what other threads computed meanwhile may stay. Syncs at the end have left it out."""
    stays = min(of.kept * real(of.while_computing["at_once_ns"].max() or 0) / 1e9, one.seconds)
    if one.saving is None or stays <= 0 or one.habit == "last syncs":
        return one
    low = max(0.0, one.saving.low - stays)
    return replace(one, saving=replace(one.saving, value=max(low, one.saving.value - stays / 2), low=low))


def _habits_of_ranks(digest: Digest, found: Split | None, lost_share: float, told: Set[Habit]) -> Iterator[CostlyHabit]:
    """One rank whose I/O the others wait for in MPI. Where the storage gives one rank all that it has, spreading the
    I/O saves nothing; else all but each rank's part. Calls on names are not divided, but left out. Not what is told of
    already: syncs, calls on names.
    """
    if found is None or not found.holds:
        return
    divided = [kind for kind in DIVIDED if kind != "sync" or told.isdisjoint(SYNCS)]
    of_rank = found.processes.select("process", "label", io=pl.sum_horizontal(*divided))
    moved = digest.processes.select("process", bytes=pl.col("read_bytes") + pl.col("write_bytes"))
    of_rank = of_rank.join(moved, on="process", how="left")
    ranks = of_rank.height
    for kinds in (divided, ["meta"]):
        holds = [hold for hold in found.holds if hold.kind in kinds]
        if not holds or (kinds != divided and not told.isdisjoint(OF_NAMES)):
            continue
        most = max(holds, key=lambda hold: hold.seconds * hold.held)
        seconds = (1 - lost_share) * sum(hold.seconds for hold in holds if hold.process == most.process)
        if kinds != divided:
            saving = Estimate(seconds * (1 + AT_LEAST) / 2, seconds * AT_LEAST, seconds, "nobody waits for these")
            yield CostlyHabit("names by one rank", seconds, saving, most.held, 0.0, who=most.label)
            continue
        its_own = of_rank.filter(pl.col("process") == most.process)
        parts = [real(its_own[name].sum()) / max(1e-9, real(of_rank[name].sum())) for name in ("io", "bytes")]
        if 0 < parts[1] * ranks < 1 + LEAST_MORE:
            continue  # its bytes are no more than the others': it is slower with as much
        habit: Habit = "one rank" if min(parts) >= BY_ONE else "uneven ranks"
        high = seconds * (1 - 1 / ranks)
        saving = Estimate(high / 2, 0.0, high, "from none, if one rank alone gets all that the storage has, to all")
        yield CostlyHabit(habit, seconds, saving, most.held, 0.0, who=most.label)
