"""How well `slicewise blame` finds lost time: what `testbed.blame_validation` computes, as tables."""

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from slicewise.analysis.blame.result import Blame

from testbed import blame_validation as recorded
from testbed.blame_validation import AIMS, Case, Quiet, Share, Unprofiled
from testbed.tables import Table, listed, table

MIB = 1 << 20
RUN: dict[str, Callable[[Any], Any]] = {
    "run": lambda one: one.run.text,
    "slices": lambda one: f"{one.run.slice_seconds:g} s",
    "job": lambda one: one.job.job,
}
OF_CASE = {name: lambda one, of=of: of(one.case) for name, of in RUN.items()}
CASE: dict[str, Callable[[Case], Any]] = {
    **RUN,
    "runtime, s": lambda one: one.job.seconds,
    "lost, s": lambda one: one.lost,
    "lost in calls, s": lambda one: one.io_lost,
    "told, s": lambda one: _value(one.told),
    "confidence": lambda one: one.told.confidence,
    "told without standalone runs, s": lambda one: _value(one.told_without),
    "confidence without": lambda one: one.told_without.confidence,
    "by": lambda one: one.told_without.baseline.source if one.told_without.lost else one.told_without.unknown_because,
    **{
        f"error in calls by {source}, %": lambda one, source=source: one.error(source) if one.is_counted else None
        for source in AIMS
    },
}
SHARE: dict[str, Callable[[Share], Any]] = {
    **OF_CASE,
    "neighbour": lambda one: one.neighbour,
    "its part, told, %": lambda one: one.told,
    "its true part, %": lambda one: one.shown,
}
QUIET: dict[str, Callable[[Quiet], Any]] = {
    "storage": lambda one: one.run.storage,
    **RUN,
    "standalone runs": lambda one: "given" if one.has_standalone else "withheld",
    "told, s": lambda one: _value(one.told),
    "truly slower in calls, s": lambda one: one.slower,
    "confidence": lambda one: one.told.confidence,
}
UNPROFILED: dict[str, Callable[[Unprofiled], Any]] = {
    "storage": lambda one: one.case.run.storage,
    **OF_CASE,
    "the neighbour moved, MiB": lambda one: one.moved / MIB,
    "told, MiB": lambda one: one.told / MIB,
}


def tables(campaigns: Path) -> list[Table]:
    """Figures of all recordings, then every job in company of each."""
    found = recorded.directories(campaigns)
    cases = [case for directory in found for case in recorded.cases(directory)]
    quiet = [one for directory in found for one in recorded.quiet(directory)]
    return [
        _lost_runtime(cases),
        _chosen([case for case in cases if case.is_counted]),
        listed("nobody hurt", [one for one in quiet if one.is_told], QUIET),
        listed("without a profile", [one for each in found for one in recorded.unprofiled(each)], UNPROFILED),
        *(listed(directory.name, recorded.cases(directory), CASE) for directory in found),
        *(listed(f"{directory.name}, neighbours", recorded.shares(directory), SHARE) for directory in found),
    ]


def _lost_runtime(cases: list[Case]) -> Table:
    """How far the lost runtime that is told is off, by what was given and how sure the answer says it is. counted: the
    large losses among the jobs."""
    rows = []
    for given, told_of in (("given", lambda case: case.told), ("withheld", lambda case: case.told_without)):
        for confidence in ("high", "medium", "low", "unknown"):
            some = [case for case in cases if told_of(case).confidence == confidence]
            off = [(abs(lost.value - one.lost), one.job.seconds) for one in some if (lost := told_of(one).lost)]
            seconds = [one for one, _ in off]
            parts = [100 * one / runtime for one, runtime in off]
            row = [given, confidence, len(some), sum(one.is_counted for one in some), *_errors(seconds)]
            rows.append([*row, max(parts, default=None)])
    headings = ["standalone runs", "confidence", "jobs", "counted", "off, mean, s", "off, most, s"]
    return table("lost runtime", [*headings, "off, most, % of the runtime"], rows)


def _chosen(counted: list[Case]) -> Table:
    """How far each source is off where it is chosen, without standalone runs."""
    rows = []
    for source in AIMS:
        chosen = [one for one in counted if (used := one.told_without.baseline) and used.source == source]
        off = [abs(error) for one in chosen if one.told_without.lost and (error := one.error(source)) is not None]
        rows.append([source, len(off), *_errors(off)])
    return table("chosen", ["chosen source", "losses", "error, mean, %", "error, most, %"], rows)


def _errors(off: list[float]) -> list[float | None]:
    return [statistics.mean(off), max(off)] if off else [None, None]


def _value(told: Blame) -> float | None:
    return told.lost.value if told.lost else None
