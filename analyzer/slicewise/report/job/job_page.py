"""The page of one job: what stands on it, in which order, with which words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import polars as pl

from slicewise.analysis.job import io_time as analysis
from slicewise.analysis.job.advice import advise
from slicewise.analysis.job.file_sizes import sizes_since
from slicewise.analysis.job.heat import Heat, heats_of
from slicewise.analysis.job.io_span import IoSpan
from slicewise.analysis.job.job_calls import CostlyHabit
from slicewise.analysis.job.phases import Phases
from slicewise.analysis.job.phases import phases as find_phases
from slicewise.analysis.job.sites import Sites, of_calls, of_waits, sites
from slicewise.analysis.job.split import Split
from slicewise.analysis.job.split import by_slice as split_by_slice
from slicewise.analysis.job.split import split as split_of
from slicewise.analysis.job.totals import JobTotals, summarize
from slicewise.analysis.job.turns import TurnWaits
from slicewise.analysis.job.turns import turns as find_turns
from slicewise.analysis.job.usage import Hardware, Usage, hardware
from slicewise.analysis.job.usage import usage as usage_of
from slicewise.analysis.runs.matching import run_of
from slicewise.analysis.runs.on_storage import whole_span
from slicewise.charts import distributions, heatmap, style, throughput
from slicewise.digest.activity import DIRECTIONS, Direction, runtime_of
from slicewise.digest.digest import Digest
from slicewise.digest.processes import program_names
from slicewise.report.coverage import coverage_words
from slicewise.report.coverage.unseen import seen_section, with_marks
from slicewise.report.job import job_tables
from slicewise.report.job.accelerator_words import accelerator_lines, accelerator_tables
from slicewise.report.job.advice_words import advice_lines, nothing_to_change, what_to_do
from slicewise.report.job.beside_words import beside_lines, beside_tables
from slicewise.report.job.job_tables import NOTE as USAGE_NOTE
from slicewise.report.job.job_tables import usage_lines, usage_table
from slicewise.report.job.phase_words import phase_lines, phases_table
from slicewise.report.job.run_lines import access_lines, refill_lines, turn_lines, without_row
from slicewise.report.job.site_words import site_lines, sites_section
from slicewise.report.nodes.node_sections import cgroup_sections, node_sections
from slicewise.report.nodes.other_words import others_sections
from slicewise.report.over_time import FigureKind, OverTime, TimeAxis, sums
from slicewise.report.page import Fact, Page, Section, Step, command
from slicewise.report.split.split_words import CRITICAL, CRITICAL_NOTE, critical_table, split_lines, split_table
from slicewise.report.split.split_words import MOST_ROWS as MOST_RANKS
from slicewise.report.split.split_words import NOTE as SPLIT_NOTE
from slicewise.scalars import whole
from slicewise.text import words

MOST_FILES = 20
FILES_NOTE = (
    "Each process keeps a row for the files that moved most bytes and for those that took longest. All its other files "
    "are in one row, so that the sums are exact. A file that got its row late had moved more before that: the last "
    "column says how much it can have moved in all."
)
MORE = "more"
WAITED = (
    "Shaded in a colour of its own: how long the job waited for its turn at I/O in each slice. No call's time holds it."
)
ONE_CALL = {"read": "read", "write": "write", "meta": "metadata call"}

# Where the ends of an interval are so many times apart, both are told and no value in between.
FAR_APART = 2.0
NO_IO = Section("No I/O on files", text=["No process of this job read, wrote or looked at a file."])


@dataclass(frozen=True)
class JobReport:
    """All that the page, the terminal and the JSON of one job say.

    per_slice, sizes, latencies, files: see analysis/job/io_time.py; phases, sites, hardware: the modules of these names
    there (all_sites: also of what is no I/O); digest: what it was made of; span: from the first to the last byte.
    slices: the axis, which holds all of the job's I/O and of its waiting for turns.
    """

    summary: JobTotals
    slices: range
    heats: dict[Direction, list[Heat]]
    per_slice: pl.DataFrame
    phases: Phases
    io_time: analysis.IoTime
    sizes: pl.DataFrame
    latencies: pl.DataFrame
    files: pl.DataFrame
    sites: Sites
    all_sites: Sites
    hardware: Hardware
    digest: Digest
    span: IoSpan | None
    turns: TurnWaits
    split: Split | None
    usage: Usage | None
    advice: Sequence[CostlyHabit]


def job_report(digest: Digest, symbols: Sequence[Path] = (), lost_share: float = 0.0) -> JobReport:
    """Analyse one job, whose profile was read with its distributions. symbols: see analysis/job/sites.py. lost_share:
    see analysis/job/advice.py.
    """
    all_sites, ranks = sites(digest, symbols, has_all=True), split_of(digest)
    found = of_calls(all_sites)
    per_slice = analysis.per_slice(analysis.own_slices(digest))
    turns = find_turns(digest)
    numbers = pl.concat([per_slice["slice"], turns.slices["slice"]])
    slices = range(whole(numbers.min()), whole(numbers.max()) + 1) if per_slice.height else range(0)
    return JobReport(
        summary=summarize(digest),
        slices=slices,
        heats={direction: heats_of(digest, direction, slices, digest.slice_ns) for direction in DIRECTIONS},
        per_slice=per_slice,
        phases=find_phases(digest),
        io_time=analysis.io_time(digest),
        sizes=analysis.by_bin(digest, "size"),
        latencies=analysis.by_bin(digest, "latency"),
        files=analysis.busiest_files(digest, MOST_FILES),
        sites=found,
        all_sites=all_sites,
        hardware=hardware(digest),
        digest=digest,
        span=whole_span(run_of(digest)),
        turns=turns,
        split=ranks,
        usage=usage_of(digest),
        advice=advise(digest, found, lost_share, ranks, sizes_since),
    )


def opening(report: JobReport) -> list[str]:
    summary = report.summary
    moved = summary.by_object["file"]
    who = words.processes_on_nodes(summary.processes, len(summary.hosts))
    did = words.wrote_and_read(moved["write_bytes"], moved["read_bytes"])
    in_io = ""
    if report.io_time.slowest:
        time = report.io_time
        slowest = words.duration(time.slowest)
        in_io = f" It spent {slowest} in I/O calls{_of_threads(report)}."
        if time.processes.height > 1:
            in_io = f" In I/O calls its slowest process ({time.slowest_label}) spent {slowest}"
            in_io += f", the median {words.duration(time.median)}{_of_threads(report)}."
        elif summary.processes > 1:
            in_io = (
                f" {time.slowest_label[0].upper()}{time.slowest_label[1:]} did it, and spent {slowest} in I/O calls."
            )
    seen = coverage_words.seen(summary.coverage)
    cost = summary.profiler.share_of_runtime
    profiling = f"; profiling cost {words.percent(cost, 2)} of the runtime" if cost is not None else ""
    if summary.coverage.is_sampled_alone:
        who = coverage_words.sampled_alone(summary.coverage, len(summary.hosts))
        return [f"Job {summary.job}: {who}. Time from the first look at it to the last: {_runtime(report)}."]
    if summary.coverage.imported is not None and summary.coverage.imported.is_served:
        asked = sum(mount["meta_ops"] for mount in summary.mounts)
        more = f" and made {words.count(asked, 'metadata request')}" if asked else ""
        return [f"Job {summary.job} {did}{more}. {_times(report)}", words.sentence(f"{seen[0].upper()}{seen[1:]}")]
    said = f"{seen[0].upper()}{seen[1:]}" if summary.coverage.imported else f"Slicewise {seen}{profiling}"
    return [
        f"Job {summary.job}: {who} {did}. {_times(report)}{in_io}",
        *(advice_lines(report.advice, runtime_of(report.digest)) if report.advice else _without_advice(report)),
        *words.asked(report.digest.about),
        *refill_lines(summary),
        *turn_lines(summary),
        *split_lines(report.split),
        *beside_lines(report.digest, runtime_of(report.digest), of_waits(report.all_sites)),
        *accelerator_lines(report.digest, runtime_of(report.digest)),
        *usage_lines(report.usage),
        f"{said}.",
        *([] if report.advice else site_lines(report.sites)),
    ]


def _times(report: JobReport) -> str:
    """The job's runtime, and apart from it how long its I/O took."""
    so_far = _runtime(report)
    if report.span is None:
        return f"Its runtime was {so_far}."
    span = report.span.seconds
    took = f"{words.seconds(span.value)} passed"
    if span.high > FAR_APART * span.low:  # of a job of two slices nobody knows where in them it began and ended
        took = f"passed between {words.seconds(span.low)} and {words.seconds(span.high)}"
    return f"Its runtime was {so_far}; from the first byte of its I/O to the last {took}."


