"""The results of `make bench` as the tables of docs/overhead.md.

python -m tables FILE.json
"""

import json
import sys
from pathlib import Path

from figures import ROWS
from libraries import OURS


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a table; all columns but the first and the last hold figures."""
    rule = ["---", *["---:"] * (len(heads) - 2), "---"]
    return [f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)]


def costs(results: dict) -> list[str]:
    """What is added, row by row: medians, and their range over the rounds."""
    others = [name for name in results["rows"][0]["libraries"] if name != OURS]
    rows = []
    for row in results["rows"]:
        added = row["libraries"][OURS]["added"]
        verdict = f"{row['goal']}: {'met' if row['is_met'] else '**not met**'}" if "goal" in row else ""
        medians = [
            f"{row['libraries'][name]['added']['median']:.4g}" if name in row["libraries"] else "" for name in others
        ]
        span = f"{added['median']:.4g} ({added['least']:.4g} to {added['most']:.4g})"
        rows.append([f"{row['what'].strip()}, {row['unit']}", f"{row['bare']['median']:.4g}", span, *medians, verdict])
    return table(["", "bare", f"{OURS} adds", *[f"{name} adds" for name in others], "at most"], rows)


def instructions(counts: dict[str, dict[str, float]]) -> list[str]:
    """Instructions added to each kind of call."""
    rows = [
        [
            ROWS[kind]["what"],
            *[f"{of[kind]:g}" if kind in of else "" for of in counts.values()],
            f"{ROWS[kind].get('goal_instructions', '')}",
        ]
        for kind in sorted(counts[OURS], key=list(ROWS).index)
    ]
    return table(["instructions added to a call", *counts, "at most"], rows)


def main() -> int:
    """Print both tables, and the machine."""
    results = json.loads(Path(sys.argv[1]).read_text())
    machine = ", ".join(f"{name} {value}" for name, value in results["machine"].items())
    print("\n".join([machine, "", *costs(results), "", *instructions(results["instructions"])]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
