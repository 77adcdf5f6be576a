"""Every name of MPI, in C and Fortran, stands in front of its own function and counts as its operation."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.programs import BUILD, ROOT, Apps, Job, calls

ROW = re.compile(r'^OPERATION\((\w+), +mpiio\w*, +(\w+), +"(.*)"\)$', re.MULTILINE)


def in_c(name: str) -> str:
    """The C function of a name in any language, in lower case."""
    return name.lower().removesuffix("_f08_").rstrip("_")


def place_of(name: str) -> tuple[int, str]:
    """Where it is called: MPI begins first and ends last."""
    return 2 * ("_finalize" in name.lower()) - ("_init" in name.lower()), name


ROWS = ROW.findall((ROOT / "schema" / "operations.def").read_text())
OPERATION_OF = {symbol.lower(): operation for operation, _, symbols in ROWS for symbol in symbols.split()}
COMPLETING = {operation for operation, kind, _ in ROWS if kind == "completion"}
# Python opens a library out of the global scope, as it does with its extensions.
HOST = """
import ctypes, sys
words = [word.encode() for word in sys.argv[1:]]
sys.exit(ctypes.CDLL(words[0]).main(len(words), (ctypes.c_char_p * len(words))(*words)))
"""


def names_of_mpi() -> list[str]:
    listing = subprocess.run([BUILD / "generate", "exports"], check=True, capture_output=True, text=True).stdout
    return sorted(re.findall(r"^    (mpi_\w+);$", listing, re.MULTILINE | re.IGNORECASE), key=place_of)


def library_with(names: Iterable[str], folder: Path) -> list[str]:
    """Makes a library of functions that count their calls. Returns how a program is linked with it."""
    source, library = folder / "mpi.c", folder / "libmpi.so"
    source.write_text(
        "".join(f"int calls_of_{name}; int {name}(void) {{ return calls_of_{name}++, 0; }}\n" for name in names)
    )
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", source, "-o", library], check=True)
    return ["-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{folder}"]


def assert_counted(job: Job, names: Iterable[str]) -> None:
    # What completes counts where something was begun: the split collectives' ends with their beginnings.
    operations = [OPERATION_OF[in_c(name)] for name in names if not in_c(name).endswith("_end")]
    expected = Counter(operation for operation in operations if operation not in COMPLETING)
    assert {name: count for name, count in calls(job.profile()).items() if name.startswith("MPI_")} == expected


def test_every_name_of_mpi(job: Job, apps: Apps) -> None:
    names = names_of_mpi()
    assert {in_c(name) for name in names} == set(OPERATION_OF)
    program = apps.build("mpi_every_name", *library_with(names, job.folder))
    ended = job.run([program, *names])
    assert (ended.status, ended.output, ended.errors) == (0, b"", "")
    assert_counted(job, names)


@pytest.mark.parametrize("has_large_counts", [True, False])
def test_every_name_of_a_plug_ins_mpi(job: Job, apps: Apps, has_large_counts: bool) -> None:
    """Out of the global scope each name is looked up apart, and what was found for one is no other's. mpi4py asks for
    functions with large counts (..._c), finds ours, and must be served by those with ints where MPI has no others.
    """
    names = [name for name in names_of_mpi() if name.startswith("MPI_") and name != name.upper()]
    own = [name for name in names if has_large_counts or not name.endswith("_c")]
    assert len(own) < len(names) or has_large_counts
    link = library_with(own, job.folder)
    plug_in = apps.build("mpi_every_name", "-shared", "-fPIC", *link)
    first, *others, last = names
    called = [first, *others, *reversed(others), last]
    ended = job.run([sys.executable, "-c", HOST, plug_in, *called])
    assert (ended.status, ended.output, ended.errors) == (0, b"", "")
    assert_counted(job, called)
