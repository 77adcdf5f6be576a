"""Where the processes of a job are now: the stacks of all their threads (of `slicewise-collect stacks`) as a tree, with
names from the files that the processes have mapped. Only a thread that runs is stopped, while its walk takes.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slicewise.contract import without_library
from slicewise.errors import UserError
from slicewise.live import ProcessLook, looks
from slicewise.symbols.resolve import CodePlace, readable, resolve

# What /proc says of a thread, in words, of one and of several; the order in which states are told.
STATES = {
    "D": ("waits for I/O", "wait for I/O"),
    "R": ("runs", "run"),
    "S": ("waits", "wait"),
    "T": ("is stopped", "are stopped"),
    "t": ("is stopped by a debugger", "are stopped by a debugger"),
    "I": ("is idle", "are idle"),
}
PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
# Beyond what a process may take, for the helper's own start and end.
GRACE_SECONDS = 10
# One look is taken; the next would come after this.
LONGEST_LOOK_SECONDS = 3600


@dataclass(frozen=True)
class ThreadNow:
    """A thread at one moment. state: a letter of STATES. frames: outermost first. is_whole: they begin at the thread's
    first function; else some outer ones are missing. was_stopped: for the moment of the walk, since it ran.
    """

    tid: int
    name: str
    state: str
    was_stopped: bool
    is_whole: bool
    frames: list[CodePlace]


@dataclass(frozen=True)
class ProcessStacks:
    """ended: done; gone; denied (no right to look); late (it took too long, some threads may be missing); another (the
    process's number belongs to another process by now).
    """

    pid: int
    rank: int
    program: str
    user: int
    ended: str
    threads: list[ThreadNow]


@dataclass
class Node:
    """A function in the tree of stacks, called by its parent. threads: how many are in it, and first_threads: of these
    the first threads of their processes; states: those of threads whose innermost function it is, by letter.
    """

    function: str
    module: str
    threads: int = 0
    first_threads: int = 0
    processes: set[int] = field(default_factory=set)
    states: dict[str, int] = field(default_factory=dict)
    children: dict[tuple[str, str], Node] = field(default_factory=dict)


@dataclass(frozen=True)
class _Code:
    """An address of a file's code. path: as the process names the file; file: where it is to be read, if it can be."""

    path: str
    file: Path | None
    address: int


def job_processes(collector: Path, job: str | None, is_for_all: bool) -> tuple[str, list[ProcessLook]]:
    """The job's name and its processes here; without a name the only job's. Raises UserError where not one runs."""
    by_job: dict[str, list[ProcessLook]] = {}
    for look in looks(collector, LONGEST_LOOK_SECONDS, is_for_all):
        for process in look.processes.values():
            by_job.setdefault(process.job, []).append(process)
        break
    if not by_job:
        raise UserError("no profiled process runs here now")
    if job is None and len(by_job) == 1:
        job = next(iter(by_job))
    if job is None:
        raise UserError(f"several jobs run here; say which one: {', '.join(sorted(by_job))}")
    if job not in by_job:
        raise UserError(f"no job {job} runs here now; these do: {', '.join(sorted(by_job))}")
    return job, sorted(by_job[job], key=lambda process: (process.rank, process.pid))


def stacks_now(
    collector: Path, job: str, processes: Sequence[ProcessLook], seconds: float, search: Sequence[Path] = ()
) -> list[ProcessStacks]:
    """The stacks of a job's processes, in their order. seconds: the longest that a process may take. search: where
    debug information is. Raises UserError where none of them may be looked into.
    """
    command = [
        str(collector),
        "stacks",
        "--job",
        job,
        "--seconds",
        f"{seconds:g}",
        *(str(one.pid) for one in processes),
    ]
    done = subprocess.run(
        command,
        env=without_library(os.environ),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=GRACE_SECONDS + seconds * len(processes),
        check=False,
    )
    if done.returncode != 0:
        raise UserError(done.stderr.strip() or f"{collector} stacks ended with status {done.returncode}")
    looked_at = {process.pid: _LookedAt() for process in processes}
    for line in map(json.loads, done.stdout.splitlines()):
        looked_at[line["pid"]].take(line)
    code = {pid: _code(pid, look) for pid, look in looked_at.items()}
    # Root hands no file of other users to a program that may not have been made for hostile ones.
    with_lines = os.geteuid() != 0 or all(process.user == 0 for process in processes)
    places = _places({one for known in code.values() for one in known.values()}, search, with_lines)
    found = [
        ProcessStacks(process.pid, process.rank, process.program, process.user, look.ended, [
            ThreadNow(
                thread["tid"], thread["name"], thread["state"], thread["was_stopped"], thread["is_whole"],
                [place for pc in reversed(thread["frames"]) for place in reversed(places[code[process.pid][pc]])],
            )
            for thread in look.threads
        ])
        for process, look in ((process, looked_at[process.pid]) for process in processes)
    ]  # fmt: skip
    _raise_if_none(found)
    return found


@dataclass
class _LookedAt:
    """What the helper said of a process. mappings: begin, end, offset, path."""

    mappings: list[dict[str, Any]] = field(default_factory=list)
    threads: list[dict[str, Any]] = field(default_factory=list)
    ended: str = "late"

    def take(self, line: dict[str, Any]) -> None:
        if "ended" in line:
            self.ended = line["ended"]
        elif "path" in line:
            self.mappings.append(line)
        else:
            self.threads.append(line)


def _raise_if_none(found: Sequence[ProcessStacks]) -> None:
    """Says in one line why nothing is known of any process."""
    if any(process.threads for process in found):
        return
    if any(process.ended == "libunwind" for process in found):
        raise UserError(
            "stacks are walked by libunwind, which this node lacks (Debian: apt-get install libunwind8), "
            "or Slicewise was built without its headers or for another processor than x86-64"
        )
    denied = next((process for process in found if process.ended == "denied"), None)
    if denied is None:
        raise UserError("the job's processes ended, or did not answer in time")
    raise UserError(f"process {denied.pid} may not be looked into: {_why_denied(denied.user)}")


def _why_denied(user: int) -> str:
    if os.geteuid() not in (0, user):
        return f"it belongs to the user with the number {user}; ask as that user, or as root"
    scope = PTRACE_SCOPE.read_text().strip() if PTRACE_SCOPE.exists() else "0"
    if scope != "0" and os.geteuid() != 0:
        return f"this system lets only root look into processes (kernel.yama.ptrace_scope = {scope}); ask as root"
    return "it has changed its user or forbids it (prctl PR_SET_DUMPABLE), or this container lacks the right to trace"


def _code(pid: int, look: _LookedAt) -> dict[int, _Code]:
    """Which file's code each address of the process's stacks is. Files of a late process are not opened."""
    found: dict[int, _Code] = {}
    pcs = {pc for thread in look.threads for pc in thread["frames"]}
    for mapping in look.mappings:
        within = [pc for pc in pcs if mapping["begin"] <= pc < mapping["end"]]
        if not within:
            continue
        file = _file_of(mapping["path"], pid) if look.ended == "done" else None
        elf = readable(file) if file else None
        segments = elf.segments if elf else []
        for pc in within:
            address = _address(pc - mapping["begin"] + mapping["offset"], segments)
            found[pc] = _Code(mapping["path"], file if segments else None, address)
    return {pc: found.get(pc, _Code("", None, 0)) for pc in pcs}


def _places(codes: Iterable[_Code], search: Sequence[Path], with_lines: bool) -> dict[_Code, list[CodePlace]]:
    """What code is in the source, the innermost of inlined functions first; each file is asked once."""
    by_file: dict[Path, list[_Code]] = {}
    found: dict[_Code, list[CodePlace]] = {}
    for code in codes:
        name = code.path.rpartition("/")[2]
        found[code] = [CodePlace(f"{name}+{code.address:#x}", name) if name else CodePlace("code in no file")]
        if code.file is not None:
            by_file.setdefault(code.file, []).append(code)
    for file, within in by_file.items():
        elf = readable(file)
        build_id = elf.build_id if elf else ""
        places = resolve(str(file), build_id, [code.address for code in within], search, with_lines=with_lines)
        found |= {code: places[code.address] for code in within}
    return found


def _file_of(path: str, pid: int) -> Path | None:
    """The file as the process sees it, which may have another root directory."""
    if not path.startswith("/") or path.endswith(" (deleted)"):
        return None
    inside = Path(f"/proc/{pid}/root{path}")
    try:
        return Path(path) if os.path.samefile(path, inside) else inside
    except OSError:
        return inside if inside.exists() else None


def _address(offset: int, segments: Sequence[tuple[int, int, int]]) -> int:
    return next(
        (address + offset - begin for begin, address, length in segments if 0 <= offset - begin < length), offset
    )


def tree(found: Sequence[ProcessStacks]) -> Node:
    """All threads' stacks as one tree, whose root stands for what calls the outermost functions."""
    root = Node("", "")
    for process in found:
        for thread in process.threads:
            node = _counted(root, process.pid, thread.tid)
            for place in thread.frames:
                key = (place.function, place.module)
                node = _counted(node.children.setdefault(key, Node(*key)), process.pid, thread.tid)
            node.states[thread.state] = node.states.get(thread.state, 0) + 1
    return root


def _counted(node: Node, pid: int, tid: int) -> Node:
    node.threads += 1
    node.first_threads += tid == pid
    node.processes.add(pid)
    return node
