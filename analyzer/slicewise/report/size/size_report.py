"""Which transfer size to take: sentences, tables, JSON and a page."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import polars as pl

from slicewise.analysis.size.points import CompanyEffect, Curve, Mean, SizeCurve, SizePoint
from slicewise.analysis.size.predict import Predictions
from slicewise.analysis.size.size import Advice, CurveAdvice, Requirements, SizeResult
from slicewise.charts import size as charts
from slicewise.report import columns
from slicewise.report.page import Fact, Page, Section
from slicewise.report.records import mib_s, or_none, picked
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words

VERBS = {"read": "reads", "write": "writes"}
# More curves of one kind than this are not drawn over each other.
MOST_LINES = 6


def opening(found: SizeResult) -> list[str]:
    first = found.first
    lines = [f"{headline(first, found.bounds)} Confidence: {confidence(first)}.", evidence(first)]
    lines += [*as_good(first), *sureness(first, found.bounds), *next_step(first)]
    return lines


def headline(told: CurveAdvice, bounds: Requirements) -> str:
    """Such as: For throughput use 1 MiB (2.3 times the bandwidth of your 64 KiB), for latency 4 KiB."""
    throughput, latency = told.throughput, told.latency
    if throughput is None or latency is None:
        return f"No transfer size that was measured keeps {bound_words(bounds)}: {_nearest(told.curve, bounds)}."
    within = f" Within {bound_words(bounds)}." if bounds.is_given else ""
    if len(told.curve.points) == 1:
        point = told.curve.points[0]
        return (
            f"Only {words.size(point.size)} was measured: {words.rate(point.bandwidth.value)}, "
            f"{words.duration(point.latency.value)} a call. No size can be recommended from one.{within}"
        )
    gain = _gain(told, throughput)
    if throughput.point.size == latency.point.size:
        return f"Use {words.size(throughput.point.size)}{gain}: it serves throughput and latency.{within}"
    return (
        f"For throughput use {words.size(throughput.point.size)}{gain}, "
        f"for latency {words.size(latency.point.size)}.{within}"
    )


def _gain(told: CurveAdvice, advice: Advice) -> str:
    """What it gives beside the size that is used now."""
    if told.own is None:
        return f" ({mean_rate(advice.point.bandwidth)})"
    own = told.curve.at(told.own)
    assert own is not None
    if own is advice.point:
        return " (what you use)"
    ratio = advice.point.bandwidth.over(own.bandwidth)
    return f" ({_times(ratio)} the bandwidth of your {words.size(told.own)})"


def _times(ratio: Mean) -> str:
    interval = ratio.estimate
    if math.isnan(interval.low):
        return f"{words.number(ratio.value, 2)} times"
    # With few digits the value might lie outside of its interval.
    rounded = (words.number(ratio.value, digits) for digits in range(2, 7))
    value = next((text for text in rounded if interval.low <= float(text.replace(",", "")) <= interval.high), None)
    return f"{value or words.number(ratio.value, 7)} times {words.interval(interval.low, interval.high)}"


def confidence(told: CurveAdvice) -> str:
    """The lower of the two advices' confidences; unknown where there is none."""
    order = ("unknown", "low", "medium", "high")
    given = [advice.confidence for advice in (told.throughput, told.latency) if advice is not None]
    return min(given, key=order.index) if given else "unknown"


def evidence(told: CurveAdvice) -> str:
    points = told.curve.points
    runs = sum(point.bandwidth.runs for point in points)
    sizes = words.count(len(points), "size")
    return f"This rests on {words.count(runs, 'run')} of {sizes}; it holds for {curve_words(told.curve.curve)}."


def curve_words(curve: Curve) -> str:
    """Such as: sequential writes of 2 processes on /scratch, file per process."""
    processes = f" of {words.count(curve.processes, 'process')}" if curve.processes else ""
    place = f" on {curve.mount}" if curve.mount else ""
    company = f", beside {curve.beside}" if curve.beside else ""
    return f"{curve.access} {VERBS[curve.direction]}{processes}{place}, {curve.sharing}{company}"


def bound_words(bounds: Requirements) -> str:
    said = []
    if bounds.latency is not None:
        said.append(f"{words.duration(bounds.latency)} a call")
    if bounds.bandwidth is not None:
        said.append(words.rate(bounds.bandwidth))
    return words.listing(said)


