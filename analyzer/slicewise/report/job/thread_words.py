"""What threads of a process waited for each other: sentences, a table and JSON."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from slicewise.analysis.job.sites import Sites
from slicewise.constants import SECOND_NS
from slicewise.digest.digest import Digest
from slicewise.digest.schema import FRAMES
from slicewise.report import columns
from slicewise.report.job.site_words import MOST_SITES, site_lines, sites_record
from slicewise.report.tables import Table
from slicewise.text import words

FOR = {
    "lock": "for locks",
    "condition": "for conditions (also idle workers of a pool)",
    "barrier": "at barriers",
    "join": "for the end of threads",
    "semaphore": "for semaphores (also Python's locks)",
    "idle": "as idle workers of OpenMP",
}
# Less than so many seconds, or than this share of the runtime, is no news.
LEAST_SECONDS, LEAST_SHARE_OF_RUNTIME = 0.1, 0.01
NOTE = (
    "The time of waits, added up over threads and processes. It is no time that the job lost: threads that wait let "
    "others run. The runtime holds what the first thread of a process (main) waits. A wait within a call of MPI counts "
    "as MPI. Slicewise does not see threads that wait by system calls of their own (GCC's OpenMP, Rust, Go)."
)


def thread_rows(digest: Digest, *keys: str) -> pl.DataFrame:
    """By `keys` (kind, process, slice), the longest first: waits, seconds of all threads, and main_seconds of these, of
    the processes' first threads. None of a job of which they are not known.
    """
    known = "thread_waits" not in digest.not_kept
    waits = digest.thread_waits if known else pl.DataFrame(schema=FRAMES["thread_waits"].polars_schema)
    of_job = digest.processes.filter("is_of_job").select("process")
    return (
        waits.join(of_job, on="process", how="semi")
        .group_by(*keys)
        .agg(
            pl.col("waits").sum(),
            processes=pl.col("process").n_unique(),
            seconds=pl.col("ns").sum() / SECOND_NS,
            main_seconds=pl.col("main_ns").sum() / SECOND_NS,
        )
        .sort("seconds", *keys, descending=(True, *(False for _ in keys)))
    )


def thread_lines(digest: Digest, runtime: float, sites: Sites) -> Iterator[str]:
    """How long threads waited for each other, where most of it was (sites: of waits), and what of it the first thread
    of a process waited."""
    rows = thread_rows(digest, "kind")
    least = max(LEAST_SECONDS, LEAST_SHARE_OF_RUNTIME * runtime)
    if rows.is_empty() or float(rows["seconds"].sum()) < least:
        return
    yield f"Threads waited {_by_kind(rows, 'seconds', 'for each other, added up')}."
    yield from site_lines(sites, "time of these waits")
    most = thread_rows(digest, "process").sort("main_seconds", "process", descending=(True, False)).row(0, named=True)
    if most["main_seconds"] < least:
        yield "No process's first thread (main) waited long for others."
        return
    own = thread_rows(digest, "process", "kind").filter(process=most["process"])
    label = digest.processes.filter(process=most["process"])["label"].item()
    whose = f"of {label} (main)" if digest.processes.filter("is_of_job").height > 1 else "(main)"
    yield (
        f"The first thread {whose} waited {_by_kind(own, 'main_seconds', 'for others')}, in a runtime of "
        f"{words.duration(runtime)}."
    )


def _by_kind(rows: pl.DataFrame, column: str, for_whom: str) -> str:
    """The sum of a column and what it is made of, or the one kind that it is made of."""
    total = float(rows[column].sum())
    worth = rows.filter(pl.col(column) >= LEAST_SHARE_OF_RUNTIME * total).sort(column, descending=True)
    kinds = [f"{words.duration(row[column])} {FOR[row['kind']]}" for row in worth.iter_rows(named=True)]
    return kinds[0] if len(kinds) == 1 else f"{words.duration(total)} {for_whom}: {words.listing(kinds)}"


def thread_table(digest: Digest) -> Table:
    """One row a kind of waits."""
    return columns.table(
        thread_rows(digest, "kind").iter_rows(named=True),
        columns.text("waits", lambda row: FOR[row["kind"]]),
        columns.count("processes", lambda row: row["processes"], spare=1),
        columns.count("how often", lambda row: row["waits"]),
        columns.duration("all threads", lambda row: row["seconds"]),
        columns.duration("first threads", lambda row: row["main_seconds"]),
    )


def thread_record(digest: Digest, sites: Sites) -> dict[str, list[dict[str, Any]]]:
    return {
        "sites": sites_record(sites)[:MOST_SITES],
        "kinds": thread_rows(digest, "kind").to_dicts(),
        "slices": thread_rows(digest, "slice", "kind").sort("slice", "kind").to_dicts(),
    }
