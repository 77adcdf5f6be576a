"""The bytes of a `.swz` file: from envelope to envelope, past damage, and from a payload to columns of numbers.

Implements docs/format.md. Nothing here knows a table's or a counter's name, and no size that a file claims is believed
before the bytes that it needs are there.
"""

import struct
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import zstandard
from slicewise.profile.schema import PayloadTable, Schema

ENVELOPE = struct.Struct("<III I Q I I I I")
ENVELOPE_MAGIC = bytes.fromhex("532A4D18 20000000")
MARK = ENVELOPE_MAGIC + b"SWZ1"
LAST_FRAME = 1

MOST_PAYLOAD_BYTES = 64 << 20
# Unpacked by and by, for the size in a frame's header may be missing or a lie, and few bytes may become very many.
PACKED_AT_ONCE, UNPACKED_AT_ONCE = 4 << 10, 32 << 10
# So many rows may take no bytes at all (every column constant); rows of a larger chunk differ in their keys.
MOST_ROWS_WITHOUT_BYTES = 4096
WIDTH_MASK, HAS_BASE = 0x0F, 0x80
DTYPES = {1: np.dtype("<u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4"), 8: np.dtype("<u8")}


class DamagedPayload(ValueError):
    """A payload whose bytes are not the chunks that its schema says."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A sound frame: its envelope's fields, where it lay, and its unpacked payload."""

    process: int
    number: int
    schema: int
    flags: int
    begin: int
    end: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Hole:
    """Bytes [begin, end) of a file that could not be read as a frame.

    process, number: those of its envelope, where that was sound.
    """

    begin: int
    end: int
    process: int | None = None
    number: int | None = None


def walk(data: bytes) -> Iterator[Frame | Hole]:
    """The frames of a file and the holes between them, in the file's order; together they cover all bytes."""
    decompressor = zstandard.ZstdDecompressor()
    at = 0
    while at < len(data):
        envelope = _envelope(data, at)
        if envelope is None:
            end = _next_envelope(data, at + 1)
            yield Hole(at, end)
        else:
            end = at + ENVELOPE.size + envelope.packed_bytes
            payload = _unpack(decompressor, data, at + ENVELOPE.size, end)
            if payload is None:
                end = _next_envelope(data, at + 1)
                yield Hole(at, end, envelope.process, envelope.number)
            else:
                yield Frame(envelope.process, envelope.number, envelope.schema, envelope.flags, at, end, payload)
        at = end


class _Envelope(NamedTuple):
    process: int
    number: int
    schema: int
    flags: int
    packed_bytes: int


def _envelope(data: bytes, at: int) -> _Envelope | None:
    """The sound envelope at that place, or None."""
    if not data.startswith(MARK, at) or at + ENVELOPE.size > len(data):
        return None
    _, _, _, number, process, packed_bytes, schema, flags, crc = ENVELOPE.unpack_from(data, at)
    if zlib.crc32(data[at : at + ENVELOPE.size - 4]) != crc:
        return None
    return _Envelope(process, number, schema, flags, packed_bytes)


def _next_envelope(data: bytes, begin: int) -> int:
    """Where the next sound envelope begins; the data's end if there is none."""
    at = data.find(MARK, begin)
    while at >= 0:
        if _envelope(data, at) is not None:
            return at
        at = data.find(MARK, at + 1)
    return len(data)


