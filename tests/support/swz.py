"""Synthetic profiles for tests: a writer of docs/format.md in plain Python, which shares no code with the reader.

    build_profile(tmp_path / "48213", processes=[{"process": 1, "rank": 0}, {"process": 2, "rank": 1}],
                  slices=[{"process": 1, "mount": 1, "slice": 100, "write_bytes": 1 << 20, "write_ops": 1}])

Rows are dicts. What a row leaves out has the value in DEFAULTS, else zero or an empty string.
"""

import functools
import json
import struct
import subprocess
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

ROOT = Path(__file__).resolve().parents[2]
LAST_FRAME = 1
SCHEMA_PROCESS = 0
START_NS = 1_700_000_000_000_000_000

DEFAULTS: dict[str, dict[str, Any]] = {
    "processes": {
        "host": "n1", "program": "/usr/bin/simulation", "rank": -1, "start_ns": START_NS,
        "end_ns": START_NS + 60_000_000_000, "ending": "exit", "slice_ns": 4_000_000_000,
    },
    "mounts": {"mount": 1, "object": "file", "point": "/scratch", "type": "lustre", "source": "mds1:/scratch"},
    "slices": {"mount": 1, "layer": "posix"},
    "files": {"mount": 1},
}  # fmt: skip


@functools.cache
def schema_text() -> bytes:
    """The schema of this source tree, as its own generator prints it (built by make where it is not yet)."""
    subprocess.run(["make", "-s", "-C", str(ROOT), "build/generate"], check=True, stdout=subprocess.DEVNULL)
    return subprocess.run([ROOT / "build/generate", "json"], check=True, capture_output=True).stdout


