"""What the regions that a program marked took: sentences, a table and JSON."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from slicewise.analysis.job.regions import by_name, has_regions, in_slices, occurrences
from slicewise.digest.digest import Digest
from slicewise.report import columns
from slicewise.report.tables import Table
from slicewise.text import words

MOST_NAMES = 3
# A region with less than this share of the runtime is no news.
LEAST_OF_RUNTIME = 0.01
NOTE = (
    "Times, calls and bytes of each region include those of the regions within it, of its own thread alone, and are "
    "added up over processes. I/O: time in calls on files. Waiting: time in calls of MPI. Slowest: of a process, with "
    "the number of the occurrence."
)


def region_lines(digest: Digest, runtime: float) -> Iterator[str]:
    """A sentence for each region that took long enough."""
    found = by_name(digest) if has_regions(digest) else pl.DataFrame()
    for row in found.head(MOST_NAMES).iter_rows(named=True):
        processes = row["processes"]
        took, in_io, in_mpi = (row[name] / processes for name in ("seconds", "io_seconds", "mpi_seconds"))
        if took < LEAST_OF_RUNTIME * runtime:
            continue
        mean = f" (mean of {processes:,} processes)" if processes > 1 else ""
        mpi = f" and {words.duration(in_mpi)} in MPI" if in_mpi > 0 else ""
        which = "" if row["slowest"] is None else f" (number {row['slowest']:,})"
        longest = (
            f"; the slowest took {words.duration(row['slowest_seconds'])}{which}" if row["occurrences"] > 1 else ""
        )
        yield (
            f"Region {row['region']}: {words.count(row['occurrences'], 'time')}, {words.duration(took)}{mean}, "
            f"of this {words.duration(in_io)} in I/O calls{mpi}{longest}."
        )


def regions_table(digest: Digest) -> Table:
    """One row a name."""
    rows = by_name(digest).iter_rows(named=True) if has_regions(digest) else ()
    return columns.table(
        rows,
        columns.text("region", lambda row: row["region"]),
        columns.count("times", lambda row: row["occurrences"]),
        columns.count("processes", lambda row: row["processes"], spare=1),
        columns.duration("in it", lambda row: row["seconds"]),
        columns.duration("I/O", lambda row: row["io_seconds"]),
        columns.duration("waiting", lambda row: row["mpi_seconds"]),
        columns.size("read", lambda row: row["read_bytes"]),
        columns.size("written", lambda row: row["write_bytes"]),
        columns.count("calls", lambda row: row["calls"]),
        columns.duration("slowest", lambda row: row["slowest_seconds"]),
        columns.text("number", lambda row: "" if row["slowest"] is None else f"{row['slowest']:,}", spare=2),
    )


def regions_record(digest: Digest) -> dict[str, Any]:
    """The key `regions` of JSON output, see docs/commands.md."""
    if not has_regions(digest):
        return {"names": [], "occurrences": [], "slices": []}
    of_slices = in_slices(digest, digest.slice_ns).group_by("region", "slice").agg(pl.exclude("occurrence").sum())
    return {
        "names": by_name(digest).to_dicts(),
        "occurrences": occurrences(digest).to_dicts(),
        "slices": of_slices.sort("slice", "region").to_dicts(),
    }
