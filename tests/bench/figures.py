"""What was measured, row by row: the bare program beside the same one with each library in front of it."""

from __future__ import annotations

import statistics
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from libraries import BARE, DARSHAN, FLOOR, OURS, Library

# The rows, their goals and budgets.
ROWS: dict[str, dict] = tomllib.loads(Path(__file__).with_name("budgets.toml").read_text())

Values = dict[str, list[float]]  # of each library, one value a round


@dataclass(frozen=True)
class Row:
    """One figure: of the bare program, and what each library adds to it. Rounds of all libraries took turns."""

    name: str  # as in budgets.toml, where it has a goal
    what: str
    unit: str
    values: Values

    def added(self, library: str) -> list[float]:
        """What the library added in each round."""
        return [value - bare for bare, value in zip(self.values[BARE], self.values[library], strict=True)]

    def least_added(self, library: str) -> float:
        """The least with the library over the least without: here a busy machine's noise is smallest."""
        return min(self.values[library]) - min(self.values[BARE])

    def ratio(self, library: str) -> list[float]:
        """With the library over without, in each round; 0 where there is nothing to divide by."""
        pairs = zip(self.values[BARE], self.values[library], strict=True)
        return [value / bare if bare else 0.0 for bare, value in pairs]

    def to_json(self, goal: Goal | None) -> dict:
        """Medians, ranges and ratios."""
        libraries = {
            name: {
                "added": spread(self.added(name)),
                "least_added": round(self.least_added(name), 3),
                "ratio": spread(self.ratio(name)),
            }
            for name in self.values
            if name != BARE
        }
        what = {"name": self.name, "what": self.what, "unit": self.unit, "rounds": len(self.values[BARE])}
        judged = {"goal": goal.text, "is_met": goal.is_met} if goal else {}
        return what | {"bare": spread(self.values[BARE]), "libraries": libraries} | judged


@dataclass(frozen=True)
class Goal:
    """What a row is to reach, and whether it does, by the medians."""

    text: str
    is_met: bool


def goal_of(row: Row, budget: dict, others: dict[str, Row]) -> Goal | None:
    """Of a row's section in budgets.toml: `goal_UNIT`, added at most; `goal_ratio`, over the bare program;
    `goal_times`, added over what is added to the row `times_of`; `goal_floors`, added over what the floor adds."""
    if (most := budget.get("goal_floors")) is not None and FLOOR in row.values:
        floors = statistics.median(row.added(OURS)) / max(statistics.median(row.added(FLOOR)), 1e-9)
        return Goal(f"{most:g} x floor", floors <= most)
    if (most := budget.get(f"goal_{row.unit}")) is not None:
        return Goal(f"{most:g} {row.unit}", statistics.median(row.added(OURS)) <= most)
    if (most := budget.get("goal_ratio")) is not None:
        return Goal(f"{most:g} x bare", statistics.median(row.ratio(OURS)) <= most)
    if (most := budget.get("goal_times")) is not None and (other := others.get(budget["times_of"])):
        times = statistics.median(row.added(OURS)) / max(statistics.median(other.added(OURS)), 1e-9)
        return Goal(f"{most:g} x {other.name}", times <= most)
    return None


def spread(values: list[float]) -> dict[str, float]:
    """Median and range."""
    return {
        "median": round(statistics.median(values), 3),
        "least": round(min(values), 3),
        "most": round(max(values), 3),
    }


def in_turns(
    libraries: Iterable[Library], rounds: int, measure: Callable[[Library], dict[str, float]]
) -> dict[str, Values]:
    """Measures under each library in turn, `rounds` times: the values of each of the names that `measure` gives."""
    values: dict[str, Values] = {}
    under = list(libraries)
    for _ in range(rounds):
        for library in under:
            for name, value in measure(library).items():
                values.setdefault(name, {}).setdefault(library.name, []).append(value)
        under.append(under.pop(0))
    return values


def table(rows: list[Row], goals: dict[str, Goal | None]) -> list[str]:
    """The rows as lines: what is added, as `median (least)`; where it has a goal, whether it is met."""
    shown = [name for name in (OURS, FLOOR, DARSHAN) if name in rows[0].values]
    lines = [f"{'':<46}{'bare':>10}" + "".join(f"{'+ ' + name:>20}" for name in shown)]
    for row in rows:
        cells = [f"{statistics.median(row.added(name)):.2f} ({row.least_added(name):.2f})" for name in shown]
        goal = goals[row.name]
        verdict = f"   {goal.text}: {'met' if goal.is_met else 'NOT MET'}" if goal else ""
        bare = statistics.median(row.values[BARE])
        lines.append(
            f"{row.what + ', ' + row.unit:<46}{bare:>10.2f}" + "".join(f"{cell:>20}" for cell in cells) + verdict
        )
    return lines
