"""Measurements in a CSV file, with the columns that docs/size.md lists."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from slicewise.analysis.size.points import POINTS
from slicewise.errors import UserError
from slicewise.text.amounts import amount

NEEDED = ("size", "bandwidth", "latency")
WORDS = {
    "direction": ("read", "write"),
    "access": ("sequential", "random"),
    "sharing": ("file per process", "shared file"),
}
DEFAULTS = {"mount": "", "direction": "write", "access": "sequential", "sharing": "file per process", "beside": ""}
AMOUNTS = {"size": False, "block_size": False, "file_size": False, "bandwidth": True}
NUMBERS = ("latency", "latency_p99", "in_flight", "processes")
WHOLE = ("size", "block_size", "file_size", "processes")


def read_table(path: Path) -> pl.DataFrame:
    """The rows of a table as POINTS. Raises UserError with the line and the way out for what is no measurement."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader((line for line in file if not line.startswith("#")), strict=True)
            columns = _columns(path, reader.fieldnames or ())
            rows = [_row(path, place, row, columns) for place, row in enumerate(reader, start=2)]
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; give a CSV file to --table") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is no CSV file ({error}); give one with the columns {', '.join(NEEDED)}") from error
    if not rows:
        raise UserError(f"{path}: has no rows; give a table with a row a run")
    return pl.DataFrame(rows, schema=POINTS)


def write_table(points: pl.DataFrame, path: Path, remarks: Iterable[str] = ()) -> None:
    """Write POINTS as a table that `read_table` reads. remarks: lines that open it as comments."""
    try:
        head = "".join(f"# {line}\n" for line in remarks)
        path.write_text(head + points.write_csv(), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}; choose another directory") from error


def _columns(path: Path, named: Iterable[str]) -> dict[str, str]:
    """The table's own names of the columns, by ours."""
    columns = {name.strip().lower().replace(" ", "_"): name for name in named if name}
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        raise UserError(f"{path}: has no column {missing[0]}; a table needs {', '.join(NEEDED)}")
    unknown = sorted(set(columns) - set(POINTS))
    if unknown:
        raise UserError(f"{path}: column {unknown[0]} is not known; the columns are {', '.join(POINTS)}")
    return columns


def _row(path: Path, place: int, row: Mapping[str, str | None], columns: Mapping[str, str]) -> dict[str, object]:
    where = f"{path}: row {place}"
    if None in row or any(value is None for value in row.values()):
        raise UserError(f"{where}: has other columns than the head; give each row as many values")
    given = {ours: (row[theirs] or "").strip() for ours, theirs in columns.items()}
    found: dict[str, object] = {name: given.get(name) or default for name, default in DEFAULTS.items()}
    for name, allowed in WORDS.items():
        if found[name] not in allowed:
            raise UserError(f"{where}: {name} is {found[name]!r}; it must be {' or '.join(map(repr, allowed))}")
    values = {name: _value(where, name, given.get(name, "")) for name in (*AMOUNTS, *NUMBERS)}
    whole = {name: None if values[name] is None else round(values[name] or 0) for name in WHOLE}
    in_flight = values["in_flight"] or whole["processes"]
    return found | values | whole | {"run": given.get("run") or str(place), "in_flight": in_flight}


def _value(where: str, name: str, text: str) -> float | None:
    """A value above 0; None where there is none and none is needed."""
    if not text and name not in NEEDED:
        return None
    if name in AMOUNTS:
        value = amount(text, f"{where}: {name}", AMOUNTS[name])[0]
    else:
        try:
            value = float(text)
        except ValueError as error:
            raise UserError(f"{where}: {name} is {text!r}; give a number above 0") from error
    if not (math.isfinite(value) and value > 0):
        raise UserError(f"{where}: {name} is {text}; give a number above 0")
    return value
