"""Who slowed a job, by how much, and how sure that is.

Digests in, a `Blame` out. The formulas are in docs/models.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
import polars as pl

from slicewise.analysis.blame import sources, to_runtime, uncontended, without
from slicewise.analysis.blame.claims import LEAST_ERROR, claim
from slicewise.analysis.blame.on_storage import on_storages
from slicewise.analysis.blame.own_processes import own_processes
from slicewise.analysis.blame.result import Baseline, Blame, Neighbour, Traffic
from slicewise.analysis.blame.shares import blamed, lost_time
from slicewise.analysis.blame.sources import LESS_SURE, SURE, Answered
from slicewise.analysis.blame.storage_time import Capacities, capacities, storage_seconds
from slicewise.analysis.blame.strands import Strands, job_strands
from slicewise.analysis.blame.timeline import AMOUNTS, KINDS, SECONDS, Rows, process_seconds
from slicewise.analysis.blame.to_runtime import Waits
from slicewise.analysis.blame.turn import turn_of, with_turn
from slicewise.analysis.blame.uncontended import Scene, StandaloneRows
from slicewise.analysis.blame.unprofiled import apart, unprofiled
from slicewise.analysis.blame.waiting_cost import cost_by_waiting
from slicewise.analysis.job.split import split
from slicewise.analysis.runs import storage as storages
from slicewise.analysis.runs.matching import Job, run_of
from slicewise.analysis.runs.storage import Storage
from slicewise.digest.activity import common_slice_ns
from slicewise.digest.digest import Digest
from slicewise.digest.processes import has_rank
from slicewise.digest.quality import imported
from slicewise.errors import UserError
from slicewise.estimate import Estimate
from slicewise.text import words

# A neighbour with less than this share of the storage's time that all took is left out of the model of sharing.
LEAST_LOAD = 0.02
OF_DIGESTS = Rows()


def blame(
    digest: Digest,
    neighbours: Sequence[Digest],
    alone: Sequence[Digest] = (),
    found: Sequence[Digest] = (),
    rows: Rows = OF_DIGESTS,
    of_seconds_alone: bool = False,
) -> Blame:
    """What a job lost, and to whom.

    neighbours: jobs that may have used the same storage meanwhile; those that did not are passed over. alone: its
    standalone runs. found: runs of its program that nobody asked for and that had no company. rows: has what they all
    did. of_seconds_alone: what it lost, to whom and how sure that is, and no more: when it would have ended without
    each neighbour, what its own processes cost each other, and what waiting in MPI cost, is not known then. Raises
    UserError where slices fit no common grid, or a standalone run is of another program.
    """
    neighbours = rows.others(digest, neighbours)
    grid_ns = common_slice_ns([digest, *neighbours, *alone, *found])
    seconds = grid_ns / 1e9
    job = run_of(digest).job
    for other in alone:
        _require_same_program(other, job)
    strands = job_strands(digest, grid_ns)
    calls, waits, slices = strands.calls, strands.waits, strands.slices
    is_sampled = not digest.node_slices.is_empty()  # counters go by where a storage is mounted
    where = _storages_of(slices, [digest, *(neighbours if is_sampled or not of_seconds_alone else [])])
    is_used = pl.col("storage").is_in([storage.number for storage in where])
    beside = rows.of([digest, *neighbours], grid_ns).filter(is_used)
    traffic, rest = unprofiled(digest, neighbours, where, beside, grid_ns)
    runs = [*alone, *(run for run in found if run.path not in {given.path for given in alone})]
    known = capacities(pl.concat([beside, rows.of(runs, grid_ns).filter(is_used)]) if runs else beside, grid_ns)
    traffic = [_with_exponent(one, known.get(one.storage.number)) for one in traffic]
    harmless = apart(rest, beside, known, grid_ns)
    company = _company(beside.filter(pl.col("job") != digest.job), rest, known, slices, grid_ns)
    took_nothing = pl.col("neighbour").is_null() & pl.col("storage").is_in(harmless)
    company = company.with_columns(
        pl.when(took_nothing).then(0.0).otherwise(f"{kind}_taken").alias(f"{kind}_taken") for kind in KINDS
    )
    together = pl.concat(
        [
            beside.select("storage", "slice", *AMOUNTS.values()),
            _amounts(rest.remove(pl.col("storage").is_in(harmless))),
        ]
    )
    together = together.group_by("storage", "slice").agg(pl.col(AMOUNTS.values()).sum())
    scene = Scene(on_storages(slices, company.remove(took_nothing), together, known), known, seconds)
    alone_strands = [job_strands(run, grid_ns) for run in runs]
    standalone = [_standalone(run, its, waits) for run, its in zip(runs, alone_strands, strict=True)]
    sure = sources.ask(scene, standalone, calls["process"].n_unique())
    told = _told(
        digest,
        job,
        strands,
        company,
        known,
        sure,
        traffic,
        where,
        neighbours,
        grid_ns,
        of_seconds_alone,
    )
    lost = max(0.0, told.lost.value) if told.lost else 0.0
    slowest = process_seconds(calls)["process"]
    own = (
        None
        if of_seconds_alone
        else own_processes(
            calls,
            company.select("storage", "slice"),
            [its.calls for its in alone_strands],
            None if slowest.is_empty() else int(slowest[0]),
            max(0.0, told.io_seconds - lost),
        )
    )
    notes = [*told.notes, *(_harmless(one) for one in where if one.number in harmless)]
    turn = turn_of(digest, neighbours, beside, known, [one.number for one in where], grid_ns)
    parts = None if of_seconds_alone else split(digest)
    if parts is not None:
        lost_slices = told.slices if told.is_claimed else None
        told = replace(told, by_waiting=cost_by_waiting(parts, digest.slice_ns, lost_slices, grid_ns))
    told = with_turn(replace(told, own_processes=own, notes=notes), turn)
    return _as_sure_as_slices(told, [digest, *neighbours])


def _as_sure_as_slices(told: Blame, jobs: Sequence[Digest]) -> Blame:
    """The blame, less sure where the job's slices, or those of a neighbour that it names, are known in part only."""
    named = {told.job.job, *(neighbour.job for neighbour in told.neighbours)}
    blurred = [
        job.job
        for job in jobs
        if job.job in named and (how := imported(job)) is not None and how.is_blurred(told.slice_ns / 1e9)
    ]
    if not blurred:
        return told
    are = "is" if len(blurred) == 1 else "are"
    note = (
        f"{words.listing(blurred)} {are} imported from logs that do not say exactly in which slices bytes were moved, "
        "so it is less sure who was active with whom"
    )
    return replace(told, confidence=LESS_SURE[told.confidence], notes=[*told.notes, note])


