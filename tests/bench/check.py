"""Whether instruction counts and sizes lie within the budgets of budgets.toml: no times, so that a busy machine says
the same as a quiet one.

One line a row, and exit status 1 if any is over its budget, 2 if it cannot be measured.

    python -m check BUILD
"""

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import instructions
import launcher
from figures import ROWS
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


def measure(build: Path) -> dict[str, dict[str, float]]:
    """What the budgets are about: {unit: {row: measure}}."""
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="slicewise-bench-", dir=place) as directory:
        return _measured(build, Path(directory))


def _measured(build: Path, directory: Path) -> dict[str, dict[str, float]]:
    compared = {name: library for name, library in libraries(build, directory).items() if name in (BARE, OURS)}
    bench = Bench(build, compared, directory)
    measures = {"instructions": instructions.added(bench.programs, compared, directory)[OURS]}
    for row in [*bench.memory(rounds=3), *bench.disk(rounds=3), *bench.faults(), *bench.system_calls()]:
        measures.setdefault(row.unit, {})[row.name] = row.least_added(OURS)
    measures["pythons"] = {"launcher": launcher.in_pythons(build, directory)}
    return measures


def least(one: dict[str, dict[str, float]], other: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The lesser of two measures of each row."""
    return {unit: {row: min(rows[row], other[unit][row]) for row in rows} for unit, rows in one.items()}


def main() -> int:
    """Measure, print, judge. What is over its budget is measured again, for a slice that ends meanwhile, as on a slow
    machine more do, only adds to a row.
    """
    build = Path(sys.argv[1])
    for tool in ("valgrind", "strace"):
        if shutil.which(tool) is None:
            print(f"bench-check: {tool} is missing. On Debian or Ubuntu:  sudo apt-get install {tool}", file=sys.stderr)
            return 2
    measures = measure(build)
    for _ in range(MORE_ROUNDS):
        if any(one.is_over for one in outcomes(measures)):
            measures = least(measures, measure(build))
    results = outcomes(measures)
    for result in results:
        print(result.line())
    return int(any(result.is_over for result in results))


if __name__ == "__main__":
    sys.exit(main())
