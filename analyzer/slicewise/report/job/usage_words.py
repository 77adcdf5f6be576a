"""What the kernel counted of a job's processes: sentences where it tells something, and a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from slicewise.analysis.job.usage import Usage
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words

MOST_ROWS = 16
MANY_MAJOR_FAULTS = 100  # page faults that read from storage are worth a sentence from here on
NOTE = (
    "Counted by the kernel for each process (getrusage, and schedstat of its first thread: how long that was ready to "
    "run and waited for a processor). Processor given up: the process had to wait. Processor taken away: another "
    "thread got it, or the process offered it, as an MPI that spins does (sched_yield). Page faults that read: memory "
    "that came from storage; no call's time holds them."
)


def usage_lines(usage: Usage | None) -> Iterator[str]:
    """How many pages came from storage, which no call's time has."""
    if usage is None:
        return
    faults = int(usage.processes["major_faults"].sum())
    if faults >= MANY_MAJOR_FAULTS:
        who, most = usage.most("major_faults")
        yield f"{faults:,} page faults read memory from storage, in no call's time; {who} had most of them, {most:,}."


def usage_table(usage: Usage) -> Table:
    """One row a process, those with most processor time."""
    table = Table(
        [
            Column("process", is_figure=False),
            Column("processor, program", "s"),
            Column("processor, kernel", "s"),
            Column("of the runtime", spare=1),
            Column("waited for one", "s"),
            Column("peak memory", "bytes"),
            Column("page faults that read", spare=1),
            Column("other page faults", spare=3),
            Column("processor given up", spare=2),
            Column("processor taken away", spare=2),
        ]
    )
    for row in usage.processes.head(MOST_ROWS).iter_rows(named=True):
        busy = (row["user"] + row["system"]) / row["sampled"] if row["sampled"] > 0 else 0.0
        table.add(
            row["label"],
            Cell(words.duration(row["user"]), row["user"]),
            Cell(words.duration(row["system"]), row["system"]),
            Cell(words.percent(busy), busy),
            Cell("-" if row["delayed"] is None else words.duration(row["delayed"]), row["delayed"]),
            Cell(words.size(row["peak_bytes"]), row["peak_bytes"]),
            *(
                Cell(f"{row[name]:,}", row[name])
                for name in ("major_faults", "minor_faults", "voluntary_switches", "involuntary_switches")
            ),
        )
    if usage.processes.height > MOST_ROWS:
        table.add(f"and {usage.processes.height - MOST_ROWS:,} more", *("" for _ in table.columns[1:]))
    return table


def usage_record(usage: Usage | None) -> list[dict[str, Any]] | None:
    """The same of all processes as JSON."""
    return None if usage is None else usage.processes.drop("process").to_dicts()