def _unpack(decompressor: zstandard.ZstdDecompressor, data: bytes, begin: int, end: int) -> bytes | None:
    """The payload of the zstd frame in data[begin:end]; None if it is torn, damaged, unchecked or implausibly large."""
    if end > len(data):
        return None
    parts = []
    unpacked_bytes = 0
    try:
        if not zstandard.get_frame_parameters(data[begin:end]).has_checksum:
            return None
        unpacking = decompressor.decompressobj(write_size=UNPACKED_AT_ONCE)
        for at in range(begin, end, PACKED_AT_ONCE):
            parts.append(unpacking.decompress(data[at : min(at + PACKED_AT_ONCE, end)]))
            unpacked_bytes += len(parts[-1])
            if unpacked_bytes > MOST_PAYLOAD_BYTES:
                return None
    except zstandard.ZstdError:
        return None
    return b"".join(parts) if unpacking.eof and not unpacking.unused_data else None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of one table. `columns` holds the present columns that were asked for, by their place in the table:
    an array of `rows` unsigned numbers, or a list of `rows` strings."""

    table: PayloadTable
    rows: int
    columns: dict[int, np.ndarray | list[str]]


def decode(payload: bytes, schema: Schema, unwanted: Mapping[str, Collection[int]]) -> list[Chunk]:
    """The chunks of a payload.

    unwanted: by table, the places of columns that are passed over. Raises DamagedPayload; then nothing of the frame
    counts.
    """
    chunks = []
    at = 0
    while at < len(payload):
        chunk, at = _chunk(payload, at, schema, unwanted)
        chunks.append(chunk)
    return chunks


def _chunk(payload: bytes, at: int, schema: Schema, unwanted: Mapping[str, Collection[int]]) -> tuple[Chunk, int]:
    if payload[at] >= len(schema.tables):
        raise DamagedPayload(f"table {payload[at]} is not in the schema")
    table = schema.tables[payload[at]]
    presence_bytes = (len(table.columns) + 7) // 8
    if at + 5 + presence_bytes > len(payload):
        raise DamagedPayload("the payload ends within a chunk's head")
    rows = int.from_bytes(payload[at + 1 : at + 5], "little")
    if not 1 <= rows <= max(MOST_ROWS_WITHOUT_BYTES, len(payload) - at):
        raise DamagedPayload(f"a chunk of {rows} rows")
    presence = np.frombuffer(payload, np.uint8, presence_bytes, at + 5)
    places = np.flatnonzero(np.unpackbits(presence, bitorder="little")).tolist()
    if places and places[-1] >= len(table.columns):
        raise DamagedPayload("a column that is not in the schema")
    at += 5 + presence_bytes
    passed_over = unwanted.get(table.name, ())
    columns: dict[int, np.ndarray | list[str]] = {}
    try:
        for place in places:
            if table.columns[place].type == "STRING":
                columns[place], at = _strings(payload, at, rows)
                continue
            width, base, at = _number_head(payload, at)
            if place not in passed_over:
                columns[place] = _numbers(payload, at, rows, width, base)
                column = table.columns[place]
                if column.merge == "KEY" and column.name == "slice" and int(columns[place].max()) >= 1 << 63:
                    raise DamagedPayload("a slice of 2^63 or more")
            at += rows * width
    except (ValueError, IndexError, struct.error) as error:
        raise DamagedPayload("the payload ends within a column") from error
    if at > len(payload):
        raise DamagedPayload("the payload ends within a column")
    return Chunk(table, rows, columns), at


def _number_head(payload: bytes, at: int) -> tuple[int, int, int]:
    """A column's bytes a value, its base, and where its values begin."""
    head = payload[at]
    width = head & WIDTH_MASK
    if head & ~(WIDTH_MASK | HAS_BASE) or (width and width not in DTYPES):
        raise DamagedPayload(f"a column of width byte {head:#x}")
    if not head & HAS_BASE:
        return width, 0, at + 1
    (base,) = struct.unpack_from("<Q", payload, at + 1)
    return width, base, at + 9


def _numbers(payload: bytes, at: int, rows: int, width: int, base: int) -> np.ndarray:
    """Values as uint64; base + value wraps, as two's complement asks."""
    if width == 0:
        return np.full(rows, base, np.uint64)
    values = np.frombuffer(payload, DTYPES[width], rows, at).astype(np.uint64)
    if base:
        values += np.uint64(base)
    return values


def _strings(payload: bytes, at: int, rows: int) -> tuple[list[str], int]:
    lengths = np.frombuffer(payload, "<u2", rows, at)
    at += 2 * rows
    ends = (at + np.cumsum(lengths, dtype=np.int64)).tolist()
    if ends[-1] > len(payload):
        raise DamagedPayload("the payload ends within a string")
    begins = [at, *ends[:-1]]
    return [payload[begin:end].decode("utf-8", "replace") for begin, end in zip(begins, ends, strict=True)], ends[-1]
