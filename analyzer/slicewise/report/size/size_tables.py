"""Tables of transfer sizes, the same for the terminal and for the page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slicewise.analysis.size.points import CompanyEffect, Mean
from slicewise.analysis.size.predict import Predictions
from slicewise.analysis.size.size import CurveAdvice
from slicewise.report.size import size_words
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words


def sizes_table(told: CurveAdvice) -> Table:
    """A row a size of one curve."""
    table = Table(
        [
            Column("size", "bytes"),
            Column("", is_figure=False),
            Column("runs"),
            Column("bandwidth", "MiB/s"),
            Column("interval (MiB/s)", is_figure=False),
            Column("a call takes", "s"),
            Column("interval (ms)", is_figure=False),
            Column("99 % take less than", "s"),
            Column("law"),
            Column("by eq. 1", "s"),
        ],
        title=size_words.curve_words(told.curve.curve),
    )
    marks = _marks(told)
    for point in told.curve.points:
        table.add(
            Cell(words.size(point.size), point.size),
            ", ".join(marks.get(point.size, [])),
            Cell(f"{point.bandwidth.runs}", point.bandwidth.runs),
            Cell(words.rate(point.bandwidth.value), point.bandwidth.value / words.MIB),
            _between(point.bandwidth, words.MIB),
            Cell(words.duration(point.latency.value), point.latency.value),
            _between(point.latency, 1e-3),
            _known(point.latency_p99),
            "" if point.little is None else Cell(words.number(point.little), point.little),
            _known(point.equation_1),
        )
    return table.without_empty_columns()


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
    table = Table(
        [
            Column("for", is_figure=False),
            Column("size", "bytes"),
            Column("bandwidth kept", "%"),
            Column("interval (%)", is_figure=False),
            Column("a call takes as long"),
            Column("interval (times)", is_figure=False),
        ]
    )
    for effect in effects:
        table.add(
            size_words.curve_words(effect.curve),
            Cell(words.size(effect.size), effect.size),
            Cell(words.percent(effect.bandwidth.value), effect.bandwidth.value * 100),
            _between(effect.bandwidth, 0.01),
            Cell(f"{words.number(effect.latency.value)} times", effect.latency.value),
            _between(effect.latency, 1.0),
        )
    return table


def models_table(found: Predictions) -> Table:
    """A row a model: its error, in the target's unit."""
    table = Table([Column("model", is_figure=False), Column("bandwidth", "MiB/s"), Column("latency", "s")])
    errors = {(model.model, model.target): model.rmse for model in found.models}
    for name in dict.fromkeys(model.model for model in found.models):
        bandwidth, latency = errors.get((name, "bandwidth"), math.nan), errors.get((name, "latency"), math.nan)
        table.add(name, Cell(words.rate(bandwidth), bandwidth / words.MIB), Cell(words.duration(latency), latency))
    return table
