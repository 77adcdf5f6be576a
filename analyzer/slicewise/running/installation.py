"""Where the library to preload and the collector lie: in the package (a wheel), or where this Python environment is,
and nowhere else, so that an analyzer never works with the library of another version.
"""

import sys
from pathlib import Path

from slicewise.errors import UserError

# Without site-packages (running/run.py) Python does not say in what environment it is.
ENVIRONMENT = Path(sys.executable).parent.parent

# What ld.so takes for the end of a path in LD_PRELOAD.
SEPARATORS = " :"
# What the package carries in a wheel of `make dist`.
CARRIED = Path(__file__).resolve().parents[1] / "native"


class Installation:
    """library: libslicewise.so. collector: the program slicewise-collect."""

    def __init__(self, library: Path, collector: Path) -> None:
        self.library, self.collector = library, collector

    def beside(self, part: str) -> Path:
        """What is preloaded beside the library for waits of `threads`, or for `accelerators`. Raises UserError if it is
        missing.
        """
        found = self.library.with_name(f"libslicewise-{part}.so")
        if not found.is_file():
            raise UserError(f"{found}: is not there; build it with `make`")
        return found

    @property
    def nvtx(self) -> Path:
        """What NVTX opens to tell of a program's ranges."""
        return self.library.with_name("libslicewise-nvtx.so")


def workload_program() -> Path | None:
    """The workload program slicewise-load of this installation; None where it was built without an MPI."""
    try:
        program = find_installation().collector.parent / "slicewise-load"
    except UserError:
        return None
    return program if program.is_file() else None


def find_installation(environment: Path = ENVIRONMENT) -> Installation:
    """The installation that the Python environment (its directory) belongs to. Raises UserError where it belongs to
    none."""
    environment = environment.resolve()
    for prefix in (CARRIED, environment.parent, environment.parent.parent.parent):
        found = Installation(prefix / "lib" / "libslicewise.so", prefix / "bin" / "slicewise-collect")
        if not (found.library.is_file() and found.collector.is_file()):
            continue
        if any(separator in str(found.library) for separator in SEPARATORS):
            raise UserError(
                f"{found.library}: a library can only be preloaded from a path without spaces and colons; move it"
            )
        return found
    raise UserError(
        f"the Python environment {environment} has no libslicewise.so and slicewise-collect beside it; "
        "build them with `make`, and call build/bin/slicewise or the one that `make install` made"
    )
