"""An imported job as a profile (docs/format.md). A file is written aside, read back, compared with the log, renamed."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise import __version__, contract
from slicewise.contract import job_name, layers_of
from slicewise.digest.digest import read_digest
from slicewise.equal_rows import rows_of
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


# Of the tables of every profile those that a log fills, with the columns that it has; and columns that only imported
# profiles have, with their type, unit, merge rule and meaning.
WRITTEN = {
    "processes": "job host program account user pid ranks rank start_ns end_ns slice_ns ending clock",
    "mounts": "mount object point type source",
    "slices": (
        "mount layer slice threads read_ops write_ops meta_ops sync_ops read_ns write_ns meta_ns sync_ns "
        "read_bytes write_bytes"
    ),
    "files": "file mount path opens read_ops write_ops read_bytes write_bytes read_ns write_ns",
    "calls": "operation calls",
    "mishaps": "mishap count",
}
OF_IMPORTS = {
    "processes": [
        ("source", "STRING", "", "LAST", "what it was imported from"),
        ("clock_error_ns", "U64", "ns", "LAST", "by so much its times may lie off the clock"),
    ],
    "slices": [("spread", "U64", "slices", "MAX", "over how many slices the bytes were spread")],
}


def _tables() -> list[dict[str, Any]]:
    keys = ("name", "type", "unit", "merge", "meaning")
    found = []
    for table in contract.TABLES:
        if wanted := WRITTEN.get(table["name"], "").split():
            columns = [column for column in table["columns"] if column["name"] in wanted]
            columns += [dict(zip(keys, own, strict=True)) for own in OF_IMPORTS.get(table["name"], [])]
            found.append(table | {"columns": columns})
    return found


TABLES = _tables()


def write_profile(job: ImportedJob, into: Path) -> Path:
    """Write a job to a directory of its name. Raises UserError for other bytes, or another job's profile there."""
    rows = slices_of(job.events, job.slice_ns)
    directory = into / job_name(job.name)
    require_same_bytes(directory, job.moved, moved_in(rows))
    name = f"{job.source.split()[0].lower()}{SUFFIX}"
    _require_own_place(directory, name, {process.number for process in job.processes})

    def check(aside: Path) -> None:
        require_same_bytes(directory, job.moved, moved_in(read_profile(aside, needs_axis=False).slices))

    write_aside(directory / name, frames(job, rows), check)
    return directory


def write_aside(path: Path, content: Iterable[bytes], check: Callable[[Path], None]) -> None:
    """Write a profile that is whole or not there: aside, then checked, then renamed. Raises UserError."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("wb") as file:
            file.writelines(content)
            file.flush()
            os.fsync(file.fileno())
        check(aside)
        aside.replace(path)
    except OSError as error:
        raise UserError(
            f"{path.parent}: cannot be written: {error.strerror}; give another directory to --into"
        ) from error
    finally:
        aside.unlink(missing_ok=True)


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


def frames(job: ImportedJob, rows: pl.DataFrame | None = None) -> list[bytes]:
    """The frames of a job's file. rows: of `slices_of`, where they are made already."""
    if rows is None:
        rows = slices_of(job.events, job.slice_ns)
    files = files_of(job.events)
    of_slices, of_files = rows_of(rows, "process"), rows_of(files, "process")
    made = [OF_JOBS.schema_frame]
    for place in range(len(job.processes)):
        own_files = _files(job, place, files.slice(*of_files.get(place, (0, 0))))
        made += frames_of_process(job, place, rows.slice(*of_slices.get(place, (0, 0))), own_files)
    return made


def frames_of_process(job: ImportedJob, place: int, own: pl.DataFrame, files: bytes = b"") -> list[bytes]:
    """The frames of one of a job's processes. own: its rows of `slices_of`. files: the chunk of its files."""
    payloads = [_head(job, job.processes[place], own) + files]
    for first in range(0, own.height, ROWS_A_FRAME):
        payloads.append(_slices(own.slice(first, ROWS_A_FRAME)))
    return list(OF_JOBS.frames(job.processes[place].number, payloads))


