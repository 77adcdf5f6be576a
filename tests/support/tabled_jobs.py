"""Jobs given as MiB a slice of each process, as profiles on disk."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path

from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from support.swz import build_profile

MIB = 1 << 20
TAU_NS = 4_000_000_000
EPOCH = 425_000_000
process_ids = count(1)


def write_job(
    directory: Path,
    mib: Sequence[Sequence[float]],
    host: str = "n1",
    slice_ns: int = TAU_NS,
    first_slice: int = EPOCH,
    is_mpi: bool = True,
    mount: dict | None = None,
    program: str = "/opt/simulation",
    busy: float = 1.0,
    direction: str = "write",
) -> Digest:
    """A job from MiB a slice of each process. Calls take the fraction `busy` of each slice with bytes."""
    processes, slices, mounts = [], [], []
    for rank, row in enumerate(mib):
        process = next(process_ids)
        mounts.append({"process": process, "mount": 1} | (mount or {}))
        processes.append(
            {
                "process": process, "host": host, "program": program, "rank": rank if is_mpi else -1,
                "ranks": len(mib) if is_mpi else 0, "slice_ns": slice_ns, "start_ns": first_slice * slice_ns,
                "end_ns": (first_slice + len(row)) * slice_ns,
            }
        )  # fmt: skip
        slices += [
            {
                "process": process, "slice": first_slice + place, f"{direction}_bytes": int(amount * MIB),
                f"{direction}_ops": 1, f"{direction}_ns": int(busy * slice_ns), "threads": 1,
            }
            for place, amount in enumerate(row)
            if amount
        ]  # fmt: skip
    return Digest(read_profile(build_profile(directory, processes, slices, mounts)))
