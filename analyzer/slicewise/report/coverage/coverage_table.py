"""What was seen of each process, as a table: the same on every page."""

from __future__ import annotations

from pathlib import Path

from slicewise.analysis.coverage import Coverage
from slicewise.report.coverage.coverage_words import CAUSES
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


def _share(share: float | None) -> Cell:
    return Cell("-", "") if share is None else Cell(words.percent(share, 2), share * 100)
