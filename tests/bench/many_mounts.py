"""Runs a command on a machine with many mounts: a second kind of machine for the benches, whose own has few.

    python many_mounts.py COUNT DIR COMMAND ARGUMENT...

COUNT file systems are mounted below DIR, in a mount namespace of the command's own, which takes them with it. It takes
root, and no program but the kernel: a thousand of mount's would take longer than what is measured."""

import ctypes
import os
import sys
from pathlib import Path

NEW_NAMESPACE, RECURSIVELY, PRIVATE = 0x20000, 0x4000, 0x40000


def main() -> None:
    """Mount, and become the command."""
    count, directory, command = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    libc = ctypes.CDLL(None, use_errno=True)

    def must(failed: int) -> None:
        if failed:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    must(libc.unshare(NEW_NAMESPACE))
    must(libc.mount(b"none", b"/", None, ctypes.c_ulong(RECURSIVELY | PRIVATE), None))
    for number in range(count):
        place = directory / f"mount{number}"
        place.mkdir(parents=True, exist_ok=True)
        must(libc.mount(b"bench", str(place).encode(), b"tmpfs", ctypes.c_ulong(0), None))
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
