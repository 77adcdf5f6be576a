"""The page of transfer sizes: what stands on it, in which order, with which words."""

from collections.abc import Sequence

import polars as pl

from slicewise.analysis.size.points import Curve
from slicewise.analysis.size.size import CurveAdvice, SizeResult
from slicewise.charts import size as charts
from slicewise.report.page import Fact, Page, Section
from slicewise.report.size import size_tables, size_words
from slicewise.text import words

# More curves of one kind than this are not drawn over each other.
MOST_LINES = 6
UNITS = {"bandwidth": (float(words.MIB), "MiB/s"), "latency": (1e-3, "ms")}


def size_page(found: SizeResult, title: str, sections: Sequence[Section] = (), unseen: Sequence[str] = ()) -> Page:
    """The page. sections: those that come first. unseen: lines on what the profiles could not see or have lost."""
    return Page(
        title=title,
        kicker="Slicewise size",
        sentences=size_words.opening(found),
        facts=_facts(found),
        sections=[*sections, *_curve_sections(found), *_company(found), *_recommendations(found), *_models(found)],
        unseen=[*found.notes, *unseen],
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
    facts.append(Fact("confidence", size_words.confidence(told)))
    return facts


def _curve_sections(found: SizeResult) -> list[Section]:
    """The first curve's trade-off and table, then a section for each direction and access."""
    first = found.first
    taken = first.throughput.point.size if first.throughput is not None else None
    alone = [first]
    sections = []
    if len(first.curve.points) > 1:
        sections.append(
            Section(
                heading="What a size gives, and what it costs",
                text=[
                    f"Shown are {size_words.curve_words(first.curve.curve)}. Each point is a transfer size; the large "
                    "one is the size to take for throughput."
                ],
                chart=charts.trade_off(_frame(alone), taken),
                tables=[size_tables.sizes_table(first)],
                note=size_words.law(found),
            )
        )
    for kind in dict.fromkeys(_kind(told.curve.curve) for told in found.advices):
        of_kind = [told for told in found.advices if _kind(told.curve.curve) == kind]
        mount, direction, access = kind
        if all(len(told.curve.points) < 2 for told in of_kind):
            continue  # a line of one point shows nothing that the sentences do not say
        place = f" on {mount}" if mount else ""
        sections.append(
            Section(
                heading=f"{access.capitalize()} {size_words.VERBS[direction]}{place}",
                chart=charts.bandwidth_and_latency(_frame(of_kind[:MOST_LINES]), taken if first in of_kind else None),
                note="Bars are 95 % intervals of the mean of repeats; wide ones are cut at the chart's edge.",
            )
        )
    return sections


def _kind(curve: Curve) -> tuple[str, str, str]:
    return curve.mount, curve.direction, curve.access


def _line_name(curve: Curve, has_blocks: bool) -> str:
    """What tells the lines of one chart apart."""
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
            for name, (unit, _) in UNITS.items():
                interval = getattr(point, name).estimate
                row[name] = interval.value / unit
                row[f"{name}_error_above"] = (interval.high - interval.value) / unit
                row[f"{name}_error_below"] = (interval.value - interval.low) / unit
            rows.append(row)
    return pl.DataFrame(rows).with_columns(pl.selectors.float().fill_nan(0.0))


def _company(found: SizeResult) -> list[Section]:
    if not found.effects:
        return []
    return [
        Section(
            heading="What a second job does",
            text=size_words.effects(found),
            tables=[size_tables.effects_table(found.effects)],
            note="Ratios of the means with and without the second job, with 95 % intervals.",
        )
    ]


def _recommendations(found: SizeResult) -> list[Section]:
    if len(found.advices) < 2:
        return []
    return [
        Section(
            heading="The size to take, by how files are accessed",
            tables=[size_tables.curves_table(found.advices)],
            note="Throughput: the smallest steady size within 5 % of the best bandwidth. Latency: the largest size "
            "within 5 % of the shortest calls.",
        ),
    ]


def _models(found: SizeResult) -> list[Section]:
    told = found.predictions
    if not told.models:
        return []
    observed = (found.points["bandwidth"] / UNITS["bandwidth"][0]).to_list()
    frame = pl.concat(
        pl.DataFrame(
            {
                "model": model.model,
                "observed": observed,
                "predicted": [value / UNITS["bandwidth"][0] for value in model.predicted],
            }
        )
        for model in told.models
        if model.target == "bandwidth" and model.model != "mean"
    )
    return [
        Section(
            heading="Can bandwidth and latency be predicted?",
            text=size_words.models(found),
            chart=charts.predicted_over_observed(frame, UNITS["bandwidth"][1]),
            tables=[size_tables.models_table(told)],
            note=f"Cross-validation in {told.folds} folds of {words.count(told.configurations, 'configuration')}: no "
            "repeat of a configuration that is predicted was learnt from. A model that is no better than the mean "
            "predicts nothing.",
        )
    ]
