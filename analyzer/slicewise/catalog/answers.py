"""Answers about a catalog's jobs that took long to find: kept beside its batches, and good while these stay the same.

They lie in CATALOG/.answers, a Parquet file each. Whoever may not write there finds them anew each time; they are never
what a figure is made of alone, and may be removed at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import polars as pl

import slicewise
from slicewise.catalog.store import Catalog, write_frame

ANSWERS = ".answers"


class Answers:
    """What is kept about a catalog as it is now."""

    def __init__(self, catalog: Catalog) -> None:
        names = "\0".join(place.name for place in catalog.state())
        self._state = hashlib.blake2b((_program() + names).encode(), digest_size=8).hexdigest()
        self._directory = catalog.path / ANSWERS

    def read(self, name: str) -> pl.DataFrame | None:
        """The answer of that name; None where none is kept, or the catalog's jobs or the program are others by now."""
        try:
            return pl.read_parquet(self._file(name), hive_partitioning=False)
        except (OSError, pl.exceptions.PolarsError):
            return None

    def keep(self, name: str, frame: pl.DataFrame) -> None:
        """Keep an answer in place of an earlier one of that name, where that is allowed and there is room."""
        file = self._file(name)
        aside = self._directory / f".{os.getpid()}-{file.name}"
        with contextlib.suppress(OSError):
            self._directory.mkdir(exist_ok=True, mode=0o700)
            write_frame(frame, aside)
            aside.replace(file)
            for other in self._directory.iterdir():
                if not other.name.endswith(f"-{self._state}.parquet"):
                    other.unlink(missing_ok=True)

    def known(self, name: str, find: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """The answer of that name, found if it is not kept."""
        kept = self.read(name)
        if kept is None:
            kept = find()
            self.keep(name, kept)
        return kept

    def _file(self, name: str) -> Path:
        return self._directory / f"{name}-{self._state}.parquet"


@cache
def _program() -> str:
    """Another text for each version of this program: another one may give other answers."""
    found = hashlib.blake2b(pl.__version__.encode(), digest_size=8)
    root = Path(slicewise.__file__).parent
    for folder in ("analysis", "catalog", "digest"):
        for file in sorted((root / folder).rglob("*.py")):
            found.update(file.read_bytes())
    return found.hexdigest()
