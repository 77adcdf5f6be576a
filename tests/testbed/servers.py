"""File servers of the testbed: each starts on a cluster's server and is mounted on all its nodes.

- glusterfs: on as many servers as there are; no write-behind, so that each process has one request under way: shares go
  by process;
- glusterfs-usual: with the layers that a volume's clients have as it comes, write-behind among them;
- glusterfs-disk: so, with its files on a disk that is slower than the link; the server keeps in memory what it can;
- glusterfs-disk-sync: so, and the server answers when the disk has what was written;
- sshfs: as it comes, with write-back: the TCP window decides, and shares go by mount;
- sshfs-sync: every write is answered before the next, as with glusterfs;
- sshfs-turns: the server serves one connection after the other: first come, first served;
- sshfs-slow: the server reads no faster than a slow device behind it: the TCP windows close;
- sshfs-seeks: the server reads as from a device that is slower the more connections are at it;
- cephfs: a monitor, an object store in memory and a metadata server, with little write-back, or slices would show the
  client's memory: shares grow with processes, by far less than in proportion.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from testbed import slow_disk
from testbed.nodes import SERVER_ADDRESS, Cluster, Node, wait_for, wait_for_mount, wait_for_port

MOUNT_POINT = Path("/mnt/slicewise-testbed")
GLUSTER_PORT = 24007
SFTP_PORT = 2222
SLOW_MIB_S = 20
SEEKS = ("--mib-s", "12", "--slower", "0.15")
CEPH_PORT = 6789
SFTP_SERVERS = ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server")

BRICK = """
volume posix
  type storage/posix
  option directory {export}
end-volume
volume locks
  type features/locks
  subvolumes posix
end-volume
volume brick
  type performance/io-threads
  option thread-count 16
  subvolumes locks
end-volume
volume server
  type protocol/server
  option transport-type tcp
  option transport.socket.listen-port {port}
  option auth.addr.brick.allow *
  subvolumes brick
end-volume
"""
CLIENT = """
volume client{number}
  type protocol/client
  option transport-type tcp
  option remote-host {server}
  option remote-port {port}
  option remote-subvolume brick
end-volume
"""
# A layer of a client, on top of others.
LAYER = """
volume {name}
  type {type}
  subvolumes {below}
