"""Write a profile in another tool's format."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from slicewise.analysis.job.hardware import hardware
from slicewise.analysis.job.sites import sites
from slicewise.catalog.sources import profile_place, read_digest
from slicewise.errors import UserError
from slicewise.export import ftio, perfetto, tables
from slicewise.export.folded import folded_text
from slicewise.export.table_names import TABLES
from slicewise.kinds import Cost
from slicewise.profile.reader import read_profile


class Format(str, Enum):
    """What `--format` takes."""

    FTIO = "ftio"
    PERFETTO = "perfetto"
    FOLDED = "folded"
    CSV = "csv"
    PARQUET = "parquet"


IS_BINARY = (Format.PERFETTO, Format.PARQUET)


def export(
    profile: Annotated[Path, typer.Argument(metavar="PROFILE", help="A job's directory, or one of its .swz files.")],
    format: Annotated[Format, typer.Option(help="ftio: FTIO's JSON. folded: call sites, for flame graphs.")],
    table: Annotated[str, typer.Option(help=f"csv, parquet: which table: {', '.join(TABLES)}.")] = "slices",
    cost: Annotated[Cost, typer.Option(help="folded: what a stack costs.")] = "time",
    symbols: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Where programs or their debug information are; may be repeated."),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write it.")] = None,
) -> None:
    """Write a profile in another format: FTIO's JSON, a Perfetto trace, folded stacks, CSV or Parquet.

    Example: slicewise export slicewise/48213 --format perfetto -o 48213.pftrace
    """
    if table not in TABLES:
        raise UserError(f"--table {table}: no such table; choose one of {', '.join(TABLES)}")
    if output is None and format in IS_BINARY and sys.stdout.isatty():
        raise UserError(f"--format {format}: is not text for a terminal; name a file with -o FILE")
    pieces = iter(_pieces(profile, format, table, cost, symbols or []))
    first = next(pieces, b"")  # what cannot be read is told before a file is made
    try:
        with nullcontext(sys.stdout.buffer) if output is None else output.open("wb") as file:
            file.write(first)
            file.writelines(pieces)
    except OSError as error:
        if output is None:
            raise
        raise UserError(f"{output}: cannot be written: {error.strerror}; give another file to -o") from error


def _pieces(path: Path, format: Format, table: str, cost: Cost, symbols: Sequence[Path]) -> Iterable[bytes]:
    """What is written, piece by piece; no more is read than that needs."""
    match format:
        case Format.FTIO:
            return [ftio.ftio_json(read_digest(path)).encode()]
        case Format.PERFETTO:
            digest = read_digest(path, needs_axis=False)
            return perfetto.perfetto_trace(digest, hardware(digest), sites(digest, symbols))
        case Format.FOLDED:
            digest = read_digest(path, in_sum=True, needs_axis=False)
            return [folded_text(sites(digest, symbols), cost).encode()]
    profile = read_profile(profile_place(path), bins=True, needs_axis=False, tables=TABLES[table])
    found = tables.table(profile, table)
    return [tables.csv(found) if format is Format.CSV else tables.parquet(found, profile, table)]
