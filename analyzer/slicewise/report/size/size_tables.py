"""Tables of transfer sizes, the same for the terminal and for the page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slicewise.analysis.size.points import CompanyEffect, Mean
from slicewise.analysis.size.predict import Predictions
from slicewise.analysis.size.size import CurveAdvice
from slicewise.report import columns
from slicewise.report.size import size_words
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words


def sizes_table(told: CurveAdvice) -> Table:
    """A row a size of one curve."""
    marks = _marks(told)
    return columns.table(
        told.curve.points,
        columns.size("size", lambda point: point.size),
        columns.text("", lambda point: ", ".join(marks.get(point.size, []))),
        columns.figure("runs", lambda point: Cell(f"{point.bandwidth.runs}", point.bandwidth.runs)),
        columns.rate("bandwidth", lambda point: point.bandwidth.value),
        columns.text("interval (MiB/s)", lambda point: _between(point.bandwidth, words.MIB)),
        columns.duration("a call takes", lambda point: point.latency.value),
        columns.text("interval (ms)", lambda point: _between(point.latency, 1e-3)),
        columns.figure("99 % take less than", lambda point: _known(point.latency_p99), "s"),
        columns.figure(
            "law", lambda point: "" if point.little is None else Cell(words.number(point.little), point.little)
        ),
        columns.figure("by eq. 1", lambda point: _known(point.equation_1), "s"),
        title=size_words.curve_words(told.curve.curve),
    ).without_empty_columns()


def _marks(told: CurveAdvice) -> dict[int, list[str]]:
    marks: dict[int, list[str]] = {}
    if told.throughput is not None and len(told.curve.points) > 1:
        marks.setdefault(told.throughput.point.size, []).append("for throughput")
    if told.latency is not None and len(told.curve.points) > 1:
        marks.setdefault(told.latency.point.size, []).append("for latency")
    if told.own is not None:
        marks.setdefault(told.own, []).append("yours")
    return marks


def _known(seconds: float | None) -> Cell:
    return Cell("") if seconds is None else Cell(words.duration(seconds), seconds)


def _between(mean: Mean, unit: float) -> str:
    return size_words.between(mean, unit).strip()


def curves_table(advices: Sequence[CurveAdvice]) -> Table:
    """A row a curve: the sizes to take on it."""
    table = Table(
        [
            Column("for", is_figure=False),
            Column("sizes"),
            Column("throughput"),
            Column("it gives", "MiB/s"),
            Column("latency"),
            Column("a call takes", "s"),
            Column("confidence", is_figure=False),
        ]
    )
    for told in advices:
        best, fast = told.throughput, told.latency
        has_several = len(told.curve.points) > 1
        table.add(
            size_words.curve_words(told.curve.curve),
            Cell(f"{len(told.curve.points)}", len(told.curve.points)),
            Cell(words.size(best.point.size), best.point.size) if best and has_several else "",
            Cell(words.rate(best.point.bandwidth.value), best.point.bandwidth.value / words.MIB) if best else "",
            Cell(words.size(fast.point.size), fast.point.size) if fast and has_several else "",
            Cell(words.duration(fast.point.latency.value), fast.point.latency.value) if fast else "",
            size_words.confidence(told),
        )
    return table


def effects_table(effects: Sequence[CompanyEffect]) -> Table:
    """A row a size with a second job beside it."""
    return columns.table(
        effects,
        columns.text("for", lambda effect: size_words.curve_words(effect.curve)),
        columns.size("size", lambda effect: effect.size),
        columns.percent("bandwidth kept", lambda effect: effect.bandwidth.value),
        columns.text("interval (%)", lambda effect: _between(effect.bandwidth, 0.01)),
        columns.figure(
            "a call takes as long",
            lambda effect: Cell(f"{words.number(effect.latency.value)} times", effect.latency.value),
        ),
        columns.text("interval (times)", lambda effect: _between(effect.latency, 1.0)),
    )


def models_table(found: Predictions) -> Table:
    """A row a model: its error, in the target's unit."""
    table = Table([Column("model", is_figure=False), Column("bandwidth", "MiB/s"), Column("latency", "s")])
    errors = {(model.model, model.target): model.rmse for model in found.models}
    for name in dict.fromkeys(model.model for model in found.models):
        bandwidth, latency = errors.get((name, "bandwidth"), math.nan), errors.get((name, "latency"), math.nan)
        table.add(name, Cell(words.rate(bandwidth), bandwidth / words.MIB), Cell(words.duration(latency), latency))
    return table
