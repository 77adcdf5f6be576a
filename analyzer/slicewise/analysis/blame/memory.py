"""Whether the memory of a job's nodes was short: what the kernel had to fetch again, and how long something waited.

Digests in, figures out. What nobody counted is 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.analysis.coverage import unprofiled_programs
from slicewise.analysis.runs.storage import busy_on
from slicewise.constants import (
    EQUAL_VOLUMES,
    LITTLE_BYTES,
    LITTLE_OF_RUNTIME,
    MAINLY,
    NEARLY_ALL,
    WORTH_NAMING_BYTES,
)
from slicewise.digest.activity import members, runtime_of
from slicewise.digest.digest import Digest
from slicewise.digest.fetched import unplaced_bytes
from slicewise.digest.slices import BYTES, TIMES
from slicewise.digest.storages import UNINTERRUPTIBLE_TYPES
from slicewise.estimate import Estimate
from slicewise.scalars import real
from slicewise.statistics import NORMAL

# How often the collector looks at where threads sleep (WATCH_NS in collector/run.c).
LOOKS_A_SECOND = 4
# How many of a job's processes one look sees, and how many threads of each (collector/waiting.c).
PROCESSES_A_LOOK, THREADS_A_LOOK = 8, 8
# Looks that found nobody asleep leave as many unseen, at 95 %.
MOST_UNSEEN = 3
# Where the node's reads are counted; disks that are made of others would count twice.
READ_BY_NODE = ("disk_read", "nfs_read", "lustre_read")
MADE_OF_OTHERS = "^(dm-|md|loop|zram|ram)"
REFAULTS = ("file_refaults", "anonymous_refaults")
# Bytes: a page fault reads no more ahead (128 KiB as kernels come).
MOST_A_FAULT = 4 << 20
# A read counts as whole pages: one at each of its ends. A write counts as all that lies in one piece of the cache with
# it, which new kernels make as large as what they read ahead, and seldom larger (6.18: of 16 KiB each, 55 KiB).
MOST_PAGES_A_CALL = 2
MOST_A_WRITE = 128 << 10
# The kernel counts pages of control groups, which are larger on some machines.
PAGE_BYTES = 4096

NOTHING = Estimate(0.0, 0.0, 0.0, "nobody counted pages that were fetched again")


@dataclass(frozen=True)
class Fetched:
    """Bytes that a job's calls read and wrote and that it mapped; what the kernel fetched from storage for it, of that
    the part that it fetched again after it had been evicted (an estimate), and the part that was in swap.
    """

    called: int
    wrote: int
    mapped: int
    fetched: int
    again: Estimate = NOTHING
    in_swap: float = 0.0

    @property
    def of_files(self) -> int:
        return round(self.fetched * (1 - self.in_swap))

    @property
    def read(self) -> int:
        """What it read, as far as can be told: of a mapped file what was fetched of it, each byte once."""
        return max(self.called, min(self.mapped, self.of_files))

    @property
    def from_storage(self) -> float:
        """The part of that which came from storage, 0 to 1."""
        return min(1.0, self.of_files / self.read)

    @property
    def is_by_faults(self) -> bool:
        """Whether most of it was no call's: files were mapped, or memory was in swap."""
        return (self.mapped > 0 or self.in_swap > 0) and self.fetched - self.called > MAINLY * self.fetched

    @property
    def is_again(self) -> bool:
        """Whether most of it surely had been in memory before, which was short."""
        return self.fetched >= WORTH_NAMING_BYTES and self.again.low >= MAINLY


