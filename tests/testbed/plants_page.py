"""Writes docs/causes-measured.md: what the evidence says of the planted causes that `testbed.plants` recorded.

`python -m testbed.plants_page ARCHIVE PAGE`; `--pack PROFILES ARCHIVE` makes the archive. It holds the profiles' frames
nearly without compression of their own: what is alike in all of them is then packed once.
"""

from __future__ import annotations

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
from slicewise.analysis.nodes.causes import preferring
from slicewise.digest.describe import folded
from slicewise.report.delta.sweep_page import Panel
from slicewise.report.nodes.evidence import evidence_table, signal_name
from slicewise.text import words

from testbed import validation
from testbed.markdown import table
from testbed.plant_cases import CASES, SLICE_SECONDS, Case

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

TITLE = """# Planted causes

Two equal jobs compete on a testbed of network namespaces (`tests/testbed/plants.py`) in which one resource is made
the bottleneck, and all others are far from theirs. Is that resource what `slicewise delta` names first? Every figure
here is computed from the recorded profiles (`tests/golden/planted.tar.xz`), and CI computes them anew.
"""
CONDITIONS = f"""## Under which conditions?

- One machine with 2 cores; jobs, servers and links are namespaces of it. Each job writes on a node of its own, unless
  the table says that both are on one. Slices are {SLICE_SECONDS:g} s, a job alone takes 1 to 16 s, and each point
  was run once, those of `flow-pool` and `flow-pool-few-writers` twice: these are recordings for causes, not for times.
- Processor time is limited by a control group (quota), a device by a control group under a loop device, a link by
  `tc`'s token bucket. Pressure is that of each node's own control group. Where no device is planted, no disk is seen.
- A collector samples the servers as well (`slicewise-collect node --samples`). Without that, a server's processors and
  devices cannot be named: what is left then is *server and flow control*.
- Six cases (`blind-`) are blind: they were written down and committed when all limits stood, and recorded then. That
  what is at its limit alone counts so together from 90 % of the limit on was added after all recordings, for a link
  of a sweep; it changes no cause that is named first here.
- The others are not blind. The limit of a busy device (70 %, first 90 %) was set after `device-sshfs`, whose device was
  busy 81 to 83 % of the time and was missed, and before the other two devices. A limit on segments sent again was
  dropped, and incast put before the server's processors, after recordings were seen; the other limits are from before
  the cases that they decide. Some cases were recorded again, with other volumes or after they took too long, and a
  case of dropped segments was never completed: it is in no row.
- The machine had other work while the `flow-pool`, `flat-` and `blind-` cases were recorded: jobs took longer than
  their volume and limit explain, some by a third, and some of 16 writers began up to 4 s late. Offsets are measured.
- GlusterFS and sshfs alone, writes alone, two jobs, one cause at a time. What the evidence says where two causes are
  near their limits at once was not tried.
"""


FLOW_WORDS = """## Does who comes first win?

Jobs are the same, and flow control differs. All of it is sshfs, whose clients write back, so that what a job has under
way is what its connections' windows let through. An asymmetry of 0 is fair sharing, of 1 first come, first served;
without a figure, the jobs lost no time to each other. B begins before A, with it, and after it, by 2 to 4 s.
"""
SEEN = """- **A slow device and many connections**, as in Yildiz 2016 (`flow-pool`): a server with 8 threads, each of
  which keeps the connection that it has until that has been quiet for half a second (`--workers` of
  `tests/testbed/sftp.py`, a server made for this). The device is slow, so there always is more to read. Who comes
  first holds all threads, and the receive windows of the other job's connections stay closed. The device is named as
  what both compete for, and *server and flow control* as what may prefer who comes first.
- **It goes away with fewer writers a node** (`flow-pool-few-writers`): both jobs' connections have a thread then, and
  all else is the same. The same signals are at their limit, so that what may prefer somebody is told only where
  somebody is preferred.
- **It goes away with servers of one's own** (`flow-pool-servers`, two servers that both jobs use, and
  `flow-pool-partitioned`, one for each). A job alone then has half of the servers.
- **TCP alone does it the other way round, or by chance.** On sshfs a queue that is long, short, or never overflows gave
  0.49 at most, and not always to the first. A queue of some packets (`blind-incast-bricks`) gave more, to the second.
  Memory for TCP at the server that 32 connections exhaust (1 to 6 MiB, each tried once or twice and not kept) made
  them lose segments and wait for timers, 10 to 51/s; it slowed down both jobs, and gave 0.2 at most with what a job
  alone could live with, to the second.
"""
FLAT_WORDS = """## Is a flat graph a good sign?

No. Where each node's own port is the limit, jobs do not slow each other down, whatever the device behind the server is:
memory, a disk, or a slow one. `flat-not` is `flat-memory` without that limit, with more to write: jobs slow each other
down, and are many times as fast. It was first recorded with a slow device in place of memory: its small synced
writes got 5.0 MiB/s, the peak was 1.21, and flow control was named. That case shows nothing of the port, and is in no
row.
"""


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
                found.append(Found(name, case, *validation.read_delta(profiles / name)))
    return found