def _nearest(curve: SizeCurve, bounds: Requirements) -> str:
    fastest = min(curve.points, key=lambda point: point.latency.value)
    widest = max(curve.points, key=lambda point: point.bandwidth.value)
    said = []
    if bounds.latency is not None:
        said.append(f"the shortest calls take {words.duration(fastest.latency.value)} ({words.size(fastest.size)})")
    if bounds.bandwidth is not None:
        said.append(f"the most is {words.rate(widest.bandwidth.value)} ({words.size(widest.size)})")
    return words.listing(said)


def as_good(told: CurveAdvice) -> list[str]:
    advice = told.throughput
    if advice is None or len(advice.as_good) < 2:
        return []
    sizes = words.listing(words.size(size) for size in advice.as_good)
    return [f"These measurements cannot tell {sizes} apart in throughput; the smallest steady one within 5 % is named."]


def sureness(told: CurveAdvice, bounds: Requirements) -> list[str]:
    advice = told.throughput
    if advice is None or len(told.curve.points) < 2:
        return []
    if math.isnan(advice.most_loss):
        lines = ["Sizes were run once: chance alone may decide. Repeat each at least 3 times."]
    elif advice.most_loss <= 0:
        lines = ["No other size that was measured is faster, even at the ends of the 95 % intervals."]
    else:
        most = words.percent(advice.most_loss, 2)
        lines = [f"At the ends of the 95 % intervals another size may give up to {most} more throughput."]
    if bounds.is_given and not advice.is_sure_of_bounds:
        lines.append("The mean keeps the bound, and its interval does not: runs will break it now and then.")
    return lines


def next_step(told: CurveAdvice) -> list[str]:
    advice = told.throughput
    if advice is not None and advice.is_largest and len(told.curve.points) > 1:
        return [f"Larger sizes than {words.size(advice.point.size)} were not measured and may be faster still."]
    return []


def law(found: SizeResult) -> str:
    """Whether size x calls in flight is bandwidth x latency."""
    known = found.on_law + found.off_law
    if not known:
        return "How many calls were in flight is not known, so the law of size, bandwidth and latency is not checked."
    return (
        f"Bandwidth x latency = size x calls in flight holds to 10 % at {found.on_law} of "
        f"{words.count(known, 'point')}. The column law is the first product divided by the second: below 1, processes "
        "were not in calls all the time; above 1, more calls were in flight than processes."
    )


def effects(found: SizeResult) -> list[str]:
    """The second job's effect on the curve that is told first, else on any: at the smallest and the largest size."""
    told = found.first.curve.curve
    mates = [effect for effect in found.effects if replace(effect.curve, beside=told.beside) == told] or found.effects
    return [
        f"Beside {effect.curve.beside}, {effect.curve.access} {VERBS[effect.curve.direction]} of "
        f"{words.size(effect.size)} ({effect.curve.sharing}) keep {share(effect.bandwidth)} of their bandwidth, and a "
        f"call takes {_times(effect.latency)} as long."
        for effect in dict.fromkeys((*mates[:1], *mates[-1:]))
    ]


def models(found: SizeResult) -> list[str]:
    told = found.predictions
    said = []
    for target in dict.fromkeys(model.target for model in told.models):
        of_target = [model for model in told.models if model.target == target]
        said_as = words.rate if target == "bandwidth" else words.duration
        each = words.listing(f"{said_as(model.rmse)} by the {model.model}" for model in of_target)
        said.append(
            f"{target.capitalize()} of configurations that were not learnt from, root mean squared error: {each}."
        )
    return [*said, *([told.refused] if told.refused else [])]


def mean_rate(mean: Mean) -> str:
    """Such as: 812 MiB/s [790-834]."""
    return f"{words.rate(mean.value)} {_between(mean, words.MIB)}".rstrip()


def share(ratio: Mean) -> str:
    """Such as: 48.2 % [45-51]."""
    return f"{words.percent(ratio.value)} {_between(ratio, 0.01)}".rstrip()


def _between(mean: Mean, unit: float) -> str:
    """The interval in square brackets in that unit; nothing for one run."""
    interval = mean.estimate
    return "" if math.isnan(interval.low) else words.interval(interval.low / unit, interval.high / unit)


def notes(found: SizeResult) -> list[str]:
    return [law(found), *models(found), *found.notes]


