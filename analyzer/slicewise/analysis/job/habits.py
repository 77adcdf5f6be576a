"""Habits of a program's transfers and syncs: what they cost its runtime, and what changing them saves.

A job's calls in, dataclasses out.
"""

from collections.abc import Iterator

import polars as pl

from slicewise.analysis.job.job_calls import (
    A_BATCH,
    ALMOST_ALL,
    AT_LEAST,
    CLOSES,
    LARGE,
    MANY,
    MOST_ASKED,
    OF_AN_OPEN,
    OFTEN,
    SHOWN,
    SMALL,
    TIMES_AGAIN,
    UNSURE_FACTOR,
    WAITS_NS,
    CostlyHabit,
    Habit,
    JobCalls,
    that_count,
)
from slicewise.analysis.job.name_habits import habits_of_names, with_each_open
from slicewise.digest.activity import Direction
from slicewise.digest.digest import Digest
from slicewise.digest.layers import is_own
from slicewise.digest.processes import usage_in_sum
from slicewise.digest.slices import TIMES
from slicewise.estimate import Estimate
from slicewise.scalars import real

# Bytes: copying fewer takes next to none of a call's time; and what is left of that time in larger calls.
NO_COPY, OF_A_CALL = 1 << 10, 0.3
# A device or a server that is waited for moves far less than it could (bytes/s). Of calls that copy into a cache nobody
# knows what their pages cost.
SLOW = 100e6
# Of calls: transfers of which fewer begin where the last one ended are in no order, and if of reads so many begin after
# it, they go forward (half of those at random do); of streams' calls so many reach the kernel.
IN_ORDER, FORWARD, BUFFERED = 0.5, 0.75, 0.5
# Bytes/s of a copy in memory, at most.
OF_MEMORY = 10e9
# So often mapped files are fetched again: less is read ahead, or has libraries.
MAPPED_TIMES = 1.5
# The same of files in memory that are written there first, by which memory is taken: at least, most likely, at most.
# A virtual machine wrote new pages of /dev/shm at 2 to 3e9 bytes/s and read them at 5 to 6e9; a busy node has less.
OF_NEW_MEMORY = (1e9, 2.5e9, OF_MEMORY)
# Functions that turn numbers into text, and back; what one takes of a processor (ns): glibc 2.36 took 34 for a whole
# number, 206 for a fraction, and 9 for fwrite of 8 bytes. Fewer calls are no second.
FORMATTED, FORMATTED_NS, MANY_FORMATTED = ("fprintf", "fscanf", "fwprintf", "fwscanf"), (25, 100, 200), 5_000_000
# What a shell does for each line that it reads (bash 5.2 took 4,400 to 6,500 ns to add up numbers); and by which it
# moves back to the line's end.
AROUND_A_LINE_NS, SEEKS_BACK = 7_000, ("lseek",)
# Programs that copy files to a pipe, as they are.
COPIERS = ("cat", "dd", "pv")
# Calls of MPI-IO, without MPI_File_write or MPI_File_read, that a rank makes by itself; and those that ranks make
# together.
BY_ONE_RANK = ("", "_at", "_shared")
TOGETHER = ("_all", "_at_all", "_ordered", "_all_begin", "_at_all_begin", "_ordered_begin")
# Pieces of one such call: one that gathers them makes a few, and Open MPI 4.1 without a hint made 200,000.
IN_PIECES = 10


def habits_of_calls(of: JobCalls) -> Iterator[CostlyHabit]:
    """All that is found; of calls that fit several, that which says most."""
    syncs = list(_syncs(of))
    yield from syncs
    yield from _last_syncs(of)
    yield from _scratch_files(of)
    yield from _piped_copies(of)
    yield from list(_shared_file(of)) or _small(of, "write")
    yield from list(_lines_of_shells(of)) or list(_reads_again(of)) or list(_random_reads(of)) or _small(of, "read")
    yield from _mapped_again(of)
    yield from _formatted(of)
    for one in habits_of_names(of):
        # A database looks for a journal, which is not there, at each change.
        if one.habit != "failing calls" or one.calls > sum(each.calls for each in syncs):
            yield one


