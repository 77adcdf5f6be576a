"""How many copies of a job may run side by side before each loses more than it may, and on what evidence."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise.analysis.calls import AMOUNTS, KINDS, SECONDS, Kind, call_rows
from slicewise.analysis.capacity.by_kind import Capacities, fullness, shown_together
from slicewise.analysis.capacity.capacity import Capacity, got_together
from slicewise.analysis.predict.side_by_side import Member, Rules, Segment, amounts, ends, joined, shares
from slicewise.analysis.runs.campaign import campaign_there
from slicewise.analysis.runs.matching import Job, company, each_once, run_of
from slicewise.analysis.runs.on_storage import on_storage
from slicewise.analysis.runs.storage import Storage, busier_direction, describe
from slicewise.analysis.sharing.runtimes import WEIGHTS, Weight
from slicewise.constants import LEAST_ERROR, LEAST_OF_JOB, MOST_ERROR_OF_A_RUN, TAKES_TURNS
from slicewise.digest.activity import DIRECTIONS, Direction, bytes_by_storage
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.estimate import Estimate
from slicewise.kinds import Confidence
from slicewise.statistics import block_error
from slicewise.text import words

TRANSFERS: tuple[Kind, ...] = ("read", "write")
# Kinds of call that take so many times as long, each by itself, as any call does are made at the same time.
AT_ONCE = 1.25


@dataclass(frozen=True)
class Demand:
    """A job on a storage. volume: bytes, of both directions; io_seconds: as long as its busiest process was in calls
    there, slice by slice, of those kinds that count; computing_seconds: the rest of its runtime; rate: bytes/s while in
    I/O; seconds of other kinds (metadata calls) and on other storages are in `elsewhere_seconds`, and count as
    computing. amounts, seconds: by kind that counts what it did, and as long as its busiest process did. is_at_once:
    its processes make calls of different kinds at the same time.
    """

    job: Job
    processes: int
    volume: int
    io_seconds: float
    computing_seconds: float
    elsewhere_seconds: float
    rate: Estimate
    read_share: float
    amounts: dict[Kind, float]
    seconds: dict[Kind, float]
    is_at_once: bool

    @property
    def runtime_seconds(self) -> float:
        return self.io_seconds + self.computing_seconds

    @property
    def duty(self) -> float:
        return self.io_seconds / self.runtime_seconds


def where_most(digest: Digest) -> tuple[Storage, Direction]:
    """The storage that a job moved most bytes on, and the direction of most of them. Raises UserError where it moved
    none.
    """
    direction = busier_direction([digest])
    moved = bytes_by_storage(digest, direction)
    if moved.is_empty():
        raise UserError(f"{digest.path}: moved no bytes of files, so copies of it do not compete for a file system")
    return describe(int(moved["storage"][0]), [digest]), direction


def demand_of(digest: Digest, storage: Storage, kinds: Collection[Kind] = TRANSFERS) -> Demand | None:
    """What a job asks of a storage; None where it did not use it. kinds: of call that count as I/O there."""
    calls = call_rows(digest, digest.slice_ns)
    here = calls.filter(pl.col("storage") == storage.number)
    took = {kind: pl.col(SECONDS[kind]) for kind in kinds}
    in_slices = (
        here.with_columns(busy=pl.sum_horizontal(took.values()))
        .group_by("slice")
        .agg(
            pl.col("busy").max(),
            *(pl.col(SECONDS[kind]).get(pl.col("busy").arg_max()).alias(kind) for kind in kinds),
            *(pl.col(SECONDS[kind]).max().alias(f"most_{kind}") for kind in kinds),
            moved=pl.col("read_bytes").sum() + pl.col("write_bytes").sum(),
        )
        .sort("slice")
    )
    volume, busy = int(in_slices["moved"].sum()), float(in_slices["busy"].sum())
    job = run_of(digest).job
    runtime = (job.end_ns - job.start_ns) / 1e9
    if not volume or not busy or runtime <= 0:
        return None
    busy = min(busy, runtime)
    all_seconds = calls.group_by("slice", "process").agg(seconds=pl.sum_horizontal(SECONDS.values()).sum())
    in_calls = float(all_seconds.group_by("slice").agg(pl.col("seconds").max())["seconds"].sum())
    error = block_error(in_slices["moved"].to_numpy().astype(float), in_slices["busy"].to_numpy())
    error = LEAST_ERROR + min(error, MOST_ERROR_OF_A_RUN)
    rate = volume / busy
    apart = sum(float(in_slices[f"most_{kind}"].sum()) for kind in kinds)
    return Demand(
        job=job,
        processes=max(1, max(len(on_storage(run_of(digest), storage.number, way).processes) for way in DIRECTIONS)),
        volume=volume,
        io_seconds=busy,
        computing_seconds=runtime - busy,
        elsewhere_seconds=max(0.0, in_calls - busy),
        rate=Estimate(rate, rate / (1 + error), rate * (1 + error), "this run's bytes over its time in calls"),
        read_share=float(here["read_bytes"].sum()) / volume,
        amounts={kind: float(here[AMOUNTS[kind]].sum()) for kind in kinds},
        seconds={kind: float(in_slices[kind].sum()) for kind in kinds},
        is_at_once=apart > AT_ONCE * busy,
    )


# A job computes at least this fraction of its runtime, so that it comes to the storage at all.
LEAST_COMPUTING = 1e-6
# Each more makes twice as many states.
MOST_OTHERS = 3
Numbers = npt.NDArray[np.float64]
ROUNDS = 12
SETTLED_CHANCE = 1e-6
# The low end, the middle and the high end of what jobs ask for against what the storage serves: at the low end they ask
# for little, it serves much, and the loss is least.
End = Literal[-1, 0, 1]


class Customer(NamedTuple):
    """A job: s in I/O alone, and s besides."""

    io_seconds: float
    computing: float


# How fast one of so many copies in I/O, and each of the others that are (their places), gets on: 1 is as fast as alone.
Service = Callable[[int, Sequence[int]], list[float]]


def expected_loss(copies: int, job: Customer, others: Sequence[Customer], service: Service) -> float:
    """By what fraction of its runtime alone each of so many copies is slowed down on average, where nobody waits for
    anybody else: all phases are random. The stationary distribution of how many copies are in I/O, and which of the
    others: each computes for its mean time and comes back with its mean work. It depends on these means alone where
    there are no others (processor sharing is insensitive), and with others nearly so. Without others it is a closed
    network of one queue and one delay.
    """
    runtime = sum(job)
    away, *others_away = (max(besides, LEAST_COMPUTING * (in_io + besides)) for in_io, besides in (job, *others))
    states = [(active, mask) for active in range(copies + 1) for mask in range(1 << len(others))]
    number = {state: place for place, state in enumerate(states)}
    generator = np.zeros((len(states), len(states)))
    done = np.zeros(len(states))
    for state, place in number.items():
        active, mask = state
        working = [other for other in range(len(others)) if mask >> other & 1]
        speeds = service(active, working)
        done[place] = active * speeds[0] / job[0]
        if active < copies:
            generator[place, number[active + 1, mask]] = (copies - active) / away
        if active:
            generator[place, number[active - 1, mask]] = done[place]
        for other, (in_io, _) in enumerate(others):
            is_there = mask >> other & 1
            rate = speeds[1 + working.index(other)] / in_io if is_there else 1 / others_away[other]
            generator[place, number[active, mask ^ 1 << other]] += rate
    finished = float(stationary(generator) @ done)
    return copies / finished / runtime - 1


def stationary(generator: Numbers) -> Numbers:
    """The stationary distribution of a Markov chain by its rates (Grassmann, Taksar and Heyman, OR 33(5), 1985)."""
    rates = generator.copy()
    np.fill_diagonal(rates, 0.0)
    count = len(rates)
    for place in range(count - 1, 0, -1):
        out = rates[place, :place].sum()
        rates[:place, place] /= out
        rates[:place, :place] += np.outer(rates[:place, place], rates[place, :place])
    found: Numbers = np.zeros(count)
    found[0] = 1.0
    for place in range(1, count):
        found[place] = found[:place] @ rates[:place, place]
    share: Numbers = found / found.sum()
    return share


def progress(
    active: int, job: Sequence[Segment], weight: float, others: Sequence[tuple[Segment, float]], exponent: float
) -> list[float]:
    """How fast one of so many copies gets on in its I/O, and each of the others: 1 is as fast as alone. job: what a
    copy does alone, one kind of call after the other, or a single segment. others: segment and weight of each. Copies
    are in each segment by chance, as often as that takes its time: the more, the slower it is.
    """
    if active + len(others) <= 1:
        return [1.0 if active else 0.0, *(1.0 for _ in others)]
    counts = _compositions(active, len(job))
    speeds = np.array([_speeds(row, job, weight, others, exponent) for row in counts.tolist()])
    of_kinds, of_others = speeds[:, : len(job)], speeds[:, len(job) :].T
    if not active:
        return [0.0, *of_others[:, 0].tolist()]
    own = np.array([segment.seconds for segment in job])
    chance = own / own.sum()
    slow = np.ones_like(own)
    for _ in range(ROUNDS):
        for kind in range(len(job)):
            rest = counts.copy()
            rest[:, kind] -= 1
            slow[kind] = float((_multinomial(rest, chance) / of_kinds[:, kind]).sum())
        new = own * slow / (own * slow).sum()
        if np.abs(new - chance).max() < SETTLED_CHANCE:
            break
        chance = new
    among = _multinomial(counts, chance)
    return [float(own.sum() / (own * slow).sum()), *(float(1 / (among / speed).sum()) for speed in of_others)]


def _speeds(
    counts: Sequence[float],
    job: Sequence[Segment],
    weight: float,
    others: Sequence[tuple[Segment, float]],
    exponent: float,
) -> list[float]:
    """How fast a copy gets on in each segment where so many are in each, and each of the others."""
    copies = [(segment, weight, count) for segment, count in zip(job, counts, strict=True)]
    there = (*(one for one in copies if one[2]), *((segment, its, 1.0) for segment, its in others))
    free = shares(there, exponent)
    return [_speed(segment, its, free) for segment, its, _ in (*copies, *there[len(there) - len(others) :])]


def _speed(segment: Segment, weight: float, free: Sequence[float]) -> float:
    took = 0.0
    for part, use, share in zip(segment.calls, segment.use, free, strict=True):
        took += max(part, use / (weight * share))
    return sum(segment.calls) / took


@cache
def _compositions(count: int, kinds: int) -> Numbers:
    if kinds == 1:
        return np.array([[float(count)]])
    parts = [
        np.column_stack([np.full(len(rest), float(first)), rest])
        for first in range(count + 1)
        for rest in (_compositions(count - first, kinds - 1),)
    ]
    return np.concatenate(parts)


def _multinomial(counts: Numbers, chance: Numbers) -> Numbers:
    """The probability of each row of counts; 0 of rows with a negative count."""
    possible = np.asarray((counts >= 0).all(1) & ((chance > 0) | (counts <= 0)).all(1))
    sure = np.where(possible[:, None], counts, 0).astype(int)
    log_factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, sure.sum(1).max(initial=0) + 2)))])
    logs = log_factorials[sure.sum(1)] - log_factorials[sure].sum(1)
    logs += (sure * np.log(np.where(chance > 0, chance, 1.0))).sum(1)
    return np.where(possible, np.exp(logs), 0.0)


@dataclass(frozen=True)
class Losses:
    """What each of so many copies loses, as a fraction of its runtime alone."""

    demand: Demand
    others: Sequence[Demand]
    capacity: Capacity
    _known: dict[tuple[End, Weight, int, tuple[int, ...]], list[float]] = field(default_factory=dict)

    def expected(self, copies: int, end: End, weight: Weight) -> float:
        """Where all phases are random."""
        jobs = (self.demand, *self.others)
        job, *others = (Customer(_io_seconds(one, end), one.computing_seconds) for one in jobs)
        return expected_loss(copies, job, others, lambda active, working: self._service(end, weight, active, working))

    def in_step(self, copies: int) -> float:
        """The loss if all begin their I/O at one time; those with one kind of call after the other do the same one."""
        if copies + len(self.others) == 1:
            return 0.0
        level = self._level(0, copies, range(len(self.others)))
        jobs = [self.demand] * copies + list(self.others)
        members = [Member(0.0, _weight(one, "processes"), self._timeline(one, 0, level)) for one in jobs]
        longest = max(ends(members, Rules(self._exponent))[:copies])
        return (self.demand.computing_seconds + longest) / self.demand.runtime_seconds - 1

    def rate(self, copies: int) -> float:
        return self.demand.rate.value * self._service(0, "processes", copies, range(len(self.others)))[0]

    @property
    def _exponent(self) -> float:
        return TAKES_TURNS if self.capacity.region is None else self.capacity.region.p

    def _service(self, end: End, weight: Weight, copies: int, working: Sequence[int]) -> list[float]:
        key = (end, weight, copies, tuple(working))
        if key not in self._known:
            level = self._level(end, copies, working)
            others = [self.others[place] for place in working]
            self._known[key] = progress(
                copies,
                self._timeline(self.demand, end, level),
                _weight(self.demand, weight),
                [(joined(self._timeline(one, end, level)), _weight(one, weight)) for one in others],
                self._exponent,
            )
        return self._known[key]

    def _level(self, end: End, copies: int, working: Sequence[int]) -> float:
        """How much of its time the full storage serves, with so many clients."""
        region = self.capacity.region
        if region is not None and region.level is not None:
            return region.level.end(-end)
        present = [self.demand] * copies + [self.others[place] for place in working]
        processes, nodes = sum(one.processes for one in present), sum(one.job.nodes for one in present)
        return self.capacity.at(len(present), processes, nodes, -end) / self.capacity.rate.value

    def _timeline(self, demand: Demand, end: End, level: float) -> tuple[Segment, ...]:
        """A job's I/O in one go, on a storage that serves so much of its time: its kinds in turn, or all at once."""
        whole, region = _io_seconds(demand, end), self.capacity.region
        if region is None:
            return (_segment(whole, {"read": demand.volume / self.capacity.rate.value / level}, {"read": whole}),)
        parts = {kind: part / level for kind, part in region.parts(demand.amounts).items()}
        # A kind that no process was busiest with has no time of its own, and took next to nothing.
        slower = whole / demand.io_seconds
        calls = {kind: demand.seconds[kind] * slower for kind in parts if demand.seconds.get(kind, 0.0) > 0}
        if demand.is_at_once:
            return (_segment(whole, parts, calls),)
        return tuple(_segment(own, {kind: parts[kind]}, {kind: own}) for kind, own in calls.items())


