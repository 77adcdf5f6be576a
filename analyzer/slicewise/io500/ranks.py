"""Which ranks or nodes lagged in a run: from ior-*.csv and mdtest-*.csv beside a result (a row a rank, by
saveRankPerformanceDetails), and the lines "stonewall rank R: N of M" of mdtest's output. Nodes are those of lines "task
R on NODE", of mdtest's node map, or by the counts of tasks and nodes.
"""

import csv
import math
import re
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from slicewise.constants import MAINLY
from slicewise.io500.results import IO500Run, phase_file, text_or_empty
from slicewise.io500.texts import MDTEST_COLUMNS, PHASES

# A rank lags if it is this much slower than the median rank, and stands out from all others as well.
LEAST_SLOWNESS = 1.5
LAGGING_DEVIATIONS = 6.0
DEVIATIONS_OF_MAD = 1.4826
FEWEST_RANKS = 3
# More laggards than this are no laggards, but the rule.
MOST_LAGGING = 0.4
MOST_NAMED = 8

STONEWALL = re.compile(r"^\s*stonewall rank (\d+): (\d+) of (\d+)", re.MULTILINE)
TASK_ON = re.compile(r"^\s*(?:task|rank)\s+(\d+)\s+(?:is\s+)?on\s+(\S+)\s*$", re.MULTILINE | re.IGNORECASE)
NODE_MAP = re.compile(r"^\s*Nodemap:\s*([01]+)", re.MULTILINE)
LAUNCHED = re.compile(r"with (\d+) total task\(s\) on (\d+) node", re.IGNORECASE)
IOR_NODES = re.compile(r"^\s*nodes\s*[:=]\s*(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Laggards:
    """Who lagged in one phase of one run. who: nodes by name, or "node 3 of 10", else ranks. ranks: theirs. slowness:
    how many times slower than the median rank they were, in the median. of: ranks of the phase. source: the file.
    """

    run: str
    phase: str
    who: tuple[str, ...]
    ranks: tuple[int, ...]
    slowness: float
    of: int
    source: str


def laggards(run: IO500Run) -> list[Laggards]:
    found: list[Laggards] = []
    nodes: dict[int, str] | None = None
    for phase in PHASES:
        rates, source = _rates(run.directory, phase)
        if len(rates) < FEWEST_RANKS:
            continue
        slow = slow_ranks(rates)
        if not slow:
            continue
        if nodes is None:
            nodes = _nodes(run.directory, max(rates) + 1)
        found.append(_named(run.name, phase, slow, rates, nodes, source))
    return found


def slow_ranks(rates: dict[int, float]) -> dict[int, float]:
    """By rank, how many times slower than the median rank it was; those that lag alone."""
    usual = median(rates.values())
    if not usual > 0:
        return {}
    slowness = {rank: usual / rate if rate > 0 else math.inf for rank, rate in rates.items()}
    deviation = DEVIATIONS_OF_MAD * median(abs(value - 1) for value in slowness.values())
    least = max(LEAST_SLOWNESS, 1 + LAGGING_DEVIATIONS * deviation)
    slow = {rank: value for rank, value in slowness.items() if value >= least}
    return slow if len(slow) <= MOST_LAGGING * len(rates) else {}


def _named(
    run: str, phase: str, slow: dict[int, float], rates: dict[int, float], nodes: dict[int, str], source: str
) -> Laggards:
    members: dict[str, list[int]] = {}
    for rank in rates:
        if rank in nodes:
            members.setdefault(nodes[rank], []).append(rank)
    sick = [node for node, ranks in members.items() if sum(rank in slow for rank in ranks) > MAINLY * len(ranks)]
    # A node that is all there is has no node beside it to lag behind.
    if sick and len(members) > 1:
        ranks = sorted(rank for node in sick for rank in members[node] if rank in slow)
        who = tuple(sick[:MOST_NAMED])
    else:
        ranks = sorted(slow)
        who = tuple(f"rank {rank}" + (f" on {nodes[rank]}" if rank in nodes else "") for rank in ranks[:MOST_NAMED])
    return Laggards(run, phase, who, tuple(ranks), median(slow[rank] for rank in ranks), len(rates), source)


def _rates(directory: Path, phase: str) -> tuple[dict[int, float], str]:
    """By rank, how fast it was in a phase (in whatever unit), and the file that says so."""
    table = phase_file(directory, phase, "csv")
    if table is not None and (rates := _of_table(table, phase)):
        return rates, table.name
    text = phase_file(directory, phase, "txt")
    if text is not None and phase.startswith("mdtest"):
        return {int(rank): float(done) for rank, done, _ in STONEWALL.findall(text_or_empty(text))}, text.name
    return {}, ""


def _of_table(file: Path, phase: str) -> dict[int, float]:
    rows = list(csv.DictReader(text_or_empty(file).splitlines()))
    if phase.startswith("mdtest"):
        column = f"rate-{MDTEST_COLUMNS[phase.rsplit('-', 1)[1]]}"
    else:
        # With the time to open and close: a node that is slow to open is slow.
        columns = ("throughput-withopenclose", "throughput")
        column = next((name for name in columns if rows and name in rows[0]), columns[0])
    rates = {}
    for row in rows:
        try:
            rank, rate = int(row.get("rank") or ""), float(row.get(column) or "")
        except ValueError:
            continue  # the row of all ranks together, or an empty cell
        if math.isfinite(rate):
            rates[rank] = rate
    return rates


def _nodes(directory: Path, ranks: int) -> dict[int, str]:
    """The node of each rank: by name where a file says it, else "node 3 of 10", counted from 0 as ranks are."""
    texts = [text_or_empty(file) for phase in PHASES if (file := phase_file(directory, phase, "txt"))]
    named = {int(rank): node for text in texts for rank, node in TASK_ON.findall(text)}
    if named:
        return named
    count = next((int(match[2]) for text in texts if (match := LAUNCHED.search(text))), None)
    count = count or next((int(match[1]) for text in texts if (match := IOR_NODES.search(text))), None)
    if not count or count > ranks:
        return {}
    each = math.ceil(ranks / count)
    maps = (match[1] for text in texts if (match := NODE_MAP.search(text)))
    is_in_turn = next(((each > 1 and not said.startswith("1" * min(each, len(said)))) for said in maps), False)
    return {rank: f"node {rank % count if is_in_turn else rank // each} of {count}" for rank in range(ranks)}