def _without_advice(report: JobReport) -> Iterator[str]:
    runtime = runtime_of(report.digest)
    if runtime > 0 and report.span is not None and "files" not in report.digest.not_kept:
        waited = max(report.io_time.slowest, report.phases.time_in_io.slowest or 0.0)  # for mapped files, too
        yield nothing_to_change(min(1.0, waited / runtime), runtime)


def _of_threads(report: JobReport) -> str:
    """Why a process can have spent longer in calls than the job ran."""
    return " (added up over its threads)" if report.io_time.slowest > runtime_of(report.digest) else ""


def _runtime(report: JobReport) -> str:
    runtime = words.duration(runtime_of(report.digest))
    return f"{runtime} so far, for it still runs" if report.digest.jobs["is_running"][0] else runtime


def job_page(report: JobReport, unseen: Sequence[str]) -> Page:
    """The page. unseen: lines on what the profile could not see or has lost."""
    summary = report.summary
    programs = words.some(program_names(report.digest.processes))
    when = f", {words.date_and_zone(report.slices.start * report.digest.slice_ns)}" if report.slices else ""
    return Page(
        title=f"{summary.job}: I/O",
        kicker=f"Slicewise report of {summary.job}, {programs}{when}",
        sentences=opening(report),
        facts=_facts(report),
        sections=with_marks(
            [
                *(_over_time(report) if report.slices else [NO_IO]),
                *_call_sites(report),
                *_distributions(report),
                *_tables(report),
                *cgroup_sections(report.digest),
                *others_sections(report.digest, report.slices, report.digest.slice_ns),
            ],
            {summary.job: summary.coverage},
        ),
        unseen=unseen,
        axis=TimeAxis(_axis(report), report.digest.slice_ns) if report.slices else None,
        steps=[
            *(Step(what_to_do(one)) for one in report.advice),
            Step("See who slowed it down:", command("blame", report.digest.path)),
            Step("See why another run of it took another time:", f"{command('compare', report.digest.path)} OTHER"),
        ],
    )


