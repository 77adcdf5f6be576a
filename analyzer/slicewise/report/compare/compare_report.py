"""Why one run took longer than another: sentences that a scientist understands, tables, JSON and a page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from slicewise.analysis.calls import Kind
from slicewise.analysis.compare.compare import Comparison
from slicewise.analysis.compare.difference import PARTS, WORTH_A_WORD, Difference, Part, Unknown
from slicewise.analysis.compare.work import Tasks
from slicewise.analysis.job.sites import sites
from slicewise.charts import runtimes
from slicewise.charts.figure import Figure
from slicewise.charts.flame import estimated_from, flame
from slicewise.digest.digest import Digest
from slicewise.estimate import Estimate
from slicewise.report import columns
from slicewise.report.blame.blame_record import lower_limit_record, outside_record
from slicewise.report.blame.blame_words import estimate as with_interval
from slicewise.report.blame.blame_words import limit_of_group, slept_for_memory
from slicewise.report.blame.outside_words import where_outside
from slicewise.report.columns import Made
from slicewise.report.page import Fact, Page, Section, Step, command
from slicewise.report.records import picked
from slicewise.report.tables import NOTHING, Cell, Column, Table
from slicewise.scalars import whole
from slicewise.text import words

# A part is told in the first sentence from this fraction of the difference.
WORTH_A_PART = 0.1
# Two numbers of one thing further apart than this fraction are a reason.
WORTH_A_REASON = 0.02
PART_NAMES: dict[Part, str] = {
    "bytes": "more or fewer bytes",
    "calls": "more or fewer calls",
    "sizes": "other sizes of calls",
    "metadata": "metadata calls",
}
CALLS: dict[Kind, str] = {"read": "read calls", "write": "write calls", "meta": "metadata calls"}
WAIT_IN_CALLS = "in I/O calls that waited for a processor"
VARYING = {
    "computing": "time outside I/O calls",
    "waiting": "waiting for a turn",
    "own_io": "I/O of their own",
    "lost": "time lost to neighbours",
    "unexplained": "I/O that took another time for the same work",
}
RULES = {
    "ranks": "ranks wait for each other, so the slowest rank of each phase counts",
    "processes": "of processes that follow each other the times add up, of others the longest counts",
}


def opening(comparison: Comparison) -> list[str]:
    """The sentences that open a page and end a terminal's wait: how much longer, why, how sure, and what to do next."""
    told = comparison.told
    sure = "" if told.is_none and not _told_parts(told) else f" Confidence: {_how_sure(told)}."  # both were measured
    sentences = [f"{headline(comparison)}{sure}", *_perhaps_lost(told)]
    if told.has_other_program:
        ran = [f"{work.job.job} ran {work.job.program}" for work in (told.against, told.of)]
        sentences.append(f"They are different programs: {words.listing(ran)}.")
    if comparison.shares:
        sentences.append(variability(comparison))
    return [*sentences, *next_step(comparison)]


def headline(comparison: Comparison) -> str:
    """Such as: today took 1.8 times as long as yesterday: 12.1 s more, 9.8 s of it in I/O that large slowed down."""
    told = comparison.told
    name, other = told.of.job.job, told.against.job.job
    if len(comparison.runs) > 2:
        other = f"the median run, {other}"
        name = f"{name}, the slowest of {len(comparison.runs)} runs,"
    if told.is_none:
        return (
            f"{name} took as long as {other}: {_seconds(told.of.runtime_ns)} and "
            f"{_seconds(told.against.runtime_ns)}.{_though(told)}"
        )
    sign, longer = (1, "more") if told.difference_seconds > 0 else (-1, "less")
    size = abs(told.difference_seconds)
    parts = [(value, _reason(told, part, value)) for part, value in _told_parts(told).items()]
    along = [part for part in parts if part[0] * sign > 0]
    against = [part for part in parts if part[0] * sign < 0]
    start = f"{name} took {words.how_long(told.ratio)} {other}: {words.duration(size)} {longer}"
    if against:
        clauses = [f"{words.duration(abs(value))} {_more(value)} {text}" for value, text in [*along, *against]]
        return f"{start} in all, {words.listing(clauses)}."
    clauses = [f"{words.duration(abs(value))} of it {text}" for value, text in along]
    if len(along) == 1 and abs(along[0][0]) >= (1 + WORTH_A_REASON) * size:  # parts too small to tell make up for it
        clauses = [f"all of it {along[0][1]}"]
    return f"{start}, {words.listing(clauses)}." if clauses else f"{start}."


