"""Runs a plan of `slicewise study sweep` as it is shipped, on nodes n1 to n4 and file servers that are namespaces.

`python -m testbed.sweep BUILD DIR SERVER PLAN [--link RATE] [--disk-mib-s N] [OPTION...]`: as `slicewise study sweep
PLAN --dir DIR OPTION...` on node n1, with the directory, the launcher and ssh of the testbed; PLAN may be a file that
is named as the plan that it was made from. RATE: of each server's link, as tc takes it. N: of the disk of two-disks,
from the start. SERVER: one of `servers.SERVERS`, or

- two-disks: GlusterFS whose /mnt/memory is in the server's memory and /mnt/scratch on a disk of it, which
  /mnt/group/blkio.throttle.write_bps_device of the server slows down (`echo MAJOR:MINOR BYTES`);
- striped: GlusterFS on four servers, and a command `lfs setstripe` as the plans call it: it spreads a directory's files
  over servers in blocks that are 64 times as large as those it is told of, since GlusterFS has none below 4 MiB. Below
  /mnt/scratch2 there is a file system of its own, on a fifth server.
"""

import argparse
import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from support.workload import MPIRUN

from testbed import nodes, plants, servers
from testbed.cgroup import limit_blkio
from testbed.disk import block_device

NODES = 4
LINK = "4gbit"
TIMEOUT_SECONDS = 1800
TWO_DISKS, STRIPED = "two-disks", "striped"
DISK_MIB = 2304
STRIPED_SERVERS = 4
BLOCK_FACTOR = 64
# Plans that change a server's settings.
OF_ONE_SERVER = ("network", "device", "pairs")
ALL, REST = "client-all", "client-other"
MEMORY, DISK, OTHER = Path("/mnt/memory"), Path("/mnt/scratch"), Path("/mnt/scratch2")
GROUP = Path("/mnt/group")
SHARD = """
volume shard
  type features/shard
  option shard-block-size {block}
  subvolumes distribute
end-volume
"""
LFS = """\
#!{python}
import sys
sys.path[:0] = {path}
from testbed import sweep
sweep.set_stripe({folder!r}, {servers!r}, {nodes!r}, sys.argv[1:])
"""


