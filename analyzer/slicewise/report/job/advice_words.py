"""What to change in a program, in words and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from slicewise.analysis.job.advice import LEAST_SECONDS, LEAST_SHARE
from slicewise.analysis.job.job_calls import A_BATCH, A_PIECE, BRIEF_NS, CostlyHabit, Habit
from slicewise.report.job.site_words import place_words
from slicewise.text import words

PIECE = words.size(A_PIECE)
COLLECTIVE = "use a collective call (MPI_File_write_at_all, MPI_File_read_at_all), which has to gather the pieces"
# Open MPI 4.1 wrote each piece by itself without them.
HINTS = "hints: romio_cb_write or romio_cb_read = enable; of Open MPI --mca fcoll two_phase, or --mca io romio321"
BUFFERS = "C: setvbuf, Python: open(..., buffering=), Java: Buffered streams"
# What was done, with the habit's own figures; and what to do instead.
WHAT: dict[Habit, tuple[str, str]] = {
    "syncs": (
        "{count} syncs, one for every {size} written,",
        "sync once after many records (in a database: many changes in one transaction)",
    ),
    "last syncs": (
        "waiting in {count} syncs, each for {size},",
        "begin to write earlier (sync_file_range after each piece), or sync in a thread, while the program computes",
    ),
    "small writes": (
        "{count} writes of {size} to {where}",
        f"write {PIECE} at a time, from a buffer ({BUFFERS}; in C++ '\\n' for std::endl)",
    ),
    "small reads": (
        "{count} reads of {size} from {where}",
        f"read {PIECE} at a time, into a buffer ({BUFFERS}; for a shell's read: awk)",
    ),
    "small buffers": (
        "emptying or filling the buffer of a stream {count} times, for {size} each, with {where}",
        f"give the stream a buffer of {PIECE} (setvbuf; in Python: open(..., buffering=))",
    ),
    "independent MPI-IO": ("{count} transfers of {size} by single ranks with {where}", f"{COLLECTIVE} ({HINTS})"),
    "collective pieces": (
        "{count} transfers of {size} in collective calls with {where}",
        f"have the library gather the pieces ({HINTS})",
    ),
    "shared file": (
        "{count} writes of {size} by {times} processes, in between each other, to {where}",
        f"give each process a file, or a long stretch of the file; in MPI {COLLECTIVE} ({HINTS})",
    ),
    "random reads": (
        "{count} reads of {size} from {where}, which do not follow each other, one at a time,",
        "read the file as a whole and in order (pieces of it in order may take longer, since more is read ahead), or "
        "ask for many at a time (threads, posix_fadvise, io_uring), or copy it to memory or a disk of the node first",
    ),
    "reads again": (
        "reading {where} {times} times, {size} each,",
        "read it once and keep it in memory, or on a disk of the node",
    ),
    "mapped again": (
        "fetching mapped files (mmap, numpy.memmap) {times} times, {size} each,",
        "do all that needs a part of the data while it is in memory, block by block, or get more memory: pages were "
        "evicted before they were used again",
    ),
    "scratch files": (
        "writing {where} and reading it again, {size} each,",
        "put what only this job reads on a disk of the node or in its memory (TMPDIR, /dev/shm)",
    ),
    "piped copies": (
        "waiting for {count} copies of files through a pipe ({who} FILE | program), {size} each,",
        "let the program read the file itself (program < FILE)",
    ),
    "opens": ("{count} opens of {where}, for {size} each,", "open it once and keep it open"),
    "rewrites": (
        "writing {where} anew as a whole {count} times, {size} each,",
        "append what is new (a line, a record, a file of its own), or write it once for many records",
    ),
    "small files": (
        "{count} opens of small files, with their reads, {size} each,",
        "keep them in one file (an archive, a container, HDF5), take many records at a time, or copy them to memory or "
        "a disk of the node first",
    ),
    "stream seeks": (
        "{count} moves to other places of files that a stream buffers",
        "go through the file in order (headers and indexes last), or use pread and pwrite, which need no moves",
    ),
    "one directory": (
        "{count} opens of files that many processes write in {where}, {size} each,",
        "give each process or node a directory, or write one file for all",
    ),
    "failing calls": (
        "{count} calls that failed",
        "search fewer directories (PATH, PYTHONPATH, -I), or put all in one directory or container on the node, and do "
        "not make directories that are there; if it waits for files to come, this saves nothing: pause between looks, "
        "or wait by inotify",
    ),
    "looks": (
        "{count} looks at files and directories ({who})",
        "look at fewer, or once: keep what a look has found, and wait for a change (inotify)",
    ),
    "locks": (
        "waiting for locks on files in {count} calls",
        "give each process its own file, which needs no locks, or take one lock for many records",
    ),
    "formatted text": (
        "formatting {count} pieces of text (fprintf, fscanf; an estimate)",
        "write and read numbers as they are in memory (fwrite, fread; HDF5, netCDF), or fewer of them",
    ),
    "metadata at the begin": (
        "{count} metadata calls of {times} processes at once, when they began,",
        "let one process look and tell the others, or start from a container or a copy on the node",
    ),
    "one rank": (
        "the wait of other ranks ({count}) for the I/O of {who}, which does nearly all of it,",
        "let several ranks read and write (MPI_File_write_at_all), or go on computing meanwhile (a thread, MPI_Ibcast)",
    ),
    "uneven ranks": (
        "the wait of other ranks ({count}) for the I/O of {who}, which takes longer than theirs,",
        "divide reading and writing evenly among ranks",
    ),
    "names by one rank": (
        "the wait of other ranks ({count}) for the opens, closes and looks at files of {who}",
        "open files once, look at fewer, or let the other ranks go on meanwhile",
    ),
    "brief processes": (
        f"{{count}} processes of less than {words.duration(BRIEF_NS / 1e9)} each, or of 1 s if scripts ({{who}}),",
        "do the same in one process (one awk, one script), or start one for many files (xargs)",
    ),
}


def how(habit: Habit) -> str:
    return WHAT[habit][1]


def advice_lines(told: Sequence[CostlyHabit], runtime: float) -> Iterator[str]:
    """Two sentences for each: what it costs, and what the change saves."""
    for one in told:
        by = f", by {place_words(one.site)}" if one.site else ""
        cost = f"{_what(one)} took {words.duration(one.seconds)} of {words.duration(runtime)}{by}."
        yield f"{cost} {_saving(one)}: {how(one.habit)}."


def what_to_do(one: CostlyHabit) -> str:
    """What to change, and what that saves: a line of a list."""
    saves = f" (saves about {words.estimate_of_seconds(one.saving)})" if one.saving else ""
    said = how(one.habit)
    return f"{said[0].upper()}{said[1:]}{saves}."


def nothing_to_change(in_calls: float, runtime: float) -> str:
    """Where there is no advice. in_calls: the share of the runtime that its calls took."""
    if in_calls < LEAST_SHARE:
        return f"There is little to save in its I/O calls, which took {words.percent(in_calls)} of the runtime."
    return f"No known habit of its I/O costs {words.duration(max(LEAST_SECONDS, LEAST_SHARE * runtime))} or more."


def _what(one: CostlyHabit) -> str:
    said = WHAT[one.habit][0].format(
        count=f"{one.calls:,}",
        size=words.size(round(one.bytes)),
        where=_where(one),
        times=f"{one.times:.3g}",
        who=one.who,
    )
    return said[0].upper() + said[1:]


def _where(one: CostlyHabit) -> str:
    """The file with most of it, and how many others there are."""
    others = one.files - 1 if one.file else one.files
    known = f"more than {others:,} files" if one.has_more else words.count(others, "other file" if one.file else "file")
    return f"{one.file} and {known}" if one.file and others else one.file or known


def _saving(one: CostlyHabit) -> str:
    if one.saving is None:
        return "This run does not show how much of that can be saved. To try"
    by = f" by one sync in place of {A_BATCH}" if one.habit == "syncs" else ""
    if one.habit == "syncs" and one.saving.high > one.seconds:
        return f"About {words.estimate_of_seconds(one.saving)} can be saved{by}, with the calls that go with them"
    if one.saving.value > one.seconds:
        around = ", with what the program does around each call"
        return f"About {words.estimate_of_seconds(one.saving)} can be saved{around}"
    of_that = "" if one.saving.high > one.seconds else " of that"
    return f"About {words.estimate_of_seconds(one.saving)}{of_that} can be saved{by}"


def advice_record(told: Sequence[CostlyHabit], runtime: float) -> list[dict[str, Any]]:
    """The key `advice` of JSON output, see docs/commands.md."""
    return [
        {
            "kind": one.habit,
            "seconds": one.seconds,
            "saving_seconds": one.saving,
            "calls": one.calls,
            "bytes_a_call": one.bytes,
            "files": [one.file] if one.file else [],
            "site": [vars(place) for place in one.site],
            "how": how(one.habit),
            "sentence": sentence,
        }
        for one, sentence in zip(told, advice_lines(told, runtime), strict=True)
    ]
