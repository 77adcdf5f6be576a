"""A Darshan log as its package reads it: the job, its mounts, its counters, and when what was moved."""

from __future__ import annotations

import bz2
import hashlib
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slicewise.constants import SECOND_NS
from slicewise.errors import UserError
from slicewise.imports.events import Numbers
from slicewise.profile.files import unreadable

MAGIC = 6567223
ZLIB, BZIP2, NOTHING = 0, 1, 2
# Formats from the last of these on have 64 modules. What wrote the format CORRUPT wrote some counters wrong, as the
# package's own library warns.
FEW_MODULES, MANY_MODULES, FIRST_WITH_MANY = 16, 64, 41
CORRUPT = b"3.20"
KNOWN = (b"3.00", b"3.10", CORRUPT, b"3.21", b"3.41")
# A log that grows by more than this when it is unpacked is a crafted one.
MOST_BYTES = 1 << 36
AT_ONCE = 1 << 24
TAKE_ANOTHER = "take an undamaged copy"
MISSING = (
    "slicewise import darshan needs the package `darshan`: pip install 'slicewise[darshan]' (or: pip install darshan)"
)
MODULES = ("POSIX", "STDIO")
DXT, HEATMAP = "DXT_POSIX", "HEATMAP"
# Object stores, which are no file systems: their bytes are in none of the counters that are imported.
OBJECT_MODULES = ("DFS", "DAOS")
SHARED_RANK = -1
# Formats from this one on know the job's start to the ns.
FIRST_WITH_NS = "3.41"
NAME_WITH_IDS = re.compile(r"_id(\d+)-(\d+)_")
STREAMS = ("<STDIN>", "<STDOUT>", "<STDERR>")


def require_sound(place: Path) -> bytes:
    """The log's bytes. Raises UserError where it is none, or anything in it is damaged or missing."""
    try:
        log = place.read_bytes()
    except OSError as error:
        raise UserError(unreadable(place, error)) from error
    if not log:
        raise UserError(f"{place}: is empty; {TAKE_ANOTHER}")
    version = log[:8].rstrip(b"\0")
    if version not in KNOWN:
        raise UserError(f"{place}: is no Darshan log of a format from 3.00 to 3.41; give logs as Darshan 3 writes them")
    if version == CORRUPT:
        raise UserError(f"{place}: was written by Darshan 3.2.0, whose counters are wrong in part; nothing can be done")
    packing, regions = _header(place, log, int(version[2:]))
    for begin, end in regions:
        if end > len(log):
            whole = max(end for _, end in regions)
            raise UserError(f"{place}: is cut short: {end - len(log):,} of {whole:,} bytes are missing; {TAKE_ANOTHER}")
        if (wrong := _wrong_with(log[begin:end], packing)) is not None:
            raise UserError(f"{place}: is damaged: bytes {begin:,} to {end - 1:,} {wrong}; {TAKE_ANOTHER}")
    return log


def _header(place: Path, log: bytes, minor: int) -> tuple[int, list[tuple[int, int]]]:
    """How regions are packed, and from where to where each lies."""
    modules = MANY_MODULES if minor >= FIRST_WITH_MANY else FEW_MODULES
    flag = "7xQ" if minor >= FIRST_WITH_MANY else "3xI"
    for order in "<>":
        form = struct.Struct(f"{order}8sqB{flag}{2 * (modules + 1)}Q{modules}I")
        if len(log) < form.size:
            raise UserError(f"{place}: is cut short within its header; {TAKE_ANOTHER}")
        _, magic, packing, _, *rest = form.unpack_from(log)
        if magic == MAGIC:
            break
    else:
        raise UserError(f"{place}: is damaged: its header is none of Darshan's; {TAKE_ANOTHER}")
    maps = zip(rest[: 2 * (modules + 1) : 2], rest[1::2], strict=False)
    used = [(begin, begin + length) for begin, length in maps if length > 0]
    # What follows the header up to the first region is the job; a job that did nothing has nothing else.
    header = form.size + -form.size % 8
    first = min((begin for begin, _ in used), default=len(log))
    return packing, [(header, first), *used]


