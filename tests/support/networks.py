"""A network of a test's own, of one loopback device, which can be cut."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.programs import need


class Network:
    def __init__(self, pid: int, is_root: bool) -> None:
        users = () if is_root else ("--user", "--preserve-credentials")
        self.enter = ("nsenter", f"--target={pid}", "--net", *users, "--")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self.enter, *command], capture_output=True, text=True, check=False, timeout=60)

    def cut(self) -> None:
        """From now on nothing arrives, and nobody is told so."""
        self._set("down")

    def heal(self) -> None:
        self._set("up")

    def _set(self, state: str) -> None:
        subprocess.run([*self.enter, "ip", "link", "set", "lo", state], check=True)


@contextmanager
def network() -> Iterator[Network]:
    need("unshare", "nsenter", "ip")
    is_root = os.geteuid() == 0
    users = () if is_root else ("--user", "--map-root-user")
    holder = subprocess.Popen(
        ["unshare", "--net", *users, "sh", "-c", "ip link set lo up && echo up && exec sleep 600"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert holder.stdout is not None
        if holder.stdout.readline() != b"up\n":
            pytest.skip("making a network namespace is not allowed here")
        yield Network(holder.pid, is_root)
    finally:
        holder.kill()
        holder.wait()
