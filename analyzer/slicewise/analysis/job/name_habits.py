"""Habits of a program's calls on names (opens, looks, locks), and of starting processes: what they cost its runtime,
and what changing them saves.

A job's calls in, dataclasses out.
"""

from collections.abc import Iterator

import polars as pl

from slicewise.analysis.job.busiest import busiest_ns
from slicewise.analysis.job.job_calls import (
    ALMOST_ALL,
    AROUND_AN_OPEN_NS,
    AROUND_COMPILED_OPEN_NS,
    AROUND_NS,
    AT_LEAST,
    BRIEF_NS,
    CLOSES,
    ENOUGH_SAMPLES,
    MANY,
    OF_AN_OPEN,
    OFTEN,
    OPENINGS,
    SMALL,
    WAITS_NS,
    CostlyHabit,
    Habit,
    JobCalls,
)
from slicewise.analysis.job.totals import profiler_cost
from slicewise.digest.layers import is_own
from slicewise.digest.processes import in_processes, usage_in_sum
from slicewise.estimate import Estimate
from slicewise.scalars import real

# Locks that wait take at least so many times as long as unlocking; of both, unlocking is about half: so many at least.
MUCH_LONGER, UNLOCKS = 2.0, 0.4
# To start a process took so long (ns: at least, mostly, at most) before it was in sight: fork, exec and its libraries,
# by shells and Python, on an idle machine and a busy one; or all that was between two processes, if it is not longer.
# And what a program does at least, by this quantile of its processes' lives, is to begin and end, if it is not longer
# (ns): interpreters are.
FORK_NS, LONGEST_FORK_NS = (500_000, 1_000_000, 2_000_000), 10_000_000
LONGEST_START_NS, SHORTEST = 5_000_000, 0.05
# An interpreter that lives for so little time (ns) mostly begins: with numpy that took 0.15 s. Such programs' names.
BRIEF_SCRIPT_NS = 1_000_000_000
SCRIPTS = r" |^(python|perl|R|Rscript|ruby|julia|java|node|octave)[0-9.]*$"
# Where starts and ends are less of it than this, processes do work of their own (compilers), which nothing saves.
SHOWN_STARTS = 0.2
# A failing call may take less or more time than the job's other metadata calls, which are the rest of these.
OF_A_LOOK = 0.5
# So few transfers with each open may wait for it (a header, the data, and a read that finds the end), if they take at
# most so many times as long as opens and closes. On GlusterFS they took about as long; twice that is room for noise.
WITH_EACH_OPEN, AS_LONG = 3, 2.0
# Functions that are named, of those that looked.
MOST_NAMED = 3
# So many processes that do the same at one time, or in one directory, are a crowd. In the first part of the runtime.
CROWD, BEGIN = 8, 0.1
# What I/O libraries open, with the objects in a file that are opened with it.
FILES_OF_LIBRARIES = ("H5Fopen", "H5Fcreate", "nc_open", "ncmpi_open", "adios2_open")
OF_LIBRARIES = (
    *FILES_OF_LIBRARIES,
    *("H5Fclose", "H5Oopen", "H5Gopen", "H5Dopen", "H5Dclose", "H5Aopen", "nc_close", "ncmpi_close", "adios2_close"),
)
# What goes with an open in many programs (Python's): calls on the descriptor that move nothing.
WITH_AN_OPEN = (*OPENINGS, *CLOSES, "fstat", "ioctl", "lseek")
# Functions that wait for locks.
LOCKS = ("flock", "fcntl")
# What a shell calls besides, where it redirects a command (`>> FILE`).
WITH_A_REDIRECTION = ("fcntl", "dup", "dup2")
# Calls (fseeko, fsetpos and rewind, too) that write or throw away what a stream has in its buffer, and may fetch anew.
SEEKS = ("fseek",)
# Bytes: what a move fetches at least, if storage has it (half of a page: another move may need the same).
OF_A_PAGE = 2048
# Metadata calls on what is open, which fail for no name.
BY_DESCRIPTOR = (*(name for name in WITH_AN_OPEN if name not in OPENINGS), *LOCKS, "dup", "dup2", "fflush")
# Those that ask and change nothing; mkdir, of a directory that is there.
LOOKS = (
    *("stat", "lstat", "fstatat", "statx", "statfs", "access", "readlink", "realpath", "getxattr", "listxattr"),
    *("opendir", "readdir", "scandir", "closedir", "getdents", "mkdir", "mkdirat"),
)
# Of a function, which calls stand for an open of its own: these together, and each other function by itself.
GROUP = (
    pl.when(pl.col("operation").is_in(list(OPENINGS)))
    .then(pl.lit("open"))
    .when(pl.col("operation").is_in(list(CLOSES)))
    .then(pl.lit("close"))
    .otherwise("operation")
)