def together(demand: Demand, region: Capacities) -> Estimate:
    assert region.level is not None
    one = demand.volume / float(fullness(list(region.parts(demand.amounts).values()), region.p))
    return region.level.through(lambda level: level * one, region.level.how)


def _segment(seconds: float, taken: Mapping[Kind, float], calls: Mapping[Kind, float]) -> Segment:
    """So long in calls. taken: seconds of the storage's time; calls: in what proportion kinds of call part the time."""
    whole = sum(calls.values())
    use = amounts(taken.get(kind, 0.0) / seconds for kind in KINDS)
    return Segment(seconds, use, amounts(calls.get(kind, 0.0) / whole for kind in KINDS))


def _weight(demand: Demand, weight: Weight) -> float:
    return float(demand.processes if weight == "processes" else demand.job.nodes)


def _io_seconds(demand: Demand, end: End) -> float:
    return demand.io_seconds * demand.rate.value / demand.rate.end(end)


# More are not looked at; beside other jobs there are several times as many states to compute.
MOST_COPIES = 64
MOST_COPIES_BESIDE = 24
# So many are shown beyond what is allowed.
COPIES_BEYOND = 2
# Why reads and writes are taken to share one capacity where it is not the jobs' slices that tell it.
ONE_BECAUSE = {
    "given": "it was given as one number",
    "fitted curve": "a fitted model has one capacity",
}
LOSS_ROUNDING = 1e-5
OF_ITS_OWN = "what it served this job alone"
HOW = "random phases; at one end the storage at its fastest and the job at its slowest, at the other the reverse"


