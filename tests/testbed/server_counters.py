"""What the testbed kept of runs beside their profiles: the server's TCP counters, attempts, the jobs' own clock."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import polars as pl
from support.told import off_clock

from testbed.markdown import table

TCP, RUNS = "server-tcp.jsonl", "runs.jsonl"
BY_NODES = "RetransSegs of all nodes"


def server_counters(directory: Path) -> str:
    """What the server's TCP counters did, alone and together; empty where nothing was kept."""
    runs = _kept(directory / TCP)
    if not runs:
        return ""
    rows = []
    for counter in sorted(runs[0].keys() - {"run"}):
        alone = [run[counter] for run in runs if "+" not in run["run"]]
        together = [run[counter] for run in runs if "+" in run["run"]]
        rows.append([counter, *(f"{statistics.mean(found):.0f}" if found else "" for found in (alone, together))])
    return table(["the server's TCP counters, mean of a run", "alone", "together"], rows)


def done_again(directory: Path) -> str:
    """How many runs were done again since their jobs began too far apart."""
    runs = _kept(directory / RUNS)
    if not runs:
        return (
            "How many runs were done again, because their jobs began too far apart, was not noted for this recording."
        )
    again = sum(run["attempts"] - 1 for run in runs)
    return f"{again} of {len(runs) + again} runs were done again because their jobs began too far apart."


def own_clock(directory: Path, jobs: pl.DataFrame) -> str:
    """The jobs' own clock beside the I/O time span of their profiles (frame: job, seconds)."""
    runs = _kept(directory / RUNS)
    if not runs:
        return "The jobs' own clock was not kept when this was recorded: observed times are those of the profiles."
    own = {f"{run['run']}-{place}": seconds for run in runs for place, seconds in enumerate(run["seconds"], 1)}
    off = off_clock(jobs.select("job", "seconds").iter_rows(), own)
    return (
        f"By the jobs' own clock {off.count} observed times are off by {100 * off.mean:.2f} % in "
        f"the mean and {100 * off.largest:.2f} % at most."
    )


def _kept(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
