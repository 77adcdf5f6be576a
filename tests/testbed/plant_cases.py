"""What `testbed.plants` plants: one bottleneck a case, and the file servers that the jobs write to."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from testbed import nodes, servers
from testbed.nodes import SERVER_ADDRESS, Cluster, Node

_Any = TypeVar("_Any")

SLICE_SECONDS = 0.25
FIRST_BRICK_PORT = 49152
SWITCH = {"tcp_slow_start_after_idle": "1"}
# A link that nothing here fills, and one whose queue drops as that of a switch.
FAST = "4gbit"


@dataclass(frozen=True)
class Case:
    """cause: what is planted, in the words of the evidence; "": nothing. nodes: 1 puts both jobs on one. queue: tc's
    words, of each port to a server. points: mounts a node, each with connections of its own, and in turns one of each
    server (sshfs). is_partitioned: each node has servers (sshfs) or bricks of its own. device_mib_s: of each server;
    files are on a block device then, or where is_disk says so, and are stored at once. server_processor,
    client_processor: what all processes of a node have together, in processors. server_workers: of sshfs-pool.
    server_tcp_kib: memory of a server for data of TCP. client_queue: tc's words, of what each node sends. network: of
    `nodes.NETWORKS`. options: of the writer. is_blind: no limit was changed after it was recorded.
    """

    cause: str
    server: str
    mib: float
    writers: int = 4
    nodes: int = 2
    link: str = FAST
    queue: tuple[str, ...] = ()
    client_queue: tuple[str, ...] = ()
    network: str = "steady"
    points: int = 1
    bricks: int = 1
    servers: int = 1
    is_partitioned: bool = False
    device_mib_s: float | None = None
    is_disk: bool = False
    server_processor: float | None = None
    server_workers: int = 0
    server_tcp_kib: int | None = None
    client_processor: float | None = None
    tcp: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    offsets: tuple[float, ...] = (0, 1, 2)
    alone: int = 2
    repeats: int = 1
    lead_seconds: float = 1.6
    is_blind: bool = False

    @property
    def has_device(self) -> bool:
        """Whether the servers' files are on a block device: one that is slowed down, or the disk as it is."""
        return self.is_disk or self.device_mib_s is not None


def _glusterfs(case: Case, cluster: Cluster, export: Path, *, is_written_behind: bool = False) -> list[Path]:
    """Bricks without glusterd, each on a port of its own; every mount uses all of them, or (partitioned) its node's."""
    folder, log = cluster.folder, cluster.folder / "glusterfs.log"
    for brick in range(case.bricks):
        cluster.server.run("mkdir", export / str(brick))
        text = servers.BRICK.format(export=export / str(brick), port=FIRST_BRICK_PORT + brick)
        (folder / f"brick-{brick}.vol").write_text(text)
        daemon = ["glusterfsd", "-N", "-f", folder / f"brick-{brick}.vol", "-l", folder / f"brick-{brick}.log"]
        cluster.server.start(log, *daemon)
        nodes.wait_for_port(cluster.server, FIRST_BRICK_PORT + brick)

    def mount(node: Node, place: int, point: Path) -> None:
        _mount_glusterfs(case, cluster, node, place, point, is_written_behind=is_written_behind)

    return _mounted(case, cluster, "fuse.glusterfs", mount)


