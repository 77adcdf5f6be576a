"""What a summary of IO500 says: every layout of result_summary.txt and result.txt, in GiB/s and kIOPS. The shell script
of 2017 to 2020 wrote "GB/s" over IOR's MiB/s divided by 1024: these are GiB/s, and taken as such.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone

from slicewise.text import words

APPLE_DOUBLE = b"\x00\x05\x16\x07"

EASY_WRITE, EASY_READ = "ior-easy-write", "ior-easy-read"
HARD_WRITE, HARD_READ = "ior-hard-write", "ior-hard-read"
BANDWIDTH_PHASES = (EASY_WRITE, EASY_READ, HARD_WRITE, HARD_READ)
METADATA_PHASES = (
    "mdtest-easy-write", "mdtest-easy-stat", "mdtest-easy-delete",
    "mdtest-hard-write", "mdtest-hard-stat", "mdtest-hard-read", "mdtest-hard-delete",
)  # fmt: skip
PHASES = (*BANDWIDTH_PHASES, *METADATA_PHASES)
# What mdtest calls its phases.
MDTEST_COLUMNS = {"write": "File creation", "stat": "File stat", "read": "File read", "delete": "File removal"}

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?nan|[-+]?inf"
# [RESULT] BW   phase 1   ior_easy_write   218.322 GB/s : time 304.45 seconds   (the shell script)
# [RESULT]       ior-easy-write     2340.314883 GiB/s : time 455.455 seconds [INVALID]   (the C program)
RESULT_LINE = re.compile(
    rf"\[\s*(?P<mark>[A-Za-z-]*)\s*\]\s*(?:(?:BW|IOPS)\s+)?(?:phase\s+\d+\s+)?(?P<name>[A-Za-z][\w-]*)\s+"
    rf"(?P<rate>{NUMBER})\s*(?P<unit>[A-Za-z]+(?:/s)?)\s*:\s*time\s+(?P<time>{NUMBER})\s*(?:seconds|secs?|s)?"
    r"\s*(?P<remark>\[[^\]]*\])?\s*",
    re.IGNORECASE,
)
MARKED_LINE = re.compile(r"\[\s*(?:RESULT|INVALID)", re.IGNORECASE)
SECTION = re.compile(r"\[(?P<name>[^\]]+)\]")
PAIR = re.compile(r"(?P<key>[A-Za-z][\w.-]*)\s*=\s*(?P<value>.*)")
# To GiB/s, and to thousands a second.
UNITS = {
    "GIB/S": 1.0, "GB/S": 1.0, "MIB/S": 1 / 1024, "MB/S": 1 / 1024, "TIB/S": 1024.0, "TB/S": 1024.0,
    "KIOPS": 1.0, "IOPS": 1e-3, "MIOPS": 1e3,
}  # fmt: skip
API_OPTION = re.compile(r"(?:^|\s)-a[\s=]*(?P<api>[A-Za-z][\w-]*)")


class Unreadable(Exception):
    """A text that gives no run, with the reason."""


@dataclass(frozen=True)
class Phase:
    """A phase of a run: its rate (GiB/s or kIOPS), how long it took (None: not said), whether IO500 calls it valid."""

    name: str
    rate: float
    seconds: float | None
    is_valid: bool = True


@dataclass(frozen=True)
class ResultSummary:
    """What a text says of a run. phases: by IO500's names with hyphens, find and extra ones too. apis: of the phases
    whose command is there. trouble: what in it was not understood, a line each. start: when it began, as its clock said
    (None: not said).
    """

    phases: Mapping[str, Phase]
    apis: Mapping[str, str] = field(default_factory=dict)
    trouble: tuple[str, ...] = ()
    start: datetime | None = None
    processes: int | None = None


def read_summary(text: str) -> ResultSummary:
    """A summary of any layout. Raises Unreadable where it holds no phase at all."""
    if "\x00" in text[:4096]:
        raise Unreadable("it is binary, no summary of IO500")
    lines = text.splitlines()
    if not any(line.strip() for line in lines):
        raise Unreadable("it is empty")
    if any(MARKED_LINE.match(line.strip()) for line in lines):
        return _of_lines(lines)
    return _of_sections(lines)


def require_phases(phases: Mapping[str, Phase], trouble: tuple[str, ...] = ()) -> None:
    """Raises Unreadable where a phase of the box is missing, or has no rate above 0."""
    missing = [name for name in PHASES if name not in phases]
    if missing:
        because = f" ({trouble[0]})" if trouble else ""
        raise Unreadable(f"{words.some(missing)} {'is' if len(missing) == 1 else 'are'} missing{because}")
    useless = [name for name in PHASES if not (math.isfinite(phases[name].rate) and phases[name].rate > 0)]
    if useless:
        raise Unreadable(f"{words.some(useless)} {'has' if len(useless) == 1 else 'have'} no rate above 0")


HDF5 = "HDF5"


def api_name(text: str) -> str:
    """How an API is called here: IOR says MPIIO, and may add a version."""
    name = text.split("(")[0].strip().upper()
    return {"MPIIO": "MPI-IO", "MPI-IO": "MPI-IO"}.get(name, name)


def local_time(text: str) -> datetime | None:
    """An instant as IO500 (2023-11-02 18:02:29, 2023.11.02-18.02.25) or IOR (Thu Nov  2 18:02:29 2023) writes it: in
    the time zone of the machine that it ran on, which is taken to be this one's."""
    text = " ".join(text.split())
    for form in ("%Y-%m-%d %H:%M:%S", "%Y.%m.%d-%H.%M.%S", "%a %b %d %H:%M:%S %Y"):
        try:
            return datetime.strptime(text, form).astimezone(timezone.utc)
        except (ValueError, OverflowError, OSError):
            continue
    return None


