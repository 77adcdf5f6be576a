"""An imported job as a profile: the format of docs/format.md, with a schema of its own.

A file is written aside and read back, its bytes are compared with the log's, and then it is renamed: one that is there
is whole.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise import __version__
from slicewise.contract import job_name, layers_of
from slicewise.digest.digest import read_digest
from slicewise.errors import UserError
from slicewise.imports.events import files_of, slices_of
from slicewise.imports.job import OTHER_THINGS, ImportedJob, Process, moved_in, require_same_bytes
from slicewise.profile import native
from slicewise.profile.files import SUFFIX
from slicewise.profile.reader import read_profile
from slicewise.profile.schema import FORMAT_VERSION

MARKER = f"SWZ{FORMAT_VERSION}".encode()
SKIPPABLE, ENVELOPE_BYTES = 0x184D2A53, 32
LAST_FRAME = 1
SCHEMA_PROCESS = 0
ROWS_A_FRAME = 4096
MOST_TEXT_BYTES = 4096
LEVEL = 3

ENUMERATIONS = {
    "layers": [*layers_of("call"), *layers_of("mpiio"), *layers_of("kernel"), *layers_of("request")],
    "objects": ["file", OTHER_THINGS],
    "endings": ["exit"],
    "clocks": ["log"],
    "operations": [],
    "mishaps": [],
}  # fmt: skip


def _columns(kind: str, unit: str, merge: str, *names: str, meaning: str = "") -> list[dict[str, str]]:
    return [{"name": name, "type": kind, "unit": unit, "merge": merge, "meaning": meaning} for name in names]


def _enumerated(name: str, enumeration: str, merge: str = "LAST") -> list[dict[str, str]]:
    return [column | {"enumeration": enumeration} for column in _columns("ENUM", "", merge, name)]


def _figures(*whats: tuple[str, str], ways: Sequence[str] = ("read", "write")) -> list[dict[str, str]]:
    return [column for what, unit in whats for way in ways for column in _columns("U64", unit, "SUM", f"{way}_{what}")]


TABLES: dict[str, tuple[str, list[dict[str, str]]]] = {
    "processes": ("LAST", [
        *_columns("STRING", "", "LAST", "job", "host", "program", "account"),
        *_columns("STRING", "", "LAST", "source", meaning="what it was imported from"),
        *_columns("U64", "", "LAST", "user", "pid", "ranks"),
        *_columns("I64", "", "LAST", "rank"),
        *_columns("U64", "ns", "LAST", "start_ns", "end_ns", "slice_ns"),
        *_columns("U64", "ns", "LAST", "clock_error_ns", meaning="by so much its times may lie off the clock"),
        *_enumerated("ending", "endings"),
        *_enumerated("clock", "clocks"),
    ]),
    "mounts": ("LAST", [
        *_columns("U64", "", "KEY", "mount"),
        *_enumerated("object", "objects"),
        *_columns("STRING", "", "LAST", "point", "type", "source"),
    ]),
    "slices": ("ADD", [
        *_columns("U64", "", "KEY", "mount"),
        *_enumerated("layer", "layers", "KEY"),
        *_columns("U64", "", "KEY", "slice"),
        *_figures(("ops", "count"), ("ns", "ns"), ways=("read", "write", "meta", "sync")),
        *_figures(("bytes", "bytes")),
        *_columns("U64", "threads", "MAX", "threads"),
        *_columns("U64", "slices", "MAX", "spread", meaning="over how many slices the bytes were spread"),
    ]),
    "files": ("LAST", [
        *_columns("U64", "", "KEY", "file"),
        *_columns("U64", "", "LAST", "mount"),
        *_columns("STRING", "", "LAST", "path"),
        *_columns("U64", "count", "SUM", "opens"),
        *_figures(("ops", "count"), ("bytes", "bytes"), ("ns", "ns")),
    ]),
    "calls": ("LAST", [*_enumerated("operation", "operations", "KEY"), *_columns("U64", "count", "SUM", "calls")]),
    "mishaps": ("LAST", [*_enumerated("mishap", "mishaps", "KEY"), *_columns("U64", "count", "SUM", "count")]),
}  # fmt: skip
NUMBER_OF_TABLE = {name: number for number, name in enumerate(TABLES)}


def schema_text() -> bytes:
    """The schema of imported profiles."""
    tables = [{"name": name, "rows": rows, "columns": columns} for name, (rows, columns) in TABLES.items()]
    enumerations = {name: [{"name": one} for one in names] for name, names in ENUMERATIONS.items()}
    writer = f"slicewise {__version__} import"
    return json.dumps(
        {"format": FORMAT_VERSION, "writer": writer, "enumerations": enumerations, "tables": tables}
    ).encode()


def write_profile(job: ImportedJob, into: Path) -> Path:
    """Write a job to a directory of its name, and give that directory.

    Raises UserError where the job's bytes do not come out as they went in, or another job's profile is in the way.
    """
    rows = slices_of(job.events, job.slice_ns)
    directory = into / job_name(job.name)
    require_same_bytes(directory, job.moved, moved_in(rows))
    name = f"{job.source.split()[0].lower()}{SUFFIX}"
    _require_own_place(directory, name, {process.number for process in job.processes})
    aside = directory / f".{name}.{os.getpid()}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with aside.open("wb") as file:
            file.writelines(_frames(job, rows))
            file.flush()
            os.fsync(file.fileno())
        written = read_profile(aside, needs_axis=False)
        require_same_bytes(directory, job.moved, moved_in(written.slices))
        aside.replace(directory / name)
    except OSError as error:
        raise UserError(
            f"{directory}: cannot be written: {error.strerror}; give another directory to --into"
        ) from error
    finally:
        aside.unlink(missing_ok=True)
    return directory


def _require_own_place(directory: Path, name: str, processes: set[int]) -> None:
    """Raises UserError where the directory holds another job, or a profile that was not imported so."""
    there = sorted(directory.glob(f"*{SUFFIX}"))
    strange = [file for file in there if file.name != name]
    if strange:
        raise UserError(f"{directory}: holds a profile already ({strange[0].name}); give another directory to --into")
    if there:
        known = set(read_digest(there[0], in_sum=True, needs_axis=False).processes["process"].to_list())
        if known.isdisjoint(processes):
            raise UserError(f"{directory}: holds another job of this name; give another directory to --into")


def _frames(job: ImportedJob, rows: pl.DataFrame) -> list[bytes]:
    text = schema_text()
    packer = _Packer(zlib.crc32(text))
    files = files_of(job.events)
    of_slices, of_files = _by_process(rows), _by_process(files)
    frames = [packer.frame(SCHEMA_PROCESS, 0, text)]
    for place, process in enumerate(job.processes):
        own = rows.slice(*of_slices.get(place, (0, 0)))
        own_files = files.slice(*of_files.get(place, (0, 0)))
        payloads = [_head(job, process, own) + _files(job, place, own_files)]
        for first in range(0, own.height, ROWS_A_FRAME):
            payloads.append(_slices(own.slice(first, ROWS_A_FRAME)))
        for number, payload in enumerate(payloads):
            frames.append(packer.frame(process.number, number, payload, number == len(payloads) - 1))
    return frames


class _Packer:
    def __init__(self, schema_id: int) -> None:
        self._schema_id = schema_id

    def frame(self, process: int, number: int, payload: bytes, is_last: bool = False) -> bytes:
        content = native.packed(payload, LEVEL)
        flags = LAST_FRAME if is_last else 0
        head = struct.pack(
            "<II4sIQIII", SKIPPABLE, ENVELOPE_BYTES, MARKER, number, process, len(content), self._schema_id, flags
        )
        return head + struct.pack("<I", zlib.crc32(head)) + content


def _by_process(frame: pl.DataFrame) -> dict[int, tuple[int, int]]:
    """Where each process's rows begin and how many they are, in a frame that is sorted by process."""
    counts = frame.group_by("process", maintain_order=True).len()
    ends = counts["len"].cum_sum()
    return {process: (end - count, count) for (process, count), end in zip(counts.iter_rows(), ends, strict=True)}


