"""TCP connections to storage: what the collector samples of each is what the kernel tells `ss` of it."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator

import polars as pl
import pytest
from slicewise.analysis.nodes.causes import moved
from slicewise.digest.digest import Digest
from support import networks
from support.command_line import completed
from support.networks import Network
from support.programs import APPS, COLLECTOR, Job
from support.waiting import wait_until

PORT = 7001
SLICE_SECONDS = 0.2


@pytest.fixture
def network() -> Iterator[Network]:
    with networks.network() as made:
        assert made.run("ip", "link", "set", "lo", "mtu", "1500").returncode == 0
        yield made


class Pair:
    """A profiled job whose one process writes to a server of its own (tests/apps/tcp_pair.py), and its collector."""

    def __init__(self, job: Job, network: Network, size: int, reads_per_second: float) -> None:
        self._network = network
        settings = {"SLICEWISE_STORAGE_PORTS": str(PORT), "SLICEWISE_SLICE": str(SLICE_SECONDS)}
        quiet = job.environment(settings | {"LD_PRELOAD": ""})
        self._collector = subprocess.Popen(
            [*network.enter, COLLECTOR, "node"], env=quiet, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        wait_until(lambda: any(f".{self._collector.pid}." in path.name for path in job.segments()))
        self._program = subprocess.Popen(
            [*network.enter, sys.executable, APPS / "tcp_pair.py", str(PORT), str(size), str(reads_per_second)],
            env=job.environment(settings),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def wait_until_written(self) -> None:
        assert self._program.stdout is not None
        assert self._program.stdout.readline() == b"written\n"

    def told_by_ss(self) -> dict[str, int]:
        """The kernel's counts of the client's end: bytes and segments, and milliseconds of what `ss` tells so."""
        text = self._network.run("ss", "-tinH", "dport", "=", f":{PORT}").stdout
        found = {name: int(value) for name, value in re.findall(r"(\w+):(\d+)(?:ms)?(?=[ (\n]|$)", text)}
        again = re.search(r"retrans:\d+/(\d+)", text)
        return found | {"retrans": int(again.group(1)) if again else 0}

    def end(self) -> str:
        """Ends the collector while the connection is there, then the program; what the collector complained of."""
        self._collector.terminate()
        _, errors = self._collector.communicate(timeout=60)
        self._program.communicate(timeout=60)
        return errors


# The kernel's name in `ss`, the profile's column, and how many of its unit are one of that of `ss`.
COUNTS = (
    ("bytes_acked", "sent_bytes", 1), ("segs_out", "sent_segments", 1), ("retrans", "retransmissions", 1),
    ("busy", "busy_ns", 1e6), ("rwnd_limited", "window_limited_ns", 1e6), ("sndbuf_limited", "buffer_limited_ns", 1e6),
)  # fmt: skip


def client_of(job: Job) -> dict[str, float]:
    """The sums over slices of the client's end of the connection."""
    profile = job.profile()
    names = profile.node_devices.filter(pl.col("kind") == "connection").select("process", "device", "name")
    rows = profile.node_connections.join(names, on=["process", "device"]).with_columns(pl.col("name").cast(pl.String))
    is_client = pl.col("name").str.starts_with(f"127.0.0.1:{PORT} from port")
    assert rows.filter(~is_client)["name"].str.ends_with(f" to port {PORT}").all()
    client = rows.filter(is_client)
    assert client["name"].n_unique() == 1
    assert client["connections"].max() == 1
    return {column: float(client[column].sum()) for _, column, _ in COUNTS}


def assert_between(sampled: dict[str, float], before: dict[str, int], after: dict[str, int]) -> None:
    """The last sample was taken between two calls of `ss`, which tells whole milliseconds."""
    for name, column, scale in COUNTS:
        least, most = before.get(name, 0) * scale, after.get(name, 0) * scale
        assert least - scale * (scale > 1) <= sampled[column] <= most + scale * (scale > 1), (column, before, after)


def signals_of(job: Job) -> dict[str, float]:
    """The mean of each signal of the client's end while the job ran."""
    rows = moved(Digest(job.profile())).filter(pl.col("device").str.contains(" from port "))
    return dict(rows.select("signal", "mean").iter_rows())


def test_a_slow_reader_closes_its_window(job, network):
    pair = Pair(job, network, 32 << 20, 20)
    pair.wait_until_written()
    time.sleep(2 * SLICE_SECONDS)
    before = pair.told_by_ss()
    time.sleep(0.01)
    assert pair.end() == ""
    # The program has ended since, and `ss` does not know the connection any more: there is no upper bound.
    sampled = client_of(job)
    for name, column, scale in COUNTS:
        assert sampled[column] >= before.get(name, 0) * scale - scale * (scale > 1), (column, before)
    assert sampled["window_limited_ns"] > 0.5e9
    assert sampled["window_limited_ns"] <= sampled["busy_ns"]
    signals = signals_of(job)
    assert signals["connection_window_limited"] > 0.3
    done = completed("report", "--detail", "--json", job.spool_dir, directory=job.folder)
    told = {row["signal"] for row in json.loads(done.stdout)["nodes"] if row["kind"] == "connection"}
    assert "connection_window_limited" in told


def test_a_small_queue_that_drops_makes_segments_be_sent_again(job, network):
    queue = ("tbf", "rate", "80mbit", "burst", "4kb", "limit", "12kb")
    assert network.run("tc", "qdisc", "add", "dev", "lo", "root", *queue).returncode == 0
    pair = Pair(job, network, 8 << 20, 0)
    pair.wait_until_written()
    wait_until(lambda: pair.told_by_ss().get("bytes_acked", 0) > 8 << 20)
    before = pair.told_by_ss()
    after = pair.told_by_ss()
    assert before["bytes_acked"] == after["bytes_acked"]
    assert pair.end() == ""
    sampled = client_of(job)
    assert_between(sampled, before, after)
    assert sampled["retransmissions"] > 0
    assert signals_of(job)["connection_retransmissions"] > 0


def test_a_kernel_that_refuses_costs_one_line(job):
    """A collector that may not ask: `socket` fails for it as in a sandbox that allows no netlink."""
    shim = job.folder / "refused.c"
    shim.write_text(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <errno.h>\n#include <sys/socket.h>\n"
        "int socket(int family, int type, int protocol) { if (family == AF_NETLINK) { errno = EPERM; return -1; }\n"
        'return ((int (*)(int, int, int))dlsym(RTLD_NEXT, "socket"))(family, type, protocol); }\n'
    )
    library = job.folder / "refused.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, shim], check=True)
    settings = {"SLICEWISE_STORAGE_PORTS": str(PORT), "SLICEWISE_SLICE": "0.1", "LD_PRELOAD": str(library)}
    collector = subprocess.Popen(
        [COLLECTOR, "node"], env=job.environment(settings), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    time.sleep(0.5)
    collector.terminate()
    _, errors = collector.communicate(timeout=60)
    assert collector.returncode == 0
    assert errors.splitlines() == [
        "slicewise: TCP connections to storage are not sampled: the kernel does not tell of them "
        "(Operation not permitted)"
    ]