end-volume
"""
# What glusterd puts on top of a volume's clients if nobody says otherwise, from below.
USUAL_LAYERS = ("write-behind", "read-ahead", "readdir-ahead", "io-cache", "open-behind", "quick-read", "md-cache")
OSD = "77770000-0000-4000-8000-000000000000"
CEPH = """
[global]
fsid = 77770000-0000-4000-8000-000000000077
mon host = v1:{server}:{port}/0
mon initial members = a
public addr = {server}
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd crush chooseleaf type = 0
mon allow pool size one = true
ms bind msgr2 = false
run dir = {folder}
mon data = {folder}/mon
osd data = {folder}/osd
mds data = {folder}/mds
log file = {folder}/$name.log
pid file =
admin socket =
osd objectstore = memstore
memstore device bytes = 6442450944
[client]
public addr =
client oc max dirty = 4194304
client oc target dirty = 2097152
"""


def sftp_server() -> str:
    """Where the sftp server is, or would be on Debian."""
    return next((path for path in SFTP_SERVERS if Path(path).exists()), SFTP_SERVERS[0])


def start_glusterfs(cluster: Cluster, layers: Sequence[str] = (), disk: Sequence[str] = ()) -> None:
    """GlusterFS by bare volume files: no glusterd. layers: of performance, that clients have. disk: options of mount
    for the disk of `slow_disk`, which the (only) server's files are on; without any they are in memory.
    """
    ends = []
    for server in cluster.servers:
        export = cluster.folder / f"export-{server.name}"
        export.mkdir()
        if disk:
            server.run("mount", *disk, os.environ[slow_disk.DEVICE], export)
        start_brick(cluster, server, export, GLUSTER_PORT)
        ends.append((server.address, GLUSTER_PORT))
    file = cluster.folder / "client.vol"
    file.write_text(client(ends, layers))
    for node in cluster.nodes:
        _own_mount_point(node)
        mount_glusterfs(cluster, node, file, MOUNT_POINT)


def start_brick(cluster: Cluster, server: Node, export: Path, port: int) -> None:
    """A server of GlusterFS for a directory, on a port of its own."""
    name, log = f"{server.name}-{port}", cluster.folder / "glusterfs.log"
    file = cluster.folder / f"{name}.vol"
    file.write_text(BRICK.format(export=export, port=port))
    server.start(log, "glusterfsd", "-N", "-f", file, "-l", cluster.folder / f"{name}.log")
    wait_for_port(server, port)


def mount_glusterfs(cluster: Cluster, node: Node, file: Path, point: Path) -> None:
    """A client, of which `file` says what it is made of; the mount has its name, as of a volume."""
    node.run("mkdir", "-p", point)
    log = cluster.folder / f"{node.name}-{file.stem}.log"
    named = f"--volfile-id={file.stem}"
    node.start(cluster.folder / "glusterfs.log", "glusterfs", "-N", named, "-f", file, "-l", log, point)
    wait_for_mount(node, point, "fuse.glusterfs")


def client(ends: Sequence[tuple[str, int]], layers: Sequence[str], *, is_distributed: bool = False) -> str:
    """What a client is made of: a connection to each server's address and port, whole files going to one of them by
    their names. is_distributed: also where there is one server.
    """
    parts = [CLIENT.format(number=number, server=server, port=port) for number, (server, port) in enumerate(ends)]
    below = [f"client{number}" for number in range(len(parts))]
    if len(parts) > 1 or is_distributed:
        layers = ["distribute", *layers]
    for layer in layers:
        kind = f"cluster/{layer}" if layer == "distribute" else f"performance/{layer}"
        parts.append(LAYER.format(name=layer, type=kind, below=" ".join(below)))
        below = [layer]
    return "".join(parts)


def start_sshfs(cluster: Cluster, *options: str, serving: tuple[str, ...] = ()) -> None:
    """sshfs straight to an sftp server: no sshd, no keys. options: of sshfs; serving: of `testbed.sftp`."""
    export = cluster.folder / "export"
    export.mkdir()
    log = cluster.folder / "sshfs.log"
    cluster.server.start(log, sys.executable, "-m", "testbed.sftp", str(SFTP_PORT), sftp_server(), *serving)
    wait_for_port(cluster.server, SFTP_PORT)
    for node in cluster.nodes:
        _own_mount_point(node)
        source = f"{SERVER_ADDRESS}:{export}"
        wanted = ["-o", f"directport={SFTP_PORT}", *(word for option in options for word in ("-o", option))]
        node.start(log, "sshfs", "-f", source, MOUNT_POINT, *wanted)
        wait_for_mount(node, MOUNT_POINT, "fuse.sshfs")


def start_cephfs(cluster: Cluster) -> None:
    """CephFS without keys, and without a manager: one of each daemon."""
    server, file = cluster.server, cluster.folder / "ceph.conf"
    for name in ("mon", "osd", "mds"):
        (cluster.folder / name).mkdir()
    file.write_text(CEPH.format(server=SERVER_ADDRESS, port=CEPH_PORT, folder=cluster.folder))
    log, by_file = cluster.folder / "ceph.log", ("--conf", file)
    server.run("ceph-mon", *by_file, "--mkfs", "-i", "a")
    server.start(log, "ceph-mon", *by_file, "-f", "-i", "a")
    wait_for_port(server, CEPH_PORT)
    server.run("ceph", *by_file, "osd", "new", OSD)
    server.run("ceph-osd", *by_file, "--mkfs", "-i", "0", "--osd-uuid", OSD)
    server.start(log, "ceph-osd", *by_file, "-f", "-i", "0")
    for pool in ("metadata", "data"):
        server.run("ceph", *by_file, "osd", "pool", "create", pool, "8")
    server.run("ceph", *by_file, "fs", "new", "testbed", "metadata", "data")
    server.start(log, "ceph-mds", *by_file, "-f", "-i", "a")
    # A client that finds none at work gives up.
    state = server.command("ceph", *by_file, "mds", "stat")
    wait_for(lambda: "up:active" in subprocess.check_output(state, text=True), "the metadata server")
    for node in cluster.nodes:
        _own_mount_point(node)
        node.start(log, "ceph-fuse", *by_file, "-n", "client.admin", "-f", MOUNT_POINT)
        wait_for_mount(node, MOUNT_POINT, "fuse.ceph-fuse")


def _own_mount_point(node: Node) -> None:
    node.run("mount", "-t", "tmpfs", "-o", "size=1m", "testbed-mnt", "/mnt")
    node.run("mkdir", "-p", MOUNT_POINT)


SERVERS: dict[str, Callable[[Cluster], None]] = {
    "glusterfs": start_glusterfs,
    "glusterfs-usual": lambda cluster: start_glusterfs(cluster, USUAL_LAYERS),
    "glusterfs-disk": lambda cluster: start_glusterfs(cluster, USUAL_LAYERS, ("-o", "noatime")),
    "glusterfs-disk-sync": lambda cluster: start_glusterfs(cluster, USUAL_LAYERS, ("-o", "noatime,sync")),
    "sshfs": start_sshfs,
    "sshfs-sync": lambda cluster: start_sshfs(cluster, "sshfs_sync"),
    "sshfs-turns": lambda cluster: start_sshfs(cluster, serving=("--turns",)),
    "sshfs-slow": lambda cluster: start_sshfs(cluster, serving=("--mib-s", str(SLOW_MIB_S))),
    "sshfs-seeks": lambda cluster: start_sshfs(cluster, serving=SEEKS),
    "cephfs": start_cephfs,
}


def has_disk(server: str) -> bool:
    """Whether its files are on the disk of `slow_disk`."""
    return server.startswith("glusterfs-disk")


def needs(server: str) -> tuple[str, ...]:
    """The commands that a server takes."""
    if server.startswith("glusterfs"):
        return ("glusterfsd", "glusterfs")
    if server == "cephfs":
        return ("ceph", "ceph-mon", "ceph-osd", "ceph-mds", "ceph-fuse")
    return ("sshfs", sftp_server())
