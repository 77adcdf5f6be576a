"""A job of some processes, each of which writes a file of its own: `python -m testbed.writer FILE... --mib 16`.

All begin at `--start-at`, when their files are open, and sync them at the end. It has no MPI, so that it costs the
machine little. One line is printed, with the seconds that the writing took by its own clock.
"""

import argparse
import os
import time
from pathlib import Path

MIB = 1 << 20


def write(file: Path, size: int, call: int, rate: float | None, start_at: float, *, is_stored_by_call: bool) -> None:
    """Writes `size` bytes in calls of `call` bytes, no faster than `rate` bytes a second, and removes the file."""
    flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | (os.O_DSYNC if is_stored_by_call else 0)
    descriptor = os.open(file, flags, 0o600)
    data = os.urandom(call)
    time.sleep(max(0.0, start_at - time.time()))
    began = time.time()
    for written in range(0, size, call):
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        if rate is not None:
            time.sleep(max(0.0, began + (written + call) / rate - time.time()))
    os.fsync(descriptor)
    os.close(descriptor)
    file.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(prog="testbed.writer")
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--mib", type=float, default=16, help="of each file")
    parser.add_argument("--call", type=int, default=256, help="KiB of a call")
    parser.add_argument("--rate", type=float, help="MiB/s of each process at most")
    parser.add_argument("--dsync", action="store_true", help="each call is stored before the next begins")
    parser.add_argument("--start-at", type=float, default=0.0)
    arguments = parser.parse_args()
    rate = arguments.rate and arguments.rate * MIB
    children = []
    for file in arguments.files:
        child = os.fork()
        if child == 0:
            size, call = int(arguments.mib * MIB), arguments.call << 10
            write(file, size, call, rate, arguments.start_at, is_stored_by_call=arguments.dsync)
            os._exit(0)
        children.append(child)
    failed = [child for child in children if os.waitpid(child, 0)[1] != 0]
    print(f"{len(children)} processes wrote {arguments.mib:g} MiB each in {time.time() - arguments.start_at:.3f} s")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