@dataclass(frozen=True)
class Row:
    """So many copies: what each loses, as a fraction of its runtime alone: on average with random phases (loss), and if
    all begin their I/O at once (in_step); rate: bytes/s that each gets while all are in I/O.
    """

    copies: int
    loss: Estimate
    in_step: float
    rate: float


@dataclass(frozen=True)
class Copies:
    """most: the largest number of copies of which none loses more than most_loss on average. fewest_sure and
    most_possible: the same with the losses' high and low ends. is_bounded: whether that is below what is looked at.
    company: who ran while the job did: its rate may be lower than alone. is_outdone: alone it moved clearly more a
    second than jobs did together, so that these do not show what the storage can serve. one_because: why there is one
    capacity for all kinds of call; empty where there is one for each, or where the jobs make calls of one kind.
    """

    demand: Demand
    others: list[Demand]
    storage: Storage
    capacity: Capacity
    most_loss: float
    rows: list[Row]
    most: int
    fewest_sure: int
    most_possible: int
    is_bounded: bool
    company: list[str]
    one_because: str
    is_outdone: bool = False

    @property
    def confidence(self) -> Confidence:
        """How sure the number is: high where even the ends of the losses allow as many; low where they allow a quarter
        more or less, where what one copy more would lose is known to no better than itself, where the job had company
        or moved more alone than others together, and where the storage was never seen full. A capacity that was typed
        in is an assumption, and so is that reads and writes take turns where no slices show it: medium at most.
        """
        apart = self.most_possible - self.fewest_sure
        more = self.row(self.most + 1)
        is_vague = more is not None and more.loss.high - more.loss.low > more.loss.value
        if self.company or self.is_outdone or self.capacity.is_floor or apart > max(1, 0.25 * self.most) or is_vague:
            return "low"
        region = self.capacity.region
        is_assumed = self.capacity.source == "given" or (region is not None and region.exponent is None)
        return "medium" if apart or is_assumed else "high"

    def row(self, copies: int) -> Row | None:
        return next((row for row in self.rows if row.copies == copies), None)


