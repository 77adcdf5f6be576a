"""The page of a blame, its tables, which the terminal has too, and its JSON, whose keys docs/commands.md lists."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from slicewise.analysis.blame.case import Case
from slicewise.analysis.blame.result import LOSING_KINDS, Baseline, Blame, Neighbour, Outside
from slicewise.analysis.coverage import coverage
from slicewise.charts import blame as charts
from slicewise.charts import style
from slicewise.charts.blame import LoadShare, RuntimePart
from slicewise.digest.digest import Digest
from slicewise.kinds import Confidence
from slicewise.report import columns
from slicewise.report.blame import blame_words, outside_words
from slicewise.report.blame.anonymous import anonymous
from slicewise.report.blame.blame_words import place
from slicewise.report.blame.explained import explanation
from slicewise.report.blame.waiting_words import ranks_by_slice, waiting_sections
from slicewise.report.coverage.unseen import unseen_lines, with_marks
from slicewise.report.over_time import OverTime, TimeAxis, sums
from slicewise.report.page import Fact, Page, Section, Step, command
from slicewise.report.tables import NOTHING, Cell, Column, Table
from slicewise.scalars import whole
from slicewise.text import words

PROCESSORS = (
    "Let fewer processes and threads share the node's processors, or ask for a node of its own (Slurm's --exclusive)."
)
SOURCES = {
    "standalone runs": "standalone runs of the same size",
    "other sizes": "standalone runs in other sizes",
    "quiet slices": "slices of this run without company",
    "line": "its speed against its neighbours' rates",
    "shared slices": "its share of what the storage served",
    "envelope": "the most that the storage served",
}
WAITING = "waiting for its turn"
# A kind of calls is named from this share of the loss on.
WORTH_NAMING_A_KIND = 0.01


def runtime_factor(blame: Blame) -> float:
    """Seconds of the job's runtime for each second that the mean process lost."""
    if blame.lost is None or blame.io_lost is None or not blame.io_lost.value:
        return 1.0
    return (blame.lost.value - blame.turn_seconds - blame.apart_seconds) / blame.io_lost.value


def neighbour_colours(blame: Blame) -> list[str]:
    """The colour of each neighbour, in their order. The first colour is the job's own; grey: no profile."""
    colours = list(style.colours_of(str(place) for place in range(len(blame.neighbours) + 1)).values())[1:]
    return [
        style.INK if neighbour.job is None else colour
        for neighbour, colour in zip(blame.neighbours, colours, strict=True)
    ]


def neighbours_table(blame: Blame, most: int | None = None, slices: range | None = None) -> Table:
    """A row a neighbour: what the job lost to it, when, in which calls; what it moved; when the job would have ended
    without it. most: so many rows, and one for the rest. slices: the axis of a page, for what is
    told of a chosen time.
    """
    neighbours = blame_words.near(blame)
    several = len({neighbour.storage.number for neighbour in neighbours}) > 1
    columns = [
        Column("neighbour", is_figure=False),
        Column("seconds lost", "s"),
        Column("when", is_figure=False),
        *([Column("on", is_figure=False)] if several else []),
        Column("calls that waited", is_figure=False, spare=2),
        Column("it moved", "bytes", spare=3),
        Column(f"without it, {blame.job.job} ends at", is_figure=False),
    ]
    table = Table(columns)
    shown = neighbours[:most]
    colours = dict(zip((one.job for one in blame.neighbours), neighbour_colours(blame), strict=True))
    for neighbour, name in zip(shown, blame_words.names_of(shown), strict=True):
        lost_by_slice, moved_by_slice = _by_slices(blame, neighbour, slices) if slices else (None, None)
        cells = [
            Cell(_named(neighbour, name), colour=colours[neighbour.job]),
            Cell(_lost_words(neighbour), float(neighbour.lost.value), over_time=lost_by_slice),
            Cell(_when(blame, neighbour)),
            *([Cell(place(neighbour.storage))] if several else []),
            Cell(kinds(neighbour)),
            Cell(_moved(neighbour), neighbour.read_bytes + neighbour.write_bytes, over_time=moved_by_slice),
            _end_without(blame, neighbour),
        ]
        table.add(*cells)
    blank = [NOTHING] * (len(columns) - 2)
    rest = neighbours[len(shown) :]
    if rest:
        lost = sum(neighbour.lost.value for neighbour in rest)
        table.add(words.count(len(rest), "other neighbour"), Cell(_seconds(lost, blame), lost), *blank)
    if blame.turn is not None:
        seconds = blame.turn_seconds
        table.add(Cell(WAITING, colour=style.TURN), Cell(_seconds(seconds, blame), seconds), *blank)
    whole = abs(blame.lost.value) if blame.lost else 0.0
    if blame.neighbours and abs(blame.unexplained_seconds) >= blame_words.WORTH_A_CLAUSE * whole > 0:
        unexplained = blame.unexplained_seconds
        table.add(blame_words.rest_of_loss(blame), Cell(_seconds(unexplained, blame), float(unexplained)), *blank)
    return table


