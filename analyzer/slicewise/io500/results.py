"""Where results of IO500 lie: files and directories in, runs out, and whatever could not be read with its reason."""

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from slicewise.io500.texts import (
    APPLE_DOUBLE,
    EASY_WRITE,
    HARD_WRITE,
    Phase,
    ResultSummary,
    Unreadable,
    api_name,
    local_time,
    read_summary,
    require_phases,
)

SUMMARY_FILES = ("result_summary.txt", "result.txt")
# Of a campaign of our own.
RUN_FILE = "expect-run.json"
RUN_FILE_VERSION = 1
RESULT_FILES = (*SUMMARY_FILES, RUN_FILE)
# A directory that IO500 named after its start: 2023.11.02-18.02.25.
STARTED = re.compile(r"\d{4}\.\d\d\.\d\d-\d\d\.\d\d\.\d\d")
IOR_API = re.compile(r"^\s*api[^\S\n]*[:=]\s*(\S[^\n]*)$", re.MULTILINE | re.IGNORECASE)
IOR_BEGAN = re.compile(r"^Began\s*:\s*(.+)$", re.MULTILINE)
MOST_BYTES = 16 << 20
HEAD_BYTES = 1 << 16
UNKNOWN_API = "unknown"
IO500 = "IO500"


@dataclass(frozen=True)
class IO500Run:
    """A run of IO500, or of what stands in for it. name: its directory's, as short as tells it from the others. api:
    POSIX, MPI-IO, another of IOR's; "POSIX, hard MPI-IO" where they differ; unknown. start: when it began (None: not
    said). benchmark: IO500, or what else it was.
    """

    name: str
    directory: Path
    phases: dict[str, Phase]
    api: str = UNKNOWN_API
    start: datetime | None = None
    benchmark: str = IO500
    processes: int | None = None

    @property
    def invalid(self) -> list[str]:
        """The phases that IO500 itself calls invalid: most often, they were shorter than its rules want."""
        return [phase.name for phase in self.phases.values() if not phase.is_valid]


@dataclass(frozen=True)
class NotRead:
    """A place that gave no run, or part of one that was not understood."""

    path: str
    reason: str


@dataclass(frozen=True)
class Results:
    """runs: in order of their starts, those without one by their names. unreadable: what gave no run, and why."""

    runs: list[IO500Run]
    unreadable: list[NotRead]


def read_results(places: Sequence[Path]) -> Results:
    """All runs in these files and below these directories."""
    found: list[IO500Run] = []
    unreadable: list[NotRead] = []
    seen: set[Path] = set()
    for place in places:
        for directory, files in _directories(place, unreadable):
            fresh = [file for file in files if file.resolve() not in seen]
            seen.update(file.resolve() for file in fresh)
            if fresh:
                found += _runs_in(place, directory, fresh, unreadable)
    runs = sorted(found, key=lambda run: (run.start is None, run.start or datetime.now(timezone.utc), run.name))
    return Results(_named(runs), unreadable)


def text_of(file: Path, most: int = MOST_BYTES) -> str:
    """The text of a file, or its beginning. Raises Unreadable."""
    try:
        with file.open("rb") as stream:
            content = stream.read(most)
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror}") from error
    if file.name.startswith("._") or content.startswith(APPLE_DOUBLE):
        raise Unreadable("it is an AppleDouble file: what macOS keeps of a file beside its content, no result")
    return content.decode("utf-8", "replace")


def text_or_empty(file: Path, most: int = MOST_BYTES) -> str:
    """The text of a file, or its beginning; none where it cannot be read."""
    with contextlib.suppress(Unreadable):
        return text_of(file, most)
    return ""


def phase_file(directory: Path, phase: str, suffix: str) -> Path | None:
    """A phase's own file: ior-easy-write.txt, or as the shell script named it, ior_easy_write.txt."""
    for name in (phase, phase.replace("-", "_")):
        file = directory / f"{name}.{suffix}"
        if file.is_file():
            return file
    return None


def _directories(place: Path, unreadable: list[NotRead]) -> Iterable[tuple[Path, list[Path]]]:
    if not place.exists():
        unreadable.append(NotRead(str(place), "there is no such file or directory"))
        return
    if not place.is_dir():
        yield place.parent, [place]
        return
    is_found = False

    def complain(error: OSError) -> None:
        unreadable.append(NotRead(str(error.filename), f"it cannot be read: {error.strerror}"))

    for root, below, names in os.walk(place, onerror=complain):
        below.sort()
        for name in sorted(names):
            if name.startswith("._") and name.removeprefix("._") in RESULT_FILES:
                unreadable.append(NotRead(str(Path(root, name)), _why_not(Path(root, name))))
        files = [Path(root, name) for name in RESULT_FILES if name in names]
        if files:
            is_found = True
            yield Path(root), files
    if not is_found:
        unreadable.append(
            NotRead(str(place), f"no {' or '.join(SUMMARY_FILES)} lies there; name a directory that IO500 wrote")
        )


def _why_not(file: Path) -> str:
    try:
        text_of(file, HEAD_BYTES)
    except Unreadable as reason:
        return str(reason)
    return "it is no result"