def fetched_by(digest: Digest) -> Fetched | None:
    """What a job's processes read; None where they read nothing, nobody counted, or no call shows most of it: what came
    from a cache is not known then.
    """
    if "coverage" in digest.not_kept or digest.coverage.is_empty() or moved_by_no_call(digest):
        return None
    counted = digest.coverage.join(members(digest).select("process"), on="process", how="semi")
    sums = counted.select(pl.col("^(read|write)_(seen|requested)$", "mapped", "read_storage").sum()).row(0, named=True)
    called, wrote = (int(sums[f"{way}_seen"] or 0) + int(sums[f"{way}_requested"] or 0) for way in ("read", "write"))
    mapped, fetched = int(sums["mapped"] or 0), int(sums["read_storage"] or 0)
    each_once = fetched - called - mapped < WORTH_NAMING_BYTES
    again, in_swap = (NOTHING, 0.0) if each_once and _is_not_short(digest) else _again(digest, fetched)
    found = Fetched(called, wrote, mapped, fetched, again, in_swap)
    return found if found.read else None


def moved_by_no_call(digest: Digest) -> int:
    """The bytes that the kernel moved for a job, and that neither its calls nor its page faults account for, if they
    are most of what it moved; else 0. A program that makes its system calls by itself does such I/O by io_uring, and
    one that could not be profiled does all of it so.
    """
    return _by_no_call(digest)[0]


def _by_no_call(digest: Digest) -> tuple[int, int]:
    """The same, at the least and at the most: how much page faults read is not known."""
    if "coverage" in digest.not_kept or digest.coverage.is_empty():
        return 0, 0
    unprofiled = _by_unprofiled(digest)
    if unprofiled:
        return unprofiled, unprofiled
    counts = pl.col("^(read|write)_(seen|requested|storage)$", "mapped")
    sums = digest.coverage.select(counts.sum()).row(0, named=True)
    if real(sums["mapped"] or 0) >= LITTLE_BYTES:
        return 0, 0  # mappings are read and written by no call
    most = unplaced_bytes(digest)
    read = max(0.0, most - MOST_A_FAULT * real(digest.usage["major_faults"].sum()))
    by_calls = real(sums["write_seen"] or 0) + real(sums["write_requested"] or 0)
    pieces = MOST_A_WRITE * (real(digest.process_slices["write_ops"].sum()) + 1)
    wrote = max(0.0, real(sums["write_storage"] or 0) - by_calls - pieces)
    moved = real(sums["read_storage"] or 0) + real(sums["write_storage"] or 0)
    if read + wrote <= max(WORTH_NAMING_BYTES, MAINLY * moved):
        return 0, 0
    return round(read + wrote), round(most + wrote)


def _by_unprofiled(digest: Digest) -> int:
    """The bytes that the kernel counted for a job beyond its calls, where programs of it could not be profiled, and
    that is most of what it moved; else 0.
    """
    if "launches" in digest.not_kept or digest.launches.is_empty():
        return 0
    counted = int(digest.launches.select((pl.sum_horizontal(BYTES) - pl.col("own_bytes")).sum()).item() or 0)
    seen = int(digest.coverage.select(pl.sum_horizontal("read_seen", "write_seen").sum()).item() or 0)
    beyond = counted - max(seen, sum(int(digest.about[name] or 0) for name in BYTES))
    return beyond if beyond > max(WORTH_NAMING_BYTES, MAINLY * counted) and unprofiled_programs(digest) else 0


def did_as_much_by_no_call(digest: Digest, run: Digest) -> bool:
    """Whether as many bytes were moved so for two runs of one command line, as far as is known."""
    (least, most), (its_least, its_most) = _by_no_call(digest), _by_no_call(run)
    alike = digest.about["command"] == run.about["command"]
    return bool(least and its_least) and alike and max(least, its_least) * (1 - EQUAL_VOLUMES) <= min(most, its_most)


def did_as_much_by_calls(one: Fetched, other: Fetched) -> bool:
    """Whether two jobs read and wrote as many bytes by calls, and mapped as many."""
    pairs = ((one.called, other.called), (one.wrote, other.wrote), (one.mapped, other.mapped))
    return all(abs(its - others) <= EQUAL_VOLUMES * max(its, others) for its, others in pairs)