class Writer:
    """Encodes tables by one schema. Every method gives bytes."""

    def __init__(self, schema: bytes | None = None) -> None:
        self.schema_text = schema_text() if schema is None else schema
        self.schema = json.loads(self.schema_text)
        self.schema_id = zlib.crc32(self.schema_text)
        self.tables = {table["name"]: number for number, table in enumerate(self.schema["tables"])}
        self._codes = {
            name: {entry["name"]: code for code, entry in enumerate(entries)}
            for name, entries in self.schema["enumerations"].items()
        }
        self._packer = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=True)

    def frame(self, process: int, number: int, payload: bytes, flags: int = 0) -> bytes:
        """An envelope and its zstd frame."""
        return self.packed_frame(process, number, self.packed(payload), flags)

    def packed(self, payload: bytes) -> bytes:
        """A payload's zstd frame."""
        return self._packer.compress(payload)

    def packed_frame(self, process: int, number: int, packed: bytes, flags: int = 0) -> bytes:
        """An envelope before bytes that may or may not be a zstd frame."""
        head = struct.pack("<II4sIQIII", 0x184D2A53, 32, b"SWZ1", number, process, len(packed), self.schema_id, flags)
        return head + struct.pack("<I", zlib.crc32(head)) + packed

    def schema_frame(self) -> bytes:
        """The frame that describes all others."""
        return self.frame(SCHEMA_PROCESS, 0, self.schema_text)

    def chunk(self, table: str, columns: Mapping[str, Sequence | np.ndarray]) -> bytes:
        """Rows of a table from columns of equal length; bins are named one by one. Columns of zeros are left out."""
        rows = len(next(iter(columns.values())))
        flat = self.flat_columns(table)
        unknown = set(columns) - {name for name, _ in flat}
        if unknown:
            raise KeyError(f"{table} has no column {sorted(unknown)}")
        presence = bytearray((len(flat) + 7) // 8)
        encoded = []
        for place, (name, column) in enumerate(flat):
            values = columns.get(name)
            if values is None:
                continue
            if column["type"] == "STRING":
                if not any(values):
                    continue
                encoded.append(_encode_strings(values))
            else:
                numbers = self._numbers(column, values)
                if not numbers.any():
                    continue
                encoded.append(encode_numbers(numbers))
            presence[place // 8] |= 1 << place % 8
        return struct.pack("<BI", self.tables[table], rows) + presence + b"".join(encoded)

    def rows(self, table: str, rows: Sequence[Mapping[str, Any]]) -> bytes:
        """A chunk from dicts, with DEFAULTS for what they leave out; the key `process` is passed over."""
        defaults = DEFAULTS.get(table, {})
        full = [defaults | {key: value for key, value in row.items() if key != "process"} for row in rows]
        names = dict.fromkeys(name for row in full for name in row)
        types = {name: column["type"] for name, column in self.flat_columns(table)}
        empty = {name: "" if types.get(name) == "STRING" else 0 for name in names}
        return self.chunk(table, {name: [row.get(name, empty[name]) for row in full] for name in names})

    def flat_columns(self, table: str) -> list[tuple[str, dict]]:
        """The columns of a table, those of bins one by one: (name, its row in the schema)."""
        flat = []
        for column in self.schema["tables"][self.tables[table]]["columns"]:
            if "bins" in column:
                flat += [(f"{column['name']}_{number}", column) for number in range(column["bins"])]
            else:
                flat.append((column["name"], column))
        return flat

    def _numbers(self, column: dict, values: Sequence | np.ndarray) -> np.ndarray:
        if isinstance(values, np.ndarray):
            return values.astype(np.uint64)
        if column["type"] == "ENUM":
            codes = self._codes[column["enumeration"]]
            values = [codes[value] if isinstance(value, str) else value for value in values]
        return np.array([value % (1 << 64) for value in values], np.uint64)


def encode_numbers(values: np.ndarray, with_base: bool | None = None) -> bytes:
    """A column of uint64 in the least bytes a value, from a base where that saves bytes (or as told)."""
    least = int(values.min())
    if with_base is None:
        saved = _width(int(values.max())) - _width(int(values.max()) - least)
        with_base = saved * len(values) > 8
    base = least if with_base else 0
    width = _width(int(values.max()) - base)
    head = bytes([width | (0x80 if with_base else 0)]) + (struct.pack("<Q", base) if with_base else b"")
    return head + ((values - np.uint64(base)).astype(f"<u{width}").tobytes() if width else b"")


def _width(value: int) -> int:
    return next(width for width in (0, 1, 2, 4, 8) if value < 1 << (8 * width))


def _encode_strings(values: Sequence[str]) -> bytes:
    encoded = [value.encode(errors="surrogatepass") for value in values]
    return struct.pack(f"<{len(encoded)}H", *map(len, encoded)) + b"".join(encoded)


@dataclass
class Frames:
    """A file as the list of its frames, for tests that damage, repeat or reorder them."""

    frames: list[bytes] = field(default_factory=list)

    def write(self, path: Path) -> Path:
        """Write all frames, one after the other."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(self.frames))
        return path


def build_profile(
    directory: Path,
    processes: Iterable[Mapping[str, Any]],
    slices: Iterable[Mapping[str, Any]] = (),
    mounts: Iterable[Mapping[str, Any]] | None = None,
    files: Iterable[Mapping[str, Any]] = (),
    collected: Mapping[str, Iterable[Mapping[str, Any]]] | None = None,
    schema: bytes | None = None,
    rows_a_frame: int = 64,
    **tables: Iterable[Mapping[str, Any]],
) -> Path:
    """Write a job's directory with one file a host, and give the directory back.

    Every row has a `process` (a unique id above 0). The job's name is the directory's, the pid the unique id, unless a
    row says otherwise. mounts: None gives each process mount 0 (the process) and mount 1 (a file system at /scratch).
    A process's slices are spread over frames of `rows_a_frame` rows; the last frame is flagged, unless its `ending`
    is "running". collected: the tables of nodes' collectors by name; their `process` is a collector's run.
    tables: the processes' other tables by name.
    """
    writer = Writer(schema)
    processes = [{"job": directory.name, "pid": row["process"]} | dict(row) for row in processes]
    if mounts is None:
        mounts = [
            row
            for process in processes
            for row in (
                {"process": process["process"], "mount": 0, "object": "process", "point": "", "type": "", "source": ""},
                {"process": process["process"]},
            )
        ]
    by_process = {name: _by_process(rows) for name, rows in {"mounts": mounts, "files": files, **tables}.items()}
    slices_of = _by_process(slices)
    hosts: dict[str, Frames] = {}
    for process in processes:
        key = process["process"]
        file = hosts.setdefault(process.get("host", DEFAULTS["processes"]["host"]), Frames([writer.schema_frame()]))
        head = writer.rows("processes", [process])
        head += b"".join(writer.rows(name, rows[key]) for name, rows in by_process.items() if key in rows)
        own = slices_of.get(key, [])
        payloads = [writer.rows("slices", own[at : at + rows_a_frame]) for at in range(0, len(own), rows_a_frame)]
        payloads[:1] = [head + b"".join(payloads[:1])]
        last = LAST_FRAME if process.get("ending", DEFAULTS["processes"]["ending"]) != "running" else 0
        for number, payload in enumerate(payloads):
            file.frames.append(writer.frame(key, number, payload, last if number == len(payloads) - 1 else 0))
    of_runs = {name: _by_process(rows) for name, rows in (collected or {}).items()}
    for run in dict.fromkeys(run for rows in of_runs.values() for run in rows):
        payload = b"".join(writer.rows(name, rows[run]) for name, rows in of_runs.items() if run in rows)
        file = next(iter(hosts.values())) if hosts else hosts.setdefault("n0", Frames([writer.schema_frame()]))
        file.frames.append(writer.frame(run, 0, payload, LAST_FRAME))
    for host, file in hosts.items():
        file.write(directory / f"{host}.swz")
    return directory


def of_disk(
    run: int,
    slices: Iterable[int],
    counted: Callable[[int], Mapping[str, Any]],
    name: str = "sda",
    slice_ns: int = 10**9,
    kind: str = "block",
) -> dict[str, list[Mapping[str, Any]]]:
    """What node n1's collector, whose run this is, sampled of a disk, or of a mount (kind nfs): `counted` of each
    slice.
    """
    key, sampled = {"process": run}, list(slices)
    return {
        "nodes": [key | {"host": "n1", "slice_ns": slice_ns}],
        "node_devices": [key | {"device": 0, "kind": kind, "name": name}],
        "node_slices": [key | {"slice": at, "sampled_ns": slice_ns} for at in sampled],
        {"block": "node_blocks", "nfs": "node_nfs"}[kind]: [
            key | {"device": 0, "slice": at, **counted(at)} for at in sampled
        ],
    }


def _by_process(rows: Iterable[Mapping[str, Any]]) -> dict[int, list[Mapping[str, Any]]]:
    grouped: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        grouped.setdefault(row["process"], []).append(row)
    return grouped