def habits_of_names(of: JobCalls) -> Iterator[CostlyHabit]:
    """All that is found."""
    opens, by_library = list(_opens(of)), list(_library_opens(of))
    if sum(one.seconds for one in opens if one.habit == "opens") < sum(one.seconds for one in by_library):
        opens = [*(one for one in opens if one.habit != "opens"), *by_library]
    told = [*opens, *_failing(of), *_looks(of), *_locks(of), *_seeks(of)]
    yield from [one for one in told if one.seconds > 0] or _crowd(of)
    yield from _brief_processes(of)


def with_each_open(of: JobCalls) -> pl.DataFrame:
    """Rows of files that are opened again for each few transfers: these may wait for the open (some file systems open a
    file when it is first used, others forget at an open what they had in memory), and what stays open has a buffer. Not
    if transfers take much longer than opens: then it is they that cost. And rows of files that are written again.
    """
    again, anew = of.opened_again.filter("little_each"), pl.col("is_rewritten")
    ops = pl.col("read_ops") * of.to_kernel("read") + pl.col("write_ops") * of.to_kernel("write")
    each = again.filter(~anew, ops <= WITH_EACH_OPEN * pl.col("opens"))
    of_each = _spent_in_opens(of, again).join(each.group_by("process").agg(each=pl.col("opens").sum()), on="process")
    seconds = of.of_runtime(of_each.select("process", ns=pl.col("again_ns") * pl.col("each") / pl.col("again")))
    waits = of.of_all(each, "read_ns", "write_ns") <= AS_LONG * seconds
    return pl.concat([each if waits else each.clear(), again.filter(anew)])


def _spent_in_opens(of: JobCalls, again: pl.DataFrame) -> pl.DataFrame:
    """process, opened (how often it opened a file), again (opens like those of some rows of `files`), rest (those of
    these that have no row), again_ns, all_ns: sampled time of opens and of what goes with them, without the closes of
    scratch files, which wait for what was written. What is opened again and again is opened at the call sites with most
    calls, in which what libraries open once has no part. Too few samples show nothing, but where packages make most of
    what an open costs. Of files that have no rows of their own as many were opened
    again as of the others, as far as is known.
    """
    is_open = pl.col("operation").is_in(list(OPENINGS))
    redirects = pl.col("operation").is_in(list(WITH_A_REDIRECTION)) & of.is_shell
    goes_with_it = pl.col("operation").is_in(list(WITH_AN_OPEN)) | redirects
    called = of.calls.filter(goes_with_it).with_columns(group=GROUP)
    opened = called.filter(is_open).group_by("process").agg(opened=pl.col("calls").sum())
    named = of.files.group_by("process").agg(opens=pl.col("opens").sum(), rest=pl.col("opens").filter(path="").sum())
    counts = (
        named.join(again.group_by("process").agg(again=pl.col("opens").sum()), on="process", how="left")
        .join(opened, on="process", how="full", coalesce=True)
        .fill_null(0)
        .with_columns(pl.max_horizontal("opens", "opened").alias("opened"))
        .with_columns(rest=(pl.col("rest") * pl.col("again") / (pl.col("opens") - pl.col("rest")).clip(1)).round())
        .with_columns(again=pl.col("again") + pl.col("rest"))
    )
    is_close = pl.col("operation").is_in(list(CLOSES))
    samples = (
        of.samples((*WITH_AN_OPEN, *WITH_A_REDIRECTION), ENOUGH_SAMPLES if of.by_packages(OPENINGS) < OFTEN else 0)
        .filter(goes_with_it)
        .with_columns(seconds=pl.col("seconds") * (1 - is_close * of.scratch_closes))
    )
    by_group = called.group_by("process", "group").agg(made=pl.col("calls").sum())
    sites = (
        samples.with_columns(group=GROUP)
        .group_by("process", "group", "stack")
        .agg(pl.col("seconds", "calls").sum())
        .join(by_group, on=["process", "group"], how="left")
        .join(counts, on="process")
        .with_columns(pl.col("made").fill_null(pl.col("opened")))
        .with_columns(calls=pl.col("calls") * pl.col("made") / pl.col("calls").sum().over("process", "group"))
        .sort("process", "group", "calls", "stack", descending=[False, False, True, False])
        .with_columns(before=pl.col("calls").cum_sum().over("process", "group") - pl.col("calls"))
        .with_columns(wanted=pl.col("again") * pl.max_horizontal(1.0, pl.col("made") / pl.col("opened")))
        .with_columns(taken=((pl.col("wanted") - pl.col("before")) / pl.col("calls")).clip(0, 1))
    )
    spent = sites.group_by("process").agg(
        again_ns=(pl.col("seconds") * pl.col("taken")).sum() * 1e9, all_ns=pl.col("seconds").sum() * 1e9
    )
    # A shell keeps its own output, a pipe or a terminal, while it redirects a command's: these calls are on no file.
    meta = of.own.group_by("process").agg(pl.col("meta_ns").sum())
    part = pl.when(of.is_shell).then(1.0).otherwise(pl.min_horizontal(1.0, pl.col("meta_ns") / pl.col("all_ns")))
    return (
        counts.join(spent, on="process")
        .join(meta, on="process")
        .select("process", "opened", "again", "rest", pl.col("again_ns", "all_ns") * part)
    )


