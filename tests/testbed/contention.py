"""Contention for storage between processes of one machine: the best that can be had here, measured before it is used.

`contention(directory)` is a context manager; what it made is gone afterwards, whatever happened inside. A process
joins by calling `.join()` before it execs. Methods, best first:

- blkio: a control group (v1) that limits what its members together write to the disk; with O_DIRECT each process then
  has one request in the queue, so that the disk is shared by process;
- io.max: the same with version 2;
- disk: the disk as it is, with O_DIRECT where it can be, and every transfer stored before the next begins.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from testbed import cgroup, disk

LIMIT_MIB_S = 40
_LIMITERS = {"blkio": cgroup.blkio, "io.max": cgroup.io_max}


@dataclass(frozen=True)
class Contention:
    """Storage that processes share, and how to write to it so that they do."""

    method: str
    meaning: str
    mib_s: float  # of a few writers together
    transfer_bytes: int
    is_direct: bool
    is_dsync: bool
    refused: tuple[str, ...]  # why better methods could not be had
    group: Path | None = None

    def join(self) -> None:
        """Puts the calling process under the limit; for use between fork and exec."""
        if self.group is not None:
            (self.group / "cgroup.procs").write_text(str(os.getpid()))


class _Unavailable(Exception):
    """Why a method cannot be had here."""


@contextlib.contextmanager
def contention(directory: Path) -> Iterator[Contention]:
    """The best contention that can be had for files in `directory`."""
    with contextlib.ExitStack() as made:
        refused: list[str] = []
        for method in _LIMITERS:
            with contextlib.ExitStack() as tried:
                try:
                    found = _limited_disk(method, directory, tried, refused)
                except (_Unavailable, OSError) as reason:
                    refused.append(f"{method}: {reason}")
                    continue
                made.push(tried.pop_all())
                break
        else:
            found = _plain_disk(directory, refused)
        yield found


def _limited_disk(method: str, directory: Path, made: contextlib.ExitStack, refused: list[str]) -> Contention:
    """The disk behind a control group's limit, once the limit has shown that it holds."""
    device = disk.block_device(directory)
    if device is None:
        raise _Unavailable(f"{directory} is not on a local disk")
    if not disk.takes_direct(directory):
        raise _Unavailable(f"the file system of {directory} does not take O_DIRECT")
    group = made.enter_context(_LIMITERS[method](device, LIMIT_MIB_S * disk.MIB))
    found = Contention(
        method=method,
        meaning=f"a control group limits what both jobs together write to the disk to {LIMIT_MIB_S} MiB/s; O_DIRECT",
        mib_s=LIMIT_MIB_S, transfer_bytes=disk.MIB, is_direct=True, is_dsync=False, refused=tuple(refused), group=group,
    )  # fmt: skip
    measured = _measure_within(found, directory)
    if not 0.5 * LIMIT_MIB_S < measured < 1.5 * LIMIT_MIB_S:
        raise _Unavailable(f"its limit of {LIMIT_MIB_S} MiB/s does not hold: {measured:.0f} MiB/s")
    return found


def _measure_within(limited: Contention, directory: Path) -> float:
    command = [sys.executable, "-m", "testbed.disk", str(directory), "--transfer", str(limited.transfer_bytes)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run(command, env=environment, preexec_fn=limited.join, capture_output=True, text=True, timeout=30)
    if done.returncode != 0:
        raise _Unavailable((done.stderr.strip().splitlines() or ["nothing could be measured"])[-1])
    return float(done.stdout)


def _plain_disk(directory: Path, refused: list[str]) -> Contention:
    is_direct = disk.takes_direct(directory)
    transfer_bytes = 64 << 10
    return Contention(
        method="disk",
        meaning="the disk as it is, each transfer stored before the next begins" + ("; O_DIRECT" if is_direct else ""),
        mib_s=disk.write_mib_s(directory, transfer_bytes, os.O_DSYNC | (os.O_DIRECT if is_direct else 0), writers=4),
        transfer_bytes=transfer_bytes,
        is_direct=is_direct,
        is_dsync=True,
        refused=tuple(refused),
    )
