"""The tables of boxes, runs and tails, the same for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Sequence

from slicewise.analysis.expect.box import hull
from slicewise.analysis.expect.expectation import Expectation
from slicewise.analysis.expect.place import Placed, PlacedWork, Position
from slicewise.io500.results import IO500
from slicewise.report.expect import expect_words
from slicewise.report.expect.expect_words import KIND_NAMES
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words

GIB_S, KIOPS = "GiB/s", "kIOPS"
LEAST_RATE = 0.001  # lower ones are told as lower


def boxes_table(found: Expectation) -> Table:
    """A row an API and kind: what the union spans."""
    table = Table(
        [
            Column("API", is_figure=False),
            Column("of", is_figure=False),
            Column("runs"),
            Column("anomalies"),
            Column("hard", f"{GIB_S}, {KIOPS}", is_figure=False),
            Column("easy", f"{GIB_S}, {KIOPS}", is_figure=False),
            Column("union area", f"{GIB_S} x {KIOPS}"),
            Column("hull area", f"{GIB_S} x {KIOPS}"),
            Column("complete after"),
        ]
    )
    for boxes in found.boxes:
        around = hull(boxes.union)
        settled = boxes.growth.settled_after
        table.add(
            expect_words.api(boxes) if boxes.benchmark == IO500 else f"{expect_words.api(boxes)}, {boxes.benchmark}",
            KIND_NAMES[boxes.kind],
            Cell(f"{len(boxes.runs):,}", len(boxes.runs)),
            Cell(f"{len(boxes.runs) - len(boxes.good):,}", len(boxes.runs) - len(boxes.good)),
            "" if around is None else f"{words.number(around.hard[0])}, {words.number(around.hard[1])}",
            "" if around is None else f"{words.number(around.easy[0])}, {words.number(around.easy[1])}",
            Cell(words.number(boxes.union_area), boxes.union_area),
            Cell(words.number(boxes.hull_area), boxes.hull_area),
            "" if settled is None else words.count(settled, "run"),
        )
    return table


def runs_table(found: Expectation) -> Table:
    """A row a run: its aggregate box, and what is wrong with it."""
    table = Table(
        [
            Column("run", is_figure=False),
            Column("API", is_figure=False),
            Column("hard", GIB_S),
            Column("easy", GIB_S),
            Column("hard", KIOPS),
            Column("easy", KIOPS),
            Column("anomaly", is_figure=False),
        ]
    )
    for boxes in found.boxes:
        if boxes.kind != "aggregate":
            continue
        for run in boxes.runs:
            corners = [run.box.hard[0], run.box.easy[0], run.box.hard[1], run.box.easy[1]]
            cells = [Cell(words.number(value), value) for value in corners]
            table.add(run.run.name, boxes.api, *cells, run.why, is_greyed=run.is_anomaly)
    return table


def tails_table(found: Expectation) -> Table:
    """A row a phase: how long it took over the runs."""
    table = Table(
        [
            Column("IO500 phase", is_figure=False),
            Column("runs"),
            Column("median", "s"),
            Column("95 %", "s"),
            Column("99 %", "s"),
            Column("worst", "s"),
            Column("worst run", is_figure=False),
        ]
    )
    for tail in found.tails:
        cells = [Cell(words.seconds(value), value) for value in (tail.median, tail.p95, tail.p99, tail.worst)]
        table.add(tail.phase, Cell(f"{len(tail.seconds):,}", len(tail.seconds)), *cells, tail.worst_run)
    return table


def places_table(placed: Sequence[Placed]) -> Table:
    """A row a job, and one for its busiest phase: its point and where that lies."""
    table = Table(
        [
            Column("job", is_figure=False),
            Column("of", is_figure=False),
            Column("bandwidth", GIB_S),
            Column("metadata", KIOPS),
            Column("metadata over wall time", KIOPS),
            Column("data time", "s"),
            Column("metadata time", "s"),
            Column("in the box", is_figure=False),
            Column("of easy I/O", "%"),
        ]
    )
    for one in placed:
        table.add(one.job, "whole job", *_place_cells(one.whole, one.position, one.is_inside))
        if one.phase is not None and one.phase_position is not None:
            is_inside = one.phase_position.is_inside and not one.is_apart
            table.add(one.job, "busiest phase", *_place_cells(one.phase, one.phase_position, is_inside))
    return table


def _place_cells(work: PlacedWork, position: Position, is_inside: bool) -> list[Cell]:
    share = position.share_of_easy
    rates = (work.bandwidth, work.metadata, work.metadata_per_wall)
    return [
        *(Cell(f"under {LEAST_RATE}" if 0 < value < LEAST_RATE else words.number(value), value) for value in rates),
        *(Cell(words.duration(value), value) for value in (work.data_seconds, work.metadata_seconds)),
        Cell("yes" if is_inside else "no"),
        Cell(words.percent(share, 2), None if share is None else share * 100),
    ]
