"""The digest's frames as data: every column's type, unit and meaning, once.

Documentation is made from this list, and `conform` holds every frame to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from slicewise import contract

Unit = Literal["", "bytes", "calls", "ns", "s", "slices", "threads", "processes", "share", "UNIX time, ns"]


@dataclass(frozen=True)
class Field:
    """One column: its type, the unit of its numbers ("" for names and plain counts), and what it means."""

    dtype: pl.DataType
    unit: Unit
    meaning: str


@dataclass(frozen=True)
class Frame:
    """One frame: what a row is, its columns in order, and the columns that tell one row from another."""

    meaning: str
    keys: tuple[str, ...]
    columns: dict[str, Field]

    @property
    def polars_schema(self) -> pl.Schema:
        return pl.Schema({name: column.dtype for name, column in self.columns.items()})


def _name(meaning: str) -> Field:
    return Field(pl.String(), "", meaning)


def _yes_or_no(meaning: str) -> Field:
    return Field(pl.Boolean(), "", meaning)


def _amount(unit: Unit, meaning: str) -> Field:
    return Field(pl.Float64(), unit, meaning)


def number(unit: Unit, meaning: str) -> Field:
    return Field(pl.Int64(), unit, meaning)


CLOCK_ERROR = number(
    "ns", "how far its slices may be off the clock, of imported jobs; 0 in profiles of Slicewise: not measured"
)
SPREAD_AT_MOST = number(
    "slices", "over how many slices an imported log's bytes were spread at most; 1: each byte is in its slice"
)
JOB = _name("the job's name; of several jobs with one name the later ones have a number behind it")
PROCESS = Field(pl.UInt64(), "", "unique id of the process's run")
STORAGE = Field(pl.UInt64(), "", "which file system: one number for the same storage, on all nodes and in all jobs")
SLICE = number("", "number of the slice")
NODE = _name("the node's name")
NODE_SLICE = number("", "number of the node's slice")
# Columns of the profile's tables: those that number its rows (here the slice is a key), and times since 1970.
NUMBERS = ("number", "slice")
MOMENTS = ("time_ns", "begin_ns", "end_ns")
CALLS = {"read": "read calls", "write": "write calls", "meta": "metadata calls", "sync": "sync calls"}


def _as_profiled(table: str, *without: str) -> dict[str, Field]:
    """The columns of the profile's table of that name (schema/tables.def), less NUMBERS and those named."""
    listed = next(each["columns"] for each in contract.TABLES if each["name"] == table)
    return {column["name"]: _profiled(column) for column in listed if column["name"] not in (*NUMBERS, *without)}


def _profiled(column: dict[str, str]) -> Field:
    if column["type"] in ("STRING", "ENUM"):
        return _name(column["meaning"])
    is_of_calls = column["name"] in ("calls", "opens") or column["name"].endswith("_ops")
    counted: Unit = "calls" if is_of_calls else ""
    units: dict[str, Unit] = {"bytes": "bytes", "ns": "UNIX time, ns" if column["name"] in MOMENTS else "ns"}
    return number(units.get(column["unit"], counted), column["meaning"])


def _of_kinds() -> dict[str, Field]:
    columns = {
        f"{kind}_bytes": number("bytes", f"bytes transferred by {CALLS[kind]} on files") for kind in ("read", "write")
    }
    columns |= {
        f"{kind}_ops": number("calls", f"{calls} on files, asynchronous requests included")
        for kind, calls in CALLS.items()
    }
    columns |= {
        f"{kind}_ns": number("ns", f"time in {calls} on files, of all threads together")
        for kind, calls in CALLS.items()
    }
    return columns | {
        f"{kind}_request_ns": number("ns", f"time of asynchronous {kind} requests on files")
        for kind in ("read", "write")
    }


SEEN_AND_COUNTED: tuple[tuple[str, Unit, str], ...] = (
    ("seen", "bytes", "bytes of calls that were covered"),
    ("kernel", "bytes", "bytes that the kernel counted"),
    ("calls_seen", "calls", "calls that were covered"),
    ("calls_kernel", "calls", "calls that the kernel counted"),
    ("storage", "bytes", "bytes that the kernel transferred between storage and memory in that direction"),
    ("requested", "bytes", "bytes of requests that were covered and are in no other count here"),
    ("touches", "calls", "calls and requests that may each have made the kernel transfer a page more"),
)

