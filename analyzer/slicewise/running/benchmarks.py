"""The benchmarks that `slicewise storage benchmark` can drive: IO500; IOR and mdtest; else our own workload program."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from slicewise.errors import UserError
from slicewise.io500.texts import MDTEST_COLUMNS, Phase
from slicewise.running.installation import workload_program

Api = Literal["posix", "mpiio", "hdf5"]
Name = Literal["io500", "ior", "load"]
LABELS: dict[Name, str] = {
    "io500": "IO500",
    "ior": "IOR and mdtest (not IO500)",
    "load": "slicewise-load (not IO500)",
}
# As the hard phases of IO500 have it: transfers that fit no block, and files that hold a bit.
HARD_TRANSFER = 47008
HARD_FILE = 3901
# A run may do so many times the work of the trial, and no less than this part of it.
MOST_SCALED = 32.0
LEAST_SCALED = 0.25
SHORTEST_SECONDS = 0.005

LOAD_SAID = re.compile(r"\d+ processes (?:wrote|read) (\d+) bytes in ([\d.]+) s:")
IOR_SAID = re.compile(r"^(?:write|read)\s+([\d.]+)(?:\s+\S+)*?\s+([\d.]+)\s+\d+\s*$", re.MULTILINE)
MDTEST_SAID = r"^\s*{what}\s*:?\s+([\d.]+)"


@dataclass(frozen=True)
class RunSize:
    """How much a run does. easy_mib, hard_transfers, files: of each process."""

    processes: int
    easy_mib: int
    hard_transfers: int
    files: int

    def fitted(self, phases: Mapping[str, Phase], seconds: float) -> RunSize:
        """The size at which each phase takes about so many seconds, from what a run of this size took."""

        def factor(prefix: str) -> float:
            took = max((phase.seconds or 0.0 for name, phase in phases.items() if name.startswith(prefix)), default=0.0)
            return min(MOST_SCALED, max(LEAST_SCALED, seconds / max(took, SHORTEST_SECONDS)))

        return RunSize(
            self.processes,
            math.ceil(self.easy_mib * factor("ior-easy")),
            math.ceil(self.hard_transfers * factor("ior-hard")),
            math.ceil(self.files * factor("mdtest")),
        )


@dataclass(frozen=True)
class BenchmarkStep:
    """One command of a run. words: for each process its own where they differ, else one list for all. read: phases out
    of what it printed. is_reading: the files of `data` should not be in the page cache.
    """

    words: Sequence[Sequence[str]]
    read: Callable[[str], list[Phase]]
    is_reading: bool = False


@dataclass(frozen=True)
class Programs:
    """What is installed."""

    launcher: Sequence[str]
    paths: dict[str, str] = field(default_factory=dict)


def find_programs(launcher: Sequence[str]) -> Programs:
    """The programs of PATH, and the workload program of this installation."""
    found = {name: shutil.which(name) for name in ("io500", "ior", "mdtest")} | {"load": workload_program()}
    return Programs(launcher, {name: str(path) for name, path in found.items() if path})


def choose(programs: Programs, wanted: Name | None, api: Api = "posix") -> Name:
    """The benchmark to run: the one asked for, else the most real one that is there and has the API. Raises
    UserError.
    """
    needed: dict[Name, tuple[set[str], str]] = {
        "io500": ({"io500"}, "io500 in PATH"),
        "ior": ({"ior", "mdtest"}, "ior and mdtest in PATH"),
        "load": ({"load"}, "slicewise-load, which is built with MPI"),
    }
    if api == "hdf5":  # IOR's own; the workload program has none
        del needed["load"]
        if wanted == "load":
            raise UserError(
                "storage benchmark: slicewise-load has no HDF5; install IOR with HDF5, or choose another --api"
            )
    for name, (files, _) in needed.items():
        if wanted in (None, name) and files <= set(programs.paths):
            return name
    what = needed[wanted][1] if wanted else ", or ".join(what for _, what in needed.values())
    raise UserError(
        f"storage benchmark: needs {what}; install that, or give results that you have to slicewise storage expect"
    )


def commands(programs: Programs, words: Sequence[Sequence[str]], processes: int) -> list[str]:
    """The whole command line of a step: one program a process where their words differ."""
    launcher = list(programs.launcher)
    if len(words) == 1:
        return [*launcher, "-n", str(processes), *words[0]]
    line = list(launcher)
    for number, own in enumerate(words):
        line += [*([":"] if number else []), "-n", "1", *own]
    return line


def load_steps(programs: Programs, size: RunSize, data: Path, api: Api) -> list[BenchmarkStep]:
    """A run with the workload program. It removes each file as soon as it is written: creation and removal are one
    phase, of two operations a file, and there is no stat phase."""
    load = [programs.paths["load"], "--api", api]
    easy = [*load, "--volume", f"{size.easy_mib * size.processes}M", "--transfer", "1M"]
    hard_bytes = HARD_TRANSFER * size.hard_transfers * size.processes
    hard = [*load, "--volume", str(hard_bytes), "--transfer", str(HARD_TRANSFER), "--shared", "--strided"]
    small = [programs.paths["load"], "--files", str(size.files), "--transfer"]
    own_places = [data / f"own-{number}" for number in range(size.processes)]
    for place in own_places:
        place.mkdir(exist_ok=True)
    return [
        BenchmarkStep([[*easy, "--fsync", str(data / "easy")]], _load_data("ior-easy-write")),
        BenchmarkStep([[*small, "1", str(place / "file")] for place in own_places], _load_files("easy", size)),
        BenchmarkStep([[*hard, "--fsync", str(data / "hard")]], _load_data("ior-hard-write")),
        BenchmarkStep([[*small, str(HARD_FILE), str(data / "file")]], _load_files("hard", size)),
        BenchmarkStep(
            [[*easy, "--read", "--remove", str(data / "easy")]], _load_data("ior-easy-read"), is_reading=True
        ),
        BenchmarkStep(
            [[*hard, "--read", "--remove", str(data / "hard")]], _load_data("ior-hard-read"), is_reading=True
        ),
    ]


def _read(
    phase: str, said: re.Pattern[str], phases: Callable[[re.Match[str]], list[Phase]]
) -> Callable[[str], list[Phase]]:
    """Phases out of what a program printed. Raises UserError where it said nothing of the phase."""

    def read(text: str) -> list[Phase]:
        match = said.search(text)
        if match is None:
            last = text.strip().splitlines()[-1:] or ["nothing"]
            raise UserError(f"expect run: {phase} printed no result, and last: {last[0][:120]}")
        return phases(match)

    return read


def _load_data(phase: str) -> Callable[[str], list[Phase]]:
    def phases(match: re.Match[str]) -> list[Phase]:
        seconds = max(float(match[2]), 1e-3)
        return [Phase(phase, int(match[1]) / seconds / 2**30, seconds)]

    return _read(phase, LOAD_SAID, phases)


def _load_files(level: str, size: RunSize) -> Callable[[str], list[Phase]]:
    def phases(match: re.Match[str]) -> list[Phase]:
        seconds = max(float(match[2]), 1e-3)
        rate = 2 * size.files * size.processes / seconds / 1e3
        return [Phase(f"mdtest-{level}-{what}", rate, seconds) for what in ("write", "delete")]

    return _read(f"mdtest-{level}-write", LOAD_SAID, phases)


def ior_steps(programs: Programs, size: RunSize, data: Path, api: Api) -> list[BenchmarkStep]:
    """A run with IOR and mdtest, in the order of IO500's phases and with their options, only smaller."""
    ior = [programs.paths["ior"], "-a", api.upper(), "-k", "-C", "-g"]
    easy = [*ior, "-F", "-t", "1m", "-b", f"{size.easy_mib}m", "-o", str(data / "easy")]
    transfers = f"-t {HARD_TRANSFER} -b {HARD_TRANSFER} -s {size.hard_transfers} -o"
    hard = [*ior, *transfers.split(), str(data / "hard")]
    mdtest = [programs.paths["mdtest"], "-F", "-P", "-n", str(size.files)]
    md_easy = [*mdtest, "-u", "-L", "-d", str(data / "mdtest-easy")]
    md_hard = [*mdtest, "-t", "-w", str(HARD_FILE), "-e", str(HARD_FILE), "-d", str(data / "mdtest-hard")]
    return [
        BenchmarkStep([[*easy, "-w", "-e"]], _ior("ior-easy-write")),
        BenchmarkStep([[*md_easy, "-C"]], _mdtest("mdtest-easy-write", size)),
        BenchmarkStep([[*hard, "-w", "-e"]], _ior("ior-hard-write")),
        BenchmarkStep([[*md_hard, "-C"]], _mdtest("mdtest-hard-write", size)),
        BenchmarkStep([[*easy, "-r"]], _ior("ior-easy-read"), is_reading=True),
        BenchmarkStep([[*md_easy, "-T"]], _mdtest("mdtest-easy-stat", size)),
        BenchmarkStep([[*hard, "-r"]], _ior("ior-hard-read"), is_reading=True),
        BenchmarkStep([[*md_hard, "-T"]], _mdtest("mdtest-hard-stat", size)),
        BenchmarkStep([[*md_easy, "-r"]], _mdtest("mdtest-easy-delete", size)),
        BenchmarkStep([[*md_hard, "-E"]], _mdtest("mdtest-hard-read", size), is_reading=True),
        BenchmarkStep([[*md_hard, "-r"]], _mdtest("mdtest-hard-delete", size)),
    ]