def main() -> None:
    """Runs it; exits with its status, or with 1 and one line where the testbed cannot."""
    if nodes.is_isolated():
        build, directory, folder, server, link, disk_mib_s, *words = sys.argv[1:]
        sys.exit(_sweep(Path(build), Path(directory), Path(folder), server, link, float(disk_mib_s), words))
    parser = argparse.ArgumentParser(prog="testbed.sweep")
    parser.add_argument("build", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("server", choices=[*servers.SERVERS, TWO_DISKS, STRIPED])
    parser.add_argument("plan")
    parser.add_argument("--link", default=LINK)
    parser.add_argument("--disk-mib-s", default="0")
    given, words = parser.parse_known_args()
    build, directory = given.build.resolve(), given.directory.resolve()
    needed = servers.needs("glusterfs" if given.server in (TWO_DISKS, STRIPED) else given.server)
    nodes.require(MPIRUN[0], *needed, str(build / "bin" / "slicewise-load"))
    with contextlib.ExitStack() as made:
        folder = made.enter_context(tempfile.TemporaryDirectory(prefix="slicewise-testbed-"))
        os.environ |= made.enter_context(plants.groups()).told()
        if given.server == TWO_DISKS:
            scratch = made.enter_context(tempfile.TemporaryDirectory(prefix="slicewise-device-", dir=build))
            os.environ[plants.DEVICES] = made.enter_context(plants.device(Path(scratch) / "image", DISK_MIB))
        of_testbed = (str(build), str(directory), folder, given.server, given.link, given.disk_mib_s)
        arguments = (*of_testbed, given.plan, *words)
        sys.exit(nodes.isolated("testbed.sweep", *arguments, timeout=TIMEOUT_SECONDS))


def _sweep(
    build: Path, directory: Path, folder: Path, server: str, link: str, mib_s: float, words: Sequence[str]
) -> int:
    count = STRIPED_SERVERS + 1 if server == STRIPED else 1
    cluster = nodes.Cluster(folder, NODES, link, nodes.NETWORKS["usual"], count)
    made = plants.Groups.found()
    for node in (*cluster.servers, *cluster.nodes):
        node.__class__ = plants.Planted
        node.groups = {}
        node.take(made.of(node.name), is_disk_shown=server == TWO_DISKS and node in cluster.servers)
        node.run("mount", "-t", "tmpfs", "testbed", "/dev/shm")  # segments of one node are none of another's
    commands = folder / "bin"
    commands.mkdir()
    directory_of_jobs = servers.MOUNT_POINT
    if server == TWO_DISKS:
        _start_two_disks(cluster, build, mib_s)
        directory_of_jobs = DISK
    elif server == STRIPED:
        _start_striped(cluster, commands)
    else:
        servers.SERVERS[server](cluster)
    launcher = shutil.which(MPIRUN[0])
    assert launcher is not None
    (commands / "mpirun").symlink_to(launcher)
    _write_ssh(cluster, commands / "ssh")
    of_launcher = {
        "plm_rsh_agent": str(commands / "ssh"), "plm_rsh_no_tree_spawn": "1", "btl_tcp_if_include": "eth0",
        "oob_tcp_if_include": "eth0", "mpi_yield_when_idle": "1", "rmaps_base_oversubscribe": "1",
    }  # fmt: skip
    environment = os.environ | {f"OMPI_MCA_{name}": value for name, value in of_launcher.items()}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment["SLICEWISE_STORAGE_PORTS"] = plants.STORAGE_PORTS
    environment["PATH"] = os.pathsep.join([str(commands), str(build / "bin"), environment["PATH"]])
    plan, *options = words
    own = ["--dir", directory]
    name = Path(plan).stem
    # The plan of devices says for each panel where that is.
    if name != "device":
        own += ["--set", f"directory={directory_of_jobs}"]
    used = cluster.servers[:STRIPED_SERVERS]
    own += ["--set", f"{'server' if name in OF_ONE_SERVER else 'servers'}={','.join(s.name for s in used)}"]
    command = [build / "bin" / "slicewise", "study", "sweep", plan, *own, *options]
    return subprocess.run(cluster.nodes[0].command(*command), env=environment, check=False).returncode


def _start_two_disks(cluster: nodes.Cluster, build: Path, mib_s: float) -> None:
    """A file system in the server's memory, and one on a disk whose writes the server's control group may limit."""
    server = cluster.server
    server.run("mount", "-t", "tmpfs", "-o", "size=1m", "testbed-mnt", "/mnt")
    server.run("mkdir", GROUP)
    server.run("mount", "--bind", server.groups["blkio"], GROUP)
    disk = block_device(build)
    if disk is None:
        raise RuntimeError(f"{build} is on no disk that could be slowed down")
    print(f"The disk to slow down is {disk[0]}:{disk[1]}", flush=True)
    if mib_s:
        limit_blkio(server.groups["blkio"], disk, round(mib_s * (1 << 20)), ("write",))
    for node in cluster.nodes:
        node.run("mount", "-t", "tmpfs", "-o", "size=1m", "testbed-mnt", "/mnt")
    for place, point in enumerate((MEMORY, DISK)):
        export = cluster.folder / f"export-{place}"
        export.mkdir()
        if point == DISK:
            # A flush of this device would be one of the disk below, on which others write too.
            server.run("mount", "-o", "nobarrier", os.environ[plants.DEVICES], export)
        port = servers.GLUSTER_PORT if place == 0 else plants.plant_cases.FIRST_BRICK_PORT
        servers.start_brick(cluster, server, export, port)
        client = cluster.folder / f"client-{place}.vol"
        client.write_text(servers.client([(server.address, port)], ()))
        for node in cluster.nodes:
            servers.mount_glusterfs(cluster, node, client, point)


def _start_striped(cluster: nodes.Cluster, commands: Path) -> None:
    """Four servers whose files go to one of them each, a fifth with a file system of its own, and `lfs`."""
    for node in cluster.nodes:
        node.run("mount", "-t", "tmpfs", "-o", "size=1m", "testbed-mnt", "/mnt")
    for server in cluster.servers:
        export = cluster.folder / f"export-{server.name}"
        export.mkdir()
        servers.start_brick(cluster, server, export, servers.GLUSTER_PORT)
    ends = [(server.address, servers.GLUSTER_PORT) for server in cluster.servers]
    for name, used, point in ((ALL, ends[:-1], servers.MOUNT_POINT), (REST, ends[-1:], OTHER)):
        client = cluster.folder / f"{name}.vol"
        client.write_text(servers.client(used, ()))
        for node in cluster.nodes:
            servers.mount_glusterfs(cluster, node, client, point)
    path = [entry for entry in sys.path if entry]
    own = [{node.name: node.command() for node in group} for group in (cluster.servers[:-1], cluster.nodes)]
    text = LFS.format(python=sys.executable, path=path, folder=str(cluster.folder), servers=own[0], nodes=own[1])
    (commands / "lfs").write_text(text)
    (commands / "lfs").chmod(0o755)


def set_stripe(
    folder: str, of_servers: dict[str, list[str]], of_nodes: dict[str, list[str]], words: Sequence[str]
) -> None:
    """`lfs setstripe`: mounts over the directory, on all nodes, a client that spreads files over the servers, each of
    which has a directory of its own for that.

    of_servers, of_nodes: what begins a command on each, by its name.
    """
    parser = argparse.ArgumentParser(prog="lfs setstripe")
    parser.add_argument("command", choices=["setstripe"])
    parser.add_argument("-o", dest="servers")
    parser.add_argument("--stripe-count", type=int)
    parser.add_argument("--stripe-size", default="64k")
    parser.add_argument("directory", type=Path)
    given = parser.parse_args(words)
    numbers = [int(word) for word in given.servers.split(",")] if given.servers else list(range(STRIPED_SERVERS))
    block = int(given.stripe_size.removesuffix("k")) * BLOCK_FACTOR
    stripes = Path(folder) / "stripes"
    stripes.mkdir(exist_ok=True)
    port = plants.plant_cases.FIRST_BRICK_PORT + len(list(stripes.iterdir()))
    own = stripes / str(port)
    own.mkdir()
    for number in numbers:
        name, command = list(of_servers.items())[number]
        export, file = own / name, own / f"{name}.vol"
        export.mkdir()
        file.write_text(servers.BRICK.format(export=export, port=port))
        subprocess.run([*command, "glusterfsd", "-f", file, "-l", own / f"{name}.log"], check=True)
    ends = [(nodes.server_address(number), port) for number in numbers]
    client = own / "client.vol"
    client.write_text(servers.client(ends, (), is_distributed=True) + SHARD.format(block=f"{block}KB"))
    for name, command in of_nodes.items():
        log = own / f"{name}.log"
        # As with Lustre it is the same file system, whichever servers a directory's files are on.
        mount = ["glusterfs", f"--volfile-id={ALL}", "-f", client, "-l", log, given.directory]
        subprocess.run([*command, *mount], check=True)


def _write_ssh(cluster: nodes.Cluster, ssh: Path) -> None:
    """What a plan calls to set up the server, mpirun to start ranks, and a sweep to sample nodes: [OPTIONS] [USER@]NAME
    COMMAND...
    """
    cases = []
    for node in (*cluster.servers, *cluster.nodes):
        own = shlex.join(node.command())
        cases.append(f'  {node.name}) exec {own} sh -c "$*" ;;')
    ssh.write_text(
        "#!/bin/sh\nwhile case $1 in -*) true ;; *) false ;; esac; do shift; done\nhost=${1#*@}\nshift\n"
        + "case $host in\n"
        + "\n".join(cases)
        + '\nesac\necho "no node $host" >&2; exit 1\n'
    )
    ssh.chmod(0o755)


if __name__ == "__main__":
    main()
