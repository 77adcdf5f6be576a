"""Campaigns that never ran: jobs served by known weights from a known capacity, as frames that models are fitted to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from slicewise.analysis.runs.campaign import JOBS_SCHEMA, SLICES_SCHEMA, pair_of
from slicewise.analysis.sharing.proportional import Schedule, SharingJob, share_out
from slicewise.analysis.sharing.weights import Weighting

MIB = 1 << 20
SLICE_SECONDS = 1.0


@dataclass(frozen=True)
class Size:
    """What a job is; transfer: bytes a call, each process having one under way."""

    processes: int
    nodes: int = 1
    mounts: int | None = None
    transfer: int = MIB

    @property
    def clients(self) -> tuple[int, int, int]:
        return self.processes, self.nodes, self.nodes if self.mounts is None else self.mounts

    @property
    def outstanding(self) -> float:
        return float(self.processes * self.transfer)


def campaign(
    combinations: Sequence[Sequence[Size]],
    weighting: Weighting,
    capacity: Callable[[int], float] = lambda processes: 100.0 * MIB,
    volume: float = 2000.0 * MIB,
    repeats: int = 3,
    noise: float = 0.02,
    process_cap: float = float("inf"),
    stagger: float = 0.0,
    seed: int = 7,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The jobs' and the slices' frames: each size alone, each combination together, `repeats` times.

    capacity: bytes/s by active processes. noise: of each job's bytes in a slice, relative. stagger: seconds between the
    starts of the jobs of a combination.
    """
    random = np.random.default_rng(seed)
    sizes = list(dict.fromkeys(size for combination in combinations for size in combination))
    jobs: list[dict] = []
    slices: list[dict] = []
    for members in [*([size] for size in sizes), *combinations]:
        for repeat in range(repeats):
            pair = pair_of(size.clients for size in members)
            run = f"{pair} #{repeat}"
            served = [
                SharingJob(
                    f"{run}/{place}", volume, weighting.of(*size.clients, size.outstanding),
                    process_cap * size.processes, stagger * place,
                )
                for place, size in enumerate(members)
            ]  # fmt: skip

            def rate(active: Sequence[int], members: Sequence[Size] = members) -> float:
                return capacity(sum(members[place].processes for place in active))

            schedule = share_out(rate, served)
            for job, size, place in zip(schedule.jobs, members, range(len(members)), strict=True):
                seconds = job.t_co * (1 + noise * random.standard_normal() / 5)
                own = {"run": run, "pair": pair, "job": job.job, "program": "load"}
                spans = {"start": stagger * place, "seconds": seconds, "seconds_low": seconds, "seconds_high": seconds}
                jobs.append(own | _clients(size) | spans | {"bytes": int(volume)})
            places = range(int(max(job.end for job in schedule.jobs)) + 1)
            moved = volume_per_slice(schedule, SLICE_SECONDS, places)
            for number in places:
                active = [place for place in range(len(members)) if moved[place, number] > 0]
                ends = [(served[place].start, schedule.jobs[place].end) for place in active]
                if not all(begin <= number and number + 1 <= end for begin, end in ends):
                    continue
                for place in active:
                    amount = moved[place, number] * (1 + noise * random.standard_normal())
                    slices.append(
                        {"run": run, "pair": pair, "slice": number, "job": served[place].job, "seconds": SLICE_SECONDS}
                        | _clients(members[place])
                        | {"bytes": int(amount)}
                    )
    return pl.DataFrame(jobs, schema=JOBS_SCHEMA), pl.DataFrame(slices, schema=SLICES_SCHEMA)


def _clients(size: Size) -> dict[str, float]:
    processes, nodes, mounts = size.clients
    return {"processes": processes, "nodes": nodes, "mounts": mounts, "outstanding": size.outstanding}


def volume_per_slice(schedule: Schedule, slice_seconds: float, slices: range) -> np.ndarray:
    """What each job moves in slices [k, k + 1) * slice_seconds: (jobs, slices)."""
    moved = np.zeros((len(schedule.jobs), len(slices)))
    starts = np.arange(slices.start, slices.stop) * slice_seconds
    for stage in schedule.stages:
        seconds = np.minimum(starts + slice_seconds, stage.end) - np.maximum(starts, stage.start)
        moved += np.outer(stage.rates, np.maximum(seconds, 0.0))
    return moved
