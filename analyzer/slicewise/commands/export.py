"""Write a profile in another tool's format."""

import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path

from slicewise.analysis.job.sites import sites
from slicewise.catalog.sources import profile_place, read_digest
from slicewise.errors import UserError
from slicewise.export import formats
from slicewise.export.table_names import TABLES
from slicewise.kinds import Cost, ExportFormat
from slicewise.profile.reader import read_profile


def export(
    profile: Path, format: ExportFormat, table: str, cost: Cost, symbols: list[Path], output: Path | None
) -> None:
    if output is None and format == "parquet" and sys.stdout.isatty():
        raise UserError(f"--format {format}: is not text for a terminal; name a file with -o FILE")
    pieces = iter(_pieces(profile, format, table, cost, symbols))
    first = next(pieces, b"")  # what cannot be read is told before a file is made
    try:
        with nullcontext(sys.stdout.buffer) if output is None else output.open("wb") as file:
            file.write(first)
            file.writelines(pieces)
    except OSError as error:
        if output is None:
            raise
        raise UserError(f"{output}: cannot be written: {error.strerror}; give another file to -o") from error


def _pieces(path: Path, format: ExportFormat, table: str, cost: Cost, symbols: Sequence[Path]) -> Iterable[bytes]:
    """What is written, piece by piece; no more is read than that needs."""
    match format:
        case "ftio":
            return [formats.ftio_json(read_digest(path)).encode()]
        case "folded":
            digest = read_digest(path, in_sum=True, needs_axis=False)
            return [formats.folded_text(sites(digest, symbols, has_all=True), cost).encode()]
    profile = read_profile(profile_place(path), bins=True, needs_axis=False, tables=TABLES[table])
    found = formats.table(profile, table)
    return [formats.csv(found) if format == "csv" else formats.parquet(found, profile, table)]
