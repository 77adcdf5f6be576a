"""Whether instruction counts and sizes lie within the budgets of budgets.toml: no times, so that a busy machine says
the same as a quiet one.

One line a row, and exit status 1 if any is over its budget, 2 if it cannot be measured.

    python -m check BUILD
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import instructions
import launcher
from figures import ROWS, Row
from libraries import BARE, OURS, libraries
from measures import Bench

MORE_ROUNDS = 2


@dataclass(frozen=True)
class Outcome:
    """A row's measure beside its budget."""

    what: str
    unit: str
    measured: float
    budget: float
    goal: float | None

    @property
    def is_over(self) -> bool:
        return self.measured > self.budget

    def line(self) -> str:
        goal = f"goal {self.goal:g}" if self.goal is not None else ""
        verdict = "OVER" if self.is_over else "ok"
        return f"{self.what:<44}{self.measured:>10.1f} {self.unit:<14}budget {self.budget:>7g}  {goal:<10} {verdict}"


def outcomes(measures: dict[str, dict[str, float]]) -> list[Outcome]:
    """Each budget beside what was measured: `measures` is {unit: {row: measure}}."""
    found = []
    for name, row in ROWS.items():
        for key, budget in row.items():
            if key.startswith("budget_"):
                unit = key.removeprefix("budget_")
                found.append(Outcome(row["what"], unit, measures[unit][name], budget, row.get(f"goal_{unit}")))
    return found


def measure(build: Path, units: Collection[str]) -> dict[str, dict[str, float]]:
    """What the budgets in these units are about: {unit: {row: measure}}."""
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="slicewise-bench-", dir=place) as name:
        directory = Path(name)
        compared = {name: library for name, library in libraries(build, directory).items() if name in (BARE, OURS)}
        bench = Bench(build, compared, directory)
        return {unit: UNITS[unit](bench) for unit in units}


def added(rows: list[Row]) -> dict[str, float]:
    return {row.name: row.least_added(OURS) for row in rows}


UNITS: dict[str, Callable[[Bench], dict[str, float]]] = {
    "instructions": lambda bench: instructions.added(bench.programs, bench.libraries, bench.directory)[OURS],
    "KiB": lambda bench: added(bench.memory(rounds=3)),
    "bytes": lambda bench: added(bench.disk(rounds=3)),
    "faults": lambda bench: added(bench.faults()),
    "syscalls": lambda bench: added(bench.system_calls()),
    "pythons": lambda bench: {"launcher": launcher.in_pythons(bench.build, bench.directory)},
}


def least(one: dict[str, dict[str, float]], other: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The lesser of two measures of each row; other: of some units."""
    return one | {unit: {row: min(one[unit][row], rows[row]) for row in rows} for unit, rows in other.items()}


def main() -> int:
    """Measure, print, judge. Where something is over its budget all of that unit is measured again, for a slice that
    ends meanwhile, as on a slow machine more do, only adds to a row.
    """
    build = Path(sys.argv[1])
    for tool in ("valgrind", "strace"):
        if shutil.which(tool) is None:
            print(f"bench-check: {tool} is missing. On Debian or Ubuntu:  sudo apt-get install {tool}", file=sys.stderr)
            return 2
    measures = measure(build, UNITS)
    for _ in range(MORE_ROUNDS):
        if over := {one.unit for one in outcomes(measures) if one.is_over}:
            measures = least(measures, measure(build, over))
    results = outcomes(measures)
    for result in results:
        print(result.line())
    return int(any(result.is_over for result in results))


if __name__ == "__main__":
    sys.exit(main())
