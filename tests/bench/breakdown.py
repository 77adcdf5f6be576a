"""Where the instructions of one kind of call are: by function of the source, inlined ones too, from callgrind's lines.

python -m breakdown BUILD KIND [--lines]
"""

import argparse
import re
import statistics
import sys
import tempfile
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

from instructions import TRIGGER, dumps
from libraries import OURS, libraries

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = "the program, libc and the loader"


def lines_of(dump: str) -> Counter[tuple[str, int]]:
    """Instructions of each (file, line), without those of the functions that it calls."""
    found: Counter[tuple[str, int]] = Counter()
    file, is_called = "", False
    for line in dump.splitlines():
        if match := re.match(r"(fl|fi|fe)=(.*)", line):
            file = match[2]
        elif line.startswith("calls="):
            is_called = True
        elif match := re.match(r"(\d+) (\d+)$", line):
            if not is_called:
                found[file, int(match[1])] += int(match[2])
            is_called = False
    return found


@cache
def functions_of(path: Path) -> list[tuple[int, str]]:
    """Line and name of each function of a C file: in this project a brace alone on its line opens a body."""
    found, head, head_line = [], "", 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if re.match(r"[A-Za-z_].*\(", line):
            head, head_line = line, number
        if row := re.match(r"(?:COUNTED\(\w+, [^,]*|TRANSFER\(\w+), (\w+)", line):
            found.append((number, row[1]))
        if line == "{" and head:
            name = re.search(r"INTERPOSE\([^,]*, (\w+)", head) or re.search(
                r"(\w+)\(", re.sub(r"__attribute__\(\(.*?\)\)", "", head)
            )
            found.append((head_line, name[1] if name else head))
    return found


def function_at(file: str, line: int) -> str:
    """`file: function` of a line of ours; ELSEWHERE for all others."""
    path = (ROOT / file).resolve()
    if not path.is_relative_to(ROOT) or not path.exists() or "tests" in path.parts:
        return ELSEWHERE
    before = [name for start, name in functions_of(path) if start <= line]
    return f"{path.relative_to(ROOT)}: {before[-1] if before else '?'}"


def main() -> int:
    """Count, add up, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("kind")
    parser.add_argument("--lines", action="store_true", help="by line of the source")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slicewise-bench-") as temporary:
        directory = Path(temporary)
        ours = libraries(arguments.build, directory)[OURS]
        chunks = [
            (lines_of(dump), int(trigger[2]))
            for dump in dumps(arguments.build / "bench" / "calls", ours, directory, arguments.kind)
            if (trigger := TRIGGER.search(dump))
        ]
    if not chunks:
        print(f"breakdown: {arguments.kind} is no kind of call of tests/bench/calls.c", file=sys.stderr)
        return 2
    costs = defaultdict(list)
    for lines, calls in chunks:
        sums: Counter[str] = Counter()
        for (file, line), cost in lines.items():
            where = function_at(file, line)
            sums[f"{where}: {line}" if arguments.lines and where != ELSEWHERE else where] += cost
        for where, cost in sums.items():
            costs[where].append(cost / calls)
    # A function that only some chunks reached is a slow path, and no part of the usual call.
    usual = {where: statistics.median(values) for where, values in costs.items() if len(values) > len(chunks) / 2}
    for where, cost in sorted(usual.items(), key=lambda item: -item[1]):
        print(f"{cost:>8.1f}  {where}")
    print(f"{sum(usual.values()):>8.1f}  in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
