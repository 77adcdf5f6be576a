"""Jobs on shared storage, simulated, so that what each of them lost to whom is known and not estimated.

Shares no code with the analyzer. Storage serves those who want something of it at once, by their weights and up to its
limits; processes run programs of steps. What a profiler would count of them is counted on the way, by second.

    disk = Storage("disk", read=100 * MIB, write=80 * MIB)
    reader = SimulatedJob("reader", (Transfer("read", 1000 * MIB),))
    writer = SimulatedJob("writer", (Compute(1), Transfer("write", 400 * MIB)), processes=4)
    outcome = simulate([disk], [reader, writer])
    lost = outcome.runtime("reader") - simulate([disk], [reader]).runtime("reader")
"""

from __future__ import annotations

import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Literal

import numpy as np

MIB = 1 << 20
# A burst of buffered writes goes to memory at this rate, in bytes/s.
MEMORY_RATE = 4096.0 * MIB
# Calls that follow each other are simulated so many seconds at a time, as one long latency and one long transfer: who
# shares a storage with others, a share at a time, gets as much of it by long turns as by short ones.
TURN_SECONDS = 0.04
# What is left of a transfer after its last byte is rounding.
LEAST_LEFT = 1e-9
# Scenarios have simulations in common (the same job alone), and seconds the shares of the same processes.
OUTCOMES_KEPT, LEVELS_KEPT = 200, 4096
Kind = Literal["read", "write", "meta"]
CountedKind = Literal["read", "write", "meta", "sync"]
BYTES: dict[Kind, str] = {"read": "read_bytes", "write": "write_bytes"}


@dataclass(frozen=True)
class Storage:
    """Serves (r / read)^exponent + (w / write)^exponent + (m / meta)^exponent <= 1.

    read, write: bytes/s. meta: calls/s. noise: of its speed from second to second, relative. drift: of its speed over
    tens of seconds, relative. by: whose weights count when it is shared, each process's, or each job's.
    """

    name: str
    read: float = 100.0 * MIB
    write: float = 100.0 * MIB
    meta: float = 2000.0
    exponent: float = 1.0
    noise: float = 0.0
    drift: float = 0.0
    by: Literal["process", "job"] = "process"


@dataclass(frozen=True)
class Compute:
    """No I/O for so long. spread: of the time, relative, different each time."""

    seconds: float
    spread: float = 0.0


@dataclass(frozen=True)
class Transfer:
    """So many bytes read or written, or metadata calls made.

    call: bytes a call. latency: seconds that each call takes beside the storage's own time. burst: so many bytes of
    writes go to memory at once, before a call waits until the storage has them. is_synced: all bytes go to memory, and
    a sync waits for the storage. storage: its place in the list; None is the first.
    """

    kind: Kind
    amount: float
    call: float = float(MIB)
    latency: float = 0.0
    burst: float = 0.0
    is_synced: bool = False
    storage: int = 0


@dataclass(frozen=True)
class Barrier:
    """Waits for all other processes of the job."""


Step = Compute | Transfer | Barrier


@dataclass(frozen=True)
class SimulatedJob:
    """steps: the program of every process. start: when it begins, stagger: how much later each further process does.
    weight: of each process, or of the job. cap: bytes/s that a process gets at most. until: when it is stopped.
    windows: if there are any, it pauses outside of them. is_profiled: or nobody counts what it does but devices.
    own_steps: programs of single processes, by their place. in_turn: so many processes do what one does, each a part
    of the time.
    """

    name: str
    steps: tuple[Step, ...]
    processes: int = 1
    per_node: int = 4
    first_node: int = 1
    start: float = 0.0
    stagger: float = 0.0
    weight: float = 1.0
    cap: float = math.inf
    until: float = math.inf
    windows: tuple[tuple[float, float], ...] = ()
    is_mpi: bool = False
    is_profiled: bool = True
    program: str = ""
    in_turn: int = 1
    own_steps: dict[int, tuple[Step, ...]] = field(default_factory=dict, hash=False)

    def node(self, place: int) -> str:
        """The node of a process."""
        return f"n{self.first_node + place // self.per_node}"


Counts = dict[tuple[int, int], dict[str, float]]


