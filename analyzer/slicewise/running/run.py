"""`slicewise run`: what stands before a command, and what is said behind it. Nothing is imported here that takes long.
What fails before the command has begun costs the profile, never the command; no file system is waited for without end.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from slicewise.config_file import config_file
from slicewise.constants import LITTLE_BYTES
from slicewise.contract import job_name, without_library
from slicewise.errors import UserError
from slicewise.running.command import (
    DEFAULT_DIR,
    NVTX,
    SIGNAL_STATUS,
    Ended,
    NodeCollector,
    NotStarted,
    ProfilePlace,
    become,
    inputs_of,
    job_directory,
    passing_on,
    profiled_environment,
    remove_if_empty,
    require_job_name,
    run_command,
    timeout_seconds,
)
from slicewise.running.installation import Installation, find_installation
from slicewise.text.safe_text import as_named_from_here, say

TYPE_CHECKING = False  # typing takes longer to import than this module
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

# A file system that answers at all does so within milliseconds; the next retry of NFS comes after a minute.
LOOK_SECONDS = 2.0
# A process that was killed in a call ends when storage has answered that: a slow disk's queue holds a second or two.
# Else one look says how many still run.
ENDING_SECONDS, GLANCE_SECONDS = 2.0, 0.01
# What is said of a longer command needs the analyzer, which takes a tenth of that to begin.
CLOSING_SECONDS = 3.0
# And of the runtime: a part that is no matter. The analyzer's libraries have 140 MB, which a slow file system may not
# have at hand, and a large job's profile takes seconds to read; meanwhile the allocation is held.
CLOSING_SHARE = 0.01
# At so many places of a library the page cache is looked into: one that was loaded a moment ago is there by 81 to 87 %.
LOOKS_AT_LIBRARY = 16


class Unanswered(Exception):
    """The file system of profiles, or of settings, did not answer in LOOK_SECONDS."""


def run(
    command: Sequence[str], directory: str | None, job: str | None, slice_seconds: float | None, has_collector: bool,
    has_threads: bool = False, has_nvtx: bool = False, has_accelerators: bool = False,
) -> int:  # fmt: skip
    """Runs a command under the profiler. has_threads: and times what its threads wait for each other; has_nvtx: and
    takes its ranges of NVTX for regions, unless the environment names another library for them; has_accelerators: and
    counts what accelerators do. Returns its status.
    Raises UserError for a name that no job can have.
    """
    require_job_name(job)
    environment = dict(os.environ)
    place, is_answering = None, True
    try:
        installation = find_installation()
        try:
            try:
                found = _bounded(directory, job, command, has_settings=True)
            except Unanswered:
                found = _bounded(directory, job, command, has_settings=False)
                say(f"{config_file()}: did not answer within {LOOK_SECONDS:g} s, so no settings are taken from there")
            environment |= found["settings"]
            if found["inputs"]:
                environment.setdefault("SLICEWISE_INPUTS", found["inputs"])
            place = ProfilePlace(Path(found["job_dir"]), found["was_there"])
            for line in found["notes"]:
                say(line)
        except Unanswered:
            is_answering = False
            place = ProfilePlace(_unseen_place(directory, job, command, environment), was_there=True)
        if has_nvtx:
            environment.setdefault(NVTX, str(installation.nvtx))
        libraries = [installation.library]
        libraries += [
            installation.beside(part)
            for part, is_on in (("threads", has_threads), ("accelerators", has_accelerators))
            if is_on
        ]
        profiled = profiled_environment(environment, libraries, place.job_dir, slice_seconds, command)
        if _is_foreign(installation, command[0], profiled):
            profiled = without_library(profiled)
            if "LD_PRELOAD" in environment:
                profiled["LD_PRELOAD"] = environment["LD_PRELOAD"]
        words = passing_on(command, profiled)
        spool_bytes = _size(_spool(place.job_dir)) if is_answering else 0
        node = NodeCollector(installation.collector, profiled) if has_collector and is_answering else None
    except Exception as error:  # whatever it is, the command is not to suffer from it
        kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
        say(f"{kind}{error}; the command runs without being profiled")
        return become(command)
    began, began_ns = time.monotonic(), time.time_ns()
    try:
        ended = run_command(words, profiled, environment)
    except NotStarted as reason:
        if node:
            node.end()
        if is_answering:
            _end_job(installation, environment, place.job_dir)
            remove_if_empty(place.job_dir, place.was_there)
        say(str(reason))
        return reason.status
    ran_seconds, ended_ns = time.monotonic() - began, time.time_ns()
    written_beside = node.end() if node else 0
    if not is_answering:
        say(
            f"{place.job_dir.parent}: did not answer within {LOOK_SECONDS:g} s; what was counted stays on this node "
            f"until `slicewise recover {place.job_dir}` finds it answering"
        )
        return ended.status
    lived_ns = min(began_ns, ended_ns - round(ran_seconds * 1e9)), ended_ns  # the clock may have been set meanwhile
    foreign_bytes = spool_bytes + written_beside
    _close(installation, place, command, ended, profiled, foreign_bytes, ran_seconds, lived_ns, node is not None)
    return ended.status


def _end_job(installation: Installation, environment: Mapping[str, str], job_dir: Path) -> None:
    """Takes away what was begun on this node for a job whose command could not be started."""
    try:
        _ask(installation, environment, "recover", str(job_dir), on_error=True)
    except subprocess.TimeoutExpired:
        say(f"{job_dir}: does not answer any more")


def _is_foreign(installation: Installation, command: str, environment: Mapping[str, str]) -> bool:
    """Whether it is for another kind of processor, as a 32-bit program is: the loader would complain of the library."""
    looked, _ = _ask(installation, environment, "launching", command)
    return looked.startswith("foreign ")


def _bounded(directory: str | None, job: str | None, command: Sequence[str], *, has_settings: bool) -> dict[str, Any]:
    """`_prepared`, and `inputs_of` (empty where a file does not answer), by a child that is left behind where a file
    system does not answer. Raises Unanswered, or what the child met as UserError.
    """
    said, has_ended = _in_child(lambda writing: _answer(writing, directory, job, command, has_settings), LOOK_SECONDS)
    if not has_ended and b"\n" not in said:
        raise Unanswered
    prepared, _, inputs = said.partition(b"\n")
    found = json.loads(prepared) if prepared else {"wrong": "the place of profiles could not be looked at"}
    if "wrong" in found:
        raise UserError(found["wrong"])
    return {**found, "inputs": inputs.decode()}


def _in_child(work: Callable[[int], None], seconds: float) -> tuple[bytes, bool]:
    """What a child wrote into the descriptor that `work` is given, and whether it ended within so many seconds; else it
    is killed, and left behind where a file system does not let it end.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            # It holds nothing that somebody might wait for, as a pipe of the caller's.
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                if descriptor != writing:
                    os.dup2(null, descriptor)
            work(writing)
        finally:
            os._exit(0)
    os.close(writing)
    said = b""
    deadline = time.monotonic() + seconds
    while select.select([reading], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(reading, 1 << 16)
        if not part:
            os.close(reading)
            os.waitpid(child, 0)
            return said, True
        said += part
    os.close(reading)
    os.kill(child, signal.SIGKILL)
    return said, False


def _answer(writing: int, directory: str | None, job: str | None, command: Sequence[str], has_settings: bool) -> None:
    """In the child: a line as soon as it is known, and behind it what may take longer."""
    try:
        found: dict[str, object] = _prepared(directory, job, command, has_settings)
    except UserError as error:
        found = {"wrong": str(error)}
    os.write(writing, json.dumps(found).encode() + b"\n")
    os.write(writing, inputs_of(command).encode())


def _prepared(directory: str | None, job: str | None, command: Sequence[str], has_settings: bool) -> dict[str, object]:
    """The user's settings that the environment lacks, and the directory of the job's profile, made and looked at."""
    settings: dict[str, str] = {}
    notes: list[str] = []
    if has_settings and config_file().exists():
        from slicewise import settings as users  # takes longer than all else here

        users.apply()
        settings, notes = users.from_file(), users.mistakes()[:1]
    place = job_directory(directory, job, command, os.environ)
    notes += [place.note] if place.note else []
    return {"settings": settings, "job_dir": str(place.job_dir), "was_there": place.was_there, "notes": notes}


def _unseen_place(
    directory: str | None, job: str | None, command: Sequence[str], environment: Mapping[str, str]
) -> Path:
    """Where the profile would go, without a look."""
    profiles = Path(directory or environment.get("SLICEWISE_DIR") or DEFAULT_DIR)
    name = job or environment.get("SLICEWISE_JOB") or f"{Path(command[0]).name[:100]}-{time.strftime('%Y%m%d-%H%M%S')}"
    return (profiles if profiles.is_absolute() else Path.cwd() / profiles) / job_name(name)


def _spool(job_dir: Path) -> Path:
    return job_dir / f"{os.uname().nodename}.swz"


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _close(
    installation: Installation, place: ProfilePlace, command: Sequence[str], ended: Ended,
    environment: Mapping[str, str], foreign_bytes: int, ran_seconds: float, lived_ns: tuple[int, int],
    had_collector: bool,
) -> None:  # fmt: skip
    """Finishes the profile, and says what went wrong, what was seen, and what to do next. The command has ended for
    good. foreign_bytes: of the profile, those that the command did not write. lived_ns: when it began and ended, by
    CLOCK_REALTIME.
    """
    own_bytes = max(0, _size(_spool(place.job_dir)) - foreign_bytes)
    counts = [ended.counts.get(name, 0) for name in ("rchar", "wchar", "syscr", "syscw")]
    launched = ["launched", *map(str, [ended.pid, own_bytes, *counts, *lived_ns]), *command]
    # Of others than the caller, those alone who had a process meanwhile: a login node has a thousand users.
    since = lived_ns[0] // 10**9 - 1  # clocks tick coarsely
    whose = ["--all-users", "--since", str(since)] if os.geteuid() == 0 else []
    waits = ["--wait", str(ENDING_SECONDS if ended.status >= SIGNAL_STATUS else GLANCE_SECONDS)]
    try:
        looked, _ = _ask(installation, environment, *launched)
        recover = ["recover", *whose, *waits, str(place.job_dir)]
        said, is_all_written = _ask(installation, environment, *recover, on_error=True)
    except subprocess.TimeoutExpired:
        say(
            f"{place.job_dir}: does not answer any more; what was counted stays on this node until "
            f"`slicewise recover {place.job_dir}` finds it answering"
        )
        return
    troubles = [line.removeprefix("slicewise: ") for line in said.splitlines()]
    for line in troubles:
        say(line)
    what, _, is_worth_a_look = looked.strip().partition("\n")
    reason, _, program = what.partition(" ")
    if any(place.job_dir.glob("*.swz")):
        is_little = counts[1] <= LITTLE_BYTES  # of writes: what a short command reads is mostly its own program
        if ran_seconds < CLOSING_SECONDS and is_little and not is_worth_a_look and reason == "unknown":
            say_where(place.job_dir)
        else:
            _say_what_was_seen(place.job_dir, LOOK_SECONDS + CLOSING_SHARE * ran_seconds)
    elif not troubles:  # else these are the reasons, and nothing has to be guessed
        _say_why_nothing_was(program, reason or "unknown", counts[1], counts[0], had_collector)
    if is_all_written:
        remove_if_empty(place.job_dir, place.was_there)


def _ask(
    installation: Installation, environment: Mapping[str, str], *arguments: str, on_error: bool = False
) -> tuple[str, bool]:
    """What the collector prints on its standard output, or on that of errors, and whether all went well."""
    done = subprocess.run(
        [installation.collector, *arguments],
        env=without_library(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout_seconds(environment),
        check=False,
    )
    return (done.stderr if on_error else done.stdout).decode(errors="replace"), done.returncode == 0


def say_where(job_dir: Path) -> None:
    shown = as_named_from_here(job_dir)
    say(f"profile in {shown}; next: slicewise report {shown}")


def _is_at_hand(path: Sequence[str]) -> bool:
    """Whether the page cache has the largest of the analyzer's libraries, as far as the kernel says: a compute node's
    often has not, and to fetch 140 MB for some lines would load the file system that the job was slow on.
    """
    libraries = [library for folder in path for library in Path(folder).glob("*polars*/*.so")]
    for library in sorted(libraries, key=_size)[-1:]:
        missing, step = 0, _size(library) // LOOKS_AT_LIBRARY
        with library.open("rb", buffering=0) as file:
            for place in range(LOOKS_AT_LIBRARY):
                try:
                    os.preadv(file.fileno(), [bytearray(1)], place * step, os.RWF_NOWAIT)
                except BlockingIOError:
                    missing += 1
                except OSError:  # this file system cannot tell
                    return True
        return missing < LOOKS_AT_LIBRARY / 2
    return True


def _load_the_analyzer() -> None:
    """What launch.py left out."""
    import site

    site.main()
    from slicewise.settings import mend_foreign

    mend_foreign()


def _say_why_nothing_was(program: str, reason: str, write_bytes: int, read_bytes: int, had_collector: bool) -> None:
    if reason == "unknown" and write_bytes + read_bytes < LITTLE_BYTES:
        say("no I/O to profile: no process of the command read or wrote anything itself")
        return
    _load_the_analyzer()
    from slicewise.report.job.run_lines import nothing_line
    from slicewise.text.safe_text import masked

    say(nothing_line(masked(program, os.environ), reason, write_bytes, read_bytes, had_collector))


def _say_what_was_seen(job_dir: Path, seconds: float) -> None:
    """seconds: it takes no longer."""
    said, has_ended = _in_child(lambda writing: _tell_what_was_seen(job_dir, writing), seconds)
    if not has_ended or not said:
        say_where(job_dir)
        shown = as_named_from_here(job_dir)
        say(f"what it did would take too long to tell here; who slowed it down:  slicewise blame {shown}")
        return
    for line in json.loads(said):
        say(line)


def _tell_what_was_seen(job_dir: Path, writing: int) -> None:
    """In the child: all lines; nothing where the analyzer would have to be fetched from storage."""
    _load_the_analyzer()
    if not _is_at_hand(sys.path):
        return
    from slicewise.analysis.job.io_time import io_time
    from slicewise.analysis.job.totals import summarize
    from slicewise.digest.digest import SELDOM, read_digest
    from slicewise.report.job.run_lines import problem_lines, run_lines

    try:
        # What the lines are not of is most of a large job: it would take gigabytes.
        digest = read_digest(job_dir, in_sum=True, needs_axis=False, without=("files", "usage", *SELDOM))
        lines = [*problem_lines(digest), *run_lines(summarize(digest), io_time(digest), job_dir)]
    except UserError as error:
        lines = [str(error)]
    os.write(writing, json.dumps(lines).encode())