def _by_slices(blame: Blame, neighbour: Neighbour, slices: range) -> tuple[OverTime | None, OverTime | None]:
    """Seconds of the runtime lost to it, and what it moved, by slice."""
    rows = blame.shares.filter(_is(neighbour.job), pl.col("storage") == neighbour.storage.number).select(
        "slice",
        lost=pl.col("lost_seconds") * runtime_factor(blame),
        moved=pl.col("read_bytes") + pl.col("write_bytes"),
    )
    moved = neighbour.read_bytes + neighbour.write_bytes
    return (
        sums("seconds", rows, ["lost"], slices, [neighbour.lost.value]),
        sums("size", rows, ["moved"], slices, [moved]),
    )


def kinds(neighbour: Neighbour) -> str:
    """In which kinds of calls the job waited: "writes", or with seconds each where there are several."""
    whole = sum(abs(seconds) for seconds in neighbour.kinds.values())
    told = {
        kind: neighbour.kinds[kind]
        for kind in LOSING_KINDS
        if whole and abs(neighbour.kinds.get(kind, 0.0)) >= WORTH_NAMING_A_KIND * whole
    }
    if len(told) == 1:
        return blame_words.KINDS[next(iter(told))]
    return ", ".join(f"{blame_words.KINDS[kind]} {words.seconds(seconds)}" for kind, seconds in told.items()) or "-"


def sources_table(blame: Blame) -> Table:
    """Every way to know the time alone that was tried, in the order of trust, and why it was not taken."""

    def seconds(source: Baseline) -> Cell:
        return Cell(words.seconds(source.seconds.value), float(source.seconds.value)) if source.seconds else NOTHING

    def interval(source: Baseline) -> Cell | str:
        return words.interval(source.seconds.low, source.seconds.high) if source.seconds else NOTHING

    def said(source: Baseline) -> str:
        counts = blame.baseline is not None and source.source == blame.baseline.source
        what = "this one counts" if counts else source.refused or "compared only"
        return f"{what}: {words.listing(source.runs)}" if source.runs and not source.refused else what

    return columns.table(
        blame.sources,
        columns.text("time alone from", lambda source: SOURCES[source.source]),
        columns.figure("I/O alone", seconds, "s"),
        columns.text("interval", interval, "s"),
        columns.text("confidence", lambda source: source.confidence if source.seconds else NOTHING),
        columns.text("", said),
        title="Ways to know what the job takes alone, the best first",
    )


def _named(neighbour: Neighbour, name: str) -> str:
    program = neighbour.program
    return f"{name} {program}" if program and program != name and neighbour.job is not None else name


def _lost_words(neighbour: Neighbour) -> str:
    lost = neighbour.lost
    return f"{words.number(lost.value)} {words.interval(lost.low, lost.high)}"


def _seconds(value: float, blame: Blame) -> str:
    """Seconds with as many decimals as the whole loss has."""
    decimals = len(words.number(abs(blame.lost.value)).partition(".")[2]) if blame.lost else 2
    return f"{value:,.{decimals}f}"


def _when(blame: Blame, neighbour: Neighbour) -> str:
    if neighbour.end_ns <= neighbour.start_ns:
        return "-"
    start, end = (words.clock(ns, blame.slice_ns) for ns in (neighbour.start_ns, neighbour.end_ns))
    return f"{start} - {end}"


def _moved(neighbour: Neighbour) -> str:
    moved = neighbour.read_bytes + neighbour.write_bytes
    if not moved and neighbour.meta_ops:
        return words.count(neighbour.meta_ops, "metadata call")
    return words.size(moved) if moved or neighbour.job is not None else "few bytes"


