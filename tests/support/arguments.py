"""The table of arguments with which each interposed function is called (arguments.txt)."""

import re
import subprocess
from collections.abc import Container, Iterator
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("arguments.txt")
SCHEMA = Path(__file__).parents[2] / "schema" / "operations.def"
OPERATION = re.compile(r'^OPERATION\((\w+), +(\w+), +\w+, +"(.*)"\)$', re.MULTILINE)


def operations() -> dict[str, str]:
    """The operation of each symbol, but those of MPI."""
    found = OPERATION.findall(SCHEMA.read_text())
    assert len(found) > 100
    return {
        symbol: operation
        for operation, layer, symbols in found
        for symbol in symbols.split()
        if not layer.startswith("mpiio")
    }


def rows() -> Iterator[tuple[list[str], str]]:
    """Each row: its symbols, and what stands for their arguments or says why they are not called."""
    for line in TABLE.read_text().splitlines():
        if line and not line.startswith("#"):
            symbols, arguments = line.split(" = ", 1)
            yield symbols.split(), arguments


@cache
def call_numbers() -> dict[str, str]:
    """The number of each system call of this processor, by name."""
    command = ["gcc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"]
    macros = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(re.findall(r"#define __NR_(\w+) (\d+)", macros))


def write_table(path: Path, only: Container[str] | None = None) -> Path:
    """The table as tests/apps/bad_pointers.c reads it: calls by number have theirs, and those that this processor lacks
    are left out. only: these symbols alone.
    """
    numbers = call_numbers()
    lines = []
    for symbols, arguments in rows():
        names = re.findall(r"SYS_(\w+)", arguments)
        if all(name in numbers for name in names):
            numbered = re.sub(r"SYS_(\w+)", lambda found: numbers[found[1]], arguments)
            named = " ".join(symbol for symbol in symbols if only is None or symbol in only)
            lines += [f"{named} = {numbered}\n"] if named else []
    path.write_text("".join(lines))
    return path
