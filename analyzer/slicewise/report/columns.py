"""Tables whose columns say how their cells are made of a row: heading, unit and cell stand together."""

import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words

T = TypeVar("T")
Made = tuple[Column, Callable[[T], Cell | str]]
# What a column says of a row: by a function, or by the key that the row has it under.
Text = Callable[[T], Cell | str] | str
Number = Callable[[T], float | None] | str


def table(
    rows: Iterable[T],
    *columns: Made[T],
    title: str = "",
    time: Callable[[T], tuple[int, int]] | None = None,
    more: int = 0,
    is_greyed: Callable[[T], bool] = lambda _: False,
) -> Table:
    """A table with a row for each of `rows`. time: from when to when a row is about (ns). more: how many rows are left
    out, said in the last one."""
    made = Table([column for column, _ in columns], title=title)
    for row in rows:
        made.add(*(cell(row) for _, cell in columns), time=time(row) if time else None, is_greyed=is_greyed(row))
    if more > 0:
        made.add(f"and {more:,} more", *[""] * (len(columns) - 1))
    return made


def text(heading: str, of: Text[T], unit: str = "", spare: int = 0) -> Made[T]:
    """What is read and not compared: set flush left."""
    return Column(heading, unit, is_figure=False, spare=spare), _function(of)


def figure(heading: str, of: Text[T], unit: str = "", spare: int = 0) -> Made[T]:
    """A figure that is said in a way of its own."""
    return Column(heading, unit, spare=spare), _function(of)


def _function(of: Callable[[T], Any] | str) -> Callable[[Any], Any]:
    return operator.itemgetter(of) if isinstance(of, str) else of


def said(
    heading: str,
    of: Number[T],
    how: Callable[[Any], str],
    unit: str = "",
    spare: int = 0,
    none: Cell | None = None,
    scale: float = 1,
) -> Made[T]:
    """A number as a function says it. none: the cell where it is None; else `how` says that. scale: of what is copied,
    in `unit`."""
    value_of = _function(of)

    def cell(row: T) -> Cell:
        value = value_of(row)
        if value is None:
            return none or Cell(how(None))
        return Cell(how(value), value * scale)

    return figure(heading, cell, unit, spare)


def count(heading: str, of: Number[T], unit: str = "", spare: int = 0, none: Cell | None = None) -> Made[T]:
    return said(heading, of, lambda value: f"{value:,}", unit, spare, none)


def size(heading: str, of: Number[T], unit: str = "bytes", spare: int = 0, none: Cell | None = None) -> Made[T]:
    return said(heading, of, words.size, unit, spare, none)


def duration(heading: str, of: Number[T], unit: str = "s", spare: int = 0, none: Cell | None = None) -> Made[T]:
    """Seconds, said in the unit that fits."""
    return said(heading, of, words.duration, unit, spare, none)


def seconds(heading: str, of: Number[T], unit: str = "s", spare: int = 0, none: Cell | None = None) -> Made[T]:
    """Seconds, said in seconds."""
    return said(heading, of, words.seconds, unit, spare, none)


def number(heading: str, of: Number[T], unit: str = "", spare: int = 0, none: Cell | None = None) -> Made[T]:
    return said(heading, of, words.number, unit, spare, none)


def rate(heading: str, of: Number[T], unit: str = "MiB/s", spare: int = 0, none: Cell | None = None) -> Made[T]:
    """Bytes a second, copied in MiB/s."""
    return said(heading, of, words.rate, unit, spare, none, 1 / words.MIB)


def percent(heading: str, of: Number[T], spare: int = 0, none: Cell | None = None, digits: int = 3) -> Made[T]:
    """A fraction, said and copied in percent."""
    return said(heading, of, lambda value: words.percent(value, digits), "%", spare, none, 100)


def error(heading: str, of: Number[T], spare: int = 0, none: Cell | None = None) -> Made[T]:
    """A relative error or change, said and copied in percent."""
    return said(heading, of, words.signed_percent, "%", spare, none, 100)