def copies(
    digest: Digest,
    beside: Sequence[Digest] = (),
    seen: Sequence[Digest] = (),
    most_loss: float = 0.1,
    capacity: Capacity | None = None,
) -> Copies:
    """How many copies of a job may run side by side, beside all of `beside`. seen: jobs that ran on the same storage
    and show what it can serve. capacity: where it is known otherwise. Raises UserError where the job moved no bytes,
    one beside it none on the same storage, or the capacity is not known.
    """
    storage, direction = where_most(digest)
    demand = demand_of(digest, storage)
    if demand is None:
        raise UserError(f"{digest.path}: spent no time in reads and writes, so nothing can be said of copies of it")
    if len(beside) > MOST_OTHERS:
        raise UserError(f"--with is given {len(beside)} times; give {MOST_OTHERS} jobs at most")
    others = []
    for other in beside:
        found = demand_of(other, storage)
        if found is None:
            raise UserError(
                f"{other.path}: did no I/O on {storage.point}, where {demand.job.job} does its I/O; leave it out"
            )
        others.append(found)
    everyone = each_once([digest, *beside, *seen])
    others_there = [other.job for other in company(digest, everyone)]
    is_outdone = False
    one_because = ONE_BECAUSE[capacity.source] if capacity is not None else ""
    if capacity is None:
        alone = _alone(storage, everyone)
        capacity = _side_by_side(storage, direction, everyone, {name: asked for name, (_, asked) in alone.items()})
        region = shown_together(storage, everyone, {name: run for name, (run, _) in alone.items()})
        if isinstance(region, str):
            one_because = region
        elif capacity is None or _differ([digest, *beside], storage):
            kinds = tuple(region.most)
            known = [demand_of(one, storage, kinds) for one in (digest, *beside)]
            demand, *others = [one for one in known if one is not None]
            assert len(others) == len(beside)  # each did I/O of one kind there, as is known from above
            capacity = _of_region(region, demand)
        if capacity is not None and not others_there:
            is_outdone = demand.rate.low > capacity.rate.high
            capacity = _with_its_own(capacity, demand.rate)
    if capacity is None:
        raise _refusal(storage, demand)
    losses = Losses(demand, others, capacity)
    limit = MOST_COPIES_BESIDE if others else MOST_COPIES
    rows = _rows(losses, limit, most_loss)
    allowed = [next((row.copies - 1 for row in rows if row.loss.end(end) > most_loss), len(rows)) for end in (0, 1, -1)]
    return Copies(
        demand=demand,
        others=others,
        storage=storage,
        capacity=capacity,
        most_loss=most_loss,
        rows=[row for row in rows if row.copies <= max(allowed[0], 1) + COPIES_BEYOND],
        most=allowed[0],
        fewest_sure=allowed[1],
        most_possible=allowed[2],
        is_bounded=allowed[2] < limit,
        company=others_there,
        one_because=one_because,
        is_outdone=is_outdone,
    )