def page(found: list[Found]) -> str:
    """The page's text."""
    planted, flow, flat = (of_kind(found, kind) for kind in ("", FLOW, FLAT))
    blind = [one for one in planted if one.case.is_blind]
    right, right_blind = (sum(one.is_right for one in those) for those in (planted, blind))
    return folded(
        "\n".join(
            [
                TITLE,
                f"**{right} of {len(planted)}** planted causes are named first (aimed at are {AIM:.0%}); of the blind "
                f"cases {right_blind} of {len(blind)}.\n",
                CONDITIONS,
                "## Which cause is named first?\n",
                "*Alone* and *together* are the figures of the strongest signal; *next* is what is named after it.\n",
                _causes(planted),
                *([FLOW_WORDS, _flow(flow), SEEN] if flow else []),
                *([FLAT_WORDS, _flat(flat)] if flat else []),
                "## All evidence\n",
                *(f"### {one.name}\n\n{_evidence(one)}" for one in found),
            ]
        )
    )


def of_kind(found: list[Found], kind: str) -> list[Found]:
    """The cases whose names begin so; "": of planted causes, which are the others."""
    return [one for one in found if one.name.startswith(kind or "") and (kind or not one.name.startswith((FLOW, FLAT)))]


def _causes(found: list[Found]) -> str:
    rows = []
    for one in found:
        shown = evidence_table(one.evidence).rows[0]
        first = one.named[0] if one.named else "none"
        mark = first if one.is_right else f"**{first}**"
        figures = [getattr(cell, "text", cell) for cell in shown[1:4]]
        rows.append([one.name, one.case.cause, _conditions(one.case), mark, *figures, ", ".join(one.named[1:])])
    return table(["case", "planted", "how", "named first", "signal", "alone", "together", "next"], rows)


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
        f"a port of {case.queue[2].removesuffix('mbit')} Mbit/s, its queue {case.queue[6].upper()}"
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


def _flow(found: list[Found]) -> str:
    rows = []
    for one in found:
        levels = {row["signal"]: row["together"] for row in one.evidence.iter_rows(named=True)}
        rows.append(
            [
                one.name, _conditions(one.case), f"{max(one.graph.alone_seconds.values()):.1f}",
                "" if one.graph.asymmetry is None else f"{one.graph.asymmetry:.2f}",
                "" if one.graph.asymmetry is None else who_gains(one.graph.points),
                f"{max(one.graph.peak.values()):.2f}", f"{levels['tcp_zero_windows']:.1f}",
                f"{levels['tcp_timeouts']:.2f}",
                words.percent(levels["tcp_resent_share"]), one.named[0] if one.named else "none",
                preferring(one.evidence, one.graph.asymmetry) or "",
            ]
        )  # fmt: skip
    headings = [
        "case",
        "how",
        "alone, s",
        "asymmetry",
        "who gains",
        "peak",
        "closed windows/s",
        "timeouts/s",
        signal_name("resent share"),
        "named first",
        "may prefer",
    ]
    return table(headings, rows)


def _flat(found: list[Found]) -> str:
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
    return table(["case", "how", "alone, s", "alone, MiB/s", "peak", "named first"], rows)


def _evidence(one: Found) -> str:
    panel = Panel("", one.graph, one.evidence, pl.DataFrame(), SLICE_SECONDS)
    shown = one.evidence.filter((pl.col("together") > 0) | (pl.col("alone") > 0))
    told = table(
        ["cause", "signal", "alone", "together", "moved", "at its limit"],
        [[getattr(cell, "text", cell) for cell in row] for row in evidence_table(shown).rows],
    )
    return f"Named first: {panel.cause or 'none'}.\n\n{told}"


def main() -> None:
    """Writes the page, or packs the archive."""
    if sys.argv[1] == "--pack":
        pack(Path(sys.argv[2]), Path(sys.argv[3]))
        return
    Path(sys.argv[2]).write_text(page(read_all(Path(sys.argv[1]))), encoding="utf-8")


if __name__ == "__main__":
    main()
