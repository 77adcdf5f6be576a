"""The page of a day, a week or a month of a site: what stands on it, in which order, with which words."""

import shlex

import polars as pl

from slicewise.analysis.site.load import OTHERS, SiteLoad, StorageLoad
from slicewise.analysis.site.summary import MOST_JOBS, MOST_ROWS, SiteSummary
from slicewise.analysis.site.worst import head
from slicewise.charts import style, throughput
from slicewise.report import columns
from slicewise.report.page import Fact, Page, Section, Step, command
from slicewise.report.site import site_tables
from slicewise.report.site.site_tables import NOTHING_KNOWN
from slicewise.report.tables import Cell
from slicewise.text import words

OTHERS_COLOUR = "#9aa3ad"


def site_page(found: SiteSummary, catalog: str) -> Page:
    begin, end = words.local_time(found.start_ns), words.local_time(found.end_ns)
    moved = words.wrote_and_read(found.write_bytes, found.read_bytes)
    when = f"{begin:%Y-%m-%d}" if begin.date() == end.date() else f"{begin:%Y-%m-%d} to {end:%Y-%m-%d}"
    return Page(
        title=f"{when}: jobs and file systems",
        kicker=f"Slicewise catalog {catalog}, {words.date_and_zone(found.start_ns)}",
        sentences=[
            _verdict(found),
            f"{when}: {words.count(found.jobs, 'job')} of {words.count(found.users, 'user')} {moved}.",
            site_tables.worst_sentence(found.worst),
        ],
        facts=_facts(found),
        sections=[
            _worst(found),
            *(_load_sections(found.load) if found.load else []),
            *(_trend(found) if found.is_of_several_days else []),
            *_metadata(found),
            _quality(found),
            Section(
                heading=f"Jobs, the {found.busiest.height:,} that moved most" if found.jobs > MOST_JOBS else "Jobs",
                tables=[site_tables.jobs_table(found.busiest.iter_rows(named=True))],
                note="The page of a job: slicewise blame JOB; of a pair: slicewise overlap JOB OTHER; both with "
                f"SLICEWISE_CATALOG={catalog}.",
            ),
        ],
        steps=_steps(found, catalog),
        unseen=[site_tables.quality_sentence(found.quality), *_unseen(found)],
    )


def _steps(found: SiteSummary, catalog: str) -> list[Step]:
    losers = found.worst.rows.filter(found.worst.rows["lost_seconds"] > 0).sort("lost_seconds", descending=True)
    if losers.is_empty():
        return []
    worst = losers.row(0, named=True)
    said = f"See to whom {worst['job'] or 'the job that lost most'} lost {words.duration(worst['lost_seconds'])}:"
    return [Step(said, f"SLICEWISE_CATALOG={shlex.quote(catalog)} {command('blame', worst['key'])}")]


def _verdict(found: SiteSummary) -> str:
    rows = found.worst.rows
    if rows.is_empty():
        return "No job is known to have lost time to another."
    most = rows.row(0, named=True)
    lost = float(rows["lost_seconds"].sum())
    losers = rows.filter(rows["lost_seconds"] > 0).height
    opening = f"{words.count(losers, 'job')} lost {words.duration(lost)} in all to others"
    if (most["caused_seconds"] or 0.0) <= 0:
        return f"{opening}, none of which is known by name."
    return (
        f"{opening}; {most['job']} ({most['program']}) cost them most, {words.duration(most['caused_seconds'])}. "
        f"Confidence: {most['confidence']}"
    )


def _facts(found: SiteSummary) -> list[Fact]:
    told = found.worst.rows["lost_seconds"].drop_nulls()
    return [
        Fact("jobs", f"{found.jobs:,}"),
        Fact("read", words.size(found.read_bytes)),
        Fact("written", words.size(found.write_bytes)),
        Fact("lost to others, as far as known", words.duration(float(told.sum())) if len(told) else words.UNKNOWN),
        *(
            [Fact("a metadata call, in the mean", words.duration(found.metadata_call_seconds))]
            if found.metadata_call_seconds is not None
            else []
        ),
        Fact("jobs whole and well seen", f"{found.quality.filter('is_good').height:,} of {found.quality.height:,}"),
    ]


def _worst(found: SiteSummary) -> Section:
    larger = pl.max_horizontal("lost_seconds", "caused_seconds")
    rows = head(found.worst.rows, MOST_ROWS).sort(larger, descending=True, maintain_order=True)
    return Section(
        heading="Who lost time to others, and who cost others most",
        text=[] if rows.height else ["Nobody, as far as is known."],
        tables=[site_tables.worst_table(rows.iter_rows(named=True))] if rows.height else [],
        note="Lost: seconds of a job's runtime, by slicewise blame, where that claims a loss. Cost others: what it "
        "took from them together; unknown, where blame claims no loss of any job beside it. The larger of the two "
        "comes first, and the confidence is its own.",
    )


