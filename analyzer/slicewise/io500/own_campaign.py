"""A run of `slicewise storage benchmark`, as it is kept: one JSON file, labelled as not IO500.

Text in, run out, and back; it opens no file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any

from slicewise.io500.texts import Phase, Unreadable

RUN_FILE = "expect-run.json"
VERSION = 1


@dataclass(frozen=True)
class OwnRun:
    """phases: by IO500's names, of what was run. benchmark: what ran instead of IO500, with the words "not IO500"."""

    phases: dict[str, Phase]
    api: str
    start: datetime
    benchmark: str
    processes: int


def read_run(text: str) -> OwnRun:
    """A run from its file's text. Raises Unreadable."""
    try:
        record = json.loads(text)
        if record["version"] != VERSION:
            raise Unreadable(f"it is of version {record['version']}, and only version {VERSION} is known")
        phases = {name: _phase(name, said) for name, said in record["phases"].items()}
        start = datetime.fromisoformat(record["start"]).astimezone(timezone.utc)
        return OwnRun(phases, str(record["api"]), start, str(record["benchmark"]), int(record["processes"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"it is damaged: {error}") from error


def run_text(run: OwnRun) -> str:
    """The file's text."""
    record: dict[str, Any] = {
        "version": VERSION,
        "benchmark": run.benchmark,
        "api": run.api,
        "start": run.start.isoformat(),
        "processes": run.processes,
        "phases": {name: asdict(phase) for name, phase in run.phases.items()},
    }
    return json.dumps(record, indent=2) + "\n"


def _phase(name: str, said: Mapping[str, Any]) -> Phase:
    rate = float(said["rate"])
    if not rate > 0:
        raise Unreadable(f"{name} has no rate above 0")
    return Phase(name, rate, None if said["seconds"] is None else float(said["seconds"]), bool(said["is_valid"]))
