"""What is known about a job's lost time: whose it is, since when, and on what evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from slicewise.analysis.job.split import Split
from slicewise.analysis.runs.limits import limit_rate
from slicewise.analysis.runs.matching import Job
from slicewise.analysis.runs.storage import Storage
from slicewise.constants import MAINLY
from slicewise.estimate import Estimate
from slicewise.kinds import Confidence

Source = Literal["standalone runs", "other sizes", "quiet slices", "line", "shared slices", "envelope"]
# Best first: the first that is sure counts, unless a later one is known clearly better.
SOURCES: tuple[Source, ...] = ("standalone runs", "other sizes", "quiet slices", "line", "shared slices", "envelope")
# A share of the runtime: a loss of that much is large. It is claimed, or the answer is open.
LARGE_LOSS = 0.05
# Where a loss is not claimed and may yet be such a part of the runtime, it is open whether there was one.
MOST_OPEN = 0.25
# Kinds of calls that lose time apart from each other. A write is not there before it is synced: they are one kind.
LOSING_KINDS = ("read", "write", "meta")


@dataclass(frozen=True)
class Baseline:
    """One way to know what the job's I/O would have taken alone.

    seconds: the I/O time alone of the process that would have taken longest, on all storages; None where this source
    cannot tell, and then `refused` says why in one clause. runs: the names of the runs that it is from, if any.
    """

    source: Source
    seconds: Estimate | None
    confidence: Confidence
    refused: str = ""
    runs: list[str] = field(default_factory=list)


HAD_COMPANY = "it had company on the same file system"


@dataclass(frozen=True)
class RunTaken:
    """A run that may be a standalone run of a job: whether it was taken as one; else why not, in one clause."""

    job: str
    is_taken: bool
    why_not: str = ""


@dataclass(frozen=True)
class Neighbour:
    """Somebody who used the same storage while the job did. job: None for traffic that is in no profile.

    lost: seconds of the job's runtime that are ascribed to it. kinds: the same by kind of the job's own calls
    (`LOSING_KINDS`). storage: where most of that was. start_ns, end_ns: of the slices in which the job lost time while
    it was active there. read_bytes, write_bytes, meta_ops: what it did on the storage in those slices; seconds: how
    long they are. without_it_end: seconds after the job's start at which the job would have ended without this
    neighbour, by the model of sharing; None where the model does not hold, and then `no_model` says why.
    """

    job: str | None
    program: str
    processes: int
    nodes: int
    lost: Estimate
    kinds: dict[str, float]
    storage: Storage
    start_ns: int
    end_ns: int
    seconds: float
    read_bytes: int
    write_bytes: int
    meta_ops: int
    without_it_end: Estimate | None
    no_model: str = ""


@dataclass(frozen=True)
class Bystander:
    """A profiled job that used the job's storages meanwhile, and is not known to have taken time of them. moved: bytes;
    seconds: of its processes in calls there.
    """

    job: str
    moved: int
    meta_ops: int
    seconds: float


@dataclass(frozen=True)
class Traffic:
    """What a storage moved while the job ran, in bytes. counted: by the counters of nodes and mounts; None where there
    are none. profiled: by all jobs given. exponent: of the storage's capacity region, from `mixed` slices: 1 where
    reads, writes and metadata take turns, large where they do not meet; None where no slices tell. own_ns: what the
    job's own calls and waits for mapped files there took, all its processes together; of processes that could not be
    profiled all of the slices in which the kernel moved bytes for them.
    """

    storage: Storage
    profiled: int
    counted: int | None
    counter: str
    exponent: float | None = None
    mixed: int = 0
    own_ns: int = 0

    @property
    def covered(self) -> float | None:
        """The share of the traffic that profiles explain."""
        return None if not self.counted else min(1.0, self.profiled / self.counted)


@dataclass(frozen=True)
class OwnProcesses:
    """What the process with most I/O lost to the job's own other processes: seconds of its I/O alone, in no neighbour's
    share. slices: the same by slice (slice, seconds), which add up to it.
    """

    seconds: Estimate
    slices: pl.DataFrame


@dataclass(frozen=True)
class Outside:
    """What a job took longer than alone outside of I/O calls, in seconds of its runtime: than its standalone runs, or
    where there are none because it waited for processors.

    alone: the runtime alone, of those runs where there are any. computed_seconds: for which it had a processor more
    than they (of ranks, that with most); paced_seconds: for which it waited for one as often as they did for as much
    computing; waited_seconds: in which it waited for one; io_seconds: of these, the seconds in I/O calls.
    stall: the share of the time in which some task of its nodes waited for a processor; None where nobody looked.
    memory_seconds: for which memory was short, more than alone. loaded_seconds: for which its program and libraries
    were loaded for longer, from storage. slept_seconds: for which the mean process slept in the
    kernel (state D), more than alone and than what its I/O lost, by looks: an estimate; slept_at: mostly in this
    function; empty: not known.
    faults: page faults that read from storage, beyond those of the standalone runs, of the mean process. pages_bytes:
    what was fetched for it, alone as well, and is neither a call's nor known to be of mapped files. hidden_bytes: what
    was moved for it by no call and no page fault, if that is most of all. is_idle: for most of its runtime the mean
    process neither ran nor made calls, and may have waited for others, which nobody profiled. delayed_seconds: what it
    waited for processors more than they in all, by the kernel's count, also where it would have waited for storage
    meanwhile: the kernel reads ahead of a program that does not run.
    """

    alone: Estimate
    seconds: float
    computed_seconds: float
    waited_seconds: float
    io_seconds: float
    stall: float | None
    memory_seconds: float
    loaded_seconds: float
    slept_seconds: float
    slept_at: str
    faults: float
    pages_bytes: int = 0
    hidden_bytes: int = 0
    is_idle: bool = False
    paced_seconds: float = 0.0
    delayed_seconds: float = 0.0

    @property
    def work_seconds(self) -> float:
        """For which it computed more, with the waits for a processor that came with as much computing before."""
        return self.computed_seconds + self.paced_seconds

    @property
    def is_for_processor(self) -> bool:
        """Whether most of it was a wait for a processor."""
        return self.waited_seconds > MAINLY * self.seconds

    @property
    def is_for_memory(self) -> bool:
        """Whether memory was short for most of it."""
        return self.memory_seconds > MAINLY * self.seconds


@dataclass(frozen=True)
class LowerLimit:
    """A control group's limit on a storage that was lower than in runs alone: rate, alone (bytes/s, or requests/s).
    seconds: of the loss, which it cost.
    """

    storage: Storage
    group: str
    is_requests: bool
    rate: float
    alone: float
    seconds: float = 0.0

    def told(self, rate: float) -> str:
        return limit_rate(rate, self.is_requests)


@dataclass(frozen=True)
class TimeLimited:
    """A job that runs for a set time. alone: the runtime of its standalone runs. what: the columns of jobs that say how
    much it did; done, alone_done: their sums, of the job and of the mean standalone run.
    """

    alone: Estimate
    what: tuple[str, ...]
    done: float
    alone_done: float

    @property
    def less(self) -> float:
        """By which share it did less than alone; below 0: more."""
        return 1 - self.done / self.alone_done if self.alone_done else 0.0


@dataclass(frozen=True)
class HadTurn:
    """A job that used the storage while the job waited for its turn, and for how many seconds of that."""

    job: str
    seconds: float


@dataclass(frozen=True)
class Turn:
    """What the job waited for its turn at I/O: seconds of its runtime, in no call and in no neighbour's share.

    had_it: who took turns too and used the job's storages in the slices in which it waited, the longest first; what
    their seconds lack was while nobody is known to have used them. slices: slice, seconds.
    """

    seconds: Estimate
    waits: int
    had_it: list[HadTurn]
    slices: pl.DataFrame


@dataclass(frozen=True)
class CostByWaiting:
    """What I/O of a job's ranks cost the other ranks, which waited for them in MPI.

    split: where each rank's time went. io_seconds: I/O that held others up, added up over the ranks that made it;
    waited_seconds: how long others waited for it, added up over them. lost_io_seconds, lost_waited_seconds: of these,
    what I/O took longer than alone; None where that is not known, or not claimed.
    """

    split: Split
    io_seconds: float
    waited_seconds: float
    lost_io_seconds: float | None
    lost_waited_seconds: float | None


@dataclass(frozen=True)
class Blame:
    """What a job lost, and to whom.

    runtime_seconds: from the job's first process to its last one's end (of a running job: to `as_of_ns`). io_seconds:
    time in calls on files of the process with most; io_processes: how many processes that was compared over, of which
    those that ran one after another count as one. mapped_seconds: of these, that process's waits for pages of mapped
    files, an estimate. alone: the runtime without the loss; lost: seconds of the runtime;
    both None where it is unknown. slowdown: runtime over alone. is_claimed: the loss is above its interval and above
    2 % of the I/O time. Neighbours' losses, `turn` (the wait for its turn, where jobs take turns; else None) and
    `unexplained_seconds` add up to `lost`, and `apart_seconds` is the part of the unexplained during which processes
    waited for the slowest one's end. io_lost: seconds of I/O time of the mean process, before they became runtime;
    waits: how the one became the other, and bounds (see docs/models.md). own_processes: what of `io_seconds`, beside
    the loss, was lost to the job's own other processes; None where it is unknown. by_waiting: what I/O cost ranks that
    waited for others' I/O in MPI; None of a job without calls of MPI by class. outside: what it took longer outside of
    I/O; then alone is without that, too, and lost is I/O alone. delayed_seconds: where the time alone is unknown, how
    long the mean process waited for a processor; None: not counted, or little. memory_seconds: likewise, how long it
    slept until what its memory did not hold was fetched again. time_limited: likewise, of a job that
    did less in the same time; it has no slowdown.

    sources: every source of a baseline, tried in the order of `SOURCES`; baseline: the one that counts. contradiction:
    where two sources disagree, a sentence; else empty. runs: those that were looked at as standalone runs.
    unknown_because, next_step: why nothing can be told, and the command that would tell. is_hidden: since no call shows
    most of its I/O. lower_limit: what cost a part of the unexplained.

    slices: a row a slice and storage: slice, storage, seconds (of the mean process in calls), alone_seconds,
    lost_seconds, read_bytes, write_bytes, meta_ops. shares: a row a slice, storage and neighbour that was active:
    slice, storage, neighbour (null: no profile), storage_seconds (that it took), lost_seconds, read_bytes, write_bytes,
    meta_ops. lost_seconds there add up, with the slices that nobody shared, to io_lost. regions: what occurrences of
    the program's regions lost, and to whom (`blame.regions.SCHEMA`). bystanders: who was there and took next to
    nothing. is_in_memory: its calls asked nothing of any disk.
    """

    job: Job
    is_running: bool
    as_of_ns: int
    runtime_seconds: float
    io_seconds: float
    io_processes: int
    alone: Estimate | None
    lost: Estimate | None
    io_lost: Estimate | None
    confidence: Confidence
    is_claimed: bool
    neighbours: list[Neighbour]
    unexplained_seconds: float
    apart_seconds: float
    waits: Literal["ranks", "processes", "strands", "one process"]
    baseline: Baseline | None
    sources: list[Baseline]
    contradiction: str
    unknown_because: str
    next_step: str
    traffic: list[Traffic]
    missing: list[str]
    notes: list[str]
    slice_ns: int
    slices: pl.DataFrame
    shares: pl.DataFrame
    own_processes: OwnProcesses | None = None
    turn: Turn | None = None
    by_waiting: CostByWaiting | None = None
    outside: Outside | None = None
    delayed_seconds: float | None = None
    memory_seconds: Estimate | None = None
    mapped_seconds: float = 0.0
    time_limited: TimeLimited | None = None
    runs: list[RunTaken] = field(default_factory=list)
    is_hidden: bool = False
    lower_limit: LowerLimit | None = None
    regions: pl.DataFrame = field(default_factory=pl.DataFrame)
    bystanders: list[Bystander] = field(default_factory=list)
    is_in_memory: bool = False

    @property
    def turn_seconds(self) -> float:
        """What it waited for its turn; 0 where jobs took none."""
        return self.turn.seconds.value if self.turn else 0.0

    @property
    def is_too_uncertain(self) -> bool:
        """Whether a loss that is not claimed would be a large one, if it was one: whether there was one is open."""
        if self.is_claimed or self.lost is None or self.alone is None:
            return False
        value, high = (self.runtime_seconds - alone for alone in (self.alone.value, self.alone.low))
        return value > LARGE_LOSS * self.runtime_seconds or high > MOST_OPEN * self.runtime_seconds

    @property
    def is_io_open(self) -> bool:
        """Whether a loss in I/O that is not claimed would be a large one, if it was one, whatever was lost besides."""
        if self.is_claimed or self.lost is None:
            return False
        return self.lost.value > LARGE_LOSS * self.runtime_seconds or self.lost.high > MOST_OPEN * self.runtime_seconds

    @property
    def lost_share(self) -> float:
        """The share of the time in I/O calls that is claimed to be lost."""
        is_known = self.is_claimed and self.lost is not None and self.io_seconds > 0
        return min(1.0, self.lost.value / self.io_seconds) if is_known and self.lost else 0.0

    @property
    def slowdown(self) -> float | None:
        """How many times as long as alone the job took; None where the time alone is not known, or 0, or set."""
        if self.time_limited is not None:
            return None
        return self.runtime_seconds / self.alone.value if self.alone and self.alone.value > 0 else None