def size_record(found: SizeResult, page: Path | None) -> dict[str, Any]:
    return {
        "curves": [_curve(told) for told in found.advices],
        "own_size": found.own,
        "bounds": {
            "latency_below_seconds": found.bounds.latency,
            "bandwidth_above_mib_s": mib_s(found.bounds.bandwidth),
        },
        "company": [
            {
                **asdict(effect.curve),
                "size": effect.size,
                "bandwidth_ratio": _mean(effect.bandwidth, 1.0),
                "latency_ratio": _mean(effect.latency, 1.0),
            }
            for effect in found.effects
        ],
        "predictions": {
            **picked(found.predictions, "features", "configurations", "folds"),
            **or_none(found.predictions, "refused"),
            "models": [
                picked(model, "model", "target")
                | {"rmse": model.rmse / (words.MIB if model.target == "bandwidth" else 1)}
                for model in found.predictions.models
            ],
        },
        "runs": found.points.height,
        "notes": notes(found),
        "page": str(page) if page else None,
    }


def _curve(told: CurveAdvice) -> dict[str, Any]:
    has_advice = len(told.curve.points) > 1
    return {
        **asdict(told.curve.curve),
        "points": [_point(point) for point in told.curve.points],
        "throughput": _advice(told.throughput) if has_advice else None,
        "latency": _advice(told.latency) if has_advice else None,
        "confidence": confidence(told),
    }


def _point(point: SizePoint) -> dict[str, Any]:
    return {
        "size": point.size,
        "runs": point.bandwidth.runs,
        "bandwidth": _mean(point.bandwidth, words.MIB),
        "latency": _mean(point.latency, 1.0),
        **picked(point, "latency_p99", "in_flight", law_ratio="little", equation_1_seconds="equation_1"),
    }


def _advice(advice: Advice | None) -> dict[str, Any] | None:
    if advice is None:
        return None
    return {
        "size": advice.point.size,
        "best_size": advice.best.size,
        "as_good": list(advice.as_good),
        **picked(advice, "most_loss", "runs", "confidence", keeps_bounds_surely="is_sure_of_bounds"),
        **picked(advice, "is_largest", "is_smallest"),
    }


def _mean(mean: Mean, unit: float) -> dict[str, Any]:
    """A mean of repeats with its interval; `low` and `high` are null where there was one run."""
    interval = mean.estimate
    return {key: getattr(interval, key) / unit for key in ("value", "low", "high")} | {"how": interval.how}


