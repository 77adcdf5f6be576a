"""What runs of IO500 promise, and where jobs lie in that: sentences, tables, JSON and pages."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from slicewise.analysis.expect.expectation import (
    LATER_RUNS,
    LEAST_GROWTH,
    Axis,
    Box,
    Boxes,
    Expectation,
    Point,
    RunBox,
    hull,
    strips,
)
from slicewise.analysis.expect.place import Placed, PlacedWork, Position
from slicewise.charts import expect as charts
from slicewise.io500.ranks import Laggards
from slicewise.io500.results import IO500
from slicewise.io500.texts import PHASES
from slicewise.report import columns
from slicewise.report.expect.place_words import GIB_S, KIND_NAMES, KIOPS, api, lines, places_table, verdict
from slicewise.report.page import Fact, Page, Section
from slicewise.report.records import or_none, picked
from slicewise.report.tables import Table
from slicewise.text import words

MOST_LINES = 6
FEWEST_ANOMALIES = 2
PLACE_NOTES = (
    "A job's bandwidth is its bytes over its time in data calls, and its metadata rate is its operations over its "
    "time in metadata calls, in each slice that of the process with most. Opening and closing a file is one operation, "
    "as IO500 counts it; seeks are none.",
    "An axis that took less than 5 % of a job's I/O time does not judge the job.",
    "The share of easy I/O is the time that the same work takes at the median easy rates, over the time it took.",
)
# A phase that is over sooner did not have to wait for the storage. The shortest that a campaign of our own aims at.
SHORT_PHASE = 0.5


def rates(point: Point) -> str:
    """Such as "4.2 GiB/s and 12 kIOPS"."""
    return f"{words.number(point[0])} GiB/s and {words.number(point[1])} kIOPS"


def opening(found: Expectation) -> list[str]:
    first = found.first
    if first is None:
        return ["No run could be read, so nothing is known of what to expect."]
    return [headline(first), union_growth(first), *mostly_anomalies(first)]


def mostly_anomalies(boxes: Boxes) -> list[str]:
    """Where most runs are anomalies, it is not a sick node now and then."""
    anomalies = len(boxes.runs) - len(boxes.good)
    if anomalies < FEWEST_ANOMALIES or 2 * anomalies <= len(boxes.runs):
        return []
    return [
        f"{anomalies} of {len(boxes.runs)} runs are anomalies. Either hard I/O is no harder here than easy I/O, or "
        "the IO500 phases are too short and noise decides. Run longer ones, on a quiet system."
    ]


def headline(boxes: Boxes) -> str:
    """The range between the worst hard run and the best easy run of the union."""
    around = hull(boxes.union)
    of = f"{boxes.benchmark}, {api(boxes)}"
    runs = words.count(len(boxes.good), "run")
    if around is None:
        return f"No run of {of} is sound: each has hard phases better than easy ones."
    return (
        f"Expect {words.number(around.hard[0])} to {words.number(around.easy[0])} GiB/s and "
        f"{words.number(around.hard[1])} to {words.number(around.easy[1])} kIOPS here: from {runs} of {of}."
    )


def title(boxes: Boxes) -> str:
    """Such as "POSIX: reads and writes"; what is not IO500 is labelled."""
    label = "" if boxes.benchmark == IO500 else f", {boxes.benchmark}"
    return f"{api(boxes)}{label}: {KIND_NAMES[boxes.kind]}"


def union_growth(boxes: Boxes) -> str:
    growth = boxes.growth
    runs = len(boxes.good)
    if growth.added is None:
        more = LATER_RUNS + 1 - runs
        return (
            f"Too few runs to tell whether the box is complete: {words.count(runs, 'sound run')}. "
            f"Run it at least {words.count(more, 'time')} more."
        )
    if growth.settled_after is None:
        return (
            f"The union of the boxes still grows: the last {LATER_RUNS} of {runs} runs made it "
            f"{words.percent(growth.added)} of its area larger. Run it more often."
        )
    return (
        f"The union of the boxes stopped growing after {words.count(growth.settled_after, 'run')}: all {runs} runs "
        f"together add {words.percent(1 - growth.areas[growth.settled_after - 1] / growth.areas[-1])} "
        f"(at most {words.percent(LEAST_GROWTH)} counts as no growth)."
    )


def anomalies(found: Expectation) -> list[str]:
    lines = []
    aggregate: dict[str, list[Axis]] = {}
    for boxes in found.boxes:
        for run in boxes.runs:
            # What the aggregate says already is not said again of writes only and reads only.
            if boxes.kind == "aggregate":
                aggregate[run.run.name] = run.box.anomalies
            elif set(run.box.anomalies) <= set(aggregate.get(run.run.name, [])):
                continue
            if run.is_anomaly:
                of = "" if boxes.kind == "aggregate" else f" ({KIND_NAMES[boxes.kind]})"
                lagged = [lag_line(lag, is_run_named=False) for lag in run.laggards]
                said = f"Anomaly, left out of the union: {run.run.name}{of}: {run.why}."
                lines.append(" ".join([said, *lagged]))
    return lines


def lag_line(lag: Laggards, is_run_named: bool = True) -> str:
    """Such as: n07 (ranks 8-11 of 16) was 3.2 times slower than the median rank in ior-easy-write."""
    ranks = "" if lag.who[0].startswith("rank ") else f" ({_ranks(lag.ranks)} of {lag.of})"
    verb = "was" if len(lag.who) == 1 else "were"
    run = f" of {lag.run}" if is_run_named else ""
    return (
        f"{_capital(words.listing(lag.who))}{ranks} {verb} {words.number(lag.slowness, 2)} times slower than the "
        f"median rank in {lag.phase}{run}."
    )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:] if text.startswith(("node ", "rank ")) else text


def _ranks(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 2 and ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"ranks {ranks[0]}-{ranks[-1]}"
    shown = [str(rank) for rank in ranks[:MOST_LINES]]
    return f"ranks {words.listing(shown) if len(ranks) <= MOST_LINES else ', '.join(shown) + ', ...'}"


def lagging(found: Expectation) -> list[str]:
    runs = len(found.results.runs)
    lines = []
    for who, lags in list(found.lagging.items())[:MOST_LINES]:
        in_runs = len({lag.run for lag in lags})
        phases = words.listing(list(dict.fromkeys(lag.phase for lag in lags))[:3])
        worst = max(lag.slowness for lag in lags)
        lines.append(
            f"{_capital(who)} lagged in {in_runs} of {words.count(runs, 'run')} ({phases}), up to "
            f"{words.number(worst, 2)} times slower than the median rank. Have it looked at."
        )
    more = len(found.lagging) - MOST_LINES
    return [*lines, *([f"{more} more lagged now and then."] if more > 0 else [])]


def invalid(found: Expectation) -> list[str]:
    runs = [run for run in found.results.runs if run.invalid]
    if not runs:
        return []
    return [
        f"{words.count(len(runs), 'run')} of {len(found.results.runs)} broke IO500's own rules (most often, IO500 "
        "phases were shorter than 300 s): short ones may measure caches."
    ]


def too_short(found: Expectation) -> list[str]:
    """Phases that were over before a storage had to do with them."""
    timed = [
        phase.seconds
        for run in found.results.runs
        for name, phase in run.phases.items()
        if name in PHASES and name != "find" and phase.seconds is not None
    ]
    short = [seconds for seconds in timed if seconds < SHORT_PHASE]
    if not short:
        return []
    return [
        f"{len(short):,} of {words.count(len(timed), 'phase')} took less than {words.duration(SHORT_PHASE)}, one of "
        f"them {words.duration(min(short))}: these rates are those of caches and of starting up, and no expectation of "
        "the storage. IO500 asks for 300 s a phase. Give slicewise storage benchmark more --seconds."
    ]


def not_read(found: Expectation, most: int | None = None) -> list[str]:
    left_out = found.results.unreadable
    shown = left_out if most is None else left_out[:most]
    lines = [f"Not read: {entry.path}: {entry.reason}" for entry in shown]
    more = len(left_out) - len(shown)
    return [*lines, *([f"Not read: {more} more (all of them are on the page and in --json)"] if more else [])]


def point_line(found: Expectation, point: Point) -> str:
    boxes = found.first
    around = hull(boxes.union) if boxes else None
    if boxes is None or around is None:
        return f"The point {rates(point)} cannot be placed: there is no box."
    within = boxes.within(point)
    if within:
        names = words.listing(within) if len(within) <= 3 else words.some(within, 2)
        return f"The point {rates(point)} is in the box: in that of {names}."
    if around.holds(point):
        return f"The point {rates(point)} is not in the box: it lies between the boxes of single runs, in none of them."
    return f"The point {rates(point)} is outside of the box."


def notes(found: Expectation) -> list[str]:
    said = [
        "A run's box reaches from the geometric mean of its hard phases to that of its easy ones; find is left out. "
        "The expectation is the union of the boxes, not the rectangle around them.",
        "Writes only: ior-*-write, mdtest-*-write and mdtest-*-delete. Reads only: the others.",
    ]
    if any(boxes.benchmark != IO500 for boxes in found.boxes):
        said.append("Runs that are not IO500 are shorter and smaller: compare them with each other, not with a list.")
    return said


def boxes_table(found: Expectation) -> Table:
    """A row an API and kind: what the union spans."""

    def corner(boxes: Boxes, of: Callable[[Box], Point]) -> str:
        around = hull(boxes.union)
        return "" if around is None else ", ".join(words.number(rate) for rate in of(around))

    def settled(boxes: Boxes) -> str:
        after = boxes.growth.settled_after
        return "" if after is None else words.count(after, "run")

    return columns.table(
        found.boxes,
        columns.text("API", lambda one: api(one) if one.benchmark == IO500 else f"{api(one)}, {one.benchmark}"),
        columns.text("of", lambda one: KIND_NAMES[one.kind]),
        columns.count("runs", lambda one: len(one.runs)),
        columns.count("anomalies", lambda one: len(one.runs) - len(one.good)),
        columns.text("hard", lambda one: corner(one, lambda box: box.hard), f"{GIB_S}, {KIOPS}"),
        columns.text("easy", lambda one: corner(one, lambda box: box.easy), f"{GIB_S}, {KIOPS}"),
        columns.number("union area", lambda one: one.union_area, f"{GIB_S} x {KIOPS}"),
        columns.number("hull area", lambda one: one.hull_area, f"{GIB_S} x {KIOPS}"),
        columns.figure("complete after", settled),
    )


def runs_table(found: Expectation) -> Table:
    """A row a run: its aggregate box, and what is wrong with it."""
    return columns.table(
        ((boxes.api, run) for boxes in found.boxes if boxes.kind == "aggregate" for run in boxes.runs),
        columns.text("run", lambda row: row[1].run.name),
        columns.text("API", lambda row: row[0]),
        columns.number("hard", lambda row: row[1].box.hard[0], GIB_S),
        columns.number("easy", lambda row: row[1].box.easy[0], GIB_S),
        columns.number("hard", lambda row: row[1].box.hard[1], KIOPS),
        columns.number("easy", lambda row: row[1].box.easy[1], KIOPS),
        columns.text("anomaly", lambda row: row[1].why),
        is_greyed=lambda row: row[1].is_anomaly,
    )


def tails_table(found: Expectation) -> Table:
    """A row a phase: how long it took over the runs."""
    return columns.table(
        found.tails,
        columns.text("IO500 phase", lambda tail: tail.phase),
        columns.count("runs", lambda tail: len(tail.seconds)),
        columns.seconds("median", lambda tail: tail.median),
        columns.seconds("95 %", lambda tail: tail.p95),
        columns.seconds("99 %", lambda tail: tail.p99),
        columns.seconds("worst", lambda tail: tail.worst),
        columns.text("worst run", lambda tail: tail.worst_run),
    )


def expectation_record(found: Expectation, point: Point | None, page: Path | None) -> dict[str, Any]:
    first = found.first
    return {
        "benchmark": first.benchmark if first else None,
        "api": first.api if first else None,
        "runs": [_run(run, boxes) for boxes in found.boxes if boxes.kind == "aggregate" for run in boxes.runs],
        "union_area": first.union_area if first else 0.0,
        "hull_area": first.hull_area if first else 0.0,
        "settled_after": first.growth.settled_after if first else None,
        "boxes": [_boxes(boxes) for boxes in found.boxes],
        "point": _point(first, point) if point else None,
        "lagging": [
            {"who": who, "runs": sorted({lag.run for lag in lags}), "phases": sorted({lag.phase for lag in lags}),
             "slowness": max(lag.slowness for lag in lags)}
            for who, lags in found.lagging.items()
        ],
        "tails": found.tails,
        "unreadable": found.results.unreadable,
        "page": str(page) if page else None,
    }  # fmt: skip


def places_record(found: Expectation, placed: Sequence[Placed], page: Path | None) -> dict[str, Any]:
    """What `slicewise storage place --json` prints: the keys of the box, and `jobs`."""
    return {**expectation_record(found, None, page), "jobs": [_placed(one) for one in placed]}


def _placed(placed: Placed) -> dict[str, Any]:
    seconds = (placed.start - placed.measured).total_seconds() if placed.measured else None
    phase, direction = placed.phase, placed.direction
    return {
        **picked(placed, "job", "storage", "api"),
        "box_api": placed.boxes.api,
        **picked(placed.whole, "bandwidth", "metadata", "metadata_per_wall"),
        "is_inside": placed.is_inside,
        **_position(placed.position),
        "work": _work(placed.whole),
        "busiest_phase": (
            {**_work(phase), **_position(placed.phase_position)} if phase and placed.phase_position else None
        ),
        "one_direction": {"of": direction.kind, **_position(direction)} if direction else None,
        **picked(placed, "is_cached", "cache", "opens"),
        "box_age_seconds": seconds,
        **picked(placed, others="company", is_news="is_news"),
        "verdict": verdict(placed),
    }


def _position(position: Position) -> dict[str, Any]:
    told = {"is_point_inside": position.is_inside, "judged_by": list(position.sides)}
    return told | picked(position, "sides", "share_of_easy", held_back_by="held_back")


def _work(work: PlacedWork) -> dict[str, Any]:
    seconds = ("seconds", "data_seconds", "metadata_seconds", "read_bytes", "write_bytes")
    return picked(work, "bandwidth", "metadata", "metadata_per_wall", *seconds, metadata_operations="operations")


def _run(run: RunBox, boxes: Boxes) -> dict[str, Any]:
    return {
        "name": run.run.name,
        "path": str(run.run.directory),
        "api": boxes.api,
        "benchmark": run.run.benchmark,
        "start": run.run.start.isoformat() if run.run.start else None,
        **_corners(run),
        "axes": run.box.anomalies,
        "laggards": run.laggards,
        "invalid_phases": run.run.invalid,
    }


def _corners(run: RunBox) -> dict[str, Any]:
    return {"hard": list(run.box.hard), "easy": list(run.box.easy), "is_anomaly": run.is_anomaly, **or_none(run, "why")}


def _boxes(boxes: Boxes) -> dict[str, Any]:
    around = hull(boxes.union)
    return {
        **picked(boxes, "api", "benchmark", of="kind"),
        "hard": list(around.hard) if around else None,
        "easy": list(around.easy) if around else None,
        **picked(boxes, "union_area", "hull_area"),
        **picked(boxes.growth, "areas", "settled_after"),
        "runs": [{"name": run.run.name, **_corners(run)} for run in boxes.runs],
    }


def _point(boxes: Boxes | None, point: Point) -> dict[str, Any]:
    around = hull(boxes.union) if boxes else None
    within = boxes.within(point) if boxes else []
    where = {"is_inside": bool(within), "is_in_hull": bool(around and around.holds(point))}
    return {"bandwidth": point[0], "metadata": point[1], **where, "runs": within}


POINTS = pl.Schema(
    {"name": pl.String, "bandwidth": pl.Float64, "metadata": pl.Float64, "axis": pl.String, "said": pl.String}
)
Drawn = tuple[str, float, float, str, str]


def expectation_page(found: Expectation, points: Sequence[Drawn] = ()) -> Page:
    """The page of `expect box`. points: what else is drawn (POINTS)."""
    first = found.first
    return Page(
        title="What this file system gives",
        kicker=f"Slicewise expect, {first.benchmark if first else 'no run'}",
        sentences=opening(found),
        facts=facts(found),
        sections=[*boxes_sections(found, points), *further_sections(found)],
        unseen=[*invalid(found), *too_short(found), *notes(found)] if first else [],
    )


def places_page(found: Expectation, placed: Sequence[Placed], unseen: Sequence[str]) -> Page:
    """The page of `expect place`. unseen: lines on what the profiles could not see."""
    names = words.listing([one.job for one in placed])
    # Of a job that one axis alone can judge that axis is drawn.
    drawn = [
        (one.job, *one.whole.point, axes[0] if len(axes) == 1 else "", verdict(one))
        for one in placed
        if (axes := one.whole.judged)
    ]
    first = placed[0]
    share = first.position.share_of_easy
    jobs = Section(
        heading="Where the jobs lie",
        text=[line for one in placed for line in lines(one)],
        tables=[places_table(placed)],
        note="A line across the boxes is a job that only one axis can judge.",
    )
    boxes = boxes_sections(found, drawn, first.boxes)
    at = next((number for number, other in enumerate(found.boxes) if other is first.boxes), 0)
    sections = [boxes[at], jobs, *boxes[:at], *boxes[at + 1 :]]
    return Page(
        title=f"What {names} got of what to expect",
        kicker=f"Slicewise expect, {first.boxes.benchmark}",
        sentences=[verdict(one) for one in placed],
        facts=[
            *([Fact("of easy I/O", words.percent(share, 2))] if share is not None else []),
            Fact("bandwidth", f"{words.number(first.whole.bandwidth)} GiB/s"),
            Fact("metadata", f"{words.number(first.whole.metadata)} kIOPS", note="over metadata time"),
            *facts(found)[1:3],
        ],
        sections=[*sections, *further_sections(found)],
        unseen=[*invalid(found), *too_short(found), *PLACE_NOTES, *notes(found), *unseen],
    )


def facts(found: Expectation) -> list[Fact]:
    first = found.first
    if first is None:
        return [Fact("runs", "0")]
    easy = first.easy
    return [
        Fact("runs", f"{len(found.results.runs):,}", note=f"{len(first.runs)} of {api(first)}"),
        *([Fact("easy I/O gets (median)", f"{words.number(easy[0])} GiB/s"),
           Fact("easy metadata gets (median)", f"{words.number(easy[1])} kIOPS")] if easy else []),
        Fact("anomalies", f"{len(first.runs) - len(first.good):,}"),
        Fact("not read", f"{len(found.results.unreadable):,}"),
    ]  # fmt: skip


def boxes_sections(found: Expectation, points: Sequence[Drawn], of: Boxes | None = None) -> list[Section]:
    """The boxes of each API and kind. of: those that the points are drawn in; else the first."""
    return [
        Section(
            heading=title(boxes),
            chart=charts.boxes(
                _run_frame(boxes),
                strips(boxes.union),
                pl.DataFrame(list(points) if boxes is (of or found.first) else [], schema=POINTS, orient="row"),
            ),
            tables=[boxes_table(found)] if boxes is found.first else [],
            note=f"{words.count(len(boxes.runs), 'run')}, {len(boxes.runs) - len(boxes.good)} of them anomalies; "
            f"the union covers {words.number(boxes.union_area)}, the rectangle around it "
            f"{words.number(boxes.hull_area)} GiB/s x kIOPS.",
        )
        for boxes in found.boxes
    ]


def further_sections(found: Expectation) -> Iterator[Section]:
    first = found.first
    if wrong := [*anomalies(found), *lagging(found)]:
        yield Section(heading="Anomalies and laggards", text=wrong)
    if first is not None and len(first.good) > 1:
        yield Section(
            heading="Are there enough runs?",
            chart=charts.growth(first.growth.areas, first.growth.settled_after),
            text=[union_growth(first)],
        )
    if found.tails:
        tails = pl.DataFrame(found.tails)
        yield Section(
            heading="How long each IO500 phase took",
            chart=charts.tails(
                tails.select("phase", run="runs", seconds="seconds").explode("run", "seconds"),
                tails.select("phase", "median", "p95", "p99"),
            ),
            tables=[tails_table(found)],
            note="With few runs the 99 % point is next to the worst run.",
        )
    if found.results.runs:
        yield Section(heading="Every run", tables=[runs_table(found)])
    if found.results.unreadable:
        yield Section(heading="What could not be read", text=not_read(found))


def _run_frame(boxes: Boxes) -> pl.DataFrame:
    schema = {
        "name": pl.String, "hard_bandwidth": pl.Float64, "hard_metadata": pl.Float64, "easy_bandwidth": pl.Float64,
        "easy_metadata": pl.Float64, "is_anomaly": pl.Boolean,
    }  # fmt: skip
    rows = [(run.run.name, *run.box.hard, *run.box.easy, run.is_anomaly) for run in boxes.runs]
    return pl.DataFrame(rows, schema=schema, orient="row")
