"""What reading costs, in the same run as unpacking the very frames and as reading the same table from Parquet.

    make bench-analyzer                         all shapes
    make bench-analyzer ANALYZER="--check"      one of some size; exit status 1 if it is far from its budgets

CPU seconds of all threads, the least of ROUNDS alternating rounds; so that a busy machine does not spoil the ratios.
`twice` is by how much reading grows where the work doubles: linear is 2.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import zstandard
from bench.profiles import Shape, build
from slicewise.profile.reading import Reading, Want, read

ROUNDS = 5
SHAPES = {
    "1,024 processes x 15 min": Shape(1024, 225, has_collector=True),
    "10,000 short processes": Shape(10_000, 1, has_collector=True),
    "24 h of one process": Shape(1, 21_600, has_collector=True),
    "24 h, samples in batches": Shape(1, 21_600, has_collector=True, samples_a_frame=64),
    "500 jobs of 4 processes x 3 min": Shape(4, 45, jobs=500, has_collector=True),
}
CHECKED = Shape(256, 225, has_collector=True)
# Coarse: more than twice what is measured, so that only a change of kind passes them.
MOST_TIMES_UNPACKING, MOST_TIMES_TWICE = 10.0, 3.5
# Where other programs share caches and memory with this one, what reading takes grows more than what unpacking takes.
ATTEMPTS = 4
TABLES = ("processes", "mounts", "slices", "files", "calls", "mishaps", "nodes", "node_devices", "node_slices")
TABLES += ("node_networks", "node_blocks")
SUMS = {"distributions": Want("slices", bins=True, summed_over=("slice",))}


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of this process, system time included."""
    before = time.process_time()
    work()
    return time.process_time() - before


def least(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Of each the least of ROUNDS, in turns."""
    found = {name: float("inf") for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            found[name] = min(found[name], cpu(work))
    return found


def unpack(files: list[Path]) -> None:
    """Unpack all frames, a MiB at a time."""
    for file in files:
        with file.open("rb") as packed:
            reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
            while reader.read(1 << 20):
                pass


def measure(jobs: list[Path], parquet: Path) -> dict[str, float]:
    """Seconds: all tables, few columns, sums of bins; unpacking; the slices from Parquet."""
    files = [file for job in jobs for file in sorted(job.iterdir())]
    slices = read(jobs, ["slices"]).tables["slices"]
    slices.write_parquet(parquet)
    found = least(
        {
            "read": lambda: read(jobs, TABLES),
            "columns": lambda: read(jobs, ["slices"], {"slices": ["read_bytes", "write_bytes"]}),
            "bins": lambda: read(jobs, SUMS),
            "unpack": lambda: unpack(files),
            "parquet": lambda: pl.read_parquet(parquet),
        }
    )
    return found | {"rows": slices.height, "bytes": sum(file.stat().st_size for file in files)}


def check(shape: Shape) -> bool:
    """Whether reading keeps to its budgets: by ratios within a round, the least of all rounds.

    All that is compared runs in turns, so that what else the machine does concerns them alike; and once more where it
    does too much.
    """
    with tempfile.TemporaryDirectory() as temporary:
        jobs = build(Path(temporary) / "jobs", shape)
        twice = build(Path(temporary) / "twice", shape.doubled())
        files = [file for job in jobs for file in sorted(job.iterdir())]
        times_unpacking = times_twice = float("inf")
        for _ in range(ATTEMPTS * ROUNDS):
            unpacked, once = cpu(lambda: unpack(files)), cpu(lambda: read(jobs, TABLES))
            times_unpacking = min(times_unpacking, once / unpacked)
            times_twice = min(times_twice, cpu(lambda: read(twice, TABLES)) / once)
            if times_unpacking < MOST_TIMES_UNPACKING and times_twice < MOST_TIMES_TWICE:
                break
    print(f"reading took {times_unpacking:.1f} times unpacking (at most {MOST_TIMES_UNPACKING:g}); twice the work took "
          f"{times_twice:.2f} times as long (at most {MOST_TIMES_TWICE:g})")  # fmt: skip
    return times_unpacking < MOST_TIMES_UNPACKING and times_twice < MOST_TIMES_TWICE


def peak(jobs: list[Path]) -> float:
    """MiB that a process has at most that reads the jobs and does nothing else."""
    command = [sys.executable, "-m", "bench.analyzer", "--peak", *map(str, jobs)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def read_for_peak(jobs: list[str]) -> Reading:
    """Reads them, and prints what that took: of its own, which getrusage does not tell of a process that was forked."""
    reading = read(jobs, TABLES)
    print(int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024)
    return reading


def row(name: str, shape: Shape) -> dict[str, float]:
    """Measure a shape, and one of twice its size."""
    with tempfile.TemporaryDirectory() as temporary:
        jobs = build(Path(temporary) / "jobs", shape)
        twice = build(Path(temporary) / "twice", shape.doubled())
        found = measure(jobs, Path(temporary) / "slices.parquet")
        found["twice"] = least({"twice": lambda: read(twice, TABLES)})["twice"] / found["read"]
        found["peak"] = peak(jobs)
    print(
        f"{name:32} {found['rows']:>9,} {found['bytes'] / 2**20:7.1f} {found['read']:8.3f} {found['unpack']:8.3f} "
        f"{found['read'] / found['unpack']:6.1f} {found['columns'] / found['unpack']:8.1f} "
        f"{found['bins'] / found['unpack']:6.1f} {found['read'] / found['parquet']:8.1f} {found['twice']:6.2f} "
        f"{found['peak']:6.0f}" + (f"   {shape.jobs / found['read']:,.0f} jobs/s" if shape.jobs > 1 else ""),
        flush=True,
    )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="one shape, against its budgets")
    parser.add_argument("--peak", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", type=Path, help="results as JSON")
    options = parser.parse_args()
    if options.peak:
        read_for_peak(options.peak)
        return 0
    if options.check:
        return 0 if check(CHECKED) else 1
    print(
        f"{'':32} {'rows':>9} {'MiB':>7} {'read s':>8} {'unpack s':>8} {'times':>6} {'columns':>8} {'sums':>6} "
        f"{'parquet':>8} {'twice':>6} {'MiB':>6}"
    )
    results = {name: row(name, shape) for name, shape in SHAPES.items()}
    if options.output:
        options.output.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
