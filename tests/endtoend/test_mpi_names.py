"""Every name of MPI, in C and Fortran, stands in front of its own function and counts as its operation."""

from __future__ import annotations

import re
import subprocess
from collections import Counter

from support.programs import BUILD, ROOT, Apps, Job, calls

ROW = re.compile(r'^OPERATION\((\w+), +mpiio\w*, +(\w+), +"(.*)"\)$', re.MULTILINE)


def in_c(name: str) -> str:
    """The C function of a name in any language, in lower case."""
    return name.lower().removesuffix("_f08_").rstrip("_")


def place_of(name: str) -> tuple[int, str]:
    """Where it is called: MPI begins first and ends last."""
    return 2 * ("_finalize" in name.lower()) - ("_init" in name.lower()), name


def test_every_name_of_mpi(job: Job, apps: Apps) -> None:
    rows = ROW.findall((ROOT / "schema" / "operations.def").read_text())
    operation_of = {symbol.lower(): operation for operation, _, symbols in rows for symbol in symbols.split()}
    completing = {operation for operation, kind, _ in rows if kind == "completion"}
    listing = subprocess.run([BUILD / "generate", "exports"], check=True, capture_output=True, text=True).stdout
    names = sorted(re.findall(r"^    (mpi_\w+);$", listing, re.MULTILINE | re.IGNORECASE), key=place_of)
    assert {in_c(name) for name in names} == set(operation_of)

    source, library = job.folder / "mpi.c", job.folder / "libmpi.so"
    source.write_text(
        "".join(f"int calls_of_{name}; int {name}(void) {{ return calls_of_{name}++, 0; }}\n" for name in names)
    )
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", source, "-o", library], check=True)
    program = apps.build("mpi_every_name", "-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{job.folder}")
    ended = job.run([program, *names])
    assert (ended.status, ended.output, ended.errors) == (0, b"", "")

    # What completes counts where something was begun: the split collectives' ends with their beginnings.
    operations = [operation_of[in_c(name)] for name in names if not in_c(name).endswith("_end")]
    expected = Counter(operation for operation in operations if operation not in completing)
    assert {name: count for name, count in calls(job.profile()).items() if name.startswith("MPI_")} == expected
