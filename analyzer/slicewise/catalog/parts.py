"""Jobs on their way into a catalog: read from profiles, in memory or in files aside, and put together to batches."""

import secrets
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from slicewise.catalog.schema import FRAMES, KEY, conform
from slicewise.catalog.store import ASIDE, BATCH_PREFIX, Batch, write_batch, write_frame
from slicewise.errors import UserError

PART_PREFIX = "part-"


@dataclass(frozen=True)
class JobsPart:
    """Jobs that were read together. jobs: their frame of that name, with the day of each; processes: key and process;
    records: rows of process_slices by key; damaged: keys. frames: all of it, or, if it lies aside, nothing; bytes: that
    these take in memory; place: where it lies.
    """

    jobs: pl.DataFrame
    processes: pl.DataFrame
    records: Mapping[int, int]
    damaged: frozenset[int]
    frames: Mapping[str, pl.DataFrame]
    bytes: int
    place: Path | None = None

    def frame(self, name: str) -> pl.DataFrame:
        return self.frames[name] if self.place is None else pl.read_parquet(self.place / f"{name}.parquet", glob=False)

    def names(self) -> list[str]:
        return list(self.frames) if self.place is None else sorted(file.stem for file in self.place.glob("*.parquet"))

    def remove(self) -> None:
        """Take its files away; those of somebody who was killed go when the catalog is next changed."""
        if self.place is not None:
            shutil.rmtree(self.place, ignore_errors=True)


def part_of(frames: Mapping[str, pl.DataFrame], catalog: Path | None) -> JobsPart:
    """Jobs' frames as a part. catalog: where the frames are to be put aside; None: they stay in memory."""
    place = None
    if catalog is not None:
        place = catalog / ASIDE / f"{PART_PREFIX}{secrets.token_hex(8)}"
        place.mkdir(parents=True)
        for name, frame in frames.items():
            write_frame(frame, place / f"{name}.parquet", compression="lz4", statistics=False)
    jobs = frames["jobs"]
    return JobsPart(
        jobs,
        frames["processes"].select(KEY, "process"),
        dict(jobs.select(KEY, "records").iter_rows()),
        frozenset(frames["damage"][KEY] if "damage" in frames else ()),
        frames if place is None else {},
        sum(int(frame.estimated_size()) for frame in frames.values()) if place is None else 0,
        place,
    )


@dataclass(frozen=True)
class Piece:
    """Jobs of one day: those of a part, or of a batch that is to go, with these keys; None: all of them."""

    source: JobsPart | Batch
    keys: Collection[int] | None = None

    def names(self) -> list[str]:
        if isinstance(self.source, JobsPart):
            return self.source.names()
        unknown = sorted(set(self.source.rows) - set(FRAMES))
        if unknown:
            raise UserError(
                f"{self.source.place}: has a table {unknown[0]} that this slicewise does not know and would lose; "
                "use the newer one that wrote it"
            )
        return list(self.source.rows)

    def frame(self, name: str) -> pl.DataFrame:
        frame = self.source.frame(name) if isinstance(self.source, JobsPart) else self.source.read(name)
        return frame if self.keys is None else frame.filter(pl.col(KEY).is_in(list(self.keys)))


def write_aside(catalog: Path, pieces: Sequence[Piece]) -> str:
    """Write a batch of some jobs of one day beside the catalog's days, and say under what name."""
    names = sorted({name for piece in pieces for name in piece.names()})
    frames = (
        (name, pl.concat([conform(name, piece.frame(name)) for piece in pieces if name in piece.names()]))
        for name in names
    )
    batch = f"{BATCH_PREFIX}{secrets.token_hex(8)}"
    write_batch(catalog / ASIDE / batch, frames)
    return batch
