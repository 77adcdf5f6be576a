"""Tables whose columns say how their cells are made of a row: heading, unit and cell stand together."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words

T = TypeVar("T")
Made = tuple[Column, Callable[[T], Cell | str]]


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


def text(heading: str, of: Callable[[T], Cell | str], unit: str = "", spare: int = 0) -> Made[T]:
    """What is read and not compared: set flush left."""
    return Column(heading, unit, is_figure=False, spare=spare), of


def figure(heading: str, of: Callable[[T], Cell | str], unit: str = "", spare: int = 0) -> Made[T]:
    """A figure that is said in a way of its own."""
    return Column(heading, unit, spare=spare), of


def known(
    heading: str, name: str, said: Callable[[Any], str], unit: str = "", none: str = "-", scale: float | None = None
) -> Made[Mapping[str, Any]]:
    """A figure by its key, as a function says it; where it is None, `none`. scale: of what is copied, in `unit`."""

    def cell(row: Mapping[str, Any]) -> Cell:
        value = row[name]
        return Cell(none) if value is None else Cell(said(value), value if scale is None else value * scale)

    return figure(heading, cell, unit)


def count(heading: str, of: Callable[[T], int], unit: str = "", spare: int = 0) -> Made[T]:
    return figure(heading, lambda row: Cell(f"{of(row):,}", of(row)), unit, spare)


def size(heading: str, of: Callable[[T], float], unit: str = "bytes", spare: int = 0) -> Made[T]:
    return figure(heading, lambda row: Cell(words.size(of(row)), of(row)), unit, spare)


def duration(heading: str, of: Callable[[T], float], unit: str = "s", spare: int = 0) -> Made[T]:
    """Seconds, said in the unit that fits."""
    return figure(heading, lambda row: Cell(words.duration(of(row)), of(row)), unit, spare)


def seconds(heading: str, of: Callable[[T], float], unit: str = "s", spare: int = 0) -> Made[T]:
    """Seconds, said in seconds."""
    return figure(heading, lambda row: Cell(words.seconds(of(row)), of(row)), unit, spare)


def number(heading: str, of: Callable[[T], float | None], unit: str = "", spare: int = 0) -> Made[T]:
    return figure(heading, lambda row: Cell(words.number(of(row)), of(row)), unit, spare)


def rate(heading: str, of: Callable[[T], float], unit: str = "MiB/s", spare: int = 0) -> Made[T]:
    """Bytes a second, copied in MiB/s."""
    return figure(heading, lambda row: Cell(words.rate(of(row)), of(row) / words.MIB), unit, spare)


def percent(heading: str, of: Callable[[T], float], unit: str = "%", spare: int = 0) -> Made[T]:
    """A fraction, said and copied in percent."""
    return figure(heading, lambda row: Cell(words.percent(of(row)), of(row) * 100), unit, spare)


def error(heading: str, of: Callable[[T], float], unit: str = "%", spare: int = 0) -> Made[T]:
    """A relative error or change, said and copied in percent."""
    return figure(heading, lambda row: Cell(words.signed_percent(of(row)), of(row) * 100), unit, spare)
