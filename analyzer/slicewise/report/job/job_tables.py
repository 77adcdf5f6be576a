"""The tables of one job, the same for the terminal and for the page."""

from __future__ import annotations

import polars as pl

from slicewise.analysis.job.totals import Summary
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words


def mounts_table(summary: Summary) -> Table:
    """One row a file system that the job did I/O on."""
    table = Table(
        [
            Column("file system", is_figure=False),
            Column("type", is_figure=False, spare=3),
            Column("source", is_figure=False, spare=5),
            Column("processes", spare=4),
            Column("written", "bytes"),
            Column("in writes", "s"),
            Column("read", "bytes"),
            Column("in reads", "s"),
            Column("metadata calls", spare=1),
            Column("in metadata", "s", spare=2),
        ]
    )
    for mount in summary.mounts:
        table.add(
            mount["point"],
            mount["type"],
            mount["source"],
            _count(mount["processes"]),
            _size(mount["write_bytes"]),
            _duration(mount["write_seconds"]),
            _size(mount["read_bytes"]),
            _duration(mount["read_seconds"]),
            _count(mount["meta_ops"]),
            _duration(mount["meta_seconds"]),
        )
    return table


def files_table(files: pl.DataFrame) -> Table:
    """One row a file: path, processes, opens, read_bytes, write_bytes, seconds, error_bytes.

    The last column says how much a file moved at most, where that is more than what is known by half a percent.
    """
    table = Table(
        [
            Column("file", is_figure=False),
            Column("processes"),
            Column("opens"),
            Column("written", "bytes"),
            Column("read", "bytes"),
            Column("in reads and writes", "s"),
            Column("written and read, at most", "bytes"),
        ]
    )
    for row in files.iter_rows(named=True):
        table.add(
            row["path"] or "(all other files)",
            _count(row["processes"]),
            _count(row["opens"]),
            _size(row["write_bytes"]),
            _size(row["read_bytes"]),
            _duration(row["seconds"]),
            _size_at_most(row["read_bytes"] + row["write_bytes"], row["error_bytes"]),
        )
    return table


def _size_at_most(known: int, error: int) -> Cell | str:
    """What is known and may be missing, where that matters."""
    return _size(known + error) if error > known / 200 else ""


def calls_table(summary: Summary) -> Table:
    """One row a function that was called, the most called first."""
    table = Table([Column("function", is_figure=False), Column("calls")])
    for operation, calls in summary.calls.items():
        table.add(operation, _count(calls))
    return table


def _count(value: int) -> Cell:
    return Cell(f"{value:,}", value)


def _size(value: int) -> Cell:
    return Cell(words.size(value), value)


def _duration(seconds: float) -> Cell:
    return Cell(words.duration(seconds), float(seconds))
