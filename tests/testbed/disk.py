"""The disk under a directory: which block device it is, whether it takes O_DIRECT, how fast it writes.

`python -m testbed.disk DIRECTORY --transfer BYTES` prints the rate, so that it can be measured from inside a cgroup.
"""

import argparse
import mmap
import os
import tempfile
import threading
import time
from pathlib import Path

MIB = 1 << 20


def block_device(directory: Path) -> tuple[int, int] | None:
    """The (major, minor) of the whole disk that holds `directory`, or None where there is none (as on tmpfs).

    Partitions are resolved to their disk, since cgroups limit disks. File systems with an anonymous device number
    (btrfs) are looked up through the mount's source.
    """
    device = directory.stat().st_dev
    if os.major(device) == 0:
        source = _mount_source(device)
        if source is None or not source.is_block_device():
            return None
        device = source.stat().st_rdev
    node = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    if not node.exists():
        return None
    node = node.resolve()
    if (node / "partition").exists():
        node = node.parent
    major, minor = (node / "dev").read_text().split(":")
    return int(major), int(minor)


def _mount_source(device: int) -> Path | None:
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        if fields.split()[2] == wanted:
            return Path(rest.split()[1])
    return None


def takes_direct(directory: Path) -> bool:
    """Whether files in `directory` can be written with O_DIRECT."""
    with tempfile.NamedTemporaryFile(dir=directory) as file:
        try:
            descriptor = os.open(file.name, os.O_WRONLY | os.O_DIRECT)
        except OSError:
            return False
        try:
            os.pwrite(descriptor, mmap.mmap(-1, 4096), 0)
        except OSError:
            return False
        finally:
            os.close(descriptor)
    return True


def write_mib_s(directory: Path, transfer_bytes: int, flags: int = 0, writers: int = 2, seconds: float = 0.8) -> float:
    """MiB/s at which `writers` threads overwrite a file each with synchronous transfers for about `seconds`.

    `flags` are further flags of open(2), such as O_DIRECT.
    """
    written = [0] * writers
    deadline = time.monotonic() + seconds

    def write(writer: int) -> None:
        with tempfile.NamedTemporaryFile(dir=directory) as file:
            descriptor = os.open(file.name, os.O_WRONLY | flags)
            buffer = mmap.mmap(-1, transfer_bytes)
            offset = 0
            while time.monotonic() < deadline:
                written[writer] += os.pwrite(descriptor, buffer, offset)
                offset = (offset + transfer_bytes) % (64 * MIB)
            os.close(descriptor)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(writers)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(written) / MIB / (time.monotonic() - start)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--transfer", type=int, default=MIB)
    arguments = parser.parse_args()
    print(write_mib_s(arguments.directory, arguments.transfer, os.O_DIRECT))
