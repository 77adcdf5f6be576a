"""Write a profile in another tool's format."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from slicewise.analysis.job.hardware import hardware
from slicewise.analysis.job.sites import Cost, sites
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.export import ftio, perfetto, tables
from slicewise.export.folded import folded_text
from slicewise.profile.reader import Profile, read_profile


class Format(StrEnum):
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
    table: Annotated[str, typer.Option(help=f"csv, parquet: which table: {', '.join(tables.TABLES)}.")] = "slices",
    cost: Annotated[Cost, typer.Option(help="folded: what a stack costs.")] = "time",
    symbols: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Where programs or their debug information are; may be repeated."),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write it.")] = None,
) -> None:
    """Write a profile in another tool's format: FTIO's JSON, a Perfetto trace, folded stacks, CSV or Parquet."""
    if table not in tables.TABLES:
        raise UserError(f"--table {table}: no such table; choose one of {', '.join(tables.TABLES)}")
    if output is None and format in IS_BINARY and sys.stdout.isatty():
        raise UserError(f"--format {format}: is not text for a terminal; name a file with -o FILE")
    read = read_profile(profile, bins=format in (Format.CSV, Format.PARQUET), needs_axis=format is Format.FTIO)
    content = _content(read, format, table, cost, symbols or [])
    try:
        if output is None:
            sys.stdout.buffer.write(content)
        else:
            output.write_bytes(content)
    except OSError as error:
        if output is None:
            raise
        raise UserError(f"{output}: cannot be written: {error.strerror}; give another file to -o") from error


def _content(profile: Profile, format: Format, table: str, cost: Cost, symbols: list[Path]) -> bytes:
    digest = Digest(profile)
    match format:
        case Format.FTIO:
            return ftio.ftio_json(digest).encode()
        case Format.PERFETTO:
            return perfetto.perfetto_trace(digest, hardware(digest), sites(digest, symbols))
        case Format.FOLDED:
            return folded_text(sites(digest, symbols), cost).encode()
        case Format.CSV:
            return tables.csv(tables.table(profile, table))
        case Format.PARQUET:
            return tables.parquet(tables.table(profile, table), profile, table)