DISTRIBUTION = {
    "kind": _name("read, write, or meta"),
    "what": _name("size or latency"),
    "bin": number("", "number of the bin, from 0 on"),
    "least": number("", "the least that the bin holds, in bytes or ns"),
    "most": number("", "the most that it holds; null: no bound"),
    "calls": number("calls", "calls in the bin"),
}

SAMPLED_PROCESS = Field(
    pl.UInt64(), "", "unique id of the collector's run, which sampled the process; `nth` says which process it was"
)
UNSURE_NS = number(
    "ns",
    "doubt about the slice's edges: what was transferred within this many ns may belong to the slice before or after, "
    "since the collector did not look exactly at the edges",
)
SAMPLED_COUNTS = {
    "read_bytes": number("bytes", "bytes read"),
    "write_bytes": number("bytes", "bytes written"),
    "read_ops": number("calls", "read calls"),
    "write_ops": number("calls", "write calls"),
    "storage_read_bytes": number("bytes", "bytes that the kernel fetched from storage"),
    "storage_write_bytes": number("bytes", "bytes that the kernel sent to storage"),
}

# Columns that are keys of many frames, and mean the same in each.
KEY_COLUMNS = {"process": PROCESS, "storage": STORAGE, "slice": SLICE, "node": NODE}


def _frame(meaning: str, keys: tuple[str, ...], columns: dict[str, Field]) -> Frame:
    """A frame that has KEY_COLUMNS among its keys: these come first, where `columns` says nothing else of them."""
    known = {name: KEY_COLUMNS[name] for name in keys if name in KEY_COLUMNS and name not in columns}
    return Frame(meaning, keys, known | columns)


