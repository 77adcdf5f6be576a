"""What a job took longer than alone outside of I/O calls, and what the kernel counted meanwhile.

Digests in, dataclass out. Calls are slower, too, where their process waits for a processor: that is no neighbour's I/O.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from slicewise.analysis.blame.in_memory import is_in_memory
from slicewise.analysis.blame.memory import (
    awake_in_calls,
    fetched_by,
    loading_of,
    moved_by_no_call,
    on_its_nodes,
    sampled_seconds,
    seconds_refetching,
    seconds_short_of_memory,
    sleeps_in_calls,
    slept,
)
from slicewise.analysis.blame.result import CostByWaiting, Outside
from slicewise.analysis.job.split import Split
from slicewise.analysis.runs.limits import part_at_limits
from slicewise.constants import LITTLE_OF_RUNTIME, MAINLY, NEARLY_ALL
from slicewise.digest.activity import members, runtime_of
from slicewise.digest.digest import Digest
from slicewise.digest.fetched import unplaced_bytes
from slicewise.digest.processes import are_ranks, usage_in_sum
from slicewise.digest.slices import TIMES
from slicewise.estimate import Estimate
from slicewise.scalars import real
from slicewise.statistics import deviation_of, error_of_next_run

# Processors were waited for if a second of computing had its processor taken away so many times more often than alone,
# and so often: the kernel does it every few ms where more threads are ready than there are processors.
LEAST_FACTOR, LEAST_SWITCHES = 2.0, 5.0
# Or if on the nodes some task waited for one during this share of the time, as schema/signals.def has it for clients.
LEAST_STALL = 0.5
# Busy loops beside ranks on all processors make it 0.97 of the time. A job that spends more than this part of its
# runtime in I/O calls shows by these how slow it was.
HARDLY_IO = 0.1
# The time in which some task waited for one is this part of what the job is told to have waited, at least: of what took
# longer outside of I/O another part may be something else.
LEAST_OF_WAIT = 0.5
# Where nobody counted its waits, a job waited at most so many times as long as it ran: beside four busy loops it is up
# to 4 times, and in a group of a twentieth of the usual weight 20.
MOST_OF_RUN = 20.0
# Time that one thread ran or was ready to may be counted this fraction longer than it was looked at.
THREADS_ROUNDING = 0.02

# What is told of a job's I/O that no call shows.
BY_NO_CALL = (
    "{moved} were moved for it by no call that can be seen (perhaps io_uring by itself, or a program that could not be "
    "profiled)"
)


@dataclass(frozen=True)
class _Took:
    """What a run took: seconds of the mean process that made calls. processor: in all; system: of these the kernel's.
    computed: the same as processor; of ranks what the one that computed longest did outside of calls of MPI and of I/O,
    since others wait for it, and may spin.
    delayed: in which it waited for a processor; None where nobody counted that, of threads that the first one waits
    for, and of ranks: those that wait for others may spin, and are ready all the time. ready: for how long it was so,
    spinning or not; 0 where nobody counted it. spins: whether it is a rank. pool: how many threads at most made calls
    at once while the first one waited for them; 0: it did not. delayed_in_calls: how many of the seconds in I/O calls
    it waited for a processor, at least; None where nobody counted that of the threads that made them.
    """

    runtime: float
    processor: float
    system: float
    computed: float
    switches: float
    major_faults: float
    delayed: float | None
    ready: float
    spins: bool
    pool: int
    delayed_in_calls: float | None


def outside_of_io(
    digest: Digest, runs: Sequence[Digest], processes: int, io_alone: float, io_lost: float, taken: float
) -> Outside | None:
    """What a job took longer than its standalone runs outside of I/O; None where it is little.

    runs: those that did what the job did. processes: of the job that made calls. io_alone, io_lost: seconds of the
    runtime in I/O. taken: the storage's time that neighbours took, s: so much of the loss they can have caused, and
    beyond that calls were as much slower as all else where processors were waited for.
    """
    if not runs:
        return None
    job, alone = _took(digest, processes), [_took(run, processes) for run in runs]
    told = runtime_alone(digest, runs)
    mean, error = told.value, told.high - told.value
    seconds = job.runtime - mean - max(0.0, io_lost)  # where calls were faster, other work hid them
    computed = max(0.0, job.computed - fmean(one.computed for one in alone))
    delays = [one.delayed for one in alone if one.delayed is not None]
    is_counted = job.delayed is not None and len(delays) == len(alone)
    stall = _stall(digest)
    paced = computed * _wait_for_a_second(runs, alone, delays if is_counted else [], mean - io_alone)
    more = max(0.0, (job.delayed or 0.0) - fmean(delays) - paced) if is_counted else 0.0
    often, before = _rate(job), max(_rate(one) for one in alone)
    was_taken = often >= LEAST_SWITCHES and often >= LEAST_FACTOR * before
    for_processor = was_taken or (stall is not None and stall >= LEAST_STALL)
    in_calls = 0.0
    former = [one.delayed_in_calls for one in alone if one.delayed_in_calls is not None]
    if io_lost > 0 and is_in_memory(digest):  # then calls wait for nothing else
        in_calls = more if is_counted else MOST_OF_RUN * job.processor * for_processor
    elif job.delayed_in_calls is not None and len(former) == len(alone):
        in_calls = job.delayed_in_calls - fmean(former)
        if is_counted:
            its_code = max(0.0, job.processor - job.system - fmean(one.processor - one.system for one in alone))
            in_calls = min(max(in_calls, more - max(0.0, seconds - its_code)), more)
    elif stall is not None and stall >= LEAST_STALL:
        in_calls = awake_in_calls(digest, processes, io_lost)
    most_in_calls = max(0.0, min(io_lost, _beyond_limits(digest, io_alone + io_lost)))
    in_calls = min(in_calls, most_in_calls)
    in_calls = in_calls if in_calls >= LITTLE_OF_RUNTIME * job.runtime else 0.0
    if seconds + in_calls < max(LITTLE_OF_RUNTIME * job.runtime, error):
        return None
    if is_counted:
        waited = min(more - in_calls, max(0.0, seconds - computed - paced))
    else:
        waited = min(max(0.0, seconds - computed - paced), MOST_OF_RUN * job.processor) if for_processor else 0.0
    # A job that hardly computes has few such moments by chance, and no task waited longer than some task did.
    # One of many nodes may be the one where they did.
    nodes = members(digest)["node"].n_unique()
    if stall is not None and stall * nodes * job.runtime < LEAST_OF_WAIT * (waited + in_calls):
        waited, in_calls = 0.0, 0.0
    seconds = max(0.0, seconds)
    if not is_counted and not in_calls and waited > seconds / 2:  # then calls were as much slower as all else
        as_slow = io_alone * seconds / (mean - io_alone) if mean > io_alone else 0.0
        in_calls = min(max(io_lost - taken, 0.0), as_slow, most_in_calls)
    seconds, waited = seconds + in_calls, waited + in_calls
    slept_seconds, slept_at = slept(digest, processes)
    slept_seconds -= fmean(slept(run, processes)[0] for run in runs) + max(0.0, io_lost)
    slept_seconds = max(0.0, slept_seconds)
    system = max(0.0, job.system - fmean(one.system for one in alone))
    return Outside(
        alone=told,
        seconds=seconds,
        computed_seconds=min(computed, max(0.0, seconds - in_calls)),
        waited_seconds=waited,
        io_seconds=in_calls,
        stall=stall,
        memory_seconds=min(seconds, _for_memory(digest, runs, slept_seconds, system)),
        loaded_seconds=min(seconds, max(0.0, loading_of(digest) - fmean(map(loading_of, runs)))),
        slept_seconds=slept_seconds,
        slept_at=slept_at,
        faults=job.major_faults - fmean(one.major_faults for one in alone),
        pages_bytes=unplaced_bytes(digest),
        hidden_bytes=moved_by_no_call(digest),
        is_idle=job.processor + io_alone + io_lost < (1 - MAINLY) * job.runtime,
        paced_seconds=min(paced, max(0.0, seconds - in_calls - computed)),
        delayed_seconds=more,
    )


def _wait_for_a_second(
    runs: Sequence[Digest], alone: Sequence[_Took], delays: Sequence[float], outside: float
) -> float:
    """For how long the runs alone waited for a processor for each second that they computed: who computes more waits
    the more, as long as processors are as busy. delays: of each, where they are counted. outside: seconds of the mean
    run outside of calls, which it waited where it did not compute, if its nodes' processors were busy.
    """
    computed = fmean(one.computed for one in alone)
    if computed <= 0:
        return 0.0
    if delays:
        return fmean(delays) / computed
    are_busy = all((_stall(run) or 0.0) >= LEAST_STALL for run in runs)
    return max(0.0, outside / computed - 1) if are_busy else 0.0


def _beyond_limits(digest: Digest, io_seconds: float) -> float:
    """What of the time in calls may be a wait for a processor. While a limit is used up, by whomever, a call waits for
    that, whether its process waits for a processor, too, or not.
    """
    return (1 - part_at_limits(digest)) * io_seconds


def runtime_alone(digest: Digest, runs: Sequence[Digest]) -> Estimate:
    """What runs that did the same took, by how much such runs differ. Their programs may have been loaded from storage,
    and the job's from memory: then it is loaded as fast alone.
    """
    worked = [runtime_of(run) - loading_of(run) for run in runs]
    mean = fmean(worked) + min(loading_of(digest), fmean(map(loading_of, runs)))
    error = error_of_next_run(deviation_of(worked), len(worked)) * mean
    return Estimate(mean, mean - error, mean + error, "the runtime of its standalone runs")


def delayed_outside(
    digest: Digest, processes: int, io_seconds: float, lost: Estimate, is_claimed: bool = True
) -> Outside | None:
    """The same of a job of which no run that did as much is known: what it waited for processors, as the kernel
    counted it, and for what its memory did not hold; None where that is little, or nobody counted. lost: in I/O; where
    it is not claimed, it is in the interval of the time alone only.

    What the kernel computed for it may have been to find memory: that is in the interval of the time alone, too. Calls
    sleep, and so the wait for processors is taken to be outside of them, as far as there was time and it did sleep in
    them; the interval of the time alone has both ends.
    """
    took, stall = _took(digest, processes), _stall(digest)
    in_calls = took.delayed_in_calls or 0.0
    if took.delayed_in_calls is None and stall is not None and stall >= LEAST_STALL:
        in_calls = awake_in_calls(digest, processes, lost.value)
    in_calls = min(lost.value, in_calls, _beyond_limits(digest, io_seconds))
    in_calls = in_calls if in_calls >= LITTLE_OF_RUNTIME * took.runtime else 0.0
    waited = min(max(0.0, (took.delayed or 0.0) - in_calls), max(0.0, took.runtime - io_seconds))
    memory = seconds_refetching(digest, processes, io_seconds) or Estimate(0.0, 0.0, 0.0, "")
    if waited + in_calls + memory.value < LITTLE_OF_RUNTIME * took.runtime:
        return None
    least = max(0.0, waited - io_seconds)
    without = took.runtime - (lost.value if is_claimed else in_calls)
    alone = Estimate(
        max(0.0, without - waited - memory.value),
        max(0.0, took.runtime - lost.high - waited - memory.high - (took.system if memory.value else 0.0)),
        max(without - waited - memory.value, took.runtime - lost.low - least - memory.low),
        f"the runtime without that loss and without its waits for {'memory and ' if memory.value else ''}processors",
    )
    if alone.value >= took.runtime:
        return None  # its calls took less than alone by more than it waited
    return Outside(
        alone=alone,
        seconds=waited + in_calls + memory.value,
        computed_seconds=0.0,
        waited_seconds=waited + in_calls,
        io_seconds=in_calls,
        stall=stall,
        memory_seconds=memory.value,
        loaded_seconds=0.0,
        slept_seconds=0.0,
        slept_at="",
        faults=0.0,
    )


def starved(digest: Digest, processes: int, io_seconds: float) -> float | None:
    """The share of the time in which some task of its nodes waited for a processor, if that is nearly all of it, and
    calls do not show how slow the job was, of which nobody knows for how long it waited: ranks may spin, and of threads
    the first one's wait is counted.

    Calls do not show it of ranks that hardly made any, or were ready to run for most of the rest of their time; and of
    threads that were in calls for less than half of the runtime, unless they were seen to sleep there.
    """
    stall, took = _stall(digest), _took(digest, processes)
    if stall is None or stall < NEARLY_ALL:
        return None
    if took.spins:
        rest = took.runtime - io_seconds
        was_ready = took.ready >= MAINLY * rest and rest >= (1 - NEARLY_ALL) * took.runtime
        return stall if was_ready or io_seconds < HARDLY_IO * took.runtime else None
    is_short = io_seconds / took.pool < MAINLY * took.runtime if took.pool else False
    return stall if is_short and not sleeps_in_calls(digest) else None


def perhaps_delayed(digest: Digest, processes: int, io_seconds: float) -> float:
    """For how long threads whose waits nobody counted may have waited for a processor outside of calls, s: where some
    task of the nodes did nearly all the time, all that they neither computed nor were in calls.
    """
    took, stall = _took(digest, processes), _stall(digest)
    if not took.pool or stall is None or stall < NEARLY_ALL:
        return 0.0
    return max(0.0, took.runtime - io_seconds - took.processor)


def delayed_seconds(digest: Digest, processes: int) -> float | None:
    """How long the mean process waited for a processor; None where nobody counted, or it is little."""
    took = _took(digest, processes)
    is_much = took.delayed is not None and took.delayed >= LITTLE_OF_RUNTIME * took.runtime
    return took.delayed if is_much else None


def _took(digest: Digest, processes: int) -> _Took:
    usage = digest.usage.join(members(digest).select("process"), on="process", how="semi")
    count = max(1, processes)
    # A kernel that counts nothing (no schedstat) says 0: every process waits for some ns.
    is_known = not usage["delayed_ns"].null_count() and usage["delayed_ns"].sum() > 0
    counts = ("user_ns", "system_ns", "involuntary_switches", "major_faults")
    sums = usage.select(pl.col(counts).sum()).row(0, named=True)
    first = usage_in_sum(usage).with_columns(
        processor_ns=pl.col("user_ns") + pl.col("system_ns"),
        # Older versions did not count it: then all was the first one's where that can be.
        first_ns=pl.coalesce("first_thread_ns", pl.col("user_ns") + pl.col("system_ns")),
    )
    ready_ns = pl.col("first_ns") + pl.col("delayed_ns")
    sums_of_first = first.select(pl.col("first_ns", "processor_ns", "sampled_ns").sum(), ready_ns=ready_ns.sum())
    ran, processor, sampled, ready = sums_of_first.row(0)
    # A first thread that only waits for the others says nothing of their waits.
    is_busy = ran >= NEARLY_ALL * processor or MAINLY * sampled <= ready <= (1 + THREADS_ROUNDING) * sampled
    spins = digest.processes.select(are_ranks()).item()
    calls = digest.process_slices.group_by("process").agg(
        pl.sum_horizontal(*TIMES).sum().alias("calls_ns"), pl.col("threads").max()
    )
    in_calls = first.join(calls, on="process").select(
        # It slept in calls alone, and where it did not, it waited as often as all the time.
        delayed=(pl.col("calls_ns") - (pl.col("sampled_ns") - ready_ns).clip(0)).clip(0, ready_ns)
        / ready_ns.clip(1)
        * pl.col("delayed_ns"),
        is_first=(pl.col("threads") <= 1) & (ready_ns <= (1 + THREADS_ROUNDING) * pl.col("sampled_ns")),
    )
    delayed = int(usage["delayed_ns"].sum()) / 1e9 / count if is_known else 0.0
    is_first = is_known and is_busy and bool(in_calls["is_first"].all())
    return _Took(
        runtime_of(digest),
        (sums["user_ns"] + sums["system_ns"]) / 1e9 / count,
        sums["system_ns"] / 1e9 / count,
        _most_computed(digest, first, calls) if spins else (sums["user_ns"] + sums["system_ns"]) / 1e9 / count,
        sums["involuntary_switches"] / count,
        sums["major_faults"] / count,
        delayed if is_known and is_busy and not spins else None,
        delayed,
        spins,
        0 if is_busy or not is_known else max(1, int(real(digest.process_slices["threads"].max()))),
        real(in_calls["delayed"].sum()) / 1e9 / count if is_first else None,
    )


def _most_computed(digest: Digest, usage: pl.DataFrame, calls: pl.DataFrame) -> float:
    """Seconds that the rank computed which computed longest: of its processor time, what it cannot have spun in MPI.
    usage: processor_ns by process; calls: calls_ns.
    """
    kept = "communication" not in digest.not_kept
    mpi = digest.communication.group_by("process").agg(mpi_ns=pl.col("ns").sum()) if kept else None
    ranks = usage.join(digest.processes.select("process", "start_ns", "end_ns"), on="process")
    ranks = ranks.join(calls, on="process", how="left")
    ranks = ranks.join(mpi, on="process", how="left") if mpi is not None else ranks.with_columns(mpi_ns=0)
    in_calls = pl.col("calls_ns").fill_null(0) + pl.col("mpi_ns").fill_null(0)
    outside = (pl.col("end_ns") - pl.col("start_ns") - in_calls).clip(lower_bound=0)
    return real(ranks.select(pl.min_horizontal("processor_ns", outside).max()).item() or 0) / 1e9


def _rate(took: _Took) -> float:
    return took.switches / took.processor if took.processor > 0 else 0.0


def _stall(digest: Digest) -> float | None:
    """The share of the time in which some task of the job's nodes waited for a processor; None where nobody looked."""
    seconds = sampled_seconds(digest)
    return real(on_its_nodes(digest, ("cpu_stall",))["amount"].sum()) / seconds if seconds > 0 else None


