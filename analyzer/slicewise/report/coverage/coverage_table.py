"""What was seen of each process, as a table: the same on every page."""

from __future__ import annotations

from pathlib import Path

from slicewise.analysis.coverage import Coverage
from slicewise.report.coverage.coverage_words import CAUSES, REASONS
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words


def coverage_table(coverage: Coverage, most: int, title: str = "") -> Table:
    """One row a process, the least seen first: what the kernel counted, and what share of that was seen."""
    table = Table(
        [
            Column("process", is_figure=False),
            Column("program", is_figure=False),
            Column("written", "bytes"),
            Column("of that seen", "%"),
            Column("read", "bytes"),
            Column("of that seen", "%"),
            Column("likely cause of the rest", is_figure=False),
        ],
        title=title,
    )
    for row in coverage.by_process[:most]:
        table.add(
            row.process,
            Path(row.program).name,
            Cell(words.size(row.kernel_write_bytes), row.kernel_write_bytes),
            _share(row.write),
            Cell(words.size(row.kernel_read_bytes), row.kernel_read_bytes),
            _share(row.read),
            ", ".join(CAUSES[cause] for cause in row.causes),
        )
    return table


def sampled_table(coverage: Coverage, most: int, title: str = "") -> Table:
    """One row a process that a collector sampled since it could not be profiled, those that moved most first."""
    table = Table(
        [
            Column("process", is_figure=False),
            Column("program", is_figure=False),
            Column("why not profiled", is_figure=False),
            Column("from", is_figure=False),
            Column("to", is_figure=False),
            Column("written", "bytes"),
            Column("write calls"),
            Column("read", "bytes"),
            Column("read calls"),
            Column("most of it about", is_figure=False),
        ],
        title=title,
    )
    for row in coverage.sampled[:most]:
        counts = (
            Cell(words.size(row.write_bytes), row.write_bytes),
            Cell(f"{row.write_calls:,}", row.write_calls),
            Cell(words.size(row.read_bytes), row.read_bytes),
            Cell(f"{row.read_calls:,}", row.read_calls),
        )
        table.add(
            row.process,
            Path(row.program).name,
            REASONS.get(row.reason, row.reason),
            words.clock(row.begin_ns),
            words.clock(row.end_ns),
            *((Cell("refused", ""),) * len(counts) if row.is_refused else counts),
            "-" if row.busiest_ns is None else words.clock(row.busiest_ns),
        )
    return table


def _share(share: float | None) -> Cell:
    return Cell("-", "") if share is None else Cell(words.percent(share, 2), share * 100)
