"""Every name of MPI, in C and Fortran, stands in front of its own function and counts as its operation."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pytest
from support.programs import APPS, BUILD, ROOT, Job, calls

ROW = re.compile(r'^OPERATION\((\w+), +mpiio\w*, +(\w+), +"(.*)"\)$', re.MULTILINE)


def in_c(name: str) -> str:
    """The C function of a name in any language, in lower case."""
    return name.lower().removesuffix("_f08_").rstrip("_")


def class_of(name: str) -> str | None:
    """What a call communicates for; None: it is an operation."""
    return CLASS_OF.get(in_c(name)) or CLASS_OF.get(in_c(name).removesuffix("_c"))


def place_of(name: str) -> tuple[int, str]:
    """Where it is called: MPI begins first and ends last."""
    return 2 * name.lower().startswith("mpi_finalize") - name.lower().startswith("mpi_init"), name


ROWS = ROW.findall((ROOT / "schema" / "operations.def").read_text())
OPERATION_OF = {symbol.lower(): operation for operation, _, symbols in ROWS for symbol in symbols.split()}
COMMUNICATION = re.compile(r"^(?:TRANSFER|COMMUNICATION)\((\w+), \w+, (\w+),", re.MULTILINE)
CLASS_OF = {
    symbol.lower(): group
    for symbol, group in COMMUNICATION.findall((ROOT / "schema" / "communication.def").read_text())
}
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


def made_with(names: Iterable[str], folder: Path, *options: str) -> Path:
    """The program, or with -shared the library, of a library whose functions count their calls."""
    source, library, made = folder / "mpi.c", folder / "libmpi.so", folder / "every_name"
    source.write_text(
        "".join(f"int calls_of_{name}; int {name}(void) {{ return calls_of_{name}++, 0; }}\n" for name in names)
    )
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", source, "-o", library], check=True)
    link = ["-Wl,--no-as-needed", library, f"-Wl,-rpath,{folder}"]
    command = ["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Werror", *options, APPS / "mpi_every_name.c", *link]
    subprocess.run([*command, "-o", made], check=True)
    return made


def assert_counted(job: Job, names: Iterable[str]) -> None:
    # What completes counts where something was begun: the split collectives' ends with their beginnings.
    names = list(names)
    operations = [
        OPERATION_OF[in_c(name)] for name in names if class_of(name) is None and not in_c(name).endswith("_end")
    ]
    expected = Counter(operation for operation in operations if operation not in COMPLETING)
    profile = job.profile()
    assert {name: count for name, count in calls(profile).items() if name.startswith("MPI_")} == expected
    classes = Counter(group for group in map(class_of, names) if group is not None)
    # Operations of MPI are counted by class, too.
    classes["life"] += sum(
        "_init" in name.lower() or "_finalize" in name.lower() for name in names if class_of(name) is None
    )
    found = dict(profile.communication.group_by("class").agg(pl.col("calls").sum()).rows())
    assert {name: found[name] for name in classes if name not in ("wait", "test")} == {
        name: count for name, count in classes.items() if name not in ("wait", "test")
    }
    completing = Counter(OPERATION_OF[in_c(name)] for name in names if class_of(name) is None)
    assert found["wait"] + found["test"] == classes["wait"] + classes["test"] + sum(
        completing[name] for name in COMPLETING
    )


def test_every_name_of_mpi(job: Job) -> None:
    names = names_of_mpi()
    assert {in_c(name) for name in names if class_of(name) is None} == set(OPERATION_OF)
    assert {in_c(name) for name in names if name == name.lower() and class_of(name)} == set(CLASS_OF)
    in_fortran = {in_c(name) for name in names if name == name.lower() and class_of(name) is None}
    spelt = {f"{name}{end}" for name in in_fortran for end in ("", "_", "__")}  # by compilers' ways of naming routines
    assert spelt | {name.upper() for name in in_fortran} < set(names)
    ended = job.run([made_with(names, job.folder), *names])
    assert (ended.status, ended.output, ended.errors) == (0, b"", "")
    assert_counted(job, names)


@pytest.mark.parametrize("has_large_counts", [True, False])
def test_every_name_of_a_plug_ins_mpi(job: Job, has_large_counts: bool) -> None:
    """Out of the global scope each name is looked up apart, and what was found for one is no other's. mpi4py asks for
    functions with large counts (..._c), finds ours, and must be served by those with ints where MPI has no others.
    """
    names = [name for name in names_of_mpi() if name.startswith("MPI_") and name != name.upper()]
    own = [name for name in names if has_large_counts or not name.endswith("_c")]
    assert len(own) < len(names) or has_large_counts
    plug_in = made_with(own, job.folder, "-shared", "-fPIC")
    first, *others, last = names
    called = [first, *others, *reversed(others), last]
    ended = job.run([sys.executable, "-c", HOST, plug_in, *called])
    assert (ended.status, ended.output, ended.errors) == (0, b"", "")
    assert_counted(job, called)
