"""Planted causes of interference: two equal jobs whose one bottleneck is known, recorded alone and together.

`python -m testbed.plants BUILD PROFILES [CASE...]` records the cases of `plant_cases.CASES` that are not there yet,
each in PROFILES/CASE, as `slicewise study delta read` takes it. Each node has its own control groups: the kernel tells
their pressure, and a collector on a node finds that where the machine's would be. All nodes are one machine, whose
disk others use too: so clients see no disk, and the server sees disks only where a slow one is planted.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from testbed import nodes, plant_cases, servers
from testbed.cgroup import limit_blkio, made_group
from testbed.disk import block_device
from testbed.plant_cases import CASES, Case

RUN_SECONDS = 150
DEVICE_MIB = 768
PERIOD_US = 100_000

# Ports of the servers that a collector does not know by a mount's type.
STORAGE_PORTS = f"{servers.SFTP_PORT},{plant_cases.FIRST_BRICK_PORT}-{plant_cases.FIRST_BRICK_PORT + 99}"
RESOURCES = ("cpu", "io", "memory")
DEVICES = "TESTBED_DEVICES"


def main() -> None:
    """Records what is missing; exits with status 1 and one line where it cannot."""
    if nodes.is_isolated():
        build, directory, folder, name = sys.argv[1:]
        _record(CASES[name], Path(build), Path(directory), Path(folder), Groups.found())
        return
    build, profiles = (Path(word).resolve() for word in sys.argv[1:3])
    nodes.require("sshfs", "glusterfsd", "glusterfs", "losetup", "mkfs.ext4", servers.sftp_server())
    for name in sys.argv[3:] or CASES:
        directory = profiles / name
        if directory.is_dir():
            print(f"{name}: recorded already")
            continue
        with (
            tempfile.TemporaryDirectory(prefix="slicewise-testbed-") as folder,
            tempfile.TemporaryDirectory(prefix="slicewise-device-", dir=build) as scratch,
            groups() as made,
            _devices(Path(scratch), CASES[name]) as devices,
        ):
            os.environ |= made.told() | {DEVICES: " ".join(devices)}
            unfinished = profiles / "unfinished" / name
            shutil.rmtree(unfinished, ignore_errors=True)
            arguments = (str(build), str(unfinished), folder, name)
            if nodes.isolated("testbed.plants", *arguments, timeout=600) != 0:
                sys.exit(f"testbed: {name} failed; see {unfinished}")
            unfinished.rename(directory)


class Groups:
    """The control groups of all nodes: v2 for pressure, v1 for processor time, the disk and memory."""

    KINDS = ("pressure", "cpu", "blkio", "memory")

    def __init__(self, roots: dict[str, Path]) -> None:
        self.roots = roots

    @classmethod
    def found(cls) -> Groups:
        """Those that the process around this one made."""
        return cls({kind: Path(os.environ[f"TESTBED_GROUP_{kind}"]) for kind in cls.KINDS})

    def told(self) -> dict[str, str]:
        """For the environment of a process that is to find them."""
        return {f"TESTBED_GROUP_{kind}": str(root) for kind, root in self.roots.items()}

    def of(self, node: str) -> dict[str, Path]:
        """A node's own, made if need be."""
        own = {kind: root / node for kind, root in self.roots.items()}
        for group in own.values():
            group.mkdir(exist_ok=True)
        return own


@contextlib.contextmanager
def groups() -> Iterator[Groups]:
    """Groups that are gone at the end, with all that is in them."""
    with contextlib.ExitStack() as made:
        kinds = {kind: None if kind == "pressure" else kind for kind in Groups.KINDS}
        yield Groups({kind: made.enter_context(made_group(controller)) for kind, controller in kinds.items()})


@contextlib.contextmanager
def _devices(scratch: Path, case: Case) -> Iterator[list[str]]:
    """A block device over a file for each server, which its control group may slow down; none where none is planted."""
    with contextlib.ExitStack() as made:
        wanted = case.servers if case.has_device else 0
        yield [made.enter_context(device(scratch / f"image-{number}")) for number in range(wanted)]


@contextlib.contextmanager
def device(image: Path, mib: int = DEVICE_MIB) -> Iterator[str]:
    """A loop device with an empty file system; the control group of whoever writes there may be slowed down."""
    nodes.run("fallocate", "-l", f"{mib}M", image)
    found = subprocess.run(
        ["losetup", "-f", "--show", "--direct-io=on", str(image)], capture_output=True, text=True, check=True
    )
    device = found.stdout.strip()
    try:
        nodes.run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=0", device)
        yield device
    finally:
        nodes.run("losetup", "-d", device)


class Planted(nodes.Node):
    """A node whose processes are in control groups of its own."""

    groups: dict[str, Path]

    def command(self, *command: str | Path) -> list[str]:
        joined = " ".join(f"echo $$ > {group}/cgroup.procs;" for group in self.groups.values())
        return ["sh", "-c", f'{joined} exec "$@"', "sh", *super().command(*command)]

    def take(self, own: dict[str, Path], *, is_disk_shown: bool) -> None:
        """From now on processes of this node are in those groups, and it sees their pressure."""
        self.groups = own
        for resource in RESOURCES:
            self.run("mount", "--bind", own["pressure"] / f"{resource}.pressure", f"/proc/pressure/{resource}")
        if not is_disk_shown:
            self.run("mount", "--bind", "/dev/null", "/proc/diskstats")


