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
from slicewise.analysis.nodes.causes import (
    EVIDENCE,
    EXPLAINING,
    LEAST_ASYMMETRY,
    LEAST_DEVIATIONS,
    LEAST_FACTOR,
    UNITS,
    preferring,
)
from slicewise.digest.describe import folded
from slicewise.digest.nodes import SHARE
from slicewise.report.delta.delta_page import SLOWED
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
# What signals with a threshold are, in words.
MEANINGS = {
    "cpu_stall": "some task of a job's node waited for a processor (the kernel's pressure)",
    "memory_stall": "some task of a job's node waited for memory (pressure)",
    "server_cpu_stall": "the same on a server, for a processor",
    "server_memory_stall": "the same on a server, for memory",
    "tcp_zero_windows": "a node's connections announced a window of 0, announced that it opened, or asked for that",
    "tcp_timeouts": "a sender's timer ran out before an answer came",
    "connection_window_limited": "the receiver's window kept a connection from sending (the kernel's TCP_INFO)",
    "connection_network_limited": "a connection had data under way, and room at the receiver (TCP_INFO)",
    "disk_busy": "a disk had a request to serve",
}
FLOW = "flow-"
FLAT = "flat-"
AIM = 0.9

TITLE = """# Planted causes

Does `slicewise delta` find the bottleneck that we planted? Two equal jobs compete on a testbed of network namespaces
(`tests/testbed/plants.py`). In each case one resource is made the bottleneck, and all others are far from their limits.
The case counts as found if `slicewise delta` names that resource first. All tables are computed from the recorded
profiles (`tests/golden/planted.tar.xz`), and CI computes them anew. Figures of runs that were not kept say so.
[models.md](models.md#evidence-for-causes-nodescausespy-yildiz-2016) has all rules.
"""
FOUND = """**{right} of {all}** planted causes are named first (the aim is {aim:.0%}). {right_blind} of the
{blind} blind cases are among them: these were recorded after all thresholds of `slicewise delta` had been set (one rule
came later). One of the others, `device-sshfs`, was missed until a threshold was lowered because of it: [under which
conditions?](#under-which-conditions)

**A cause is also named where jobs do not compete.** In {apart_count} more cases ({apart}) each job has a port or
servers of its own, and the jobs do not slow each other down: a job took less than {flat:g} times as long as alone. A
cause is named first in {apart_named} of them: {apart_causes}. It is what limits each job by itself.
`slicewise delta` says of such jobs that they do not compete for it. Each case here has some bottleneck. So nothing
shows how often a cause is named where nothing is at its limit.

- *What you need:* collectors on the file servers, too (`slicewise-collect node --samples`, in the same directory of
  profiles). Then `slicewise delta read DIR` names causes. Without these collectors Slicewise cannot name a server's
  device or its processors. It then says *server and flow control*.
- *How far to trust it:* these are planted causes on one machine, recorded once each. On your system the cause that is
  named first is where to look first, and no proof.

A *signal* is a figure of a node or of one of its devices, such as how busy a disk is. From its threshold on, a signal
says that a resource is at its limit:

{thresholds}
*Which cause is named first if several resources are at their limits?* The first of these: {order}. The order is fixed:
a cause that stands earlier in it explains those after it. For instance, a server that waits for its device closes
windows, and a queue that drops leaves senders waiting for the network. Causes of which no signal is at its limit
follow, by how far theirs moved.
"""
CAUSES_WORDS = """*Signal* is the strongest sign of the cause that is named first. *Alone* and *together* are its
figures when a job runs alone, and when both jobs run. They may be alike: a disk that is busy for 92 % of the time with
one job has no room for a second one. So each job takes longer, and the disk is as busy as before. *Next* is the cause
that is named second.

*Incast* means that many connections send to one port at once, and its short queue drops what does not fit. Senders then
wait for TCP's timers. Where the table names no file system, the case's name does (`blind-incast`: sshfs).
"""
EVIDENCE_WORDS = f"""Two things are evidence for a cause: one of its signals moved, or one is at its limit. In
{{unmoved}} of the {{planted}} planted cases no signal of the named cause moved: being at the limit decided. The tables
leave out all signals that neither moved nor are at their limit.

| column | meaning |
|---|---|
| alone, together | the signal's mean over the slices in which a job that is alone does I/O, and over those in which \
either of two jobs does. In each slice the node with the highest figure counts. So the figures of both jobs' nodes are \
not added up, and jobs may send more than a link or a device takes as long as memory takes the rest |
| moved | whether the signal grew when both jobs ran: by {100 * LEAST_FACTOR - 100:.0f} % or more, and by more than \
{LEAST_DEVIATIONS:g} times the standard deviation of the slices in which a job ran alone, and by the [least change of \
its kind](models.md#evidence-for-causes-nodescausespy-yildiz-2016). A signal that varies much from slice to slice can \
double without having moved |
| at its limit | whether the signal is above its threshold when both jobs run. *yes*: also when a job is alone. \
*together*: not when a job is alone. *nearly*: it is when a job is alone, and a little below the threshold when both \
run. *no*: below it. Empty: the signal has no threshold |
"""
CONDITIONS = f"""## Under which conditions?

- *Where:* one machine with 2 cores. Jobs, servers and links are namespaces of it. Each job writes on a node of its own,
  unless the table says that both are on one node.
- *How long, how often:* slices are {SLICE_SECONDS:g} s. A job alone takes 0.4 s (`flat-not`) to 16 s. Each offset
  between the jobs' starts was recorded once, those of `flow-pool` and `flow-pool-few-writers` twice. So these
  recordings tell causes, and no exact times.
- *How a resource is limited:* processor time by the quota of a control group, a device by a control group under a loop
  device, a link by `tc`'s token bucket. Pressure (time in which tasks wait for a resource) is that of each node's own
  control group. If a case has no planted device, its files are in memory, and there is no disk.
- *What is sampled:* a collector samples the servers as well (`slicewise-collect node --samples`). Without it, a
  server's processors and devices cannot be named. The answer is then *server and flow control*.
- *Blind cases:* six cases (`blind-`). They were written down and committed when all thresholds had been set, and
  recorded after that. One rule was added after all recordings, because of another measurement: if a signal reaches
  its threshold while a job is alone, then 90 % of the threshold is enough when both jobs run. The rule changes no cause
  that is named first here.
- *Cases that are not blind:* all others. Three things were changed after recordings had been seen. The threshold of a
  busy disk was 90 % at first, and `device-sshfs`, busy for 81 to 83 % of the time, was missed; it was set to 70 %
  before the other two devices were recorded. A threshold on retransmissions was dropped. And if both incast and the
  server's processors are at their limit, incast is now named first. All other thresholds are older than the cases that
  they decide.
- *Done again:* some cases, with other volumes or because they took too long. One case, of dropped segments, was never
  completed: it is in no row.
- *Other work:* the machine had some while the `flow-pool`, `flat-` and `blind-` cases were recorded. So jobs
  took longer than their volume and limit explain, some by a third, and some of the 16 writers began up to 4 s late.
- *Not tried:* other file systems than GlusterFS and sshfs, reads, more than two jobs, two causes that are near their
  limits at once, and a case without any bottleneck. No case plants the causes *client network interface*, *small
  requests* and *shared file*, or a lack of memory.
"""