def _around_ns(of: JobCalls, opened: pl.DataFrame) -> int:
    """What an interpreter does around an open; shells, if they made most of those of some rows of `files`, do less."""
    by_shells = 2 * int(opened.filter(of.is_shell)["opens"].sum()) > int(opened["opens"].sum())
    return AROUND_NS if by_shells else AROUND_AN_OPEN_NS


def _opens(of: JobCalls) -> Iterator[CostlyHabit]:
    """Opening one file again and again, and many files once, for a little each time: by the sampled time of opens and
    closes; and at most by that of the few transfers with each. Of many files the reads count, too, where they wait:
    storage fetches each file by itself.
    """
    moved, ops = pl.col("read_bytes") + pl.col("write_bytes"), pl.col("read_ops") + pl.col("write_ops")
    any_again = of.opened_again
    again = any_again.filter("little_each")
    spent = _spent_in_opens(of, again)
    if not of.opens:
        return
    more, often, by_packages = int(spent["rest"].sum()), int(spent["again"].sum()), of.by_packages(OPENINGS)
    if often:
        waiting, anew = with_each_open(of), pl.col("is_rewritten")
        of_opens, with_it, of_whole = (
            of.of_all(spent, "again_ns"),
            *(of.of_all(waiting.filter(rows), "read_ns", "write_ns") for rows in (~anew, anew)),
        )
        all_but_one = of_opens * (1 - again.height / (often - more))
        low = all_but_one * (1 - OF_AN_OPEN) + of_whole * AT_LEAST
        high = all_but_one * (1 + OF_AN_OPEN) + with_it + of_whole
        once_only = Estimate(all_but_one + with_it / 2 + of_whole, low, high, "opening it once")
        seconds = of_opens + with_it + of_whole
        packages, written = min(often, by_packages), int(again.filter(anew)["write_bytes"].sum())
        each_ns = _around_ns(of, again)
        saving = of.with_what_is_around(once_only, often, each_ns, AROUND_COMPILED_OPEN_NS, packages, written)
        by_path = again.group_by("path").agg(pl.col("opens").sum()).sort("opens", "path", descending=[True, False])
        path = by_path["path"][0] if int(by_path["opens"][0]) > often / 2 else ""
        bytes_each = real(again.select(moved.sum()).item()) / (often - more)
        is_anew = 2 * int(again.filter(anew)["opens"].sum()) > int(again["opens"].sum())
        yield CostlyHabit(
            "rewrites" if is_anew else "opens", seconds, saving, often, bytes_each, path, by_path.height,
            of.site(OPENINGS), has_more=more > 0,
        )  # fmt: skip
    few = of.files.join(any_again, on=["process", "file"], how="anti")
    opened, each = int(few["opens"].sum()), real(few.select(moved.sum()).item())
    once = opened - more
    each *= once / max(1, opened)
    if once >= OFTEN and each < SMALL * once:
        by_process = spent.join(few.group_by("process").agg(once=pl.col("opens").sum()), on="process")
        of_others = (pl.col("once") - pl.col("rest")) / (pl.col("opened") - pl.col("again")).clip(1)
        ns = (pl.col("all_ns") - pl.col("again_ns")) * of_others.clip(0, 1)
        seconds = of.of_runtime(by_process.select("process", ns=ns))
        crowded, waits = _crowded_directory(few), pl.col("read_ns") >= WAITS_NS * pl.col("opens")
        each_waits = few.filter(pl.col("read_bytes") < SMALL * pl.col("opens"), waits)
        of_reads = 0.0 if crowded else of.of_all(each_waits, "read_ns")
        goes_with_it = few.filter(moved < SMALL * pl.col("opens"), ops <= WITH_EACH_OPEN * pl.col("opens"))
        of_transfers = max(of_reads, of.of_all(goes_with_it, "read_ns", "write_ns"))
        habit: Habit = "one directory" if crowded else "small files"
        low, high = (seconds + of_reads) * AT_LEAST, min(of.runtime, seconds * (1 + OF_AN_OPEN) + of_transfers)
        in_one = Estimate((low + high) / 2, low, high, "opening one file instead")
        packages = 0.0 if often else by_packages
        in_one = of.with_what_is_around(in_one, once, _around_ns(of, few), AROUND_COMPILED_OPEN_NS, packages)
        site = of.site_of("read") if of_reads > seconds else of.site(OPENINGS)
        in_fewer = None if crowded else in_one
        yield CostlyHabit(habit, seconds + of_reads, in_fewer, once, each / once, crowded, once, site)


