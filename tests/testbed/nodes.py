"""Compute nodes and a file server on one machine: network namespaces with mounts of their own, one link that all share.

`Cluster` builds them; it must run as root under `isolated`, whose namespaces end with it and take everything along:
processes, mounts, links, whatever happened. The link to the server is the bottleneck.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LINK = "400mbit"
SERVER_ADDRESS = "10.77.0.1"
# What nodes' addresses end with is larger than any server's.
FIRST_NODE = 11
SENT_AGAIN = "RetransSegs"
TCP_COUNTERS = ("TCPFromZeroWindowAdv", "TCPToZeroWindowAdv", "TCPWantZeroWindowAdv", SENT_AGAIN)
TIMEOUT_SECONDS = 120
# What begins a command that is killed when whoever started it is gone, however that ended.
ENDS_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")
ISOLATED = "TESTBED_ISOLATED"


@dataclass(frozen=True)
class Network:
    """How long the queue of each server's link gets (bytes, as tc takes them), and the nodes' settings of TCP."""

    limit: str
    tcp: Mapping[str, str]

    @property
    def queue(self) -> tuple[str, ...]:
        return ("burst", "128kb", "limit", self.limit)


NETWORKS = {
    # A queue that never drops, and senders that do not back off by themselves: then shares are reproducible.
    "steady": Network("32mb", {"tcp_congestion_control": "reno", "tcp_slow_start_after_idle": "0"}),
    # As machines come, and a queue that drops.
    "usual": Network("512kb", {"tcp_congestion_control": "cubic", "tcp_slow_start_after_idle": "1"}),
}


class Missing(SystemExit):
    """What this machine lacks for a testbed, in one line, with which a program that needs it ends (status 1)."""


def is_installed(command: str) -> bool:
    """Whether there is such a command; or such a file, where a path is given."""
    return shutil.which(command) is not None or Path(command).is_file()


def require(*commands: str) -> None:
    """Raises Missing where the testbed cannot run: not root, no FUSE, no tc, or another of `commands` is missing."""
    if os.geteuid() != 0:
        raise Missing("the testbed needs root")
    for command in ("setpriv", "unshare", "nsenter", "ip", "tc", *commands):
        if not is_installed(command):
            raise Missing(f"the testbed needs {command}")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        raise Missing("the testbed needs /dev/fuse")
    probe = (
        "ip link add try1 type veth peer name try2 && ip link add try3 type bridge && "
        "tc qdisc add dev try1 root tbf rate 1mbit burst 10kb limit 1mb"
    )
    done = subprocess.run(
        ["unshare", "-n", "-m", "-p", "-f", "--kill-child", "sh", "-c", probe],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["refused"])[-1]
        raise Missing(f"the testbed needs namespaces, veth, a bridge and tc's tbf: {reason}")


def isolated(module: str, *arguments: str, timeout: float) -> int:
    """Runs `python -m module arguments` in namespaces of its own that end with it; gives its exit status.

    An interrupt, or the timeout, ends them too.
    """
    own = ["unshare", "-n", "-m", "-p", "-f", "--kill-child", "--mount-proc", "--propagation", "private"]
    command = [*ENDS_WITH_PARENT, *own]
    process = subprocess.Popen(
        [*command, sys.executable, "-m", module, *arguments],
        env=os.environ | {ISOLATED: "1", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return 124
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)  # --kill-child takes the namespace's first process along
            process.wait()


def is_isolated() -> bool:
    """Whether this process is the first of namespaces that `isolated` made."""
    return os.environ.get(ISOLATED) == "1" and os.getpid() == 1


class Node:
    """A namespace with a name, an address and mounts of its own, kept by a sleeping process."""

    def __init__(self, name: str, address: str, tcp: Mapping[str, str]) -> None:
        self.name = name
        self.address = address
        self._sleeper = subprocess.Popen(["unshare", "-n", "-m", "-u", "--propagation", "private", "sleep", "infinity"])
        self.pid = self._sleeper.pid
        wait_for(lambda: _namespace(self.pid) != _namespace("self"), f"namespaces of {name}")
        port = f"p-{name}"
        run("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(self.pid))
        run("ip", "link", "set", port, "master", "switch", "up")
        self.run("hostname", name)
        self.run("ip", "addr", "add", f"{address}/24", "dev", "eth0")
        for interface in ("eth0", "lo"):
            self.run("ip", "link", "set", interface, "up")
        self.run("sh", "-c", "; ".join(f"echo {value} > /proc/sys/net/ipv4/{name}" for name, value in tcp.items()))

    def command(self, *command: str | Path) -> list[str]:
        """A command line that runs `command` on this node."""
        return ["nsenter", "-t", str(self.pid), "-n", "-m", "-u", *map(str, command)]

    def run(self, *command: str | Path) -> None:
        """Runs a command on this node, which must succeed."""
        run(*self.command(*command))

    def start(self, log: Path, *command: str | Path) -> subprocess.Popen[bytes]:
        """Starts a command on this node that stays."""
        with log.open("ab") as output:
            return subprocess.Popen(self.command(*command), stdout=output, stderr=output, stdin=subprocess.DEVNULL)

    def tcp_counters(self) -> dict[str, int]:
        """This node's own TCP counters by name: how often its window closed, and what it sent again."""
        found = {}
        for file, protocol in (("netstat", "TcpExt"), ("snmp", "Tcp")):
            lines = Path(f"/proc/{self.pid}/net/{file}").read_text().splitlines()
            names, values = (line.split()[1:] for line in lines if line.startswith(f"{protocol}:"))
            found |= {name: int(value) for name, value in zip(names, values, strict=True) if name in TCP_COUNTERS}
        return found


