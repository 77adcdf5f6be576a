"""A disk that is slower than the link to its server: a loop device whose reads and writes are limited apart.

The limit is that of the root's control group, which version 1 holds responsible for what the kernel writes back. So it
stays when whoever set it is gone: `made` is used outside of the namespaces that end with a campaign.
"""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from testbed import cgroup, nodes

MIB_S = 12
SIZE = "6G"
# The same in each session, so that its runs are known to be on the same file system.
UUID = "77770000-0000-4000-8000-000000000003"
DEVICE = "TESTBED_DISK"


@contextlib.contextmanager
def made() -> Iterator[None]:
    """The disk, with an empty file system; DEVICE in the environment says which it is. Its data are in memory."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="testbed-disk-") as folder:
        image = Path(folder) / "disk.img"
        nodes.run("truncate", "-s", SIZE, image)
        nodes.run("mkfs.ext4", "-q", "-U", UUID, "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
        os.environ[DEVICE] = subprocess.check_output(["losetup", "--find", "--show", str(image)], text=True).strip()
        try:
            _limit(MIB_S)
            yield
        finally:
            _limit(0)
            nodes.run("losetup", "--detach", os.environ.pop(DEVICE))


@contextlib.contextmanager
def unlimited() -> Iterator[None]:
    """Without its limit, so that what is measured later can be made quickly."""
    _limit(0)
    yield
    _limit(MIB_S)


def _limit(mib_s: int) -> None:
    """0: no limit."""
    major, minor = Path(f"/sys/block/{Path(os.environ[DEVICE]).name}/dev").read_text().split(":")
    cgroup.limit_blkio(cgroup.blkio_root(), (int(major), int(minor)), mib_s << 20, ("read", "write"))
