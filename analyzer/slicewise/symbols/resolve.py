"""Addresses of modules as functions with file and line, inlined ones too.

llvm-symbolizer or addr2line read debug information, where both are there; else a symbol's name and no line; else the
module's name and the address. A file whose build id is not the one that ran is never asked. What is read of an ELF
file (64 bit, little-endian): build id, segments, function symbols, where its debug information may be.
"""

from __future__ import annotations

import ctypes
import mmap
import shutil
import struct
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

DEBUG_DIRECTORY = Path("/usr/lib/debug")
SYMBOLIZERS: tuple[tuple[str, list[str]], ...] = (("llvm-symbolizer", ["--output-style=GNU"]), ("addr2line", []))
SYMBOLIZER_SECONDS = 120
UNKNOWN = "??"


@dataclass(frozen=True)
class CodePlace:
    """A frame as it is shown: function ("module+0x12f" where that is all that is known), module (a file's name), file
    and line (empty, 0 where not known)."""

    function: str
    module: str = ""
    file: str = ""
    line: int = 0


def resolve(
    path: str, build_id: str, offsets: Iterable[int], search: Sequence[Path] = (), *, with_lines: bool = True
) -> dict[int, list[CodePlace]]:
    """Each offset's frames, the innermost first: more than one where functions were inlined.

    path, build_id: as the profile has them. search: directories that are looked into before the path itself, for
    .build-id/xx/y.debug, or for a file of the module's name. with_lines: else no other program is called.
    """
    offsets = sorted(set(offsets))
    name = Path(path).name
    if not path:
        return {offset: [CodePlace(f"code in no file+{offset:#x}")] for offset in offsets}
    unknown = {offset: [CodePlace(f"{name}+{offset:#x}", name)] for offset in offsets}
    files = list(_candidates(path, build_id, search))
    with_symbols = [elf for elf in files if len(elf.starts)]
    if not with_symbols:
        return unknown
    found = dict(unknown)
    for elf in reversed(with_symbols):
        for offset in offsets:
            function = elf.function(offset)
            if function is not None:
                found[offset] = [CodePlace(demangled(function), name)]
    lined = next((elf for elf in files if elf.has_lines), None) if with_lines else None
    if lined is not None:
        for offset, places in _lines(lined.path, offsets).items():
            if any(place.line for place in places):
                found[offset] = [CodePlace(place.function, name, place.file, place.line) for place in places]
    return found


def _candidates(path: str, build_id: str, search: Sequence[Path]) -> Iterable[Elf]:
    """The files that are the module, or its debug information."""
    by_id = Path(".build-id", build_id[:2], f"{build_id[2:]}.debug") if len(build_id) > 2 else None
    for directory in (*search, DEBUG_DIRECTORY):
        for file in (by_id, Path(Path(path).name) if directory in search else None):
            elf = None if file is None else readable(directory / file)
            if elf is not None and elf.build_id == build_id:
                yield elf
    elf = readable(Path(path))
    if elf is not None and elf.build_id == build_id:
        yield elf


@cache
def readable(path: Path) -> Elf | None:
    """The file, where it is one that can be read."""
    try:
        return read_elf(path) if path.is_file() else None
    except (NotElf, OSError):
        return None


def _lines(file: Path, offsets: Sequence[int]) -> dict[int, list[CodePlace]]:
    program = next(([path, *options] for name, options in SYMBOLIZERS if (path := shutil.which(name))), None)
    if program is None:
        return {}
    # The first function that binutils 2.40 is asked for it names by its symbol, though it be inlined; then it is right.
    asked = "".join(f"{offset:#x}\n" for offset in (offsets[0], *offsets))
    command = [*program, "-a", "-f", "-i", "-C", "-e", str(file)]
    try:
        done = subprocess.run(
            command,
            input=asked,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SYMBOLIZER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found: dict[int, list[CodePlace]] = {}
    lines = iter(done.stdout.splitlines())
    places: list[CodePlace] = []
    for line in lines:
        if line.startswith("0x"):
            places = found[int(line, 16)] = []
            continue
        where, _, number = next(lines, "??:0").split(" (discriminator")[0].rpartition(":")
        known = number.isdigit() and where != UNKNOWN
        places.append(CodePlace(line.split("@")[0], "", where if known else "", int(number) if known else 0))
    return found


def demangled(name: bytes) -> str:
    """A C++ (or Rust, in its old way) name as its source has it; any other as it is."""
    text = name.split(b"@")[0].partition(b".llvm.")[0]  # what an optimizer moved between units
    demangler = _demangler() if text.startswith(b"_Z") else None
    if demangler is None:
        return text.decode("utf-8", "replace")
    status = ctypes.c_int()
    result = demangler.__cxa_demangle(text, None, None, ctypes.byref(status))
    if not result:
        return text.decode("utf-8", "replace")
    said = ctypes.string_at(result).decode("utf-8", "replace")
    ctypes.CDLL(None).free(ctypes.c_void_p(result))
    return said


@cache
def _demangler() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        library.__cxa_demangle.restype = ctypes.c_void_p
    except (OSError, AttributeError):
        return None
    return library


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
