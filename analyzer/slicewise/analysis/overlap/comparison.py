"""Compares runs in one direction: from the digests' rows to a DirectionOverlap (docs/models.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import polars as pl

from slicewise.analysis.capacity.capacity import Capacity, RateAlone, of_these_jobs, own_slices_demand, own_slices_rates
from slicewise.analysis.job.turns import turns
from slicewise.analysis.overlap.direction import (
    Contention,
    DirectionOverlap,
    JobInDirection,
    Ratio,
    Region,
    SlicesBeside,
    Uniformity,
    contention,
    in_region,
    regions,
    uniformity,
)
from slicewise.analysis.runs import storage
from slicewise.analysis.runs.campaign import Campaign, campaign_of
from slicewise.analysis.runs.limits import Limit, apart_by_limits
from slicewise.analysis.runs.matching import Run
from slicewise.analysis.runs.on_storage import RunOnStorage, on_storage
from slicewise.analysis.runs.rates import Rates, StandaloneRun, as_one_run, is_like, mean_rate, rates_of
from slicewise.analysis.runs.storage import StorageUse
from slicewise.analysis.sampled import sampled_bytes, sampled_processes
from slicewise.analysis.sharing import runtimes
from slicewise.analysis.sharing.goodness import Misfit, misfits, shares_shown
from slicewise.analysis.sharing.runtimes import WEIGHTS, Inverse, ObservedJob, Prediction
from slicewise.constants import FEWEST_FOR_A_MEAN, LEAST_OF_JOB, LITTLE_BYTES, MAINLY, MOSTLY_ACTIVE
from slicewise.digest.activity import ACTIVITY_SCHEMA, Direction, bytes_by_storage, on_grid
from slicewise.digest.processes import has_rank
from slicewise.estimate import Estimate
from slicewise.scalars import whole
from slicewise.text import words

OTHER_WAY: dict[Direction, Direction] = {"read": "write", "write": "read"}
# A job that waited for its turn for more than this fraction of its I/O is not what the models take a job to be.
MOSTLY_SERVED = 0.95
SHORTEST_SPAN = 1e-6


@dataclass(frozen=True)
class _Moved(RunOnStorage):
    """What a run moved on the storage, also on the common grid and in the other direction, and how long it waited for
    its turn.
    """

    on_grid: pl.DataFrame
    use: StorageUse
    other_way_bytes: int
    waited: Estimate


def compare(
    runs: Sequence[Run], standalone: Mapping[str, Sequence[Run]], direction: Direction, grid_ns: int
) -> DirectionOverlap:
    """Compare runs in one direction on a grid of slices of grid_ns. standalone: a run's name -> its standalone runs."""
    by_storage = {run.name: bytes_by_storage(run.digest, direction) for run in runs}
    # What loaders and libc read for themselves is no I/O of a job: nobody compares bandwidths of it.
    movers = {name: moved for name, moved in by_storage.items() if moved["bytes"].sum() >= LITTLE_BYTES}
    key = storage.shared_storage(movers.values()) if len(movers) > 1 else None
    moved = [_moved(run, by_storage[run.name], key, direction, grid_ns) for run in runs]
    moved = [job if job.name in movers or not movers else replace(job, span=None) for job in moved]
    # Only those that share the storage can be compared; the others are told of, and no more.
    sharing = [job for job in moved if job.span and job.name in movers] if key is not None else []
    place = None if key is None else storage.describe(key, [run.digest for run in runs])
    apart = {} if place is None else apart_by_limits(place, [job.run.digest for job in sharing])
    reason = _why_nothing(runs, movers, key, direction)
    if place is not None and len(apart) == len(sharing):
        reason = _limits_apart(place, apart)
        sharing, key = [], None
    together = _all_activity(sharing)
    found = regions(together, {job.name: len(job.processes) for job in sharing}, grid_ns)
    basis = found.every_process or found.any_process

    alone = {job.name: _standalone(standalone[job.name], job, key, direction) for job in moved if job.span}
    by_themselves = own_slices_rates(together, grid_ns)
    demands = {job.name: _demand(alone[job.name], by_themselves[job.name]) for job in sharing}
    data = campaign_of(sharing, key, direction, grid_ns, "all") if key is not None else None
    rates = {} if data is None else data.rates_in_full_slices_of_all()
    means = {name: float(own.mean()) if len(own) >= FEWEST_FOR_A_MEAN else None for name, own in rates.items()}
    beside = [
        SlicesBeside(
            job.name, means[job.name], demands[job.name], _at_its_turn(job), _alone_seconds(job, alone[job.name])
        )
        for job in sharing
        if job.name not in apart
    ]
    verdict = contention(beside)
    limit, filled = None, None
    if basis is not None:
        combined = _combined_rates(rates, together, basis, grid_ns)
        limit = of_these_jobs(
            list(demands.values()), combined, np.concatenate([by_themselves[job.name] for job in sharing])
        )
        filled = _filled(basis, sharing, grid_ns)
    in_basis = 0 if basis is None else sum(_bytes_in(basis, job) for job in moved)
    jobs = [_job(job, moved, basis, in_basis, filled, alone.get(job.name), demands.get(job.name)) for job in moved]
    met = together.select((pl.col("job").n_unique().over("slice") > 1).any()).item()
    observed = _observed(data, jobs) if data is not None and not reason and met else []
    doubt = _doubt(moved, jobs, verdict, direction)
    return DirectionOverlap(
        direction=direction,
        storage=place,
        jobs=jobs,
        regions=found,
        basis=basis,
        ratio=None if reason else _ratio(jobs),
        uniformity=_uniformity(sharing, basis),
        capacity=limit,
        contention=verdict,
        predictions=_predictions(observed, limit, grid_ns, doubt, data),
        inverses=_inverses(observed, jobs, verdict, mean_rate(_summed(rates)) if rates else None, grid_ns, doubt),
        shares=_shares(together),
        activity=_all_activity(moved),
        not_applicable=reason,
        notes=_notes(jobs, basis, verdict, direction),
    )