def _is_not_short(digest: Digest) -> bool:
    """Whether hardly any task of a job's nodes waited for memory, by a kernel that counts such waits. No counter tells
    who had in memory what a job reads for the first time, or when it was evicted.
    """
    waited = _amount(digest, ("memory_stall", "cgroup_memory_stall"))
    counts = waited > 0 or _amount(digest, ("cpu_stall",)) > 0
    return counts and waited < LITTLE_OF_RUNTIME * runtime_of(digest)


def _again(digest: Digest, fetched: int) -> tuple[Estimate, float]:
    """The part of the bytes fetched for a job that were fetched again, and the part that was in swap.

    Its control group counts them where one was sampled. Else the job has the same part of its bytes as all on its nodes
    together; at least what is left if others fetched nothing but such bytes, and at most all such bytes.
    """
    if digest.node_samples.is_empty() or not fetched:
        return NOTHING, 0.0
    if _has_group(digest):
        files, swap = (PAGE_BYTES * _amount(digest, (f"cgroup_{name}",)) for name in REFAULTS)
        of_all = float(fetched)
    else:
        files, swap = (_amount(digest, (name,)) for name in REFAULTS)
        reads = on_its_nodes(digest, READ_BY_NODE).remove(pl.col("device").str.contains(MADE_OF_OTHERS))
        of_all = max(fetched, real(reads["amount"].sum()))
    again = files + swap
    parts = ((again - (of_all - fetched)) / fetched, again / of_all, again / fetched)
    low, value, high = (min(1.0, max(0.0, part)) for part in parts)
    return Estimate(value, low, high, "pages that were fetched again"), value * swap / again if again else 0.0


def seconds_short_of_memory(digest: Digest) -> float:
    """Seconds of a job's runtime in which some task waited for memory: of its control group, which may have a limit of
    its own, or of its nodes where none was sampled.
    """
    sampled = sampled_seconds(digest)
    waited = _amount(digest, ("cgroup_memory_stall" if _has_group(digest) else "memory_stall",))
    return waited / sampled * runtime_of(digest) if sampled else 0.0


def slept(digest: Digest, processes: int) -> tuple[float, str]:
    """For how long the mean of so many processes slept in the kernel so that no signal wakes it, s: an estimate, of
    looks; and in which of its functions mostly, as far as it says.
    """
    rows = on_its_nodes(digest, ("waiting",))
    if rows.is_empty():
        return 0.0, ""
    places = rows.group_by("device").agg(pl.col("amount").sum()).sort("amount", "device", descending=[True, False])
    named = [name for name in places["device"] if name]
    return real(rows["amount"].sum()) / max(1, processes), named[0] if named else ""


def sleeps_in_calls(digest: Digest) -> bool:
    """Whether all threads together were seen to sleep in the kernel for nearly as long as they were in calls that wait
    for storage: then it is not for a processor that these waited.
    """
    in_calls = real(digest.process_slices.select(pl.sum_horizontal(pl.col(*TIMES).sum())).item() or 0) / 1e9
    return in_calls > 0 and slept(digest, 1)[0] >= NEARLY_ALL * in_calls


def most_slept(digest: Digest) -> float | None:
    """For how long all processes together slept so at most, s; None where nobody looked all the time, where looks see
    only some of the threads that made calls, or where clients of the job's storages sleep otherwise.
    """
    its = members(digest)
    watched = sampled_seconds(digest, "watched_seconds")
    used = digest.storages.filter(pl.col("storage").is_in(busy_on(digest)))
    kind = pl.col("type").cast(pl.String)
    is_local = (pl.col("node").cast(pl.String) != "") & ~kind.str.starts_with("fuse")
    if (
        watched < NEARLY_ALL * runtime_of(digest) * its["node"].n_unique()
        or not used.select((is_local | kind.is_in(UNINTERRUPTIBLE_TYPES)).all()).item()
        or real(digest.process_slices["threads"].max()) > THREADS_A_LOOK
    ):
        return None
    found, each = slept(digest, 1)[0], max(1.0, its.height / PROCESSES_A_LOOK) / LOOKS_A_SECOND
    return found + NORMAL * float((found * each) ** 0.5) + MOST_UNSEEN * each


