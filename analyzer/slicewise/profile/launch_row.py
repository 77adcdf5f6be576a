"""Adding one row of `launches` to a node's file: what the kernel counted of a command that was run.

The one place where the analyzer writes a profile. It writes as docs/format.md says, by the schema that the file itself
holds, a single frame with a process id of its own that no process has.
"""

from __future__ import annotations

import os
import struct
import uuid
import zlib
from collections.abc import Mapping
from pathlib import Path

from slicewise.profile.native import packed
from slicewise.profile.reading import schema_text
from slicewise.profile.schema import Schema, parse_schema

TABLE = "launches"
MARK = bytes.fromhex("532A4D18 20000000") + b"SWZ1"
LAST_FRAME = 1
HAS_BASE = 0x80


def append_launch(file: Path, row: Mapping[str, int | str]) -> bool:
    """Append the row to the file. False, and nothing is written, if the file has no schema with such a table."""
    text = schema_text(file)
    if text is None:
        return False
    schema = parse_schema(text)
    places = [place for place, table in enumerate(schema.tables) if table.name == TABLE]
    if not places:
        return False
    payload = packed(_chunk(places[0], row, schema))
    process = uuid.uuid4().int >> 64 or 1
    head = MARK + struct.pack("<IQIII", 0, process, len(payload), zlib.crc32(text), LAST_FRAME)
    head += struct.pack("<I", zlib.crc32(head))
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        os.write(descriptor, head + payload)
    finally:
        os.close(descriptor)
    return True


def _chunk(place: int, row: Mapping[str, int | str], schema: Schema) -> bytes:
    columns = schema.tables[place].columns
    present = bytearray((len(columns) + 7) // 8)
    values = b""
    for number, column in enumerate(columns):
        value = row.get(column.name)
        if value is None:
            continue
        present[number // 8] |= 1 << number % 8
        if column.type == "STRING":
            text = str(value).encode(errors="replace")[:0xFFFF]
            values += struct.pack("<H", len(text)) + text
        else:
            number_of = schema.enumerations[column.enumeration].index(value) if column.enumeration else value
            values += struct.pack("<BQ", HAS_BASE, number_of)  # of width 0: the base alone
    return struct.pack("<BI", place, 1) + bytes(present) + values