# Of a process: a sync for each little that it wrote; whether its writes may go with the syncs: not if they take longer;
# and whether they wait for the syncs before them.
_SYNCS_OFTEN = (pl.col("sync_ops") >= OFTEN) & (pl.col("write_bytes") < SMALL * pl.col("sync_ops"))
_GOES_WITH_SYNCS = pl.col("write_ns") <= pl.col("sync_ns")
_WAITS_AFTER_SYNCS = _GOES_WITH_SYNCS & (pl.col("write_ns") >= WAITS_NS * pl.col("write_ops"))


def _syncs_and_writes(of: JobCalls) -> pl.DataFrame:
    names = ("sync_ops", "sync_ns", "write_ops", "write_ns", "write_bytes")
    return of.own.group_by("process").agg(pl.col(names).sum())


def _syncs(of: JobCalls) -> Iterator[CostlyHabit]:
    """Syncs after little was written each. What is written in any case is a part of what storage was sent meanwhile:
    of a storage that bytes hold up that part is left, or half; of one that requests hold up, next to nothing, or twice
    that. At most the writes go with the syncs, as small as they are, or since they wait for these; and so do the writes
    of what is written again and again, and the calls on names of a journal for each.
    """
    by_process = _syncs_and_writes(of)
    syncing = by_process.filter(_SYNCS_OFTEN)
    syncs, wrote = int(syncing["sync_ops"].sum()), int(syncing["write_bytes"].sum())
    # Programs that do nothing else (sync FILE): others wrote.
    alone = by_process.filter(pl.col("sync_ops") > 0, pl.col("write_bytes") == 0)
    most, of_all = max(syncs, int(alone["sync_ops"].sum())), int(by_process["write_bytes"].sum())
    if most > syncs and most >= OFTEN and of_all < SMALL * most:
        syncing, syncs, wrote = alone, most, of_all
    if not syncs:
        return
    seconds = of.of_all(syncing, "sync_ns")
    sent = real(of.digest.coverage["write_storage"].sum()) if "coverage" not in of.digest.not_kept else 0.0
    high = seconds * (1 - 1 / A_BATCH)
    kept, journals = _kept_bytes(of, syncing, wrote)
    low = min(high * max(AT_LEAST, 1 - kept / sent if sent else 0), seconds * (1 - UNSURE_FACTOR / A_BATCH))
    of_writes = of.of_all(syncing, "write_ns") * max(0.0, 1 - kept / max(1, wrote))
    of_journals = of.of_all(of.own.join(syncing, on="process", how="semi"), "meta_ns") if journals >= OFTEN else 0.0
    beside = (of_writes + of_journals) * (1 - 1 / A_BATCH)
    with_them = of.of_all(syncing.filter(_GOES_WITH_SYNCS), "write_ns")
    value, at_most = (low + high + beside) / 2, max(high + max(with_them, beside), _in_turn(of, syncing))
    if journals >= OFTEN:  # all of a change goes, and with it perhaps what the program computes for each
        value, at_most = at_most, at_most + of.computing * (1 - 1 / A_BATCH)
    value, at_most = min(of.runtime, value), min(of.runtime, at_most)
    saving = Estimate(value, low, at_most, f"one sync for {A_BATCH} of these")
    yield CostlyHabit("syncs", seconds, saving, syncs, wrote / syncs, site=of.site_of("sync"))


def _in_turn(of: JobCalls, syncing: pl.DataFrame) -> float:
    """Seconds of the runtime in syncs, if processes that write one file wait for each other's; 0, if these syncs took
    longer together than the job did.
    """
    shared = of.files.filter(
        pl.col("path") != "", pl.col("write_bytes") > 0, pl.col("process").n_unique().over("path") > 1
    )
    seconds = of.kept * real(syncing.join(shared, on="process", how="semi")["sync_ns"].sum()) / 1e9
    return seconds * (1 - 1 / A_BATCH) if seconds <= of.runtime else 0.0


