"""Where a job lies in the box of what to expect, in sentences that a scientist understands. Plain text, no markup."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slicewise.analysis.expect.box import Axis, Point, hull
from slicewise.analysis.expect.cached import cached_share
from slicewise.analysis.expect.expectation import Boxes, Expectation, RunBox
from slicewise.analysis.expect.place import Placed, PlacedWork, Position
from slicewise.constants import LITTLE_BYTES
from slicewise.report.blame import blame_words
from slicewise.report.expect import expect_words
from slicewise.report.records import or_none, picked
from slicewise.text import words

MILLION = 1_000_000
# Below this share of the metadata operations, opens are not what a job's metadata is.
MOST_ARE_OPENS = 0.3
# A box that was measured longer ago than this may no longer hold.
OLD_DAYS = 90
DAY_SECONDS = 86_400
FEW_THOUSANDS = 0.01


def lines(placed: Placed) -> list[str]:
    found = [point(placed.job, placed.whole, "whole job", placed.whole.judged)]
    if placed.phase is not None and placed.phase.seconds < placed.whole.seconds:
        found.append(f"{point(placed.job, placed.phase, 'busiest phase', placed.phase.judged)} {_phase_clause(placed)}")
    found += cache(placed)
    found += one_direction(placed)
    found.append(measured(placed))
    found += company(placed)
    return [*found, verdict(placed)]


def _operations(thousands: float | None) -> str:
    """A rate of operations; few of them are not told in thousands."""
    if thousands is not None and abs(thousands) < FEW_THOUSANDS:
        return f"{words.number(1000 * thousands)} IOPS"
    return f"{words.number(thousands)} kIOPS"


def point(job: str, work: PlacedWork, what: str, judged: list[Axis]) -> str:
    said = f"{job}, {what}: {words.number(work.bandwidth)} GiB/s" if work.bytes else f"{job}, {what}: no bytes"
    rate = (
        f"{_operations(work.metadata)} over its metadata time, {_operations(work.metadata_per_wall)} over the "
        f"wall time of {words.duration(work.seconds)}"
    )
    said += f"; {rate}." if work.operations else "; no metadata operations."
    if judged == ["bandwidth"]:
        said += " Metadata took too little time to judge it by."
    elif judged == ["metadata"]:
        said += " Data took too little time to judge it by."
    return said


def _phase_clause(placed: Placed) -> str:
    position = placed.phase_position
    if position is None or position.share_of_easy is None:
        return ""
    return f"That phase is {_where(position)}, at {words.percent(position.share_of_easy, 2)} of easy I/O."


def cache(placed: Placed) -> list[str]:
    found = []
    for one in placed.cache:
        if one.bytes < LITTLE_BYTES:
            continue
        did, way = ("wrote", "reached") if one.direction == "write" else ("read", "came from")
        if one.reached is not None and one.share is not None:
            part = f"{words.percent(one.share, 2)} of the {words.size(one.bytes)} that it {did} {way} the storage"
            found.append(f"{part} while it ran ({one.how}).")
        elif one.is_cached is False:
            found.append(f"The {words.size(one.bytes)} that it {did} are no mere page cache: {one.how}.")
        else:
            found.append(f"Unknown whether the {words.size(one.bytes)} that it {did} {way} the storage: {one.how}.")
    return found


def one_direction(placed: Placed) -> list[str]:
    position = placed.direction
    if position is None or position.share_of_easy is None or "bandwidth" not in position.sides:
        return []
    return [
        f"Against {expect_words.KIND_NAMES[position.kind]} it is {_where(position)}, at "
        f"{words.percent(position.share_of_easy, 2)} of easy I/O."
    ]


def measured(placed: Placed) -> str:
    boxes = placed.boxes
    of = f"The box is from {words.count(len(boxes.good), 'run')} of {boxes.benchmark}, {expect_words.api(boxes)}"
    if placed.measured is None:
        return f"{of}. When that was is not said.{_sizes(placed)}"
    seconds = (placed.start - placed.measured).total_seconds()
    when = f"{words.duration(abs(seconds)) if abs(seconds) < DAY_SECONDS else _days(abs(seconds))}"
    old = " Measure it anew." if abs(seconds) > OLD_DAYS * DAY_SECONDS else ""
    return f"{of}, the newest {when} {'before' if seconds >= 0 else 'after'} the job.{old}{_sizes(placed)}"


def _sizes(placed: Placed) -> str:
    """Where benchmark and job were of other sizes: fewer processes may reach less."""
    most = max((run.run.processes or 0 for run in placed.boxes.good), default=0)
    if not most or most == placed.processes:
        return ""
    return (
        f" It ran with {words.count(most, 'process')}, the job with {placed.processes:,}: more of them may reach more."
    )


def _days(seconds: float) -> str:
    return words.count(round(seconds / DAY_SECONDS), "day")


def company(placed: Placed) -> list[str]:
    if not placed.company:
        return ["Nobody else was active on its storage, as far as the profiles beside it tell."]
    there = words.listing(placed.company[:4])
    return [f"Also active on its storage: {there}. {blame_words.headline(placed.blame)}"]


def verdict(placed: Placed) -> str:
    """The last sentence: in the box or not, at what share of easy I/O, and what holds the job back."""
    if placed.is_apart:
        return (
            f"{placed.job} cannot be judged by the box: it worked in the page cache, and "
            f"{words.percent(cached_share(placed.cache), 2)} of its bytes did not reach the storage while it ran."
        )
    share = placed.position.share_of_easy
    at = (
        f", at {words.percent(share, 2)} of what this file system gives to well-formed I/O" if share is not None else ""
    )
    said = f"{placed.job} is {_where(placed.position)}{at}{held_back(placed)}."
    if placed.is_news:
        said += (
            " Tell your operators: it got less than the hardest benchmark got, and nobody else was active. They should "
            "measure the box again, and look for a sick node or server."
        )
    elif placed.is_below and placed.company:
        said += " Others were active, which may be why."
    elif placed.is_cached is None and "above" in placed.position.sides.values():
        said += " Most likely its bytes stayed in the page cache."
    return said


def _where(position: Position) -> str:
    """Such as "in the box", "outside of the box (bandwidth below any hard phase)"."""
    if position.is_inside:
        return "in the box"
    if not position.sides:
        return "nowhere: it spent no time in I/O calls"
    sides = [
        f"{axis} {'below any hard phase' if side == 'below' else 'above any easy phase'}"
        for axis, side in position.sides.items()
        if side != "within"
    ]
    why = words.listing(sides) if sides else "between the runs' boxes, in no run's own"
    return f"outside of the box ({why})"


def held_back(placed: Placed) -> str:
    """Such as: "; metadata is what holds it back: 4 KiB writes, 1.2 million opens"."""
    axis = placed.position.held_back
    if axis is None:
        return ""
    calls = [
        f"{words.size(round(moved / count))} {name}"
        for moved, count, name in (
            (placed.whole.write_bytes, placed.write_ops, "writes"),
            (placed.whole.read_bytes, placed.read_ops, "reads"),
        )
        if count and moved >= LITTLE_BYTES
    ]
    operations = round(placed.whole.operations)
    if placed.opens >= MOST_ARE_OPENS * operations:
        calls += [f"{_many(placed.opens)} {'open' if placed.opens == 1 else 'opens'}"] if placed.opens else []
    elif axis == "metadata":
        calls += [f"{_many(operations)} metadata operations"]
    return f"; {axis} is what holds it back: {', '.join(calls)}" if calls else f"; {axis} is what holds it back"


def _many(count: int) -> str:
    return f"{words.number(count / MILLION, 2)} million" if count >= MILLION else f"{count:,}"


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
        "percentiles": [
            {"of": place.name, "value": place.value, "percentile": place.below * 100, "results": place.of}
            for place in found.places
        ],
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
