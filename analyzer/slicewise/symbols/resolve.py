"""Addresses of modules as functions with file and line, inlined ones too.

llvm-symbolizer or addr2line read debug information, where both are there; else a symbol's name and no line; else the
module's name and the address. A file whose build id is not the one that ran is never asked.
"""

import ctypes
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from slicewise.symbols.elf import Elf, NotElf, read_elf

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
