"""Compared runs as JSON, with the keys that docs/commands.md documents: times in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slicewise.analysis.compare.compare import Comparison
from slicewise.analysis.compare.difference import Difference
from slicewise.analysis.compare.work import Tasks
from slicewise.report.compare import compare_words
from slicewise.text import words


def compare_record(comparison: Comparison, page: Path | None) -> dict[str, Any]:
    """What `slicewise compare --json` prints: the keys of the difference that is told first at the top."""
    return {
        "runs": [_run(run) for run in comparison.runs],
        "against": comparison.against.job.job,
        "chosen": comparison.chosen,
        **_difference(comparison.told),
        "differences": [_difference(told) for told in comparison.differences],
        "variability": comparison.shares or None,
        "notes": [*compare_words.notes(comparison), *compare_words.rule(comparison)],
        "page": str(page) if page else None,
    }


def _run(run: Tasks) -> dict[str, Any]:
    return {
        "job": run.job.job,
        "program": run.job.program,
        "processes": run.processes,
        "nodes": run.job.nodes,
        "start": words.iso_time(run.job.start_ns),
        "end": None if run.is_running else words.iso_time(run.job.end_ns),
        "is_running": run.is_running,
        "runtime_seconds": run.runtime_ns / 1e9,
        "computing_seconds": run.computing_ns / 1e9,
        "waited_seconds": run.waited_ns / 1e9,
        "io_seconds": run.io_ns / 1e9,
        "waits": run.waits,
        "decided_by": run.decided_by,
        **{f"{kind}_bytes": run.total(kind, "bytes") for kind in ("read", "write")},
        **{f"{kind}_calls": run.total(kind, "calls") for kind in ("read", "write", "meta")},
    }


def _difference(told: Difference) -> dict[str, Any]:
    return {
        "job": told.of.job.job,
        "difference_seconds": told.difference_seconds,
        "ratio": told.ratio,
        "computing_seconds": told.computing_seconds,
        "waiting_seconds": told.waiting_seconds,
        "own_io_seconds": {**vars(told.own_io.seconds), "parts": told.own_io.parts},
        "lost_seconds": told.lost_seconds,
        "neighbours": told.loss.neighbours if told.loss else [],
        "unexplained_seconds": told.unexplained_seconds,
        "confidence": told.confidence,
    }
