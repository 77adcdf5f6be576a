"""Stacks of a job's processes in words: a tree for the terminal, and JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from slicewise.report.records import picked
from slicewise.stacks import STATES, Node, ProcessStacks
from slicewise.text import words

INDENT = "  "
# Names of so many processes are listed; of more, how many they are.
MOST_LISTED = 8
OUTCOMES = {
    "gone": "ended meanwhile",
    "denied": "may not be looked into",
    "late": "did not answer in time",
    "another": "ended, and its number belongs to another process",
    "libunwind": "could not be walked",
}


def stack_lines(job: str, host: str, found: Sequence[ProcessStacks], root: Node) -> list[str]:
    threads = [thread for process in found for thread in process.threads]
    shown = [process for process in found if process.threads]
    states = {state: sum(thread.state == state for thread in threads) for state in {thread.state for thread in threads}}
    headline = f"{words.count(len(shown), 'process', 'processes')} with {words.count(len(threads), 'thread')}"
    lines = [f"Job {job} on {host}: {headline}: {_states(states)}", ""]
    names = _names(shown)
    for child in _ordered(root):
        lines += _branch(child, 0, len(root.processes), names)
    cut = sum(not thread.is_whole for thread in threads)
    if cut:
        lines += [
            "",
            f"Of {words.count(cut, 'stack')} the outer part is missing: it could not be walked to its beginning.",
        ]
    for process in found:
        if process.ended != "done":
            incomplete = " (what is known of it is shown)" if process.threads else ""
            lines.append(f"Process {process.pid} {OUTCOMES.get(process.ended, process.ended)}{incomplete}.")
    return lines


def _ordered(node: Node) -> list[Node]:
    return sorted(node.children.values(), key=lambda child: (-child.first_threads, -child.threads, child.function))


def _branch(node: Node, depth: int, of: int, names: Mapping[int, str]) -> list[str]:
    """A line a function: how many threads are in it. It is set in where its caller also called others, or was itself
    where a thread is."""
    who = "" if len(node.processes) == of else f"   [{_listed(node.processes, names)}]"
    where = f"   <- {_states(node.states)}" if node.states else ""
    lines = [f"{node.threads:>5}  {INDENT * depth}{node.function}{where}{who}"]
    children = _ordered(node)
    is_parted = len(children) > 1 or (bool(node.states) and bool(children))
    for child in children:
        lines += _branch(child, depth + is_parted, len(node.processes), names)
    return lines


def _states(states: Mapping[str, int]) -> str:
    order = [*STATES, *sorted(set(states) - set(STATES))]
    told = [(states[state], STATES.get(state, (f"in state {state}",) * 2)) for state in order if states.get(state)]
    return ", ".join(f"{number} {what[number > 1]}" for number, what in told)


def _names(found: Sequence[ProcessStacks]) -> dict[int, str]:
    if all(process.rank >= 0 for process in found) and len({process.rank for process in found}) == len(found):
        return {process.pid: f"rank {process.rank}" for process in found}
    return {process.pid: f"process {process.pid}" for process in found}


def _listed(pids: set[int], names: Mapping[int, str]) -> str:
    if len(pids) > MOST_LISTED:
        return words.count(len(pids), "process", "processes")
    listed = [names[pid] for pid in sorted(pids, key=lambda pid: (len(names[pid]), names[pid]))]
    kind = listed[0].split()[0]
    numbers = ", ".join(name.split()[1] for name in listed)
    plural = {"rank": "ranks", "process": "processes"}[kind] if len(listed) > 1 else kind
    return f"{plural} {numbers}"


def stacks_record(job: str, host: str, found: Sequence[ProcessStacks], root: Node) -> dict[str, Any]:
    return {"host": host, "job": job, "processes": list(found), "tree": [_record(child) for child in _ordered(root)]}


def _record(node: Node) -> dict[str, Any]:
    return picked(node, "function", "module", "threads") | {
        "pids": sorted(node.processes),
        "states": node.states,
        "children": [_record(child) for child in _ordered(node)],
    }