def _library_opens(of: JobCalls) -> Iterator[CostlyHabit]:
    """Opening a file again and again by an I/O library, which then reads what is in it, and opens the objects: by its
    time in these calls, of which some goes once in any case. Libraries lie on each other: that with most time counts.
    """
    if "library_calls" in of.digest.not_kept:
        return
    calls = of.digest.library_calls.filter(pl.col("function").is_in(list(OF_LIBRARIES)))
    opens_files = pl.col("calls").filter(pl.col("function").is_in(list(FILES_OF_LIBRARIES))).sum()
    libraries = calls.group_by("process", "library").agg(pl.col("ns").sum(), opens=opens_files)
    often = libraries.filter(pl.col("opens") >= OFTEN).sort("ns").unique("process", keep="last")
    again = of.opened_again.join(often.select("process", "ns", made="opens"), on="process")
    # Not a file that the program opens besides: the library opened it at most as often as files of its own.
    again = again.filter(pl.col("opens") <= pl.col("made")).sort("opens", "path", descending=[True, False])
    seconds = of.of_runtime(again.unique("process").select("process", "ns"))
    if again.is_empty() or seconds <= 0:
        return
    opened, moved = int(again["opens"].sum()), again.select(pl.sum_horizontal("read_bytes", "write_bytes").sum()).item()
    high = seconds * (1 - again.height / opened)
    saving = Estimate(high, high * AT_LEAST, high * (1 + OF_AN_OPEN), "opening it once")
    path = again["path"][0] if int(again["opens"][0]) > opened / 2 else ""
    yield CostlyHabit("opens", seconds, saving, opened, real(moved) / opened, path, again.height, of.site(OPENINGS))


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


def _by_descriptor(of: JobCalls) -> int:
    """How many metadata calls on files at least named none."""
    elsewhere = of.digest.counters.filter(is_own(), pl.col("object") != "file")
    return max(0, of.called(BY_DESCRIPTOR) - int(elsewhere["meta_ops"].sum()))


