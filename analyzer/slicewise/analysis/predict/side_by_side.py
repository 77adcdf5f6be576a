"""What becomes of jobs that use one storage at the same time, from what each of them does alone (docs/models.md). A
job's timeline alone is cut into segments; in company it gets on with it at some speed, 1 being that alone.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product

from slicewise.analysis.calls import KINDS
from slicewise.analysis.capacity.by_kind import room_taken
from slicewise.constants import APART, NO_SECONDS

# The order of kinds of calls (KINDS) in every tuple here.
READ, WRITE, META = 0, 1, 2
Amounts = tuple[float, float, float]
NONE: Amounts = (0.0, 0.0, 0.0)
# A job whose processes fill no more of the storage in calls than one that has it to itself are in them together.
TOGETHER = 1.1
ALWAYS = 0.97
FREE = 1e9
MOST_STEPS = 100
EXACT = 1e-11
ROUNDS = 25
SETTLED_SHARES = 1e-4
# States of jobs whose shares are kept: jobs that are in step are in the same few again and again.
STATES_KEPT = 4096


def amounts(values: Iterable[float]) -> Amounts:
    """One amount a kind of calls, in the order of KINDS."""
    read, write, meta = values
    return read, write, meta


@dataclass(frozen=True)
class Segment:
    """seconds: its length alone. use: the storage's time that each kind of call takes, in seconds a second. calls: the
    fraction of it that a process spends in such calls.
    """

    seconds: float
    use: Amounts = NONE
    calls: Amounts = NONE

    @cached_property
    def in_calls(self) -> float:
        return sum(self.calls)

    @cached_property
    def is_in_step(self) -> bool:
        """Whether its processes are in calls at the same times, or else each at its own."""
        return sum(self.use) <= TOGETHER * self.in_calls and self.in_calls < ALWAYS


def joined(line: Sequence[Segment]) -> Segment:
    """Segments as one, of the same length."""
    seconds = sum(segment.seconds for segment in line)
    use, calls = (
        amounts(sum(getattr(one, name)[k] * one.seconds for one in line) / seconds for k in range(len(KINDS)))
        for name in ("use", "calls")
    )
    return Segment(seconds, use, calls)


@dataclass(frozen=True)
class Member:
    """A job: weight of its share while all of its processes are in calls; start in seconds; its timeline alone.
    under_way: how long the storage takes for the writes that it has under way while all of its processes write (s).
    metadata, read: how long its metadata call and its read take alone (s); 0: it makes none. nodes: that it is on.
    """

    start: float
    weight: float
    timeline: tuple[Segment, ...]
    under_way: float = 0.0
    metadata: float = 0.0
    nodes: int = 1
    read: float = 0.0


@dataclass(frozen=True)
class Rules:
    """exponent: of the storage's capacity region (r^p + w^p + m^p = 1 in storage time; 1: one device that takes turns).
    is_written_behind: the client goes on while its data are under way, so that only the rate is bounded, not each call.
    is_one_queue: metadata calls, which take next to none of the storage's time, wait behind the writes of other jobs;
    are_reads_queued: so do reads then, as where one pool of threads serves both.
    crowding: with each further node that is at it the storage takes so much longer, as a part of what it takes for one.
    """

    exponent: float = 1.0
    is_written_behind: bool = False
    is_one_queue: bool = False
    are_reads_queued: bool = False
    crowding: float = 0.0


def ends(jobs: Sequence[Member], rules: Rules) -> list[float]:
    """When each job's timeline is over (s, on the axis of starts)."""
    place = [0] * len(jobs)
    left = [1.0] * len(jobs)
    found = [job.start if not job.timeline else math.inf for job in jobs]
    known: dict[tuple[tuple[int, int], ...], tuple[float, ...]] = {}
    now = min(job.start for job in jobs)
    while any(end == math.inf for end in found):
        active = [i for i, job in enumerate(jobs) if found[i] == math.inf and job.start <= now + NO_SECONDS]
        coming = min(
            (job.start for i, job in enumerate(jobs) if found[i] == math.inf and i not in active), default=math.inf
        )
        if not active:
            now = coming
            continue
        at = tuple((i, place[i]) for i in active)
        if at not in known:
            queues = tuple((jobs[i].under_way, jobs[i].metadata, jobs[i].read) for i in active)
            crowded = _crowded([jobs[i].timeline[k] for i, k in at], [jobs[i].nodes for i in active], rules.crowding)
            known[at] = speeds(tuple(zip(crowded, [jobs[i].weight for i in active], strict=True)), rules, queues)
        lengths = [jobs[i].timeline[place[i]].seconds for i in active]
        rates = [speed / max(length, NO_SECONDS) for speed, length in zip(known[at], lengths, strict=True)]
        step = min([coming - now, *(left[i] / rate for i, rate in zip(active, rates, strict=True))])
        now += step
        for i, rate in zip(active, rates, strict=True):
            left[i] -= step * rate
            if left[i] <= NO_SECONDS:
                place[i], left[i] = place[i] + 1, 1.0
                if place[i] == len(jobs[i].timeline):
                    found[i] = now
    return found