def _axis(report: JobReport) -> range:
    """The slices of figures that are told of a chosen time: those of the charts, and those with calls of MPI."""
    if report.split is None or not report.slices:
        return report.slices
    numbers = report.digest.communication["slice"]
    first, last = whole(numbers.min()), whole(numbers.max())
    return range(min(report.slices.start, first), max(report.slices.stop, last + 1))


def _facts(report: JobReport) -> list[Fact]:
    moved, axis = report.summary.by_object["file"], _axis(report)

    def of_time(kind: FigureKind, *columns: str) -> OverTime | None:
        totals = [moved[column] for column in columns]
        return sums(kind, report.per_slice, columns, axis, totals) if axis else None

    written, read = of_time("size", "write_bytes"), of_time("size", "read_bytes")
    facts = [
        Fact("written", words.size(moved["write_bytes"]), style.KIND_COLOURS["write"], over_time=written),
        Fact("read", words.size(moved["read_bytes"]), style.KIND_COLOURS["read"], over_time=read),
        *(
            Fact(f"{name} calls", f"{moved[f'{kind}_ops']:,}", over_time=of_time("count", f"{kind}_ops"))
            for kind, name in (("write", "write"), ("read", "read"), ("meta", "metadata"), ("sync", "sync"))
        ),
        *([Fact("calls that failed", f"{moved['errors']:,}")] if "errors" in moved else []),
    ]
    if report.io_time.slowest:
        is_one = report.io_time.processes.height == 1
        facts.append(Fact("in I/O calls" if is_one else "slowest in I/O", words.duration(report.io_time.slowest)))
        facts += [] if is_one else [Fact("median in I/O", words.duration(report.io_time.median))]
    if report.usage is not None:
        facts.append(Fact("processor, of the runtime", words.percent(report.usage.processor)))
        facts.append(Fact("peak memory of a process", words.size(report.usage.most("peak_bytes")[1])))
    return facts


def _over_time(report: JobReport) -> list[Section]:
    slices, slice_ns, colours = report.slices, report.digest.slice_ns, style.KIND_COLOURS
    who = words.processes_on_nodes(report.summary.processes, len(report.summary.hosts))
    behind = f"{words.slices_of(report.per_slice.height, slice_ns)} with I/O, {who}."
    bytes_lines = {f"{direction}_bytes": (words.DID[direction], colours[direction]) for direction in DIRECTIONS}
    calls_lines = {"meta_ops": ("metadata", colours["meta"]), "sync_ops": ("sync", colours["sync"])}
    sections = [
        Section(
            "Throughput",
            text=[WAITED] if report.turns.slices.height else [],
            chart=throughput.directions(
                report.per_slice, slices, slice_ns, bytes_lines, "MiB/s", words.MIB, report.turns.slices
            ),
            note=behind,
            is_linked=True,
        ),
        Section(
            "Metadata and sync calls",
            chart=throughput.directions(report.per_slice, slices, slice_ns, calls_lines, "calls/s", 1),
            note=behind,
            is_linked=True,
        ),
    ]
    sections[1:1] = _hardware(report, behind)
    sections += node_sections(report.digest, slices, slice_ns)
    sections.append(
        Section("Phases", text=list(phase_lines(report.phases)), tables=[phases_table(report.phases, slice_ns)])
    )
    moved = {direction: report.summary.by_object["file"][f"{direction}_bytes"] for direction in DIRECTIONS}
    for direction, found in report.heats.items():
        if found and moved[direction] >= words.TRIVIAL_SHARE * max(moved.values()):
            job = {report.summary.job: colours[direction]}
            chart = heatmap.processes_by_slices(found, job, slices, slice_ns)
            heading = f"Who {words.DID[direction]} when: processes by slices"
            sections.append(Section(heading, chart=chart, note=behind, is_linked=True))
    return sections


