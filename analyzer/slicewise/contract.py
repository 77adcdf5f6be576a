"""What the analyzer must know of the library, beside what a profile tells of itself: schema/, by `make docs`."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

_CONTRACT = json.loads(Path(__file__).with_name("contract.json").read_text())
_JOB_NAME = _CONTRACT["job_name"]
_NOT_PLAIN = re.compile(rb"^\.|[^A-Za-z0-9" + re.escape(_JOB_NAME["plain"]).encode() + rb"]")

MOST_JOB_NAME_BYTES: int = _JOB_NAME["most_bytes"]
JOB_NAME_RULE = (
    f"at most {MOST_JOB_NAME_BYTES} letters, digits and any of {_JOB_NAME['plain']}, and does not begin with a dot"
)


def layers_of(part: str) -> tuple[str, ...]:
    """The layers that are one part of the I/O stack (schema/enums.def)."""
    return tuple(layer for layer, its_part in _CONTRACT["layers"].items() if its_part == part)


def named_columns() -> list[str]:
    """Columns of a profile that hold paths and programs, which SLICEWISE_NAMES masks: `files.path`."""
    return list(_CONTRACT["named"])


def seconds_allowed(variable: str) -> tuple[float, float]:
    """The least and the most seconds that a setting takes."""
    setting = _CONTRACT["settings"][variable]
    return float(setting["least"]), float(setting["most"])


def settings_of_the_library() -> dict[str, dict[str, Any]]:
    """What the library reads from the environment, by variable: type, default, least, most, meaning."""
    return dict(_CONTRACT["settings"])


def advice(mishap: str) -> str:
    """What a mishap means for the figures, and what to do; empty for one of another version."""
    return str(_CONTRACT["advice"].get(mishap, ""))


def job_name(given: str) -> str:
    """The name that the library makes of a job's name: byte by byte, for it is a file's name too."""
    return _NOT_PLAIN.sub(b"_", os.fsencode(given)[:MOST_JOB_NAME_BYTES]).decode()