def _crowded(segments: Sequence[Segment], nodes: Sequence[int], crowding: float) -> list[Segment]:
    """Segments with what they use of a storage that all of these nodes are at, where each job was at it alone."""
    if not crowding:
        return list(segments)
    there = sum(count for segment, count in zip(segments, nodes, strict=True) if segment.use != NONE)
    longer = [(1 + crowding * (there - 1)) / (1 + crowding * (count - 1)) for count in nodes]
    return [
        replace(segment, use=amounts(factor * part for part in segment.use))
        for segment, factor in zip(segments, longer, strict=True)
    ]


@lru_cache(maxsize=STATES_KEPT)
def speeds(
    jobs: tuple[tuple[Segment, float], ...], rules: Rules, queues: tuple[tuple[float, float, float], ...] = ()
) -> tuple[float, ...]:
    """How fast each job gets on with its timeline beside the others. jobs: segment and weight of each; queues: what
    each has under way, and how long its metadata call and its read take (`Member`), where there is one queue. A call's
    share of the storage's time is as its job's weight, and no call is faster than alone. Of jobs whose processes are in
    calls together, all the states are looked at in which these are or are not; all others are in each state as often as
    in the mean. How often a job is in calls depends on its speed, so that this is repeated until nothing changes.
    """
    if rules.is_written_behind:
        return tuple(_behind(jobs, rules))
    waiting = (META, READ) if rules.are_reads_queued else (META,)
    is_one_queue = rules.is_one_queue and any(segment.calls[k] for segment, _ in jobs for k in waiting)
    if (
        not is_one_queue
        and _fits(_added(segment.use for segment, _ in jobs), rules.exponent)
        and not any(segment.is_in_step for segment, _ in jobs)
    ):
        return (1.0,) * len(jobs)
    presence = [segment.in_calls for segment, _ in jobs]
    found = [1.0] * len(jobs)
    for _ in range(ROUNDS):
        slowdowns = _slowdowns(jobs, presence, rules.exponent)
        if is_one_queue:
            _queue(slowdowns, jobs, presence, queues, are_reads_queued=rules.are_reads_queued)
        last, found, then = found, [], []
        for (segment, _), slower in zip(jobs, slowdowns, strict=True):
            calls = sum(part * factor for part, factor in zip(segment.calls, slower, strict=True))
            found.append(1 / (1 - segment.in_calls + calls))
            then.append(calls * found[-1])
        presence = [(one + other) / 2 for one, other in zip(presence, then, strict=True)]
        if max(abs(one - other) for one, other in zip(last, found, strict=True)) < SETTLED_SHARES:
            break
    return tuple(found)


def _slowdowns(jobs: Sequence[tuple[Segment, float]], presence: Sequence[float], exponent: float) -> list[list[float]]:
    """How many times longer each kind of a job's calls takes, in the mean over the states of jobs in step."""
    in_step = [i for i, (segment, _) in enumerate(jobs) if segment.is_in_step]
    speed = [[0.0] * len(KINDS) for _ in jobs]
    chance = [0.0] * len(jobs)
    for state in product((False, True), repeat=len(in_step)):
        is_there = dict(zip(in_step, state, strict=True))
        likely = math.prod(presence[i] if is_in else 1 - presence[i] for i, is_in in is_there.items())
        there = [(i, presence[i] if i not in is_there else 1.0) for i in range(len(jobs)) if is_there.get(i, True)]
        if likely <= 0 or not there:
            continue
        free = shares(tuple((*jobs[i], often) for i, often in there), exponent)
        for i, _ in there:
            segment, weight = jobs[i]
            chance[i] += likely
            own = speed[i]
            for k, (use, calls) in enumerate(zip(segment.use, segment.calls, strict=True)):
                # Where a job makes no such calls, they are as fast as alone.
                own[k] += likely * min(1.0, weight * free[k] / (use / calls)) if use and calls else likely
    return [
        [whole / one if one and whole else 1.0 for one in by_kind] for by_kind, whole in zip(speed, chance, strict=True)
    ]


def _queue(
    slowdowns: list[list[float]],
    jobs: Sequence[tuple[Segment, float]],
    presence: Sequence[float],
    queues: Sequence[tuple[float, float, float]],
    *,
    are_reads_queued: bool,
) -> None:
    """A metadata call (and a read) takes longer by the writes that others have under way, in a busy storage."""
    there = []
    for (segment, _), slower, often, (under_way, _, _) in zip(jobs, slowdowns, presence, queues, strict=True):
        calls = sum(part * factor for part, factor in zip(segment.calls, slower, strict=True))
        writes = segment.calls[WRITE] * slower[WRITE] / calls if calls else 0.0
        there.append(often * writes * under_way)
    busy = min(1.0, sum(segment.use[WRITE] for segment, _ in jobs))
    for i, (_, metadata, read) in enumerate(queues):
        behind = busy * (sum(there) - there[i])
        for kind, call in ((META, metadata), (READ, read if are_reads_queued else 0.0)):
            if call > 0:
                slowdowns[i][kind] = max(slowdowns[i][kind], 1 + behind / call)


