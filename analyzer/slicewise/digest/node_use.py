"""What the processes of several jobs took of their nodes: no more is read of them.

Paths in, a frame out.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from slicewise.profile.plan import SOURCE, Want
from slicewise.profile.reading import read_jobs

WANTED = {
    "processes": Want("processes", ("host", "start_ns", "end_ns")),
    "usage": Want("usage", ("user_ns", "system_ns", "peak_bytes")),
}
NO_PROCESSES = pl.DataFrame(
    schema={"job": pl.String, "node": pl.String}
    | dict.fromkeys(("start_ns", "end_ns", "processor_ns", "peak_bytes"), pl.Int64)
)


def node_use(places: Sequence[Path]) -> pl.DataFrame:
    """A row for each process of the jobs at these places: job, node, start_ns, end_ns (0: it still runs, or
    nobody saw its end), processor_ns, peak_bytes.
    """
    if not places:
        return NO_PROCESSES
    reading = read_jobs(places, WANTED)
    names = pl.Series([source.path.name for source in reading.sources])
    processes, usage = (reading.tables[name] for name in WANTED)
    took = usage.group_by(SOURCE, "process").agg(
        pl.col("peak_bytes").max(), processor_ns=pl.col("user_ns").sum() + pl.col("system_ns").sum()
    )
    both = processes.join(took, on=[SOURCE, "process"], maintain_order="left")
    found = both.with_columns(names.gather(both[SOURCE]).alias("job")).rename({"host": "node"})
    return found.select(pl.col(name).cast(kind) for name, kind in NO_PROCESSES.schema.items())