def _load_sections(load: SiteLoad) -> list[Section]:
    seconds = words.duration(load.piece_ns / 1e9)
    rest = load.of - len(load.storages)
    sections = []
    for number, one in enumerate(load.storages):
        colours = style.colours_of(one.names) | {OTHERS: OTHERS_COLOUR}
        chart = throughput.stacked(one.rows, colours, range(load.first, load.end), load.piece_ns)
        last = number == len(load.storages) - 1
        sections.append(
            Section(
                heading=f"Load of {one.point} by job",
                text=[_storage_sentence(one)],
                chart=chart,
                is_linked=True,
                note=f"Reads and writes, in the mean over {seconds}."
                + (
                    f" {words.count(rest, 'more file system')} moved less, among them nodes' own."
                    if last and rest
                    else ""
                ),
            )
        )
    return sections


def _storage_sentence(one: StorageLoad) -> str:
    moved = words.wrote_and_read(one.write_bytes, one.read_bytes)
    return (
        f"{words.count(one.jobs, 'job')} {moved} and made {one.meta_ops:,} metadata calls ({one.type}, {one.source})."
    )


def _trend(found: SiteSummary) -> list[Section]:
    days = columns.table(
        found.days.iter_rows(named=True),
        columns.text("day", lambda row: f"{row['day']}"),
        columns.count("jobs", "jobs"),
        site_tables.size("read", "read_bytes", "bytes"),
        site_tables.size("written", "write_bytes", "bytes"),
        columns.said("speed in calls", "mib_per_second", _speed, "MiB/s", none=NOTHING_KNOWN),
        columns.duration("a metadata call", "meta_call_seconds", none=NOTHING_KNOWN),
    )

    def changed(row: site_tables.Row) -> Cell:
        sign = "+" if row["change_seconds"] > 0 else "-"
        return Cell(f"{sign}{words.duration(abs(row['change_seconds']))}", row["change_seconds"])

    programs = columns.table(
        found.programs.iter_rows(named=True),
        site_tables.named("program"),
        columns.figure("time in I/O changed by", changed, "s"),
        columns.count("jobs", "first_jobs"),
        columns.count("then", "second_jobs"),
        site_tables.size("moved", "first_bytes", "bytes"),
        site_tables.size("then", "second_bytes", "bytes"),
        columns.said("speed", "first_mib_per_second", _speed, "MiB/s", none=NOTHING_KNOWN),
        columns.said("then", "second_mib_per_second", _speed, "MiB/s", none=NOTHING_KNOWN),
    )
    return [
        Section(
            heading="Day by day (UTC)",
            tables=[days],
            note="Speed in calls: bytes by the time that processes spent in calls that read and write. It falls where "
            "storage is slower, and where calls are smaller.",
        ),
        Section(
            heading="Programs whose time in I/O changed most, from the first half of this time to the second",
            text=[] if found.programs.height else ["None by more than a second."],
            tables=[programs] if found.programs.height else [],
            note="Time in I/O: that of all processes in all calls on files.",
        ),
    ]


def _metadata(found: SiteSummary) -> list[Section]:
    if found.metadata.is_empty() or found.metadata_call_seconds is None:
        return []
    return [
        Section(
            heading="Who waited longest for metadata",
            text=[
                "A call that opens, closes, looks for or removes took "
                f"{words.duration(found.metadata_call_seconds)} in the mean over all jobs."
            ],
            tables=[site_tables.metadata_table(found.metadata.iter_rows(named=True))],
            note="The time of all processes together.",
        )
    ]  # fmt: skip


def _quality(found: SiteSummary) -> Section:
    bad = found.quality.filter(~found.quality["is_good"]).head(MOST_ROWS)
    tables = [site_tables.quality_table(bad.iter_rows(named=True))] if bad.height else []
    if found.unprofiled.height:
        programs = columns.table(
            found.unprofiled.iter_rows(named=True),
            site_tables.named("program"),
            site_tables.named("why", "reason"),
            columns.count("jobs", "jobs"),
            columns.count("times", "times"),
            title="Begun by jobs, and not profiled",
        )
        tables.append(programs)
    return Section(heading="How much was seen", text=[site_tables.quality_sentence(found.quality)], tables=tables)


def _unseen(found: SiteSummary) -> list[str]:
    times = int(found.unprofiled["times"].sum()) if found.unprofiled.height else 0
    return [
        *([f"{words.count(times, 'program start')} of jobs could not be profiled"] if times else []),
        "Programs that ran without Slicewise are not in the catalog: what they moved is not on this page",
    ]


def _speed(mib_per_second: float) -> str:
    return f"{words.number(mib_per_second)} MiB/s"