def _harmless(storage: Storage) -> str:
    return (
        f"Programs without a profile also moved bytes on {storage.point} and slowed nobody down: together "
        "the jobs were as fast with that traffic as without it"
    )


def _require_same_program(run: Digest, job: Job) -> None:
    program = run.jobs["program"][0]
    if program != job.program:
        raise UserError(
            f"{run.path}: is no standalone run of {job.job}: it ran {program}, not {job.program}; "
            "give a run of the same program"
        )


def _storages_of(slices: pl.DataFrame, digests: Sequence[Digest]) -> list[Storage]:
    """The storages that the job used, the one that took most time first."""
    took = (
        slices.group_by("storage", maintain_order=True)
        .agg(seconds=pl.sum_horizontal(SECONDS.values()).sum())
        .sort("seconds", "storage", descending=[True, False])
    )
    return storages.describe_all(took["storage"].to_list(), digests)


def _with_exponent(traffic: Traffic, known: Capacities | None) -> Traffic:
    return replace(traffic, exponent=known.exponent, mixed=known.mixed) if known else traffic


def _amounts(rest: pl.DataFrame) -> pl.DataFrame:
    """Traffic without a profile as rows of a job: nobody counted its metadata operations."""
    return rest.select("storage", "slice", "read_bytes", "write_bytes", meta_ops=pl.lit(0, pl.Int64))