def _wrong_with(packed: bytes, packing: int) -> str | None:
    """What is wrong with a region, which is one packed stream after the other."""
    if packing == NOTHING:
        return None
    if not packed:
        return "hold nothing"
    unpacked = 0
    while packed:
        stream = zlib.decompressobj() if packing == ZLIB else bz2.BZ2Decompressor()
        try:
            for size in _unpacked(stream, packed):
                unpacked += size
                if unpacked > MOST_BYTES:
                    return "unpack to more than any log has"
        except (zlib.error, OSError, EOFError) as error:
            return f"do not unpack ({error})"
        if not stream.eof:
            return "end in the middle of a packed stream"
        packed = stream.unused_data
    return None


def _unpacked(stream: zlib._Decompress | bz2.BZ2Decompressor, packed: bytes) -> Iterator[int]:
    """The sizes of what comes out of a stream, piece by piece, so that little memory is taken."""
    while not stream.eof:
        piece = stream.decompress(packed, AT_ONCE)
        if not piece and not stream.eof:
            return
        yield len(piece)
        packed = stream.unconsumed_tail if not isinstance(stream, bz2.BZ2Decompressor) else b""


@dataclass(frozen=True)
class Record:
    """What all calls on one file are in sum, of one rank or (SHARED_RANK) of all."""

    module: str
    file: int
    rank: int
    counters: Mapping[str, int]
    times: Mapping[str, float]

    def number(self, name: str) -> int:
        """A counter; 0 where the log does not know it."""
        return max(0, self.counters.get(f"{self.module}_{name}", 0))

    def seconds(self, name: str) -> float:
        """A time; 0 where the log does not know it."""
        return max(0.0, self.times.get(f"{self.module}_F_{name}", 0.0))


@dataclass(frozen=True)
class Trace:
    """The calls of one rank on one file and in one direction: offsets, lengths and times since the job's start."""

    file: int
    rank: int
    way: str
    lengths: Numbers
    begin: np.ndarray[Any, np.dtype[np.float64]]
    end: np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class HeatBins:
    """The bytes that one rank moved through one module in one direction, by bins of equal length since the start."""

    module: str
    rank: int
    way: str
    bin_seconds: float
    bins: Numbers


@dataclass(frozen=True)
class Log:
    """One log. job: the scheduler's id, else that of a process. digest: tells this log from all others. pid: 0 where
    its name does not say it. partial: modules that ran out of room. hosts: by rank, as far as known. object_bytes:
    moved on object stores. shift_ns: by so much its times were set forward. has_end: False where the process was
    killed, and left its mapped log.
    """

    place: Path
    digest: str
    version: str
    job: str
    pid: int
    user: int
    program: str
    start_ns: int
    end_ns: int
    clock_error_ns: int
    ranks: int
    mounts: Mapping[str, str]
    names: Mapping[int, str]
    modules: Sequence[str]
    partial: Sequence[str]
    records: Sequence[Record]
    traces: Sequence[Trace]
    heat: Sequence[HeatBins]
    hosts: Mapping[int, str]
    object_bytes: int
    shift_ns: int = 0
    has_end: bool = True


def load(place: Path) -> Log:
    """Read a log. Raises UserError where it is damaged, or the package is missing."""
    try:
        from darshan.backend import cffi_backend as package
    except ImportError as error:
        raise UserError(MISSING) from error
    content = require_sound(place)
    log = package.log_open(str(place))
    if not log["handle"]:
        raise UserError(f"{place}: the package `darshan` cannot open it; take an undamaged copy")
    try:
        return _loaded(place, hashlib.blake2b(content, digest_size=16).hexdigest(), package, log)
    except (UnicodeDecodeError, ValueError, OverflowError) as error:
        raise UserError(f"{place}: holds names or numbers that no log has ({error}); take an undamaged copy") from error
    finally:
        package.log_close(log)