def _moved(run: Run, moved: pl.DataFrame, key: int | None, direction: Direction, grid_ns: int) -> _Moved:
    there = on_storage(run, key, direction)
    back = bytes_by_storage(run.digest, OTHER_WAY[direction])
    waited = Estimate(0.0, 0.0, 0.0, "")
    if there.span is not None:
        waited = turns(run.digest).within(there.span.start_ns, there.span.end_ns, run.digest.slice_ns)
    return _Moved(
        **vars(there),
        on_grid=on_grid(there.activity, run.digest.slice_ns, grid_ns),
        use=storage.use(run.name, moved, key),
        other_way_bytes=storage.use(run.name, back, key).bytes,
        waited=waited,
    )


def _all_activity(moved: Sequence[_Moved]) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=ACTIVITY_SCHEMA), *(job.on_grid for job in moved)])


def _standalone(runs: Sequence[Run], job: _Moved, key: int | None, direction: Direction) -> StandaloneRun | None:
    """The mean of a job's standalone runs on the same storage; of those of its volume, where there are such."""
    there = [on_storage(run, key, direction) for run in runs]
    found = [run.as_standalone() for run in there if run.span is not None and _was_served(run, key, direction)]
    like = [run for run in found if is_like(run.bytes, job.use.bytes)]
    return as_one_run(like or found)


def _was_served(run: RunOnStorage, key: int | None, direction: Direction) -> bool:
    """Whether the storage got most of what the run's calls moved. What stayed in the page cache took no time of it."""
    called = storage.use(run.run.name, bytes_by_storage(run.run.digest, direction), key).bytes
    return run.bytes >= MAINLY * called


def _demand(alone: StandaloneRun | None, by_itself: Rates) -> RateAlone | None:
    if alone is not None:
        return RateAlone(alone.bytes_per_second, "standalone run")
    return own_slices_demand(by_itself)


def _at_its_turn(job: _Moved) -> Estimate:
    """A job's I/O time span without the wait for a turn, which no storage made long."""
    assert job.span is not None
    seconds, waited = job.span.seconds, job.waited
    if not waited.high:
        return seconds
    return Estimate(
        max(seconds.value - waited.value, SHORTEST_SPAN),
        max(seconds.low - waited.high, SHORTEST_SPAN),
        max(seconds.high - waited.low, SHORTEST_SPAN),
        f"{seconds.how}; without the wait",
    )


def _summed(rates: Mapping[str, Rates]) -> Rates:
    """What jobs moved together in the slices that their rates are of; at least one job."""
    return reduce(np.add, rates.values())


