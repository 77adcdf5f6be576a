"""Tables of transfer sizes, the same for the terminal and for the page."""

import math
from collections.abc import Sequence

from slicewise.analysis.size.points import CompanyEffect, Mean
from slicewise.analysis.size.predict import Predictions
from slicewise.analysis.size.recommend import Advice
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

    def size(told: CurveAdvice, advice: Advice | None) -> Cell | str:
        return Cell(words.size(advice.point.size), advice.point.size) if advice and len(told.curve.points) > 1 else ""

    def gives(best: Advice | None) -> Cell | str:
        return Cell(words.rate(best.point.bandwidth.value), best.point.bandwidth.value / words.MIB) if best else ""

    def takes(fast: Advice | None) -> Cell | str:
        return Cell(words.duration(fast.point.latency.value), fast.point.latency.value) if fast else ""

    return columns.table(
        advices,
        columns.text("for", lambda told: size_words.curve_words(told.curve.curve)),
        columns.figure("sizes", lambda told: Cell(f"{len(told.curve.points)}", len(told.curve.points))),
        columns.figure("throughput", lambda told: size(told, told.throughput)),
        columns.figure("it gives", lambda told: gives(told.throughput), "MiB/s"),
        columns.figure("latency", lambda told: size(told, told.latency)),
        columns.figure("a call takes", lambda told: takes(told.latency), "s"),
        columns.text("confidence", size_words.confidence),
    )


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
