"""The project's workload program, as `make` builds it for the MPI that is there."""

from __future__ import annotations

import pytest
from support.programs import BUILD

LOAD = BUILD / "bin" / "slicewise-load"
MPIRUN = ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n")


def require_load() -> None:
    """Skips a test where the program could not be built."""
    if not LOAD.exists():
        pytest.skip(f"{LOAD} is missing: apt install openmpi-bin libopenmpi-dev, and make")
