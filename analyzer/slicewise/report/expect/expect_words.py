"""What runs of IO500 promise, in sentences that a scientist understands. Plain text, no markup."""

from collections.abc import Callable, Sequence

from slicewise.analysis.expect.box import LATER_RUNS, LEAST_GROWTH, Axis, Box, Point, hull
from slicewise.analysis.expect.expectation import Boxes, Expectation, Placement
from slicewise.analysis.expect.place import Placed, PlacedWork, Position
from slicewise.io500.ranks import Laggards
from slicewise.io500.results import IO500, UNKNOWN_API
from slicewise.io500.texts import PHASES
from slicewise.report import columns
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words

MOST_LINES = 6
FEWEST_ANOMALIES = 2
KIND_NAMES = {"aggregate": "reads and writes", "write": "writes only", "read": "reads only"}


# A phase that is over sooner did not have to wait for the storage. The shortest that a campaign of our own aims at.
SHORT_PHASE = 0.5
GIB_S, KIOPS = "GiB/s", "kIOPS"
LEAST_RATE = 0.001  # lower ones are told as lower


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


def api(boxes: Boxes) -> str:
    """The API of boxes; where no file says it, that."""
    return "API not said" if boxes.api == UNKNOWN_API else boxes.api


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
                lines.append(
                    f"Anomaly, left out of the union: {run.run.name}{of}: {run.why}.{_lag_clause(run.laggards)}"
                )
    return lines


def _lag_clause(lags: Sequence[Laggards]) -> str:
    return "".join(f" {lag_line(lag, is_run_named=False)}" for lag in lags)


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
    """Such as "rank 3", "ranks 8-11", "ranks 1, 5 and 9"."""
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


def percentiles(found: Expectation) -> list[str]:
    if not found.places:
        return []
    said = [f"{place.name} {_amount(place)}: above {words.percent(place.below, 2)}" for place in found.places]
    return [f"Among {found.against:,} public results: {', '.join(said)} of them."]


def _amount(place: Placement) -> str:
    return f"{words.number(place.value)} {'GiB/s' if place.axis == 'bandwidth' else 'kIOPS'}"


def point_line(found: Expectation, point: Point) -> str:
    boxes = found.first
    around = hull(boxes.union) if boxes else None
    if boxes is None or around is None:
        return f"The point {rates(point)} cannot be placed: there is no box."
    within = boxes.within(point)
    if within:
        names = words.listing(within[:3]) if len(within) <= 3 else f"{', '.join(within[:2])} and {len(within) - 2} more"
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
