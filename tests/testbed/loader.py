"""A data loader as training jobs have one: workers that read many small files over and over, a batch after the other.

`python -m testbed.loader DIRECTORY --workers 3 --epochs 2 --compute 0.01 --start-at EPOCH` prints one line, as
slicewise-load does, with the seconds that its calls took by its own clock. `--prepare N` makes the files instead.
"""

import argparse
import multiprocessing
import os
import time
from pathlib import Path

BATCH_FILES = 4
MIB = 1 << 20


def prepare(directory: Path, count: int, size: int) -> None:
    """Makes `count` files of half to one and a half times `size` bytes, the mean being `size`."""
    directory.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        file = directory / f"sample-{number:05}"
        with file.open("wb") as sample:
            sample.write(os.urandom(size // 2 + size * number // max(count - 1, 1)))
            sample.flush()
            os.fsync(sample.fileno())
            os.posix_fadvise(sample.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read(file: Path) -> int:
    """The bytes of a sample, which is not kept in memory: the set is larger than that, in a real job."""
    with file.open("rb") as sample:
        size = len(sample.read())
        os.posix_fadvise(sample.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return size


def work(files: list[Path], epochs: int, compute: float, start_at: float) -> tuple[float, float, int, float]:
    """Reads the files: when that began and ended, bytes, and seconds in calls."""
    time.sleep(max(0.0, start_at - time.time()))
    began, size, seconds = time.time(), 0, 0.0
    for _ in range(epochs):
        for at in range(0, len(files), BATCH_FILES):
            before = time.time()
            size += sum(map(read, files[at : at + BATCH_FILES]))
            seconds += time.time() - before
            time.sleep(compute)
    return began, time.time(), size, seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="testbed.loader")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--prepare", type=int, default=0, metavar="N")
    parser.add_argument("--size", type=int, default=64 << 10, help="bytes of a file, in the mean")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--compute", type=float, default=0.0, help="seconds after each batch")
    parser.add_argument("--start-at", type=float, default=0.0)
    arguments = parser.parse_args()
    if arguments.prepare:
        prepare(arguments.directory, arguments.prepare, arguments.size)
        return
    files, workers = sorted(arguments.directory.iterdir()), arguments.workers
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        shares = [
            (files[worker::workers], arguments.epochs, arguments.compute, arguments.start_at)
            for worker in range(workers)
        ]
        done = pool.starmap(work, shares, chunksize=1)
    began, ended, sizes, seconds = zip(*done, strict=True)
    took = max(ended) - min(began)
    print(
        f"{workers} processes read {sum(sizes)} bytes in {took:.3f} s: {sum(sizes) / took / MIB:.2f} MiB/s, in calls "
        f"{max(seconds):.3f} s at most, {sum(seconds) / workers:.3f} s in the mean, from {min(began):.3f}"
    )


if __name__ == "__main__":
    main()
