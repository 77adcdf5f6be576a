"""What whole commands cost on jobs of all sizes: time and memory, beside unpacking and Parquet, and as work doubles.

    make bench-analyzer                            reading (analyzer.py), then this table
    make bench-commands                            this table alone
    make bench-commands COMMANDS="--only 1,024"    rows whose name has these words

Each command is a process of its own, and start of the interpreter, imports and page included. Of ROUNDS the least CPU
seconds, wall seconds and peak memory are told. `unpacked` and `parquet` are CPU seconds over those of unpacking all
frames, and of reading the table of slices from Parquet; `twice` is by how much the CPU seconds above those of a tiny
job grow where the work doubles: linear is 2. With jobs after real ones (varied.py) blame and report of a job beside
large ones, and beside many, are held against blame of the same job by itself: the first time, and again.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from bench.analyzer import cpu, unpack
from bench.profiles import Shape, build
from bench.varied import Varied, write
from slicewise.profile.reading import read

MEASURE = (sys.executable, "-I", "-S", str(Path(__file__).with_name("peak.py")))
SLICEWISE = (sys.executable, "-I", "-m", "slicewise")
LOAD = (
    sys.executable, "-I", "-c", "import sys; from slicewise.digest.digest import read_digest; "
    "read_digest(sys.argv[1], distributions=True).process_slices", "JOB",
)  # fmt: skip
# What `slicewise run` says when a job has ended, while its nodes are still held.
ENDING = (
    sys.executable, "-I", "-c", "import sys; from pathlib import Path; from slicewise.running import run; "
    "run._tell_what_was_seen(Path(sys.argv[1]), 1)", "JOB",
)  # fmt: skip
INFO = (*SLICEWISE, "report", "--detail", "JOB")
REPORT = (*SLICEWISE, "report", "JOB", "--html", "PAGE")
BLAME = (*SLICEWISE, "blame", "JOB", "--html", "PAGE")
# With a run to compare with, so that neighbours are named.
NAMED = (*SLICEWISE, "blame", "JOB", "--alone", "ALONE", "--html", "PAGE")
INGEST = (*SLICEWISE, "catalog", "ingest", "PAGE", "JOB")
OVERLAP = (*SLICEWISE, "overlap", "JOBS", "--html", "PAGE")
ROUNDS = 3
# What large neighbours a small job has; how many small ones.
LARGE, MANY, INGESTED = (256, 1024, 4096), 2000, (500, 2000, 10_000)
SMALL = Varied(2, 3, first=100, host="s")
# CPU seconds and MiB that are to be reached beside large jobs and beside many, by an ingest, and by an overlap.
BESIDE, TAKEN_IN, OVERLAPPED = {"large": (1.5, 250), "many": (1.0, 250)}, (None, 300), (2.0, None)
OVERLAPPING = 21


@dataclass(frozen=True)
class Row:
    """A row of the table. limits: of wall seconds and MiB that are to be reached on two quiet cores."""

    command: tuple[str, ...]
    seconds: float
    mib: float | None = None


TINY = Shape(1, 8)
SHAPES: dict[str, tuple[Shape, dict[str, Row]]] = {
    "a tiny job": (TINY, {"--help": Row((*SLICEWISE, "--help"), 0.15), "info": Row(INFO, 0.35)}),
    "1,024 processes x 15 min": (
        Shape(1024, 225, has_collector=True),
        {"info": Row(INFO, 1.0, 300), "report": Row(REPORT, 2.0, 300)},
    ),
    "10,000 short processes": (Shape(10_000, 1, has_collector=True), {"info": Row(INFO, 1.5)}),
    "24 h of one process": (Shape(1, 21_600, has_collector=True), {"info": Row(INFO, 0.7)}),
    "4,096 processes x 1 h": (
        Shape(4096, 900, has_collector=True),
        {"load": Row(LOAD, 5.0, 1024), "ending": Row(ENDING, 5.0, 512), "report": Row(REPORT, 10.0, 1024)},
    ),
    "16,384 processes x 10 min": (
        Shape(16_384, 150, has_collector=True, processes_a_node=64),
        {"report": Row(REPORT, 15.0, 1536)},
    ),
}


def run(command: tuple[str, ...], job: Path, page: Path) -> dict[str, float]:
    """What a command took; its output is thrown away. job: or, for JOBS, the directory of several."""
    known = {"JOB": [job], "JOBS": sorted(job.iterdir()) if "JOBS" in command else [], "PAGE": [page]}
    known["ALONE"] = [job.parents[1] / "alone" / "job"]
    words = [str(one) for word in command for one in known.get(word, [word])]
    done = subprocess.run([*MEASURE, *words], check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def least(command: tuple[str, ...], job: Path, page: Path, rounds: int) -> dict[str, float]:
    """The least of each figure over some rounds."""
    found = [run(command, job, page) for _ in range(rounds)]
    return {name: min(one[name] for one in found) for name in found[0]}


def floors(job: Path, parquet: Path) -> dict[str, float]:
    """CPU seconds of unpacking all frames, and of reading the slices from Parquet."""
    files = sorted(job.iterdir())
    read([job], ["slices"]).tables["slices"].write_parquet(parquet)
    return {
        "unpacked": min(cpu(lambda: unpack(files)) for _ in range(ROUNDS)),
        "parquet": min(cpu(lambda: pl.read_parquet(parquet)) for _ in range(ROUNDS)),
    }


def measure(name: str, shape: Shape, rows: dict[str, Row], directory: Path, rounds: int, grows: bool) -> list[dict]:
    """All rows of a shape, printed as they come."""
    page = directory / "page"
    (job,) = build(directory / "job", shape)
    floor = json.loads(subprocess.run(
        [sys.executable, "-m", "bench.commands", "--floors", job, directory / "slices.parquet"],
        check=True, capture_output=True, text=True,
    ).stdout)  # fmt: skip
    (twice,) = build(directory / "twice", shape.doubled()) if grows and shape != TINY else (None,)
    (tiny,) = build(directory / "tiny", TINY)
    results = []
    for command, row in rows.items():
        found = least(row.command, job, page, rounds) | {"name": name, "command": command}
        found["page"] = page.stat().st_size if page.exists() else 0
        found |= {f"times_{what}": found["cpu"] / seconds for what, seconds in floor.items()}
        if twice is not None:
            start = least(row.command, tiny, page, 1)["cpu"]
            found["twice"] = (run(row.command, twice, page)["cpu"] - start) / max(found["cpu"] - start, 0.01)
        page.unlink(missing_ok=True)
        results.append(found)
        wanted = f"{row.seconds:g} s" + (f", {row.mib:,.0f} MiB" if row.mib else "")
        ratios = f"{found['times_unpacked']:8.1f} {found['times_parquet']:8.1f}" if shape != TINY else f"{'':17}"
        print(
            f"{name:28} {command:9} {found['wall']:7.2f} {found['cpu']:7.2f} {found['peak']:8,.0f} "
            f"{found['page'] / 2**20:6.1f} {ratios} {found.get('twice', float('nan')):6.2f}   {wanted}",
            flush=True,
        )
    return results


def told(
    name: str, command: str, found: dict[str, float], alone: dict[str, float],
    wanted: tuple[float | None, int | None] = (None, None),
) -> dict[str, float | str]:  # fmt: skip
    """A row that is held against the same command of a job by itself, printed. wanted: CPU seconds and MiB at most."""
    limits = ", ".join(f"{most:g} {unit}" for most, unit in zip(wanted, ("s", "MiB"), strict=True) if most)
    print(
        f"{name:36} {command:8} {found['wall']:7.2f} {found['cpu']:7.2f} {found['peak']:8,.0f} "
        f"{found['cpu'] / alone['cpu']:8.1f} {found['peak'] / alone['peak']:8.1f}   {limits}",
        flush=True,
    )
    return found | {"name": name, "command": command}


def measure_beside(directory: Path) -> list[dict]:
    """A small job beside large ones and beside many: with an empty cache of the user's, and again."""
    page = directory / "page"
    alone = run(BLAME, write(directory / "alone" / "job", SMALL, 9_999), page)
    results = [told("2 processes x 12 s alone", "blame", alone, alone)]
    for number, processes in enumerate(LARGE, 2):
        write(directory / "large" / f"{processes}", Varied(processes, 225, host=f"n{number}-"), number)
    for number in range(MANY):
        small = Varied(4, 6, first=90 + number % 20, files=10, sites=4, host=f"m{number % 50}-")
        write(directory / "many" / f"{number}", small, 100 + number)
    for name, of in (("256, 1,024 and 4,096 x 15 min", "large"), (f"{MANY:,} small jobs", "many")):
        job = write(directory / of / "job", SMALL)
        for words, command in (("", BLAME), (" again", BLAME), (", named", NAMED), (" again", REPORT)):
            results.append(told(f"beside {name}{words}", command[4], run(command, job, page), alone, BESIDE[of]))
    return results


