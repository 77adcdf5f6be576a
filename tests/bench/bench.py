"""What the library costs, row by row, beside the bare program, the floor library and Darshan (of DARSHAN_LIB=).

Libraries take turns, so that what else the machine does touches all of them. Prints a table, and writes it as JSON.

    python -m bench BUILD [--rows GROUP,...] [-o FILE]
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import instructions
import launcher
from figures import ROWS, goal_of, table
from libraries import OURS, libraries
from measures import Bench

GROUPS = [
    "calls", "names", "new_files", "calls_by_vdso", "short_processes", "exits", "memory", "disk", "slow_paths", "sites",
    "locks", "first_opens", "whole_program", "ping_pong", "launcher",
]  # fmt: skip


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--rows", default=",".join([*GROUPS, "instructions"]), help="groups of rows, of: %(default)s")
    parser.add_argument("-o", type=Path, dest="output", help="write the results there as JSON")
    arguments = parser.parse_args()
    groups = arguments.rows.split(",")
    results: dict = {"machine": machine(), "rows": []}
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="slicewise-bench-", dir=place) as directory:
        bench = Bench(arguments.build, libraries(arguments.build, Path(directory)), Path(directory))
        print("medians of what is added (in brackets: the least with the library over the least without)\n")
        for group in GROUPS:
            if group in groups:
                results["rows"] += measured(bench, group)
        if "instructions" in groups:
            results["instructions"] = counted(bench)
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=1) + "\n")
    return 0


def measured(bench: Bench, group: str) -> list[dict]:
    """A group of rows, printed, and as JSON."""
    rows = launcher.rows(bench.build, bench.directory) if group == "launcher" else getattr(bench, group)()
    if not rows:
        print(f"{group}: cannot be measured here")
        return []
    by_name = {row.name: row for row in rows}
    goals = {row.name: goal_of(row, ROWS[row.name], by_name) for row in rows}
    print("\n".join(table(rows, goals)), flush=True)
    return [row.to_json(goals[row.name]) for row in rows]


def counted(bench: Bench) -> dict[str, dict[str, float]] | str:
    """Instructions that each library adds to a call; a sentence where there is no valgrind."""
    if shutil.which("valgrind") is None:
        print("instructions: not counted, valgrind is missing (apt-get install valgrind)")
        return "not counted: valgrind is missing"
    added = instructions.added(bench.programs, bench.libraries, bench.directory)
    print(f"{'instructions added to a call':<46}{'':10}" + "".join(f"{name:>20}" for name in added))
    for kind in sorted(added[OURS].keys() & ROWS.keys(), key=list(ROWS).index):
        goal = ROWS[kind].get("goal_instructions")
        verdict = f"   {goal}: {'met' if added[OURS][kind] <= goal else 'NOT MET'}" if goal else ""
        cells = "".join(f"{of[kind]:>20.1f}" if kind in of else " " * 20 for of in added.values())
        print(f"{ROWS[kind]['what']:<46}{'':10}{cells}{verdict}")
    return added


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    processor = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    clock = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    compiler = subprocess.run(["gcc", "--version"], check=False, capture_output=True, text=True).stdout
    return {
        "processor": processor[1] if processor else platform.machine(), "processors": str(os.cpu_count()),
        "kernel": platform.release(), "libc": " ".join(platform.libc_ver()),
        "clock": clock.read_text().strip() if clock.exists() else "",
        "compiler": compiler.splitlines()[0] if compiler else "",
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
