"""The page of what may be expected of a file system: what stands on it, in which order, with which words."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from slicewise.analysis.expect.box import strips
from slicewise.analysis.expect.expectation import Boxes, Expectation
from slicewise.charts import expect as charts
from slicewise.report.expect import expect_tables, expect_words
from slicewise.report.page import Fact, Page, Section
from slicewise.text import words

POINTS = pl.Schema({"name": pl.String, "bandwidth": pl.Float64, "metadata": pl.Float64, "said": pl.String})


def expectation_page(found: Expectation, points: Sequence[tuple[str, float, float, str]] = ()) -> Page:
    """The page of `expect box`. points: name, bandwidth, metadata rate and a sentence of what else is drawn."""
    first = found.first
    sections = boxes_sections(found, points)
    kicker = f"Slicewise expect, {expect_words.said_benchmarks(found) or 'no run'}"
    return Page(
        title="What this file system gives",
        kicker=kicker,
        sentences=[*expect_words.opening(found), *expect_words.percentiles(found)],
        facts=facts(found),
        sections=[*sections, *further_sections(found)],
        unseen=[*expect_words.invalid(found), *expect_words.notes(found)] if first else [],
    )


def facts(found: Expectation) -> list[Fact]:
    first = found.first
    if first is None:
        return [Fact("runs", "0")]
    easy = first.easy
    return [
        Fact("runs", f"{len(found.results.runs):,}", note=f"{len(first.runs)} with {first.api}"),
        *([Fact("easy I/O gets (median)", f"{words.number(easy[0])} GiB/s"),
           Fact("easy metadata gets (median)", f"{words.number(easy[1])} kIOPS")] if easy else []),
        Fact("anomalies", f"{len(first.runs) - len(first.good):,}"),
        Fact("not read", f"{len(found.results.unreadable):,}"),
    ]  # fmt: skip


def boxes_sections(found: Expectation, points: Sequence[tuple[str, float, float, str]]) -> list[Section]:
    """The boxes of each API and kind."""
    sections = []
    for boxes in found.boxes:
        heading = f"{boxes.api}: {expect_words.KIND_NAMES[boxes.kind]}"
        is_first = boxes is found.first
        sections.append(
            Section(
                heading=heading,
                chart=charts.boxes(
                    _run_frame(boxes),
                    strips(boxes.union),
                    pl.DataFrame(list(points) if is_first else [], schema=POINTS, orient="row"),
                ),
                tables=[expect_tables.boxes_table(found)] if is_first else [],
                note=f"{words.count(len(boxes.runs), 'run')}, {len(boxes.runs) - len(boxes.good)} of them anomalies; "
                f"the union covers {words.number(boxes.union_area)}, the rectangle around it "
                f"{words.number(boxes.hull_area)} GiB/s x kIOPS.",
            )
        )
    return sections


def further_sections(found: Expectation) -> list[Section]:
    """Anomalies and laggards, growth, tails, runs, and what was not read."""
    first = found.first
    wrong = [*expect_words.anomalies(found), *expect_words.lagging(found)]
    sections = [Section(heading="Anomalies and laggards", text=wrong)] if wrong else []
    if first is not None and len(first.good) > 1:
        growth = first.growth
        sections.append(
            Section(
                heading="Are there enough runs?",
                chart=charts.growth(growth.areas, growth.settled_after),
                text=[expect_words.union_growth(first)],
            )
        )
    if found.tails:
        rows = [
            (tail.phase, run, seconds)
            for tail in found.tails
            for run, seconds in zip(tail.runs, tail.seconds, strict=True)
        ]
        sections.append(
            Section(
                heading="How long each phase took",
                chart=charts.tails(
                    pl.DataFrame(rows, schema=["phase", "run", "seconds"], orient="row"),
                    pl.DataFrame(
                        [(tail.phase, tail.median, tail.p95, tail.p99) for tail in found.tails],
                        schema=["phase", "median", "p95", "p99"],
                        orient="row",
                    ),
                ),
                tables=[expect_tables.tails_table(found)],
                note="With few runs the 99 % point is next to the worst run.",
            )
        )
    if found.results.runs:
        sections.append(Section(heading="Every run", tables=[expect_tables.runs_table(found)]))
    if found.results.unreadable:
        sections.append(Section(heading="What could not be read", text=expect_words.not_read(found)))
    return sections


def _run_frame(boxes: Boxes) -> pl.DataFrame:
    schema = {
        "name": pl.String, "hard_bandwidth": pl.Float64, "hard_metadata": pl.Float64, "easy_bandwidth": pl.Float64,
        "easy_metadata": pl.Float64, "is_anomaly": pl.Boolean,
    }  # fmt: skip
    rows = [(run.run.name, *run.box.hard, *run.box.easy, run.is_anomaly) for run in boxes.runs]
    return pl.DataFrame(rows, schema=schema, orient="row")
