"""What accelerators did for a job: a sentence, a table and JSON."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from slicewise.digest.digest import Digest
from slicewise.report import columns
from slicewise.report.job.beside_words import LEAST_SECONDS, LEAST_SHARE_OF_RUNTIME, longest_first
from slicewise.report.tables import Table
from slicewise.text import words

KERNEL = "kernel"
# Kinds that move bytes, and what they do with these.
MOVED = {
    "to_device": "copied {} to them",
    "from_device": "copied {} from them",
    "on_device": "copied {} within and between them",
    "fill": "filled {}",
}
NOTE = (
    "By the profiling interfaces of CUDA and HIP, by their own clocks. Times of what ran at the same time add up. What "
    "the job waited for it is among the waits of threads. Slicewise was tried with stand-ins for these interfaces, and "
    "not with a real accelerator."
)


def accelerator_rows(digest: Digest, *keys: str) -> pl.DataFrame:
    """By `keys` (kind, slice), the longest first: times, processes, seconds, bytes. None of a job of which this is not
    known.
    """
    return longest_first(digest, "accelerated", keys, pl.col("times").sum(), bytes=pl.col("bytes").sum())


def accelerator_lines(digest: Digest, runtime: float) -> Iterator[str]:
    """How long accelerators ran kernels, and what was copied to and from them."""
    rows = accelerator_rows(digest, "kind")
    if float(rows["seconds"].sum()) < max(LEAST_SECONDS, LEAST_SHARE_OF_RUNTIME * runtime):
        return
    parts = [
        f"ran kernels for {words.duration(row['seconds'])}"
        if row["kind"] == KERNEL
        else f"{MOVED[row['kind']].format(words.size(row['bytes']))} in {words.duration(row['seconds'])}"
        for row in rows.iter_rows(named=True)
    ]
    yield f"Accelerators {words.listing(parts)}, added up; the runtime is {words.duration(runtime)}."


def accelerator_tables(digest: Digest) -> list[tuple[str, Table, str]]:
    """Heading, table and note, of a row a kind of work; without rows where a job has none."""
    table = columns.table(
        accelerator_rows(digest, "kind").iter_rows(named=True),
        columns.text("work", lambda row: "kernels" if row["kind"] == KERNEL else MOVED[row["kind"]].format("bytes")),
        columns.count("processes", "processes", spare=1),
        columns.count("how often", "times"),
        columns.duration("time", "seconds"),
        columns.size("bytes", "bytes"),
    )
    return [("Accelerators", table, NOTE)]


def accelerator_record(digest: Digest) -> dict[str, list[dict[str, Any]]]:
    return {
        "kinds": accelerator_rows(digest, "kind").to_dicts(),
        "slices": accelerator_rows(digest, "slice", "kind").sort("slice", "kind").to_dicts(),
    }