def _record(case: Case, build: Path, directory: Path, folder: Path, made: Groups) -> None:
    cluster = nodes.Cluster(folder, case.nodes, case.link, nodes.NETWORKS[case.network], case.servers)
    for node in (*cluster.servers, *cluster.nodes):
        node.__class__ = Planted
        node.groups = {}
        is_server = node in cluster.servers
        node.take(made.of(node.name), is_disk_shown=is_server and case.has_device)
        quota = case.server_processor if is_server else case.client_processor
        if quota is not None:
            (node.groups["cpu"] / "cpu.cfs_quota_us").write_text(str(round(quota * PERIOD_US)))
        if is_server and case.server_tcp_kib is not None:
            (node.groups["memory"] / "memory.kmem.tcp.limit_in_bytes").write_text(str(case.server_tcp_kib << 10))
        for setting, value in case.tcp.items():
            node.run("sh", "-c", f"echo {value} > /proc/sys/net/ipv4/{setting}")
    for server in cluster.servers if case.queue else ():
        nodes.run("tc", "qdisc", "replace", "dev", f"p-{server.name}", "root", *case.queue)
    for node in cluster.nodes if case.client_queue else ():
        node.run("tc", "qdisc", "replace", "dev", "eth0", "root", *case.client_queue)
    points = _serve(case, cluster, build)
    directory.mkdir(parents=True, exist_ok=True)
    for number in range(1, case.alone + 1):
        for job in "ab" if case.is_partitioned else "a":
            _run(case, {f"{job}-alone-{number}": 0.0}, cluster, build, directory, points)
    for repeat in range(1, case.repeats + 1):
        for offset in case.offsets:
            name = f"dt{offset:+g}-{repeat}"
            first = max(0.0, -offset)
            jobs = {f"{name}-a": first, f"{name}-b": first + offset}
            _run(case, jobs, cluster, build, directory, points)


def _serve(case: Case, cluster: nodes.Cluster, build: Path) -> list[Path]:
    """Starts the case's file servers and mounts them: the directories in which a job writes, on each node alike."""
    export = cluster.folder / "export"
    export.mkdir()
    for server, device in zip(cluster.servers, os.environ[DEVICES].split(), strict=False):
        # A flush of this device would be one of the disk below, on which others write too.
        server.run("mount", "-o", "sync,nobarrier", device, export)
        if case.device_mib_s is None:
            continue
        disk = block_device(build)
        if disk is None:
            raise RuntimeError(f"{build} is on no disk that could be slowed down")
        limit_blkio(server.groups["blkio"], disk, round(case.device_mib_s * (1 << 20)), ("write", "read"))
    for node in cluster.nodes:
        node.run("mount", "-t", "tmpfs", "-o", "size=1m", "testbed-mnt", "/mnt")
    return plant_cases.SERVERS[case.server](case, cluster, export)


def _run(
    case: Case, jobs: dict[str, float], cluster: nodes.Cluster, build: Path, directory: Path, points: Sequence[Path]
) -> None:
    """Runs jobs by name, each beginning so many seconds after the first."""
    start_at = time.time() + case.lead_seconds + 0.4 * len(jobs)
    running, collectors = {}, []
    for place, (name, delay) in enumerate(jobs.items()):
        is_of_b = name.startswith("b-") if len(jobs) == 1 else place == 1
        node = cluster.nodes[is_of_b if case.nodes > 1 else 0]
        files = [points[writer % len(points)] / f"{name}.{writer}" for writer in range(case.writers)]
        words = [sys.executable, "-m", "testbed.writer", *files, "--mib", case.mib, *case.options]
        settings = {"SLICEWISE_STORAGE_PORTS": STORAGE_PORTS, "SLICEWISE_SLICE": f"{plant_cases.SLICE_SECONDS:g}"}
        environment = ["env", *(f"{key}={value}" for key, value in settings.items())]
        profiled = [*environment, build / "bin" / "slicewise", "run", "--dir", directory, "--job", name, "--"]
        command = [*profiled, *words, "--start-at", f"{start_at + delay:.3f}"]
        if node is not cluster.server:
            for server in cluster.servers:
                collectors.append(_server_collector(server, cluster.folder, build, directory, name, environment))
        running[name] = subprocess.Popen(
            node.command(*command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip
    for name, process in running.items():
        said = process.communicate(timeout=RUN_SECONDS)[0]
        print(f"{directory.name} {name}: {' '.join(said.split())}"[:200], flush=True)
        if process.returncode != 0:
            raise SystemExit(f"testbed: {name} failed: {said}")
    for collector in collectors:
        collector.terminate()
        collector.wait(RUN_SECONDS)


def _server_collector(
    server: nodes.Node, folder: Path, build: Path, directory: Path, job: str, environment: Sequence[str | Path]
) -> subprocess.Popen[bytes]:
    segments = folder / f"segments-{server.name}"
    segments.mkdir(exist_ok=True)
    given = [*environment, f"SLICEWISE_DIR={directory}", f"SLICEWISE_SEGMENT_DIR={segments}"]
    collector = [build / "bin" / "slicewise-collect", "node", "--samples", "--job", job]
    return server.start(folder / "collectors.log", *given, *collector)


if __name__ == "__main__":
    main()