def measure_overlap(directory: Path) -> list[dict]:
    """Jobs of 64 processes, and all of them side by side."""
    for number in range(OVERLAPPING):
        write(directory / "jobs" / f"{number:02}", Varied(64, 225, first=number % 5, host=f"o{number}-"), 500 + number)
    found = run(OVERLAP, directory / "jobs", directory / "page")
    return [told(f"{OVERLAPPING} jobs of 64 x 15 min", "overlap", found, found, OVERLAPPED)]


def measure_ingest(directory: Path) -> list[dict]:
    """What an ingest takes as jobs become more."""
    results, first = [], None
    for number in range(max(INGESTED)):
        shape = Varied(2, 6, first=number % 2000, files=10, sites=4, host=f"m{number % 50}-")
        write(directory / "jobs" / f"{number}", shape, 10_000 + number)
        if number + 1 in INGESTED:
            found = run(INGEST, directory / "jobs", directory / f"catalog-{number}")
            first = first or found
            results.append(told(f"{number + 1:,} jobs of 2 processes", "ingest", found, first, TAKEN_IN))
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose name has these words")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--once", action="store_true", help="one round, and nothing of twice the size")
    parser.add_argument("--floors", nargs=2, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", type=Path, help="results as JSON")
    options = parser.parse_args()
    if options.floors:
        print(json.dumps(floors(*options.floors)))
        return 0
    print(
        f"{'':28} {'':9} {'wall s':>7} {'CPU s':>7} {'peak MiB':>8} {'page':>6} {'unpacked':>8} {'parquet':>8} "
        f"{'twice':>6}   to reach"
    )
    results = []
    for name, (shape, rows) in SHAPES.items():
        if options.only in name:
            with tempfile.TemporaryDirectory() as temporary:
                rounds = 1 if options.once else options.rounds
                results += measure(name, shape, rows, Path(temporary), rounds, not options.once)
    for words, measured in (
        ("beside", measure_beside),
        ("overlap", measure_overlap),
        ("ingest", measure_ingest),
    ):
        if options.only in words:
            print(f"{'':36} {'':8} {'wall s':>7} {'CPU s':>7} {'peak MiB':>8} {'x alone':>8} {'x peak':>8}   to reach")
            with tempfile.TemporaryDirectory() as temporary:
                os.environ["XDG_CACHE_HOME"] = str(Path(temporary) / "cache")
                results += measured(Path(temporary))
    if options.output:
        options.output.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