def _head(job: ImportedJob, process: Process, own: pl.DataFrame) -> bytes:
    told = {
        "job": job_name(job.name), "host": process.host, "program": process.program, "account": "",
        "source": job.source, "user": job.user, "pid": process.pid, "ranks": process.ranks, "rank": process.rank,
        "start_ns": process.start_ns, "end_ns": process.end_ns, "slice_ns": job.slice_ns,
        "clock_error_ns": process.clock_error_ns, "ending": "exit", "clock": "log",
    }  # fmt: skip
    head = OF_JOBS.chunk("processes", {name: [value] for name, value in told.items()})
    used = sorted(own["mount"].unique().to_list())
    mounts = [job.mounts[mount] for mount in used]
    if not mounts:
        return head
    columns: dict[str, Sequence[Any]] = {"mount": used}
    columns |= {name: [getattr(one, name) for one in mounts] for name in ("object", "point", "type", "source")}
    return head + OF_JOBS.chunk("mounts", columns)


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
        made += OF_JOBS.chunk("files", columns)
    return made


def _slices(part: pl.DataFrame) -> bytes:
    columns: dict[str, Any] = {name: part[name].to_numpy() for name in part.columns if name not in ("process", "layer")}
    columns["layer"] = part["layer"].to_list()
    columns["threads"] = np.ones(part.height, np.int64)
    return OF_JOBS.chunk("slices", columns)


class FrameWriter:
    """Rows of some tables as frames: payloads hold chunks of them, and the schema that says what they are is first."""

    def __init__(self, tables: Sequence[Mapping[str, Any]]) -> None:
        enumerations = {name: [{"name": one} for one in names] for name, names in ENUMERATIONS.items()}
        told = {"format": FORMAT_VERSION, "writer": f"slicewise {__version__} import"}
        self._schema = json.dumps(told | {"enumerations": enumerations, "tables": tables}).encode()
        self._schema_id = zlib.crc32(self._schema)
        self._columns = {table["name"]: table["columns"] for table in tables}
        self._number = {table["name"]: number for number, table in enumerate(tables)}

    def chunk(self, table: str, columns: Mapping[str, Any]) -> bytes:
        """Rows of a table, from its columns; those that are not there are 0."""
        listed = self._columns[table]
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
        return struct.pack("<BI", self._number[table], rows) + presence + b"".join(encoded)

    def chunks(self, table: str, columns: Mapping[str, Any]) -> Iterator[bytes]:
        """The same, in chunks of ROWS_A_FRAME rows."""
        for first in range(0, len(next(iter(columns.values()))), ROWS_A_FRAME):
            yield self.chunk(table, {name: some[first : first + ROWS_A_FRAME] for name, some in columns.items()})

    @cached_property
    def schema_frame(self) -> bytes:
        return self._frame(SCHEMA_PROCESS, 0, self._schema)

    def frames(self, process: int, payloads: Sequence[bytes]) -> Iterator[bytes]:
        for number, payload in enumerate(payloads):
            yield self._frame(process, number, payload, number == len(payloads) - 1)

    def _frame(self, process: int, number: int, payload: bytes, is_last: bool = False) -> bytes:
        content = native.packed(payload, LEVEL)
        flags = LAST_FRAME if is_last else 0
        head = struct.pack(
            "<II4sIQIII", SKIPPABLE, ENVELOPE_BYTES, MARKER, number, process, len(content), self._schema_id, flags
        )
        return head + struct.pack("<I", zlib.crc32(head)) + content


def _numbers(values: npt.NDArray[np.uint64]) -> bytes:
    """A column of numbers, in as many bytes each as the largest above the least one needs."""
    base = int(values.min())
    width = next(width for width in (0, 1, 2, 4, 8) if int(values.max()) - base < 1 << 8 * width)
    head = struct.pack("<BQ", 0x80 | width, base) if base else bytes([width])
    return head + ((values - np.uint64(base)).astype(f"<u{width}").tobytes() if width else b"")


def _texts(values: Sequence[str]) -> bytes:
    encoded = [value.encode("utf-8", "replace")[-MOST_TEXT_BYTES:] for value in values]
    return struct.pack(f"<{len(encoded)}H", *map(len, encoded)) + b"".join(encoded)


OF_JOBS = FrameWriter(TABLES)