@dataclass
class SimulatedProcess:
    """What a process did: start, end (s), and what a profiler counts, by storage and second: read_bytes, read_ops,
    read_seconds, and so on.
    """

    job: SimulatedJob
    place: int
    start: float
    end: float = 0.0
    counts: Counts = field(default_factory=lambda: defaultdict(lambda: defaultdict(float)))

    def seconds(self, *kinds: str) -> float:
        """Time in calls of these kinds; of all kinds, where none is named."""
        names = [f"{kind}_seconds" for kind in kinds or ("read", "write", "meta", "sync")]
        return sum(row[name] for row in self.counts.values() for name in names)

    def total(self, name: str) -> float:
        """One count over all storages and seconds."""
        return sum(row[name] for row in self.counts.values())


@dataclass
class Outcome:
    """How a simulation went; whoever asks for it again has the same one. served: by node, storage and second, what
    devices count: read_bytes, write_bytes.
    """

    storages: list[Storage]
    jobs: list[SimulatedJob]
    processes: list[SimulatedProcess]
    served: dict[tuple[str, int, int], dict[str, float]]

    def of(self, job: str) -> list[SimulatedProcess]:
        """The processes of a job."""
        return [process for process in self.processes if process.job.name == job]

    def runtime(self, job: str) -> float:
        """Seconds from a job's first process to the end of its last one."""
        own = self.of(job)
        return max(process.end for process in own) - min(process.start for process in own)

    def io_seconds(self, job: str, *kinds: str) -> float:
        """Time in calls of the process of a job that has most of it."""
        return max(process.seconds(*kinds) for process in self.of(job))


@dataclass(frozen=True)
class _Leg:
    """A stretch of a program: a wait of `seconds`, or `amount` to be served of `kind`. counted: as what kind of call;
    empty: as none.
    """

    seconds: float = 0.0
    amount: float = 0.0
    kind: Kind = "read"
    storage: int = 0
    counted: CountedKind | Literal[""] = ""
    bytes: float = 0.0
    ops: float = 0.0
    is_barrier: bool = False


def simulate(
    storages: Sequence[Storage],
    jobs: Sequence[SimulatedJob],
    seed: int = 1,
    longest: float = 3600.0,
    until_end_of: str = "",
) -> Outcome:
    """Runs jobs until all have ended.

    seed: of all noise. A job has the same noise, and so has a storage at the same time, whoever else is there.
    until_end_of: all others are stopped when this job has ended.
    """
    return _simulated(tuple(storages), tuple(jobs), seed, longest, until_end_of)


@lru_cache(maxsize=OUTCOMES_KEPT)
def _simulated(
    storages: tuple[Storage, ...], jobs: tuple[SimulatedJob, ...], seed: int, longest: float, watched: str
) -> Outcome:
    return _Simulation(storages, jobs, seed, longest, watched).run()


def shares(storage: Storage, wanting: Sequence[tuple[Kind, float, float]], speed: float = 1.0) -> list[float]:
    """The rates of those who want something: (kind, weight, cap) each, at so much of the storage's speed.

    Everybody has storage time (rate over the limit of its kind) by weight, or what it wants where that is less.
    """
    limits = {"read": storage.read * speed, "write": storage.write * speed, "meta": storage.meta * speed}
    most = [cap / limits[kind] for kind, _, cap in wanting]
    by_kind = tuple((kind, weight, cap) for (kind, weight, _), cap in zip(wanting, most, strict=True))
    level = _level(by_kind, storage.exponent)
    return [min(level * weight, cap) * limits[kind] for kind, weight, cap in by_kind]