def _told_parts(told: Difference) -> dict[str, float]:
    """The parts that the first sentence tells, most first: the two largest, and all where they partly cancel out. What
    neighbours may as well not have cost is told with what is unexplained: the same work took another time.
    """
    parts = told.parts()
    if not told.is_surely_lost:
        parts["unexplained"] += parts.pop("lost")
    sign = 1 if told.difference_seconds > 0 else -1
    large = {part: value for part, value in parts.items() if abs(value) >= WORTH_A_PART * _whole(told)}
    if told.is_none:
        return large
    most_first = sorted(large.items(), key=lambda part: -part[1] * sign)
    return dict(most_first if any(value * sign < 0 for value in large.values()) else most_first[:2])


def _how_sure(told: Difference) -> str:
    """How sure the parts are, and how sure blame is of what neighbours cost, where the first sentence says that."""
    loss, sure = told.lost_confidence, told.confidence
    is_told = "lost" in _told_parts(told)
    return sure if not is_told or loss in (sure, "unknown") else f"{loss} in what {_by(told)} cost, {sure} in the rest"


def _whole(told: Difference) -> float:
    return told.longer_seconds if told.is_none else abs(told.difference_seconds)


def _perhaps_lost(told: Difference) -> list[str]:
    lost = told.lost_seconds
    if lost is None or told.is_surely_lost or abs(lost.value) < WORTH_A_PART * _whole(told):
        return []
    loss, run = (told.loss, told.of) if lost.value > 0 else (told.former_loss, told.against)
    who = words.listing(loss.neighbours[:2]) if loss and loss.neighbours else "its neighbours"
    its = lost if lost.value > 0 else lost.through(lambda seconds: -seconds, lost.how)
    return [f"Perhaps {who} cost {run.job.job} {with_interval(its)}, and perhaps nothing."]


def _by(told: Difference) -> str:
    """Who cost the run more than the other one, or, where that lost more, cost that."""
    is_less = told.lost_seconds is not None and told.lost_seconds.value < 0
    loss = told.former_loss if is_less else told.loss
    sure = [name for name in loss.neighbours if name not in loss.unsure] if loss else []
    return words.listing(sure[:2]) or "neighbours"


def _seconds(ns: int) -> str:
    return words.duration(ns / 1e9)


def _more(value: float) -> str:
    return "more" if value > 0 else "less"


def _though(told: Difference) -> str:
    """What cancelled out in two runs that took the same time."""
    large = [
        f"{words.duration(abs(value))} {_more(value)} {_reason(told, part, value)}"
        for part, value in _told_parts(told).items()
    ]
    return f" Within that, it spent {words.listing(large)}." if large else ""


def _reason(told: Difference, part: str, value: float) -> str:
    """Where the time went, as it follows "9.8 s of it"."""
    if part == "computing":
        if told.is_unseen:
            return "in I/O calls or outside of them, for no call of them could be profiled"
        if told.outside is None or value <= 0:
            return "outside of I/O calls"
        in_calls = told.outside.io_seconds
        computed = min(value, told.outside.computed_seconds)
        # Of what calls were shorter by, since the kernel read ahead meanwhile, no runtime is lost.
        waited = max(told.outside.waited_seconds, told.outside.delayed_seconds) - in_calls
        waited = min(waited, value - computed)
        return where_outside(
            replace(
                told.outside,
                seconds=value,
                waited_seconds=waited,
                computed_seconds=computed,
                paced_seconds=min(value - computed, told.outside.paced_seconds),
                io_seconds=0.0,
            )
        )
    if part == "waiting":
        return "waiting for its turn"
    if part == "own_io":
        if told.own_io.seconds.low <= 0 and _is_wait_in_calls(told, value):  # perhaps it was no other work at all
            return WAIT_IN_CALLS
        reason = _own_reason(told)
        return f"in I/O of its own{f' (it {reason})' if reason else ''}"
    if part == "lost":
        return f"in I/O that {_by(told)} slowed down"
    return _unexplained(told, value)


