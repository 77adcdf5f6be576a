"""Jobs beside others, with what each of them really lost: what `slicewise blame` is tried on."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from support.simulated_profiles import BEGIN_SECONDS, write_profile
from support.simulated_storage import MIB, Barrier, Compute, Outcome, SimulatedJob, Step, Storage, Transfer, simulate

# Standalone runs took place so much earlier, with noise of their own.
EARLIER_SECONDS = 100_000
SCRATCH = Storage("scratch", 100 * MIB, 80 * MIB, 2000, noise=0.03)


@dataclass(frozen=True)
class Scenario:
    """A job and its neighbours. other_sizes: the same program as other jobs, for standalone runs of other sizes."""

    name: str
    job: SimulatedJob
    neighbours: tuple[SimulatedJob, ...]
    storages: tuple[Storage, ...] = (SCRATCH,)
    other_sizes: tuple[SimulatedJob, ...] = ()
    seed: int = 1

    @cached_property
    def together(self) -> Outcome:
        """What happened."""
        return self._with(self.neighbours)

    @cached_property
    def alone(self) -> Outcome:
        """What would have happened without any neighbour, with the very same noise."""
        return self._with(())

    def _with(self, others: Sequence[SimulatedJob]) -> Outcome:
        return simulate(self.storages, [self.job, *others], self.seed, until_end_of=self.job.name)

    @property
    def lost(self) -> float:
        """Seconds by which the runtime grew."""
        return self.together.runtime(self.job.name) - self.alone.runtime(self.job.name)

    @property
    def io_lost(self) -> float:
        """Seconds by which the time in calls of the process with most of it grew."""
        return self.together.io_seconds(self.job.name) - self.alone.io_seconds(self.job.name)

    @property
    def lost_share(self) -> float:
        """The part of the I/O time that was lost."""
        return self.io_lost / self.together.io_seconds(self.job.name)

    def lost_to(self, neighbour: str) -> float:
        """Seconds of runtime that the job would have been faster without this neighbour."""
        others = [other for other in self.neighbours if other.name != neighbour]
        without = self._with(others)
        return self.together.runtime(self.job.name) - without.runtime(self.job.name)

    def profiles(self, directory: Path, slice_seconds: int, has_collectors: bool = False) -> tuple[Path, list[Path]]:
        """The profiles of the job and of its neighbours that have one."""
        names = [self.job.name, *(other.name for other in self.neighbours if other.is_profiled)]
        job, *others = (
            write_profile(self.together, name, directory / name, slice_seconds, has_collectors=has_collectors)
            for name in names
        )
        return job, others

    def standalone(self, directory: Path, slice_seconds: int, runs: int = 2) -> list[Path]:
        """Profiles of runs of the very same job, alone, earlier."""
        return [
            self._earlier(replace(self.job), directory / f"{self.job.name}-alone{run}", slice_seconds, run)
            for run in range(runs)
        ]

    def of_other_sizes(self, directory: Path, slice_seconds: int) -> list[Path]:
        """Profiles of standalone runs of other sizes."""
        return [
            self._earlier(job, directory / f"{job.name}-other{run}", slice_seconds, 10 + run)
            for run, job in enumerate(self.other_sizes)
        ]

    def _earlier(self, job: SimulatedJob, directory: Path, slice_seconds: int, run: int) -> Path:
        outcome = simulate(self.storages, [job], seed=1000 * self.seed + run + 1)
        begin = BEGIN_SECONDS - EARLIER_SECONDS - 10_000 * run
        return write_profile(outcome, job.name, directory, slice_seconds, begin - begin % slice_seconds)


# Of the time, when one, two and three neighbours are there in turn.
TURN = 16.0
IN_TURN = tuple(
    tuple((3 * TURN * cycle + TURN * place, 3 * TURN * (cycle + 1)) for cycle in range(20)) for place in range(3)
)


def scenarios() -> Iterator[Scenario]:
    """Every kind of job, beside neighbours for a part of its time, for all of it, and beside more and fewer in turn."""
    for name, job, kind, storage in victims():
        yield Scenario(f"{name}, for a while", job, (replace(kind, start=20.0, until=60.0),), (storage,))
        yield Scenario(f"{name}, all the time", job, (kind,), (storage,))
        others = tuple(
            replace(kind, name=f"{kind.name}{place}", windows=windows, first_node=20 + 5 * place)
            for place, windows in enumerate(IN_TURN)
        )
        yield Scenario(f"{name}, one to three", job, others, (storage,))
    yield from of_several()


def writing(mib: float, **others: float | bool) -> Transfer:
    """Writes of so many MiB."""
    return Transfer("write", mib * MIB, **others)


def reading(mib: float, **others: float | bool) -> Transfer:
    """Reads of so many MiB."""
    return Transfer("read", mib * MIB, **others)


def neighbour(name: str, *steps: Step, processes: int = 2, **others: float) -> SimulatedJob:
    """Somebody who does the same again and again, until it is stopped."""
    return SimulatedJob(name, steps * 2000, processes, first_node=20, **others)


def victims() -> Iterator[tuple[str, SimulatedJob, SimulatedJob, Storage]]:
    """What is tried: the job, the kind of its neighbours, and the storage."""

    def job(*steps: Step, processes: int = 1, **others: float | bool) -> SimulatedJob:
        return SimulatedJob("victim", steps, processes, **others)

    writer, reader = neighbour("writer", writing(64)), neighbour("reader", reading(64))
    yield "equal writers", job(writing(2000), processes=2), writer, SCRATCH
    yield "few beside many writers", job(writing(1500), processes=2), replace(writer, processes=6), SCRATCH
    yield "many beside few writers", job(writing(600), processes=6), writer, SCRATCH
    yield "writers with the same weight as jobs", job(writing(2000), processes=2), writer, replace(SCRATCH, by="job")
    for exponent in (1, 2, 6):
        storage = replace(SCRATCH, exponent=float(exponent))
        yield f"reader beside writer, p {exponent}", job(reading(5000)), replace(writer, processes=1), storage
    yield "writer beside reader, p 1", job(writing(4000)), replace(reader, processes=1), SCRATCH
    yield "computes 80 %", job(*(Compute(4, 0.05), writing(80)) * 14), writer, SCRATCH
    yield (
        "ranks with phases",
        job(*(Compute(3, 0.05), Barrier(), Transfer("meta", 2), writing(40), Barrier()) * 12, processes=4, is_mpi=True),
        neighbour("periodic", Compute(2, 0.1), writing(160)),
        SCRATCH,
    )
    yield (
        "ranks with uneven phases",
        job(
            processes=4,
            is_mpi=True,
            own_steps={place: (Compute(2, 0.1), writing(20 + 20 * place), Barrier()) * 14 for place in range(4)},
        ),
        writer,
        SCRATCH,
    )
    storm = tuple(step for _ in range(300) for step in (Transfer("meta", 150), writing(2.4, call=0.016 * MIB)))
    yield "metadata storm beside a stream", job(*storm, processes=2), writer, SCRATCH
    stormy = neighbour("storm", Transfer("meta", 150), writing(2.4, call=0.016 * MIB))
    yield "stream beside a metadata storm", job(writing(2000), processes=2), stormy, SCRATCH
    small = {"call": MIB / 16, "latency": 0.0005}
    yield (
        "small reads beside checkpoints",
        job(*(reading(8, **small), Compute(0.1, 0.1)) * 120, processes=4),
        neighbour("checkpoint", Compute(6, 0.1), writing(400, burst=64.0 * MIB)),
        SCRATCH,
    )
    yield (
        "several that do not saturate",
        job(reading(700), processes=6, cap=12.0 * MIB),
        replace(reader, processes=6, cap=12.0 * MIB),
        SCRATCH,
    )
    yield ("several in latency", job(reading(400, latency=0.06), processes=6), replace(reader, processes=4), SCRATCH)
    mixed = tuple(
        step for _ in range(8) for step in (reading(40, call=MIB / 16, latency=0.002), reading(300, call=4.0 * MIB))
    )
    yield "mixed call sizes", job(*mixed), writer, SCRATCH
    blocks = tuple(step for _ in range(2) for step in (reading(400, call=MIB / 16, latency=0.001), reading(1500)))
    yield "call sizes in blocks", job(*blocks), writer, SCRATCH
    yield "a script of many programs", job(writing(2000), in_turn=30), writer, SCRATCH
    yield "pairs of programs", job(writing(2000), processes=2, in_turn=12), writer, SCRATCH
    yield "bursts of writes", job(writing(2000, burst=128.0 * MIB), processes=2), writer, SCRATCH
    yield "checkpoints with sync", job(*(Compute(4, 0.05), writing(160, is_synced=True)) * 16), writer, SCRATCH
    yield ("reads and writes in turn", job(*(reading(200), writing(160)) * 14), replace(writer, processes=1), SCRATCH)


def of_several() -> Iterator[Scenario]:
    """Three jobs, two of which hurt; neighbours in the same program with unlike weights."""
    victim = SimulatedJob("victim", (writing(2000),), 2)
    archive = Storage("archive", 100 * MIB, 80 * MIB, 2000, noise=0.03)
    writer = neighbour("writer", writing(64), start=10.0, until=50.0)
    reader = neighbour("reader", reading(64), start=30.0, until=80.0)
    elsewhere = neighbour("elsewhere", Transfer("write", 64 * MIB, storage=1), start=5.0, until=90.0)
    yield Scenario("two of three hurt", victim, (writer, reader, elsewhere), (SCRATCH, archive))
    all_day = tuple(replace(other, start=0.0, until=math.inf) for other in (writer, reader, elsewhere))
    yield Scenario("two of three hurt all the time", victim, all_day, (SCRATCH, archive))
    heavy = neighbour("heavy", writing(64), processes=6, start=15.0, until=70.0)
    light = neighbour("light", Compute(0.9, 0.1), writing(20), processes=1, start=15.0, until=70.0)
    yield Scenario("a heavy and a light one", victim, (heavy, light))


@cache
def in_other_sizes() -> tuple[Scenario, Scenario]:
    """Beside a writer all the time, with standalone runs of half and of twice the processes: a job that fills the
    storage, and one that waits for answers.
    """

    def sized(step: Step, processes: int) -> SimulatedJob:
        return SimulatedJob("victim", (step,), processes)

    def scenario(name: str, step: Step) -> Scenario:
        others = (sized(step, 2), sized(step, 8))
        return Scenario(name, sized(step, 4), (neighbour("writer", writing(64)),), other_sizes=others)

    return (
        scenario("fills the storage in all sizes", writing(300)),
        scenario("waits for answers in all sizes", reading(120, latency=0.06)),
    )


def staggered(rest: float = 0.0, processes: int = 4) -> Scenario:
    """Writers that begin before the first one ends, so that one, two and more are at work, beside nobody. rest: MiB/s
    that the storage has for each of them, if it is one that nobody fills.
    """
    job = SimulatedJob("victim", (writing(2000),), processes, stagger=12.0, cap=rest * MIB or math.inf)
    return Scenario("staggered", job, ())


def without_loss() -> Iterator[Scenario]:
    """Jobs that lost nothing: alone, beside neighbours on another storage, and beside some that hardly do anything."""
    jobs = {name: job for name, job, _, _ in victims()}
    archive = Storage("archive", 100 * MIB, 80 * MIB, 2000, noise=0.05)
    elsewhere = neighbour("elsewhere", Transfer("write", 64 * MIB, storage=1), start=10.0, until=50.0)
    idle = neighbour("idle", Compute(5, 0.3), reading(0.1), start=5.0)
    kinds = (
        "equal writers", "reader beside writer, p 1", "computes 80 %", "ranks with phases", "ranks with uneven phases",
        "metadata storm beside a stream", "small reads beside checkpoints", "several in latency", "mixed call sizes",
        "bursts of writes",
    )  # fmt: skip
    for place, kind in enumerate(kinds):
        for number, others in enumerate(((), (elsewhere,), (idle,), (elsewhere, idle))):
            storage = replace(SCRATCH, noise=0.03 + 0.02 * number, drift=0.02 * (place % 3))
            beside = ", ".join(other.name for other in others) or "nobody"
            yield Scenario(f"{kind}: {beside}", jobs[kind], others, (storage, archive), seed=100 + 10 * place + number)