def _company(
    others: pl.DataFrame, rest: pl.DataFrame, known: Mapping[int, Capacities], slices: pl.DataFrame, grid_ns: int
) -> pl.DataFrame:
    """Who was active on the job's storages in its slices: neighbour (null: no profile), storage, slice, AMOUNTS and
    {kind}_taken.
    """
    nobody = _amounts(rest).with_columns(
        pl.lit(None, pl.String).alias("job"), *(pl.lit(grid_ns / 1e9).alias(name) for name in SECONDS.values())
    )
    rows = pl.concat([others, nobody.select(others.columns)])
    rows = rows.join(slices.select("storage", "slice"), on=["storage", "slice"], how="semi", maintain_order="left")
    return (
        storage_seconds(rows, known, grid_ns)
        .filter(pl.sum_horizontal(f"{kind}_taken" for kind in KINDS) > 0)
        .rename({"job": "neighbour"})
        .drop(SECONDS.values())
        .sort("storage", "slice", "neighbour")
    )


def _standalone(run: Digest, strands: Strands, waits: Waits) -> StandaloneRows:
    uneven = to_runtime.unevenness(strands.calls, strands.phases, waits)
    return StandaloneRows(run.job, strands.calls["process"].n_unique(), strands.by_itself, uneven)


def _told(
    digest: Digest,
    job: Job,
    strands: Strands,
    company: pl.DataFrame,
    known: Mapping[int, Capacities],
    sure: Answered,
    traffic: list[Traffic],
    where: list[Storage],
    neighbours: Sequence[Digest],
    grid_ns: int,
    of_seconds_alone: bool,
) -> Blame:
    calls, waits, slices = strands.calls, strands.waits, strands.slices
    chosen, base = sure.chosen, sure.base
    by_process = process_seconds(calls)
    io_seconds = 0.0 if by_process.is_empty() else float(by_process["seconds"][0])
    runtime = (job.end_ns - job.start_ns) / 1e9
    lost = lost_time(slices, chosen.of if chosen else {})
    shares = blamed(lost, company, known, grid_ns / 1e9)
    io_lost = float(lost.select(pl.sum_horizontal(f"{kind}_lost" for kind in KINDS).sum()).item())
    value, uneven, known_lost, job_lost, alone = 0.0, 1.0, None, None, None
    if chosen is not None:
        prices = uncontended.price_frame(chosen.of)
        value, uneven = to_runtime.lost_runtime(calls, prices, strands.phases, waits, chosen.uneven)
    claimed = claim(sure, io_seconds, io_lost, float(shares["lost_seconds"].sum()), value, uneven)
    if claimed is not None and base is not None and base.seconds is not None:
        how = base.seconds.how
        known_lost = Estimate(io_lost, io_lost - claimed.less, io_lost + claimed.more, how)
        job_lost = Estimate(value, claimed.low, claimed.high, f"{how}; {HOW_RUNTIME[waits]}")
        alone = job_lost.through(lambda seconds: max(runtime - seconds, 0.0), how)
    is_claimed = claimed is not None and claimed.is_claimed
    confidence = claimed.confidence if claimed is not None else sure.confidence
    factor = claimed.factor if claimed is not None else 1.0
    told = [] if base is None else _neighbours(shares, factor, where, neighbours, io_seconds, base, grid_ns)
    if base is not None and job_lost is not None and is_claimed and not of_seconds_alone:
        told = _with_ends(told, shares, slices, job_lost, base, job, grid_ns)
    blamed_seconds = sum(neighbour.lost.value for neighbour in told)
    result = Blame(
        job=job,
        is_running=bool(digest.jobs["is_running"][0]),
        as_of_ns=job.end_ns,
        runtime_seconds=runtime,
        io_seconds=io_seconds,
        io_processes=calls["process"].n_unique(),
        alone=alone,
        lost=job_lost,
        io_lost=known_lost,
        confidence=confidence,
        is_claimed=is_claimed,
        neighbours=told,
        unexplained_seconds=job_lost.value - blamed_seconds if job_lost else 0.0,
        apart_seconds=job_lost.value - factor * io_lost if job_lost else 0.0,
        waits=waits,
        baseline=base,
        sources=sure.baselines,
        contradiction=sure.contradiction,
        unknown_because="" if base else _why_unknown(slices, company, sure.baselines),
        next_step="" if base and confidence in SURE else _next_step(job),
        traffic=traffic,
        missing=_missing(digest),
        notes=[],
        slice_ns=grid_ns,
        slices=lost.select(
            "slice",
            "storage",
            seconds=pl.sum_horizontal(SECONDS.values()),
            alone_seconds=pl.sum_horizontal(pl.col(SECONDS[kind]) - pl.col(f"{kind}_lost") for kind in KINDS),
            lost_seconds=pl.sum_horizontal(f"{kind}_lost" for kind in KINDS),
            **{name: pl.col(name) for name in AMOUNTS.values()},
        ).sort("slice", "storage"),
        shares=shares,
    )
    # The time alone may be known well, and yet not well enough for an answer.
    return replace(result, confidence="low") if result.is_too_uncertain and confidence in SURE else result


