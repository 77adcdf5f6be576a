"""Answers about a catalog's jobs that took long to find: kept beside its batches, and good while those that they are
about stay the same.

They lie in CATALOG/.answers, a Parquet file each behind its CRC-32. Whoever may not write there finds them anew each
time; they are never what a figure is made of alone, and may be removed at any time.
"""

import contextlib
import hashlib
import io
import os
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import polars as pl

import slicewise
from slicewise.catalog.store import Batch, Catalog

ANSWERS, SUFFIX = ".answers", ".answer"
CRC32_BYTES = 4
MOST_KEPT = 500


class Answers:
    """What is kept about some batches of a catalog as they are now, or about all of it."""

    def __init__(self, catalog: Catalog, batches: Sequence[Batch] | None = None, also: bytes = b"") -> None:
        """also: what else the answers are good for alone."""
        places = catalog.state() if batches is None else sorted(batch.place for batch in batches)
        names = "\0".join(f"{place.parent.name}/{place.name}" for place in places)
        self._state = hashlib.blake2b((_program() + names).encode() + also, digest_size=8).hexdigest()
        self._directory = catalog.path / ANSWERS

    def read(self, name: str) -> pl.DataFrame | None:
        """The answer of that name; None where none is kept, or the catalog's jobs or the program are others by now."""
        try:
            content = memoryview(self._file(name).read_bytes())
            if int.from_bytes(content[:CRC32_BYTES], "little") != zlib.crc32(content[CRC32_BYTES:]):
                return None
            return pl.read_parquet(io.BytesIO(content[CRC32_BYTES:]), hive_partitioning=False)
        except (OSError, pl.exceptions.PolarsError):
            return None

    def keep(self, name: str, frame: pl.DataFrame) -> None:
        """Keep an answer in place of an earlier one of that name, where that is allowed and there is room."""
        file = self._file(name)
        aside = self._directory / f".{os.getpid()}-{file.name}"
        with contextlib.suppress(OSError):
            self._directory.mkdir(exist_ok=True, mode=0o700)
            content = io.BytesIO()
            frame.write_parquet(content, compression="zstd")
            found = zlib.crc32(content.getbuffer())
            aside.write_bytes(found.to_bytes(CRC32_BYTES, "little") + content.getbuffer())
            aside.replace(file)
            # The last answer to each question is kept, and no more answers than MOST_KEPT: the newest.
            others = [other for other in self._directory.glob(f"{name}-*") if other != file]
            newest = sorted(self._directory.glob("[!.]*"), key=lambda one: one.stat().st_mtime_ns, reverse=True)
            for other in (*others, *newest[MOST_KEPT:]):
                other.unlink(missing_ok=True)

    def known(self, name: str, find: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        kept = self.read(name)
        if kept is None:
            kept = find()
            self.keep(name, kept)
        return kept

    def _file(self, name: str) -> Path:
        return self._directory / f"{name}-{self._state}{SUFFIX}"


@cache
def _program() -> str:
    """Another text for each version of this program: another one may give other answers."""
    found = hashlib.blake2b(pl.__version__.encode(), digest_size=8)
    root = Path(slicewise.__file__).parent
    for folder in ("analysis", "catalog", "digest"):
        for file in sorted((root / folder).rglob("*.py")):
            found.update(file.read_bytes())
    return found.hexdigest()