def _loaded(place: Path, digest: str, package: Any, log: Any) -> Log:
    job, modules = package.log_get_job(log), package.log_get_modules(log)
    names = package.log_get_name_records(log)
    start_ns = int(job["start_time_sec"]) * SECOND_NS + int(job["start_time_nsec"])
    end_ns = int(job["end_time_sec"]) * SECOND_NS + int(job["end_time_nsec"])
    ranks = int(job["nprocs"])
    if start_ns <= 0 or ranks < 1:
        raise UserError(f"{place}: says neither when it began nor how many processes it had; take an undamaged copy")
    program = str(package.log_get_exe(log)).split(" ", 1)[0]
    ids = NAME_WITH_IDS.search(place.name)
    traces, hosts = _traces(place, package, log)
    records = [one for name in MODULES for one in _records(place, package, log, name)]
    knows_ns = str(job["log_ver"]) >= FIRST_WITH_NS
    return Log(
        place=place,
        digest=digest,
        version=str(job["log_ver"]),
        job=str(int(job["jobid"])),
        pid=int(ids[2]) if ids and ranks == 1 else 0,
        user=max(0, int(job["uid"])),
        program=program,
        start_ns=start_ns,
        has_end=end_ns > 0,
        end_ns=max(end_ns, start_ns + round(_last_seconds(records, traces) * SECOND_NS)),
        clock_error_ns=0 if knows_ns else SECOND_NS,
        ranks=ranks,
        mounts=dict(package.log_get_mounts(log)),
        names=names,
        modules=sorted(modules),
        partial=[name for name, about in modules.items() if about["partial_flag"]],
        records=records,
        traces=traces,
        heat=_heat(place, package, log, names),
        hosts=hosts,
        object_bytes=sum(
            _moved(name, one["counters"], package)
            for name in OBJECT_MODULES[:1]
            for one in _each(place, package, log, name)
        ),
    )


def _each(place: Path, package: Any, log: Any, module: str) -> Iterator[Any]:
    is_there, count = module in package.log_get_modules(log), 0
    while is_there and (record := package.log_get_record(log, module)) is not None:
        yield record
        count += 1
    if is_there and not count:
        raise UserError(f"{place}: no record of its module {module} can be read; take an undamaged copy")


def _records(place: Path, package: Any, log: Any, module: str) -> Iterator[Record]:
    names = [package.counter_names(module), package.fcounter_names(module)]
    for record in _each(place, package, log, module):
        counters, times = record["counters"].tolist(), record["fcounters"].tolist()
        yield Record(
            module,
            int(record["id"]),
            int(record["rank"]),
            dict(zip(names[0], counters, strict=True)),
            dict(zip(names[1], times, strict=True)),
        )


def _last_seconds(records: Sequence[Record], traces: Sequence[Trace]) -> float:
    """When the last call ended that the log has: a short job may end in the second in which it began."""
    ends = [time for one in records for name, time in one.times.items() if name.endswith("_END_TIMESTAMP")]
    return max([0.0, *ends, *(float(trace.end.max()) for trace in traces)])


def _moved(module: str, counters: Any, package: Any) -> int:
    named = dict(zip(package.counter_names(module), counters.tolist(), strict=True))
    return int(named[f"{module}_BYTES_READ"]) + int(named[f"{module}_BYTES_WRITTEN"])


def _traces(place: Path, package: Any, log: Any) -> tuple[list[Trace], dict[int, str]]:
    traces, hosts = [], {}
    for record in _each(place, package, log, DXT):
        rank = int(record["rank"])
        hosts[rank] = str(record["hostname"]).split(".", 1)[0]
        for way in ("read", "write"):
            found = record[f"{way}_segments"]
            if found:
                values = {name: np.array([one[name] for one in found]) for name in ("length", "start_time", "end_time")}
                traces.append(
                    Trace(
                        int(record["id"]),
                        rank,
                        way,
                        values["length"].astype(np.int64),
                        values["start_time"].astype(np.float64),
                        values["end_time"].astype(np.float64),
                    )
                )
    return traces, hosts


def _heat(place: Path, package: Any, log: Any, names: Mapping[int, str]) -> list[HeatBins]:
    found = []
    for record in _each(place, package, log, HEATMAP):
        module = names.get(record["id"], "").rpartition(":")[2]
        for way in ("read", "write"):
            bins = record[f"{way}_bins"].astype(np.int64)
            if module in MODULES and bins.any():
                found.append(HeatBins(module, int(record["rank"]), way, float(record["bin_width_seconds"]), bins))
    return found