class Cluster:
    """Servers and `count` nodes n1, n2, ... around a switch, each server's port being limited to `link`.

    folder: for data, logs and configuration; a tmpfs is mounted on it, and goes with the namespaces. server: the first
    of the servers.
    """

    def __init__(
        self, folder: Path, count: int, link: str = LINK, network: Network = NETWORKS["steady"], servers: int = 1
    ) -> None:
        if not is_isolated():
            raise RuntimeError("a cluster is built in namespaces of its own: see isolated()")
        self.folder = folder
        run("mount", "-t", "tmpfs", "-o", "size=6g", "testbed", folder)
        run("mount", "-t", "tmpfs", "testbed", "/dev/shm")  # what killed jobs leave there goes with the namespaces too
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "switch", "type", "bridge")
        run("ip", "link", "set", "switch", "up")
        self.servers = [Node(f"server{number or ''}", server_address(number), network.tcp) for number in range(servers)]
        self.server = self.servers[0]
        self.nodes = [Node(f"n{number + 1}", _address(FIRST_NODE + number), network.tcp) for number in range(count)]
        self._limit = ("tbf", "rate", link, *network.queue)
        self._limit_links()
        self._write_agent()

    def _limit_links(self) -> None:
        for server in self.servers:
            run("tc", "qdisc", "add", "dev", f"p-{server.name}", "root", *self._limit)
            server.run("tc", "qdisc", "add", "dev", "eth0", "root", *self._limit)

    @contextlib.contextmanager
    def unlimited(self) -> Iterator[None]:
        """Without the servers' limits, so that what is measured later can be made quickly."""
        for server in self.servers:
            run("tc", "qdisc", "del", "dev", f"p-{server.name}", "root")
            server.run("tc", "qdisc", "del", "dev", "eth0", "root")
        yield
        self._limit_links()

    @property
    def agent(self) -> Path:
        """What mpirun calls in place of ssh: HOST COMMAND... runs the command on that node."""
        return self.folder / "agent"

    def _write_agent(self) -> None:
        hosts = "\n".join(f"  {node.name}) pid={node.pid} ;;" for node in self.nodes)
        self.agent.write_text(
            "#!/bin/sh\n"
            "while case $1 in -*) true ;; *) false ;; esac; do shift; done\n"
            f'case $1 in\n{hosts}\n  *) echo "no node $1" >&2; exit 1 ;;\nesac\nshift\n'
            'exec nsenter -t "$pid" -n -m -u sh -c "$*"\n'
        )
        self.agent.chmod(0o755)


def server_address(number: int) -> str:
    """The address of a server by its number, from 0."""
    return _address(_host(SERVER_ADDRESS) + number)


def _host(address: str) -> int:
    return int(address.rpartition(".")[2])


def _address(host: int) -> str:
    return f"{SERVER_ADDRESS.rpartition('.')[0]}.{host}"


def run(*command: str | Path) -> None:
    """Runs a command that must succeed. Raises RuntimeError with what it said."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.returncode}")


def wait_for_port(node: Node, port: int) -> None:
    """Waits until something listens there on `node`."""
    wanted = f":{port:04X} 00000000:0000 0A"
    wait_for(lambda: wanted in Path(f"/proc/{node.pid}/net/tcp").read_text(), f"port {port} of {node.name}")


def wait_for_mount(node: Node, point: Path, file_system: str) -> None:
    """Waits until `point` is a mount of that type on `node`, and a file can be made there."""
    wanted = f" {point} {file_system} "
    wait_for(lambda: wanted in Path(f"/proc/{node.pid}/mounts").read_text(), f"{point} on {node.name}")
    probe = point / f"probe-{node.name}"
    made = node.command("sh", "-c", f"echo > {probe} && rm {probe}")
    wait_for(lambda: subprocess.run(made, capture_output=True, check=False).returncode == 0, f"{file_system}'s answer")


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Waits until `condition` holds. Raises RuntimeError when it takes too long."""
    until = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        if time.monotonic() > until:
            raise RuntimeError(f"waited in vain for {what}")
        time.sleep(0.01)


def _namespace(pid: int | str) -> Sequence[str]:
    return [os.readlink(f"/proc/{pid}/ns/{kind}") for kind in ("net", "mnt", "uts")]
