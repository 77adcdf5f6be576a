"""Habits of a program's calls: what they cost its runtime, and what changing them saves.

Digest's frames and call sites in, dataclasses out. Seconds are of the runtime: of processes and threads side by side
the mean one's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from slicewise.analysis.job.sites import Sites
from slicewise.digest.activity import Direction
from slicewise.digest.digest import Digest
from slicewise.digest.processes import WITHOUT_PATH
from slicewise.digest.schema import FRAMES
from slicewise.estimate import Estimate
from slicewise.kinds import KINDS
from slicewise.scalars import real, whole
from slicewise.symbols.resolve import CodePlace

Habit = Literal[
    "syncs", "last syncs", "small writes", "small reads", "small buffers", "independent MPI-IO", "shared file",
    "random reads", "reads again", "scratch files", "opens", "small files", "failing calls", "looks", "locks",
    "one directory", "metadata at the begin", "one rank", "uneven ranks", "formatted text",
]  # fmt: skip

# How often a call is a habit: one that waits; any.
OFTEN, MANY = 100, 1000
# Bytes a call, or between two syncs or opens: more are no small ones. And what a large transfer has at least.
SMALL, LARGE = 64 << 10, 256 << 10
# Bytes by large transfers that show what these cost: less may be chance.
SHOWN = 16 << 20
# What is advised: one sync for so many, pieces of so many bytes.
A_BATCH, A_PIECE = 100, 1 << 20
# What large transfers cost in another run, as a factor.
UNSURE_FACTOR = 2.0
# Bytes: copying fewer takes next to none of a call's time; and what is left of that time in larger calls.
NO_COPY, OF_A_CALL = 1 << 10, 0.3
# Such a call waits for a device or a server (ns), which moves far less than it could (bytes/s). Of calls that copy into
# a cache nobody knows what their pages cost.
WAITS_NS, SLOW = 50_000, 100e6
# Samples of call sites that show how time divides among calls, within a fifth (binomial).
ENOUGH_SAMPLES = 30
# A failing call may take less or more time than the job's other metadata calls, which are the rest of these.
OF_A_LOOK = 0.5
# An open and a close, or a wait for a lock, cost the same each time but for this part; and around them more is done.
OF_AN_OPEN = 0.2
# So few transfers with each open may wait for it, if they take at most so many times as long as opens and closes.
WITH_EACH_OPEN, AS_LONG = 3, 2.0
# Of calls: reads of which fewer go on after the last one are at random; of streams' calls so many reach the kernel.
IN_ORDER, BUFFERED = 0.5, 0.5
# What an interpreter does around a call (ns): CPython 3.11 took 8,000 for open() and close(), 1,500 for os.stat(). And
# what of that goes most likely: it was 0.6 to 1.
AROUND_AN_OPEN_NS, AROUND_NS = 8_000, 2_000
LIKELY = 0.75
# What is read so often is read again; what storage sent of it is nearly all; and bytes/s of a copy in memory, at most.
READ_TIMES, ALMOST_ALL, OF_MEMORY = 2.0, 0.9, 10e9
# The same of files in memory that are written there first, by which memory is taken: at least, most likely, at most.
OF_NEW_MEMORY = (1e9, 2.5e9, OF_MEMORY)
# Of the files with most time in reads, how many sizes are asked for.
MOST_ASKED = 50
# What of a wait for locks, or for a sync that can go on meanwhile, goes at least, if the change is made.
AT_LEAST = 0.5
# Functions that are named, of those that looked.
MOST_NAMED = 3
# So many processes that do the same at one time, or in one directory, are a crowd. In the first part of the runtime.
CROWD, BEGIN = 8, 0.1

# Functions that open a file, and close it; and those that wait for locks.
OPENINGS = ("open", "openat", "creat", "fopen")
CLOSES = ("close", "fclose")
OPENS = (*OPENINGS, *CLOSES)
# What goes with an open in many programs (Python's): calls on the descriptor that move nothing.
WITH_AN_OPEN = (*OPENS, "fstat", "ioctl", "isatty", "lseek")
LOCKS = ("flock", "fcntl")
# Metadata calls on what is open, which fail for no name.
BY_DESCRIPTOR = (*(name for name in WITH_AN_OPEN if name not in OPENINGS), *LOCKS)
# Those that ask and change nothing; mkdir, of a directory that is there.
LOOKS = (
    *("stat", "lstat", "fstatat", "statx", "statfs", "access", "readlink", "realpath", "getxattr", "listxattr"),
    *("opendir", "readdir", "scandir", "closedir", "getdents", "mkdir", "mkdirat"),
)
# Those that turn numbers into text, and back; what one takes of a processor (ns): glibc 2.36 took 34 for a whole
# number, 206 for a fraction, and 9 for fwrite of 8 bytes. Fewer calls are no second.
FORMATTED, FORMATTED_NS, MANY_FORMATTED = ("fprintf", "fscanf", "fwprintf", "fwscanf"), (25, 100, 200), 5_000_000
# Calls of MPI-IO, without MPI_File_write or MPI_File_read, that a rank makes by itself.
BY_ONE_RANK = ("", "_at", "_shared")


@dataclass(frozen=True)
class CostlyHabit:
    """seconds: what the calls cost; saving: of these what the change saves (None: this run does not show it). calls;
    bytes: of one, or between two. file: the one path, else empty, of `files`. site: from where most are made. times:
    how often the same is done. who: the process, if it is one; or which functions. has_more: there are more files than
    those, which have no rows of their own.
    """

    habit: Habit
    seconds: float
    saving: Estimate | None
    calls: int
    bytes: float
    file: str = ""
    files: int = 0
    site: tuple[CodePlace, ...] = ()
    times: float = 1.0
    who: str = ""
    has_more: bool = False


@dataclass(frozen=True)
class JobCalls:
    """own, files: rows of `process_slices` and `files` of the job's own processes. part: by which seconds in calls
    become seconds of the runtime; kept: which part of these others did not cost. size_of: paths to the sizes of those
    files that are still as they were.
    """

    digest: Digest
    own: pl.DataFrame
    files: pl.DataFrame
    found: Sites
    runtime: float
    part: float
    size_of: Callable[[Sequence[str]], Mapping[str, int]]
    kept: float = 1.0

    @property
    def opens(self) -> int:
        """Calls that opened a file; also those of files that nothing was transferred with, which no row has."""
        return max(self.called(OPENINGS), int(self.files["opens"].sum()))

    def called(self, operations: Sequence[str]) -> int:
        """How often these functions were called."""
        return int(self.digest.calls.filter(pl.col("operation").is_in(list(operations)))["calls"].sum())

    def seconds(self, kind: str) -> float:
        return self.part * real(self.own[f"{kind}_ns"].sum()) / 1e9

    def accesses(self, way: Direction) -> pl.DataFrame:
        """The rows of `accesses` of a direction; none of a job of which they are not known."""
        known = "accesses" not in self.digest.not_kept
        rows = self.digest.accesses if known else pl.DataFrame(schema=FRAMES["accesses"].polars_schema)
        return rows.filter(pl.col("direction") == way)

    @property
    def computing(self) -> float:
        return max(0.0, self.runtime - sum(self.seconds(kind) for kind in KINDS))

    def with_what_is_around(self, saving: Estimate, calls: int, each_ns: int = AROUND_NS) -> Estimate:
        """The same, with what goes with the calls: of a script what its interpreter does around each, from nothing to
        all that it may be. No more than the runtime.
        """
        name = pl.col("path").str.extract(f"({WITHOUT_PATH})")
        runs_script = self.digest.processes.select(pl.col("program").str.starts_with(pl.concat_str(name, pl.lit(" "))))
        around = 0.0
        if runs_script.to_series().any():
            around = min(self.computing, self.part * calls * each_ns / 1e9)
        value, high = (min(self.runtime, one) for one in (saving.value + LIKELY * around, saving.high + around))
        return replace(saving, value=value, high=high)

    def sampled(self, operations: Sequence[str]) -> float:
        """Seconds of the runtime in some metadata calls, by samples of call sites; 0: these are too few to tell."""
        of_them = self.found.samples.filter(pl.col("operation").is_in(list(operations)))
        if int(of_them["samples"].sum()) < ENOUGH_SAMPLES:
            return 0.0
        return min(self.part * real(of_them["seconds"].sum()), self.seconds("meta"))

    def site(self, operations: Sequence[str]) -> tuple[CodePlace, ...]:
        """The call site of these functions with most time; empty: none was sampled."""
        of_them = self.found.samples.filter(pl.col("operation").is_in(list(operations)))
        if of_them.is_empty():
            return ()
        most = of_them.group_by("stack").agg(pl.col("seconds").sum()).sort("seconds", "stack", descending=[True, False])
        return self.found.stacks[whole(most["stack"][0])]

    def operations(self, kind: str) -> list[str]:
        """The functions of a kind that were sampled."""
        return [
            name for name in self.found.samples["operation"].unique() if self.digest.kind_of_operation(name) == kind
        ]

    def site_of(self, kind: str) -> tuple[CodePlace, ...]:
        return self.site(self.operations(kind))

    def at_large(self, way: Direction, size: int, seconds: float) -> Estimate | None:
        """What of some seconds is saved, if as many bytes are moved by large transfers; None if this run made few."""
        ops, moved = pl.col(f"{way}_ops"), pl.col(f"{way}_bytes")
        by_path = self.files.filter(pl.col("path") != "").group_by("path").agg(pl.col("^(read|write)_.*$").sum())
        large = by_path.filter(moved >= LARGE * ops)
        shown = real(large.select(moved.sum()).item())
        if shown < SHOWN:
            return None
        rest = self.part * size * real(large[f"{way}_ns"].sum()) / shown / 1e9
        low, value, high = (max(0.0, seconds - rest * factor) for factor in (UNSURE_FACTOR, 1.0, 1 / UNSURE_FACTOR))
        return Estimate(value, low, high, "what large transfers of this run cost")


def habits_of_calls(of: JobCalls) -> Iterator[CostlyHabit]:
    """All that is found; of calls that fit several, that which says most."""
    yield from _syncs(of)
    yield from _last_syncs(of)
    yield from _scratch_files(of)
    yield from list(_shared_file(of)) or _small(of, "write")
    yield from list(_reads_again(of)) or list(_random_reads(of)) or _small(of, "read")
    yield from _formatted(of)
    of_names = [*_opens(of), *_failing(of), *_looks(of), *_locks(of)]
    yield from [one for one in of_names if one.seconds > 0] or _crowd(of)


def _syncs(of: JobCalls) -> Iterator[CostlyHabit]:
    """Syncs after little was written each. What is written in any case is a part of what storage was sent meanwhile:
    of a storage that bytes hold up that part is left, or half; of one that requests hold up, next to nothing.
    Writes that wait may wait for the sync before them.
    """
    by_process = of.own.group_by("process").agg(
        pl.col("sync_ops", "sync_ns", "write_ops", "write_ns", "write_bytes").sum()
    )
    syncing = by_process.filter(pl.col("sync_ops") >= OFTEN, pl.col("write_bytes") < SMALL * pl.col("sync_ops"))
    syncs, wrote = int(syncing["sync_ops"].sum()), int(syncing["write_bytes"].sum())
    # Programs that do nothing else (sync FILE): others wrote.
    alone = by_process.filter(pl.col("sync_ops") > 0, pl.col("write_bytes") == 0)
    most, of_all = max(syncs, int(alone["sync_ops"].sum())), int(by_process["write_bytes"].sum())
    if most > syncs and most >= OFTEN and of_all < SMALL * most:
        syncing, syncs, wrote = alone, most, of_all
    if not syncs:
        return
    seconds = of.part * real(syncing["sync_ns"].sum()) / 1e9
    sent = real(of.digest.coverage["write_storage"].sum()) if "coverage" not in of.digest.not_kept else 0.0
    high = seconds * (1 - 1 / A_BATCH)
    low = high * max(AT_LEAST, 1 - wrote / sent) if sent else high * AT_LEAST
    waiting = syncing.filter(pl.col("write_ns") >= WAITS_NS * pl.col("write_ops"))
    high += of.part * real(waiting["write_ns"].sum()) / 1e9
    saving = Estimate((low + high) / 2, low, high, f"one sync for {A_BATCH} of these")
    yield CostlyHabit("syncs", seconds, saving, syncs, wrote / syncs, site=of.site_of("sync"))


def _formatted(of: JobCalls) -> Iterator[CostlyHabit]:
    """Numbers written or read as text, by what such calls take of a processor; no more than the program had."""
    calls = of.called(FORMATTED)
    if calls < MANY_FORMATTED or of.digest.usage.is_empty():
        return
    own = of.digest.usage.join(of.own.select("process").unique(), on="process", how="semi")
    low, value, high = (of.part * min(calls * each, int(own["user_ns"].sum())) / 1e9 for each in FORMATTED_NS)
    saving = Estimate(value, low, high, "what formatting takes of a processor")
    yield CostlyHabit("formatted text", value, saving, calls, 0.0, site=of.site(FORMATTED))


def _last_syncs(of: JobCalls) -> Iterator[CostlyHabit]:
    """Few syncs, each of which waits for much: that can be on its way while the program computes."""
    few = of.own.group_by("process").agg(pl.col("sync_ops", "sync_ns", "write_bytes").sum())
    few = few.filter(pl.col("sync_ops").is_between(1, OFTEN), pl.col("write_bytes") >= LARGE * pl.col("sync_ops"))
    syncs, seconds = int(few["sync_ops"].sum()), of.part * real(few["sync_ns"].sum()) / 1e9
    high = min(seconds - of.part * _while_computing(of, few) / 1e9, of.computing)
    if syncs and high > 0:
        saving = Estimate(high * (1 + AT_LEAST) / 2, high * AT_LEAST, high, "it computes for long enough")
        wrote = int(few["write_bytes"].sum()) / syncs
        yield CostlyHabit("last syncs", seconds, saving, syncs, wrote, site=of.site_of("sync"))


def _while_computing(of: JobCalls, syncing: pl.DataFrame) -> float:
    """Nanoseconds of syncs at least that went on while the program computed, in a thread besides others with I/O: as
    far as calls and computing took longer together than the process lived.
    """
    took = of.own.group_by("process").agg(
        calls_ns=pl.sum_horizontal(f"{kind}_ns" for kind in KINDS).sum(), threads=pl.col("threads").max()
    )
    computed = of.digest.usage.group_by("process").agg(pl.col("user_ns").sum())
    lived = of.digest.processes.select("process", life_ns=pl.col("end_ns") - pl.col("start_ns"))
    of_each = syncing.join(took.filter(pl.col("threads") > 1), on="process").join(computed, on="process")
    at_once = pl.col("calls_ns") + pl.col("user_ns") - pl.col("life_ns")
    both = of_each.join(lived, on="process").select(at_once.clip(0, pl.col("sync_ns")).sum())
    return real(both.item())


def _scratch_files(of: JobCalls) -> Iterator[CostlyHabit]:
    """Files on a server that one process alone writes and reads again; with their part of the time in closes, in which
    a client that writes behind waits for the server.
    """
    servers = of.digest.storages.filter(pl.col("node") == "").select("storage")
    points = of.digest.mounts.join(servers, on="storage", how="semi")["point"].unique().to_list()
    named = of.files.filter(pl.col("path") != "", pl.col("process").n_unique().over("path") == 1)
    moved = pl.min_horizontal("read_bytes", "write_bytes"), pl.max_horizontal("read_bytes", "write_bytes")
    is_there = pl.any_horizontal(pl.lit(False), *(pl.col("path").str.starts_with(f"{point}/") for point in points))
    scratch = named.filter(is_there, moved[0] > 0, moved[0] >= ALMOST_ALL * moved[1])
    if scratch.is_empty():
        return
    calls = int(scratch.select(pl.col("read_ops", "write_ops").sum()).sum_horizontal().item())
    seconds = of.part * real(scratch.select(pl.col("read_ns", "write_ns").sum()).sum_horizontal().item()) / 1e9
    size = real(scratch["write_bytes"].sum())
    seconds += of.sampled(CLOSES) * min(1.0, size / max(1.0, real(of.own["write_bytes"].sum())))
    file = scratch["path"][0] if scratch.height == 1 else ""
    copied = of.part * (size + real(scratch["read_bytes"].sum()))
    low, value, high = (max(0.0, seconds - copied / speed) for speed in OF_NEW_MEMORY)
    saving = Estimate(value, low, high, "what writing to and reading from memory takes")
    yield CostlyHabit("scratch files", seconds, saving, calls, size / scratch.height, file, scratch.height)


def _shared_file(of: JobCalls) -> Iterator[CostlyHabit]:
    """One file that several processes write small pieces of, each after another's: at one time, so that it costs no
    more than that of them which writes longest.
    """
    accesses = of.accesses("write").select(
        follow=pl.col("consecutive").sum(), calls=(pl.col("calls") - pl.col("first")).sum()
    )
    if real(accesses["follow"][0]) >= IN_ORDER * real(accesses["calls"][0]):
        return
    wrote = of.files.filter(pl.col("path") != "", pl.col("write_ops") > 0)
    by_path = wrote.group_by("path").agg(
        pl.col("process").n_unique(), pl.col("^write_.*$").sum(), longest_ns=pl.col("write_ns").max()
    )
    shared = by_path.filter(
        pl.col("process") > 1, pl.col("write_ops") >= OFTEN, pl.col("write_bytes") < SMALL * pl.col("write_ops"),
        pl.col("write_ns") >= WAITS_NS * pl.col("write_ops"),
    ).sort("write_ns", "path", descending=[True, False])  # fmt: skip
    for path, processes, calls, size, ns, longest_ns in shared.head(1).iter_rows():
        seconds = min(of.part * ns, of.kept * longest_ns) / 1e9
        saving = of.at_large("write", size, seconds)
        site = of.site_of("write")
        yield CostlyHabit("shared file", seconds, saving, calls, size / calls, path, 1, site, times=processes)


def _small(of: JobCalls, way: Direction) -> Iterator[CostlyHabit]:
    """Small transfers, at what large ones of the same run cost a byte."""
    ops, moved, spent = (pl.col(f"{way}_{what}") for what in ("ops", "bytes", "ns"))
    by_itself = of.files.join(_waiting_for_opens(of).select("process", "file"), on=["process", "file"], how="anti")
    by_path = by_itself.filter(pl.col("path") != "").group_by("path").agg(ops.sum(), moved.sum(), spent.sum())
    waits = spent >= WAITS_NS * ops
    small = by_path.filter((ops >= MANY) | (waits & (ops >= OFTEN)), moved > 0, moved < SMALL * ops).sort(
        f"{way}_ns", "path", descending=[True, False]
    )
    if small.is_empty():
        return
    made, size, ns = (int(small[f"{way}_{what}"].sum()) for what in ("ops", "bytes", "ns"))
    calls = max(1, round(made * _that_reach_the_kernel(of.digest, way)))
    is_buffered = calls < BUFFERED * made
    seconds = of.part * ns / 1e9
    saving = of.at_large(way, size, seconds)
    if saving is None and size <= NO_COPY * calls:
        low, value, high = ((1 - share) * seconds for share in (OF_A_CALL, OF_A_CALL / 2, 0.0))
        saving = of.with_what_is_around(Estimate(value, low, high, "so few bytes take no time to copy"), made)
    elif (saving is None or is_buffered) and (ns < WAITS_NS * calls or size > SLOW * ns / 1e9):
        return
    is_one = real(small[f"{way}_ns"][0]) > ns / 2
    habit: Habit = "small writes" if way == "write" else "small reads"
    if is_buffered:
        habit = "small buffers"
    elif of.called([f"MPI_File_{way}{where}" for where in BY_ONE_RANK]) > made / 2:
        habit = "independent MPI-IO"
    yield CostlyHabit(
        habit, seconds, saving, calls, size / calls, small["path"][0] if is_one else "", small.height, of.site_of(way)
    )


def _that_reach_the_kernel(digest: Digest, way: Direction) -> float:
    """The part of the calls of a direction that no stream's buffer serves; 1 where that is not known."""
    if "distributions" in digest.not_kept:
        return 1.0
    of_way = digest.distributions.filter(pl.col("kind") == way)
    by_what = dict(of_way.group_by("what").agg(pl.col("calls").sum()).iter_rows())
    return min(1.0, by_what["latency"] / by_what["size"]) if by_what.get("size") else 1.0


