"""What a profile says about itself: the tables, columns and names that its schema frame lists; no counter is named
here.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FORMAT_VERSION = 1
TYPES = ("U64", "I64", "STRING", "ENUM")
MERGES = ("KEY", "SUM", "MAX", "LAST")
MOST_BINS = 4096
# Of columns that every frame has besides those of its table.
RESERVED_NAMES = frozenset({"process", "profile"})


class BadSchema(ValueError):
    """A schema's text that is not what docs/format.md says."""


class UnsupportedFormat(ValueError):
    """A schema of a format that this version does not read; holds the format's number."""


@dataclass(frozen=True)
class PayloadColumn:
    """One column as the payloads number them: a column of bins is as many of these as it has bins."""

    name: str
    type: str
    unit: str
    merge: str
    meaning: str
    enumeration: str = ""
    bins: str = ""


@dataclass(frozen=True)
class PayloadTable:
    """A table: its columns in the order of the payload's presence bits, bins one by one."""

    name: str
    rows: str
    meaning: str
    columns: tuple[PayloadColumn, ...]

    @property
    def keys(self) -> list[str]:
        return [column.name for column in self.columns if column.merge == "KEY"]

    @functools.cached_property
    def places(self) -> dict[str, int]:
        return {column.name: place for place, column in enumerate(self.columns)}


@dataclass(frozen=True, eq=False)
class Schema:
    """A schema frame's content. enumerations: names in the order of their numbers; meanings: by enumeration and name;
    operations: each one's layer and kind; bin_edges: of every column of bins, the lower edge of each bin, in the
    column's unit.
    """

    writer: str
    tables: tuple[PayloadTable, ...]
    enumerations: dict[str, tuple[str, ...]]
    operations: dict[str, dict[str, str]]
    meanings: dict[str, dict[str, str]]
    bin_edges: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def table(self, name: str) -> PayloadTable:
        """The table of that name. Raises KeyError."""
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(name)


def parse_schema(text: bytes) -> Schema:
    """Read a schema frame's payload. Raises UnsupportedFormat or BadSchema."""
    try:
        parsed = json.loads(text)
        if parsed["format"] != FORMAT_VERSION:
            raise UnsupportedFormat(str(parsed["format"]))
        listed = parsed["enumerations"]
        enumerations = {name: tuple(str(entry["name"]) for entry in entries) for name, entries in listed.items()}
        tables = tuple(_table(table, enumerations) for table in parsed["tables"])
        return Schema(
            writer=str(parsed.get("writer", "")),
            tables=tables,
            enumerations=enumerations,
            operations={entry["name"]: entry for entry in listed.get("operations", ())},
            meanings={
                name: {entry["name"]: entry["meaning"] for entry in entries if "meaning" in entry}
                for name, entries in listed.items()
            },
            bin_edges={
                column["name"]: _edges(column)
                for table in parsed["tables"]
                for column in table["columns"]
                if "bins" in column
            },
        )
    except UnsupportedFormat:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadSchema(f"{type(error).__name__}: {error}") from error


def _table(table: Mapping[str, Any], enumerations: dict[str, tuple[str, ...]]) -> PayloadTable:
    if table["rows"] not in ("ADD", "LAST"):
        raise BadSchema(f"rows of {table['name']}: {table['rows']}")
    columns = tuple(part for column in table["columns"] for part in _columns(column, enumerations))
    names = {column.name for column in columns}
    if len(names) != len(columns) or names & RESERVED_NAMES:
        raise BadSchema(f"a column of {table['name']} is listed twice")
    if any(column.merge == "KEY" and column.type == "STRING" for column in columns):
        raise BadSchema(f"a key of {table['name']} is a string")
    return PayloadTable(str(table["name"]), table["rows"], str(table.get("meaning", "")), columns)


def _columns(column: Mapping[str, Any], enumerations: dict[str, tuple[str, ...]]) -> list[PayloadColumn]:
    name, kind, merge, enumeration = str(column["name"]), column["type"], column["merge"], column.get("enumeration", "")
    if kind not in TYPES or merge not in MERGES or (kind == "ENUM" and enumeration not in enumerations):
        raise BadSchema(f"column {name}")
    rest = (kind, str(column.get("unit", "")), merge, str(column.get("meaning", "")), enumeration)
    if "bins" not in column:
        return [PayloadColumn(name, *rest)]
    bins = column["bins"]
    if not isinstance(bins, int) or not 1 <= bins <= MOST_BINS or kind != "U64":
        raise BadSchema(f"bins of {name}")
    return [PayloadColumn(f"{name}_{number}", *rest, bins=name) for number in range(bins)]


def _edges(column: Mapping[str, Any]) -> tuple[int, ...]:
    """The lower edge of each bin; after the word `doubling` each edge is twice the one before it."""
    edges = [int(word) for word in column["edges"].split() if word != "doubling"]
    while len(edges) < column["bins"]:
        edges.append(2 * edges[-1])
    return tuple(edges[: column["bins"]])
