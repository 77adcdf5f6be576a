"""The tables of a blame: neighbours and sources of the time alone, the same for the terminal and for the page."""

import polars as pl

from slicewise.analysis.blame.result import LOSING_KINDS, Baseline, Blame, Neighbour
from slicewise.charts import style
from slicewise.report import columns
from slicewise.report.blame.blame_words import KINDS, WORTH_A_CLAUSE, names_of, place, rest_of_loss
from slicewise.report.over_time import OverTime, sums
from slicewise.report.tables import NOTHING, Cell, Column, Table
from slicewise.text import words

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
    several = len({neighbour.storage.number for neighbour in blame.neighbours}) > 1
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
    shown = blame.neighbours[:most]
    for neighbour, name, colour in zip(shown, names_of(shown), neighbour_colours(blame), strict=False):
        lost_by_slice, moved_by_slice = _over_time(blame, neighbour, slices) if slices else (None, None)
        cells = [
            Cell(_named(neighbour, name), colour=colour),
            Cell(_lost(neighbour), float(neighbour.lost.value), over_time=lost_by_slice),
            Cell(_when(blame, neighbour)),
            *([Cell(place(neighbour.storage))] if several else []),
            Cell(kinds(neighbour)),
            Cell(_moved(neighbour), neighbour.read_bytes + neighbour.write_bytes, over_time=moved_by_slice),
            _end_without(blame, neighbour),
        ]
        table.add(*cells)
    blank = [NOTHING] * (len(columns) - 2)
    rest = blame.neighbours[len(shown) :]
    if rest:
        lost = sum(neighbour.lost.value for neighbour in rest)
        table.add(words.count(len(rest), "other neighbour"), Cell(_seconds(lost, blame), lost), *blank)
    if blame.turn is not None:
        seconds = blame.turn_seconds
        table.add(Cell(WAITING, colour=style.TURN), Cell(_seconds(seconds, blame), seconds), *blank)
    whole = abs(blame.lost.value) if blame.lost else 0.0
    if blame.neighbours and abs(blame.unexplained_seconds) >= WORTH_A_CLAUSE * whole > 0:
        unexplained = blame.unexplained_seconds
        table.add(rest_of_loss(blame), Cell(_seconds(unexplained, blame), float(unexplained)), *blank)
    return table


def _over_time(blame: Blame, neighbour: Neighbour, slices: range) -> tuple[OverTime | None, OverTime | None]:
    """Seconds of the runtime lost to it, and what it moved, by slice."""
    whose = pl.col("neighbour").eq_missing(pl.lit(neighbour.job, pl.String))
    rows = blame.shares.filter(whose, pl.col("storage") == neighbour.storage.number).select(
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
        return KINDS[next(iter(told))]
    return ", ".join(f"{KINDS[kind]} {words.seconds(seconds)}" for kind, seconds in told.items()) or "-"


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


def _lost(neighbour: Neighbour) -> str:
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