FLOW_WORDS = f"""## Does who comes first win?

Here both jobs are alike, and what differs is the way from the clients into the server. All cases use sshfs, whose
clients take writes into memory and send them later, unless the table says otherwise. A connection's window is how many
bytes its receiver says it can take. It limits how much of a job's data is under way. Job B begins 2 to 4 s before A,
with A, and 2 to 4 s after A.

| column | meaning |
|---|---|
| asymmetry | 0: both jobs lose as much. 1: one job has all of the loss, and waits for the other. Empty: the jobs \
lost no time to each other |
| who gains | whether the job that began first or the one that began second loses less. *Neither*: the asymmetry is \
below {LEAST_ASYMMETRY:g}, from which on Slicewise says that one of the jobs is preferred |
| peak | how many times as long as alone a job took at most. If two jobs only share, it is at most 2. What is lost \
above that is explained nowhere |
| closed windows/s | how often a second a receiver said that it can take no more |
| timeouts/s | how often a second a sender waited in vain for an answer, until TCP's timer ran out |
| resent share | the part of all segments that had to be sent again |
| named first | the cause that is named first. Both jobs compete for it, if they slow each other down |
| may prefer | what may let one of the jobs go first |
"""
SEEN = """- **The first job wins on a slow device with many connections** (`flow-pool`), as in Yildiz 2016. The server
  has 8 threads. A thread keeps its connection until that connection has been quiet for half a second (`--workers` of
  `tests/testbed/sftp.py`, a server made for this). The device is slow, so there always is more to read. So the job that
  comes first holds all threads, and the receive windows of the other job's connections stay closed. Slicewise names the
  device as what both compete for, and *server and flow control* as what may prefer the job that comes first.
- **This goes away with fewer writers a node** (`flow-pool-few-writers`): then both jobs' connections have a thread. All
  else is the same, and the same signals are at their limit. So these signals alone do not show that a job is preferred:
  Slicewise says what may prefer a job only if the asymmetry shows that one is.
- **Two servers for both jobs do not help** (`flow-pool-servers`): the first job still wins. **A server for each job
  does** (`flow-pool-partitioned`): nobody wins. A job has only half of the servers then, also when it is alone. So it
  takes long alone, and just as long beside the other job. (It even took 15 % less there: these are single runs, and so
  much do they vary.)

**Without such threads, TCP sometimes prefers the first job and sometimes the second.** Three other things were tried:

- *Queues on sshfs* that are long, short, or never overflow (`flow-long-queue` to `flow-one-writer`): an asymmetry of
  0.49 at most.
- *A queue of some packets*, on GlusterFS (`blind-incast-bricks`, in [the table of
  causes](#which-cause-is-named-first)): an asymmetry of {bricks:.2f}, for the {bricks_gains} job.
- *A server whose memory for TCP* (1 to 6 MiB) is too small for 32 connections. Each size was tried once or twice. These
  runs were not kept, so the next figures cannot be computed anew. The connections lost segments and waited for timers,
  10 to 51 times a second. That slowed down both jobs. With sizes that were enough for one job alone, the asymmetry was
  0.2 at most, for the second job.
"""
FLAT_WORDS = """## Is a flat graph a good sign?

No. A flat graph means only that the jobs do not slow each other down. If each node's own port is slow, neither job can
reach more than its port gives, and the graph is flat: with memory, a disk or a slow disk behind the server (the first
three rows of the table below). With the slow disk, jobs take longer, alone and together alike. Why was not looked for;
the machine had other work meanwhile.

In `flat-not` the ports are not limited, and jobs write more; all else is as in `flat-memory`. Its graph is not flat:
the jobs slow each other down. Yet each of them is many times as fast as the jobs of the flat graphs.

`flat-not` was first recorded with a slow device in place of memory. These runs were not kept, and are in no row. Its
small synced writes got 5.0 MiB/s, the peak was 1.21, and flow control was named. That shows nothing about ports.
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
    def has_moved(self) -> bool:
        """Whether a signal of the cause that is named first moved."""
        return not self.evidence.filter(pl.col("cause").is_in(self.named[:1]) & pl.col("counts")).is_empty()

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
    apart = [one for one in [*flow, *flat] if max(one.graph.peak.values()) < SLOWED]
    apart_causes = [one.named[0] for one in apart if one.named]
    return folded(
        "\n".join(
            [
                TITLE,
                FOUND.format(
                    right=right,
                    all=len(planted),
                    aim=AIM,
                    right_blind=right_blind,
                    blind=len(blind),
                    apart_count=len(apart),
                    apart=words.listing(f"`{one.name}`" for one in apart),
                    flat=SLOWED,
                    apart_named=len(apart_causes),
                    apart_causes=words.listing(
                        f"*{cause}* in {words.count(apart_causes.count(cause), 'case')}"
                        for cause in dict.fromkeys(apart_causes)
                    ),
                    thresholds=_thresholds(),
                    order=", ".join(EXPLAINING),
                ),
                CONDITIONS,
                "## Which cause is named first?\n",
                CAUSES_WORDS,
                _causes(planted),
                *([FLOW_WORDS, _flow(flow), _seen(planted)] if flow else []),
                *([FLAT_WORDS, _flat(flat)] if flat else []),
                "## All evidence\n",
                EVIDENCE_WORDS.format(unmoved=sum(not one.has_moved for one in planted), planted=len(planted)),
                *(f"### {one.name}\n\n{_evidence(one)}" for one in found),
            ]
        )
    )


def _thresholds() -> str:
    signs = ((name, sign, UNITS[name]) for name, sign in EVIDENCE.items() if sign.full is not None)
    return table(
        ["signal", "what it is", "a sign of", "at its limit from"],
        [
            [
                signal_name(name),
                MEANINGS[name],
                sign.cause,
                f"{100 * sign.full:g} % of the time" if unit == SHARE else f"{sign.full:g} a second",
            ]
            for name, sign, unit in signs
        ],
    )


def _seen(planted: list[Found]) -> str:
    bricks = next((one for one in planted if one.name == "blind-incast-bricks"), None)
    if bricks is None or bricks.graph.asymmetry is None:
        return SEEN
    gains = who_gains(bricks.graph.points, bricks.graph.alone_seconds)
    return SEEN.format(bricks=bricks.graph.asymmetry, bricks_gains=gains)


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


def _flow(found: list[Found]) -> str:
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


def _who_gains(graph: DeltaGraph) -> str:
    if graph.asymmetry is None:
        return ""
    return "neither" if graph.asymmetry < LEAST_ASYMMETRY else who_gains(graph.points, graph.alone_seconds)


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
    shown = one.evidence.filter(pl.col("moved") | pl.col("full"))
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