def _unexplained(told: Difference, value: float) -> str:
    took = "less time" if value < 0 else "longer"
    limit = told.lower_limit
    if limit is not None and _is_under_lower_limit(told, value):
        lower = f"{limit_of_group(limit)} was lower ({limit.told(limit.rate)} instead of {limit.told(limit.alone)})"
        return f"in I/O that took {took}, since {lower}"
    other = _other_work(told)
    if other:
        return f"in I/O that took {took} ({other})"
    if _is_wait_in_calls(told, value):
        return WAIT_IN_CALLS
    return f"in I/O that took {took} for the same work"


def _is_under_lower_limit(told: Difference, value: float) -> bool:
    return told.lower_limit is not None and told.lower_limit.seconds > value / 2 > 0


def _is_wait_in_calls(told: Difference, value: float) -> bool:
    return told.outside is not None and told.outside.io_seconds > value / 2 > 0


def _other_work(told: Difference) -> str:
    """What was not the same work, though the first run does not tell what it costs."""
    for work in told.own_io.unknown:
        if work.why == "other sizes":
            now, then = (words.size(round(amounts.size)) for amounts in (work.now, work.then))
            return f"in {CALLS[work.kind]} of {now} instead of {then}" if now != then else ""
        if work.why == "other syncs":
            return f"with {words.count(work.now.syncs, 'sync call')} instead of {work.then.syncs:,}"
    return ""


def _own_reason(told: Difference) -> str:
    """What there was more or less of, such as: wrote 4 GiB instead of 2 GiB."""
    parts = {part: abs(found.value) for part, found in told.own_io.parts.items() if found is not None}
    most = max(parts, key=lambda part: parts[part])
    kinds: dict[Part, tuple[Kind, ...]] = {
        "bytes": ("write", "read"), "calls": ("write", "read"), "sizes": ("write", "read"), "metadata": ("meta",),
    }  # fmt: skip
    column = "bytes" if most == "bytes" else "calls"
    changes = []
    for kind in kinds[most]:
        now, then = told.of.total(kind, column), told.against.total(kind, column)
        if abs(now - then) > WORTH_A_REASON * max(now, then):
            seconds = abs(_io_seconds(told.of, kind) - _io_seconds(told.against, kind))
            changes.append((seconds, _change(kind, column, now, then)))
    if not changes:
        return "moved as many bytes to and from other file systems" if most == "bytes" else ""
    return max(changes)[1]


def _io_seconds(work: Tasks, kind: Kind) -> float:
    return float(work.amounts.filter(kind=kind)["seconds"].sum())


def _change(kind: Kind, column: str, now: int, then: int) -> str:
    if column == "bytes":
        return f"{words.DID[kind]} {words.size(now)} instead of {words.size(then)}"
    return f"made {now:,} {CALLS[kind]} instead of {then:,}"