def _head(job: ImportedJob, process: Process, own: pl.DataFrame) -> bytes:
    told = {
        "job": job_name(job.name), "host": process.host, "program": process.program, "account": job.account,
        "source": job.source, "user": job.user, "pid": process.pid, "ranks": process.ranks, "rank": process.rank,
        "start_ns": process.start_ns, "end_ns": process.end_ns, "slice_ns": job.slice_ns,
        "clock_error_ns": process.clock_error_ns, "ending": "exit", "clock": "log",
    }  # fmt: skip
    head = _chunk("processes", {name: [value] for name, value in told.items()})
    used = sorted(own["mount"].unique().to_list())
    mounts = [job.mounts[mount] for mount in used]
    if not mounts:
        return head
    columns: dict[str, Sequence[Any]] = {"mount": used}
    columns |= {name: [getattr(one, name) for one in mounts] for name in ("object", "point", "type", "source")}
    return head + _chunk("mounts", columns)


def _files(job: ImportedJob, place: int, own: pl.DataFrame) -> bytes:
    """Files are numbered from 1 on; number 0 stands for all without a row, and here each has one."""
    made = b""
    for first in range(0, own.height, ROWS_A_FRAME):
        part = own.slice(first, ROWS_A_FRAME)
        columns: dict[str, Any] = {name: part[name].to_numpy() for name in part.columns if name != "process"}
        numbers = part["file"].to_list()
        columns["file"] = np.arange(first + 1, first + 1 + part.height)
        columns["path"] = [job.paths[number] for number in numbers]
        columns["opens"] = [job.opens.get((place, number), 0) for number in numbers]
        made += _chunk("files", columns)
    return made