@lru_cache(maxsize=LEVELS_KEPT)
def _level(wanting: tuple[tuple[Kind, float, float], ...], exponent: float) -> float:
    """The storage time that a weight of 1 has. wanting: kind, weight, and most storage time of each."""
    alike = Counter(wanting).items()

    def is_within(level: float) -> bool:
        used = {"read": 0.0, "write": 0.0, "meta": 0.0}
        for (kind, weight, cap), count in alike:
            used[kind] += count * min(level * weight, cap)
        return sum(part**exponent for part in used.values()) <= 1

    high = max((cap / weight for _, weight, cap in wanting), default=0.0)
    if math.isinf(high):
        high = 1 / min(weight for _, weight, _ in wanting)
    low = high if is_within(high) else 0.0
    for _ in range(60 if low < high else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if is_within(middle) else (low, middle)
    return low


class _Simulation:
    def __init__(
        self, storages: Sequence[Storage], jobs: Sequence[SimulatedJob], seed: int, longest: float, watched: str
    ) -> None:
        self.storages, self.jobs, self.longest = list(storages), list(jobs), longest
        self.watched = sum(job.processes for job in jobs if job.name == watched) or math.inf
        self.watched_name = watched
        self.speeds = [_speeds(storage, seed, int(longest) + 1) for storage in storages]
        self.is_steady = [not (storage.noise or storage.drift) for storage in storages]
        self.processes = [
            SimulatedProcess(job, place, job.start + place * job.stagger)
            for job in jobs
            for place in range(job.processes)
        ]
        self.programs = [_legs(process, self.storages, seed) for process in self.processes]
        self.served: dict[tuple[str, int, int], dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self.nodes = [process.job.node(process.place) for process in self.processes]
        count = len(self.processes)
        self.leg: list[_Leg | None] = [None] * count
        self.since = [0.0] * count
        self.ready = [process.start for process in self.processes]
        self.left = [0.0] * count
        self.rate = [0.0] * count
        self.working: set[int] = set()
        self.at_barrier: dict[str, list[int]] = defaultdict(list)
        self.known_rates: dict[tuple, dict[int, float]] = {}

    def run(self) -> Outcome:
        now = 0.0
        waiting = set(range(len(self.processes)))
        while waiting or self.working:
            if now >= self.longest:
                raise RuntimeError(f"the simulation is not at its end after {now:g} s")
            self._set_rates(now)
            next_at = math.floor(now + 1e-9) + 1.0
            ready, rate, left, leg = self.ready, self.rate, self.left, self.leg
            for place in waiting:
                next_at = min(next_at, ready[place])
            for place in self.working:
                if rate[place] > 0:
                    next_at = min(next_at, now + left[place] / rate[place])
            self._serve(now, next_at)
            now = next_at
            over = [place for place in waiting if ready[place] <= now + 1e-12]
            over += [place for place in self.working if left[place] <= LEAST_LEFT * leg[place].amount]
            for place in sorted(over):
                waiting.discard(place)
                self.working.discard(place)
                self._begin_next(place, now, waiting)
        return Outcome(self.storages, self.jobs, self.processes, self.served)

    def _serve(self, now: float, until: float) -> None:
        # No stretch goes beyond a second's end.
        second = int(now + 1e-9)
        for place in self.working:
            moved, leg = self.rate[place] * (until - now), self.leg[place]
            self.left[place] -= moved
            if leg.kind != "meta":
                self.served[self.nodes[place], leg.storage, second][BYTES[leg.kind]] += moved

    def _begin_next(self, place: int, now: float, waiting: set[int]) -> None:
        """Counts the leg that is over, and begins the one after it."""
        self._count(place, now)
        process = self.processes[place]
        leg = self._next_leg(place, now)
        self.leg[place], self.since[place] = leg, now
        if leg is None:
            process.end = now
            self.watched -= process.job.name == self.watched_name
            self.at_barrier[process.job.name].append(-1)
        elif leg.is_barrier:
            self.at_barrier[process.job.name].append(place)
        elif leg.amount:
            self.left[place] = leg.amount
            self.working.add(place)
        else:
            self.ready[place] = now + leg.seconds
            waiting.add(place)
        there = self.at_barrier[process.job.name]
        if len(there) == process.job.processes:
            for other in [other for other in there if other >= 0]:
                self.ready[other] = now
                waiting.add(other)
            there[:] = [other for other in there if other < 0]

    def _next_leg(self, place: int, now: float) -> _Leg | None:
        """None: it ends."""
        job = self.processes[place].job
        if now >= job.until or not self.watched:
            return None
        if job.windows and not any(begin <= now < end for begin, end in job.windows):
            later = [begin for begin, _ in job.windows if begin > now]
            return _Leg(seconds=min(later) - now) if later else None
        return next(self.programs[place], None)

    def _set_rates(self, now: float) -> None:
        second = int(now + 1e-9)
        for number, storage in enumerate(self.storages):
            legs = [
                (place, self.leg[place].kind) for place in sorted(self.working) if self.leg[place].storage == number
            ]
            key = (number, 0 if self.is_steady[number] else second, *legs)
            known = self.known_rates.get(key)
            if known is None:
                known = self._rates(storage, [place for place, _ in legs], self.speeds[number][second])
                self.known_rates[key] = known
            for place, rate in known.items():
                self.rate[place] = rate

    def _rates(self, storage: Storage, places: list[int], speed: float) -> dict[int, float]:
        jobs = [self.processes[place].job for place in places]
        members = {name: sum(job.name == name for job in jobs) for name in {job.name for job in jobs}}
        wanting = [
            (
                self.leg[place].kind,
                job.weight / (members[job.name] if storage.by == "job" else 1),
                math.inf if self.leg[place].kind == "meta" else job.cap,
            )
            for place, job in zip(places, jobs, strict=True)
        ]
        return dict(zip(places, shares(storage, wanting, speed), strict=True))

    def _count(self, place: int, now: float) -> None:
        """What a profiler counts of a leg: bytes and time in the seconds that it spanned, calls at its end."""
        leg, since, process = self.leg[place], self.since[place], self.processes[place]
        if leg is None or not (leg.counted or leg.amount):
            return
        length = now - since
        last = math.floor(now - 1e-12)
        for second in range(math.floor(since), max(last, math.floor(since)) + 1):
            here = min(now, second + 1) - max(since, second)
            part = here / length if length > 0 else 1.0
            row = process.counts[leg.storage, second]
            row[f"{leg.counted}_seconds"] += here
            if leg.bytes:
                row[f"{leg.kind}_bytes"] += leg.bytes * part
        if leg.ops:
            process.counts[leg.storage, max(last, math.floor(since))][f"{leg.counted}_ops"] += leg.ops


def _legs(process: SimulatedProcess, storages: Sequence[Storage], seed: int) -> Iterator[_Leg]:
    """The program of a process, leg by leg."""
    job = process.job
    random = np.random.default_rng([seed, zlib.crc32(job.name.encode()), process.place])
    for step in job.own_steps.get(process.place, job.steps):
        if isinstance(step, Compute):
            yield _Leg(seconds=step.seconds * max(0.0, 1 + step.spread * float(random.standard_normal())))
        elif isinstance(step, Barrier):
            yield _Leg(is_barrier=True)
        elif step.is_synced:
            yield from _buffered(step, step.amount, "sync")
        elif step.burst:
            for begin in np.arange(0.0, step.amount, step.burst).tolist():
                yield from _buffered(step, min(step.burst, step.amount - begin), "write")
        else:
            yield from _in_calls(step, storages[step.storage], random)


def _buffered(step: Transfer, amount: float, waits_as: CountedKind) -> Iterator[_Leg]:
    """Bytes that go to memory at once, and a call that waits until the storage has them."""
    calls = math.ceil(amount / step.call)
    yield _Leg(amount / MEMORY_RATE, 0.0, "write", step.storage, "write", amount, calls)
    yield _Leg(calls * step.latency, amount, "write", step.storage, waits_as, 0.0, 1)


def _in_calls(step: Transfer, storage: Storage, random: np.random.Generator) -> Iterator[_Leg]:
    """Calls one after the other, some of them at a time."""
    each = 1.0 if step.kind == "meta" else step.call
    alone = step.latency + each / getattr(storage, step.kind)
    turn = each * max(1, round(TURN_SECONDS / alone))
    left = step.amount
    while left > 0:
        # Turns of processes that do the same must not stay in step with each other.
        amount = turn * float(random.uniform(0.6, 1.4))
        amount = left if left < 1.5 * amount else amount
        calls = amount / each
        if step.latency:
            yield _Leg(calls * step.latency, 0.0, step.kind, step.storage, step.kind)
        moved = 0.0 if step.kind == "meta" else amount
        yield _Leg(0.0, amount, step.kind, step.storage, step.kind, moved, calls)
        left -= amount


@cache
def _speeds(storage: Storage, seed: int, seconds: int) -> list[float]:
    """The speed of a storage in each second, around 1."""
    random = np.random.default_rng([seed, zlib.crc32(storage.name.encode())])
    noise = storage.noise * random.standard_normal(seconds)
    steps = random.standard_normal(seconds)
    drift, stays = np.zeros(seconds), math.exp(-1 / 20)
    for place in range(1, seconds):
        drift[place] = stays * drift[place - 1] + math.sqrt(1 - stays**2) * steps[place]
    return np.clip(1 + noise + storage.drift * drift, 0.2, None).tolist()
