"""DFTracer's traces (.pfw, .pfw.gz) as jobs: a JSON object a line, each a call with its begin in UNIX time. POSIX and
stdio count, not what the program itself told. A trace whose end is missing is refused, unless that is asked for.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slicewise.contract import job_name
from slicewise.digest.processes import unknown_node
from slicewise.errors import UserError
from slicewise.imports.job import (
    OTHER_THINGS,
    WAYS,
    BadLine,
    Gathered,
    ImportedJob,
    Met,
    Mount,
    Process,
    identity,
    mount_of,
    refuse_lines,
)
from slicewise.profile.files import unreadable
from slicewise.profile.plausible import MOST_NS, MOST_OF_ANYTHING

SOURCE = "DFTracer"
LAYERS = {"POSIX": "posix", "STDIO": "stdio"}
READS = {"read", "pread", "pread64", "readv", "preadv", "preadv64", "preadv2", "fread", "fgets", "fgetc", "getc"}
WRITES = {
    "write", "pwrite", "pwrite64", "writev", "pwritev", "pwritev64", "pwritev2", "fwrite", "fputs", "fputc", "putc",
}  # fmt: skip
SYNCS = {"fsync", "fdatasync", "sync", "syncfs", "msync", "fflush", "sync_file_range"}
# What these give back is a number of items, of the size that is among their arguments.
OF_ITEMS = {"fread", "fwrite"}
# What a line is: older releases write a letter, 2.2.0 (its core is 4.3) a number.
CALL, ABOUT, SUM = ("X", 1), ("M", 4), ("C", "A", 3)
OWN = "dftracer"
NAMES_OF = {"FH": "files", "HH": "hosts", "SH": "texts"}
# A process may tell the unit of its times, by a line of its own (DFTRACER_TIME_METRIC); else it is us.
UNITS = {"US": 1000, "NS": 1}
US = "US"
GZIP = b"\x1f\x8b"
UNKNOWN = "unknown"
# What lies here is no file of a file system.
PSEUDO, IN_MEMORY = ("/proc/", "/sys/", "/dev/"), "/dev/shm/"
WORKING_DIRECTORY = "."
NO_BRACKETS = ("", "[", "]", "][")


@dataclass
class _TracedJob(Gathered):
    known: Mapping[str, Mount] = field(default_factory=dict)
    who: dict[tuple[str, int], Met] = field(default_factory=dict)
    unsized: int = 0


def read_traces(
    files: Sequence[Path], name: str | None, slice_ns: int, known: Mapping[str, Mount], may_be_cut: bool = False
) -> ImportedJob:
    """One job of all these traces. name: its name; None: the first file's. known: what is mounted, by mount point.
    may_be_cut: take what there is of a trace whose end is missing. Raises UserError for files that are no traces or are
    damaged, by their lines.
    """
    job = _TracedJob(known=known)
    for file in dict.fromkeys(files):
        _read(file, job, may_be_cut)
    if not job.rows:
        raise UserError(f"{files[0]}: holds no calls of POSIX or stdio; trace with its library preloaded")
    whole = name or files[0].name.removesuffix(".gz").removesuffix(".pfw")
    return _made(job, job_name(whole), slice_ns)


def _read(file: Path, job: _TracedJob, may_be_cut: bool) -> None:
    names: dict[str, dict[str, str]] = {kind: {} for kind in (*NAMES_OF.values(), "units")}
    bad: list[str] = []
    count = 0
    lines = _lines(file)
    tail = ""
    try:
        for number, line in enumerate(lines, 1):
            text = line.strip().rstrip(",")
            if text in NO_BRACKETS:
                continue
            if tail:
                bad.append(tail)
                tail = ""
            try:
                event = json.loads(text)
            except ValueError:
                # The last line alone may be one that was being written.
                tail = f"line {number:,} is no JSON"
                continue
            try:
                _take(event, names, job)
                count += 1
            except (BadLine, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
                said = str(error) if isinstance(error, BadLine) else f"is no event of DFTracer ({error!r})"
                bad.append(f"line {number:,} {said}")
    except _CutShort as error:
        tail = str(error)
    refuse_lines(file, bad)
    if tail and not may_be_cut:
        raise UserError(
            f"{file}: its end is damaged: {tail}, after {count:,} sound events; --cut imports what is there"
        )
    if tail:
        job.notes.append(f"{file.name}: its end is damaged ({tail}), so calls are missing; {count:,} events were read")


class _CutShort(Exception):
    """A compressed file that ends in the middle, or is damaged from some place on."""


def _lines(file: Path) -> Iterator[str]:
    try:
        with file.open("rb") as packed:
            is_packed = packed.read(len(GZIP)) == GZIP
        with gzip.open(file, "rt", encoding="utf-8") if is_packed else file.open(encoding="utf-8") as text:
            number = 0
            try:
                for line in text:
                    number += 1
                    yield line
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise _CutShort(f"it does not unpack further than line {number:,} ({error})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{file}: is no trace of DFTracer: {error}") from error
    except OSError as error:
        raise UserError(unreadable(file, error)) from error


def _take(event: Any, names: dict[str, dict[str, str]], job: _TracedJob) -> None:
    arguments, category, kind = event.get("args") or {}, event["cat"], event["ph"]
    process = f"{arguments.get('hhash', '')} {event['pid']}"
    if kind in ABOUT:
        if event["name"] in NAMES_OF:
            names[NAMES_OF[event["name"]]][str(arguments["value"])] = str(arguments["name"])
        elif event["name"] == "CM" and arguments["name"] == "time_metric":
            names["units"][process] = str(arguments["value"])
        return
    if kind in SUM and category in LAYERS:
        raise BadLine("holds calls in sum (DFTRACER_ENABLE_AGGREGATION), which are not imported; trace without it")
    if kind not in CALL or (category not in LAYERS and category != OWN):
        return
    unit = names["units"].get(process) or names["units"].get(f" {event['pid']}", US)
    if unit not in UNITS:
        raise BadLine(f"has times in {unit}, too coarse for slices; trace with DFTRACER_TIME_METRIC=US")
    host = names["hosts"].get(str(arguments.get("hhash", "")), arguments.get("hostname", unknown_node()))
    begin_ns, length_ns = int(event["ts"]) * UNITS[unit], int(event["dur"]) * UNITS[unit]
    if begin_ns < 0 or length_ns < 0 or begin_ns + length_ns > MOST_NS:
        raise BadLine(f"was at no time that a clock tells ({event['ts']})")
    pid, end_ns = int(event["pid"]), begin_ns + length_ns
    who = job.who.setdefault((host, pid), Met(len(job.who), begin_ns, end_ns, UNKNOWN))
    who.calls(begin_ns, end_ns)
    if category == OWN:
        _take_own(event["name"], arguments, names, who)
        return
    name = event["name"]
    path = names["files"].get(str(arguments.get("fhash", "")), arguments.get("fname", ""))
    moved, way = _bytes(name, arguments)
    if moved is None:
        job.unsized += 1
        moved = 0
    if moved > MOST_OF_ANYTHING:
        raise BadLine(f"moves {moved:,} bytes, more than any job does")
    mount, file = _mount(path, job), job.paths(path) if path else -1
    layer = LAYERS[category]
    job.rows.append((who.place, mount, file, layer, way, begin_ns, end_ns, moved, 1, length_ns, False))
    if way in WAYS:
        job.moved[layer, way] += moved
    if file >= 0 and "open" in name:
        job.opens[who.place, file] += 1


def _take_own(name: str, arguments: Mapping[str, Any], names: Mapping[str, Mapping[str, str]], who: Met) -> None:
    """What DFTracer says of a process as it starts and ends."""
    if name == "start":
        who.has_begin = True
        command = names["texts"].get(str(arguments.get("cmd_hash", "")), "")
        who.program = command.split(" ", 1)[0] or who.program
    who.has_end |= name == "end"


def _bytes(name: str, arguments: Mapping[str, Any]) -> tuple[int | None, str]:
    """How many bytes a call moved (None: the trace does not say), and its kind."""
    way = "read" if name in READS else "write" if name in WRITES else "sync" if name in SYNCS else "meta"
    if way not in WAYS:
        return 0, way
    if "ret" not in arguments:
        return None, way
    found = max(0, int(arguments["ret"]))
    return found * int(arguments.get("size", 1)) if name in OF_ITEMS else found, way


def _mount(path: str, job: _TracedJob) -> int:
    """The file system that a path is on. A trace knows no mounts: what was named, else the path's first directory."""
    if path.startswith(PSEUDO) and not path.startswith(IN_MEMORY):
        return job.mounts(Mount("", "", "", OTHER_THINGS))
    point = mount_of(path, list(job.known))
    if point:
        return job.mounts(job.known[point])
    if not path.startswith("/"):
        return job.mounts(Mount(WORKING_DIRECTORY, UNKNOWN, ""))
    return job.mounts(Mount("/" + path.split("/")[1] if path.count("/") > 1 else "/", UNKNOWN, ""))


def _made(job: _TracedJob, name: str, slice_ns: int) -> ImportedJob:
    if job.unsized:
        calls = "1 read or write says" if job.unsized == 1 else f"{job.unsized:,} reads and writes say"
        raise UserError(f"{name}: {calls} not how many bytes it moved; trace with DFTRACER_INC_METADATA=1")
    open_ended = sum(who.has_begin and not who.has_end for who in job.who.values())
    if open_ended:
        are = "1 process has" if open_ended == 1 else f"{open_ended:,} processes have"
        job.notes.append(f"{are} no end in the traces: killed, perhaps, and their last calls are missing")
    processes = [
        Process(identity(SOURCE, name, host, pid, who.begin_ns), host, pid, who.program, who.begin_ns, who.end_ns)
        for (host, pid), who in job.who.items()
    ]
    return job.job(name, SOURCE, 0, slice_ns, processes)