def _end_without(blame: Blame, neighbour: Neighbour) -> Cell:
    end = neighbour.without_it_end
    if end is None:
        return NOTHING
    at_ns = blame.job.start_ns + round(end.value * 1e9)
    return Cell(words.clock(at_ns, blame.slice_ns), words.iso_time(at_ns))


CONFIDENCE_COLOURS: dict[Confidence, str] = {
    "high": "#009E73", "medium": "#1A80C4", "low": "#D55E00", "unknown": style.INK,
}  # fmt: skip
OWN_COLOUR = style.JOB_COLOURS[0]
# Neighbours that have a colour and a place in the bar of their own; the rest are one.
MOST_NEIGHBOURS = len(style.JOB_COLOURS) - 1
MOST_ROWS = 50
DIGITS = 6
DRAG = "Drag in a chart below to choose a time: the figures above, this bar and this line are then of that time."


def blame_page(
    blame: Blame, unseen: Sequence[str], paths: Mapping[str, Path] = MappingProxyType({}), own: Digest | None = None
) -> Page:
    """The page. unseen: lines on what the job's profile could not see or has lost. own: the job's digest, so that its
    ranks' figures can be told of a chosen time."""
    slices = _axis(blame)
    ranks = ranks_by_slice(blame.by_waiting, own, blame.slice_ns) if own and blame.by_waiting and slices else None
    told = slices if ranks is None else _with(slices, ranks["slice"])
    ways = sources_table(blame)
    return Page(
        title=f"Who slowed down {blame.job.job}",
        kicker=f"Slicewise blame of {blame.job.job}, {blame.job.program}, {words.date_and_zone(blame.job.start_ns)}",
        sentences=[one for one in blame_words.opening(blame) if one != blame_words.to_find_out(blame.next_step)],
        verdict=" ".join(
            [
                line
                for line in (blame_words.baseline_line(blame), *blame_words.further_lines(blame, says_next=False))
                if line
            ]
        ),
        facts=_facts(blame),
        sections=[
            Section(
                "Where the runtime went",
                chart=charts.runtime_bar(_parts(blame)),
                chart_id="bar",
                note=DRAG if blame.lost is not None else "",
                note_id="chosen",
            ),
            *(_over_time(blame, slices) if slices else []),
            *_neighbours_section(blame, told),
            *(waiting_sections(blame.by_waiting, ranks, told) if blame.by_waiting else []),
            Section(
                "How each number came about",
                text=explanation(blame, says_ways=False),
                tables=[ways] if ways.rows else [],
            ),
        ],
        unseen=unseen,
        steps=_steps(blame, paths),
        axis=TimeAxis(told, blame.slice_ns) if slices else None,
        selection=_selection(blame, slices) if slices and blame.lost else None,
    )


def _steps(blame: Blame, paths: Mapping[str, Path]) -> list[Step]:
    """What makes the answer surer; then what would have helped: of the neighbour that cost most, and how it went."""
    steps = []
    if blame.next_step:
        steps.append(
            Step(f"{'Make the answer surer' if blame.lost is not None else 'Get an answer'}: {blame.next_step}")
        )
    if blame.outside is not None and blame.outside.is_for_processor:
        steps.append(Step(PROCESSORS))
    if blame.outside is not None and outside_words.is_outside_alone(blame, blame.outside):
        return steps
    # One that servers alone know has no profile to give.
    worst = next((one.job for one in blame.neighbours if one.job is not None and one.program), None)
    if blame.is_claimed and worst is not None:
        pair = [paths.get(name, name) for name in (blame.job.job, worst)]
        steps.append(Step("See both jobs on one time axis:", command("overlap", *pair)))
        steps.append(Step("See what taking turns would have changed:", command("turns", "policy", *pair)))
    return steps