def _combined_rates(rates: Mapping[str, np.ndarray], together: pl.DataFrame, basis: Region, grid_ns: int) -> np.ndarray:
    """The combined rates of the full slices of all jobs, or, where there are too few, of the slices of the region."""
    combined = _summed(rates)
    if len(combined) >= FEWEST_FOR_A_MEAN:
        return combined
    return rates_of(in_region(together, basis).group_by("slice").agg(pl.col("bytes").sum()), grid_ns)


def _filled(basis: Region, jobs: Sequence[_Moved], grid_ns: int) -> Region:
    """The region without end slices within which some job began or ended, for rates; as it is where that is short."""
    spans = [job.span for job in jobs if job.span is not None]
    first, end = basis.first_slice, basis.end_slice
    first += any(first * grid_ns < span.start_ns < (first + 1) * grid_ns for span in spans)
    end -= any((end - 1) * grid_ns < span.end_ns < end * grid_ns for span in spans)
    is_whole = basis.slices == basis.end_slice - basis.first_slice
    if not is_whole or end - first < FEWEST_FOR_A_MEAN:
        return basis
    return replace(basis, first_slice=first, end_slice=end, slices=end - first, seconds=(end - first) * grid_ns / 1e9)


def _job(
    job: _Moved,
    moved: Sequence[_Moved],
    basis: Region | None,
    in_basis: int,
    filled: Region | None,
    alone: StandaloneRun | None,
    demand: RateAlone | None,
) -> JobInDirection:
    span, volume = job.span, job.use.bytes
    region = basis if span is not None else None
    region_bytes = None if region is None else _bytes_in(region, job)
    in_filled = None if filled is None or span is None else _bytes_in(filled, job) / filled.seconds
    return JobInDirection(
        job=job.name,
        # Servers do not know how many processes asked them.
        processes=None if job.run.digest.is_served else len(job.processes) or job.run.job.processes,
        nodes=job.known_nodes,
        idle_processes=max(0, job.run.digest.processes.filter("is_of_job", has_rank()).height - len(job.processes)),
        bytes=volume,
        overall_bytes_per_second=volume / span.slice_seconds if span else None,
        span=span,
        region_bytes=region_bytes,
        region_bytes_per_second=in_filled,
        region_share=None if region_bytes is None else region_bytes / in_basis,
        fair_share_by_process=_fair_share(len(job.processes), [len(other.processes) for other in moved]),
        fair_share_by_node=_fair_share(job.nodes, [other.nodes for other in moved]),
        uniformity=_uniformity([job], region),
        alone=alone,
        alone_seconds=_alone_seconds(job, alone),
        demand=demand,
        use=job.use,
        waited_seconds=job.waited.value,
    )


def _alone_seconds(job: _Moved, alone: StandaloneRun | None) -> Estimate | None:
    """What the job's volume takes alone, as its standalone run has it."""
    if alone is None:
        return None
    return alone.bytes_per_second.through(lambda rate: job.use.bytes / rate, f"by its standalone run {alone.job}")


def _fair_share(own: int, all_jobs: Sequence[int]) -> float:
    return own / sum(all_jobs) if sum(all_jobs) else 0.0


def _bytes_in(region: Region, job: _Moved) -> int:
    return whole(in_region(job.on_grid, region)["bytes"].sum())


def _uniformity(jobs: Sequence[_Moved], basis: Region | None) -> Uniformity | None:
    """Over all processes of the jobs, those that moved nothing in the region included."""
    if basis is None:
        return None
    moved = in_region(_all_activity(jobs), basis).group_by("process").agg(pl.col("bytes").sum())
    processes = pl.concat([job.processes.select("process") for job in jobs])
    return uniformity(processes.join(moved, on="process", how="left")["bytes"].fill_null(0).to_numpy())


def _ratio(jobs: Sequence[JobInDirection]) -> Ratio | None:
    if len(jobs) != 2 or not all(job.span for job in jobs):
        return None
    one, other = jobs
    return Ratio(
        region=_over(one.region_bytes_per_second, other.region_bytes_per_second),
        overall=_over(one.overall_bytes_per_second, other.overall_bytes_per_second),
        processes=_over(one.processes, other.processes),
        nodes=_over(one.nodes, other.nodes),
    )