def _slices(part: pl.DataFrame) -> bytes:
    columns: dict[str, Any] = {name: part[name].to_numpy() for name in part.columns if name not in ("process", "layer")}
    columns["layer"] = part["layer"].to_list()
    columns["threads"] = np.ones(part.height, np.int64)
    return _chunk("slices", columns)


def _chunk(table: str, columns: Mapping[str, Any]) -> bytes:
    listed = TABLES[table][1]
    presence = bytearray((len(listed) + 7) // 8)
    encoded = []
    for place, column in enumerate(listed):
        if column["name"] not in columns:
            continue
        presence[place // 8] |= 1 << place % 8
        values = columns[column["name"]]
        if column["type"] == "STRING":
            encoded.append(_texts(values))
            continue
        if column["type"] == "ENUM":
            names = ENUMERATIONS[column["enumeration"]]
            values = [names.index(value) for value in values]
        encoded.append(_numbers(np.asarray(values, np.int64).view(np.uint64)))
    rows = len(next(iter(columns.values())))
    return struct.pack("<BI", NUMBER_OF_TABLE[table], rows) + presence + b"".join(encoded)


def _numbers(values: npt.NDArray[np.uint64]) -> bytes:
    """A column of numbers, in as many bytes each as the largest above the least one needs."""
    base = int(values.min())
    width = next(width for width in (0, 1, 2, 4, 8) if int(values.max()) - base < 1 << 8 * width)
    head = struct.pack("<BQ", 0x80 | width, base) if base else bytes([width])
    return head + ((values - np.uint64(base)).astype(f"<u{width}").tobytes() if width else b"")


def _texts(values: Sequence[str]) -> bytes:
    """A column of text; of a long one its end."""
    encoded = [value.encode("utf-8", "replace")[-MOST_TEXT_BYTES:] for value in values]
    return struct.pack(f"<{len(encoded)}H", *map(len, encoded)) + b"".join(encoded)