def _failing(of: JobCalls) -> Iterator[CostlyHabit]:
    """Calls on names that are not there, taken to last as long as the job's other calls on names; closes, which may
    wait for what was written, are none. Of calls by descriptor it is known how many there were, and not how many of
    them on files: where taking them off leaves fewer calls than failed, they are taken to fail as often as others. A
    lock that another process holds is a failing call, too. Looks that take most of the runtime may wait for a file.
    """
    failed, calls = _failed(of), int(of.own["meta_ops"].sum())
    if failed < MANY or not calls:
        return
    by_descriptor = _by_descriptor(of)
    share = min(1.0, failed / (calls - by_descriptor if by_descriptor + failed <= calls else calls))
    other = of.sampled_ns(BY_DESCRIPTOR).rename({"ns": "other_ns"})
    on_names = of.own.group_by("process").agg(pl.col("meta_ns").sum()).join(other, on="process", how="left")
    ns = (pl.col("meta_ns") - pl.col("other_ns").fill_null(0.0)).clip(0)
    seconds = share * of.of_runtime(on_names.select("process", ns=ns))
    off = max(OF_AN_OPEN, OF_A_LOOK * (1 - share))
    low, high = ((1 + sign * off) * seconds for sign in (-1, 1))
    low *= max(0.0, 1 - min(of.called(LOCKS), by_descriptor) / failed)
    # An open that no row of files has may have failed; as for the rest, it was another function's call.
    opens = of.called(OPENINGS) - int(of.files["opens"].sum())
    if 2 * opens < failed and seconds > of.runtime / 2:
        low = 0.0
    saving = Estimate(seconds, low, high, "its metadata calls last as long, whether they fail or not")
    saving = of.with_what_is_around(saving, failed)
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
    if calls >= OFTEN and 2 * failed < int(of.own["meta_ops"].sum()) - _by_descriptor(of):
        spent = _spent_in_opens(of, of.opened_again.filter("little_each"))
        others = max(opened, int(spent["opened"].sum()) - int(spent["again"].sum()), 1)
        of_opens = of.of_runtime(spent.select("process", ns=pl.col("all_ns") - pl.col("again_ns"))) * opened / others
        seconds = of.sampled(looks) + of_opens
        often = sorted(looks, key=lambda name: -of.called([name]))[:MOST_NAMED]
        if of_opens > seconds / 2:
            often, looks = [*OPENINGS[:1], *often][:MOST_NAMED], list(OPENINGS)
        saving = Estimate(seconds / 2, 0.0, seconds, "from none, if each asks of something else, to all")
        saving = of.with_what_is_around(saving, calls)
        yield CostlyHabit("looks", seconds, saving, calls, 0.0, site=of.site(looks), who=", ".join(often))


def _without_waiting(of: JobCalls) -> float:
    """Nanoseconds of locks and unlocks if each took as long as unlocking, which waits for nobody. Unlocking is the call
    site with the shortest calls, if others' take much longer, or if it has about half of the calls and may ask a
    server: on a disk of the node unlocking is hardly ever sampled. 0: no call site is like that.
    """
    sites = of.samples(LOCKS).group_by("stack").agg(pl.col("samples", "seconds", "calls").sum())
    sites = sites.filter(pl.col("samples") >= ENOUGH_SAMPLES, pl.col("calls") > 0)
    sites = sites.with_columns(each=pl.col("seconds") / pl.col("calls")).sort("each", "stack")
    if sites.height < 2:
        return 0.0
    calls = real(sites["calls"].sum())
    shortest, others = sites.head(1), sites.tail(-1)
    each, of_it = real(shortest["each"][0]), real(shortest["calls"][0])
    is_much_shorter = real(others["seconds"].sum()) >= MUCH_LONGER * each * real(others["calls"].sum())
    asks_server = not of.servers.is_empty()
    is_half = of_it >= UNLOCKS * max(calls, of.called(LOCKS))
    return each * calls * 1e9 if is_much_shorter or (is_half and asks_server) else 0.0


def _locks(of: JobCalls) -> Iterator[CostlyHabit]:
    """Waits for locks on files: other processes hold these. What each call takes without that, since it asks a server,
    is saved with the locks only. Where who holds one waits for a processor, so would who waits for it.
    """
    seconds = of.sampled(LOCKS)
    calls = of.called(LOCKS)
    waited = max(0.0, seconds - of.part * _without_waiting(of) / 1e9) / of.delay
    low, high = waited * AT_LEAST, seconds * (1 + OF_AN_OPEN)
    saving = Estimate((waited + seconds) / 2, low, high, "nobody waits for a file of its own")
    yield CostlyHabit("locks", seconds, saving, calls, 0.0, site=of.site(LOCKS))


def _seeks(of: JobCalls) -> Iterator[CostlyHabit]:
    """Going back and forth in a stream: what its buffer had is written and fetched for a few bytes. Where each move
    waits for storage, going through all of the file in order may take as long.
    """
    calls, seconds = of.called(SEEKS), of.sampled(SEEKS)
    if calls >= OFTEN:
        fetches = seconds * 1e9 >= WAITS_NS * calls and of.fetched_bytes >= OF_A_PAGE * calls
        low, high = seconds * AT_LEAST, seconds
        saving = None if fetches else Estimate((low + high) / 2, low, high, "a buffer moves what it holds once")
        yield CostlyHabit("stream seeks", seconds, saving, calls, 0.0, site=of.site(SEEKS))


