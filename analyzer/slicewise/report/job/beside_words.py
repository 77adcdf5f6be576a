"""What took time beside calls on files: I/O libraries (HDF5, netCDF, ...), regions that the program marked, and threads
that waited for each other. Sentences, a table of each, and JSON.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from slicewise.analysis.job.regions import by_name, has_regions, in_slices, occurrences
from slicewise.analysis.job.sites import Sites
from slicewise.constants import SECOND_NS
from slicewise.digest.digest import Digest
from slicewise.digest.schema import FRAMES
from slicewise.kinds import ACCELERATOR
from slicewise.report import columns
from slicewise.report.job.site_words import MOST_SITES, site_lines, sites_record
from slicewise.report.tables import Table
from slicewise.text import words

NAMES = {"hdf5": "HDF5", "pnetcdf": "PnetCDF", "netcdf": "netCDF", "adios2": "ADIOS2"}
ON_HDF5 = "netcdf"  # what it spends in HDF5 or PnetCDF counts there as well
WAITS_FOR = {
    "lock": "for locks",
    "condition": "for conditions (also idle workers of a pool)",
    "barrier": "at barriers",
    "join": "for the end of threads",
    "semaphore": "for semaphores (also Python's locks)",
    "idle": "as idle workers of OpenMP",
    ACCELERATOR: "for accelerators",
}
MOST_NAMED = 3
# Less than so many seconds, or than this share of the runtime, is no news.
LEAST_SECONDS, LEAST_SHARE_OF_RUNTIME = 0.1, 0.01
NOTES = {
    "Regions": "Times, calls and bytes of each region include those of the regions within it, of its own thread alone, "
    "and are added up over processes. I/O: time in calls on files. Waiting: time in calls of MPI. Slowest: of a "
    "process, with the number of the occurrence.",
    "I/O libraries": "The time in calls of a function, added up over threads and processes. Itself: what is left of it "
    "without calls on files and MPI, such as compressing, converting and waiting for the library's own lock. netCDF's "
    "time includes that of the HDF5 and PnetCDF calls that it makes. Slicewise does not see a library that is linked "
    "into the program statically, and calls that only put work off (H5Dwrite_async, ncmpi_iput_...).",
    "Threads that waited": "The time of waits, added up over threads and processes. It is no time that "
    "the job lost: threads that wait let others run. The runtime holds what the first thread of a process (main) "
    "waits. A wait within a call of MPI counts as MPI. Slicewise does not see threads that wait by system calls of "
    "their own (GCC's OpenMP, Rust, Go).",
}


def beside_lines(digest: Digest, runtime: float, waits: Sites) -> Iterator[str]:
    """What of it took long enough to be news. waits: where threads waited."""
    yield from _library_lines(digest, runtime)
    yield from _region_lines(digest, runtime)
    yield from _thread_lines(digest, runtime, waits)


def beside_tables(digest: Digest) -> list[tuple[str, Table, str]]:
    """Heading, table and note of each, in the order of a page; a table without rows where a job has none."""
    found = zip(NOTES, (_regions_table(digest), _library_table(digest), _thread_table(digest)), strict=True)
    return [(heading, table, NOTES[heading]) for heading, table in found]


def beside_record(digest: Digest, waits: Sites) -> dict[str, Any]:
    """The keys `libraries`, `regions` and `threads` of JSON output, see docs/commands.md."""
    regions: dict[str, Any] = {"names": [], "occurrences": [], "slices": []}
    if has_regions(digest):
        of_slices = in_slices(digest, digest.slice_ns).group_by("region", "slice").agg(pl.exclude("occurrence").sum())
        in_order = of_slices.sort("slice", "region").to_dicts()
        regions = {
            "names": by_name(digest).to_dicts(), "occurrences": occurrences(digest).to_dicts(), "slices": in_order,
        }  # fmt: skip
    threads = {
        "sites": sites_record(waits)[:MOST_SITES],
        "kinds": _thread_rows(digest, "kind").to_dicts(),
        "slices": _thread_rows(digest, "slice", "kind").sort("slice", "kind").to_dicts(),
    }
    return {"libraries": _library_rows(digest).to_dicts(), "regions": regions, "threads": threads}


def _mean_of(processes: int) -> str:
    return f" (mean of {processes:,} processes)" if processes > 1 else ""


def _library_rows(digest: Digest) -> pl.DataFrame:
    """By function, the longest first: library, function, calls, processes, seconds, file_seconds, mpi_seconds,
    own_seconds, summed over processes and threads."""
    if "library_calls" in digest.not_kept:
        return pl.DataFrame()
    return (
        digest.library_calls.group_by("library", "function")
        .agg(
            pl.col("calls").sum(),
            processes=pl.len(),
            seconds=pl.col("ns").sum() / SECOND_NS,
            file_seconds=pl.col("file_ns").sum() / SECOND_NS,
            mpi_seconds=pl.col("mpi_ns").sum() / SECOND_NS,
        )
        .with_columns(own_seconds=(pl.col("seconds") - pl.col("file_seconds") - pl.col("mpi_seconds")).clip(0))
        .sort("seconds", "library", "function", descending=(True, False, False))
    )


def _library_lines(digest: Digest, runtime: float) -> Iterator[str]:
    """A line for each library: where its time went, in the mean over its processes."""
    rows = _library_rows(digest)
    for (library,), of in rows.group_by("library", maintain_order=True) if rows.height else ():
        processes = digest.library_calls.filter(pl.col("library") == library)["process"].n_unique()
        total, in_files, in_mpi, own = (
            float(of[name].sum()) / processes for name in ("seconds", "file_seconds", "mpi_seconds", "own_seconds")
        )
        if total < max(LEAST_SECONDS, LEAST_SHARE_OF_RUNTIME * runtime):
            continue
        name = NAMES[str(library)]
        longest = [
            f"{row['function']} {words.duration(row['seconds'] / processes)}"
            for row in of.head(MOST_NAMED).iter_rows(named=True)
            if row["seconds"] / processes >= LEAST_SHARE_OF_RUNTIME * total
        ]
        mpi = f" {words.duration(in_mpi)} in MPI, waits for other ranks included," if in_mpi > 0 else ""
        itself = "netCDF and HDF5 themselves" if library == ON_HDF5 else f"{name} itself"
        took = f"{words.duration(total)} of {words.duration(runtime)}{_mean_of(processes)}"
        yield (
            f"{name} took {took}: {words.listing(longest)}. "
            f"Of this, {words.duration(in_files)} passed in reads, writes and other calls on files,{mpi} and "
            f"{words.duration(own)} in {itself}."
        )


def _library_table(digest: Digest) -> Table:
    return columns.table(
        _library_rows(digest).iter_rows(named=True),
        columns.text("library", lambda row: NAMES[row["library"]], spare=2),
        columns.text("function", "function"),
        columns.count("processes", "processes", spare=1),
        columns.count("calls", "calls"),
        columns.duration("in calls", "seconds"),
        columns.duration("on files", "file_seconds"),
        columns.duration("in MPI", "mpi_seconds"),
        columns.duration("itself", "own_seconds"),
    )


def _region_lines(digest: Digest, runtime: float) -> Iterator[str]:
    found = by_name(digest) if has_regions(digest) else pl.DataFrame()
    for row in found.head(MOST_NAMED).iter_rows(named=True):
        processes = row["processes"]
        took, in_io, in_mpi = (row[name] / processes for name in ("seconds", "io_seconds", "mpi_seconds"))
        if took < LEAST_SHARE_OF_RUNTIME * runtime:
            continue
        mpi = f" and {words.duration(in_mpi)} in MPI" if in_mpi > 0 else ""
        which = "" if row["slowest"] is None else f" (number {row['slowest']:,})"
        longest = (
            f"; the slowest took {words.duration(row['slowest_seconds'])}{which}" if row["occurrences"] > 1 else ""
        )
        times = words.count(row["occurrences"], "time")
        yield (
            f"Region {row['region']}: {times}, {words.duration(took)}{_mean_of(processes)}, "
            f"of this {words.duration(in_io)} in I/O calls{mpi}{longest}."
        )


def _regions_table(digest: Digest) -> Table:
    return columns.table(
        by_name(digest).iter_rows(named=True) if has_regions(digest) else (),
        columns.text("region", "region"),
        columns.count("times", "occurrences"),
        columns.count("processes", "processes", spare=1),
        columns.duration("in it", "seconds"),
        columns.duration("I/O", "io_seconds"),
        columns.duration("waiting", "mpi_seconds"),
        columns.size("read", "read_bytes"),
        columns.size("written", "write_bytes"),
        columns.count("calls", "calls"),
        columns.duration("slowest", "slowest_seconds"),
        columns.text("number", lambda row: "" if row["slowest"] is None else f"{row['slowest']:,}", spare=2),
    )


def _thread_rows(digest: Digest, *keys: str) -> pl.DataFrame:
    """By `keys` (kind, process, slice), the longest first: waits, seconds of all threads, and main_seconds of these, of
    the processes' first threads. None of a job of which they are not known.
    """
    main_seconds = pl.col("main_ns").sum() / SECOND_NS
    return longest_first(digest, "thread_waits", keys, pl.col("waits").sum(), main_seconds=main_seconds)


def longest_first(digest: Digest, name: str, keys: Sequence[str], count: pl.Expr, **more: pl.Expr) -> pl.DataFrame:
    """Rows of a frame of the job's own processes, summed by `keys`: count, processes, seconds, and more. None of a job
    of which the frame is not known.
    """
    rows = getattr(digest, name) if name not in digest.not_kept else pl.DataFrame(schema=FRAMES[name].polars_schema)
    of_job = digest.processes.filter("is_of_job").select("process")
    sums = {"processes": pl.col("process").n_unique(), "seconds": pl.col("ns").sum() / SECOND_NS, **more}
    by_keys = rows.join(of_job, on="process", how="semi").group_by(*keys).agg(count, **sums)
    return by_keys.sort("seconds", *keys, descending=(True, *(False for _ in keys)))


def _thread_lines(digest: Digest, runtime: float, sites: Sites) -> Iterator[str]:
    """How long threads waited for each other and for accelerators, where most of it was, and what of it the first
    thread of a process waited.
    """
    rows = _thread_rows(digest, "kind")
    least = max(LEAST_SECONDS, LEAST_SHARE_OF_RUNTIME * runtime)
    if rows.is_empty() or float(rows["seconds"].sum()) < least:
        return
    also = " and for accelerators" if (rows["kind"] == ACCELERATOR).any() else ""
    yield f"Threads waited {_by_kind(rows, 'seconds', f'for each other{also}, added up')}."
    yield from site_lines(sites, "time of these waits")
    most = _thread_rows(digest, "process").sort("main_seconds", "process", descending=(True, False)).row(0, named=True)
    if most["main_seconds"] < least:
        yield f"No process's first thread (main) waited long for others{also}."
        return
    own = _thread_rows(digest, "process", "kind").filter(process=most["process"])
    label = digest.processes.filter(process=most["process"])["label"].item()
    whose = f"of {label} (main)" if digest.processes.filter("is_of_job").height > 1 else "(main)"
    yield (
        f"The first thread {whose} waited {_by_kind(own, 'main_seconds', f'for others{also}')}, in a runtime of "
        f"{words.duration(runtime)}."
    )


def _by_kind(rows: pl.DataFrame, column: str, for_whom: str) -> str:
    """The sum of a column and what it is made of, or the one kind that it is made of."""
    total = float(rows[column].sum())
    worth = rows.filter(pl.col(column) >= LEAST_SHARE_OF_RUNTIME * total).sort(column, descending=True)
    kinds = [f"{words.duration(row[column])} {WAITS_FOR[row['kind']]}" for row in worth.iter_rows(named=True)]
    return kinds[0] if len(kinds) == 1 else f"{words.duration(total)} {for_whom}: {words.listing(kinds)}"


def _thread_table(digest: Digest) -> Table:
    return columns.table(
        _thread_rows(digest, "kind").iter_rows(named=True),
        columns.text("waits", lambda row: WAITS_FOR[row["kind"]]),
        columns.count("processes", "processes", spare=1),
        columns.count("how often", "waits"),
        columns.duration("all threads", "seconds"),
        columns.duration("first threads", "main_seconds"),
    )