def _reads_again(of: JobCalls) -> Iterator[CostlyHabit]:
    """Files that a process reads more than once. Where storage sent nearly all of it, each time cost the same; else the
    later ones may have cost what copying in memory does.
    """
    large = of.files.filter(pl.col("path") != "", pl.col("read_bytes") >= SHOWN, pl.col("read_ns") > 0)
    longest = large.group_by("path").agg(pl.col("read_ns").sum()).sort("read_ns", "path", descending=[True, False])
    sizes = of.size_of(longest["path"].head(MOST_ASKED).to_list())
    size = pl.col("path").replace_strict(sizes, default=None, return_dtype=pl.Int64)
    again = large.with_columns(size=size).filter(
        pl.col("size") > 0, pl.col("read_bytes") >= READ_TIMES * pl.col("size")
    )
    if again.is_empty():
        return
    read, once = real(again["read_bytes"].sum()), real(again["size"].sum())
    seconds = of.part * real(again["read_ns"].sum()) / 1e9
    high = (
        of.part
        * real(again.select((pl.col("read_ns") * (1 - pl.col("size") / pl.col("read_bytes"))).sum()).item())
        / 1e9
    )
    all_read = real(of.own["read_bytes"].sum())
    sent = real(of.digest.coverage["read_storage"].sum()) if "coverage" not in of.digest.not_kept else 0.0
    is_cold = sent >= ALMOST_ALL * all_read
    low = high * (1 - OF_AN_OPEN) if is_cold else min(high, of.part * (read - once) / OF_MEMORY)
    saving = Estimate((low + high) / 2, low, high, "reading it once")
    most = again.sort("read_ns", "path", descending=[True, False])["path"][0]
    calls, files = int(again["read_ops"].sum()), again["path"].n_unique()
    yield CostlyHabit(
        "reads again", seconds, saving, calls, once / again.height, most if files == 1 else "", files,
        of.site_of("read"), times=read / once,
    )  # fmt: skip