def variability(comparison: Comparison) -> str:
    """Such as: Runtimes range from 10.1 s to 21.6 s: 76 % of that is what neighbours cost and 20 % I/O of their own."""
    times = sorted(run.runtime_ns for run in comparison.runs)
    start = f"Runtimes range from {_seconds(times[0])} to {_seconds(times[-1])}"
    if times[-1] - times[0] < WORTH_A_WORD * times[-1]:
        return f"{start}, which is next to no variability."
    told = {part: share for part, share in comparison.shares.items() if share >= WORTH_A_PART}
    largest = sorted(told, key=lambda part: -told[part])
    if any(share <= -WORTH_A_PART for share in comparison.shares.values()):
        # Shares of what cancels out say more than 100 %.
        return f"{start}: what varies most is {words.listing(VARYING[part] for part in largest)}."
    if told and max(told.values()) >= 1:
        return f"{start}: all of that is {VARYING[largest[0]]}."
    shares = words.listing(f"{words.percent(told[part], 2)} {VARYING[part]}" for part in largest)
    return f"{start}: of that variability {shares}." if shares else f"{start}."


def next_step(comparison: Comparison) -> list[str]:
    """That memory was short, or a cache warm; or what would tell more, where most is unexplained as the neighbours are
    not known."""
    told = comparison.told
    name, memory = told.of.job.job, told.memory_seconds
    is_told = told.outside is not None and told.outside.memory_seconds > 0
    if memory is not None and memory.value >= WORTH_A_PART * told.longer_seconds and not is_told:
        return [slept_for_memory(name, memory, _seconds(told.of.runtime_ns))]
    if told.from_cache is not None:
        its, former = (words.percent(part, 2) for part in told.from_cache)
        return [
            f"{name} read {its} of its bytes from the page cache, and {told.against.job.job} {former}: "
            "that alone makes such runs differ."
        ]
    unexplained = told.unexplained_seconds.value
    if told.lost_seconds is not None or unexplained < WORTH_A_PART * max(abs(told.difference_seconds), 1e-9):
        return []
    is_known = _is_wait_in_calls(told, unexplained) or _is_under_lower_limit(told, unexplained)
    if is_known or unexplained < WORTH_A_WORD * told.longer_seconds:
        return []
    who = "neighbours or these calls" if _other_work(told) else "neighbours"
    return [
        f"Whether {who} slowed {name} down is unknown. Next, with the profile of a job that ran beside it: "
        f"slicewise compare {told.against.job.job} {name} --neighbour OTHER"
    ]


def notes(comparison: Comparison) -> list[str]:
    found: list[str] = []
    for told in comparison.differences:
        found.extend(_compared(told))
        found.extend(_unknown(told, work, comparison.places) for work in told.own_io.unknown)
    if any(run.is_running for run in comparison.runs):
        running = words.listing(run.job.job for run in comparison.runs if run.is_running)
        found.append(f"Still running: {running}. Its figures are those until it was last seen.")
    return list(dict.fromkeys(found))


def _compared(told: Difference) -> list[str]:
    now, then = told.of, told.against
    found = []
    if told.has_other_program:
        found.append(
            f"{then.job.job} and {now.job.job} are each compared as a whole: different programs may spend another time "
            "outside I/O calls for any reason."
        )
    if now.processes != then.processes:
        found.append(
            f"{then.job.job} did its I/O with {words.count(then.processes, 'process')} and {now.job.job} with "
            f"{now.processes:,}: own I/O is priced as if the storage set the pace, and its interval reaches to each "
            "process setting its own. Single processes are not compared."
        )
    return found


def _unknown(told: Difference, work: Unknown, places: Mapping[str, str]) -> str:
    name, other, place = told.of.job.job, told.against.job.job, places.get(work.place, "")
    where = f"on {place}" if place else "there"
    if work.why == "other sizes":
        return (
            f"{name} made {CALLS[work.kind]} of {words.size(round(work.now.size))} {where}, {other} of "
            f"{words.size(round(work.then.size))}. What calls of the new size cost cannot be told from {other}; that "
            "time is part of what is unexplained."
        )
    if work.why == "other syncs":
        return (
            f"{name} made {work.now.syncs:,} sync calls {where} and {other} {work.then.syncs:,}. What sync calls alone "
            "cost is not known; that time is part of what is unexplained."
        )
    did = (
        f"{work.now.calls:,} metadata calls" if work.kind == "meta" else f"{words.size(work.now.bytes)} of {work.kind}s"
    )
    return (
        f"{name} did {did} {where}, and {other} next to none. All of their {words.duration(work.now.seconds)} count as "
        f"own I/O of {name}, though unknown neighbours may have caused a part."
    )


