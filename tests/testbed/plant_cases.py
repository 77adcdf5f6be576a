"""What `testbed.plants` plants: one bottleneck a case, and the file servers that the jobs write to."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from testbed import nodes, servers
from testbed.nodes import SERVER_ADDRESS, Cluster, Node

SLICE_SECONDS = 0.25
FIRST_BRICK_PORT = 49152
SWITCH = {"tcp_slow_start_after_idle": "1"}
# A link that nothing here fills, and one whose queue drops as that of a switch.
FAST = "4gbit"


@dataclass(frozen=True)
class Case:
    """cause: what is planted, in the words of the evidence; "": nothing. nodes: 1 puts both jobs on one. queue: tc's
    words, of each port to a server. points: mounts a node, each with connections of its own, and in turns one of each
    server (sshfs). is_partitioned: job A has the first half of the mounts and servers, B the others. server_processor,
    client_processor: what all processes of a node have together, in processors. options: of the writer.
    """

    cause: str
    server: str
    mib: float
    writers: int = 4
    nodes: int = 2
    link: str = FAST
    queue: tuple[str, ...] = ()
    points: int = 1
    bricks: int = 1
    servers: int = 1
    is_partitioned: bool = False
    device_mib_s: float | None = None
    server_processor: float | None = None
    client_processor: float | None = None
    tcp: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    offsets: tuple[float, ...] = (0, 1, 2)
    alone: int = 2
    repeats: int = 1
    lead_seconds: float = 1.6


def more_servers(cluster: Cluster) -> list[Node]:
    """The servers after the first one."""
    return getattr(cluster, "more_servers", [])


def _glusterfs(case: Case, cluster: Cluster, export: Path) -> list[Path]:
    """Bricks without glusterd, each on a port of its own; every mount uses all of them, or (partitioned) one."""
    folder, log = cluster.folder, cluster.folder / "glusterfs.log"
    for brick in range(case.bricks):
        cluster.server.run("mkdir", export / str(brick))
        text = servers.BRICK.format(export=export / str(brick), port=FIRST_BRICK_PORT + brick)
        (folder / f"brick-{brick}.vol").write_text(text)
        daemon = ["glusterfsd", "-N", "-f", folder / f"brick-{brick}.vol", "-l", folder / f"brick-{brick}.log"]
        cluster.server.start(log, *daemon)
        nodes.wait_for_port(cluster.server, FIRST_BRICK_PORT + brick)
    return _mounted(
        case, cluster, "fuse.glusterfs", lambda node, place, point: _mount_glusterfs(case, cluster, node, place, point)
    )


def _mount_glusterfs(case: Case, cluster: Cluster, node: Node, place: int, point: Path) -> None:
    used = range(case.bricks)
    if case.is_partitioned:
        used = range(place * case.bricks // case.points, (place + 1) * case.bricks // case.points)
    text = "".join(
        f"volume client-{brick}\n  type protocol/client\n  option transport-type tcp\n"
        f"  option remote-host {SERVER_ADDRESS}\n  option remote-port {FIRST_BRICK_PORT + brick}\n"
        "  option remote-subvolume brick\nend-volume\n"
        for brick in used
    )
    if len(used) > 1:
        bricks = " ".join(f"client-{brick}" for brick in used)
        text += f"volume all\n  type cluster/distribute\n  subvolumes {bricks}\nend-volume\n"
    file = cluster.folder / f"client-{node.name}-{place}.vol"
    file.write_text(text)
    log = cluster.folder / f"{node.name}-{place}.log"
    node.start(log, "glusterfs", "-N", "-f", file, "-l", log, point)


def _sshfs(case: Case, cluster: Cluster, export: Path, *options: str) -> list[Path]:
    """sftp servers without sshd; each mount is one connection with a server process of its own."""
    log = cluster.folder / "sshfs.log"
    serving = [sys.executable, "-m", "testbed.sftp", str(servers.SFTP_PORT), servers.sftp_server()]
    every = [cluster.server, *more_servers(cluster)]
    for server in every:
        server.start(log, *serving)
        nodes.wait_for_port(server, servers.SFTP_PORT)
    wanted = ["-o", f"directport={servers.SFTP_PORT}", *(word for option in options for word in ("-o", option))]

    def mount(node: Node, place: int, point: Path) -> None:
        number = place * len(every) // case.points if case.is_partitioned else place % len(every)
        node.start(log, "sshfs", "-f", f"{every[number].address}:{export}", point, *wanted)

    return _mounted(case, cluster, "fuse.sshfs", mount)


def _local(case: Case, cluster: Cluster, export: Path) -> list[Path]:
    """No file server: the jobs are on the node that has the device."""
    cluster.nodes[:] = [cluster.server]
    return [export]


def _mounted(case: Case, cluster: Cluster, kind: str, mount: Callable[[Node, int, Path], object]) -> list[Path]:
    points = [Path(f"/mnt/{place}") for place in range(case.points)]
    for node in cluster.nodes:
        for place, point in enumerate(points):
            node.run("mkdir", point)
            mount(node, place, point)
            nodes.wait_for_mount(node, point, kind)
    return points


SERVERS: dict[str, Callable[[Case, Cluster, Path], list[Path]]] = {
    "glusterfs": _glusterfs,
    "sshfs": _sshfs,
    "sshfs-sync": lambda case, cluster, export: _sshfs(case, cluster, export, "sshfs_sync"),
    "local": _local,
}

_BUFFERED = ("tbf", "rate", "100mbit", "burst", "64kb", "limit", "8mb")
_DROPS = ("tbf", "rate", "100mbit", "burst", "32kb", "limit", "256kb")
_TINY = ("tbf", "rate", "200mbit", "burst", "16kb", "limit", "16kb")

_SLOW_CALLS = ("--call", "1024")

CASES: dict[str, Case] = {
    "device-glusterfs": Case("device", "glusterfs", 6, device_mib_s=12, options=_SLOW_CALLS),
    "device-sshfs": Case("device", "sshfs", 6, device_mib_s=12, options=_SLOW_CALLS),
    "device-local": Case("device", "local", 6, nodes=1, device_mib_s=12, options=_SLOW_CALLS),
    "link-glusterfs": Case("link", "glusterfs", 12, queue=_BUFFERED),
    "link-sshfs": Case("link", "sshfs", 12, queue=_BUFFERED),
    "link-drops": Case("link", "sshfs", 12, queue=_DROPS, tcp=SWITCH),
    "server-processor-glusterfs": Case("server processors", "glusterfs", 24, server_processor=0.05),
    "server-processor-sshfs": Case("server processors", "sshfs", 24, server_processor=0.05),
    "client-processor-glusterfs": Case(
        "client processors", "glusterfs", 32, nodes=1, client_processor=0.2, lead_seconds=8.0
    ),
    "client-processor-sshfs": Case("client processors", "sshfs", 48, nodes=1, client_processor=0.2, lead_seconds=8.0),
    "incast-sshfs": Case("incast", "sshfs", 16, points=4, queue=_TINY, tcp=SWITCH),
    "incast-glusterfs": Case("incast", "glusterfs", 12, points=4, bricks=2, queue=_TINY, tcp=SWITCH),
}

# What flow control does to the sharing: a job is 64 MiB, a port 100 Mbit/s; its queue holds 0.7 s of that, or 5 ms.
_PORT = ("tbf", "rate", "100mbit", "burst", "32kb", "limit")
_LONG, _SHORT = (*_PORT, "8mb"), (*_PORT, "64kb")
_OFFSETS = (-3, 0, 3)
CASES |= {
    "flow-long-queue": Case("", "sshfs", 16, points=4, queue=_LONG, tcp=SWITCH, offsets=_OFFSETS),
    "flow-short-queue": Case("", "sshfs", 16, points=4, queue=_SHORT, tcp=SWITCH, offsets=_OFFSETS),
    "flow-one-call": Case("", "sshfs-sync", 16, points=4, queue=_LONG, tcp=SWITCH, offsets=_OFFSETS),
    "flow-one-writer": Case("", "sshfs", 64, writers=1, queue=_LONG, tcp=SWITCH, offsets=_OFFSETS),
}