def _random_reads(of: JobCalls) -> Iterator[CostlyHabit]:
    """Reads in no order that wait for a device or a server, one at a time."""
    many = of.accesses("read").filter(pl.col("calls") >= OFTEN)
    at_random = many.filter(pl.col("sequential") < IN_ORDER * (pl.col("calls") - pl.col("first")))
    reads = of.own.join(at_random.select("storage"), on="storage", how="semi")
    calls, size, ns = (int(reads[f"read_{what}"].sum()) for what in ("ops", "bytes", "ns"))
    if not calls or size >= LARGE * calls or ns < WAITS_NS * calls:
        return
    # Files that are read in large pieces are no part of it.
    by_path = of.files.group_by("path").agg(pl.col("^read_(ops|bytes|ns)$").sum())
    by_path = by_path.filter(pl.col("read_bytes") < LARGE * pl.col("read_ops"))
    calls, size, ns = (
        min(of_all, int(by_path[f"read_{what}"].sum()))
        for what, of_all in (("ops", calls), ("bytes", size), ("ns", ns))
    )
    if not calls:
        return
    by_path = by_path.filter(pl.col("path") != "")
    seconds = of.part * ns / 1e9
    most = by_path.sort("read_ns", "path", descending=[True, False]).head(1)
    is_one = bool(most.height) and real(most["read_ns"][0]) > ns / 2
    yield CostlyHabit(
        "random reads", seconds, of.at_large("read", size, seconds), calls, size / calls,
        most["path"][0] if is_one else "", by_path.filter(pl.col("read_ns") > 0).height, of.site_of("read"),
    )  # fmt: skip


