"""Tables as Markdown has them, for pages that are made from recordings."""

from __future__ import annotations

from collections.abc import Sequence

from slicewise.report.tables import Table


def table(headings: list[str], rows: list[list[str]]) -> str:
    """A table, and an empty line."""
    return "\n".join(
        [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}", *(f"| {' | '.join(row)} |" for row in rows), ""]
    )


def of_report(shown: Table, without: Sequence[str] = ()) -> str:
    """A table of a report, without the columns of these headings, whose cells say their units."""
    kept = [place for place, column in enumerate(shown.columns) if column.heading not in without]
    headings = [safe(shown.columns[place].heading) for place in kept]
    return table(headings, [[safe(row[place].text) for place in kept] for row in shown.rows])


def safe(text: str) -> str:
    """Text as a cell may hold it."""
    return text.replace("|", "\\|")