def rule(comparison: Comparison) -> list[str]:
    """Whose I/O time counts; nothing where there is one process."""
    told = comparison.told.of
    if told.waits == "one process" or not told.decided_by:
        return []
    return [f"I/O time of {told.job.job}: {RULES[told.waits]}. Most of it is that of {told.decided_by}."]


def compare_record(comparison: Comparison, page: Path | None) -> dict[str, Any]:
    """What `slicewise compare --json` prints: the keys of the difference that is told first at the top."""
    return {
        "runs": [_run(run) for run in comparison.runs],
        "against": comparison.against.job.job,
        "chosen": comparison.chosen,
        **_difference(comparison.told),
        "differences": [_difference(told) for told in comparison.differences],
        "variability": comparison.shares or None,
        "notes": [*notes(comparison), *rule(comparison)],
        "page": str(page) if page else None,
    }


def _run(run: Tasks) -> dict[str, Any]:
    return {
        **picked(run.job, "job", "program"),
        "processes": run.processes,
        "nodes": run.job.nodes,
        "start": words.iso_time(run.job.start_ns),
        "end": None if run.is_running else words.iso_time(run.job.end_ns),
        "is_running": run.is_running,
        **{f"{name}_seconds": getattr(run, f"{name}_ns") / 1e9 for name in ("runtime", "computing", "waited", "io")},
        **picked(run, "waits", "decided_by"),
        **{f"{kind}_bytes": run.total(kind, "bytes") for kind in ("read", "write")},
        **{f"{kind}_calls": run.total(kind, "calls") for kind in ("read", "write", "meta")},
    }


def _difference(told: Difference) -> dict[str, Any]:
    return {
        "job": told.of.job.job,
        **picked(told, "difference_seconds", "ratio", "computing_seconds"),
        "outside": told.outside and outside_record(told.outside),
        **picked(told, "memory_seconds", from_cache_shares="from_cache", waiting_seconds="waiting_seconds"),
        "lower_limit": told.lower_limit and lower_limit_record(told.lower_limit),
        "own_io_seconds": {**vars(told.own_io.seconds), "parts": told.own_io.parts},
        **picked(told, "lost_seconds", "lost_confidence"),
        "neighbours": told.loss.neighbours if told.loss else [],
        **picked(told, "unexplained_seconds", "confidence"),
    }


# Less than this fraction of the runtime is shown as nothing.
NEXT_TO_NOTHING = 0.0005


def parts_table(comparison: Comparison) -> Table:
    """Two runs: a row a part, what each run took for it, and their difference. Columns add up to the last row."""
    told = comparison.told
    table = Table(
        [
            Column("part", is_figure=False),
            Column(told.against.job.job, "s"),
            Column(told.of.job.job, "s"),
            Column("difference", "s"),
            Column("interval", "s", is_figure=False),
        ],
        title="Where the runtime went",
    )
    former = told.former_loss.seconds.value if told.former_loss else 0.0
    then, now = told.against, told.of

    def add(name: str, before: float | None, more: float | Estimate | None) -> None:
        """A row of what the first run took, and how much more the second one; None: unknown, or no time of its own."""
        if more is None:
            table.add(name, NOTHING, NOTHING, words.UNKNOWN, NOTHING)
            return
        value, said = (more, "") if isinstance(more, float) else (more.value, interval(more, told.longer_seconds))
        times = [NOTHING] * 2 if before is None else [_time(told, before), _time(told, before + value)]
        table.add(name, *times, _more_cell(told, value), said)

    where = "in or outside of I/O calls" if told.is_unseen else "outside I/O calls"
    add(where, then.computing_ns / 1e9, told.computing_seconds)
    if then.waited_ns or now.waited_ns:
        add("waiting for its turn", then.waited_ns / 1e9, told.waiting_seconds)
    add("own I/O", then.io_ns / 1e9 - former, told.own_io.seconds)
    for part in PARTS:
        found = told.own_io.parts[part]
        if found is None or abs(found.value) >= WORTH_A_WORD * told.longer_seconds:
            add(f"  {PART_NAMES[part]}", None, found)
    add("lost to neighbours", former, told.lost_seconds)
    add(_rest_of_difference(told), 0.0, told.unexplained_seconds)
    add("runtime", then.runtime_ns / 1e9, told.difference_seconds)
    return table


