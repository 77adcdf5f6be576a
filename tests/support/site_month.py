"""A month of a site, simulated: jobs of several programs on a few file systems, and one program among them that takes
more than its file system has. What it cost each other job is known from a simulation without it.

On each file system jobs arrive as a Poisson process during a shift a day; outside of it nobody works. Each program but
the aggressor asks for well less than a file system gives, by a limit on each process. Runs differ in length.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from support.simulated_profiles import BEGIN_SECONDS, write_profile
from support.simulated_storage import MIB, Barrier, Compute, Outcome, SimulatedJob, Step, Storage, Transfer, simulate

SECONDS_A_DAY = 86_400
# Longer calls make a simulation shorter, and change no share.
CALL = 4.0 * MIB


def _writing(mib: float) -> Transfer:
    return Transfer("write", mib * MIB, CALL)


def _reading(mib: float) -> Transfer:
    return Transfer("read", mib * MIB, CALL)


@dataclass(frozen=True)
class Program:
    """steps: of a process, again and again, fewest to most times. cap: bytes/s that a process gets at most."""

    name: str
    steps: tuple[Step, ...]
    fewest: int
    most: int
    processes: int
    cap: float = math.inf
    is_mpi: bool = False


PROGRAMS = (
    Program("climate", (Compute(4, 0.05), Barrier(), _writing(36), Barrier()), 6, 12, 4, 6 * MIB, is_mpi=True),
    Program("genome", (_reading(80), Compute(1, 0.1)), 5, 9, 2, 8 * MIB),
    Program("render", (Compute(3, 0.2), _writing(48)), 6, 10, 1, 12 * MIB),
)
AGGRESSOR = Program("dump", (_writing(300),), 2, 3, 16)
# In this share of shifts it runs once.
OFTEN = 0.5


@dataclass(frozen=True)
class Truth:
    """What a job lost, in seconds of its runtime: to all others, and to the aggressor."""

    program: str
    lost: float
    to_aggressor: float


@dataclass(frozen=True)
class Month:
    """jobs: of other programs than the aggressor, in the mean, of a shift on one file system."""

    days: int
    file_systems: int = 3
    shift_seconds: int = 1800
    jobs: float = 10.0
    seed: int = 1

    def write(self, directory: Path) -> dict[str, Truth]:
        """Write the profiles of all jobs, and give what each lost, by its name."""
        truth = {}
        for day in range(self.days):
            for number in range(self.file_systems):
                truth |= self._shift(directory, day, number)
        return truth

    def _shift(self, directory: Path, day: int, number: int) -> dict[str, Truth]:
        jobs = list(self._jobs(day, number))
        storage = Storage(f"scratch{number}", 100 * MIB, 80 * MIB, noise=0.03)
        seed = (self.seed * 1000 + day) * 10 + number

        def simulated(some: Sequence[SimulatedJob]) -> Outcome:
            return simulate([storage], some, seed, 4.0 * self.shift_seconds)

        together = simulated(jobs)
        begin = BEGIN_SECONDS + day * SECONDS_A_DAY
        for job in jobs:
            write_profile(together, job.name, directory / job.name, begin_seconds=begin)
        without = simulated([job for job in jobs if job.program != f"/opt/{AGGRESSOR.name}"])
        truth = {}
        for job in jobs:
            runtime, program = together.runtime(job.name), Path(job.program).name
            spared = runtime if program == AGGRESSOR.name else without.runtime(job.name)
            truth[job.name] = Truth(program, runtime - simulated([job]).runtime(job.name), runtime - spared)
        return truth

    def _jobs(self, day: int, number: int) -> Iterator[SimulatedJob]:
        random = np.random.default_rng((self.seed, day, number))
        starts = np.sort(random.uniform(0, self.shift_seconds, random.poisson(self.jobs)))
        begun = [(start, PROGRAMS[random.integers(len(PROGRAMS))]) for start in starts.tolist()]
        if random.random() < OFTEN:
            begun.append((float(random.uniform(0, self.shift_seconds)), AGGRESSOR))
        for place, (start, program) in enumerate(begun):
            times = int(random.integers(program.fewest, program.most + 1))
            yield SimulatedJob(
                f"{day:02}-{number}-{place:03}", program.steps * times, program.processes, start=start,
                first_node=1 + 10 * place, is_mpi=program.is_mpi, program=f"/opt/{program.name}", cap=program.cap,
            )  # fmt: skip
