"""When a job did its I/O, in words, as a table and as JSON: the same for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from slicewise.report import columns
from slicewise.report.records import picked
from slicewise.report.tables import Cell, Table
from slicewise.scalars import whole
from slicewise.text import words

if TYPE_CHECKING:  # numpy would come along
    from slicewise.analysis.job.phases import Phases

MOST_PHASES = 20
NOUNS = {"read": "Reads", "write": "Writes"}


def phases_record(found: Phases) -> dict[str, Any]:
    """The key `phases` of JSON output, see docs/commands.md."""
    return picked(found, "phases", "between_bytes", "periods", "time_in_io")


def phase_lines(found: Phases) -> Iterator[str]:
    """How many phases, how often they come back, and whom the job waited for; a sentence each."""
    frame = found.phases
    inside = whole(frame["read_bytes"].sum()) + whole(frame["write_bytes"].sum())
    if not inside:
        yield "No I/O phases: no call that was counted moved bytes of files."
    else:
        share = inside / (inside + found.between_bytes)
        yield f"{words.count(frame.height, 'I/O phase')} moved {words.percent(share)} of the bytes."
        for period in found.periods:
            how_often = f"{words.seconds(period.seconds)} ({words.number(period.times, 2)} times"
            yield f"{NOUNS[period.direction]} come back every {how_often}; confidence {period.confidence:.2f})."
        if not found.periods and frame.height > 1:
            yield "No period: the phases do not come back at regular times, or too few of them were seen to tell."
    time = found.time_in_io
    if not time.slowest:
        return
    mapped = f" and waits for mapped files ({words.duration(time.mapped_seconds)}, a guess)"
    what = f"I/O calls{mapped if time.mapped_seconds else ''}{' of the mean thread' if time.threads > 1 else ''}"
    if time.slowest == time.median:  # of one process, or of equal ones
        yield f"{what} took {words.percent(time.slowest)} of the runtime."
    else:
        yield (
            f"{what} took {words.percent(time.slowest)} of the runtime of the process that waited longest "
            f"({time.label}), and {words.percent(time.median)} of the median process's."
        )


def phases_table(found: Phases, slice_ns: int) -> Table:
    def rate(heading: str, name: str) -> columns.Made[dict[str, Any]]:
        return columns.figure(heading, lambda phase: Cell(words.rate(phase[name]), phase[name]), "bytes/s")

    return columns.table(
        found.phases.head(MOST_PHASES).iter_rows(named=True),
        columns.text("phase", lambda phase: words.span(phase["start_ns"], phase["end_ns"], slice_ns)),
        columns.duration("took", "seconds"),
        columns.size("written", "write_bytes"),
        columns.size("read", "read_bytes"),
        rate("rate", "rate"),
        rate("at least", "low_rate"),
        rate("at most", "high_rate"),
        columns.count("processes", "processes"),
        time=lambda phase: (phase["start_ns"], phase["end_ns"]),
        more=found.phases.height - MOST_PHASES,
    )
