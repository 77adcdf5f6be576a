"""What accelerators did for a job: a sentence, a table and JSON."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from slicewise.constants import SECOND_NS
from slicewise.digest.digest import Digest
from slicewise.digest.schema import FRAMES
from slicewise.report import columns
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
# Less than so many seconds, or than this share of the runtime, is no news.
LEAST_SECONDS, LEAST_SHARE_OF_RUNTIME = 0.1, 0.01
NOTE = (
    "By the profiling interfaces of CUDA and HIP, by their own clocks. Times of what ran at the same time add up. What "
    "the job waited for it is among the waits of threads. Slicewise was tried with stand-ins for these interfaces, and "
    "not with a real accelerator."
)


def accelerator_rows(digest: Digest, *keys: str) -> pl.DataFrame:
    """By `keys` (kind, slice), the longest first: times, processes, seconds, bytes. None of a job of which this is not
    known.
    """
    known = "accelerated" not in digest.not_kept
    work = digest.accelerated if known else pl.DataFrame(schema=FRAMES["accelerated"].polars_schema)
    of_job = digest.processes.filter("is_of_job").select("process")
    return (
        work.join(of_job, on="process", how="semi")
        .group_by(*keys)
        .agg(
            pl.col("times").sum(),
            processes=pl.col("process").n_unique(),
            seconds=pl.col("ns").sum() / SECOND_NS,
            bytes=pl.col("bytes").sum(),
        )
        .sort("seconds", *keys, descending=(True, *(False for _ in keys)))
    )


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
        columns.count("processes", lambda row: row["processes"], spare=1),
        columns.count("how often", lambda row: row["times"]),
        columns.duration("time", lambda row: row["seconds"]),
        columns.size("bytes", lambda row: row["bytes"]),
    )
    return [("Accelerators", table, NOTE)]


def accelerator_record(digest: Digest) -> dict[str, list[dict[str, Any]]]:
    return {
        "kinds": accelerator_rows(digest, "kind").to_dicts(),
        "slices": accelerator_rows(digest, "slice", "kind").sort("slice", "kind").to_dicts(),
    }
