"""Profiles without what no model of sharing looks at: histograms, call sites, programs' modules, nodes' counters.

A recording that is kept for tests is a tenth as large by that. All else is as it was recorded, frame by frame; frames
are stored, and so an archive of many profiles packs what they have in common.
"""

import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import zstandard

ENVELOPE = struct.Struct("<II4sIQIII")
SCHEMA_PROCESS = 0
KEPT_TABLES = {"processes", "mounts", "slices", "files", "nodes"}
# As little as zstd can do, so that what packs the archive sees the payloads.
STORED = -131072

Table = Mapping[str, Any]


def slim(directory: Path) -> None:
    """Makes the profiles below a directory slim."""
    for file in directory.rglob("*.swz"):
        file.write_bytes(b"".join(_frames(file.read_bytes())))


def _frames(data: bytes) -> Iterator[bytes]:
    """The frames of a file, slim. Its schema comes first."""
    tables: Sequence[Table] = ()
    unpack, pack = zstandard.ZstdDecompressor(), zstandard.ZstdCompressor(STORED, write_checksum=True)
    at = 0
    while at < len(data):
        *head, _, process, size, schema, flags = ENVELOPE.unpack_from(data, at)
        number = ENVELOPE.unpack_from(data, at)[3]
        start = at + ENVELOPE.size + 4
        payload = unpack.decompress(data[start : start + size])
        at = start + size
        if process == SCHEMA_PROCESS:
            tables = json.loads(payload)["tables"]
        else:
            payload = b"".join(_chunks(payload, tables))
        packed = pack.compress(payload)
        envelope = ENVELOPE.pack(*head[:3], number, process, len(packed), schema, flags)
        yield envelope + struct.pack("<I", zlib.crc32(envelope)) + packed


def _chunks(payload: bytes, tables: Sequence[Table]) -> Iterator[bytes]:
    at = 0
    while at < len(payload):
        place, (rows,) = payload[at], struct.unpack_from("<I", payload, at + 1)
        flat = [column for column in tables[place]["columns"] for _ in range(column.get("bins", 1))]
        bits = -(-len(flat) // 8)
        present = payload[at + 5 : at + 5 + bits]
        head, at = payload[at : at + 5], at + 5 + bits
        kept, columns = bytearray(bits), []
        for number, column in enumerate(flat):
            if not present[number // 8] >> number % 8 & 1:
                continue
            end = at + _length(payload, at, rows, is_text=column["type"] == "STRING")
            if "bins" not in column:
                kept[number // 8] |= 1 << number % 8
                columns.append(payload[at:end])
            at = end
        if tables[place]["name"] in KEPT_TABLES:
            yield head + bytes(kept) + b"".join(columns)


def _length(payload: bytes, at: int, rows: int, *, is_text: bool) -> int:
    """The bytes of a column that begins there."""
    if is_text:
        return 2 * rows + sum(struct.unpack_from(f"<{rows}H", payload, at))
    width = payload[at]
    return 1 + (8 if width & 0x80 else 0) + rows * (width & 0x0F)
