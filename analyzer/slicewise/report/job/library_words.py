"""Where the time in I/O libraries (HDF5, netCDF, ...) went: sentences, a table and JSON."""

from collections.abc import Iterator

import polars as pl

from slicewise.constants import SECOND_NS
from slicewise.digest.digest import Digest
from slicewise.report import columns
from slicewise.report.tables import Table
from slicewise.text import words

NAMES = {"hdf5": "HDF5", "pnetcdf": "PnetCDF", "netcdf": "netCDF", "adios2": "ADIOS2"}
ON_HDF5 = "netcdf"  # what it spends in HDF5 or PnetCDF counts there as well
MOST_FUNCTIONS = 3
# Less than so many seconds, or than this share of the runtime, is no news.
LEAST_SECONDS, LEAST_SHARE_OF_RUNTIME = 0.1, 0.01
NOTE = (
    "The time in calls of a function, added up over threads and processes. Itself: what is left of it without calls "
    "on files and MPI, such as compressing, converting and waiting for the library's own lock. netCDF's time includes "
    "that of the HDF5 and PnetCDF calls that it makes. Slicewise does not see a library that is linked into the "
    "program statically, and calls that only put work off (H5Dwrite_async, ncmpi_iput_...)."
)


def library_rows(digest: Digest) -> pl.DataFrame:
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


def library_lines(digest: Digest, runtime: float) -> Iterator[str]:
    """A line for each library that took long enough: where its time went, in the mean over its processes."""
    rows = library_rows(digest)
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
            for row in of.head(MOST_FUNCTIONS).iter_rows(named=True)
            if row["seconds"] / processes >= LEAST_SHARE_OF_RUNTIME * total
        ]
        mean = f" (mean of {processes:,} processes)" if processes > 1 else ""
        mpi = f" {words.duration(in_mpi)} in MPI, waits for other ranks included," if in_mpi > 0 else ""
        itself = "netCDF and HDF5 themselves" if library == ON_HDF5 else f"{name} itself"
        yield (
            f"{name} took {words.duration(total)} of {words.duration(runtime)}{mean}: {words.listing(longest)}. "
            f"Of this, {words.duration(in_files)} passed in reads, writes and other calls on files,{mpi} and "
            f"{words.duration(own)} in {itself}."
        )


def library_table(digest: Digest) -> Table:
    """One row a function."""
    return columns.table(
        library_rows(digest).iter_rows(named=True),
        columns.text("library", lambda row: NAMES[row["library"]], spare=2),
        columns.text("function", lambda row: row["function"]),
        columns.count("processes", lambda row: row["processes"], spare=1),
        columns.count("calls", lambda row: row["calls"]),
        columns.duration("in calls", lambda row: row["seconds"]),
        columns.duration("on files", lambda row: row["file_seconds"]),
        columns.duration("in MPI", lambda row: row["mpi_seconds"]),
        columns.duration("itself", lambda row: row["own_seconds"]),
    )