def _facts(blame: Blame) -> list[Fact]:
    colour = CONFIDENCE_COLOURS[blame.confidence]
    if blame.lost is None or blame.alone is None:
        said = "unknown"
    elif not blame.is_claimed and blame.outside is None:
        said = "too uncertain to tell" if blame.is_too_uncertain else "none that can be measured"
    else:  # however sure: not in the colour of what is well
        said = blame_words.slowdown(blame)
        colour = next((each for *_, each in _shown(blame) if blame.is_claimed), charts.UNEXPLAINED)
    facts = [
        Fact("slowdown", said, colour, note=f"Confidence: {blame.confidence}", id="slowdown"),
        Fact("runtime", words.duration(blame.runtime_seconds), id="runtime"),
    ]
    if blame.lost is None or blame.alone is None:
        return [*facts, Fact("in I/O calls", words.duration(blame.io_seconds))]
    facts.append(Fact("runtime alone", blame_words.estimate(blame.alone), id="alone"))
    facts += [
        Fact(
            _lost_to(blame, name), blame_words.beside(neighbour.lost.value, blame.lost.value), each, id=f"lost-{place}"
        )
        for place, (neighbour, name, each) in enumerate(_shown(blame))
    ]
    if blame.outside is not None:
        what, seconds = _outside_of_io(blame.outside)
        facts.append(Fact(what, words.duration(seconds), id="outside"))
    if blame.turn is not None:
        facts.append(Fact(WAITING, blame_words.beside(blame.turn_seconds, blame.lost.value), style.TURN, id="turn"))
    return [
        *facts,
        Fact(
            blame_words.rest_of_loss(blame),
            blame_words.beside(blame.unexplained_seconds, blame.lost.value),
            id="unexplained",
        ),
    ]


def _outside_of_io(outside: Outside) -> tuple[str, float]:
    """What a loss outside of I/O is called, and how long it is, s."""
    if outside.is_for_processor:
        return "lost waiting for a processor", outside.seconds
    return "lost outside of I/O", outside.seconds - outside.io_seconds


def _shown(blame: Blame) -> list[tuple[Neighbour, str, str]]:
    """The neighbours that have a colour of their own: each with its name and its colour."""
    named = list(zip(blame.neighbours, blame_words.names_of(blame.neighbours), neighbour_colours(blame), strict=True))
    return named[:MOST_NEIGHBOURS]


def _lost_to(blame: Blame, name: str) -> str:
    return f"{'' if blame.is_claimed else 'perhaps '}lost to {name}"


def _parts(blame: Blame) -> list[RuntimePart]:
    """What the runtime is made of; the parts add up to it."""
    lost = max(0.0, blame.lost.value - blame.turn_seconds) if blame.lost else 0.0
    turn = [RuntimePart(WAITING, blame.turn_seconds, style.TURN)] if blame.turn is not None else []
    own = max(0.0, blame.io_seconds - lost)
    rest = max(0.0, blame.runtime_seconds - own - lost - blame.turn_seconds)
    outside = []
    if blame.outside is not None:
        in_calls = min(own, blame.outside.io_seconds)
        elsewhere = min(rest, blame.outside.seconds - blame.outside.io_seconds)
        outside = [RuntimePart(_outside_of_io(blame.outside)[0], in_calls + elsewhere, charts.OUTSIDE)]
        own, rest = own - in_calls, rest - elsewhere
    computing = RuntimePart("computing and waiting for others", rest, charts.COMPUTING)
    waiting = _waiting_for_each_other(blame, own)
    own -= sum(part.seconds for part in waiting)
    waiting += [*turn, *outside]
    if not lost:
        return [computing, RuntimePart("I/O", own, OWN_COLOUR), *waiting]
    shown = _shown(blame)
    parts = [RuntimePart(_lost_to(blame, name), max(0.0, each.lost.value), colour) for each, name, colour in shown]
    if others := blame.neighbours[len(shown) :]:
        parts.append(
            RuntimePart(_lost_to(blame, "others"), max(0.0, sum(each.lost.value for each in others)), style.INK)
        )
    parts.append(
        RuntimePart(
            f"lost, {blame_words.rest_of_loss(blame)}",
            max(0.0, lost - sum(part.seconds for part in parts)),
            charts.UNEXPLAINED,
        )
    )
    # What was made up elsewhere is in no part: all of them together are no more than was lost.
    scale = lost / sum(part.seconds for part in parts)
    lost_parts = [RuntimePart(part.name, part.seconds * scale, part.colour) for part in parts]
    return [computing, RuntimePart("I/O as alone", own, OWN_COLOUR), *waiting, *lost_parts]