def sizes_table(told: CurveAdvice) -> Table:
    """A row a size of one curve."""
    marks = _marks(told)
    return columns.table(
        told.curve.points,
        columns.size("size", lambda point: point.size),
        columns.text("", lambda point: ", ".join(marks.get(point.size, []))),
        columns.count("runs", lambda point: point.bandwidth.runs),
        columns.rate("bandwidth", lambda point: point.bandwidth.value),
        columns.text("interval (MiB/s)", lambda point: _between(point.bandwidth, words.MIB)),
        columns.duration("a call takes", lambda point: point.latency.value),
        columns.text("interval (ms)", lambda point: _between(point.latency, 1e-3)),
        columns.duration("99 % take less than", lambda point: point.latency_p99, none=Cell("")),
        columns.number("law", lambda point: point.little, none=Cell("")),
        columns.duration("by eq. 1", lambda point: point.equation_1, none=Cell("")),
        title=curve_words(told.curve.curve),
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


def curves_table(advices: Sequence[CurveAdvice]) -> Table:
    """A row a curve: the sizes to take on it."""

    def size(told: CurveAdvice, advice: Advice | None) -> int | None:
        return advice.point.size if advice and len(told.curve.points) > 1 else None

    return columns.table(
        advices,
        columns.text("for", lambda told: curve_words(told.curve.curve)),
        columns.count("sizes", lambda told: len(told.curve.points)),
        columns.size("throughput", lambda told: size(told, told.throughput), "", none=Cell("")),
        columns.rate(
            "it gives", lambda told: told.throughput.point.bandwidth.value if told.throughput else None, none=Cell("")
        ),
        columns.size("latency", lambda told: size(told, told.latency), "", none=Cell("")),
        columns.duration(
            "a call takes", lambda told: told.latency.point.latency.value if told.latency else None, none=Cell("")
        ),
        columns.text("confidence", confidence),
    )


def effects_table(effects: Sequence[CompanyEffect]) -> Table:
    return columns.table(
        effects,
        columns.text("for", lambda effect: curve_words(effect.curve)),
        columns.size("size", lambda effect: effect.size),
        columns.percent("bandwidth kept", lambda effect: effect.bandwidth.value),
        columns.text("interval (%)", lambda effect: _between(effect.bandwidth, 0.01)),
        columns.said(
            "a call takes as long", lambda effect: effect.latency.value, lambda ratio: f"{words.number(ratio)} times"
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


def size_page(found: SizeResult, title: str) -> Page:
    return Page(
        title=title,
        kicker="Slicewise size",
        sentences=opening(found),
        facts=_facts(found),
        sections=list(_sections(found)),
        unseen=list(found.notes),
    )


def _facts(found: SizeResult) -> list[Fact]:
    told = found.first
    facts = []
    if told.throughput is not None:
        facts.append(Fact("for throughput", words.size(told.throughput.point.size)))
        facts.append(Fact("it gives", words.rate(told.throughput.point.bandwidth.value)))
    if told.latency is not None:
        facts.append(Fact("for latency", words.size(told.latency.point.size)))
        facts.append(Fact("a call takes", words.duration(told.latency.point.latency.value)))
    facts.append(Fact("runs", f"{found.points.height:,}"))
    facts.append(Fact("confidence", confidence(told)))
    return facts


def _sections(found: SizeResult) -> Iterator[Section]:
    first = found.first
    taken = first.throughput.point.size if first.throughput is not None else None
    if len(first.curve.points) > 1:
        yield Section(
            heading="What a size gives, and what it costs",
            text=[
                f"Shown are {curve_words(first.curve.curve)}. Each point is a transfer size; the large "
                "one is the size to take for throughput."
            ],
            chart=charts.trade_off(_frame([first]), taken),
            tables=[sizes_table(first)],
            note=law(found),
        )
    for kind in dict.fromkeys(_kind(told.curve.curve) for told in found.advices):
        of_kind = [told for told in found.advices if _kind(told.curve.curve) == kind]
        mount, direction, access = kind
        if all(len(told.curve.points) < 2 for told in of_kind):
            continue  # a line of one point shows nothing that the sentences do not say
        yield Section(
            heading=f"{access.capitalize()} {VERBS[direction]}{f' on {mount}' if mount else ''}",
            chart=charts.bandwidth_and_latency(_frame(of_kind[:MOST_LINES]), taken if first in of_kind else None),
            note="Bars are 95 % intervals of the mean of repeats; wide ones are cut at the chart's edge.",
        )
    if found.effects:
        yield Section(
            heading="What a second job does",
            text=effects(found),
            tables=[effects_table(found.effects)],
            note="Ratios of the means with and without the second job, with 95 % intervals.",
        )
    if len(found.advices) > 1:
        yield Section(
            heading="The size to take, by how files are accessed",
            tables=[curves_table(found.advices)],
            note="Throughput: the smallest steady size within 5 % of the best bandwidth. Latency: the largest size "
            "within 5 % of the shortest calls.",
        )
    if found.predictions.models:
        yield _models(found)


def _kind(curve: Curve) -> tuple[str, str, str]:
    return curve.mount, curve.direction, curve.access


def _line_name(curve: Curve, has_blocks: bool) -> str:
    processes = f"{words.count(curve.processes, 'process')}, " if curve.processes else ""
    beside = f", beside {curve.beside}" if curve.beside else ""
    blocks = f", blocks of {words.size(curve.block_size)}" if has_blocks and curve.block_size else ""
    return f"{processes}{curve.sharing}{blocks}{beside}"


def _frame(advices: Sequence[CurveAdvice]) -> pl.DataFrame:
    rows = []
    has_blocks = len({told.curve.curve.block_size for told in advices}) > 1
    for told in advices:
        for point in told.curve.points:
            row: dict[str, object] = {"line": _line_name(told.curve.curve, has_blocks), "size": point.size}
            for name, unit in (("bandwidth", float(words.MIB)), ("latency", 1e-3)):
                interval = getattr(point, name).estimate
                row[name] = interval.value / unit
                row[f"{name}_error_above"] = (interval.high - interval.value) / unit
                row[f"{name}_error_below"] = (interval.value - interval.low) / unit
            rows.append(row)
    return pl.DataFrame(rows).with_columns(pl.selectors.float().fill_nan(0.0))


def _models(found: SizeResult) -> Section:
    told = found.predictions
    frame = pl.concat(
        found.points.select(
            pl.lit(model.model).alias("model"),
            observed=pl.col("bandwidth") / words.MIB,
            predicted=pl.Series(model.predicted) / words.MIB,
        )
        for model in told.models
        if model.target == "bandwidth" and model.model != "mean"
    )
    return Section(
        heading="Can bandwidth and latency be predicted?",
        text=models(found),
        chart=charts.predicted_over_observed(frame),
        tables=[models_table(told)],
        note=f"Cross-validation in {told.folds} folds of {words.count(told.configurations, 'configuration')}: no "
        "repeat of a configuration that is predicted was learnt from. A model that is no better than the mean "
        "predicts nothing.",
    )