def _crowd(of: JobCalls) -> Iterator[CostlyHabit]:
    """Metadata calls of many processes at once, when they begin."""
    first = real(of.digest.processes["start_ns"].min()) / of.digest.slice_ns
    until = first + max(1.0, BEGIN * of.runtime * 1e9 / of.digest.slice_ns)
    early = of.slices.lazy().filter(pl.col("meta_ops") > 0, pl.col("slice") <= until)
    did = early.select("process", "meta_ops", "meta_ns").collect()
    ns, processes = real(did["meta_ns"].sum()), did["process"].n_unique()
    if processes >= CROWD and ns >= ALMOST_ALL * real(of.own["meta_ns"].sum()):
        yield CostlyHabit(
            "metadata at the begin", of.of_all(did, "meta_ns"), None, int(did["meta_ops"].sum()), 0.0,
            site=of.site_of("meta"), times=processes,
        )  # fmt: skip


def _brief_processes(of: JobCalls) -> Iterator[CostlyHabit]:
    """Processes that live for next to no time each, or scripts for less than a second: by their lives and what it takes
    to start them, of which those side by side count once, without what profiling took. Beginning and ending are saved,
    and at most all of it. What they wait for a processor is no work of their own, and starting takes longer by it.
    """
    delayed = usage_in_sum(of.digest.usage).select("process", pl.col("delayed_ns").fill_null(0))
    own = of.digest.processes.filter("is_of_job").join(delayed, on="process", how="left")
    lives = own.group_by(in_processes(own)).agg(
        pl.col("rank").max(),
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
        pl.col("program").last(),
        pl.col("profiler_ns", "delayed_ns").sum(),
    )
    life = pl.col("end_ns") - pl.col("start_ns")
    runs_script = pl.col("program").str.contains(SCRIPTS)
    is_brief = life < pl.when(runs_script).then(BRIEF_SCRIPT_NS).otherwise(BRIEF_NS)
    brief = lives.filter(pl.col("rank") < 0, is_brief).sort("start_ns", "program")
    if brief.height < OFTEN:
        return
    parent = lives.sort(life, "program", descending=[True, False])["program"][0]
    names = brief.filter(pl.col("program") != parent).group_by("program").len()
    who = ", ".join(names.sort("len", "program", descending=[True, False])["program"].head(MOST_NAMED))
    net = (life - pl.col("profiler_ns")).clip(0)
    free = (net - pl.col("delayed_ns")).clip(0)
    begun = brief.with_columns(net=net, free=free, least=free.quantile(SHORTEST).over("program"))
    starts = pl.min_horizontal("free", pl.when(pl.col("least") <= LONGEST_START_NS).then("least").otherwise(0))
    bare = of.runtime * (1 - (profiler_cost(of.digest).share_of_runtime or 0.0))

    def spent(fork: int, ns: pl.Expr) -> float:
        rows = begun.select(pl.col("start_ns") - fork, "end_ns", ns=fork + ns.cast(pl.Float64)).iter_rows()
        return min(bare, busiest_ns(list(rows)) / 1e9)

    between = (pl.col("start_ns") - pl.col("end_ns").shift()).clip(0, LONGEST_FORK_NS * of.delay)
    apart = int(brief.select(between.mean()).item())
    fork = max(FORK_NS[1], min(round(FORK_NS[1] * of.delay), apart))
    low, high = spent(FORK_NS[0], starts), spent(max(FORK_NS[2], fork, apart), pl.col("net"))
    seconds = spent(fork, pl.col("net"))
    starts_show = low >= SHOWN_STARTS * spent(FORK_NS[1], pl.col("free"))
    saving = Estimate((low + high) / 2, low, high, "their starts and ends, to all of their lives and what starts them")
    if starts_show or brief.height >= MANY or brief.filter(runs_script).height >= OFTEN:
        yield CostlyHabit(
            "brief processes", seconds, saving if starts_show else None, brief.height, 0.0,
            who=f"{who}; started by {parent}" if who else parent,
        )  # fmt: skip