def _waiting_for_each_other(blame: Blame, own: float) -> list[RuntimePart]:
    """The part of its own I/O that its processes cost each other, if it is told."""
    if blame.own_processes is None or not blame_words.has_own_processes(blame):
        return []
    seconds = min(own, blame.own_processes.seconds.value)
    return [RuntimePart("lost among its own processes", seconds, charts.EACH_OTHER)]


def _axis(blame: Blame) -> range:
    if blame.slices.is_empty():
        return range(0)
    numbers = blame.slices["slice"]
    if blame.turn is not None:
        numbers = pl.concat([numbers, blame.turn.slices["slice"]])
    return range(whole(numbers.min()), whole(numbers.max()) + 1)


def _with(slices: range, numbers: pl.Series) -> range:
    """The slices, and around them those with these numbers: ranks are in calls of MPI before and after their I/O."""
    first, last = whole(numbers.min()), whole(numbers.max())
    return range(min(slices.start, first), max(slices.stop, last + 1))


def _over_time(blame: Blame, slices: range) -> list[Section]:
    behind = f"{words.slices_of(blame.slices['slice'].n_unique(), blame.slice_ns)} with calls on files"
    sections = [_throughput_section(blame, slices, behind), *_turn_section(blame, slices)]
    if not blame.neighbours or blame.shares.is_empty():
        return sections
    sections.append(
        Section(
            "What its neighbours did on the same storage",
            text=["How much of the storage's time each took: what it moved, over the most that the storage can move."],
            chart=charts.stacked_loads(
                _loads(blame, 100 * pl.col("storage_seconds") * 1e9 / blame.slice_ns),
                slices, blame.slice_ns, "storage's time (%)", "% of the storage's time",
            ),
            note=f"{behind}; {words.count(len(blame.neighbours), 'neighbour')}.",
            is_linked=True,
        )
    )  # fmt: skip
    if blame.lost is not None:
        sections.append(
            Section(
                "Seconds lost in each slice, by neighbour",
                text=["Seconds of the mean process. Below the axis: calls that took less time than they would alone."],
                chart=charts.lost_by_slice(_losses(blame), slices, blame.slice_ns),
                note=f"{behind}, {words.count(blame.io_processes, 'process')}.",
                is_linked=True,
            )
        )
    return sections


def _throughput_section(blame: Blame, slices: range, behind: str) -> Section:
    rows = blame.slices
    moved = pl.col("read_bytes") + pl.col("write_bytes")
    has_bytes = bool(rows.select((moved > 0).any()).item())
    amount = moved / words.MIB if has_bytes else pl.col("meta_ops")
    unit = "MiB/s" if has_bytes else "metadata calls/s"
    # What the same time in calls would have moved alone; no slice moves more than its own time in calls allows.
    faster = pl.when(pl.col("alone_seconds") > 0).then(pl.col("seconds") / pl.col("alone_seconds")).otherwise(1.0)
    a_second = 1e9 / blame.slice_ns
    known = blame.lost is not None
    frame = rows.select(
        "slice", moved=amount * a_second, would_have=amount * faster * a_second if known else pl.lit(0.0)
    )
    alone = "; dashed: what the job would have moved alone in the same time in calls" if known else ""
    return Section(
        f"What {blame.job.job} {'moved' if has_bytes else 'did'}",
        chart=charts.throughput_beside_alone(frame, OWN_COLOUR, slices, blame.slice_ns, unit),
        note=f"{behind}{alone}.",
        is_linked=True,
    )


def _turn_section(blame: Blame, slices: range) -> list[Section]:
    if blame.turn is None:
        return []
    load = LoadShare(WAITING, style.TURN, blame.turn.slices.rename({"seconds": "value"}))
    had = [f"{one.job} {words.duration(one.seconds)}" for one in blame.turn.had_it]
    whose = f" Meanwhile others had theirs: {words.listing(had)}." if had else ""
    return [
        Section(
            "Waiting for its turn",
            text=[f"The job {blame_words.waited(blame.turn)}: seconds in each slice, in no I/O call.{whose}"],
            chart=charts.lost_by_slice([load], slices, blame.slice_ns),
            note=f"{words.slices_of(blame.turn.slices.height, blame.slice_ns)} with waiting.",
            is_linked=True,
        )
    ]


def _is(job: str | None) -> pl.Expr:
    return pl.col("neighbour").eq_missing(pl.lit(job, pl.String))


