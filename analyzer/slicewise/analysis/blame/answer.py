"""What a source of a job's time alone says of it: how much it lost, to whom, and when it would have ended without each.

Dataclasses in, a `Blame` out, before it is weighed (`weighed.py`).
"""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from slicewise.analysis.blame import to_runtime, uncontended, without
from slicewise.analysis.blame.in_memory import is_in_memory
from slicewise.analysis.blame.meanwhile import Meanwhile, TimeTaken
from slicewise.analysis.blame.result import Baseline, Blame, Neighbour
from slicewise.analysis.blame.shares import blamed, lost_time
from slicewise.analysis.blame.sources import Answered, claim
from slicewise.analysis.blame.to_runtime import ProcessChains, Waits
from slicewise.analysis.calls import AMOUNTS, KINDS, SECONDS, process_seconds, shares_of_seeks
from slicewise.analysis.runs.matching import Job, run_of
from slicewise.constants import LEAST_ERROR, LEAST_OF_RATE, SECOND_NS, TRIVIAL, WORTH_A_WAIT
from slicewise.digest.digest import Digest
from slicewise.digest.processes import is_profiled
from slicewise.digest.quality import missing_ranks
from slicewise.estimate import Estimate
from slicewise.kinds import LESS_SURE, SURE

# An interval that is narrower than this share of the loss is narrow.
NARROW_OF_LOSS = 0.5


def answer(
    sure: Answered, there: Meanwhile, taken: TimeTaken, chains: ProcessChains, step: str, of_seconds_alone: bool
) -> Blame:
    """chains: of the job. step: what to do where its loss is not known well. of_seconds_alone: as of `losses`."""
    digest, job, grid_ns = there.digest, run_of(there.digest).job, there.grid_ns
    calls, waits, slices = chains.calls, chains.waits, chains.slices
    chosen, base = sure.chosen, sure.base
    by_process = process_seconds(calls)
    io_seconds = 0.0 if by_process.is_empty() else float(by_process["seconds"][0])
    runtime = (job.end_ns - job.start_ns) / 1e9
    lost = lost_time(slices, chosen.of if chosen else {})
    shares = blamed(lost, taken.active, taken.shared_by, grid_ns / 1e9)
    io_lost = float(lost.select(pl.sum_horizontal(f"{kind}_lost" for kind in KINDS).sum()).item())
    value, uneven, known_lost, job_lost, alone = 0.0, 1.0, None, None, None
    if chosen is not None:
        prices = uncontended.price_frame(chosen.of)
        value, uneven = to_runtime.lost_runtime(calls, prices, chains.phases, waits, chosen.uneven)
    claimed = claim(sure, io_seconds, io_lost, float(shares["lost_seconds"].sum()), value, uneven)
    if claimed is not None and base is not None and base.seconds is not None:
        how = base.seconds.how
        known_lost = Estimate(io_lost, io_lost - claimed.less, io_lost + claimed.more, how)
        job_lost = Estimate(value, claimed.low, claimed.high, f"{how}; {HOW_RUNTIME[waits]}")
        alone = job_lost.through(lambda seconds: max(runtime - seconds, 0.0), how)
    is_claimed = claimed is not None and claimed.is_claimed and value > WORTH_A_WAIT * runtime
    confidence = claimed.confidence if claimed is not None else sure.confidence
    factor = claimed.factor if claimed is not None else 1.0
    told = [] if base is None else _neighbours(shares, factor, there, io_seconds, base)
    if base is not None and job_lost is not None and is_claimed and not of_seconds_alone:
        told = _with_ends(told, shares, slices, job_lost, base, job, grid_ns)
    blamed_seconds = sum(neighbour.lost.value for neighbour in told)
    result = Blame(
        job=job,
        is_running=bool(digest.about["is_running"]),
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
        unknown_because="" if base else _why_unknown(digest, slices, taken.active, sure.baselines),
        next_step="" if base and confidence in SURE else step,
        traffic=taken.traffic,
        missing=missing_ranks(digest),
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
        is_in_memory=is_in_memory(digest),
        mapped_seconds=0.0 if by_process.is_empty() else _waited_for_pages(digest, by_process["process"][0]),
    )
    # The time alone may be known well, and yet not well enough for an answer.
    if result.is_too_uncertain and confidence in SURE:
        return replace(result, confidence="low")
    return result if _is_narrow(result) else replace(result, confidence=LESS_SURE[confidence])


def _waited_for_pages(digest: Digest, process: int) -> float:
    return float(digest.fetched.filter(pl.col("process") == process)["waited_ns"].sum()) / SECOND_NS


def _is_narrow(told: Blame) -> bool:
    """Whether the interval of a loss that is told with high confidence is narrower than half of the loss, and that of
    what its first neighbour cost than half of that.
    """
    if told.confidence != "high" or not told.is_claimed or told.lost is None:
        return True
    parts = [told.lost, *(one.lost for one in told.neighbours[:1])]
    return all(part.high - part.low < NARROW_OF_LOSS * part.value for part in parts)


HOW_RUNTIME: dict[Waits, str] = {
    "ranks": "its ranks wait for the slowest one of each phase",
    "processes": "its slowest process decides",
    "strands": "its processes that ran in turn, or hand on what they read, count as one, and the slowest decides",
    "one process": "it has one process",
}


