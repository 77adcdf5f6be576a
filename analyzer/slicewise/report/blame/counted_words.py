"""A job that servers alone know, in words, as a table and as JSON."""

from dataclasses import asdict, replace
from typing import Any

from slicewise.analysis.blame.counted import CountedJob
from slicewise.report import columns
from slicewise.report.tables import Cell, Table
from slicewise.text import words

MOST_TARGETS = 4
MOST_ROWS = 8


def who(job: str, is_client: bool) -> str:
    """A name as servers know it: a job's id, a client's address, or a user's program (program.uid)."""
    program, _, user = job.rpartition(".")
    if is_client:
        return f"client {job}"
    return f"{program} of user {user}" if program and user.isdecimal() and not program.isdecimal() else job


def sentences(found: CountedJob) -> list[str]:
    name = who(found.job, found.is_client)
    did = words.wrote_and_read(found.write_bytes, found.read_bytes)
    requests = f" and made {found.meta_ops:,} metadata requests" if found.meta_ops else ""
    when = words.span(found.begin_ns, found.end_ns)
    told = [
        f"{name} has no profile. The file system's servers counted it: it {did}{requests}, {when}, on "
        f"{words.some(found.targets, MOST_TARGETS)}."
    ]
    told.append(_answer(found))
    if found.hot is not None:
        told.append(f"{found.hot[0]} was hot: it served {words.percent(found.hot[1])} of all bytes then.")
    told += [f"{note}." for note in found.rates.notes]
    told.append("Servers count no time: what it spent in calls, and whether it waited or computed, is not known.")
    return told


def _answer(found: CountedJob) -> str:
    rates = found.rates
    sure = f"Confidence: {rates.confidence}"
    if not found.neighbours:
        return f"Nobody else used these targets meanwhile.   {sure if rates.alone else 'Confidence: unknown'}"
    beside = f"Beside others it got {words.rate(rates.beside)}" if rates.beside is not None else "It had company"
    if rates.lost is None:
        why = rates.unknown_because or "its rate alone is not known"
        return f"{beside}. How fast it is alone is not known: {why}.   Confidence: unknown"
    rate = words.rate(rates.alone.value) if rates.alone is not None else ""
    alone = f", and {rate} with its targets to itself" if rate else ""
    if rates.lost.high <= 0 or rates.lost.value <= 0:
        return f"{beside}{alone}: no slower beside others.   {sure}"
    return (
        f"{beside}{alone}: as fast as that, it would have needed {words.estimate_of_seconds(rates.lost)} less for the "
        f"same.   {sure}"
    )


def anonymous(found: CountedJob) -> CountedJob:
    hidden = [
        replace(one, job=f"neighbour {number}", is_client=False) for number, one in enumerate(found.neighbours, 1)
    ]
    return replace(found, neighbours=hidden)


def table(found: CountedJob) -> Table:
    return columns.table(
        found.neighbours[:MOST_ROWS],
        columns.text("neighbour", lambda one: who(one.job, one.is_client)),
        columns.figure(
            "seconds lost",
            lambda one: Cell(words.number(one.lost_seconds) if one.lost_seconds is not None else "-", one.lost_seconds),
            "s",
        ),
        columns.text("when", lambda one: words.span(one.begin_ns, one.end_ns)),
        columns.size("it moved", lambda one: one.read_bytes + one.write_bytes),
        columns.figure("requests", lambda one: Cell(f"{one.meta_ops:,}" if one.meta_ops else "", one.meta_ops)),
        columns.text("on the same targets", lambda one: words.some(one.targets, MOST_TARGETS), spare=1),
    )


def record(found: CountedJob) -> dict[str, Any]:
    told = asdict(found)
    told |= told.pop("rates")
    del told["company"]
    for name in ("begin", "end"):
        told[name] = words.iso_time(told.pop(f"{name}_ns"))
    for one in told["neighbours"]:
        for name in ("begin", "end"):
            one[name] = words.iso_time(one.pop(f"{name}_ns"))
    told["slice_seconds"] = told.pop("grid_ns") / 1e9
    told["hot"] = None if found.hot is None else {"target": found.hot[0], "share": found.hot[1]}
    return {"source": "servers", "sentences": sentences(found), **told}