def _differ(digests: Sequence[Digest], storage: Storage) -> bool:
    """Whether jobs make several kinds of call on a storage, each for a part of their I/O there that is worth a word."""
    found = [demand_of(digest, storage, KINDS) for digest in digests]
    much = {kind for one in found if one for kind in KINDS if one.seconds[kind] >= LEAST_OF_JOB * one.io_seconds}
    return len(much) > 1


def _side_by_side(
    storage: Storage, direction: Direction, everyone: Sequence[Digest], alone: Mapping[str, Demand | None]
) -> Capacity | None:
    """What jobs that ran side by side got together. alone: what jobs ask for by themselves, by their names."""
    data = campaign_there(everyone, storage.number, direction)
    if data is None:
        return None
    rates = {name: asked.rate.value for name, asked in alone.items() if asked is not None}
    reached = pl.col("job").replace_strict(rates, default=None, return_dtype=pl.Float64)
    return got_together(data.slices.with_columns(alone=reached), words.DID[direction])


def _refusal(storage: Storage, demand: Demand) -> UserError:
    """Says that the capacity is not known, and how to come to know it."""
    name = demand.job.job
    return UserError(
        f"how much {storage.point} can serve is not known: no two profiles show it with two jobs at work; run two of "
        f"{demand.job.program} side by side once and give both: slicewise predict --copies {name} --seen A --seen B "
        "(or, where it is known: --capacity 2GiB/s)"
    )


