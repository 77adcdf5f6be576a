"""Tables of recordings as data: a section, columns, and rows of text."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar

from slicewise.report import tables

T = TypeVar("T")


class Table(TypedDict):
    """A table as JSON has it."""

    section: str
    columns: list[str]
    rows: list[list[str]]


def table(section: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table of these rows."""
    return {"section": section, "columns": list(columns), "rows": [list(map(_cell, row)) for row in rows]}


def listed(section: str, items: Iterable[T], columns: Mapping[str, Callable[[T], Any]]) -> Table:
    """A table with a row for each of `items`."""
    return table(section, [*columns], ([of(one) for of in columns.values()] for one in items))


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def of_report(section: str, shown: tables.Table, without: Sequence[str] = ()) -> Table:
    """A table of a report, without the columns of these headings."""
    kept = [place for place, column in enumerate(shown.columns) if column.heading not in without]
    return table(
        section,
        [shown.columns[place].heading for place in kept],
        [[row[place].text for place in kept] for row in shown.rows],
    )
