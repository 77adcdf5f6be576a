"""How many copies of a job may run side by side, in sentences that a scientist understands. Plain text, no markup."""

from __future__ import annotations

from slicewise.analysis.capacity.by_kind import Capacities
from slicewise.analysis.copies.copies import WORTH_A_WORD, Copies, Row
from slicewise.text import words

# Exponents of a capacity region below which kinds of call take turns, and from which on they hardly meet.
TAKE_TURNS, APART = 1.25, 8.0
MOST_ELSEWHERE = 0.2


def opening(found: Copies) -> list[str]:
    """The sentences that open a page and end a terminal's wait."""
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
    """What the job asks for, and what the storage serves."""
    demand, place = found.demand, found.storage.point
    rate = demand.rate
    return (
        f"{demand.job.job} spends {words.percent(demand.duty)} of its runtime in I/O on {place} and moves "
        f"{words.rate(rate.value)}{_mib(rate.low, rate.high)} then; {place} {_served(found)}."
    )


def _served(found: Copies) -> str:
    """Such as: serves 100 MiB/s [98-102], what jobs side by side wrote ..."""
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
    """How reads, writes and metadata calls meet on a storage."""
    if region.exponent is None:
        return (
            "Reads, writes and metadata calls are taken to take turns on it, since no slices show whether they do: "
            "profile a job that reads beside one that writes."
        )
    basis = f"(exponent {words.number(region.exponent)}, from {words.count(region.mixed, 'slice')})"
    if region.exponent < TAKE_TURNS:
        return f"Reads, writes and metadata calls take turns on it {basis}."
    if region.exponent >= APART:
        return f"Reads, writes and metadata calls hardly slow each other down on it {basis}."
    return f"Reads, writes and metadata calls slow each other down in part on it {basis}."


def _mib(low: float, high: float) -> str:
    return "" if low == high else f" {words.interval(low / words.MIB, high / words.MIB)}"


def next_step(found: Copies) -> list[str]:
    """What would tell more."""
    if not found.capacity.is_floor:
        return []
    return [
        f"{found.storage.point} was never seen full, so more copies may fit. Next, run {found.most + 1} side by side "
        "once, and give all of them with --seen."
    ]


def notes(found: Copies) -> list[str]:
    """What the figures take for granted, a sentence each."""
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
    least_read = min(demand.read_share, 1 - demand.read_share)
    if found.capacity.region is not None:
        said.append(meeting(found.capacity.region))
    elif least_read >= WORTH_A_WORD:
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
