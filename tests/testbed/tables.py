"""Tables of recordings as data: a section, columns, and rows of text."""

from collections.abc import Sequence
from typing import TypedDict

from slicewise.report import tables


class Table(TypedDict):
    """A table as JSON has it."""

    section: str
    columns: list[str]
    rows: list[list[str]]


def table(section: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table of these rows."""
    return {"section": section, "columns": list(columns), "rows": [list(row) for row in rows]}


def of_report(section: str, shown: tables.Table, without: Sequence[str] = ()) -> Table:
    """A table of a report, without the columns of these headings."""
    kept = [place for place, column in enumerate(shown.columns) if column.heading not in without]
    return table(
        section,
        [shown.columns[place].heading for place in kept],
        [[row[place].text for place in kept] for row in shown.rows],
    )
