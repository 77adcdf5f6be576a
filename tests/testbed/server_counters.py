"""What the testbed kept of runs beside their profiles: the server's TCP counters, attempts, the jobs' own clock."""

import json
import statistics
from collections.abc import Iterator
from pathlib import Path

from testbed.tables import Table, table

TCP, RUNS = "server-tcp.jsonl", "runs.jsonl"
BY_NODES = "RetransSegs of all nodes"


def server_counters(section: str, directory: Path) -> Iterator[Table]:
    """What the server's TCP counters did, alone and together; none where nothing was kept."""
    file = directory / TCP
    runs = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    if not runs:
        return
    rows = []
    for counter in sorted(runs[0].keys() - {"run"}):
        alone = [run[counter] for run in runs if "+" not in run["run"]]
        together = [run[counter] for run in runs if "+" in run["run"]]
        rows.append([counter, *(f"{statistics.mean(found):.0f}" if found else "" for found in (alone, together))])
    yield table(section, ["the server's TCP counters, mean of a run", "alone", "together"], rows)