def _kept_bytes(of: JobCalls, syncing: pl.DataFrame, wrote: int) -> tuple[float, int]:
    """What syncing processes wrote that is there at their end, in bytes, and how often they opened files that are not:
    a database writes its pages anew for each change, and a journal that it removes. All that they wrote, if no file is
    as they left it.
    """
    written = of.files.join(syncing.select("process"), on="process", how="semi").filter(pl.col("write_bytes") > 0)
    by_path = written.group_by("path").agg(pl.col("write_bytes", "opens").sum()).sort("write_bytes", "path")
    asked = by_path.filter(pl.col("path") != "")["path"].tail(MOST_ASKED).to_list()
    sizes = of.size_of(asked)
    if not sizes:
        return wrote, 0
    size = pl.col("path").replace_strict(sizes, default=None, return_dtype=pl.Int64)
    # A journal is named after its database: what has no row of its own is its, as far as one that has a row is.
    beside = [path for path in asked if path not in sizes and any(path.startswith(f"{one}-") for one in sizes)]
    is_gone = (pl.col("opens") >= OFTEN) & pl.col("path").is_in([*beside, *([""] if beside else [])])
    left = pl.when(is_gone).then(0).otherwise(pl.min_horizontal("write_bytes", size))
    return real(by_path.select(left.sum()).item()), int(by_path.filter(is_gone)["opens"].sum())


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
    syncs, seconds = int(few["sync_ops"].sum()), of.of_all(few, "sync_ns")
    behind = few.join(of.while_computing, on="process").select(pl.min_horizontal("at_once_ns", "sync_ns").sum())
    high = min(seconds - of.part * real(behind.item()) / 1e9, of.computing)
    if syncs and high > 0:
        saving = Estimate(high * (1 + AT_LEAST) / 2, high * AT_LEAST, high, "it computes for long enough")
        wrote = int(few["write_bytes"].sum()) / syncs
        yield CostlyHabit("last syncs", seconds, saving, syncs, wrote, site=of.site_of("sync"))


def _scratch_files(of: JobCalls) -> Iterator[CostlyHabit]:
    """Files on a server that one process alone writes and reads again; with their part of the time in closes, in which
    a client that writes behind waits for the server.
    """
    scratch = of.scratch
    if scratch.is_empty():
        return
    calls = int(scratch.select(pl.col("read_ops", "write_ops").sum()).sum_horizontal().item())
    seconds = of.of_all(scratch, "read_ns", "write_ns")
    size = real(scratch["write_bytes"].sum())
    seconds += of.sampled(CLOSES) * of.scratch_closes
    file = scratch["path"][0] if scratch.height == 1 else ""
    copied = of.part * (size + real(scratch["read_bytes"].sum()))
    low, value, high = (max(0.0, seconds - copied / speed) for speed in OF_NEW_MEMORY)
    saving = Estimate(value, low, high, "what writing to and reading from memory takes")
    yield CostlyHabit("scratch files", seconds, saving, calls, size / scratch.height, file, scratch.height)


def _piped_copies(of: JobCalls) -> Iterator[CostlyHabit]:
    """`cat FILE | program`: the program waits for a pipe, and without it would wait as long as the copier reads; and,
    in the copier's place, for a processor.
    """
    if "coverage" in of.digest.not_kept:
        return
    copiers = (
        of.digest.processes.filter("is_of_job", pl.col("program").is_in(COPIERS), pl.col("write_bytes") == 0)
        .join(of.digest.coverage.select("process", "write_seen"), on="process")
        .filter(pl.col("read_bytes") >= SHOWN, pl.col("write_seen") >= ALMOST_ALL * pl.col("read_bytes"))
    )
    pipes = of.digest.counters.filter(is_own(), pl.col("object") == "pipe")
    copied, piped = real(copiers["read_bytes"].sum()), real(pipes["read_bytes"].sum())
    if not 0 < ALMOST_ALL * copied <= piped:
        return
    lived = of.of_runtime(copiers.select("process", ns=pl.col("end_ns") - pl.col("start_ns")))
    seconds = min(lived, of.kept * real(pipes["read_ns"].sum()) / 1e9 * copied / max(copied, piped))
    value = max(0.0, seconds - of.of_all(of.own.join(copiers, on="process", how="semi"), "read_ns"))
    surely = value / of.delay
    value = (surely + value) / 2
    saving = Estimate(value, surely * AT_LEAST, seconds, "reading the file takes as long as the copier's reads")
    who = ", ".join(copiers["program"].unique().sort())
    yield CostlyHabit("piped copies", seconds, saving, copiers.height, copied / copiers.height, who=who)


