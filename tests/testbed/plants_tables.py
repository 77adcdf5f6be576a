"""What the evidence says of the planted causes that `testbed.plants` recorded, as tables.

`python -m testbed.plants_tables --pack PROFILES ARCHIVE` makes the archive. It holds the profiles' frames nearly
without compression of their own: what is alike in all of them is then packed once.
"""

import functools
import io
import shutil
import struct
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import zstandard
from slicewise.analysis.delta import DeltaGraph, who_gains
from slicewise.analysis.nodes.causes import LEAST_ASYMMETRY, preferring
from slicewise.report.nodes.evidence import evidence_table

from testbed.plant_cases import CASES, Case
from testbed.recordings import read_delta
from testbed.tables import Table, listed, of_report

ENVELOPE = struct.Struct("<II4sIQIIII")
FLOW = "flow-"
FLAT = "flat-"
AIM = 0.9


@dataclass(frozen=True)
class Found:
    """What was found in a case's profiles."""

    name: str
    case: Case
    graph: DeltaGraph
    evidence: pl.DataFrame

    @property
    def is_right(self) -> bool:
        """Whether the planted cause is named first."""
        return self.named[:1] == [self.case.cause]

    @property
    def named(self) -> list[str]:
        """Causes in the order in which they are named."""
        told = self.evidence.filter(pl.col("full") | pl.col("counts"))
        return told["cause"].unique(maintain_order=True).to_list()


def pack(profiles: Path, archive: Path) -> None:
    """Makes the archive of all cases."""
    with tarfile.open(archive, "w:xz", preset=9) as packed:
        for name in CASES:
            for file in sorted((profiles / name).glob("*/*.swz")):
                content = _nearly_plain(file.read_bytes())
                entry = tarfile.TarInfo(str(file.relative_to(profiles)))
                entry.size = len(content)
                packed.addfile(entry, io.BytesIO(content))


def _nearly_plain(profile: bytes) -> bytes:
    """The same frames, compressed so little that a packer sees what is alike in them."""
    codec = zstandard.ZstdCompressor(level=-(1 << 17), write_checksum=True, write_content_size=True)
    parts, at = [], 0
    while at < len(profile):
        fields = list(ENVELOPE.unpack_from(profile, at)[:8])
        begin = at + ENVELOPE.size
        at = begin + fields[5]
        frame = codec.compress(zstandard.ZstdDecompressor().decompress(profile[begin:at]))
        fields[5] = len(frame)
        head = ENVELOPE.pack(*fields, 0)[:-4]
        parts += [head, struct.pack("<I", zlib.crc32(head)), frame]
    return b"".join(parts)


@functools.cache
def read_all(archive: Path) -> list[Found]:
    """All cases of an archive, or of a directory of profiles."""
    with tempfile.TemporaryDirectory(prefix="slicewise-planted-") as folder:
        profiles = archive
        if archive.is_file():
            shutil.unpack_archive(archive, folder)
            profiles = Path(folder)
        found = []
        for name, case in CASES.items():
            if (profiles / name).is_dir():
                found.append(Found(name, case, *read_delta(profiles / name)))
    return found


def tables(found: list[Found]) -> list[Table]:
    """What is named first in each case, and all evidence."""
    return [listed("cases", found, CASE), *map(_evidence, found)]


def of_kind(found: list[Found], kind: str) -> list[Found]:
    """The cases whose names begin so; "": of planted causes, which are the others."""
    return [one for one in found if one.name.startswith(kind or "") and (kind or not one.name.startswith((FLOW, FLAT)))]


CASE: dict[str, Callable[[Found], Any]] = {
    "case": lambda one: one.name,
    "planted": lambda one: one.case.cause,
    "named": lambda one: ", ".join(one.named) or "none",
    "alone, s": lambda one: max(one.graph.alone_seconds.values()),
    "peak": lambda one: max(one.graph.peak.values()),
    "asymmetry": lambda one: one.graph.asymmetry,
    "who gains": lambda one: _who_gains(one.graph),
    "may prefer": lambda one: preferring(one.evidence, one.graph.asymmetry),
}


def _who_gains(graph: DeltaGraph) -> str:
    if graph.asymmetry is None:
        return ""
    return "neither" if graph.asymmetry < LEAST_ASYMMETRY else who_gains(graph.points, graph.alone_seconds)


def _evidence(one: Found) -> Table:
    return of_report(one.name, evidence_table(one.evidence.filter(pl.col("moved") | pl.col("full"))))


def main() -> None:
    """Packs the archive."""
    if sys.argv[1] != "--pack":
        sys.exit("plants_tables: say --pack PROFILES ARCHIVE")
    pack(Path(sys.argv[2]), Path(sys.argv[3]))


if __name__ == "__main__":
    main()