HOW_RUNTIME: dict[Waits, str] = {
    "ranks": "its ranks wait for the slowest one of each phase",
    "processes": "its slowest process decides",
    "strands": "its processes that ran one after another count as one, and the slowest decides",
    "one process": "it has one process",
}


def _neighbours(
    shares: pl.DataFrame,
    factor: float,
    where: Sequence[Storage],
    neighbours: Sequence[Digest],
    io_seconds: float,
    base: Baseline,
    grid_ns: int,
) -> list[Neighbour]:
    """Those who shared a storage with the job, the most costly first. factor: from I/O time to runtime."""
    by_name: dict[str | None, Digest] = {digest.job: digest for digest in neighbours}
    by_number = {storage.number: storage for storage in where}
    assert base.seconds is not None
    relative = (base.seconds.value - base.seconds.low) / max(base.seconds.value, 1e-9)
    whole = factor * float(shares["lost_seconds"].sum())
    found = []
    for name, rows in _by_neighbour(shares):
        value = factor * float(rows["lost_seconds"].sum())
        # What the job's I/O took alone in these slices is no better known than in all.
        error = (LEAST_ERROR + relative) * min(io_seconds, rows["slice"].n_unique() * grid_ns / 1e9)
        # Where its time alone may be much longer, each neighbour cost the less.
        below = max(error, (base.seconds.high - base.seconds.value) * value / whole if whole > 0 else 0.0)
        per_storage = rows.group_by("storage", maintain_order=True).agg(pl.col("lost_seconds", "storage_seconds").sum())
        place = per_storage.sort("lost_seconds", "storage_seconds", descending=True)["storage"][0]
        its = rows.filter(pl.col("lost_seconds") > 0) if value > 0 else rows
        digest = by_name.get(name)
        row = {} if digest is None else digest.about
        first, last = int(its["slice"].min()), int(its["slice"].max())  # type: ignore[arg-type]
        found.append(
            Neighbour(
                job=name,
                program=row.get("program", ""),
                processes=row.get("processes", 0),
                nodes=row.get("nodes", 0),
                lost=Estimate(
                    value, value - below, value + error, "by how much of the storage's time it took in each slice"
                ),
                kinds={kind: factor * float(rows[f"{kind}_lost"].sum()) for kind in KINDS},
                storage=by_number[int(place)],
                start_ns=first * grid_ns,
                end_ns=(last + 1) * grid_ns,
                seconds=its["slice"].n_unique() * grid_ns / 1e9,
                **{amount: int(its[amount].sum()) for amount in AMOUNTS.values()},
                without_it_end=None,
                no_model="",
            )
        )
    return sorted(found, key=lambda one: (-one.lost.value, one.job is None, one.job or ""))


def _by_neighbour(shares: pl.DataFrame) -> Iterator[tuple[str | None, pl.DataFrame]]:
    """Each neighbour's rows, in their order; there may be thousands of neighbours."""
    ordered = shares.sort("neighbour", maintain_order=True)
    runs = ordered["neighbour"].rle()
    lengths = runs.struct.field("len").to_list()
    starts = accumulate(lengths, initial=0)
    for name, start, length in zip(runs.struct.field("value"), starts, lengths, strict=False):
        yield name, ordered.slice(start, length)


