"""The page of what may be expected of a file system: what stands on it, in which order, with which words."""

from collections.abc import Sequence

import polars as pl

from slicewise.analysis.expect.box import strips
from slicewise.analysis.expect.expectation import Boxes, Expectation
from slicewise.analysis.expect.place import Placed
from slicewise.charts import expect as charts
from slicewise.report.expect import expect_words, place_words
from slicewise.report.page import Fact, Page, Section
from slicewise.text import words

POINTS = pl.Schema(
    {"name": pl.String, "bandwidth": pl.Float64, "metadata": pl.Float64, "axis": pl.String, "said": pl.String}
)
Drawn = tuple[str, float, float, str, str]


def expectation_page(found: Expectation, points: Sequence[Drawn] = ()) -> Page:
    """The page of `expect box`. points: what else is drawn (POINTS)."""
    first = found.first
    sections = boxes_sections(found, points)
    kicker = f"Slicewise expect, {first.benchmark if first else 'no run'}"
    return Page(
        title="What this file system gives",
        kicker=kicker,
        sentences=[*expect_words.opening(found), *expect_words.percentiles(found)],
        facts=facts(found),
        sections=[*sections, *further_sections(found)],
        unseen=[*expect_words.invalid(found), *expect_words.too_short(found), *expect_words.notes(found)]
        if first
        else [],
    )


def places_page(found: Expectation, placed: Sequence[Placed], unseen: Sequence[str]) -> Page:
    """The page of `expect place`. unseen: lines on what the profiles could not see."""
    names = words.listing([one.job for one in placed])
    drawn = [(one.job, *one.whole.point, _axis(one), place_words.verdict(one)) for one in placed if one.whole.judged]
    first = placed[0]
    share = first.position.share_of_easy
    jobs = Section(
        heading="Where the jobs lie",
        text=[line for one in placed for line in place_words.lines(one)],
        tables=[expect_words.places_table(placed)],
        note="A line across the boxes is a job that only one axis can judge.",
    )
    boxes = boxes_sections(found, drawn, first.boxes)
    at = next((number for number, other in enumerate(found.boxes) if other is first.boxes), 0)
    sections = [boxes[at], jobs, *boxes[:at], *boxes[at + 1 :]]
    return Page(
        title=f"What {names} got of what to expect",
        kicker=f"Slicewise expect, {first.boxes.benchmark}",
        sentences=[place_words.verdict(one) for one in placed],
        facts=[
            *([Fact("of easy I/O", words.percent(share, 2))] if share is not None else []),
            Fact("bandwidth", f"{words.number(first.whole.bandwidth)} GiB/s"),
            Fact("metadata", f"{words.number(first.whole.metadata)} kIOPS", note="over metadata time"),
            *facts(found)[1:3],
        ],
        sections=[*sections, *further_sections(found)],
        unseen=[
            *expect_words.invalid(found),
            *expect_words.too_short(found),
            *place_notes(),
            *expect_words.notes(found),
            *unseen,
        ],
    )


def _axis(placed: Placed) -> str:
    """The only axis that judges a job; empty where both do."""
    judged = placed.whole.judged
    return judged[0] if len(judged) == 1 else ""


def place_notes() -> list[str]:
    return [
        "A job's bandwidth is its bytes over its time in data calls, and its metadata rate is its operations over its "
        "time in metadata calls, in each slice that of the process with most. Opening and closing a file is one "
        "operation, as IO500 counts it; seeks are none.",
        "An axis that took less than 5 % of a job's I/O time does not judge the job.",
        "The share of easy I/O is the time that the same work takes at the median easy rates, over the time it took.",
    ]


def facts(found: Expectation) -> list[Fact]:
    first = found.first
    if first is None:
        return [Fact("runs", "0")]
    easy = first.easy
    return [
        Fact("runs", f"{len(found.results.runs):,}", note=f"{len(first.runs)} of {expect_words.api(first)}"),
        *([Fact("easy I/O gets (median)", f"{words.number(easy[0])} GiB/s"),
           Fact("easy metadata gets (median)", f"{words.number(easy[1])} kIOPS")] if easy else []),
        Fact("anomalies", f"{len(first.runs) - len(first.good):,}"),
        Fact("not read", f"{len(found.results.unreadable):,}"),
    ]  # fmt: skip


def boxes_sections(found: Expectation, points: Sequence[Drawn], of: Boxes | None = None) -> list[Section]:
    """The boxes of each API and kind. of: those that the points are drawn in; else the first."""
    sections = []
    for boxes in found.boxes:
        heading = expect_words.title(boxes)
        is_first = boxes is found.first
        has_points = boxes is (of or found.first)
        sections.append(
            Section(
                heading=heading,
                chart=charts.boxes(
                    _run_frame(boxes),
                    strips(boxes.union),
                    pl.DataFrame(list(points) if has_points else [], schema=POINTS, orient="row"),
                ),
                tables=[expect_words.boxes_table(found)] if is_first else [],
                note=f"{words.count(len(boxes.runs), 'run')}, {len(boxes.runs) - len(boxes.good)} of them anomalies; "
                f"the union covers {words.number(boxes.union_area)}, the rectangle around it "
                f"{words.number(boxes.hull_area)} GiB/s x kIOPS.",
            )
        )
    return sections


def further_sections(found: Expectation) -> list[Section]:
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
                heading="How long each IO500 phase took",
                chart=charts.tails(
                    pl.DataFrame(rows, schema=["phase", "run", "seconds"], orient="row"),
                    pl.DataFrame(
                        [(tail.phase, tail.median, tail.p95, tail.p99) for tail in found.tails],
                        schema=["phase", "median", "p95", "p99"],
                        orient="row",
                    ),
                ),
                tables=[expect_words.tails_table(found)],
                note="With few runs the 99 % point is next to the worst run.",
            )
        )
    if found.results.runs:
        sections.append(Section(heading="Every run", tables=[expect_words.runs_table(found)]))
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
