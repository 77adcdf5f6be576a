"""Jobs of which no process was profiled, and a node's collector sampled some: these make rows of `processes` without
counts, so that such a job is read like any other. Counts stay in node_processes and node_process_slices.
"""

from __future__ import annotations

import polars as pl

from slicewise.profile.plan import SOURCE, Want

# How a process ended that was seen from outside alone: nobody knows.
ENDING = "sampled"
NODES = Want("nodes", ("job", "host", "slice_ns"))
MEMBERS = Want(
    "node_processes", ("pid", "parent", "user", "program", "start_ns", "first_ns", "end_ns", "is_from_start")
)
KEYS = [SOURCE, "process"]


def stand_ins(nodes: pl.DataFrame, members: pl.DataFrame, profiled: pl.DataFrame) -> pl.DataFrame:
    """Rows of processes for jobs that have none: profile, process and what is known, one a sampled process. A process's
    id is that of the collector's run and its number there, added up. nodes, members: as NODES and MEMBERS say, of all
    sources. profiled: the sources' own processes, with `profile`.
    """
    runs = nodes.filter(pl.col("job") != "") if "job" in nodes.columns else nodes.clear()
    if runs.is_empty() or members.is_empty():
        return pl.DataFrame(schema={SOURCE: pl.UInt32, "process": pl.UInt64})
    return (
        members.join(profiled.select(SOURCE).unique(), on=SOURCE, how="anti")
        .join(runs, on=KEYS)
        .sort(*KEYS, "number")
        .select(
            SOURCE,
            pl.col("process") + pl.col("number"),
            "job",
            "host",
            "program",
            "pid",
            "parent",
            "user",
            "slice_ns",
            "end_ns",
            start_ns=pl.when(pl.col("is_from_start") > 0).then("start_ns").otherwise("first_ns"),
            rank=pl.lit(-1, pl.Int64),
            ending=pl.lit(ENDING),
        )
    )


def with_stand_ins(processes: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """A frame of processes with the rows of `found`, in its own columns; what is not known is 0 or empty."""
    if found.is_empty():
        return processes
    columns = [
        pl.col(name).cast(dtype)
        if name in found.columns
        else pl.lit("" if dtype in (pl.String, pl.Categorical) else 0).cast(dtype).alias(name)
        for name, dtype in processes.schema.items()
    ]
    both = pl.concat([processes, found.select(columns)])
    return both.sort(SOURCE, maintain_order=True) if SOURCE in processes.columns else both