def _for_memory(digest: Digest, runs: Sequence[Digest], more: float, system: float) -> float:
    """Seconds for which memory was short, more than in runs alone: in which something waited for it; or of `more` that
    the job slept, the part that was spent on what had been in memory before. system: for which the kernel computed more
    for it: in a swapping process to find pages that are free. Who waits for memory does one of these.
    """
    waited = seconds_short_of_memory(digest) - fmean(seconds_short_of_memory(run) for run in runs)
    waited = min(waited, more + system)
    fetched = fetched_by(digest)
    if fetched is None or not fetched.is_again:
        return max(0.0, waited)
    return max(waited, more * fetched.again.value + system * fetched.in_swap)


def cost_by_waiting(split: Split, slice_ns: int, slices: pl.DataFrame | None, grid_ns: int) -> CostByWaiting:
    """slice_ns: the length of the split's slices. slices: of a Blame, in slices of the grid, with what the job lost
    there; None where its loss is not known, or not claimed.

    A slice's I/O that held ranks up lost the same share as the mean process's I/O in that slice.
    """
    held = split.held.select(
        "seconds", slice=pl.col("slice") // (grid_ns // slice_ns), waited=pl.col("seconds") * pl.col("held")
    )
    seconds, waited = (float(held[name].sum()) for name in ("seconds", "waited"))
    if slices is None:
        return CostByWaiting(split, seconds, waited, None, None)
    lost = (
        slices.group_by("slice")
        .agg(pl.col("lost_seconds", "seconds").sum())
        .filter(pl.col("seconds") > 0)
        .select("slice", share=(pl.col("lost_seconds") / pl.col("seconds")).clip(upper_bound=1))
    )
    of_slices = held.join(lost, on="slice")
    sums = of_slices.select((pl.col(name) * pl.col("share")).sum().clip(0) for name in ("seconds", "waited"))
    return CostByWaiting(split, seconds, waited, *sums.row(0))