FRAMES: dict[str, Frame] = {
    "jobs": Frame(
        "one row for each job",
        ("job",),
        {
            "job": JOB,
            "source": _name("what it was made from: profile, or what another profiler's log held (see imports.md)"),
            "path": _name("path of the profile or log"),
            "program": _name("program of the processes that transferred most bytes: as of `processes`"),
            "command": _name("command line of its first process: as of `processes`"),
            "directory": _name("working directory of its first process when its profiling began"),
            "is_mpi": _yes_or_no("its processes have ranks"),
            "processes": number("processes", "processes of the job that matter"),
            "nodes": number("", "nodes of these processes"),
            "user": number("", "numeric user id"),
            "account": _name("the account that the scheduler charges, if any"),
            "slice_ns": number("ns", "length of a slice"),
            "start_ns": number("UNIX time, ns", "when its first process began"),
            "end_ns": number("UNIX time, ns", "when its last process ended; of a running job, when it was last seen"),
            "is_running": _yes_or_no("some process had not ended when the profile was read"),
            "spread": SPREAD_AT_MOST,
            "clock_error_ns": CLOCK_ERROR,
            **_of_kinds(),
        },
    ),
    "processes": Frame(
        "one row for each process of the profile",
        ("process",),
        {
            "job": JOB,
            "process": PROCESS,
            "node": NODE,
            "pid": number("", "process id on its node"),
            "rank": number("", "rank in MPI_COMM_WORLD; -1 without MPI"),
            "ranks": number("", "size of MPI_COMM_WORLD; 0 without MPI"),
            "program": _name(
                "the executable's name; of an interpreter with the script, module or archive that it runs"
            ),
            "path": _name("the executable's path"),
            "command": _name(
                "its command line; [counters.md](counters.md#processes) says what is left out; empty: not known"
            ),
            "directory": _name("its working directory when profiling began; empty: not known"),
            "label": _name(
                "what to call it: its rank and node, with the process id where others of the job have that rank; "
                "without a rank its process id and node"
            ),
            "start_ns": number("UNIX time, ns", "when it began"),
            "end_ns": number("UNIX time, ns", "when it ended; of one that still runs, when it was last seen"),
            "ending": _name("how it ended"),
            "clock": _name("by which clock its calls were timed: counter (the processor's) or vdso (the kernel's)"),
            "profiler_ns": number("ns", "time that the profiler took beside the calls that it counted"),
            "call_cost_ps": number("", "what counting a call cost, in picoseconds"),
            "statx_ps": number("", "what a statx took there at least, in picoseconds; 0: not measured"),
            "site_ns": number("ns", "time in calls that a sample of a call site stands for; 0: there are none"),
            "all_read_bytes": number("bytes", "the kernel's last count of bytes read, before profiling included"),
            "all_write_bytes": number("bytes", "the kernel's last count of bytes written, before profiling included"),
            "waited_ns": number(
                "ns", "time that it waited for its turn, where jobs take turns; none of its calls' time"
            ),
            "waits": number("", "how often it waited for it"),
            "spread": SPREAD_AT_MOST,
            "clock_error_ns": CLOCK_ERROR,
            "is_of_job": _yes_or_no("it is the job's own: it has a rank, or no process has one"),
            "matters": _yes_or_no(
                "its I/O is part of what the job does ([glossary.md](glossary.md#process-that-matters)); analyses "
                "count these"
            ),
            **_of_kinds(),
        },
    ),
    "storages": _frame(
        "one row for each file system that any process saw",
        ("storage",),
        {
            "type": _name("file system type"),
            "source": _name("device or server"),
            "node": _name("the only node that has it; empty for a network file system"),
            "point": _name("where most of its bytes went through: a mount point"),
        },
    ),
    "process_slices": _frame(
        "one row for each process, storage and slice with any call on files; bytes that pass through several layers "
        "count once",
        ("process", "storage", "slice"),
        {
            **_of_kinds(),
            "threads": number("threads", "threads whose calls ended in the slice; at least 1"),
            "spread": number(
                "slices", "over how many slices its bytes were spread evenly; 1: each byte is in its slice"
            ),
            "fetched_read_bytes": number(
                "bytes",
                "`read_bytes` of the job in the slices in which the kernel fetched them; null: memory had little of "
                "them, or nobody knows when",
            ),
        },
    ),
    "mounts": _frame(
        "one row for each process and file system that it saw, at each place where it is mounted",
        ("process", "storage", "point"),
        {
            "point": _name("where the process has it mounted"),
            "read_bytes": number("bytes", "bytes read through that mount"),
            "write_bytes": number("bytes", "bytes written through that mount"),
            "past_cache_bytes": number(
                "bytes",
                "of these, those to files that were open with O_DIRECT, O_SYNC or "
                "O_DSYNC, as far as files have a row of their own",
            ),
            "synced_writes": number("calls", "writes to files open with O_SYNC or O_DSYNC, likewise"),
        },
    ),
    "fetched": _frame(
        "one row for each process, storage and slice in which it waited for pages of mapped files (`mmap`), which no "
        "call shows; estimates, of processes for which the kernel fetched much beyond their calls",
        ("process", "storage", "slice"),
        {
            "fetched_bytes": number("bytes", "bytes that the kernel fetched for it beyond its calls"),
            "faults": number("", "page faults that read them"),
            "waited_ns": number("ns", "time in which it did not compute, was not in calls and not ready to run"),
        },
    ),
    "files": _frame(
        "one row for each process and file that transferred much or took long; "
        "all its other files are in its row with an empty path",
        ("process", "file"),
        _as_profiled("files", "mount", "past_cache"),
    ),
    "coverage": _frame(
        "one row for each process: what was covered of it on all descriptors, and what the kernel counted. The share "
        "that was covered is the sum of `read_seen` over that of `read_kernel` (and 1 at most), of the job's processes "
        "that were not killed. What programs without the library read is added to the sum of `read_kernel`. The same "
        "holds for writes",
        ("process",),
        {
            **{
                f"{way}_{what}": number(unit, f"{way}: {meaning}")
                for way in ("read", "write")
                for what, unit, meaning in SEEN_AND_COUNTED
            },
            "has_stdio": _yes_or_no("it used stdio: of the calls that stdio makes by itself, only the bytes are known"),
            "mapped": number("bytes", "bytes of files on storage that it mapped into memory; null: not known"),
        },
    ),
    "calls": Frame(
        "one row for each process and function that it called",
        ("process", "operation"),
        {"process": PROCESS, "operation": _name("the function"), "calls": number("calls", "how often")},
    ),
    "mishaps": Frame(
        "one row for each process and kind of trouble that profiling met",
        ("process", "mishap"),
        {"process": PROCESS, "mishap": _name("what happened"), "count": number("", "how often")},
    ),
    "unprofiled": _frame(
        "one row for each program that could not be profiled, and process that began it",
        ("process", "program", "pid"),
        _as_profiled("unprofiled"),
    ),
    "launches": _frame(
        "one row for each command that `slicewise run` began, with the kernel's counts of it and the "
        "descendants that their parents waited for",
        ("node", "pid"),
        _as_profiled("launches", "host", "read_ops", "write_ops", "start_ns", "end_ns"),
    ),
    "sampled_processes": Frame(
        "one row for each process of the job that no library profiled and that its node's collector sampled from "
        "outside; its counts are the kernel's, of descriptors of any kind, and in no other frame. (A job of which no "
        "process was profiled has these in `processes`, too, without counts)",
        ("process", "nth"),
        {
            "process": SAMPLED_PROCESS,
            "nth": number("", "number within that run; a program that took another one's place has its own"),
            "node": NODE,
            "pid": number("", "process id on its node"),
            "program": _name("the executable's name"),
            "path": _name("the executable's path"),
            "label": _name("what to call it: its process id and node"),
            "reason": _name("why it could not be profiled, as far as known"),
            "start_ns": number("UNIX time, ns", "when the process began"),
            "end_ns": number("UNIX time, ns", "when it was last looked at; what it did after that is missing"),
            "is_refused": _yes_or_no("the kernel did not tell its counts: it has none"),
            **SAMPLED_COUNTS,
        },
    ),
    "sampled_storages": Frame(
        "one row for each sampled process and storage on which it read or wrote: an estimate, by the positions of its "
        "open files",
        ("process", "nth", "storage"),
        {
            "process": SAMPLED_PROCESS,
            "nth": number("", "number of the process within that run"),
            "storage": STORAGE,
            "point": _name("where the process has it mounted"),
            **{
                f"{way}_share": Field(pl.Float64(), "", f"part of the process's storage_{way}_bytes that were there")
                for way in ("read", "write")
            },
        },
    ),
    "sampled_slices": Frame(
        "one row for each sampled process and slice in which the kernel counted anything of it",
        ("process", "nth", "slice"),
        {
            "process": SAMPLED_PROCESS,
            "nth": number("", "number of the process within that run"),
            "slice": NODE_SLICE,
            **SAMPLED_COUNTS,
            "unsure_ns": UNSURE_NS,
        },
    ),
    "others": _frame(
        "one row for each node, user and slice in which other processes of the user transferred anything while the job "
        "ran. Processes of the job and processes with a profile are left out. Root's collector samples them if a site "
        "asks for it. Counts are the kernel's, of descriptors of any kind; no other frame includes them",
        ("node", "user", "slice"),
        {
            "user": number("", "numeric user id; null: all users whom the site does not name, together"),
            "slice": NODE_SLICE,
            "processes": number("processes", "the most processes of the user without a profile at one time"),
            **SAMPLED_COUNTS,
            "unsure_ns": UNSURE_NS,
        },
    ),
    "distributions": Frame(
        "one row for each kind of call and bin of sizes or durations, of all of the job's own processes together. No "
        "rows, unless they were asked for: `slicewise.read(PATH, distributions=True)`",
        ("kind", "what", "bin"),
        DISTRIBUTION,
    ),
    "storage_distributions": Frame(
        "the same by file system: one row for each file system, kind of call and bin",
        ("storage", "kind", "what", "bin"),
        {"storage": STORAGE, **DISTRIBUTION},
    ),
    "accesses": _frame(
        "one row for each file system and direction: the calls of all of the job's own processes together",
        ("storage", "direction"),
        {
            "direction": _name("read or write"),
            "calls": number("calls", "how many, requests included"),
            "bytes": number("bytes", "bytes that they transferred"),
            "sequential": number("calls", "calls that began at or after the end of the thread's last one on the file"),
            "consecutive": number("calls", "calls that began exactly at that end"),
            "first": number("calls", "calls that had nothing to follow: the thread's first on a descriptor"),
        },
    ),
    "events": Frame(
        "one row for each hardware event that any process counted",
        ("event",),
        {
            "event": _name("the event's name, as it was asked for"),
            "unit": _name("its unit; empty: a plain count"),
            "meaning": _name("what it is"),
        },
    ),
    "hardware": _frame(
        "one row for each process, slice and hardware event",
        ("process", "slice", "event"),
        {"event": _name("the event"), "value": number("", "how many, in its unit")},
    ),
    "waits": _frame(
        "one row for each process and slice in which it waited for its turn at I/O; no call's time includes that time",
        ("process", "slice"),
        _as_profiled("waits"),
    ),
    "communication": _frame(
        "one row for each process, slice and class of calls of MPI; times of a process's threads add up",
        ("process", "slice", "class"),
        _as_profiled("communication"),
    ),
    "library_calls": _frame(
        "one row for each process and function of an I/O library (HDF5, netCDF, ...); times of threads add up",
        ("process", "function"),
        {"library": _name("its library"), **_as_profiled("library_calls", "library")},
    ),
    "regions": _frame(
        "one row for each process and occurrence of a region that the program marked, with what its thread did in it; "
        "one for all further occurrences of a name of which many are known",
        ("process", "region", "occurrence"),
        {
            "region": _name("the region's name; empty: all names that found no room"),
            **_as_profiled("regions", "name"),
        },
    ),
    "thread_waits": _frame(
        "one row for each process, slice and kind of waits of its threads for each other and for accelerators, where "
        "these were counted",
        ("process", "slice", "kind"),
        _as_profiled("thread_waits"),
    ),
    "accelerated": _frame(
        "one row for each process, slice and kind of what accelerators did for it, where this was counted",
        ("process", "slice", "kind"),
        _as_profiled("accelerated"),
    ),
    "usage": _frame(
        "one row for each process and slice in which Slicewise looked at the kernel's counts of the process: what the "
        "kernel counted until the next look",
        ("process", "slice"),
        {
            **_as_profiled("usage"),
            "delayed_ns": number(
                "ns", "time in which its first thread was ready to run and waited for a processor; null: not counted"
            ),
            "first_thread_ns": number("ns", "processor time of its first thread; null: not counted"),
        },
    ),
    "sites": _frame(
        "one row for each process, call site, function and slice: samples of time in calls; figures are estimates",
        ("process", "site", "operation", "slice"),
        {
            "site": number("", "number of the call site within the process; 0: all that did not fit"),
            "operation": _name("the function that was called"),
            "slice": SLICE,
            "samples": number("", "how many samples"),
            "seconds": _amount("s", "time in calls that they stand for"),
            "bytes": _amount("bytes", "bytes that they stand for"),
            "calls": _amount("calls", "calls that they stand for"),
        },
    ),
    "site_frames": _frame(
        "one row for each frame of a call site's stack",
        ("process", "site", "depth"),
        {
            "site": number("", "number of the call site within the process"),
            "depth": number("", "place in the stack; 0: the code that called the function"),
            "module": _name("path of the executable or library that the code is in; empty: in no file"),
            "build_id": _name("the module's build id; empty: it has none"),
            "offset": number("bytes", "address within the module as its own file counts them"),
            "function": _name("of an interpreted program, the function's name; else empty"),
            "file": _name("of an interpreted program, its source file"),
            "line": number("", "of an interpreted program, the line in it; 0: not known"),
        },
    ),
    "node_samples": _frame(
        "one row for each node and slice in which its collector sampled, while the job ran",
        ("node", "slice"),
        {
            "slice": NODE_SLICE,
            "seconds": _amount("s", "time that was sampled of the slice"),
            "watched_seconds": _amount("s", "of that the time in which the collector looked whether threads slept"),
        },
    ),
    "node_slices": _frame(
        "one row for each node, device, signal and slice where the signal was not 0 (for a mean over time divide "
        "by all seconds of `node_samples`); the node as a whole, not the job's part",
        ("node", "kind", "device", "signal", "slice"),
        {
            "kind": _name(
                "what it is counted of: node, or the kind of device ([counters.md](counters.md#names-of-devices))"
            ),
            "device": _name("the device's name; empty: the node"),
            "signal": _name("which signal; [signals](digest.md#signals) lists them"),
            "slice": NODE_SLICE,
            "amount": _amount("", "how much, added up over the slice's samples"),
            "per": _amount(
                "",
                "what to divide the amount by to get the signal's value: the number of requests for the time of a "
                "request, otherwise seconds (a level, such as dirty_bytes, is added up over time first)",
            ),
        },
    ),
}


def conform(name: str, frame: pl.DataFrame, of: Sequence[str] = ()) -> pl.DataFrame:
    """The frame with exactly the columns that the schema lists, in their order and of their types. of: columns of the
    frame before these. Raises polars' ColumnNotFoundError where one is missing, and InvalidOperationError where a value
    does not fit.
    """
    listed = FRAMES[name].columns
    return frame.select(*of, *(pl.col(column).cast(about.dtype) for column, about in listed.items()))
