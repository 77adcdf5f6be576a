"""Folded stacks, one a line: `main;checkpoint;pwrite 1234`, as flamegraph.pl, inferno and speedscope read them."""

from slicewise.analysis.job.sites import Sites, folded
from slicewise.kinds import Cost
from slicewise.text.safe_text import folded_frame

# Folded stacks are whole numbers: time is in microseconds.
SCALES: dict[Cost, float] = {"time": 1e6, "bytes": 1.0, "calls": 1.0}


def folded_text(found: Sites, cost: Cost) -> str:
    """A line a stack; what costs nothing is left out."""
    lines = []
    for names, value in folded(found, cost):
        amount = round(value * SCALES[cost])
        if amount:
            lines.append(f"{';'.join(map(folded_frame, names))} {amount}\n")
    return "".join(lines)