@lru_cache(maxsize=STATES_KEPT)
def shares(jobs: tuple[tuple[Segment, float, float], ...], exponent: float) -> tuple[float, ...]:
    """The share a weight of 1 has of each kind's storage time. jobs: segment, weight, how many are in calls."""
    # Of each job: weight, how much of it is in calls, and of each kind that it makes: part of the calls, use of a call.
    made = [
        (weight, often, [(k, part, segment.use[k] / part) for k, part in enumerate(segment.calls) if part > 0])
        for segment, weight, often in jobs
    ]

    def used(shares: Sequence[float]) -> list[float]:
        total = [0.0] * len(KINDS)
        for weight, often, kinds in made:
            if len(kinds) == 1:  # most jobs, and this is where predictions spend their time
                k, _, alone = kinds[0]
                mine = weight * shares[k]
                total[k] += often * (alone if mine >= alone else mine)
                continue
            parts, in_all = [], 0.0
            for k, part, alone in kinds:
                mine = weight * shares[k]
                # Calls that are slower are more of the time in calls.
                time = part if mine >= alone else part * alone / mine
                in_all += time
                parts.append((k, time * (alone if mine >= alone else mine)))
            for k, taken in parts:
                total[k] += often * taken / in_all
        return total

    enough = max((alone / weight for weight, _, kinds in made for _, _, alone in kinds), default=0.0)
    weights = sum(weight * max(1.0, often) for weight, often, _ in made)
    return tuple(_largest(used, exponent, weights, enough, is_mixed=any(len(kinds) > 1 for _, _, kinds in made)))


def _behind(jobs: Sequence[tuple[Segment, float]], rules: Rules) -> list[float]:
    def speed(segment: Segment, weight: float, shares: Sequence[float]) -> float:
        return min([1.0, *(weight * share / use for use, share in zip(segment.use, shares, strict=True) if use > 0)])

    def used(shares: Sequence[float]) -> list[float]:
        return _added(tuple(speed(one, weight, shares) * use for use in one.use) for one, weight in jobs)

    enough = max(use / weight for one, weight in jobs for use in one.use)
    shares = _largest(used, rules.exponent, sum(weight for _, weight in jobs), enough)
    return [speed(segment, weight, shares) for segment, weight in jobs]


def _largest(
    used: Callable[[Sequence[float]], list[float]],
    exponent: float,
    weights: float,
    enough: float,
    *,
    is_mixed: bool = True,
) -> list[float]:
    """The largest shares of a weight of 1 with which what is used fits the storage. weights: of all jobs in sum;
    enough: the share with which no job is slower than alone. is_mixed: a job makes several kinds, and so what it uses
    of one goes by its share of the others.
    """
    shares = [FREE] * len(KINDS)
    if _fits(used(shares), exponent):
        return shares
    if exponent < APART:
        common = _highest(lambda share: room_taken(used([share] * len(KINDS)), exponent), weights, enough)
        return [common] * len(KINDS)
    for _ in range(3 if is_mixed else 1):  # kinds meet in the jobs that make both
        for k in range(len(KINDS)):

            def of_kind(share: float, k: int = k) -> float:
                return used([*shares[:k], share, *shares[k + 1 :]])[k]

            shares[k] = FREE if of_kind(FREE) <= 1 else _highest(of_kind, weights, enough)
    return shares


def _highest(taken: Callable[[float], float], weights: float, enough: float) -> float:
    """The highest share of a weight of 1 with which no more than 1 is taken; more is where each has enough. What is
    taken grows with the share, in logarithms by nearly straight pieces: the false position (the Illinois method) finds
    it in some eight steps.
    """
    # No job takes more of a kind than its weight allows, so that this is never too much.
    low, high = -math.log(len(KINDS) * weights), math.log(enough)
    under, over = (math.log(taken(math.exp(place))) for place in (low, high))
    kept = 0
    for _ in range(MOST_STEPS):
        if high - low < EXACT or under > -EXACT:
            break
        place = (low * over - high * under) / (over - under)
        found = math.log(taken(math.exp(place)))
        if found <= 0:
            low, under = place, found
            over, kept = (over / 2 if kept < 0 else over), -1
        else:
            high, over = place, found
            under, kept = (under / 2 if kept > 0 else under), 1
    return math.exp(low)


def _added(each: Iterable[Sequence[float]]) -> list[float]:
    return [sum(column) for column in zip(*each, strict=True)]


def _fits(use: Sequence[float], exponent: float) -> bool:
    return room_taken(use, exponent) <= 1