def _shared_file(of: JobCalls) -> Iterator[CostlyHabit]:
    """Files that several processes write small pieces of, each after another's: at one time, so that it costs no more
    than that of them which writes longest.
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
    if shared.is_empty():
        return
    rows = wrote.join(shared, on="path", how="semi")
    calls, size, ns, longest_ns = shared.select(pl.col("write_ops", "write_bytes", "write_ns", "longest_ns").sum()).row(
        0
    )
    seconds = min(of.of_all(rows, "write_ns"), of.kept * longest_ns / 1e9)
    path = shared["path"][0] if real(shared["write_ns"][0]) > ns / 2 else ""
    yield CostlyHabit(
        "shared file", seconds, of.at_large("write", rows, seconds), calls, size / calls, path, shared.height,
        of.site_of("write"), times=real(shared["process"].max()),
    )  # fmt: skip


def _small(of: JobCalls, way: Direction) -> Iterator[CostlyHabit]:
    """Small transfers, at what large ones of the same run cost a byte; without writes that go with syncs."""
    ops, moved, spent = (pl.col(f"{way}_{what}") for what in ("ops", "bytes", "ns"))
    by_itself = of.files.join(with_each_open(of).select("process", "file"), on=["process", "file"], how="anti")
    if way == "write":
        after_syncs = _syncs_and_writes(of).filter(_SYNCS_OFTEN, _WAITS_AFTER_SYNCS)["process"].implode()
        by_itself = by_itself.filter(~(pl.col("process").is_in(after_syncs) & (spent >= WAITS_NS * ops)))
    alone = of.called([f"MPI_File_{way}{where}" for where in BY_ONE_RANK])
    # A buffer would read what nobody asked for between pieces that do not follow each other.
    if way == "read" and not _by_ranks(of):
        by_itself = by_itself.filter(~_is_on(_not_in_order(of), of.storage_of(by_itself)["storage"]))
    rows = by_itself.filter(pl.col("path") != "", ops > 0, moved < LARGE * ops)
    by_path = rows.group_by("path").agg(ops.sum(), moved.sum(), spent.sum())
    waits = spent >= WAITS_NS * ops
    small = by_path.filter((ops >= MANY) | (waits & (ops >= OFTEN)), moved > 0, moved < SMALL * ops).sort(
        f"{way}_ns", "path", descending=[True, False]
    )
    small = that_count(small, f"{way}_ns")
    if small.is_empty():
        return
    rows = rows.join(small, on="path", how="semi")
    made, size, ns = (int(small[f"{way}_{what}"].sum()) for what in ("ops", "bytes", "ns"))
    calls = max(1, round(made * of.to_kernel(way)))
    is_buffered = calls < BUFFERED * made
    seconds = of.of_all(rows, f"{way}_ns")
    saving = of.at_large(way, rows, seconds)
    if saving is None and size <= NO_COPY * calls:
        low, value, high = ((1 - share) * seconds for share in (OF_A_CALL, OF_A_CALL / 2, 0.0))
        saving = of.with_what_is_around(Estimate(value, low, high, "so few bytes take no time to copy"), made)
    elif (saving is None or is_buffered) and (ns < WAITS_NS * calls or size > SLOW * ns / 1e9):
        return
    if saving is None and way == "read" and _is_read_ahead(of.digest, made, size):
        return
    is_one = real(small[f"{way}_ns"][0]) > ns / 2
    habit: Habit = "small writes" if way == "write" else "small reads"
    if is_buffered:
        habit = "small buffers"
    elif alone > made / 2:
        habit = "independent MPI-IO"
    elif 0 < IN_PIECES * of.called([f"MPI_File_{way}{where}" for where in TOGETHER]) < made:
        habit = "collective pieces"
    yield CostlyHabit(
        habit, seconds, saving, calls, size / calls, small["path"][0] if is_one else "", small.height, of.site_of(way)
    )


def _lines_of_shells(of: JobCalls) -> Iterator[CostlyHabit]:
    """A file that a shell reads line by line: for each it fetches some KiB, and moves back to the end of the line. All
    of it goes, with what the shell does for each line.
    """
    reads = pl.col("read_ops")
    rows = of.files.filter(of.is_shell, pl.col("path") != "", reads >= MANY, pl.col("read_bytes") < SMALL * reads)
    calls, size = (int(rows[f"read_{what}"].sum()) for what in ("ops", "bytes"))
    if not calls or of.called(SEEKS_BACK) < calls / 2:
        return
    meta = of.own.join(rows, on="process", how="semi").group_by("process").agg(pl.col("meta_ns").sum())
    spent = rows.group_by("process").agg(pl.col("read_ns").sum()).join(meta, on="process")
    seconds = of.of_all(spent, "read_ns", "meta_ns")
    alike = Estimate(seconds, seconds * AT_LEAST, seconds, "a program that reads all lines takes next to nothing")
    by_path = rows.group_by("path").agg(pl.col("read_ns").sum()).sort("read_ns", "path", descending=[True, False])
    path = by_path["path"][0] if by_path.height == 1 else ""
    saving = of.with_what_is_around(alike, calls, AROUND_A_LINE_NS)
    yield CostlyHabit("small reads", seconds, saving, calls, size / calls, path, by_path.height, of.site_of("read"))


def _is_read_ahead(digest: Digest, calls: int, size: int) -> bool:
    """Whether so few reads waited that the kernel fetched large pieces ahead of them: larger reads change nothing."""
    if "distributions" in digest.not_kept:
        return False
    took = digest.distributions.filter(pl.col("kind") == "read", pl.col("what") == "latency")
    waited = int(took.filter(pl.col("least") >= WAITS_NS)["calls"].sum())
    return int(took["calls"].sum()) >= BUFFERED * calls and waited * SMALL <= size


def _reads_again(of: JobCalls) -> Iterator[CostlyHabit]:
    """Files that a process reads more than once. Where storage sent nearly all of it, or a disk of the node nothing,
    each time cost the same; else the later ones may have cost what copying in memory does. At most the memory for it is
    given back each time, too.
    """
    large = of.files.filter(pl.col("path") != "", pl.col("read_bytes") >= SHOWN, pl.col("read_ns") > 0)
    longest = large.group_by("path").agg(pl.col("read_ns").sum()).sort("read_ns", "path", descending=[True, False])
    sizes = of.size_of(longest["path"].head(MOST_ASKED).to_list())
    size = pl.col("path").replace_strict(sizes, default=None, return_dtype=pl.Int64)
    again = large.with_columns(size=size).filter(
        pl.col("size") > 0, pl.col("read_bytes") >= TIMES_AGAIN * pl.col("size")
    )
    again = that_count(again, "read_ns")
    if again.is_empty():
        return
    read, once = real(again["read_bytes"].sum()), real(again["size"].sum())
    seconds = of.of_all(again, "read_ns")
    later_ns = pl.col("read_ns") * (1 - pl.col("size") / pl.col("read_bytes"))
    high = of.of_runtime(again.select("process", ns=later_ns))
    all_read = real(of.own["read_bytes"].sum())
    copied = of.part * (read - once) / OF_MEMORY
    is_cold = of.fetched_bytes >= ALMOST_ALL * all_read
    is_warm = "coverage" not in of.digest.not_kept and of.fetched_bytes <= (1 - ALMOST_ALL) * once
    is_warm = is_warm and of.storage_of(again).join(of.servers, on="storage", how="semi").is_empty()
    low = high * (1 - OF_AN_OPEN) if is_cold or is_warm else min(high, copied)
    given_back = min(of.delay * of.part * (read - once) / OF_NEW_MEMORY[1], of.computing)
    saving = Estimate((low + high) / 2, low, high + given_back, "reading it once")
    most = again.sort("read_ns", "path", descending=[True, False])["path"][0]
    calls, files = int(again["read_ops"].sum()), again["path"].n_unique()
    yield CostlyHabit(
        "reads again", seconds, saving, calls, once / again.height, most if files == 1 else "", files,
        of.site_of("read"), times=read / once,
    )  # fmt: skip


def _mapped_again(of: JobCalls) -> Iterator[CostlyHabit]:
    """Mapped files of which the kernel fetched more than there is of them: what was evicted. A process waits for pages
    in what is left of its life without calls and computing; each time cost the same.
    """
    if "coverage" in of.digest.not_kept or of.digest.usage.is_empty():
        return
    beyond = pl.col("read_storage").cast(pl.Float64) - pl.sum_horizontal("read_seen", "read_requested")
    busy = usage_in_sum(of.digest.usage).select("process", busy=pl.sum_horizontal("user_ns", "system_ns", "delayed_ns"))
    calls = of.digest.process_slices.group_by("process").agg(calls=pl.sum_horizontal(*TIMES).sum())
    in_mpi = of.digest.communication.group_by("process").agg(in_mpi=pl.col("ns").sum())
    again = (
        of.digest.coverage.select("process", "mapped", fetched=beyond)
        .filter(pl.col("mapped") >= SHOWN, pl.col("fetched") >= MAPPED_TIMES * pl.col("mapped"))
        .join(of.digest.processes.filter("is_of_job").select("process", "start_ns", "end_ns"), on="process")
        .join(busy, on="process")
        .join(calls, on="process", how="left")
        .join(in_mpi, on="process", how="left")
        .with_columns(ns=pl.col("end_ns") - pl.col("start_ns") - pl.sum_horizontal("busy", "calls", "in_mpi"))
    )
    if again.is_empty():
        return
    mapped, fetched = real(again["mapped"].sum()), real(again["fetched"].sum())
    seconds = of.of_runtime(again.select("process", "ns"))
    value = seconds * (1 - mapped / fetched)
    low, high = ((1 + sign * OF_AN_OPEN) * value for sign in (-1, 1))
    saving = Estimate(value, low, min(seconds, high), "fetching it once")
    yield CostlyHabit(
        "mapped again", seconds, saving, 0, mapped / again.height, files=again.height, times=fetched / mapped
    )


def _not_in_order(of: JobCalls) -> pl.DataFrame:
    """The storages of which most reads do not follow the one before, and whether most of them at least go forward."""
    many = of.accesses("read").filter(pl.col("calls") >= OFTEN).group_by("storage").agg(pl.col(pl.Int64).sum())
    later = pl.col("calls") - pl.col("first")
    apart = many.filter(pl.col("consecutive") < IN_ORDER * later)
    return apart.select("storage", goes_forward=pl.col("sequential") >= FORWARD * later)


def _is_on(storages: pl.DataFrame, of_each: pl.Series) -> pl.Series:
    """Whether a row is on one of some storages; where it is not known on which, it may be."""
    return of_each.is_in(storages["storage"].implode()).fill_null(storages.height > 0)


def _by_ranks(of: JobCalls) -> bool:
    """Whether most reads are those of single ranks by MPI-IO."""
    return 2 * of.called([f"MPI_File_read{where}" for where in BY_ONE_RANK]) > int(of.own["read_ops"].sum())


def _random_reads(of: JobCalls) -> Iterator[CostlyHabit]:
    """Reads that do not follow each other and wait for a device or a server, one at a time, or for longer than large
    transfers do. Those of each rank of MPI-IO which go forward follow each other if ranks read together.
    """
    apart = _not_in_order(of)
    if _by_ranks(of):
        apart = apart.filter(~pl.col("goes_forward"))
    did = of.own.join(apart, on="storage", how="semi").group_by("process").agg(of_all=pl.col("read_ns").sum())
    # What is read in large pieces is no part of it. Rows of files without a name have those of other storages, too.
    small = of.files.filter(pl.col("read_ops") > 0, pl.col("read_bytes") < LARGE * pl.col("read_ops"))
    rows = that_count(small.filter(_is_on(apart, of.storage_of(small)["storage"])), "read_ns")
    calls, size, ns = (int(rows[f"read_{what}"].sum()) for what in ("ops", "bytes", "ns"))
    if calls < OFTEN:
        return
    spent = rows.group_by("process").agg(pl.col("read_ns").sum()).join(did, on="process")
    seconds = of.of_runtime(spent.select("process", ns=pl.min_horizontal("read_ns", "of_all")))
    by_path = rows.filter(pl.col("path") != "").group_by("path").agg(pl.col("read_ns").sum())
    by_path = by_path.sort("read_ns", "path", descending=[True, False])
    most, sizes = by_path.head(1), of.size_of(by_path["path"].head(MOST_ASKED).to_list())
    saving = of.at_large("read", rows, seconds, sum(sizes.values()))
    is_cold = of.fetched_bytes >= IN_ORDER * size and calls >= MANY
    if ns < WAITS_NS * calls and not is_cold and (saving is None or calls < MANY):
        return
    is_one = bool(most.height) and real(most["read_ns"][0]) > ns / 2
    yield CostlyHabit(
        "random reads", seconds, saving, calls, size / calls,
        most["path"][0] if is_one else "", by_path.height, of.site_of("read"),
    )  # fmt: skip