def awake_in_calls(digest: Digest, processes: int, lost: float) -> float:
    """How many of the seconds that the mean of so many processes lost in I/O calls it cannot have slept for its
    storage, as the collector's looks say; 0 where these do not tell. In metadata calls, such as locks, it may have
    slept in other ways.
    """
    most = most_slept(digest)
    otherwise = real(digest.process_slices["meta_ns"].sum()) / 1e9
    return 0.0 if most is None else max(0.0, lost - (most + otherwise) / max(1, processes))


def waited_little(digest: Digest) -> bool:
    """Whether no process of a job waited long for what it read, in calls or for pages; false where nobody looked."""
    faulted = digest.usage.filter(pl.col("major_faults") > 0)["process"].n_unique()
    seconds = max(slept(digest, faulted)[0], _longest_in(digest, "read_ns"))
    return sampled_seconds(digest) > 0 and seconds < LITTLE_OF_RUNTIME * runtime_of(digest)


def reads_briefly(digest: Digest) -> bool:
    """Whether what a job's calls read took none of its processes long."""
    return _longest_in(digest, "read_ns", "read_request_ns") < LITTLE_OF_RUNTIME * runtime_of(digest)


def is_mostly_io(digest: Digest) -> bool:
    """Whether some process of a job spent most of its runtime in calls on files."""
    return _longest_in(digest, *TIMES) >= MAINLY * runtime_of(digest)


def _longest_in(digest: Digest, *columns: str) -> float:
    sums = digest.process_slices.group_by("process").agg(ns=pl.sum_horizontal(*columns).sum())["ns"]
    return real(sums.max()) / 1e9 if len(sums) else 0.0


def loading_of(digest: Digest) -> float:
    """From the begin of its command to that of its first process, s: so long its program and libraries were loaded,
    from memory or from storage.
    """
    return max(0, int(str(digest.processes["start_ns"].min() or 0)) - int(digest.about["start_ns"])) / 1e9


def seconds_refetching(digest: Digest, processes: int, in_calls: float = 0.0) -> Estimate | None:
    """For how long the mean process slept until what had been in memory before was fetched again, without `in_calls`
    (s), the time in calls; None: memory was not short, or nobody looked. An estimate, of looks at sleeping threads.
    """
    fetched, sampled = fetched_by(digest), sampled_seconds(digest)
    runtime = runtime_of(digest)
    if fetched is None or not fetched.is_again or not sampled or not runtime:
        return None
    part = min(1.0, slept(digest, processes)[0] / runtime)
    error = NORMAL * (part * (1 - part) / (LOOKS_A_SECOND * sampled)) ** 0.5
    again = fetched.again
    bounds = ((part - error) * again.low, part * again.value, min(1.0, part + error) * again.high)
    low, value, high = (max(0.0, runtime * share - in_calls) for share in bounds)
    return Estimate(value, low, high, "looks at where its threads slept, and pages that were fetched again")


def sampled_seconds(digest: Digest, column: str = "seconds") -> float:
    """For how long the job's nodes were sampled, or watched (watched_seconds), all together."""
    if digest.node_samples.is_empty():
        return 0.0
    return real(digest.node_samples.filter(pl.col("node").is_in(_nodes(digest)))[column].sum())


def on_its_nodes(digest: Digest, signals: Sequence[str]) -> pl.DataFrame:
    """Rows of some signals in the digest's frame `node_slices`, of the job's own nodes."""
    return digest.node_slices.filter(pl.col("node").is_in(_nodes(digest)), pl.col("signal").is_in(list(signals)))


def _amount(digest: Digest, signals: Sequence[str]) -> float:
    return 0.0 if digest.node_samples.is_empty() else real(on_its_nodes(digest, signals)["amount"].sum())


def _nodes(digest: Digest) -> list[str]:
    return members(digest)["node"].unique().to_list()


def _has_group(digest: Digest) -> bool:
    return not digest.node_samples.is_empty() and bool((digest.node_slices["kind"] == "cgroup").any())
