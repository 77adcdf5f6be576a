"""Tables of many jobs for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from slicewise.constants import FEWEST_REPEATS
from slicewise.digest.processes import SERVED
from slicewise.report import columns
from slicewise.report.records import picked
from slicewise.report.tables import Cell, Table
from slicewise.text import words
from slicewise.text.words import user_name

if TYPE_CHECKING:  # numpy would come along
    from slicewise.analysis.site.variation import Variation
    from slicewise.analysis.site.worst import Worst

SHORT_DATE = "%Y-%m-%d %H:%M:%S"
Row = Mapping[str, Any]
# Of a command line, in a table.
MOST_OF_COMMAND = 60
NOTHING_KNOWN = Cell("-")


def jobs_table(rows: Iterable[Row]) -> Table:
    """A row a job: who, what, when, how much, where."""

    def many(heading: str, name: str, spare: int) -> columns.Made[Row]:
        return columns.figure(
            heading, lambda row: Cell("-" if row["source"] == SERVED else f"{row[name]:,}"), spare=spare
        )

    def state(row: Row) -> str:
        return ", ".join([*(["running"] if row["is_running"] else []), *(["damaged"] if row["damaged"] else [])])

    return columns.table(
        rows,
        named("job"),
        user(spare=6),
        named("program", spare=3),
        many("procs", "processes", 4),
        many("nodes", "nodes", 5),
        columns.text("start", lambda row: _time(row["start_ns"]), spare=1),
        columns.duration("runtime", "seconds", ""),
        size("read", "read_bytes"),
        size("written", "write_bytes"),
        columns.text("on", lambda row: row["storage"] or "-", spare=2),
        columns.text("", state),
        columns.text("command line", lambda row: words.beginning(row["command"] or "-", MOST_OF_COMMAND), spare=7),
    )


def partners_table(rows: Iterable[Row]) -> Table:
    """A row a job and storage: who was there with the job, how long, when, and what it did meanwhile."""
    return columns.table(
        rows,
        named("beside it", "job"),
        user(),
        named("program"),
        named("on", "storage"),
        *TOGETHER,
        size("read", "read_bytes"),
        size("written", "write_bytes"),
        columns.count("metadata calls", "meta_ops"),
    )


def metadata_table(rows: Iterable[Row]) -> Table:
    return columns.table(
        rows,
        *WHO,
        named("on", "storage"),
        columns.count("calls", "meta_ops"),
        columns.duration("time in them", "seconds", none=NOTHING_KNOWN),
        columns.duration("a call", "call_seconds", none=NOTHING_KNOWN),
    )


def quality_table(rows: Iterable[Row]) -> Table:
    return columns.table(
        rows,
        named("job"),
        columns.text("start", lambda row: _time(row["start_ns"])),
        columns.said("reads seen", "read_seen", words.percent, none=NOTHING_KNOWN),
        columns.said("writes seen", "write_seen", words.percent, none=NOTHING_KNOWN),
        _count("ranks missing", "missing_ranks"),
        _count("unfinished", "unfinished"),
        _count("damaged parts", "damage"),
        _count("problems", "mishaps"),
        _count("not profiled", "unprofiled"),
    )


def worst_table(rows: Iterable[Row], by: str = "job") -> Table:
    """A row a job, a program or a user: what it lost to others, and what it cost them."""

    def cost(heading: str, name: str) -> columns.Made[Row]:
        return columns.duration(heading, name, none=Cell(words.UNKNOWN))

    about: dict[str, list[columns.Made[Row]]] = {
        "job": list(WHO),
        "program": [named("program"), _count("jobs", "jobs")],
        "user": [user(), _count("jobs", "jobs")],
    }
    return columns.table(
        rows,
        *about[by],
        cost("lost", "lost_seconds"),
        cost("cost others", "caused_seconds"),
        *([] if by == "job" else [cost("at most", "caused_most_seconds")]),
        named("confidence"),
    )


def unasked_table(rows: Iterable[Row]) -> Table:
    """A row a job that blame was not asked of, and the most that it can have lost."""
    return columns.table(rows, *WHO, columns.duration("lost at most", "at_most_seconds"))


def quality_sentence(frame: pl.DataFrame) -> str:
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
    if not found.of:
        return "No job with a profile shared a file system with another job at the same time."
    who = words.count(found.of, "job with a profile", "jobs with a profile")
    company = f"{who} shared a file system with another job at the same time"
    if found.asked >= found.of:
        return f"{company}; each was asked who slowed it down."
    each, together = (words.duration(seconds) for seconds in (found.most_unasked, found.all_unasked))
    rest = f"none of the other {found.of - found.asked:,} lost more than {each}, nor all of them more than {together}"
    return f"{company}; {found.asked:,} of them were asked who slowed them down: {rest}."


def variation_sentence(found: Variation) -> str:
    """Such as: 40 runs did the same work as others, in 5 sets: one run takes 18 % more or less than another. ..."""
    unasked = f" {words.count(found.unasked, 'run')} that blame was not asked about are left out." * bool(found.unasked)
    if found.neighbours is None or found.hours is None or found.own is None:
        return f"No {FEWEST_REPEATS} runs did the same work and differ in how long they took.{unasked}"
    sets = words.count(found.sets.height, "set")
    neighbours, hours, own = (
        f"{words.number(100 * each.value, 2)} {words.interval(100 * each.low, 100 * each.high)} %"
        for each in (found.neighbours, found.hours, found.own)
    )
    return (
        f"{words.count(found.runs, 'run')} in {sets} of the same work: a run is {words.percent(found.deviation, 2)} "
        f"off its set (one standard deviation). Of that {neighbours} is time lost to neighbours, {hours} comes with "
        f"the hour in which runs began (the storage's state, and what no profile shows), and {own} is the runs' own."
        f"{unasked}"
    )


def repeats_table(rows: Iterable[Row]) -> Table:
    """A row a set of runs that did the same work."""

    def share(heading: str, name: str) -> columns.Made[Row]:
        return columns.said(heading, name, lambda value: words.percent(value, 2), "%", none=Cell(words.UNKNOWN))

    return columns.table(
        rows,
        named("program"),
        user(),
        _count("processes", "processes"),
        _count("runs", "runs"),
        columns.duration("median", "median_seconds"),
        share("a run is off by", "deviation"),
        share("without losses", "after_neighbours"),
    )


def variation_record(found: Variation) -> dict[str, Any]:
    """The JSON output of `catalog variation`, see docs/commands.md."""
    shares = {"neighbours_share": "neighbours", "hours_share": "hours", "own_share": "own"}
    figures = picked(found, "runs", unasked_runs="unasked", deviation="deviation", **shares)
    return figures | {"sets": records(found.sets)}


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


def named(heading: str, name: str = "", spare: int = 0) -> columns.Made[Row]:
    """A text of a row, by its heading where that is its name, too; "-" where it has none."""
    return columns.text(heading, lambda row: row[name or heading] or "-", spare=spare)


def user(spare: int = 0) -> columns.Made[Row]:
    """Who owns a row's job. File servers that count by client, or by a job's id alone, do not know it: "-"."""

    def cell(row: Row) -> Cell:
        is_known = row["user"] or row.get("program") != words.UNKNOWN
        return Cell(user_name(row["user"]) if is_known else "-", row["user"])

    return columns.figure("user", cell, spare=spare)


def size(heading: str, name: str, unit: str = "") -> columns.Made[Row]:
    """Bytes of a row; none: "-"."""
    return columns.figure(heading, lambda row: Cell(words.size(row[name]) if row[name] else "-", row[name]), unit)


def _count(heading: str, name: str) -> columns.Made[Row]:
    return columns.figure(heading, lambda row: Cell(f"{row[name]:,}" if row[name] else "-", row[name]))


WHO: tuple[columns.Made[Row], ...] = (named("job"), user(), named("program"))
TOGETHER: tuple[columns.Made[Row], ...] = (
    columns.duration("together", "seconds", ""),
    columns.text("when", lambda row: words.span(row["start_ns"], row["end_ns"])),
)


def _time(time_ns: int) -> str:
    return f"{words.local_time(time_ns):{SHORT_DATE}}"