def _hardware(report: JobReport, behind: str) -> list[Section]:
    """A chart for each hardware event, on the axis of the throughput above: computing or waiting."""
    found = report.hardware
    if not found.units:
        return []
    frame = found.per_slice()
    sections = []
    for (event, unit), colour in zip(found.units.items(), cycle(style.JOB_COLOURS), strict=False):
        in_seconds = unit == "ns"
        lines = {event: (style.safe(event), colour)}
        chart = throughput.directions(
            frame, report.slices, report.digest.slice_ns, lines, "s/s" if in_seconds else f"{unit or 'count'}/s",
            1e9 if in_seconds else 1,
        )  # fmt: skip
        meaning = found.meanings.get(event) or "a hardware event"
        sections.append(Section(event, text=[words.sentence(meaning)], chart=chart, note=behind, is_linked=True))
    return sections


def _call_sites(report: JobReport) -> list[Section]:
    samples = report.all_sites.samples
    if samples.is_empty():
        return []
    first, last = whole(samples["slice"].min()), whole(samples["slice"].max())
    slices = range(min(first, report.slices.start or first), max(last + 1, report.slices.stop))
    return [sites_section(report.all_sites, slices, report.digest.slice_ns, _axis(report))]


def _distributions(report: JobReport) -> list[Section]:
    sections = []
    processes = words.count(report.io_time.processes.height, "process")
    if report.io_time.slowest and report.io_time.processes.height > 1:
        chart = distributions.io_time_by_rank(report.io_time.processes)
        sections.append(Section("Time in I/O calls, by process", chart=chart, note=f"{processes}, all of the run."))
    for heading, frame, say, what in (
        ("Transfer sizes", report.sizes, words.size, "size of a call, up to"),
        ("Latencies", report.latencies, lambda most: words.duration((most + 1) / 1e9), "duration of a call, below"),
    ):
        used = frame.filter(pl.col("calls") > 0)
        if used.height == 1:  # a chart of one bar says no more
            only = used.row(0, named=True)
            least, most = (
                None if end is None else words.size(end) if frame is report.sizes else words.duration(end / 1e9)
                for end in (only["least"], only["most"])
            )
            between = f"at least {least}" if most is None else f"from {least} to {most}"
            said = f"{words.count(only['calls'], ONE_CALL[only['kind']])}, {between}."
            sections.append(Section(heading, text=[said]))
        elif frame.height:
            named = frame.with_columns(bin=pl.Series([MORE if most is None else say(most) for most in frame["most"]]))
            note = f"{words.count(whole(frame['calls'].sum()), 'call')} of {processes}."
            text = access_lines(report.summary) if frame is report.sizes else []
            sections.append(Section(heading, text=text, chart=distributions.by_bin(named, what), note=note))
    return sections


def _tables(report: JobReport) -> list[Section]:
    summary, axis = report.summary, _axis(report)
    is_partial = (report.files["path"] == "").any() or (report.files["error_bytes"] > 0).any()
    files_note = f"{FILES_NOTE} {without_row(analysis.files_without_row(report.digest))}".rstrip()
    sections = [
        ("File systems", job_tables.mounts_table(summary, analysis.per_storage_slice(report.digest), axis), ""),
        ("Busiest files", job_tables.files_table(report.files), files_note if is_partial else ""),
        *beside_tables(report.digest),
        *accelerator_tables(report.digest),
        ("Calls", job_tables.calls_table(summary), ""),
    ]
    if report.usage is not None:
        sections.insert(0, ("Processor, memory and page faults", usage_table(report.usage), USAGE_NOTE))
    if report.split is not None:
        sections.insert(0, (CRITICAL, critical_table(report.split), CRITICAL_NOTE))
        by_slice = split_by_slice(report.digest, report.split, MOST_RANKS) if axis else None
        ranks = split_table(report.split, by_slice, axis)
        sections.insert(0, ("Computing, communicating and I/O", ranks, SPLIT_NOTE))
    return [
        *(Section(heading, tables=[table], note=note) for heading, table, note in sections if table.rows),
        *seen_section({summary.job: summary.coverage}),
    ]