def _over(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one / other


def _observed(data: Campaign, jobs: Sequence[JobInDirection]) -> list[ObservedJob]:
    """The campaign's jobs as the models of sharing see them, in the order of `jobs`."""
    by_name = {job.job: job for job in jobs}
    rows = {row["job"]: row for row in data.jobs.iter_rows(named=True)}
    return [
        ObservedJob(
            job=name,
            bytes=row["bytes"],
            start=row["start"],
            seconds=job.span.seconds,
            processes=row["processes"],
            nodes=row["nodes"],
            demand=job.demand.bytes_per_second if job.demand else None,
            alone_seconds=job.alone_seconds,
            is_demand_of_run=job.demand is not None and job.demand.source == "own slices",
        )
        for name, job in by_name.items()
        if job.span is not None and (row := rows.get(name)) is not None
    ]


def _predictions(
    observed: Sequence[ObservedJob], limit: Capacity | None, grid_ns: int, doubt: str, data: Campaign | None
) -> list[Prediction]:
    if not observed or data is None:
        return []
    predictions = [runtimes.predict(observed, limit, weight, grid_ns / 1e9) for weight in WEIGHTS]
    return [
        replace(found, doubt=doubt if found.jobs else "", misfits=_misfits(found, observed, limit, grid_ns, data))
        for found in predictions
    ] + [found for weight in WEIGHTS for found in runtimes.by_pair_model(observed, limit, weight, grid_ns / 1e9)]


def _misfits(
    found: Prediction, observed: Sequence[ObservedJob], limit: Capacity | None, grid_ns: int, data: Campaign
) -> list[Misfit]:
    names = [job.job for job in observed]
    combined = _summed(data.rates_in_full_slices_of_all())
    how = f"{found.method}, weights as the slices show them"
    return misfits(
        names if found.jobs else [],
        [job.seconds for job in found.jobs],
        [job.seconds.value for job in observed],
        [job.weight for job in found.jobs],
        shares_shown(data.slices, names),
        lambda weights: runtimes.times_with(observed, limit, weights, grid_ns / 1e9, how),
        float(combined.mean()) / limit.rate.value if limit and len(combined) else None,
    )


def _doubt(moved: Sequence[_Moved], jobs: Sequence[JobInDirection], verdict: Contention, direction: Direction) -> str:
    """What the models of sharing take for granted and does not hold of these jobs, in a clause; else empty."""
    did, other = words.DID[direction], words.DID[OTHER_WAY[direction]]
    all_bytes = sum(job.use.bytes for job in moved)
    for job in moved:
        if job.run.digest.jobs["is_running"].item():
            return f"{job.name} still runs"
        if job.other_way_bytes > LEAST_OF_JOB * all_bytes:
            return f"{job.name} also {other} there, and the model knows one direction at a time"
    for row in jobs:
        if row.span is not None and row.waited_seconds > (1 - MOSTLY_SERVED) * row.span.seconds.value:
            return f"{row.job} waited {row.waited_seconds:.3g} s for its turn, and the model knows no turns"
        if row.span is not None and row.span.busy_share < MOSTLY_ACTIVE:
            return f"{row.job} {did} bytes in only {100 * row.span.busy_share:.0f} % of its slices, not all the time"
        if row.span is not None and row.demand is None and verdict.contended is None:
            return f"what {row.job} reaches alone is not known"
    return ""


def _inverses(
    observed: Sequence[ObservedJob],
    jobs: Sequence[JobInDirection],
    verdict: Contention,
    rate_together: Estimate | None,
    grid_ns: int,
    doubt: str,
) -> list[Inverse]:
    if not observed:
        return []
    if verdict.contended is False:
        less = ", less its wait for its turn" if any(job.waited_seconds for job in jobs) else ""
        reason = f"the jobs did not slow each other down: alone, each would have taken as long{less}"
        return [Inverse(None, "work conservation", [], reason)]
    by_weight = [runtimes.invert(observed, weight, grid_ns / 1e9) for weight in WEIGHTS]
    inverses = [*by_weight, runtimes.conserve_work(observed, rate_together)]
    return [replace(inverse, doubt=doubt if inverse.jobs else "") for inverse in inverses]


def _shares(together: pl.DataFrame) -> pl.DataFrame:
    """Each job's share of the bytes of a slice beside its fair shares; see DirectionOverlap."""
    per_slice = together.group_by("job", "slice", maintain_order=True).agg(
        pl.col("bytes").sum(), processes=pl.col("process").n_unique(), nodes=pl.col("node").n_unique()
    )

    def part(column: str) -> pl.Expr:
        return pl.col(column) / pl.col(column).sum().over("slice")

    return (
        per_slice.filter(pl.len().over("slice") > 1)
        .with_columns(share=part("bytes"), fair_by_process=part("processes"), fair_by_node=part("nodes"))
        .with_columns(
            fair_bytes_by_process=pl.col("fair_by_process") * pl.col("bytes").sum().over("slice"),
            fair_bytes_by_node=pl.col("fair_by_node") * pl.col("bytes").sum().over("slice"),
        )
        .drop("processes", "nodes")
        .sort("job", "slice", maintain_order=True)
    )


def _why_nothing(runs: Sequence[Run], movers: Mapping[str, pl.DataFrame], key: int | None, direction: Direction) -> str:
    """Why the jobs cannot be compared in this direction; empty if they can."""
    did = words.DID[direction]
    if not movers:
        return f"no job {did} as much as 1 MiB of files"
    if len(movers) == 1:
        idle = [f"{run.name} {_did_instead(run, direction)}" for run in runs if run.name not in movers]
        return f"Only {next(iter(movers))} {did} bytes of files: {words.listing(idle)}"
    if key is None:
        digests = {run.name: run.digest for run in runs}
        where = [f"{name} {did} {storage.busiest(digests[name], moved)}" for name, moved in movers.items()]
        return f"There is no file system on which all of them {did} bytes: {'; '.join(where)}"
    return ""


def _did_instead(run: Run, direction: Direction) -> str:
    other = OTHER_WAY[direction]
    there = int(bytes_by_storage(run.digest, other)["bytes"].sum())
    unseen = sampled_bytes(sampled_processes(run.digest))[direction] or 0
    if unseen >= LITTLE_BYTES:
        return f"{words.DID[direction]} {words.size(unseen)} at least in processes that could not be profiled"
    if there < LITTLE_BYTES:
        return f"{words.DID[direction]} none or next to none"
    return f"{words.DID[other]} {words.size(there)}, which is not compared with that"


def _limits_apart(place: storage.Storage, apart: Mapping[str, Limit]) -> str:
    held = "; ".join(f"{job} by that of {limit.group} ({limit.told()})" for job, limit in apart.items())
    return (
        f"{words.listing(apart)} could not slow each other down on {place.point}: each was held up by the limit of a "
        f"control group of its own, {held}"
    )


def _notes(
    jobs: Sequence[JobInDirection], basis: Region | None, verdict: Contention, direction: Direction
) -> list[str]:
    did = words.DID[direction]
    active = [job for job in jobs if job.span]
    notes = [f"{job.job} {did} no bytes of files, and is left out" for job in jobs if not job.span and len(active) > 1]
    notes += [
        f"{job.job} {did} {100 * job.use.elsewhere_share:.0f} % of its bytes on other file systems"
        for job in active
        if job.use.elsewhere_share > LEAST_OF_JOB
    ]
    notes += [
        f"{' and '.join(job.alone.dropped)} left out: far from the other standalone runs of {job.job}"
        for job in active
        if job.alone and job.alone.dropped
    ]
    notes += [
        f"{job.idle_processes} of {job.idle_processes + (job.processes or 0)} ranks of {job.job} {did} nothing there "
        "themselves, which is usual where I/O goes through a few of them (collective buffering, a single writer)"
        for job in active
        if job.idle_processes
    ]
    notes += [
        f"{job.job} {did} bytes in only {100 * job.span.busy_share:.0f} % of its slices; "
        "the models assume I/O all the time"
        for job in jobs
        if job.span is not None and job.span.busy_share < MOSTLY_ACTIVE
    ]
    if basis is not None and basis.kind == "any process":
        notes.append(
            "in no slice did every process of every job move bytes, so the figures "
            "are of slices in which at least one process of each job did"
        )
    if basis is not None and verdict.contended is None:
        notes.append(
            "estimates of standalone times assume that each job alone can fill the storage, "
            "which this run does not show"
        )
    return notes