def _with_ends(
    told: list[Neighbour],
    shares: pl.DataFrame,
    slices: pl.DataFrame,
    lost: Estimate,
    base: Baseline,
    job: Job,
    grid_ns: int,
) -> list[Neighbour]:
    """The neighbours with the job's end without each of them, by the model of sharing where it holds."""
    if not told or base.seconds is None:
        return told
    begin, end = _io_bounds(slices, job, grid_ns)
    loads, loading = [], []
    for one in told:
        its = shares.filter(pl.col("neighbour").is_null() if one.job is None else pl.col("neighbour") == one.job)
        if float(its["storage_seconds"].sum()) <= LEAST_LOAD * float(shares["storage_seconds"].sum()):
            continue
        loading.append(one)
        rows = its.filter(pl.col("storage") == told[0].storage.number)
        first, last = (int(rows["slice"].min()), int(rows["slice"].max())) if len(rows) else (0, 0)  # type: ignore[arg-type]
        taken = rows["storage_seconds"] / (grid_ns / 1e9)
        cap = min(1.0, float(taken.quantile(0.95) or 0.0)) if len(rows) else 0.0
        start = max(0.0, first * grid_ns / 1e9 - begin)
        active = rows["slice"].n_unique() / (last - first + 1)
        loads.append(without.Load(float(rows["storage_seconds"].sum()), start, cap, active))
    before = begin - job.start_ns / 1e9
    ends = without.ends_without(end - begin, lost, base.seconds.value, loads)
    after = job.end_ns / 1e9 - end
    modelled = {
        one.job: replace(one, without_it_end=found.through(lambda seconds: before + seconds + after, found.how))
        if isinstance(found, Estimate)
        else replace(one, no_model=found)
        for one, found in zip(loading, ends, strict=True)
    }
    return [modelled.get(one.job, one) for one in told]


def _io_bounds(slices: pl.DataFrame, job: Job, grid_ns: int) -> tuple[float, float]:
    """When the job's I/O began and ended (UNIX time, s), placed within the first and the last slice by the time in
    calls there.
    """
    took = (
        slices.group_by("slice", maintain_order=True)
        .agg(seconds=pl.sum_horizontal(SECONDS.values()).sum())
        .sort("slice")
    )
    busy = took.filter(pl.col("seconds") >= to_runtime.LEAST_OF_RATE * pl.col("seconds").max())
    seconds = grid_ns / 1e9
    begin = (int(busy["slice"][0]) + 1) * seconds - min(seconds, float(busy["seconds"][0]))
    end = int(busy["slice"][-1]) * seconds + min(seconds, float(busy["seconds"][-1]))
    begin = max(begin, job.start_ns / 1e9)
    return begin, max(min(end, job.end_ns / 1e9), begin + 1e-3)


def _why_unknown(slices: pl.DataFrame, company: pl.DataFrame, sources: Sequence[Baseline]) -> str:
    """Why no source tells what the job's I/O would have taken alone: one clause each that adds something."""
    if slices.is_empty():
        return "it made no calls on files"
    if company.is_empty():
        return f"no standalone run is known, and {uncontended.NOBODY}"
    clauses = dict.fromkeys(source.refused for source in sources if source.source != "other sizes")
    return "; ".join(clauses)


def _next_step(job: Job) -> str:
    """The one command that would tell."""
    return f"slicewise run --job {job.job}-alone -- COMMAND OF {job.program}, while nobody else uses the file system"


def _missing(digest: Digest) -> list[str]:
    """Ranks whose profile is not there: the nodes that they ran on wrote none, or it was not given. The nodes are named
    where something else of the profile names them.
    """
    ranks = digest.processes.filter(has_rank())
    if ranks.is_empty():
        return []
    count = int(ranks["ranks"].max() or 0)  # type: ignore[arg-type]
    seen = set(ranks["rank"].to_list())
    gone = [rank for rank in range(count) if rank not in seen]
    stretches = np.split(np.array(gone), np.flatnonzero(np.diff(gone) != 1) + 1) if gone else []
    told = [f"rank {one[0]}" if len(one) == 1 else f"ranks {one[0]} to {one[-1]}" for one in stretches]
    where = _silent_nodes(digest)
    return [f"{one} ({where})" for one in told] if where else told


def _silent_nodes(digest: Digest) -> str:
    """The nodes that no process of the profile ran on: where a command of the job began, and else where a collector
    sampled, which may be a server as well.
    """
    seen = set(digest.processes["node"].to_list())
    began = sorted(set(digest.launches["node"].drop_nulls().to_list()) - seen)
    sampled = sorted(set(digest.node_samples["node"].drop_nulls().to_list()) - seen)
    return f"on {words.listing(began)}" if began else f"perhaps on {words.listing(sampled)}" if sampled else ""