def _of_lines(lines: list[str]) -> ResultSummary:
    phases: dict[str, Phase] = {}
    trouble = []
    for number, line in enumerate(lines, 1):
        said = line.strip()
        match = RESULT_LINE.fullmatch(said)
        factor = UNITS.get(match["unit"].upper()) if match else None
        if match is None or factor is None:
            if MARKED_LINE.match(said):
                trouble.append(f"line {number} is not understood: {said[:80]}")
            continue
        name = _phase_name(match["name"])
        if name in phases:
            trouble.append(f"line {number} gives {name} a second time; the first one counts")
            continue
        is_valid = "invalid" not in f"{match['mark']}{match['remark'] or ''}".lower()
        phases[name] = Phase(name, float(match["rate"]) * factor, float(match["time"]), is_valid)
    return ResultSummary(phases, trouble=tuple(trouble))


def _of_sections(lines: list[str]) -> ResultSummary:
    sections: dict[str, dict[str, str]] = {"run": {}}
    invalid: set[str] = set()
    name = "run"
    for line in lines:
        said = line.strip()
        if match := SECTION.fullmatch(said):
            name = _phase_name(match["name"])
            sections.setdefault(name, {})
        elif said.startswith(";"):
            invalid.update({name} if "INVALID" in said else ())
        elif match := PAIR.fullmatch(said):
            sections[name].setdefault(match["key"].lower(), match["value"].strip())
    phases = {}
    trouble = []
    for name, pairs in sections.items():
        if "score" not in pairs or name.upper() == "SCORE":
            continue
        rate = _number(pairs["score"])
        if rate is None:
            trouble.append(f"[{name}]: score = {pairs['score'][:40]} is no number")
            continue
        took = _number(pairs.get("t_delta", pairs.get("time", "")))
        phases[name] = Phase(name, rate, took, name not in invalid)
    if not phases:
        raise Unreadable(trouble[0] if trouble else "it has no phase of IO500")
    apis = {
        name: api_name(found["api"])
        for name, pairs in sections.items()
        if (found := API_OPTION.search(pairs.get("exe", "")))
    }
    starts = [time for pairs in sections.values() if (time := local_time(pairs.get("t_start", "")))]
    processes = _number(sections["run"].get("procs", ""))
    return ResultSummary(phases, apis, tuple(trouble), min(starts, default=None), int(processes) if processes else None)


def _phase_name(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