def _of_region(region: Capacities, demand: Demand) -> Capacity:
    parts = region.parts(demand.amounts)
    asked = {kind for kind, part in parts.items() if part >= LEAST_OF_JOB * sum(parts.values())}
    is_floor = bool(asked & region.unfilled)
    return Capacity(together(demand, region), "capacity region", is_floor, region=region)


def _with_its_own(capacity: Capacity, alone: Estimate) -> Capacity:
    """A storage serves several jobs at least what it served one by itself, however it was known."""
    known, region = capacity.rate, capacity.region
    ends = [(known.low, alone.low), (known.value, alone.value), (known.high, alone.high)]
    low, value, high = (max(1.0, own / most) for most, own in ends)
    if max(low, value, high) == 1:
        return capacity
    how = known.how if value == 1 else OF_ITS_OWN
    rate = Estimate(value * known.value, low * known.low, high * known.high, how)
    if region is None or region.level is None:
        return replace(capacity, rate=rate)
    level = region.level
    level = Estimate(value * level.value, low * level.low, high * level.high, level.how)
    return replace(capacity, rate=rate, region=replace(region, level=level))


def _rows(losses: Losses, limit: int, most_loss: float) -> list[Row]:
    rows: list[Row] = []
    too_many = 0
    for number in range(1, limit + 1):
        rows.append(_row(number, losses))
        too_many += rows[-1].loss.low > most_loss
        if too_many > COPIES_BEYOND:
            break
    return rows


def _row(number: int, losses: Losses) -> Row:
    # What shares go by matters beside other jobs alone.
    weights: tuple[Weight, ...] = WEIGHTS if losses.others else ("processes",)
    ends: tuple[End, ...] = (0, -1, 1)
    found = [_no_less_than_none(losses.expected(number, end, weight)) for end in ends for weight in weights]
    return Row(
        copies=number,
        loss=Estimate(found[0], min(found), max(found), HOW),
        in_step=_no_less_than_none(losses.in_step(number)),
        rate=losses.rate(number),
    )


def _no_less_than_none(loss: float) -> float:
    """What rounding leaves of no loss is none."""
    return loss if loss > LOSS_ROUNDING else 0.0


def _alone(storage: Storage, everyone: Sequence[Digest]) -> dict[str, tuple[Digest, Demand | None]]:
    each = {digest.job: demand_of(digest, storage) for digest in everyone}
    apart = [digest for digest in everyone if not company(digest, everyone)]
    found: dict[str, tuple[Digest, Demand | None]] = {}
    for name, demand in each.items():
        like = [
            (known.rate.value, place)
            for place, digest in enumerate(apart)
            if (known := each[digest.job]) is not None and demand is not None and _size(known) == _size(demand)
        ]
        if like:
            run = apart[max(like)[1]]
            found[name] = run, each[run.job]
    return found


def _size(demand: Demand) -> tuple[str, int]:
    return demand.job.program, demand.job.processes
