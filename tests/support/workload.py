"""The project's workload program, as `make` builds it for the MPI that is there."""

from support.programs import BUILD, need, need_built

LOAD = BUILD / "bin" / "slicewise-load"
MPIRUN = ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n")


def require_load() -> None:
    """Skips a test where there is no MPI to build the program with; fails it where there is one, and no program."""
    need("mpicc.openmpi", "mpirun.openmpi")
    need_built(LOAD)
