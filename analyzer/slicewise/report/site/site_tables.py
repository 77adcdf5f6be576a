"""Tables of many jobs for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from slicewise.digest.jobs import SERVED
from slicewise.report import columns
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words
from slicewise.text.words import user_name

if TYPE_CHECKING:  # numpy would come along
    from slicewise.analysis.site.overlaps import Pairs
    from slicewise.analysis.site.worst import Worst

SHORT_DATE = "%Y-%m-%d %H:%M:%S"
# Of a command line, in a table.
MOST_OF_COMMAND = 60


def jobs_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """A row a job: who, what, when, how much, where."""
    table = Table(
        [Column("job", is_figure=False), Column("user", spare=6), Column("program", is_figure=False, spare=3),
         Column("procs", spare=4), Column("nodes", spare=5), Column("start", is_figure=False, spare=1),
         Column("runtime"), Column("read"), Column("written"), Column("on", is_figure=False, spare=2),
         Column("", is_figure=False), Column("command line", is_figure=False, spare=7)]
    )  # fmt: skip
    for row in rows:
        state = [*(["running"] if row["is_running"] else []), *(["damaged"] if row["damaged"] else [])]
        table.add(
            row["job"], Cell(user_name(row["user"]), row["user"]), row["program"], *_processes(row),
            _time(row["start_ns"]), Cell(words.duration(row["seconds"]), row["seconds"]),
            size_cell(row["read_bytes"]), size_cell(row["write_bytes"]), row["storage"] or "-", ", ".join(state),
            words.beginning(row["command"] or "-", MOST_OF_COMMAND),
        )  # fmt: skip
    return table


def _processes(row: Mapping[str, Any]) -> list[Cell]:
    """Processes and nodes, which file servers do not know."""
    if row["source"] == SERVED:
        return [Cell("-"), Cell("-")]
    return [Cell(f"{row[name]:,}") for name in ("processes", "nodes")]


def partners_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """A row a job and storage: who was there with the job, how long, when, and what it did meanwhile."""
    table = Table(
        [Column("beside it", is_figure=False), Column("user"), Column("program", is_figure=False),
         Column("on", is_figure=False), Column("together"), Column("when", is_figure=False), Column("read"),
         Column("written"), Column("metadata calls")]
    )  # fmt: skip
    for row in rows:
        table.add(
            row["job"] or "-", Cell(user_name(row["user"]), row["user"]), row["program"] or "-", row["storage"] or "-",
            Cell(words.duration(row["seconds"]), row["seconds"]), words.span(row["start_ns"], row["end_ns"]),
            size_cell(row["read_bytes"]), size_cell(row["write_bytes"]), Cell(f"{row['meta_ops']:,}", row["meta_ops"]),
        )  # fmt: skip
    return table


def pairs_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """A row a pair of jobs and storage."""
    table = Table(
        [Column("job", is_figure=False), Column("program", is_figure=False), Column("and", is_figure=False),
         Column("program", is_figure=False), Column("on", is_figure=False), Column("together"),
         Column("when", is_figure=False), Column("both read"), Column("both wrote")]
    )  # fmt: skip
    for row in rows:
        table.add(
            row["job"], row["program"], row["other_job"], row["other_program"], row["storage"] or "-",
            Cell(words.duration(row["seconds"]), row["seconds"]), words.span(row["start_ns"], row["end_ns"]),
            size_cell(row["read_bytes"]), size_cell(row["write_bytes"]),
        )  # fmt: skip
    return table


def quality_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """A row a job with something missing."""
    table = Table(
        [Column("job", is_figure=False), Column("start", is_figure=False), Column("reads seen"), Column("writes seen"),
         Column("ranks missing"), Column("unfinished"), Column("damaged parts"), Column("mishaps"),
         Column("not profiled")]
    )  # fmt: skip
    for row in rows:
        table.add(
            row["job"], _time(row["start_ns"]), _share(row["read_seen"]), _share(row["write_seen"]),
            *(_count(row[name]) for name in ("missing_ranks", "unfinished", "damage", "mishaps", "unprofiled")),
        )  # fmt: skip
    return table


def worst_table(rows: Iterable[Mapping[str, Any]], by: str = "job") -> Table:
    """A row a job, a program or a user: what it lost to others, and what it cost them."""
    about = {
        "job": [Column("job", is_figure=False), Column("user"), Column("program", is_figure=False)],
        "program": [Column("program", is_figure=False), Column("jobs")],
        "user": [Column("user"), Column("jobs")],
    }[by]
    most = [] if by == "job" else [Column("at most", "s")]
    cost = [Column("cost others", "s"), *most]
    table = Table([*about, Column("lost", "s"), *cost, Column("confidence", is_figure=False)])
    for row in rows:
        who: list[Cell | str]
        if by == "job":
            who = [row["job"], Cell(user_name(row["user"]), row["user"]), row["program"]]
        else:
            who = [Cell(user_name(row[by]), row[by]) if by == "user" else row[by], _count(row["jobs"])]
        table.add(
            *who,
            *(
                Cell(words.UNKNOWN if row[name] is None else words.duration(row[name]), row[name])
                for name in ("lost_seconds", "caused_seconds", "caused_most_seconds")
                if name in row
            ),
            row["confidence"],
        )
    return table


def unasked_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """A row a job that blame was not asked of, and the most that it can have lost."""
    return columns.table(
        rows,
        columns.text("job", lambda row: row["job"]),
        columns.figure("user", lambda row: Cell(user_name(row["user"]), row["user"])),
        columns.text("program", lambda row: row["program"]),
        columns.duration("lost at most", lambda row: row["at_most_seconds"]),
    )


def pairs_sentence(found: Pairs) -> str:
    """Among which jobs pairs were looked for, where these were not all."""
    return (
        f"{words.count(found.of, 'job')} met too often to count all; these pairs are of the {found.jobs:,} that moved "
        "most. Ask for a shorter time with --since and --until"
    )


def quality_sentence(frame: pl.DataFrame) -> str:
    """How many jobs are whole and well seen."""
    good, bad = (frame.filter(is_so).height for is_so in (pl.col("is_good"), ~pl.col("is_good")))
    unknown, imported = frame.height - good - bad, frame.filter("is_imported").height
    unasked = f" ({imported:,} imported)" if imported else ""
    not_compared = (
        f" Unknown what share of the bytes of {unknown:,} was seen{unasked}: there is no count of the kernel to "
        "compare with."
        if unknown
        else ""
    )
    if not bad:
        said = f"with at least 95 % of {'their' if not unknown else 'the'} bytes seen"
        of_those = f", {said} (but for what programs read as they start)" if not unknown else ""
        of_some = f" Of {good:,} at least 95 % of the bytes were seen." if good and unknown else ""
        return f"{words.count(frame.height, 'job')}, all complete{of_those}.{of_some}{not_compared}"
    are = "is" if bad == 1 else "are"
    return (
        f"{words.count(bad, 'job')} of {frame.height:,} {are} incomplete, or less than 95 % of the "
        f"bytes were seen.{not_compared}"
    )


def worst_sentence(found: Worst) -> str:
    """How many jobs blame was asked about, and what the others can have lost at most."""
    company = f"{words.count(found.of, 'job')} shared a file system with another job at the same time"
    if found.asked >= found.of:
        return f"{company}; each was asked who slowed it down."
    each, together = (words.duration(seconds) for seconds in (found.most_unasked, found.all_unasked))
    rest = f"none of the other {found.of - found.asked:,} lost more than {each}, nor all of them more than {together}"
    return f"{company}; {found.asked:,} of them were asked who slowed them down: {rest}."


def records(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows for JSON: times as ISO 8601 in place of ns."""
    rows = []
    for row in frame.iter_rows(named=True):
        told = {}
        for name, value in row.items():
            is_time = name in TIMES
            told[name.removesuffix("_ns") if is_time else name] = words.iso_time(value) if is_time else value
        rows.append(told)
    return rows


TIMES: Sequence[str] = ("start_ns", "end_ns")


def size_cell(value: int) -> Cell:
    """A number of bytes; none: "-"."""
    return Cell(words.size(value) if value else "-", value)


def _share(value: float | None) -> Cell:
    return Cell("-" if value is None else words.percent(value), value)


def _count(value: int) -> Cell:
    return Cell(f"{value:,}" if value else "-", value)


def _time(time_ns: int) -> str:
    return f"{words.local_time(time_ns):{SHORT_DATE}}"
