"""What profiles could not see or have lost: the same lines, and the same table of processes, on every page."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from slicewise.analysis.coverage import Coverage, coverage
from slicewise.analysis.sampled import Sampled
from slicewise.contract import advice
from slicewise.digest.activity import Direction
from slicewise.digest.digest import Digest
from slicewise.report import columns
from slicewise.report.columns import Made
from slicewise.report.coverage import coverage_words
from slicewise.report.coverage.coverage_words import CAUSES, REASONS
from slicewise.report.page import Section
from slicewise.report.tables import Cell, Table
from slicewise.text import words

MOST_PROCESSES = 20
SAMPLED_NOTE = (
    "The node's collector sampled them from outside. Counts are the kernel's, of files, pipes and terminals alike, and "
    "in no other figure of this page but the shares that were seen. What a process did after the last look at it, a "
    "second at most, is missing."
)


def unseen_lines(digests: Iterable[Digest]) -> list[str]:
    """What share of the kernel's bytes was seen and what the rest may be, damage, trouble that the profiler met,
    processes that were killed."""
    lines = []
    for digest in digests:
        lines.extend(digest.notes)
        found = coverage(digest)
        lines.extend(coverage_lines(digest.job, found, says_small=not coverage_words.is_all_seen(found)))
        lines.extend(_lost(digest))
    return lines


def least_seen_lines(digests: Sequence[Digest], direction: Direction) -> list[str]:
    """`unseen_lines` of many jobs, with one line on the kernel's bytes: of the job of which least was seen."""
    lines = list(dict.fromkeys(note for digest in digests for note in digest.notes))
    shares = {digest.job: getattr(coverage(digest), direction) for digest in digests}
    known = {job: share for job, share in shares.items() if share is not None}
    if known:
        least = min(known, key=lambda job: known[job])
        lines.append(
            f"{least}: saw {words.percent(known[least])} of the bytes {coverage_words.DONE[direction]} that the kernel "
            f"counted, the least of {words.count(len(known), 'job')}"
        )
    return [*lines, *(line for digest in digests for line in _lost(digest))]


def _lost(digest: Digest) -> list[str]:
    lines = [damage.message for damage in digest.damage]
    meanings = digest.meanings("mishaps")
    met = digest.mishaps.group_by("mishap").agg(pl.col("count").sum(), pl.col("process").n_unique()).sort("mishap")
    for name, times, processes in met.filter(pl.col("count") > 0).iter_rows():
        where = f"{words.count(times, 'time')} in {words.count(processes, 'process')}"
        lines.append(f"{digest.job}: {meanings.get(name, name)} ({where}). {advice(name)}".rstrip())
    killed = digest.processes.filter(pl.col("ending") == "killed").height
    if killed:
        lines.append(
            f"{digest.job}: {words.count(killed, 'process')} ended before the profile was finished (killed, or out of "
            "time or memory). All that Slicewise counted is here; only the kernel's last count is missing."
        )
    return lines


def coverage_lines(job: str, seen: Coverage, says_small: bool = True) -> list[str]:
    return [f"{job}: {line}" for line in (coverage_words.seen(seen), *coverage_words.gap_lines(seen, says_small))]


def seen_section(coverages: Mapping[str, Coverage]) -> list[Section]:
    """What was seen of each process, by job; nothing where the kernel counted nothing."""
    tables, notes = [], []
    for job, seen in coverages.items():
        table = coverage_table(seen, MOST_PROCESSES, title=job if len(coverages) > 1 else "")
        if table.rows:
            tables.append(table)
            processes = words.count(len(seen.by_process), "process")
            notes.append(f"{job}: {len(table.rows):,} of {processes}, those of which most bytes went by unseen first.")
    sections = [Section("How much was seen, by process", tables=tables, note=" ".join(notes))] if tables else []
    return [*sections, *_sampled_section(coverages)]


def _sampled_section(coverages: Mapping[str, Coverage]) -> list[Section]:
    named = [(job, seen) for job, seen in coverages.items() if seen.sampled]
    if not named:
        return []
    tables = [sampled_table(seen, MOST_PROCESSES, title=job if len(coverages) > 1 else "") for job, seen in named]
    rows = ", ".join(
        f"{len(table.rows):,} of {words.count(len(seen.sampled), 'process')}"
        for table, (_, seen) in zip(tables, named, strict=True)
    )
    return [Section("Processes that were sampled from outside", tables=tables, note=f"{rows}. {SAMPLED_NOTE}")]


def with_marks(sections: Iterable[Section], coverages: Mapping[str, Coverage]) -> list[Section]:
    """Sections, whose charts over time say under them which jobs' slices are not known exactly."""
    marks = " ".join(said for job, seen in coverages.items() if (said := coverage_words.mark(job, seen)))
    return [
        replace(section, note=f"{section.note} {marks}".strip()) if marks and section.is_linked else section
        for section in sections
    ]


def coverage_table(coverage: Coverage, most: int, title: str = "") -> Table:
    """One row a process, the least seen first: what the kernel counted, and what share of that was seen."""
    return columns.table(
        coverage.by_process[:most],
        columns.text("process", lambda row: row.process),
        columns.text("program", lambda row: Path(row.program).name),
        columns.size("written", lambda row: row.kernel_write_bytes),
        columns.figure("of that seen", lambda row: _share(row.write), "%"),
        columns.size("read", lambda row: row.kernel_read_bytes),
        columns.figure("of that seen", lambda row: _share(row.read), "%"),
        columns.text("likely cause of the rest", lambda row: ", ".join(CAUSES[cause] for cause in row.causes)),
        title=title,
    )


def sampled_table(coverage: Coverage, most: int, title: str = "") -> Table:
    """One row a process that a collector sampled since it could not be profiled, those that moved most first."""

    def known(heading: str, of: Callable[[Sampled], Cell], unit: str = "") -> Made[Sampled]:
        return columns.figure(heading, lambda row: Cell("refused", "") if row.is_refused else of(row), unit)

    return columns.table(
        coverage.sampled[:most],
        columns.text("process", lambda row: row.process),
        columns.text("program", lambda row: Path(row.program).name),
        columns.text("why not profiled", lambda row: REASONS.get(row.reason, row.reason)),
        columns.text("from", lambda row: words.clock(row.begin_ns)),
        columns.text("to", lambda row: words.clock(row.end_ns)),
        known("written", lambda row: Cell(words.size(row.write_bytes), row.write_bytes), "bytes"),
        known("write calls", lambda row: Cell(f"{row.write_calls:,}", row.write_calls)),
        known("read", lambda row: Cell(words.size(row.read_bytes), row.read_bytes), "bytes"),
        known("read calls", lambda row: Cell(f"{row.read_calls:,}", row.read_calls)),
        columns.text("most of it about", lambda row: "-" if row.busiest_ns is None else words.clock(row.busiest_ns)),
        title=title,
    )


def _share(share: float | None) -> Cell:
    return Cell("-", "") if share is None else Cell(words.percent(share, 2), share * 100)