def _opened_again(of: JobCalls) -> pl.DataFrame:
    """Rows of files that are opened again and again; little_each: for a little each time."""
    little_each = pl.sum_horizontal("read_bytes", "write_bytes") < SMALL * pl.col("opens")
    again = of.files.filter(pl.col("opens") >= OFTEN, pl.col("path") != "")
    return again.with_columns(little_each=little_each)


def _waiting_for_opens(of: JobCalls) -> pl.DataFrame:
    """Rows of files that are opened again for each few transfers, and these wait: some file systems open a file when it
    is first used, others forget at an open what they had in memory. No rows if transfers take much longer than opens:
    then it is they that wait.
    """
    ops, ns = pl.col("read_ops") + pl.col("write_ops"), pl.col("read_ns") + pl.col("write_ns")
    each = _opened_again(of).filter("little_each", ops <= WITH_EACH_OPEN * pl.col("opens"), ns >= WAITS_NS * ops)
    spent = of.sampled(WITH_AN_OPEN) * int(each["opens"].sum()) / max(1, of.opens)
    return each if of.part * real(each.select(ns.sum()).item()) <= AS_LONG * spent * 1e9 else each.clear()


def _opens(of: JobCalls) -> Iterator[CostlyHabit]:
    """Opening one file again and again, and many files once, for a little each time: by the sampled time of opens and
    closes; and at most by that of transfers which may have waited for these.
    """
    spent, opens = of.sampled(WITH_AN_OPEN), of.opens
    if not spent or not opens:
        return
    moved, any_again = pl.col("read_bytes") + pl.col("write_bytes"), _opened_again(of)
    again = any_again.filter("little_each")
    often = int(again["opens"].sum())
    # Of files that have no rows of their own as many were opened again as of the others, as far as is known.
    rest = int(of.files.filter(path="")["opens"].sum())
    more = round(rest * often / max(1, int(of.files["opens"].sum()) - rest))
    often += more
    if often:
        seconds = spent * often / opens
        high = seconds * (1 - again.height / (often - more))
        waited = _waiting_for_opens(of).select(pl.col("read_ns").sum() + pl.col("write_ns").sum())
        more_seconds = of.part * real(waited.item()) / 1e9
        low, value, high = high * (1 - OF_AN_OPEN), high + more_seconds / 2, high * (1 + OF_AN_OPEN) + more_seconds
        seconds += more_seconds
        once_only = Estimate(value, low, high, "opening it once")
        saving = of.with_what_is_around(once_only, often, AROUND_AN_OPEN_NS)
        by_path = again.group_by("path").agg(pl.col("opens").sum()).sort("opens", "path", descending=[True, False])
        path = by_path["path"][0] if int(by_path["opens"][0]) > often / 2 else ""
        bytes_each = real(again.select(moved.sum()).item()) / (often - more)
        yield CostlyHabit(
            "opens", seconds, saving, often, bytes_each, path, by_path.height, of.site(OPENINGS), has_more=more > 0
        )
    few = of.files.join(any_again, on=["process", "file"], how="anti")
    opened, each = int(few["opens"].sum()), real(few.select(moved.sum()).item())
    once = opened - more
    each *= once / max(1, opened)
    if once >= OFTEN and each < SMALL * once:
        seconds = spent * once / opens
        crowded = _crowded_directory(few)
        habit: Habit = "one directory" if crowded else "small files"
        low, high = seconds * AT_LEAST, seconds * (1 + OF_AN_OPEN)
        in_one = None if crowded else Estimate((low + high) / 2, low, high, "opening one file instead")
        yield CostlyHabit(habit, seconds, in_one, once, each / once, crowded, once, of.site(OPENINGS))