def _ior(phase: str) -> Callable[[str], list[Phase]]:
    return _read(phase, IOR_SAID, lambda said: [Phase(phase, float(said[1]) / 1024, float(said[2]))])


def _mdtest(phase: str, size: RunSize) -> Callable[[str], list[Phase]]:
    said = re.compile(MDTEST_SAID.format(what=MDTEST_COLUMNS[phase.rsplit("-", 1)[1]]), re.MULTILINE)

    def phases(match: re.Match[str]) -> list[Phase]:
        rate = float(match[1])
        return [Phase(phase, rate / 1e3, size.files * size.processes / rate if rate else None)]

    return _read(phase, said, phases)


def io500_config(data: Path, results: Path, stonewall_seconds: int, api: Api) -> str:
    """A configuration of IO500 whose phases are as short as is asked: its own rules want 300 s. mdtest has no HDF5."""
    of_all, of_data = api.upper(), ""
    if api == "hdf5":
        of_all, of_data = "POSIX", "[ior-easy]\nAPI = HDF5\n[ior-hard]\nAPI = HDF5\n"
    return (
        f"[global]\ndatadir = {data}\nresultdir = {results}\ntimestamp-datadir = FALSE\n"
        f"timestamp-resultdir = FALSE\napi = {of_all}\n[debug]\nstonewall-time = {stonewall_seconds}\n{of_data}"
    )
