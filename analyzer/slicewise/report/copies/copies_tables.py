"""The table of copies, the same for the terminal and for the page."""

from __future__ import annotations

from slicewise.analysis.copies.copies import Copies
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words

# A longer table shows its last rows.
MOST_ROWS = 12


def copies_table(found: Copies, most_rows: int | None = None) -> Table:
    """A row a number of copies, up to what is allowed and a bit beyond."""
    table = Table(
        [
            Column("copies"),
            Column("each loses", "%"),
            Column("interval", "%", is_figure=False),
            Column("in step", "%"),
            Column("each gets", "MiB/s"),
            Column("", is_figure=False),
        ]
    )
    rows = found.rows[-most_rows:] if most_rows else found.rows
    for row in rows:
        table.add(
            Cell(f"{row.copies:,}", row.copies),
            Cell(words.percent(row.loss.value), row.loss.value * 100),
            words.interval_of_percents(row.loss),
            Cell(words.percent(row.in_step), row.in_step * 100),
            Cell(words.rate(row.rate), row.rate / words.MIB),
            "the most" if row.copies == found.most else "",
        )
    return table
