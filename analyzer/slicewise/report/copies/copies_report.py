"""How many copies of a job may run side by side: sentences, a table, JSON and a page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from slicewise.analysis.capacity.by_kind import Capacities
from slicewise.analysis.copies.copies import Copies, Demand, Row
from slicewise.charts import runtimes as charts
from slicewise.constants import HARDLY_MEET, LEAST_OF_JOB, NEARLY_TURNS
from slicewise.report import columns
from slicewise.report.page import Fact, Page, Section, Step
from slicewise.report.records import mib_s, picked, rate_record
from slicewise.report.tables import Table
from slicewise.text import words

MOST_ELSEWHERE = 0.2
# A longer table shows its last rows.
MOST_ROWS = 12


def opening(found: Copies) -> list[str]:
    return [f"{headline(found)} Confidence: {found.confidence}.", evidence(found), *next_step(found)]


def headline(found: Copies) -> str:
    """Such as: 4 copies of sim may run side by side before each loses more than 10 %: they lose 7.1 % [5-9]. ..."""
    what, beside = found.demand.job.job, _beside(found)
    most = f"{found.most_loss * 100:.3g} %"
    if found.most == 0:
        first = found.rows[0]
        return f"Not even one {what} may run{beside} before it loses more than {most}: it loses {_loss(first)}."
    least = "At least " if found.capacity.is_floor or not found.is_bounded else ""
    if found.most == 1:
        start = f"{least or 'Only '}one {what} may run{beside} at a time before each loses more than {most}"
    else:
        start = f"{least}{found.most} copies of {what} may run side by side{beside} before each loses more than {most}"
    here, beyond = found.row(found.most), found.row(found.most + 1)
    told = [f"{here.copies} lose {_loss(here)}"] if here is not None and here.copies > 1 else []
    told += [f"{beyond.copies} would lose {_loss(beyond)}"] if beyond is not None else []
    between = ""
    if found.fewest_sure != found.most_possible and found.is_bounded and not found.capacity.is_floor:
        between = f" (between {found.fewest_sure} and {found.most_possible})"
    return f"{start}{between}: {', '.join(told)}." if told else f"{start}{between}."


def _beside(found: Copies) -> str:
    return f" beside {words.listing(other.job.job for other in found.others)}" if found.others else ""


def _loss(row: Row) -> str:
    return f"{words.percent(row.loss.value)} {words.interval_of_percents(row.loss)}".rstrip()


def evidence(found: Copies) -> str:
    demand, place = found.demand, found.storage.point
    rate = demand.rate
    return (
        f"{demand.job.job} spends {words.percent(demand.duty)} of its runtime in I/O on {place} and moves "
        f"{words.rate(rate.value)}{_mib(rate.low, rate.high)} then; {place} {_served(found)}."
    )


def _served(found: Copies) -> str:
    capacity, most = found.capacity, found.capacity.rate
    serves = "serves at least" if capacity.is_floor else "serves"
    if capacity.region is None:
        return f"{serves} {words.rate(most.value)}{_mib(most.low, most.high)}, {most.how}"
    region = capacity.region
    each = [f"{words.rate(region.most[way])} of {way}s" for way in ("read", "write") if way in region.most]
    if "meta" in region.most:
        each.append(f"{words.number(region.most['meta'])} metadata calls a second")
    return (
        f"{serves} {' or '.join(each)}, and of what {found.demand.job.job} does {words.rate(most.value)}"
        f"{_mib(most.low, most.high)} in all"
    )


def meeting(region: Capacities) -> str:
    if region.exponent is None:
        return (
            "Reads, writes and metadata calls are taken to take turns on it, since no slices show whether they do: "
            "profile a job that reads beside one that writes."
        )
    basis = f"(exponent {words.number(region.exponent)}, from {words.count(region.mixed, 'slice')})"
    if region.exponent < NEARLY_TURNS:
        return f"Reads, writes and metadata calls take turns on it {basis}."
    if region.exponent >= HARDLY_MEET:
        return f"Reads, writes and metadata calls hardly slow each other down on it {basis}."
    return f"Reads, writes and metadata calls slow each other down in part on it {basis}."


def _mib(low: float, high: float) -> str:
    return "" if low == high else f" {words.interval(low / words.MIB, high / words.MIB)}"


def next_step(found: Copies) -> list[str]:
    if not found.capacity.is_floor:
        return []
    return [
        f"{found.storage.point} was never seen full, so more copies may fit. Next, run {found.most + 1} side by side "
        "once, and give all of them with --seen."
    ]


def notes(found: Copies) -> list[str]:
    demand = found.demand
    said = [
        "A loss is how much longer a copy runs, on average, if copies do not wait for each other: each computes as "
        "long as this run did, and begins its I/O at any time. In step: the loss if all copies begin their I/O at once "
        "and do it in one go.",
    ]
    if found.company:
        said.append(
            f"{demand.job.job} ran beside {words.listing(found.company[:3])}: alone it may be faster, and copies of it "
            "may then lose more than is said here. Give a run of it that was alone."
        )
    if found.is_outdone:
        said.append(
            f"Alone {demand.job.job} moved more a second than jobs did together there: perhaps memory had a part of "
            f"it, or those jobs waited for more than bytes. So {found.storage.point} is taken to serve what it served "
            f"{demand.job.job} alone. Run two of it side by side once, and give both with --seen."
        )
    least_read = min(demand.read_share, 1 - demand.read_share)
    if found.capacity.region is not None:
        said.append(meeting(found.capacity.region))
    elif least_read >= LEAST_OF_JOB:
        because = f", because {found.one_because}" if found.one_because else ""
        said.append(
            f"{words.percent(demand.read_share)} of its bytes are reads: reads and writes are taken to share one "
            f"capacity, and to cost the same{because}."
        )
    if found.capacity.source == "given":
        said.append(
            f"What {found.storage.point} serves is what --capacity says, an assumption: no profile was asked. "
            "With --seen it is measured."
        )
    if demand.elsewhere_seconds >= MOST_ELSEWHERE * demand.io_seconds:
        said.append(
            f"{words.duration(demand.elsewhere_seconds)} of its I/O were metadata calls or on other file systems: what "
            "copies lose there is not in these figures."
        )
    if found.others:
        said.append(
            "Assumed: jobs share the storage by their processes (intervals also hold if they share it by nodes), and "
            "the other jobs run again and again."
        )
    return said


def copies_table(found: Copies, most_rows: int | None = None) -> Table:
    """A row a number of copies, up to what is allowed and a bit beyond."""
    rows = found.rows[-most_rows:] if most_rows else found.rows
    return columns.table(
        rows,
        columns.count("copies", lambda row: row.copies),
        columns.percent("each loses", lambda row: row.loss.value),
        columns.text("interval", lambda row: words.interval_of_percents(row.loss), "%"),
        columns.percent("in step", lambda row: row.in_step),
        columns.rate("each gets", lambda row: row.rate),
        columns.text("", lambda row: "the most" if row.copies == found.most else ""),
    )


def copies_record(found: Copies, page: Path | None) -> dict[str, Any]:
    each = found.row(found.most)
    return {
        **_demand(found.demand),
        "beside": [_demand(other) for other in found.others],
        "storage": found.storage,
        "capacity": {
            **rate_record(found.capacity.rate),
            **picked(found.capacity, "source", "is_floor"),
            "runs": list(found.capacity.runs),
            "region": found.capacity.region and _region(found.capacity.region),
        },
        **picked(found, "most_loss", copies="most", copies_low="fewest_sure"),
        "copies_high": found.most_possible if found.is_bounded and not found.capacity.is_floor else None,
        "confidence": found.confidence,
        "rows": [
            picked(row, "copies", "loss", in_step_loss="in_step") | {"mib_s": mib_s(row.rate)} for row in found.rows
        ],
        "copy_mib_s": each and mib_s(each.rate),
        "notes": notes(found),
        "page": str(page) if page else None,
    }


def _demand(demand: Demand) -> dict[str, Any]:
    of = picked(demand, "runtime_seconds", "io_seconds", io_share="duty", bytes="volume")
    return picked(demand.job, "job", "program", "processes", "nodes") | of | {"demand": rate_record(demand.rate)}


def _region(region: Capacities) -> dict[str, Any]:
    return {
        "read_mib_s": mib_s(region.most["read"]),
        "write_mib_s": mib_s(region.most["write"]),
        "metadata_calls_s": region.most.get("meta"),
        **picked(region, "exponent", slices="mixed"),
        "never_full_of": sorted(region.unfilled),
    }


def copies_page(found: Copies, unseen: Sequence[str]) -> Page:
    frame = pl.DataFrame(
        [(row.copies, row.loss.value, row.loss.low, row.loss.high, row.in_step) for row in found.rows],
        schema=["copies", "loss", "low", "high", "in_step"],
        orient="row",
    )
    demand = found.demand
    return Page(
        title=f"Copies of {demand.job.job} side by side",
        kicker=f"Slicewise copies of {demand.job.job}, {words.date_and_zone(demand.job.start_ns)}",
        sentences=opening(found),
        facts=[
            Fact("copies that may run", f"{found.most:,}"),
            Fact("share of runtime in I/O", words.percent(demand.duty)),
            Fact("demand in I/O", words.rate(demand.rate.value)),
            Fact("the storage serves", words.rate(found.capacity.rate.value)),
            Fact("each may lose", f"{found.most_loss * 100:.3g} %"),
            Fact("confidence", found.confidence),
        ],
        sections=[
            Section(
                heading="What each copy loses",
                chart=charts.loss_over_copies(frame, found.most_loss),
                tables=[copies_table(found)],
                note=notes(found)[0],
            ),
        ],
        steps=[
            Step("Check it: run two at once, then see what they cost each other:", "slicewise overlap FIRST SECOND")
        ],
        unseen=[*notes(found)[1:], *unseen],
    )