def _crowded_directory(files: pl.DataFrame) -> str:
    """The directory in which each of a crowd of processes writes files of its own, more than elsewhere; or nothing."""
    written = files.filter(pl.col("path") != "", pl.col("write_ops") > 0)
    places = written.group_by(directory=pl.col("path").str.replace(r"/[^/]*$", "")).agg(
        pl.col("process").n_unique(), files=pl.len()
    )
    crowded = places.filter(pl.col("process") >= CROWD, 2 * pl.col("files") > written.height)
    return str(crowded["directory"][0]) if crowded.height else ""


def _failed(of: JobCalls) -> int:
    on_files = of.digest.counters.filter(pl.col("object") == "file")
    return int(on_files["errors"].sum()) if "errors" in on_files.columns else 0  # servers and logs count none


def _failing(of: JobCalls) -> Iterator[CostlyHabit]:
    """Calls on names that are not there, taken to last as long as the job's other calls on names; closes, which may
    wait for what was written, are none.
    """
    failed, calls = _failed(of), int(of.own["meta_ops"].sum())
    if failed < MANY or not calls:
        return
    share = min(1.0, failed / max(1, calls - of.called(BY_DESCRIPTOR)))
    seconds = share * (of.seconds("meta") - of.sampled(BY_DESCRIPTOR))
    off = max(OF_AN_OPEN, OF_A_LOOK * (1 - share))
    low, high = ((1 + sign * off) * seconds for sign in (-1, 1))
    saving = Estimate(seconds, low, high, "its metadata calls last as long, whether they fail or not")
    saving = of.with_what_is_around(saving, failed)
    # An open that no row of files has may have failed; as for the rest, it was another function's call.
    opens = of.called(OPENINGS) - int(of.files["opens"].sum())
    names = of.operations("meta")
    others = [name for name in names if name not in (*WITH_AN_OPEN, *LOCKS)]
    yield CostlyHabit(
        "failing calls", seconds, saving, failed, 0.0, site=of.site(names if 2 * opens >= failed else others)
    )


