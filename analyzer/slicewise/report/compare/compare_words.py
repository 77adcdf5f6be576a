"""Why one run took longer than another: sentences that a scientist understands."""

from collections.abc import Mapping
from dataclasses import replace

from slicewise.analysis.calls import Kind
from slicewise.analysis.compare.compare import Comparison
from slicewise.analysis.compare.difference import WORTH_A_WORD, Difference, Part, Unknown
from slicewise.analysis.compare.work import Tasks
from slicewise.report.blame.blame_words import estimate as with_interval
from slicewise.report.blame.blame_words import limit_of_group, slept_for_memory
from slicewise.report.blame.outside_words import where_outside
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
    parts = [(value, reason(told, part, value)) for part, value in _told_parts(told).items()]
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
        f"{words.duration(abs(value))} {_more(value)} {reason(told, part, value)}"
        for part, value in _told_parts(told).items()
    ]
    return f" Within that, it spent {words.listing(large)}." if large else ""


def reason(told: Difference, part: str, value: float) -> str:
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
        if told.own_io.seconds.low <= 0 and is_wait_in_calls(told, value):  # perhaps it was no other work at all
            return WAIT_IN_CALLS
        own = _own_reason(told)
        return f"in I/O of its own{f' (it {own})' if own else ''}"
    if part == "lost":
        return f"in I/O that {_by(told)} slowed down"
    return _unexplained(told, value)


def _unexplained(told: Difference, value: float) -> str:
    took = "less time" if value < 0 else "longer"
    limit = told.lower_limit
    if limit is not None and is_under_lower_limit(told, value):
        lower = f"{limit_of_group(limit)} was lower ({limit.told(limit.rate)} instead of {limit.told(limit.alone)})"
        return f"in I/O that took {took}, since {lower}"
    other = _other_work(told)
    if other:
        return f"in I/O that took {took} ({other})"
    if is_wait_in_calls(told, value):
        return WAIT_IN_CALLS
    return f"in I/O that took {took} for the same work"


def is_under_lower_limit(told: Difference, value: float) -> bool:
    return told.lower_limit is not None and told.lower_limit.seconds > value / 2 > 0


def is_wait_in_calls(told: Difference, value: float) -> bool:
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
    is_known = is_wait_in_calls(told, unexplained) or is_under_lower_limit(told, unexplained)
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
        syncs = words.count(work.now.syncs, "sync call")
        return (
            f"{name} made {syncs} {where} and {other} {work.then.syncs:,}. What sync calls alone cost is not known; "
            "that time is part of what is unexplained."
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