def _rest_of_difference(told: Difference) -> str:
    """What the part is called that is neither work nor neighbours."""
    rest = told.unexplained_seconds.value
    if _is_under_lower_limit(told, rest):
        return "lower limit"
    return "calls that waited for a processor" if _is_wait_in_calls(told, rest) else "unexplained"


def runs_table(comparison: Comparison) -> Table:
    """Several runs: a row a run, and why it took another time than the one that they are compared with."""
    found = {told.of.job.job: told for told in comparison.differences}

    def part(heading: str, name: str) -> Made[Tasks]:
        def cell(run: Tasks) -> Cell:
            told = found.get(run.job.job)
            if told is None:
                return NOTHING
            if name == "lost" and told.lost_seconds is None:
                return Cell(words.UNKNOWN, "")
            return _more_cell(told, told.parts()[name] if name else told.difference_seconds)

        return columns.figure(heading, cell, "s")

    def confidence(run: Tasks) -> str:
        told = found.get(run.job.job)
        return told.confidence if told else "the run to compare with"

    return columns.table(
        comparison.runs,
        columns.text("run", lambda run: run.job.job),
        columns.seconds("runtime", lambda run: run.runtime_ns / 1e9),
        part("difference", ""),
        part("outside I/O calls", "computing"),
        *([part("waiting for its turn", "waiting")] if any(run.waited_ns for run in comparison.runs) else []),
        part("own I/O", "own_io"),
        part("lost to neighbours", "lost"),
        part("unexplained", "unexplained"),
        columns.text("confidence", confidence),
        title=f"Against {comparison.chosen} run, {comparison.against.job.job}",
    )


def work_table(comparison: Comparison) -> Table:
    return columns.table(
        comparison.runs,
        columns.text("run", lambda run: run.job.job),
        columns.text("program", lambda run: run.job.program),
        columns.count("processes", lambda run: run.processes),
        columns.count("nodes", lambda run: run.job.nodes),
        columns.seconds("in I/O calls", lambda run: run.io_ns / 1e9),
        columns.size("written", lambda run: run.total("write", "bytes")),
        columns.count("write calls", lambda run: run.total("write", "calls")),
        columns.size("read", lambda run: run.total("read", "bytes")),
        columns.count("read calls", lambda run: run.total("read", "calls")),
        columns.count("metadata calls", lambda run: run.total("meta", "calls")),
    )


def signed(seconds: float, longer: float) -> str:
    """A difference such as "+1.9 s"; "0 s" where it is next to nothing beside the longer runtime."""
    if abs(seconds) < NEXT_TO_NOTHING * longer:
        return "0 s"
    return f"{'+' if seconds > 0 else '-'}{words.seconds(abs(seconds))}"


def interval(estimate: Estimate, longer: float) -> str:
    """Such as "[-0.2 to +1.9]", in seconds; empty where the ends say the same as the value."""
    ends = [
        "0" if abs(end) < NEXT_TO_NOTHING * longer else f"{'+' if end > 0 else '-'}{words.number(abs(end))}"
        for end in (estimate.low, estimate.high)
    ]
    return f"[{ends[0]} to {ends[1]}]" if ends[0] != ends[1] else ""