def _runs_in(place: Path, directory: Path, files: list[Path], unreadable: list[NotRead]) -> list[IO500Run]:
    """The run that one directory's files make: what the summary leaves out is taken from result.txt."""
    read: list[tuple[Path, ResultSummary]] = []
    for file in files:
        try:
            if file.name == RUN_FILE:
                return [read_run(text_of(file), _name(place, directory, file), directory)]
            summary = read_summary(text_of(file))
        except Unreadable as reason:
            unreadable.append(NotRead(str(file), str(reason)))
            continue
        read.append((file, summary))
        unreadable += [NotRead(str(file), trouble) for trouble in summary.trouble]
    for number, (file, summary) in enumerate(read):
        try:
            require_phases(summary.phases, summary.trouble)
        except Unreadable as reason:
            unreadable.append(NotRead(str(file), str(reason)))
            continue
        others = [other for place_, (_, other) in enumerate(read) if place_ != number]
        return [_run(place, directory, file, [summary, *others])]
    return []


def _run(place: Path, directory: Path, file: Path, summaries: list[ResultSummary]) -> IO500Run:
    # A result.txt that was not named may still say what the summary of its directory leaves out.
    beside = directory / SUMMARY_FILES[1]
    if len(summaries) == 1 and file.name == SUMMARY_FILES[0] and beside.is_file():
        with contextlib.suppress(Unreadable):
            summaries = [*summaries, read_summary(text_of(beside))]
    phases = dict(summaries[0].phases)
    for other in summaries[1:]:
        for name, phase in other.phases.items():
            here = phases.get(name)
            if here is None:
                phases[name] = phase
            elif not phase.is_valid or here.seconds is None:
                phases[name] = replace(here, seconds=here.seconds or phase.seconds, is_valid=False)
    apis = {name: api for summary in reversed(summaries) for name, api in summary.apis.items()}
    easy, hard = (apis.get(name) or _api_of(directory, name) for name in (EASY_WRITE, HARD_WRITE))
    start = next((summary.start for summary in summaries if summary.start), None) or _start_of(directory)
    processes = next((summary.processes for summary in summaries if summary.processes), None)
    api = f"{easy}, hard {hard}" if easy and hard and easy != hard else easy or hard or UNKNOWN_API
    return IO500Run(_name(place, directory, file), directory, phases, api, start, processes=processes)


def _api_of(directory: Path, phase: str) -> str | None:
    match = IOR_API.search(_head(directory, phase))
    return api_name(match[1]) if match else None


def _start_of(directory: Path) -> datetime | None:
    began = IOR_BEGAN.search(_head(directory, EASY_WRITE))
    if began and (time := local_time(began[1])):
        return time
    named = next((match[0] for part in reversed(directory.parts) if (match := STARTED.search(part))), None)
    return local_time(named) if named else None


def _head(directory: Path, phase: str) -> str:
    file = phase_file(directory, phase, "txt")
    return text_or_empty(file, HEAD_BYTES) if file else ""


def _name(place: Path, directory: Path, file: Path) -> str:
    """What a run is called: its directory below the place that was named, or the place itself."""
    if not place.is_dir():
        return directory.resolve().name if file.name in RESULT_FILES else file.stem
    return place.resolve().name if directory == place else str(directory.relative_to(place))


def _named(runs: list[IO500Run]) -> list[IO500Run]:
    times = Counter(run.name for run in runs)
    known: Counter[str] = Counter()
    named = []
    for run in runs:
        name = run.name if times[run.name] == 1 else str(run.directory)
        known[name] += 1
        named.append(replace(run, name=name if known[name] == 1 else f"{name} ({known[name]})"))
    return named


def read_run(text: str, name: str, directory: Path) -> IO500Run:
    """A run of our own from its file's text. Raises Unreadable."""
    try:
        record = json.loads(text)
        if record["version"] != RUN_FILE_VERSION:
            raise Unreadable(f"it is of version {record['version']}, and only version {RUN_FILE_VERSION} is known")
        phases = {phase: _phase(phase, said) for phase, said in record["phases"].items()}
        start = datetime.fromisoformat(record["start"]).astimezone(timezone.utc)
        said = str(record["api"]), start, str(record["benchmark"]), int(record["processes"])
        return IO500Run(name, directory, phases, *said)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"it is damaged: {error}") from error


def run_text(run: IO500Run) -> str:
    """The file's text of a run of our own, whose benchmark has the words "not IO500"."""
    about = {"version": RUN_FILE_VERSION, "benchmark": run.benchmark, "api": run.api}
    times = {"start": run.start and run.start.isoformat(), "processes": run.processes}
    phases = {name: asdict(phase) for name, phase in run.phases.items()}
    return json.dumps(about | times | {"phases": phases}, indent=2) + "\n"


def _phase(name: str, said: Mapping[str, Any]) -> Phase:
    rate = float(said["rate"])
    if not rate > 0:
        raise Unreadable(f"{name} has no rate above 0")
    return Phase(name, rate, None if said["seconds"] is None else float(said["seconds"]), bool(said["is_valid"]))
