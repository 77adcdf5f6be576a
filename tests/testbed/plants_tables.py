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
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import zstandard
from slicewise.analysis.delta import DeltaGraph, who_gains
from slicewise.analysis.nodes.causes import EVIDENCE, LEAST_ASYMMETRY, UNITS, preferring
from slicewise.digest.nodes import SHARE
from slicewise.report.nodes.evidence import evidence_table, signal_name
from slicewise.text import words

from testbed.plant_cases import CASES, Case
from testbed.recordings import read_delta
from testbed.tables import Table, of_report, table

# What a case's file system is, where it is no plain one.
CLIENTS = {
    "glusterfs-behind": "GlusterFS with write-behind",
    "sshfs-sync": "sshfs, each write answered before the next",
    "sshfs-pool": "sshfs to a server with few threads",
}
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
    """The thresholds, what is named first in each case, and all evidence."""
    return [
        _thresholds(), _causes(of_kind(found, "")), _flow(of_kind(found, FLOW)), _flat(of_kind(found, FLAT)),
        *map(_evidence, found),
    ]  # fmt: skip


def _thresholds() -> Table:
    rows = [
        [
            signal_name(name),
            sign.cause,
            f"{100 * sign.full:g} % of the time" if UNITS[name] == SHARE else f"{sign.full:g} a second",
        ]
        for name, sign in EVIDENCE.items()
        if sign.full is not None
    ]
    return table("thresholds", ["signal", "a sign of", "at its limit from"], rows)


def of_kind(found: list[Found], kind: str) -> list[Found]:
    """The cases whose names begin so; "": of planted causes, which are the others."""
    return [one for one in found if one.name.startswith(kind or "") and (kind or not one.name.startswith((FLOW, FLAT)))]


def _causes(found: list[Found]) -> Table:
    rows = []
    for one in found:
        shown = evidence_table(one.evidence).rows[0]
        first = one.named[0] if one.named else "none"
        mark = first if one.is_right else f"**{first}**"
        figures = [getattr(cell, "text", cell) for cell in shown[1:4]]
        rows.append([one.name, one.case.cause, _conditions(one.case), mark, *figures, ", ".join(one.named[1:])])
    return table("planted", ["case", "planted", "how", "named first", "signal", "alone", "together", "next"], rows)


def _conditions(case: Case) -> str:
    told = [
        "both jobs on one node" if case.nodes == 1 else "",
        CLIENTS.get(case.server, ""),
        words.count(case.servers, "server") if case.servers > 1 else "",
        f"{'each with a ' if case.servers > 1 else ''}device of {case.device_mib_s:g} MiB/s"
        if case.device_mib_s
        else "",
        f"servers have {case.server_processor:g} of a processor" if case.server_processor else "",
        f"the jobs' node has {case.client_processor:g} of a processor" if case.client_processor else "",
        f"the server's port of {case.queue[2].removesuffix('mbit')} Mbit/s, its queue {case.queue[6].upper()}"
        if case.queue
        else "",
        f"each node's own port of {case.client_queue[2].removesuffix('mbit')} Mbit/s" if case.client_queue else "",
        "disk as it is" if case.is_disk else "",
        f"{case.server_tcp_kib:,} KiB of memory for TCP" if case.server_tcp_kib else "",
        words.count(case.writers, "writer") + " a job",
        f"over {words.count(_connections(case), 'connection')}" if _connections(case) > 1 else "",
        "servers of its own for each job" if case.is_partitioned else "",
    ]
    return ", ".join(filter(None, told))


def _connections(case: Case) -> int:
    """Those of a job to its servers."""
    return case.points * case.bricks


def _flow(found: list[Found]) -> Table:
    rows = []
    for one in found:
        levels = {row["signal"]: row["together"] for row in one.evidence.iter_rows(named=True)}
        rows.append(
            [
                one.name, _conditions(one.case), f"{max(one.graph.alone_seconds.values()):.1f}",
                "" if one.graph.asymmetry is None else f"{one.graph.asymmetry:.2f}",
                _who_gains(one.graph),
                f"{max(one.graph.peak.values()):.2f}", f"{levels['tcp_zero_windows']:.1f}",
                f"{levels['tcp_timeouts']:.2f}",
                words.percent(levels["tcp_resent_share"]), one.named[0] if one.named else "none",
                preferring(one.evidence, one.graph.asymmetry) or "",
            ]
        )  # fmt: skip
    headings = [
        "case", "how", "alone, s", "asymmetry", "who gains", "peak", "closed windows/s", "timeouts/s",
        signal_name("resent share"), "named first", "may prefer",
    ]  # fmt: skip
    return table("who comes first", headings, rows)


def _who_gains(graph: DeltaGraph) -> str:
    if graph.asymmetry is None:
        return ""
    return "neither" if graph.asymmetry < LEAST_ASYMMETRY else who_gains(graph.points, graph.alone_seconds)


def _flat(found: list[Found]) -> Table:
    rows = []
    for one in found:
        alone = max(one.graph.alone_seconds.values())
        mib = one.case.mib * one.case.writers
        rows.append(
            [
                one.name, _conditions(one.case), f"{alone:.1f}", f"{mib / alone:.1f}",
                f"{max(one.graph.peak.values()):.2f}", one.named[0] if one.named else "none",
            ]
        )  # fmt: skip
    return table("flat", ["case", "how", "alone, s", "alone, MiB/s", "peak", "named first"], rows)


def _evidence(one: Found) -> Table:
    return of_report(one.name, evidence_table(one.evidence.filter(pl.col("moved") | pl.col("full"))))


def main() -> None:
    """Packs the archive."""
    if sys.argv[1] != "--pack":
        sys.exit("plants_tables: say --pack PROFILES ARCHIVE")
    pack(Path(sys.argv[2]), Path(sys.argv[3]))


if __name__ == "__main__":
    main()