def _looks(of: JobCalls) -> Iterator[CostlyHabit]:
    """Calls on names that are there (stat, access, directories, opens without a transfer), again and again; but where
    most of them fail.
    """
    looks = [name for name in of.operations("meta") if name in LOOKS]
    failed = _failed(of)
    opened = max(0, of.opens - int(of.files["opens"].sum()) - failed)
    calls = of.called(looks) + opened
    if calls >= OFTEN and 2 * failed < int(of.own["meta_ops"].sum()):
        of_opens = of.sampled(WITH_AN_OPEN) * opened / of.opens if opened else 0.0
        seconds = of.sampled(looks) + of_opens
        often = sorted(looks, key=lambda name: -of.called([name]))[:MOST_NAMED]
        if of_opens > seconds / 2:
            often, looks = [*OPENINGS[:1], *often][:MOST_NAMED], list(OPENINGS)
        yield CostlyHabit("looks", seconds, None, calls, 0.0, site=of.site(looks), who=", ".join(often))


def _of_the_shortest(of: JobCalls, operations: Sequence[str]) -> float:
    """Seconds of a call at that call site where these calls are shortest, as unlocking is; 0: there are not two."""
    of_them = of.found.samples.filter(pl.col("operation").is_in(list(operations)))
    sites = of_them.group_by("stack").agg(pl.col("samples", "seconds", "calls").sum())
    sites = sites.filter(pl.col("samples") >= ENOUGH_SAMPLES, pl.col("calls") > 0)
    return real(sites.select((pl.col("seconds") / pl.col("calls")).min()).item()) if sites.height > 1 else 0.0


