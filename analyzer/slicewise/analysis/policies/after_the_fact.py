"""Policies for jobs that ran: their I/O phases, simulated as they ran (against when phases really ended) and under
each.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from slicewise.analysis.capacity.capacity import (
    Capacity,
    fastest_alone,
    got_together,
    own_slices_demand,
    own_slices_rates,
)
from slicewise.analysis.job.phases import phases_on, served_on
from slicewise.analysis.policies.comparison import PolicyComparison, compare
from slicewise.analysis.policies.decisions import machine_cost
from slicewise.analysis.policies.simulation import IoPhase, Outcome, PolicyJob, Simulated
from slicewise.analysis.runs.campaign import campaign_of, campaign_there
from slicewise.analysis.runs.matching import Run, match_standalone, runs_to_compare
from slicewise.analysis.runs.on_storage import on_storage
from slicewise.analysis.runs.storage import Storage, busier_direction, describe, storage_of
from slicewise.analysis.sharing.fitted_model import fit_model
from slicewise.analysis.sharing.weights import Weighting
from slicewise.digest.activity import Direction, activity, common_slice_ns, on_grid
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.estimate import Estimate
from slicewise.kinds import POLICIES, Metric, Policy, Simulable

RateSource = Literal["standalone runs", "quiet slices", "the storage's capacity"]
# Phases of two runs are the same if their volumes are that close.
PHASES_ALIKE = 0.1
# Of the metric, or of a job's I/O span: a smaller gain or loss is none, however well the simulation fits.
LEAST_GAIN = 0.005


@dataclass(frozen=True)
class ProfiledJob:
    """A job as it is simulated (plan; its start is s from the first job's), and as it was: observed holds begin and end
    of each I/O phase (s), on the same axis. source: where the rate is from that it reaches alone.
    """

    run: Run
    plan: PolicyJob
    observed: tuple[tuple[float, float], ...]
    end: float
    source: RateSource

    @property
    def io_seconds(self) -> float:
        return math.fsum(end - begin for begin, end in self.observed)


@dataclass(frozen=True)
class Check:
    """A job's I/O time as simulated without a policy and as it was (s)."""

    job: str
    observed: float
    simulated: float

    @property
    def relative_error(self) -> float:
        return (self.simulated - self.observed) / self.observed


@dataclass(frozen=True)
class AfterTheFact:
    """checks: a job each. error: how far the simulation is off in the metric, jobs' errors not set off against each
    other. weighting: what shares go by; is_weight_fitted: the runs themselves (or a model) say so.
    """

    jobs: list[ProfiledJob]
    storage: Storage
    direction: Direction
    capacity: Capacity
    weighting: Weighting
    is_weight_fitted: bool
    comparison: PolicyComparison
    checks: list[Check]
    error: float

    @property
    def best(self) -> Simulated:
        return self.comparison.best

    @property
    def is_worth_it(self) -> bool:
        before = self.comparison.undisturbed.cost(self.comparison.metric)
        return self.comparison.gain(self.best) > LEAST_GAIN * before

    @property
    def is_recommended(self) -> bool:
        """Whether it also gains more than the simulation may be off."""
        return self.is_worth_it and self.comparison.gain(self.best) > self.error

    @property
    def chosen(self) -> Simulable:
        return self.best.policy if self.is_recommended else "interfere"

    def given_to(self, places: Sequence[int]) -> float:
        """What the storage serves while these jobs are in I/O (bytes/s)."""
        return _serves(self.capacity, self.jobs, places)


def after_the_fact(
    digests: Sequence[Digest],
    alone: Sequence[Digest] = (),
    capacity: Capacity | None = None,
    weighting: Weighting | None = None,
    metric: Metric = "cpu_seconds",
    policies: Sequence[Policy] = POLICIES,
    delay: float | None = None,
) -> AfterTheFact:
    """Simulate jobs that ran side by side under each policy. alone: standalone runs of theirs. capacity, weighting:
    where they are known; else they are those of these very runs. Raises UserError for fewer than two jobs, jobs that
    share no storage, or a capacity that nothing shows.
    """
    if len(digests) < 2:
        raise UserError("turns policy needs the profiles of two or more jobs that ran at the same time")
    runs = runs_to_compare(digests)
    own = [run.digest for run in runs]
    number = storage_of(own, "they had no need to take turns")
    storage, direction = describe(number, own), busier_direction(own, number)
    standalone = match_standalone(alone, [run.job for run in runs])
    everyone = [*digests, *alone]
    is_weight_fitted = weighting is not None
    if weighting is None:
        data = campaign_there(everyone, storage.number, direction)
        found = None if data is None else fit_model(data.jobs, data.slices).weight.chosen
        weighting, is_weight_fitted = found or Weighting("processes"), found is not None
    jobs = _profiled(runs, standalone, storage.number, direction, weighting)
    known = capacity or _seen(jobs, storage)
    plans = [job.plan for job in jobs]
    comparison = compare(lambda places: _serves(known, jobs, places), plans, metric, policies, delay)
    checks = [
        Check(job.plan.job, job.io_seconds, outcome.io_seconds)
        for job, outcome in zip(jobs, comparison.undisturbed.jobs, strict=True)
    ]
    error = _error(metric, jobs, comparison.undisturbed.jobs)
    return AfterTheFact(jobs, storage, direction, known, weighting, is_weight_fitted, comparison, checks, error)


def _seen(jobs: Sequence[ProfiledJob], storage: Storage) -> Capacity:
    """What jobs moved together in slices within phases of several; else what the fastest moves alone."""
    grid_ns = common_slice_ns([job.run.digest for job in jobs])
    found = got_together(pl.concat([_within_phases(job, storage.number, grid_ns) for job in jobs]), "moved")
    alone = [phase.cap for job in jobs for phase in job.plan.phases if math.isfinite(phase.cap)]
    known = found or fastest_alone([Estimate(cap, cap, cap, "one of its phases") for cap in alone])
    if known is None:
        raise UserError(
            f"how much {storage.point} can serve is not known: in no two slices were two of these jobs at work "
            "throughout, and none ran alone; give --capacity, such as 2GiB/s, or a model by --fitted M"
        )
    return known


def _within_phases(job: ProfiledJob, storage: int, grid_ns: int) -> pl.DataFrame:
    """The slices that lie within a phase of the job's as a whole, as `got_together` takes them."""
    digest = job.run.digest
    found = phases_on(digest, storage)
    inside = [
        (number, phase.cap if math.isfinite(phase.cap) else None)
        for (begin, end), phase in zip(found.select("start_ns", "end_ns").iter_rows(), job.plan.phases, strict=True)
        for number in range(-(-begin // grid_ns), end // grid_ns)
    ]
    moved = (
        served_on(digest, storage)
        .group_by(slice=pl.col("slice") // (grid_ns // digest.slice_ns))
        .agg(bytes=(pl.col("read_bytes") + pl.col("write_bytes")).sum().cast(pl.Float64))
    )
    slices = pl.DataFrame(inside, schema={"slice": pl.Int64, "alone": pl.Float64}, orient="row")
    return (
        slices.join(moved, on="slice", how="left")
        .with_columns(pl.col("bytes").fill_null(0.0))
        .with_columns(run=pl.lit(""), job=pl.lit(job.run.name), seconds=grid_ns / 1e9)
    )


def _profiled(
    runs: Sequence[Run], standalone: dict[str, list[Run]], storage: int, direction: Direction, weighting: Weighting
) -> list[ProfiledJob]:
    origin = min(run.job.start_ns for run in runs)
    grid_ns = common_slice_ns([run.digest for run in runs])
    rows = [on_grid(activity(run.digest, direction, storage), run.digest.slice_ns, grid_ns) for run in runs]
    quiet_rates = own_slices_rates(pl.concat(rows), grid_ns)
    found = []
    for run in runs:
        phases = phases_on(run.digest, storage)
        caps, source = _caps(phases, [phases_on(one.digest, storage) for one in standalone[run.name]])
        quiet = own_slices_demand(quiet_rates[run.name]) if not caps and run.name in quiet_rates else None
        if quiet is not None:
            caps, source = [quiet.bytes_per_second.value] * len(phases), "quiet slices"
        spans = [
            ((begin - origin) / 1e9, (end - origin) / 1e9)
            for begin, end in phases.select("start_ns", "end_ns").iter_rows()
        ]
        start, end = (run.job.start_ns - origin) / 1e9, (run.job.end_ns - origin) / 1e9
        before = [start, *(last for _, last in spans[:-1])]
        volumes = (phases["read_bytes"] + phases["write_bytes"]).to_list()
        plan = PolicyJob(
            job=run.name,
            processes=run.job.processes,
            weight=_weight(run, storage, direction, weighting),
            start=start,
            phases=tuple(
                IoPhase(max(0.0, begin - earlier), float(volume), cap)
                for (begin, _), earlier, volume, cap in zip(
                    spans, before, volumes, caps or [math.inf] * len(spans), strict=True
                )
            ),
            computing_after=max(0.0, end - spans[-1][1]),
        )
        found.append(ProfiledJob(run, plan, tuple(spans), end, source))
    return found


def _caps(phases: pl.DataFrame, alone: Sequence[pl.DataFrame]) -> tuple[list[float], RateSource]:
    """The rate that each phase reaches alone (bytes/s), by standalone runs: phase by phase, or one for all."""
    if not alone:
        return [], "the storage's capacity"
    volumes = _volumes(phases)
    alike = [run for run in alone if _are_alike(volumes, _volumes(run))]
    if alike:
        each = zip(*([moved / seconds for moved, seconds in zip(_volumes(run), run["seconds"], strict=True)]
                     for run in alike), strict=True)  # fmt: skip
        return [len(rates) / math.fsum(1 / rate for rate in rates) for rates in each], "standalone runs"
    moved = math.fsum(math.fsum(_volumes(run)) for run in alone)
    seconds = math.fsum(math.fsum(run["seconds"]) for run in alone)
    return [moved / seconds] * len(volumes), "standalone runs"


def _volumes(phases: pl.DataFrame) -> list[float]:
    return [float(volume) for volume in phases["read_bytes"] + phases["write_bytes"]]


def _are_alike(ones: Sequence[float], others: Sequence[float]) -> bool:
    return len(ones) == len(others) and all(
        abs(one - other) <= PHASES_ALIKE * max(one, other) for one, other in zip(ones, others, strict=True)
    )


def _weight(run: Run, storage: int, direction: Direction, weighting: Weighting) -> float:
    """What the job's share goes by, of the processes that did I/O there."""
    there = on_storage(run, storage, direction)
    if there.span is None:
        return weighting.of(run.job.processes, run.job.nodes, run.job.nodes, 1.0)
    grid_ns = run.digest.slice_ns
    row = campaign_of([there], storage, direction, grid_ns, "by time").jobs.row(0, named=True)
    return float(weighting.of(row["processes"], row["nodes"], row["mounts"], row["outstanding"] or 1.0))


def _serves(capacity: Capacity, jobs: Sequence[ProfiledJob], places: Sequence[int]) -> float:
    present = [jobs[place] for place in places]
    rates = [phase.cap for job in present for phase in job.plan.phases if math.isfinite(phase.cap)]
    processes, nodes = sum(job.run.job.processes for job in present), sum(job.run.job.nodes for job in present)
    return capacity.at(len(present), processes, nodes, alone=max(rates, default=0.0))


def _error(metric: Metric, jobs: Sequence[ProfiledJob], simulated: Sequence[Outcome]) -> float:
    off = [
        (job.plan.processes, abs(outcome.io_seconds - job.io_seconds), outcome.io_alone)
        for job, outcome in zip(jobs, simulated, strict=True)
    ]
    return machine_cost(metric, off, abs(max(one.end for one in simulated) - max(job.end for job in jobs)))
