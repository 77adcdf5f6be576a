"""Profiles that no program wrote: sound bytes, by the grammar of docs/format.md, and fields at extremes.

    for seed in range(100):
        write_mutant(tmp_path / "job", random.Random(seed))

Every envelope, checksum and chunk is right, so that the reader believes them; what they say is another matter.
"""

import json
import random
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.swz import LAST_FRAME, START_NS, Writer

Row = dict[str, Any]
Tables = dict[str, list[Row]]
SLICE_NS = 4_000_000_000
SLICE = START_NS // SLICE_NS
NUMBERS = (
    0, 1, 2, 255, 256, 65535, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 53, 1 << 56, (1 << 60) + 1, 1 << 61,
    (1 << 62) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 1,
)  # fmt: skip
TEXTS = ("", "\0", "\n", "\u202e", "x" * 65535, "\ud7ff\ufffd", "../../..", "/", "{}", "%s", "\U0001f4a9")


def sound_tables(job: str = "hostile", first: int = 0) -> Tables:
    """A small job with a row or more of every table: two processes of one node that wrote and read side by side.

    first: what is added to the ids of processes, which no two jobs share.
    """
    process = {"job": job, "host": "n1", "program": "/usr/bin/simulation", "slice_ns": SLICE_NS, "site_ns": 10**7}
    slices = [
        {
            "process": 1 + k % 2, "mount": 1, "layer": "posix", "slice": SLICE + k // 2, "write_bytes": 1 << 20,
            "write_ops": 3, "write_ns": 10**8, "read_bytes": 4096, "read_ops": 1, "read_ns": 10**6, "write_size_5": 3,
        }
        for k in range(24)
    ]  # fmt: skip
    slices += [
        {
            "process": 1 + k % 2, "mount": 0, "layer": "kernel", "slice": SLICE + k, "write_bytes": 12 << 20,
            "write_ops": 9,
        }
        for k in range(2)
    ]  # fmt: skip
    device = {"process": 9, "device": 1}
    sample = {"process": 9, "slice": SLICE, "sampled_ns": SLICE_NS}
    tables = {
        "processes": [
            process | {"process": 1, "pid": 11, "rank": 0, "ranks": 2},
            process | {"process": 2, "pid": 12, "rank": 1, "ranks": 2},
        ],
        "mounts": [{"process": 1}, {"process": 2}],
        "slices": slices,
        "files": [{"process": 1, "file": 1, "path": "/scratch/a", "opens": 2, "write_bytes": 1 << 20, "write_ns": 5}],
        "calls": [{"process": 2, "operation": "write", "calls": 36}],
        "mishaps": [{"process": 1, "mishap": "files_full", "count": 1}],
        "unprofiled": [
            {"process": 1, "number": 1, "program": "/bin/busybox", "reason": "static", "times": 1, "pid": 7}
        ],
        "launches": [
            {"process": 5, "pid": 11, "host": "n1", "program": "/bin/x", "read_bytes": 1 << 24, "write_bytes": 1 << 26}
        ],
        "nodes": [
            {
                "process": 9, "host": "n1", "slice_ns": SLICE_NS, "start_ns": START_NS, "end_ns": START_NS + 60 * 10**9,
                "processors": 4,
            }
        ],
        "node_devices": [
            device | {"kind": "network", "name": "eth0"},
            device | {"device": 2, "kind": "block", "name": "vda"},
            device | {"device": 3, "kind": "nfs", "name": "/scratch", "source": "mds1:/scratch"},
        ],
        "node_slices": [sample | {"slice": SLICE + k, "cpu_stall_ns": 10**9, "io_stall_ns": 10**8} for k in range(4)],
        "node_networks": [{"process": 9, "slice": SLICE + k, "device": 1, "sent_bytes": 1 << 20} for k in range(4)],
        "node_blocks": [
            {"process": 9, "slice": SLICE, "device": 2, "write_bytes": 1 << 20, "busy_ns": 10**8, "write_ops": 2}
        ],
        "node_nfs": [
            {"process": 9, "slice": SLICE, "device": 3, "write_bytes": 1 << 20, "write_ops": 4, "write_rtt_ns": 10**8}
        ],
        "events": [{"process": 1, "event": 0, "name": "PAPI_TOT_CYC", "meaning": "cycles"}],
        "hardware": [{"process": 1, "number": 1, "slice": SLICE, "event_0": 10**9}],
        "waits": [{"process": 1, "number": 1, "slice": SLICE, "waited_ns": 10**9, "waits": 1}],
        "modules": [{"process": 1, "module": 1, "path": "/usr/bin/simulation", "build_id": "ab" * 20}],
        "frames": [
            {"process": 1, "site": 1, "depth": 0, "module": 1, "offset": 4096},
            {"process": 1, "site": 1, "depth": 1, "module": 1, "function": "main", "file": "a.py", "line": 3},
        ],
        "sites": [
            {
                "process": 1, "number": 1, "site": 1, "operation": "write", "slice": SLICE, "samples": 3, "calls": 3,
                "bytes": 1 << 20, "ns": 10**7, "likely_calls": 3000, "likely_bytes": 1 << 20,
            }
        ],
    }  # fmt: skip
    for rows in tables.values():
        for row in rows:
            row["process"] += first
    return tables


def write_job(directory: Path, tables: Mapping[str, list[Row]], writer: Writer | None = None) -> Path:
    """All rows in one file of two frames a process, in a directory of its own."""
    writer = writer or Writer()
    frames = [writer.schema_frame()]
    for process in dict.fromkeys(row["process"] for rows in tables.values() for row in rows):
        own = {name: [row for row in rows if row["process"] == process] for name, rows in tables.items()}
        chunks = [writer.rows(name, rows) for name, rows in own.items() if rows and name in writer.tables]
        frames.append(writer.frame(process, 0, chunks[0]))
        frames.append(writer.frame(process, 1, b"".join(chunks[1:]), LAST_FRAME))
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "n1.swz").write_bytes(b"".join(frames))
    return directory


def mutate(tables: Tables, source: random.Random, times: int) -> list[str]:
    """Change fields to extremes, drop and double rows. Gives what was done, for whoever reads a failure."""
    writer = Writer()
    done = []
    for _ in range(times):
        name = source.choice([name for name, rows in tables.items() if rows])
        rows = tables[name]
        row = source.choice(rows)
        action = source.randrange(12)
        if action == 0:
            rows.remove(row)
            done.append(f"{name} less {row}")
        elif action == 1:
            rows.append(dict(row))
            done.append(f"{name} twice {row}")
        else:
            column, kind = source.choice(writer.flat_columns(name))
            value = source.choice(TEXTS) if kind["type"] == "STRING" else source.choice(NUMBERS)
            for changed in rows if source.randrange(3) == 0 else [row]:
                changed[column] = value
            done.append(f"{name}.{column}={str(value)[:40]}")
    return done


def lying_writer(source: random.Random) -> Writer:
    """One whose schema frame has one word changed: still JSON, and no longer what it writes by."""
    writer = Writer()
    place: Any = json.loads(writer.schema_text)
    schema = place
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = source.choice(keys)
        if isinstance(place[key], (dict, list)) and place[key] and source.randrange(8):
            place = place[key]
            continue
        place[key] = source.choice(
            [None, 0, -1, 1 << 64, 1.5, "", "x", [], {}, "KEY", "SUM", "U64", "STRING", "doubling"]
        )
        writer.schema_text = json.dumps(schema).encode()
        writer.schema_id = zlib.crc32(writer.schema_text)
        return writer