def _more_cell(told: Difference, seconds: float) -> Cell:
    return Cell(signed(seconds, told.longer_seconds), seconds)


def _time(told: Difference, seconds: float) -> Cell:
    if abs(seconds) < NEXT_TO_NOTHING * told.longer_seconds:
        return Cell("0 s", 0.0)
    return Cell(f"{words.number(seconds)} s", seconds)


def compare_page(
    comparison: Comparison,
    unseen: Sequence[str],
    paths: Mapping[str, Path] = MappingProxyType({}),
    call_sites: Sequence[Section] = (),
) -> Page:
    names = [run.job.job for run in comparison.runs]
    is_pair = len(names) == 2
    longer = (comparison.told.of if comparison.told.difference_seconds >= 0 else comparison.told.against).job.job
    return Page(
        title=f"{words.listing(names)} compared",
        kicker=f"Slicewise compare of {words.listing(names)}, {words.date_and_zone(comparison.runs[0].job.start_ns)}",
        sentences=opening(comparison),
        facts=_facts(comparison),
        sections=[
            Section(
                heading="Why the runtimes differ" if is_pair else "Why each run took another time",
                chart=_chart(comparison),
                tables=[parts_table(comparison) if is_pair else runs_table(comparison)],
                note="Own I/O is what more or other work costs at the speed of the run compared with. Parts add up to "
                "the difference. An interval says how far off these speeds may be.",
            ),
            *call_sites,
            Section(
                heading="What each run did",
                tables=[work_table(comparison)],
                note=" ".join(
                    ["A runtime is from the first process's start to the last one's end.", *rule(comparison)]
                ),
            ),
        ],
        steps=[Step("See who slowed the longer run down:", command("blame", paths.get(longer, longer)))],
        unseen=[*notes(comparison), *unseen],
    )


def sites_that_differ(of: Digest, against: Digest) -> list[Section]:
    """The flame graph of a run's call sites, by the difference to another run; nothing where one has no samples."""
    now, then = sites(of), sites(against)
    if now.samples.is_empty() or then.samples.is_empty():
        return []
    slices = range(whole(now.samples["slice"].min()), whole(now.samples["slice"].max()) + 1)
    section = Section(
        f"Call sites of {of.job}, by the difference to {against.job}",
        text=[
            f"Each call is as wide as what it costs in {of.job}. Red: more than in {against.job}; blue: less; grey: as "
            "much. Click one to enlarge it, and the top one to come back."
        ],
        flame=flame(now, slices, of.slice_ns, (against.job, then)),
        note=f"{of.job}: {estimated_from(now)} {against.job}: {estimated_from(then)}",
    )
    return [section]


def _facts(comparison: Comparison) -> list[Fact]:
    told = comparison.told
    facts = [Fact(f"runtime of {run.job.job}", words.seconds(run.runtime_ns / 1e9)) for run in (told.against, told.of)]
    facts += [
        Fact(runtimes.PARTS[part][0], signed(value, told.longer_seconds), runtimes.PARTS[part][1])
        for part, value in _known(told)
    ]
    return [*facts, Fact("confidence", told.confidence)]


def _chart(comparison: Comparison) -> Figure:
    told = comparison.told
    if len(comparison.runs) == 2:
        first, last = ((run.job.job, run.runtime_ns / 1e9) for run in (told.against, told.of))
        return runtimes.steps(first, last, _known(told))
    rows = [(told.of.job.job, part, value) for told in comparison.differences for part, value in _known(told)]
    return runtimes.by_run(pl.DataFrame(rows, schema=["run", "part", "seconds"], orient="row"))


def _known(told: Difference) -> list[tuple[str, float]]:
    """The parts that are known, with what each has of the difference; without turns there is no waiting for them."""
    missing = {
        *(["lost"] if told.lost_seconds is None else []),
        *([] if told.of.waited_ns or told.against.waited_ns else ["waiting"]),
    }
    return [(part, value) for part, value in told.parts().items() if part not in missing]
