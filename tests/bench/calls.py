"""What the library costs, beside the bare program: ns and instructions a call, a process's start and end, memory.

Bare and preloaded runs take turns, so that what else the machine does touches both. Prints a table, and writes the same
as JSON: `{"calls": [{"call", "threads", "bare_ns", "with_ns", "difference_ns", "ratio"}], ...}`, each figure as
`{"median", "least", "most"}` over the rounds.

    tests/bench/calls.py LIBRARY CALLS_PROGRAM [-o FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 7
STARTS = 20
# (kind, calls, threads, what it is)
CALLS = [
    ("write1", 100_000, 1, "write 1 B to /dev/null"),
    ("write1", 100_000, 2, "write 1 B to /dev/null"),
    ("pwrite4k", 60_000, 1, "pwrite 4 KiB, tmpfs"),
    ("pwrite4k", 60_000, 2, "pwrite 4 KiB, tmpfs"),
    ("pread4k", 60_000, 1, "pread 4 KiB, tmpfs"),
    ("lseek", 200_000, 1, "lseek"),
    ("openclose", 20_000, 1, "open and close"),
    ("stat", 50_000, 1, "stat"),
    ("fwrite64", 300_000, 1, "fwrite 64 B to /dev/null"),
    ("fwrite64", 300_000, 2, "fwrite 64 B to /dev/null"),
    ("shared", 10_000, 8, "write 1 B, one descriptor"),
]
COUNTED_BY_CALLGRIND = ["pwrite4k", "pread4k", "lseek", "fwrite64"]
CALLGRIND_CALLS = 2_000


def main() -> int:
    """Run all, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("program", type=Path)
    parser.add_argument("-o", type=Path, dest="output", help="write the results there as JSON")
    arguments = parser.parse_args()
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="slicewise-bench-", dir=place) as directory:
        bench = Bench(arguments.library.resolve(), arguments.program.resolve(), directory)
        results = {
            "calls": bench.calls(),
            "process": bench.process(),
            "memory": bench.memory(),
            "instructions": bench.instructions(),
        }
    print_table(results)
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=1) + "\n")
    return 0


class Bench:
    """The bare program and the same one preloaded, in one directory that is thrown away."""

    def __init__(self, library: Path, program: Path, directory: str) -> None:
        self.program, self.directory = str(program), directory
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SLICEWISE_")}
        self.bare = clean | {"LD_PRELOAD": ""}
        self.preloaded = clean | {
            "LD_PRELOAD": str(library),
            "SLICEWISE_DIR": directory + "/profiles",
            "SLICEWISE_JOB": "bench",
        }

    def calls(self) -> list[dict]:
        """ns a call of every kind."""
        results = []
        for kind, calls, threads, what in CALLS:
            command = [self.program, kind, str(calls), str(threads), self.directory]
            pairs = [(self._figure(command, self.bare), self._figure(command, self.preloaded)) for _ in range(ROUNDS)]
            results.append({"call": what, "threads": threads} | compared(pairs, "ns"))
        return results

    def process(self) -> dict:
        """Microseconds from fork to the end of `true`."""
        pairs = [(self._seconds(self.bare), self._seconds(self.preloaded)) for _ in range(ROUNDS)]
        return compared([(bare * 1e6, preloaded * 1e6) for bare, preloaded in pairs], "us")

    def memory(self) -> dict:
        """Resident KiB of a process that made one call, as it says itself."""
        command = ["/bin/cat", "/proc/self/status"]
        pairs = [(self._resident(command, self.bare), self._resident(command, self.preloaded)) for _ in range(ROUNDS)]
        return compared(pairs, "kib")

    def instructions(self) -> list[dict] | str:
        """Instructions a call in user space, by callgrind; a sentence where there is no valgrind."""
        if shutil.which("valgrind") is None:
            return "not counted: valgrind is missing (apt-get install valgrind)"
        results = []
        for kind in COUNTED_BY_CALLGRIND:
            bare, preloaded = (self._instructions(kind, environment) for environment in (self.bare, self.preloaded))
            results.append({"call": kind, "bare": bare, "with": preloaded, "difference": round(preloaded - bare, 1)})
        return results

    def _figure(self, command: list[str], environment: dict) -> float:
        return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)

    def _seconds(self, environment: dict) -> float:
        begin = time.perf_counter()
        for _ in range(STARTS):
            subprocess.run(["/bin/true"], env=environment, check=True)
        return (time.perf_counter() - begin) / STARTS

    def _resident(self, command: list[str], environment: dict) -> float:
        status = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
        return float(re.search(r"VmRSS:\s+(\d+) kB", status)[1])

    def _instructions(self, kind: str, environment: dict) -> float:
        few, many = (self._callgrind(kind, calls, environment) for calls in (CALLGRIND_CALLS, 2 * CALLGRIND_CALLS))
        return round((many - few) / CALLGRIND_CALLS, 1)

    def _callgrind(self, kind: str, calls: int, environment: dict) -> int:
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.directory}/callgrind"]
        command = [*valgrind, self.program, kind, str(calls), "1", self.directory]
        said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stderr
        return int(re.search(r"Collected : (\d+)", said)[1])


def compared(pairs: list[tuple[float, float]], unit: str) -> dict:
    """Bare, with the library, their difference and ratio, pair by pair."""
    return {
        f"bare_{unit}": spread([bare for bare, _ in pairs]),
        f"with_{unit}": spread([preloaded for _, preloaded in pairs]),
        f"difference_{unit}": spread([preloaded - bare for bare, preloaded in pairs]),
        "ratio": spread([preloaded / bare for bare, preloaded in pairs]),
    }


def spread(values: list[float]) -> dict[str, float]:
    """Median and range."""
    return {
        "median": round(statistics.median(values), 3),
        "least": round(min(values), 3),
        "most": round(max(values), 3),
    }


def print_table(results: dict) -> None:
    """The results for people."""
    print(f"medians of {ROUNDS} rounds, least and most of the difference in brackets\n")
    print(f"{'call':<28}{'threads':>8}{'bare':>10}{'with':>10}{'difference':>12}{'':18}{'ratio':>7}")
    rows = [(row["call"], row["threads"], "ns", row) for row in results["calls"]]
    rows += [("start and end of `true`", 1, "us", results["process"]), ("resident memory", 1, "kib", results["memory"])]
    for what, threads, unit, row in rows:
        difference = row[f"difference_{unit}"]
        around = f"[{difference['least']:.1f} to {difference['most']:.1f}]"
        print(
            f"{what:<28}{threads:>8}{row[f'bare_{unit}']['median']:>10.1f}{row[f'with_{unit}']['median']:>10.1f}"
            f"{difference['median']:>12.1f} {around:<17}{row['ratio']['median']:>7.2f} {unit}"
        )
    if isinstance(results["instructions"], str):
        print(f"\ninstructions: {results['instructions']}")
        return
    print(f"\n{'instructions a call':<28}{'bare':>18}{'with':>10}{'difference':>12}")
    for row in results["instructions"]:
        print(f"{row['call']:<28}{row['bare']:>18.1f}{row['with']:>10.1f}{row['difference']:>12.1f}")


if __name__ == "__main__":
    sys.exit(main())
