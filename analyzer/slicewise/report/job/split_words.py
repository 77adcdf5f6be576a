"""Where a job's time went: sentences, and a table of its processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import polars as pl

from slicewise.analysis.job.split import Hold, Split
from slicewise.report.tables import Cell, Column, Table
from slicewise.scalars import real
from slicewise.text import words

MOST_HOLDS = 3
MOST_ROWS = 64
LEAST_SECONDS = 0.01
DOES = {"read": "reads", "write": "writes", "meta": "metadata calls", "sync": "syncs", "mpi_io": "MPI-IO"}
NOTE = (
    "Waiting: time in collectives and barriers beyond that of the process with least of it, slice by slice. "
    "Idle: time outside of calls for which the process had no processor, at least. MPI-IO: what its calls took beside "
    "the reads and writes within them."
)


def split_lines(split: Split | None) -> Iterator[str]:
    """How much of the runtime was computing, MPI and I/O, who held whom, and the efficiencies."""
    if split is None:
        return
    runtime = real(split.processes["runtime"].sum())
    if runtime <= 0:
        return
    shares = {name: real(split.processes[name].sum()) / runtime for name in ("computing", "idle", "mpi", "waiting")}
    io = real(split.processes.select(pl.sum_horizontal(*DOES).sum()).item()) / runtime
    waiting = words.percent(shares["waiting"])
    yield (
        f"Ranks computed for {words.percent(max(shares['computing'], 0))} of the runtime, were in MPI for "
        f"{words.percent(shares['mpi'])} (waiting for others in collectives: {waiting}), "
        f"in I/O for {words.percent(io)}, and idle for at least {words.percent(shares['idle'])}."
    )
    if split.has_threads:
        count = words.count(split.has_threads, "rank had", "ranks had")
        yield f"{count} several threads in calls at once: what these computed meanwhile is not known."
    yield from (_held(hold) for hold in split.holds[:MOST_HOLDS] if hold.seconds >= LEAST_SECONDS)
    efficiency = split.efficiency
    if efficiency.parallel is not None:
        yield (
            f"Parallel efficiency {words.percent(efficiency.parallel)}: "
            f"load balance {words.percent(efficiency.load_balance)}, "
            f"I/O efficiency {words.percent(efficiency.io)}, communication efficiency "
            f"{words.percent(efficiency.communication)} (as POP defines them: docs/models.md)."
        )


def _held(hold: Hold) -> str:
    others = words.count(hold.held, "other rank", "other ranks")
    return f"The {DOES[hold.kind]} of {hold.label} held {others} up for {words.duration(hold.seconds)}."


def split_table(split: Split) -> Table:
    """One row a rank; of many ranks the first ones."""
    table = Table(
        [
            Column("process", is_figure=False),
            Column("runtime", "s"),
            Column("computing", "s"),
            Column("idle, at least", "s", spare=2),
            Column("MPI", "s"),
            Column("of that waiting", "s"),
            Column("begin and end", "s", spare=3),
            Column("reads", "s", spare=1),
            Column("writes", "s", spare=1),
            Column("metadata", "s", spare=2),
            Column("syncs", "s", spare=2),
            Column("MPI-IO", "s", spare=1),
        ]
    )
    names = ("runtime", "computing", "idle", "mpi", "waiting", "begin_and_end", *DOES)
    for row in split.processes.head(MOST_ROWS).iter_rows(named=True):
        table.add(row["label"], *(_seconds(row[name]) for name in names))
    if split.processes.height > MOST_ROWS:
        table.add(f"and {split.processes.height - MOST_ROWS:,} more", *("" for _ in names))
    return table


def _seconds(seconds: float) -> Cell | str:
    return words.UNKNOWN if seconds < 0 else Cell(words.duration(seconds), seconds)


def split_record(split: Split | None) -> dict[str, Any] | None:
    """The same as JSON."""
    if split is None:
        return None
    return {
        "processes": split.processes.drop("process").to_dicts(),
        "holds": [asdict(hold) for hold in split.holds],
        "efficiency": asdict(split.efficiency),
    }