def _own(case: Case, cluster: Cluster, node: Node, every: Sequence[_Any]) -> Sequence[_Any]:
    """The servers or bricks that a node's mounts use: all, or a part of its own."""
    if not case.is_partitioned:
        return every
    place, count = cluster.nodes.index(node), len(cluster.nodes)
    return every[place * len(every) // count : (place + 1) * len(every) // count]


def _mount_glusterfs(
    case: Case, cluster: Cluster, node: Node, place: int, point: Path, *, is_written_behind: bool
) -> None:
    used = _own(case, cluster, node, range(case.bricks))
    text = "".join(
        f"volume client-{brick}\n  type protocol/client\n  option transport-type tcp\n"
        f"  option remote-host {SERVER_ADDRESS}\n  option remote-port {FIRST_BRICK_PORT + brick}\n"
        "  option remote-subvolume brick\nend-volume\n"
        for brick in used
    )
    if len(used) > 1:
        bricks = " ".join(f"client-{brick}" for brick in used)
        text += f"volume all\n  type cluster/distribute\n  subvolumes {bricks}\nend-volume\n"
    if is_written_behind:
        below = "all" if len(used) > 1 else f"client-{used[0]}"
        text += servers.LAYER.format(name="behind", type="performance/write-behind", below=below)
    file = cluster.folder / f"client-{node.name}-{place}.vol"
    file.write_text(text)
    log = cluster.folder / f"{node.name}-{place}.log"
    node.start(log, "glusterfs", "-N", "-f", file, "-l", log, point)


def _sshfs(case: Case, cluster: Cluster, export: Path, *options: str, serving: Sequence[str] = ()) -> list[Path]:
    """sftp servers without sshd; each mount is one connection with a server process of its own. serving: options of
    `testbed.sftp`.
    """
    log = cluster.folder / "sshfs.log"
    served = [sys.executable, "-m", "testbed.sftp", str(servers.SFTP_PORT), servers.sftp_server(), *serving]
    every = cluster.servers
    for server in every:
        server.start(log, *served)
        nodes.wait_for_port(server, servers.SFTP_PORT)
    wanted = ["-o", f"directport={servers.SFTP_PORT}", *(word for option in options for word in ("-o", option))]

    def mount(node: Node, place: int, point: Path) -> None:
        used = _own(case, cluster, node, every)
        node.start(log, "sshfs", "-f", f"{used[place % len(used)].address}:{export}", point, *wanted)

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
    "glusterfs-behind": lambda case, cluster, export: _glusterfs(case, cluster, export, is_written_behind=True),
    "sshfs": _sshfs,
    "sshfs-sync": lambda case, cluster, export: _sshfs(case, cluster, export, "sshfs_sync"),
    "sshfs-pool": lambda case, cluster, export: _sshfs(
        case, cluster, export, serving=("--workers", str(case.server_workers))
    ),
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


# A server with few threads, each of which keeps its connection, before a slow device: who came first has them all.
# Many writers start late where processors are busy.
_SLOW = {"device_mib_s": 12, "options": _SLOW_CALLS, "lead_seconds": 5.0}
_TWO = _SLOW | {"device_mib_s": 6, "servers": 2, "server_workers": 4, "offsets": _OFFSETS}
CASES |= {
    "flow-pool": Case(
        "device", "sshfs-pool", 4, 16, points=16, server_workers=8, offsets=(-4, -2, 0, 2, 4), repeats=2, **_SLOW
    ),
    "flow-pool-few-writers": Case(
        "device", "sshfs-pool", 16, points=4, server_workers=8, offsets=(-4, -2, 0, 2, 4), repeats=2, **_SLOW
    ),
    "flow-pool-servers": Case("device", "sshfs-pool", 4, 16, points=16, **_TWO),
    "flow-pool-partitioned": Case("device", "sshfs-pool", 4, 16, points=16, is_partitioned=True, **_TWO),
    "flow-tcp-memory": Case("", "sshfs", 4, 16, points=16, server_tcp_kib=1536, offsets=_OFFSETS, **_SLOW),
}

# Each node's own port is the limit, whatever the device; and without that, in memory.
_OWN_PORT = ("tbf", "rate", "40mbit", "burst", "32kb", "limit", "1mb")
CASES |= {
    "flat-memory": Case("link", "sshfs", 6, client_queue=_OWN_PORT, offsets=(-2, 0, 2)),
    "flat-disk": Case("link", "sshfs", 6, client_queue=_OWN_PORT, is_disk=True, offsets=(-2, 0, 2)),
    "flat-slow-device": Case("link", "sshfs", 6, client_queue=_OWN_PORT, device_mib_s=24, offsets=(-2, 0, 2)),
    "flat-not": Case("", "sshfs", 32, offsets=(-1, 0, 1)),
}

# Made up and recorded when all limits stood: other clients, rates, queues and numbers of writers than above.
CASES |= {
    "blind-device": Case(
        "device", "glusterfs-behind", 20, 2, device_mib_s=20, options=_SLOW_CALLS, offsets=(0, 2), is_blind=True
    ),
    "blind-link": Case(
        "link", "sshfs-sync", 8, 3, queue=("tbf", "rate", "60mbit", "burst", "64kb", "limit", "4mb"), is_blind=True
    ),
    "blind-server-processor": Case("server processors", "sshfs-sync", 10, 8, server_processor=0.08, is_blind=True),
    "blind-client-processor": Case(
        "client processors", "glusterfs-behind", 40, 2, 1, client_processor=0.15, lead_seconds=8.0, is_blind=True
    ),
    "blind-incast": Case(
        "incast",
        "sshfs",
        4,
        8,
        queue=("tbf", "rate", "100mbit", "burst", "16kb", "limit", "24kb"),
        points=8,
        network="usual",
        is_blind=True,
    ),
    "blind-incast-bricks": Case(
        "incast",
        "glusterfs-behind",
        6,
        6,
        queue=("tbf", "rate", "150mbit", "burst", "12kb", "limit", "12kb"),
        points=3,
        bricks=3,
        tcp=SWITCH,
        is_blind=True,
    ),
}