def _locks(of: JobCalls) -> Iterator[CostlyHabit]:
    """Waits for locks on files: other processes hold these. What each call takes without that, since it asks a server,
    is saved with the locks only.
    """
    seconds = of.sampled(LOCKS)
    calls = of.called(LOCKS)
    waited = max(0.0, seconds - of.part * calls * _of_the_shortest(of, LOCKS))
    low, high = waited * AT_LEAST, seconds * (1 + OF_AN_OPEN)
    saving = Estimate((waited + seconds) / 2, low, high, "nobody waits for a file of its own")
    yield CostlyHabit("locks", seconds, saving, calls, 0.0, site=of.site(LOCKS))


def _crowd(of: JobCalls) -> Iterator[CostlyHabit]:
    """Metadata calls of many processes at once, when they begin."""
    starts = of.digest.processes.select("process", from_slice=pl.col("start_ns") // of.digest.slice_ns)
    until = max(1.0, BEGIN * of.runtime * 1e9 / of.digest.slice_ns)
    early = of.own.join(starts, on="process").filter(pl.col("slice") <= pl.col("from_slice") + until)
    did = early.filter(pl.col("meta_ops") > 0)
    ns, processes = real(did["meta_ns"].sum()), did["process"].n_unique()
    if processes >= CROWD and ns >= ALMOST_ALL * real(of.own["meta_ns"].sum()):
        yield CostlyHabit(
            "metadata at the begin", of.part * ns / 1e9, None, int(did["meta_ops"].sum()), 0.0,
            site=of.site_of("meta"), times=processes,
        )  # fmt: skip
