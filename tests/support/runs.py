"""Runs of one program made up slice by slice, as profiles on disk, for analyses that look at single runs."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.swz import build_profile

MIB = 1 << 20
SECOND = 1_000_000_000
START = 1_700_000_000

Row = dict[str, Any]


def wrote(mib: float, seconds: float, size: int = MIB) -> Row:
    """A process's writes in a slice."""
    return moved("write", mib, seconds, size)


def read(mib: float, seconds: float, size: int = MIB) -> Row:
    """A process's reads in a slice."""
    return moved("read", mib, seconds, size)


def moved(direction: str, mib: float, seconds: float, size: int = MIB) -> Row:
    moved = int(mib * MIB)
    spent = {f"{direction}_bytes": moved, f"{direction}_ops": max(1, moved // size)}
    return spent | {f"{direction}_ns": round(seconds * SECOND)}


def metadata(calls: int, seconds: float) -> Row:
    """A process's metadata calls in a slice."""
    return {"meta_ops": calls, "meta_ns": round(seconds * SECOND)}


def write_run(
    directory: Path,
    seconds: float,
    of_processes: list[Mapping[int, Row]],
    program: str = "/opt/simulation",
    is_mpi: bool = False,
    spans: list[tuple[float, float]] | None = None,
    ending: str = "exit",
    begin: int = 0,
    mounts: Mapping[str, Any] | None = None,
) -> Path:
    """A run in slices of 1 s on /scratch: of each process what it did in each slice since the start.

    seconds: the runtime. spans: when each process ran, if not all the time. begin: seconds after START. mounts: other
    columns of the one mount than /scratch's.
    """
    first = (zlib.crc32(directory.name.encode()) << 16) + 1
    processes, slices, mounted = [], [], []
    for place, did in enumerate(of_processes):
        process = first + place
        start, end = spans[place] if spans else (0.0, seconds)
        processes.append(
            {
                "process": process, "pid": 100 + place, "rank": place if is_mpi else -1,
                "ranks": len(of_processes) if is_mpi else 0, "program": program,
                "start_ns": (START + begin) * SECOND + round(start * SECOND),
                "end_ns": (START + begin) * SECOND + round(end * SECOND), "slice_ns": SECOND, "ending": ending,
            }
        )  # fmt: skip
        slices += [{"process": process, "slice": START + begin + at, "threads": 1} | row for at, row in did.items()]
        mounted.append({"process": process} | dict(mounts or {}))
    return build_profile(directory, processes, slices, mounts=mounted if mounts else None)
