"""The advice for jobs made by hand."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import polars as pl
from slicewise.analysis.job.advice import advise
from slicewise.analysis.job.job_calls import CostlyHabit
from slicewise.analysis.job.sites import SAMPLES_SCHEMA, Sites
from slicewise.analysis.job.split import Split
from slicewise.digest.digest import read_digest
from slicewise.symbols.resolve import CodePlace
from support.swz import build_profile

NS = 10**9
FIRST = 1_700_000_000
MIB = 1 << 20
# What a process did with a sync for each record; and what files have that were written in small pieces, and in large.
SYNCS = {"sync_ops": 3000, "sync_ns": 12 * NS, "write_ops": 3000, "write_bytes": 3000 * 512, "write_ns": NS // 10}
SMALL = {
    "path": "/scratch/out.dat", "opens": 1, "write_ops": 100_000, "write_bytes": 100_000 * 4096, "write_ns": 10 * NS,
}  # fmt: skip
LARGE = {"path": "/scratch/big", "opens": 1, "write_ops": 100, "write_bytes": 100 * MIB, "write_ns": NS // 2}
NOWHERE = Sites([], pl.DataFrame(schema=SAMPLES_SCHEMA), None)


def told(
    directory: Path,
    did: dict[str, int],
    files: list[dict[str, object]] = (),
    *,
    found: Sites = NOWHERE,
    seconds: int = 20,
    processes: int = 1,
    one_after_another: bool = False,
    lost: float = 0.0,
    sent: int = 0,
    fetched: int = 0,
    calls: Mapping[str, int] = MappingProxyType({}),
    sizes: Mapping[str, int] = MappingProxyType({}),
    ranks: Split | None = None,
    who: Mapping[str, str] = MappingProxyType({"program": "/bin/x"}),
    mounts: list[dict[str, object]] | None = None,
    usage: list[dict[str, object]] | None = None,
    more: list[dict[str, object]] = (),
    library: list[dict[str, object]] = (),
    slices: int = 1,
) -> list[CostlyHabit]:
    """The advice for a job whose processes, so many, each did that in so many slices; side by side unless said
    otherwise. calls: of each process, by function; sizes: of files that are still there; more, library: rows of
    `slices` of each process besides, and of `library_calls`.
    """
    apart = seconds if one_after_another else 0
    begins = {n + 1: FIRST + n * apart for n in range(processes)}
    rows = [
        {"process": n, "slice_ns": NS, "start_ns": NS * begin, "end_ns": NS * (begin + seconds), **who}
        for n, begin in begins.items()
    ]
    part = {name: value if name == "threads" else value // slices for name, value in did.items()}
    did_rows = [{"process": n, "slice": begin + k, **part} for n, begin in begins.items() for k in range(slices)]
    kernel = {"layer": "kernel", "mount": 0, "kernel_write_bytes": sent, "kernel_read_bytes": fetched}
    did_rows += [{"process": n, "slice": begin, **kernel} for n, begin in begins.items()]
    did_rows += [{"process": n, "slice": begin, **row} for n, begin in begins.items() for row in more]
    per_file = [{"process": n, "file": k, **file} for n in begins for k, file in enumerate(files, 1)]
    called = [{"process": n, "operation": name, "calls": times} for n in begins for name, times in calls.items()]
    seen = mounts and [{"process": n, **mount} for n in begins for mount in mounts]
    others = {"usage": usage or [], "library_calls": [{"process": n, **row} for n in begins for row in library]}
    profile = build_profile(directory / "job", rows, did_rows, seen, files=per_file, calls=called, **others)
    return advise(read_digest(profile, distributions=True), found, lost, ranks, lambda paths, end_ns: sizes)


def told_of_each(
    directory: Path,
    did: list[dict[str, int]],
    files: list[list[dict[str, object]]] = (),
    *,
    calls: list[dict[str, int]] = (),
    found: Sites = NOWHERE,
    ranks: Split | None = None,
    lives: list[tuple[float, float]] = (),
) -> list[CostlyHabit]:
    """The advice for a job of several processes, of which each did something else; side by side for 20 s, or in what of
    these each lived.
    """
    lives = lives or [(0, 20)] * len(did)
    of_each = {"slice_ns": NS, "program": "/bin/x"}
    rows = [
        of_each | {"process": n, "start_ns": int(NS * (FIRST + begin)), "end_ns": int(NS * (FIRST + end))}
        for n, (begin, end) in enumerate(lives, 1)
    ]
    slices = [{"process": n, "slice": FIRST, **one} for n, one in enumerate(did, 1)]
    per_file = [
        {"process": n, "file": k, **file} for n, of_one in enumerate(files, 1) for k, file in enumerate(of_one, 1)
    ]
    called = [
        {"process": n, "operation": name, "calls": times}
        for n, of_one in enumerate(calls, 1)
        for name, times in of_one.items()
    ]
    profile = build_profile(directory / "job", rows, slices, files=per_file, calls=called)
    return advise(read_digest(profile, distributions=True), found, ranks=ranks)


def sites(operation: str, seconds: float, samples: int = 100) -> Sites:
    stack = (CodePlace("main", "", "a.c", 1), CodePlace("write_row", "", "io.f90", 123), CodePlace(operation))
    row = {
        "stack": 0, "process": 1, "slice": FIRST, "operation": operation, "samples": samples, "seconds": seconds,
        "bytes": 0.0, "calls": 1.0,
    }  # fmt: skip
    return Sites([stack], pl.DataFrame([row], schema=SAMPLES_SCHEMA), 0.001)


def samples(*rows: tuple[int, str, float, float]) -> Sites:
    """Of process, operation, seconds, calls: each from a place of its own."""
    stacks = [(CodePlace("main", "", "a.c", n), CodePlace(row[1])) for n, row in enumerate(rows)]
    made = [
        {"stack": n, "process": process, "slice": FIRST, "operation": name, "samples": round(100 * seconds),
         "seconds": seconds, "bytes": 0.0, "calls": times}
        for n, (process, name, seconds, times) in enumerate(rows)
    ]  # fmt: skip
    return Sites(stacks, pl.DataFrame(made, schema=SAMPLES_SCHEMA), 0.01)
