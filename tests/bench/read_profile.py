"""How fast a large profile reads, and in how much memory, beside merely unpacking its bytes.

Builds, in a temporary directory, the profile of 1,024 processes on 20 nodes over 15 minutes: 225 slices of 4 s, each
with a POSIX row and a kernel row. Reading runs in a process of its own, for its peak memory. Prints one line of
results; exit status 1 if reading takes more than MOST_SECONDS or MOST_MIB.

    build/venv/bin/python tests/bench/read_profile.py [--bins]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.swz import LAST_FRAME, Frames, Writer

PROCESSES, NODES, SLICES, SLICES_A_FRAME = 1024, 20, 225, 32
FIRST_SLICE = 425_000_000
MOST_SECONDS, MOST_MIB = 2.0, 300


def build(directory: Path) -> Path:
    """Write the profile: busy POSIX rows with filled bins, kernel rows beside them."""
    writer = Writer()
    random = np.random.default_rng(1)
    files = [Frames([writer.schema_frame()]) for _ in range(NODES)]
    for process in range(1, PROCESSES + 1):
        node = process % NODES
        head = writer.rows("processes", [{"job": "48213", "pid": process, "rank": process - 1, "host": f"n{node:02}"}])
        head += writer.rows("mounts", [{"mount": 0, "object": "process", "point": "", "type": "", "source": ""}, {}])
        for number, begin in enumerate(range(0, SLICES, SLICES_A_FRAME)):
            slices = np.arange(begin, min(begin + SLICES_A_FRAME, SLICES)) + FIRST_SLICE
            payload = (head if number == 0 else b"") + writer.chunk("slices", _rows(slices, random))
            last = LAST_FRAME if begin + SLICES_A_FRAME >= SLICES else 0
            files[node].frames.append(writer.frame(process, number, payload, last))
    for node, file in enumerate(files):
        file.write(directory / f"n{node:02}.swz")
    return directory


def _rows(slices: np.ndarray, random: np.random.Generator) -> dict[str, np.ndarray]:
    """A POSIX row and a kernel row of each slice, with every kind of value a busy process has."""
    count = len(slices)
    is_posix = np.repeat([1, 0], count)

    def values(most: int, kernel_too: bool = False) -> np.ndarray:
        return random.integers(1, most, 2 * count) * (1 if kernel_too else is_posix)

    ops = values(400)
    return {
        "mount": is_posix,
        "layer": np.where(is_posix, 0, 4),
        "slice": np.tile(slices, 2),
        "read_ops": values(50, kernel_too=True),
        "write_ops": values(400, kernel_too=True),
        "meta_ops": values(20),
        "sync_ops": values(3),
        "read_bytes": values(1 << 22, kernel_too=True),
        "write_bytes": values(1 << 30, kernel_too=True),
        "read_ns": values(1 << 28),
        "write_ns": values(1 << 31),
        "meta_ns": values(1 << 24),
        "sync_ns": values(1 << 24),
        "read_slowest_ns": values(1 << 24),
        "write_slowest_ns": values(1 << 28),
        "write_sequential": ops // 2,
        "write_consecutive": ops // 3,
        "threads": is_posix,
        "kernel_read_bytes": values(1 << 22, kernel_too=True) * (1 - is_posix),
        "kernel_write_bytes": values(1 << 30, kernel_too=True) * (1 - is_posix),
        "write_size_6": ops,
        "read_size_2": values(50),
        **{f"write_latency_{number}": values(100) for number in range(10, 16)},
        **{f"read_latency_{number}": values(20) for number in range(8, 12)},
        **{f"meta_latency_{number}": values(20) for number in range(4, 8)},
    }


def unpack_alone(directory: Path) -> float:
    """Seconds to read all files, unpack all frames and touch every byte of them, as the least that any reader does."""
    import zstandard

    begin = time.perf_counter()
    for file in directory.iterdir():
        with file.open("rb") as packed:
            reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
            while block := reader.read(1 << 20):
                np.frombuffer(block, np.uint8).sum()
    return time.perf_counter() - begin


def read(directory: str, bins: bool) -> None:
    """Read once and print seconds, rows and peak MiB of this process."""
    from slicewise.profile.reader import read_profile

    begin = time.perf_counter()
    profile = read_profile(directory, bins=bins)
    seconds = time.perf_counter() - begin
    assert not profile.damage, profile.damage
    print(seconds, len(profile.slices), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> int:
    if sys.argv[1:2] == ["--read"]:
        read(sys.argv[2], "--bins" in sys.argv)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        directory = build(Path(temporary) / "48213")
        packed = sum(file.stat().st_size for file in directory.iterdir())
        baseline = unpack_alone(directory)
        bins = [argument for argument in sys.argv[1:] if argument == "--bins"]
        printed = subprocess.run(
            [sys.executable, __file__, "--read", str(directory), *bins], check=True, capture_output=True, text=True
        ).stdout
    seconds, rows, mib = (float(word) for word in printed.split())
    print(
        f"read_profile{' with bins' if bins else ''}: {rows:,.0f} rows of {packed / 2**20:.1f} MiB in {seconds:.2f} s "
        f"({seconds / baseline:.1f} times unpacking alone), peak {mib:.0f} MiB"
    )
    return int(not bins and (seconds > MOST_SECONDS or mib > MOST_MIB))


if __name__ == "__main__":
    sys.exit(main())