def _loads(blame: Blame, value: pl.Expr) -> list[LoadShare]:
    """A column of the shares by neighbour, those without a colour of their own together."""
    shown = _shown(blame)
    loads = [
        LoadShare(name, colour, blame.shares.filter(_is(each.job)).select("slice", value=value))
        for each, name, colour in shown
    ]
    rest = blame.neighbours[len(shown) :]
    if rest:
        theirs = pl.any_horizontal(*(_is(each.job) for each in rest))
        loads.append(LoadShare("others", style.INK, blame.shares.filter(theirs).select("slice", value=value)))
    return loads


def _losses(blame: Blame) -> list[LoadShare]:
    """Seconds lost by slice: to each neighbour, and what is left of the slice's loss."""
    loads = _loads(blame, pl.col("lost_seconds"))
    blamed = blame.shares.group_by("slice").agg(blamed=pl.col("lost_seconds").sum())
    rest = (
        blame.slices.group_by("slice")
        .agg(pl.col("lost_seconds").sum())
        .join(blamed, on="slice", how="left")
        .select("slice", value=pl.col("lost_seconds") - pl.col("blamed").fill_null(0.0))
    )
    return [*loads, LoadShare(blame_words.rest_of_loss(blame), charts.UNEXPLAINED, rest)]


def _neighbours_section(blame: Blame, told: range) -> list[Section]:
    if not blame.neighbours:
        return []
    return [Section("Neighbour by neighbour", tables=[neighbours_table(blame, MOST_ROWS, told or None)])]


def _selection(blame: Blame, slices: range) -> dict[str, Any]:
    """What the page's script needs to say the figures of a chosen time: sums by slice, in seconds of the mean process.

    begin_ms: of each slice, on the charts' axis. lost: in the order of the bar's parts. factor: seconds of runtime for
    each second that the mean process lost; apart: seconds of runtime lost as processes end apart; slowest: seconds in
    calls of the process with most for each of the mean one. each_other: of its seconds, those lost to the job's own
    processes; turn: seconds of the runtime that it waited for its turn; both None where that is not told.
    """
    summed = (
        pl.DataFrame({"slice": list(slices)})
        .join(blame.slices.group_by("slice").agg(pl.col("seconds", "alone_seconds").sum()), on="slice", how="left")
        .fill_null(0.0)
        .sort("slice")
    )
    begin = style.clock_times(slices, blame.slice_ns).astype("int64")
    calls = float(summed["seconds"].sum())
    lost = [{"name": load.name, "seconds": _by_slice(load.rows, slices)} for load in _losses(blame)]
    own = blame.own_processes if blame_words.has_own_processes(blame) else None
    waiting = None if own is None else own.slices.select("slice", value="seconds")
    return {
        "begin_ms": begin.tolist(),
        "slice_ms": blame.slice_ns / 1e6,
        "in_calls": [round(value, DIGITS) for value in summed["seconds"].to_list()],
        "alone": [round(value, DIGITS) for value in summed["alone_seconds"].to_list()],
        "lost": lost,
        "factor": runtime_factor(blame),
        "apart": blame.apart_seconds,
        "all_calls": calls,
        "slowest": blame.io_seconds / calls if calls else 1.0,
        "processes": blame.io_processes,
        "each_other": _by_slice(waiting, slices) if waiting is not None else None,
        "has_outside": blame.outside is not None,
        "turn": None if blame.turn is None else _by_slice(blame.turn.slices.rename({"seconds": "value"}), slices),
        "has_parts": bool(blame.lost and blame.lost.value - blame.turn_seconds > 0),
    }


def _by_slice(rows: pl.DataFrame, slices: range) -> list[float]:
    values = dict(rows.group_by("slice").agg(pl.col("value").sum()).iter_rows())
    return [round(values.get(number, 0.0), DIGITS) for number in slices]


def blame_report(case: Case, is_anonymous: bool) -> tuple[Blame, Page]:
    """is_anonymous: without the neighbours' names; a case that hides names has none whatever is asked."""
    result, paths = case.result(not is_anonymous), {one.job: one.path for one in (case.job, *case.neighbours)}
    if is_anonymous or case.hides_names:
        result, paths = anonymous(result, case.job, case.others(), case.unread), {}
    page = blame_page(result, unseen_lines([case.job]), paths, case.job)
    return result, replace(page, sections=with_marks(page.sections, {case.job.job: coverage(case.job)}))
