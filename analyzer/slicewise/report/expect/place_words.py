"""Where a job lies in what an IO500 run lets one expect, in sentences and as a table."""

from collections.abc import Sequence

from slicewise.analysis.expect.expectation import Axis, Boxes, cached_share
from slicewise.analysis.expect.place import Placed, PlacedWork, Position
from slicewise.constants import LITTLE_BYTES
from slicewise.io500.results import UNKNOWN_API
from slicewise.report import columns
from slicewise.report.blame import blame_words
from slicewise.report.tables import Table
from slicewise.text import words

KIND_NAMES = {"aggregate": "reads and writes", "write": "writes only", "read": "reads only"}
GIB_S, KIOPS = "GiB/s", "kIOPS"
LEAST_FIGURE = 0.001  # lower ones are told as lower


def api(boxes: Boxes) -> str:
    """The API of boxes; where no file says it, that."""
    return "API not said" if boxes.api == UNKNOWN_API else boxes.api


def places_table(placed: Sequence[Placed]) -> Table:
    """A row a job, and one for its busiest phase: its point and where that lies."""

    def said(value: float) -> str:
        return f"under {LEAST_FIGURE}" if 0 < value < LEAST_FIGURE else words.number(value)

    rows: list[tuple[str, str, PlacedWork, float | None, bool]] = []
    for one in placed:
        rows.append((one.job, "whole job", one.whole, one.position.share_of_easy, one.is_inside))
        if one.phase is not None and one.phase_position is not None:
            is_inside, share = one.phase_position.is_inside and not one.is_apart, one.phase_position.share_of_easy
            rows.append((one.job, "busiest phase", one.phase, share, is_inside))
    return columns.table(
        rows,
        columns.text("job", lambda row: row[0]),
        columns.text("of", lambda row: row[1]),
        columns.said("bandwidth", lambda row: row[2].bandwidth, said, GIB_S),
        columns.said("metadata", lambda row: row[2].metadata, said, KIOPS),
        columns.said("metadata over wall time", lambda row: row[2].metadata_per_wall, said, KIOPS),
        columns.duration("data time", lambda row: row[2].data_seconds),
        columns.duration("metadata time", lambda row: row[2].metadata_seconds),
        columns.text("in the box", lambda row: "yes" if row[4] else "no"),
        columns.percent("of easy I/O", lambda row: row[3], digits=2),
    )


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
    position = placed.direction
    if position is not None and position.share_of_easy is not None and "bandwidth" in position.sides:
        found.append(f"Against {KIND_NAMES[position.kind]} it is {_at(position)}")
    found.append(measured(placed))
    if placed.company:
        there = words.listing(placed.company[:4])
        found.append(f"Also active on its storage: {there}. {blame_words.headline(placed.blame)}")
    else:
        found.append("Nobody else was active on its storage, as far as the profiles beside it tell.")
    return [*found, verdict(placed)]


def _operations(thousands: float | None) -> str:
    if thousands is not None and abs(thousands) < FEW_THOUSANDS:
        return f"{words.number(1000 * thousands)} IOPS"
    return f"{words.number(thousands)} kIOPS"


def point(job: str, work: PlacedWork, what: str, judged: list[Axis]) -> str:
    said = f"{job}, {what}: {f'{words.number(work.bandwidth)} GiB/s' if work.bytes else 'no bytes'}; "
    rate = (
        f"{_operations(work.metadata)} over its metadata time, {_operations(work.metadata_per_wall)} over the "
        f"wall time of {words.duration(work.seconds)}."
    )
    said += rate if work.operations else "no metadata operations."
    if judged == ["bandwidth"]:
        said += " Metadata took too little time to judge it by."
    elif judged == ["metadata"]:
        said += " Data took too little time to judge it by."
    return said


def _phase_clause(placed: Placed) -> str:
    position = placed.phase_position
    if position is None or position.share_of_easy is None:
        return ""
    return f"That phase is {_at(position)}"


def _at(position: Position) -> str:
    return f"{_where(position)}, at {words.percent(position.share_of_easy, 2)} of easy I/O."


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


def measured(placed: Placed) -> str:
    boxes = placed.boxes
    of = f"The box is from {words.count(len(boxes.good), 'run')} of {boxes.benchmark}, {api(boxes)}"
    if placed.measured is None:
        return f"{of}. When that was is not said.{_sizes(placed)}"
    seconds = (placed.start - placed.measured).total_seconds()
    days = abs(seconds) / DAY_SECONDS
    when = words.duration(abs(seconds)) if days < 1 else words.count(round(days), "day")
    old = " Measure it anew." if days > OLD_DAYS else ""
    return f"{of}, the newest {when} {'before' if seconds >= 0 else 'after'} the job.{old}{_sizes(placed)}"


def _sizes(placed: Placed) -> str:
    """Where benchmark and job were of other sizes: fewer processes may reach less."""
    most = max((run.run.processes or 0 for run in placed.boxes.good), default=0)
    if not most or most == placed.processes:
        return ""
    return (
        f" It ran with {words.count(most, 'process')}, the job with {placed.processes:,}: more of them may reach more."
    )


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
