"""An ELF file: build id, segments, function symbols, where its debug information may be. 64 bit, little-endian."""

import mmap
import struct
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

MAGIC = b"\x7fELF\x02\x01"
SECTION, SEGMENT = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IIQQQQQQ")
LOADED = 1
SYMBOLS = {2: "symtab", 11: "dynsym"}
NOTES = 7
BUILD_ID_NOTE = 3
FUNCTION_TYPES = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)


class NotElf(ValueError):
    """A file that is no ELF file, or a damaged one."""


@dataclass(frozen=True)
class Elf:
    """build_id: in hexadecimal, or empty. segments: what is loaded of it: offset, address, length. starts, ends, names:
    its functions, sorted by address; of functions at one address the one with the longest range."""

    path: Path
    build_id: str
    has_lines: bool
    segments: list[tuple[int, int, int]]
    starts: np.ndarray
    ends: np.ndarray
    names: list[bytes]

    def function(self, address: int) -> bytes | None:
        """The name (mangled) of the function that holds an address; None where no symbol's range does."""
        place = int(np.searchsorted(self.starts, address, "right")) - 1
        return self.names[place] if place >= 0 and address < self.ends[place] else None


def read_elf(path: Path) -> Elf:
    """Read a file. Raises NotElf, OSError."""
    with path.open("rb") as file:
        try:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:
            raise NotElf(f"{path}: is empty") from error
        with data:
            if data[:6] != MAGIC:
                raise NotElf(f"{path}: is no 64-bit little-endian ELF file")
            try:
                return _parsed(path, data)
            except (struct.error, IndexError, ValueError) as error:
                raise NotElf(f"{path}: {error}") from error


def _parsed(path: Path, data: mmap.mmap) -> Elf:
    loaded_at, at = struct.unpack_from("<QQ", data, 0x20)
    step, segments, size, count, names_at = struct.unpack_from("<HHHHH", data, 0x36)
    rows = [SEGMENT.unpack_from(data, loaded_at + place * step) for place in range(segments)]
    loaded = [(row[2], row[3], row[5]) for row in rows if row[0] == LOADED]
    bare = Elf(path, "", False, loaded, *_merged([]))
    try:
        return _with_sections(bare, data, at, size, count, names_at)
    except (struct.error, IndexError, ValueError):  # packed, or cut short: where its code lies is known all the same
        return bare


def _with_sections(bare: Elf, data: mmap.mmap, at: int, size: int, count: int, names_at: int) -> Elf:
    """at, size, count: where its table of sections is; names_at: which of them has their names."""
    sections = [SECTION.unpack_from(data, at + place * size) for place in range(count)] if at else []
    names = sections[names_at] if names_at < count else (0,) * 10
    named = {_string(data, names[4] + section[0]): section for section in sections} if sections else {}
    build_id, tables = "", []
    for section in sections:
        kind, offset, length, link = section[1], section[4], section[5], section[6]
        if kind == NOTES and not build_id:
            build_id = _build_id(data[offset : offset + length])
        elif kind in SYMBOLS and link < count:
            tables.append(_functions(data, offset, length, sections[link][4]))
    starts, ends, found = _merged(tables)
    has_lines = b".debug_line" in named or b".zdebug_line" in named
    return replace(bare, build_id=build_id, has_lines=has_lines, starts=starts, ends=ends, names=found)


def _string(data: mmap.mmap, at: int) -> bytes:
    return data[at : data.find(b"\0", at)]


def _build_id(notes: bytes) -> str:
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        name_end = at + 12 + (name_size + 3 & ~3)
        if kind == BUILD_ID_NOTE and notes[at + 12 : at + 12 + name_size] == b"GNU\0":
            return notes[name_end : name_end + size].hex()
        at = name_end + (size + 3 & ~3)
    return ""


def _functions(data: mmap.mmap, offset: int, length: int, strings: int) -> list[tuple[int, int, bytes]]:
    symbols = np.frombuffer(data[offset : offset + length - length % SYMBOL.itemsize], SYMBOL)
    is_function = np.isin(symbols["info"] & 0xF, FUNCTION_TYPES)
    symbols = symbols[is_function & (symbols["section"] != 0) & (symbols["size"] > 0)]
    return [
        (int(symbol["value"]), int(symbol["value"]) + int(symbol["size"]), _string(data, strings + int(symbol["name"])))
        for symbol in symbols
    ]


def _merged(tables: list[list[tuple[int, int, bytes]]]) -> tuple[np.ndarray, np.ndarray, list[bytes]]:
    longest: dict[int, tuple[int, int, bytes]] = {}
    for table in tables:
        for symbol in table:
            if symbol[0] not in longest or symbol[1] > longest[symbol[0]][1]:
                longest[symbol[0]] = symbol
    ordered = sorted(longest.values())
    starts, ends = (np.array([symbol[part] for symbol in ordered], np.uint64) for part in (0, 1))
    return starts, ends, [symbol[2] for symbol in ordered]