def _neighbours(
    shares: pl.DataFrame,
    factor: float,
    there: Meanwhile,
    io_seconds: float,
    base: Baseline,
) -> list[Neighbour]:
    """Those who shared a storage with the job, the most costly first. factor: from I/O time to runtime."""
    by_name: dict[str | None, Digest] = {digest.job: digest for digest in there.neighbours}
    by_number, grid_ns = {storage.number: storage for storage in there.where}, there.grid_ns
    assert base.seconds is not None
    relative = (base.seconds.value - base.seconds.low) / max(base.seconds.value, 1e-9)
    whole = factor * float(shares["lost_seconds"].sum())
    of_each = shares.group_by("neighbour", maintain_order=True).agg(
        pl.col("lost_seconds", *(f"{kind}_lost" for kind in KINDS)).sum(), slices=pl.col("slice").n_unique()
    )
    places = shares.group_by("neighbour", "storage", maintain_order=True).agg(
        pl.col("lost_seconds", "storage_seconds").sum()
    )
    most = places.sort("lost_seconds", "storage_seconds", descending=True, maintain_order=True)
    where_most = dict(most.unique("neighbour", keep="first", maintain_order=True).select("neighbour", "storage").rows())
    is_costly = pl.col("lost_seconds") > 0
    counted = (is_costly | (pl.col("lost_seconds").sum() <= 0)).over("neighbour")
    active = shares.filter(counted).group_by("neighbour").agg(
        pl.col(AMOUNTS.values()).sum(), first=pl.col("slice").min(), last=pl.col("slice").max(),
        count=pl.col("slice").n_unique(),
    )  # fmt: skip
    its = {row["neighbour"]: row for row in active.iter_rows(named=True)}
    costly = [by_name[name] for name in its if name in by_name]
    seeks = dict(zip((digest.job for digest in costly), shares_of_seeks(costly), strict=True))
    found = []
    for rows in of_each.iter_rows(named=True):
        name, value = rows["neighbour"], factor * rows["lost_seconds"]
        # What the job's I/O took alone in these slices is no better known than in all.
        error = (LEAST_ERROR + relative) * min(io_seconds, rows["slices"] * grid_ns / 1e9)
        # Where its time alone may be much longer, each neighbour cost the less.
        below = max(error, (base.seconds.high - base.seconds.value) * value / whole if whole > 0 else 0.0)
        digest = by_name.get(name)
        row = {} if digest is None else digest.about
        found.append(
            Neighbour(
                job=name,
                program=row.get("program", ""),
                processes=row.get("processes", 0),
                nodes=row.get("nodes", 0),
                lost=Estimate(
                    value, value - below, value + error, "by how much of the storage's time it took in each slice"
                ),
                kinds={kind: factor * rows[f"{kind}_lost"] for kind in KINDS},
                storage=by_number[where_most[name]],
                start_ns=its[name]["first"] * grid_ns,
                end_ns=(its[name]["last"] + 1) * grid_ns,
                seconds=its[name]["count"] * grid_ns / 1e9,
                read_bytes=its[name]["read_bytes"],
                write_bytes=its[name]["write_bytes"],
                meta_ops=round(its[name]["meta_ops"] * (1 - seeks.get(name, 0.0))),
                without_it_end=None,
                no_model="",
            )
        )
    return sorted(found, key=lambda one: (-one.lost.value, one.job is None, one.job or ""))


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
        its = shares.filter(pl.col("neighbour").eq_missing(pl.lit(one.job, pl.String)))
        if float(its["storage_seconds"].sum()) <= TRIVIAL * float(shares["storage_seconds"].sum()):
            continue
        loading.append(one)
        rows = its.filter(pl.col("storage") == told[0].storage.number)
        first, last = (int(rows["slice"].min()), int(rows["slice"].max())) if len(rows) else (0, 0)  # type: ignore[arg-type]
        taken = rows["storage_seconds"] / (grid_ns / 1e9)
        cap = min(1.0, float(taken.quantile(0.95) or 0.0)) if len(rows) else 0.0
        start = max(0.0, first * grid_ns / 1e9 - begin)
        active = rows["slice"].n_unique() / (last - first + 1)
        loads.append(without.Load(float(rows["storage_seconds"].sum()), start, cap, active, one.lost))
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
    busy = took.filter(pl.col("seconds") >= LEAST_OF_RATE * pl.col("seconds").max())
    seconds = grid_ns / 1e9
    begin = (int(busy["slice"][0]) + 1) * seconds - min(seconds, float(busy["seconds"][0]))
    end = int(busy["slice"][-1]) * seconds + min(seconds, float(busy["seconds"][-1]))
    begin = max(begin, job.start_ns / 1e9)
    return begin, max(min(end, job.end_ns / 1e9), begin + 1e-3)


def _why_unknown(digest: Digest, slices: pl.DataFrame, active: pl.DataFrame, sources: Sequence[Baseline]) -> str:
    """Why no source tells what the job's I/O would have taken alone: one clause each that adds something."""
    if digest.processes.filter(is_profiled()).is_empty():
        return "its processes were sampled from outside, and how long their calls took is not known"
    if slices.is_empty():
        return "it made no calls on files"
    if active.is_empty():
        return f"no standalone run is known, and {uncontended.NOBODY}"
    clauses = dict.fromkeys(source.refused for source in sources if source.source != "other sizes")
    return "; ".join(clauses)
