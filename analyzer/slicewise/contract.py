"""What the analyzer must know of the library, beside what a profile tells of itself: schema/, by `make docs`."""

from __future__ import annotations

import json
import os
import re

TYPE_CHECKING = False  # typing takes longer to import than this module
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

with open(os.path.join(os.path.dirname(__file__), "contract.json"), encoding="utf-8") as _file:
    _CONTRACT = json.load(_file)
_JOB_NAME = _CONTRACT["job_name"]
_NOT_PLAIN = re.compile(rb"^\.|[^A-Za-z0-9" + re.escape(_JOB_NAME["plain"]).encode() + rb"]")

# The tables of a profile, as its own schema has them (schema/tables.def): name, rows, meaning, columns.
TABLES: list[dict[str, Any]] = _CONTRACT["tables"]
# The signals of nodes by name (schema/signals.def): table, unit, of_devices, amount, per, meaning.
SIGNALS: dict[str, dict[str, str]] = _CONTRACT["signals"]
# What signals are evidence for, by signal: cause, worth, full (0: that depends on the machine).
SIGNS: dict[str, dict[str, Any]] = _CONTRACT["signs"]
# Where signals are drawn: heading, unit, scale, of_nodes, lines (signal, label, style).
NODE_CHARTS: list[dict[str, Any]] = _CONTRACT["node_charts"]
# The problems that are worth a line at the end of `slicewise run`.
SAID_PROBLEMS: list[str] = _CONTRACT["said"]

MOST_JOB_NAME_BYTES: int = _JOB_NAME["most_bytes"]
JOB_NAME_RULE = (
    f"at most {MOST_JOB_NAME_BYTES} letters, digits and any of {_JOB_NAME['plain']}, and does not begin with a dot"
)


def layers_of(part: str) -> tuple[str, ...]:
    """The layers that are one part of the I/O stack (schema/enums.def)."""
    return tuple(layer for layer, its_part in _CONTRACT["layers"].items() if its_part == part)


def seconds_allowed(variable: str) -> tuple[float, float]:
    """The least and the most seconds that a setting takes."""
    setting = _CONTRACT["settings"][variable]
    return float(setting["least"]), float(setting["most"])


def settings_of_the_library() -> dict[str, dict[str, Any]]:
    """What the library reads from the environment, by variable: type, default, least, most, meaning."""
    return dict(_CONTRACT["settings"])


def without_library(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which the profiler's own programs are not profiled, whatever this shell is."""
    return {name: value for name, value in environment.items() if name != "LD_PRELOAD"}


def advice(problem: str) -> str:
    """What a problem means for the figures, and what to do; empty for one of another version."""
    return str(_CONTRACT["advice"].get(problem, ""))


def job_name(given: str) -> str:
    """The name that the library makes of a job's name: byte by byte, for it is a file's name too."""
    return _NOT_PLAIN.sub(b"_", os.fsencode(given)[:MOST_JOB_NAME_BYTES]).decode()
