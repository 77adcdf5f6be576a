"""Who slowed a job, by how much, and how sure that is.

Digests in, a `Blame` out. The formulas are in docs/models.md.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from slicewise.analysis.blame import sources, to_runtime, uncontended, without
from slicewise.analysis.blame.active import active_on, bystanders, with_nobody
from slicewise.analysis.blame.limits import limit_words, lowered, request_words
from slicewise.analysis.blame.memory import moved_by_no_call
from slicewise.analysis.blame.next_step import NARROWER, next_step
from slicewise.analysis.blame.on_storage import SlicesOnStorage, on_storages
from slicewise.analysis.blame.outside import cost_by_waiting
from slicewise.analysis.blame.own_processes import own_processes
from slicewise.analysis.blame.regions import lost_in_regions
from slicewise.analysis.blame.requests import Asked, in_requests, limits_of_requests, small_syncs, time_of_requests
from slicewise.analysis.blame.result import Baseline, Blame, Neighbour, Traffic
from slicewise.analysis.blame.runs_taken import (
    as_other_work,
    asked_otherwise,
    cache_notes,
    like,
    runs_taken,
    speed_notes,
    why_none_taken,
)
from slicewise.analysis.blame.servers import (
    BY_SERVERS,
    ServerCounts,
    clients_shared_out,
    served_neighbours,
    served_on,
    served_words,
    shadows,
    shared_out,
    with_time,
)
from slicewise.analysis.blame.shared_slices import passes_by
from slicewise.analysis.blame.shares import blamed, lost_time
from slicewise.analysis.blame.sources import Answered, claim
from slicewise.analysis.blame.standalone import StandaloneRows, with_waits_of
from slicewise.analysis.blame.time_limited import time_limited, why_its_work_did_not_end_it
from slicewise.analysis.blame.to_runtime import ProcessChains, Waits, chains_to_match, process_chains
from slicewise.analysis.blame.turn import turn_of, with_turn
from slicewise.analysis.blame.uncontended import Scene
from slicewise.analysis.blame.unprofiled import apart, estimated_words, unprofiled
from slicewise.analysis.blame.weighed import (
    not_known,
    why_hidden_io,
    why_it_may_be_anything,
    with_limit,
    with_set_time,
    with_time_outside,
    with_waits,
)
from slicewise.analysis.calls import AMOUNTS, KINDS, SECONDS, Rows, process_seconds, share_of_seeks
from slicewise.analysis.capacity.by_kind import Capacities, capacities, took_time
from slicewise.analysis.job.split import split
from slicewise.analysis.runs import storage as storages
from slicewise.analysis.runs.limits import by_disks, disk_parts, limits_of, outside
from slicewise.analysis.runs.matching import Job, run_of
from slicewise.analysis.runs.storage import Storage
from slicewise.constants import LEAST_ERROR, LEAST_OF_RATE, SECOND_NS, TRIVIAL
from slicewise.digest.activity import common_slice_ns
from slicewise.digest.digest import Digest
from slicewise.digest.processes import is_profiled
from slicewise.digest.quality import imported, missing_ranks
from slicewise.digest.slices import BYTES
from slicewise.errors import UserError
from slicewise.estimate import Estimate
from slicewise.kinds import LESS_SURE, SURE
from slicewise.text import words

# An interval that is narrower than this share of the loss is narrow.
NARROW_OF_LOSS = 0.5
OF_DIGESTS = Rows()
NOT_ITS_WORK = "{why}, and how much it does alone in that time is not known"
# Why nothing is told of the time of a job that servers alone know.
NO_TIME = "file servers counted it, and they count no time in calls"


def blame(
    digest: Digest,
    neighbours: Sequence[Digest],
    alone: Sequence[Digest] = (),
    found: Sequence[Digest] = (),
    rows: Rows = OF_DIGESTS,
    counted: pl.DataFrame | None = None,
    same_as: Collection[Path] = (),
) -> Blame:
    """What a job lost, and to whom.

    neighbours: jobs that may have used the same storage meanwhile; those that did not are passed over. alone: its
    standalone runs. same_as: which of these did the same work, whatever their program is called. found: runs of its
    program that nobody asked for and that had no company. rows: has what they all did. counted: what file servers
    counted by job (`jobstats.read_served`). Raises UserError where slices fit no common grid, or a standalone run is of
    another program.
    """
    told = _asked(digest, neighbours, alone, found, rows, counted, same_as, of_seconds_alone=False)
    assert told is not None
    return told


def losses(
    digest: Digest,
    neighbours: Sequence[Digest],
    alone: Sequence[Digest] = (),
    found: Sequence[Digest] = (),
    rows: Rows = OF_DIGESTS,
) -> Blame | None:
    """As `blame`: what a job lost, to whom and how sure that is, and no more: when it would have ended without each
    neighbour, what its own processes cost each other, and what waiting in MPI cost, is not known. None: no source tells
    what it lost.
    """
    return _asked(digest, neighbours, alone, found, rows, None, (), of_seconds_alone=True)


def _asked(
    digest: Digest,
    neighbours: Sequence[Digest],
    alone: Sequence[Digest],
    found: Sequence[Digest],
    rows: Rows,
    counted: pl.DataFrame | None,
    same_as: Collection[Path],
    of_seconds_alone: bool,
) -> Blame | None:
    neighbours, alone, found = rows.others(digest, neighbours), with_time(digest, alone), with_time(digest, found)
    grid_ns = common_slice_ns([digest, *neighbours, *alone, *found])
    seconds = grid_ns / 1e9
    job = run_of(digest).job
    for other in alone:
        if other.path not in same_as:
            _require_same_program(other, job)
    chains = process_chains(digest, grid_ns)
    calls, waits, slices = chains.calls, chains.waits, chains.slices
    where = _storages_of(slices, digest, neighbours)
    is_used = pl.col("storage").is_in([storage.number for storage in where])
    beside = rows.of([digest, *neighbours], grid_ns).filter(is_used)
    twice = set(shadows([digest, *neighbours], beside))
    twice |= {one.job for one in neighbours if counted is not None and one.is_served}
    neighbours = [one for one in neighbours if one.job not in twice]
    beside = beside.remove(pl.col("job").is_in(list(twice)))
    limits = limits_of(where, digest)
    for one in where:
        if one.number in limits:
            elsewhere = outside(one, limits[one.number], neighbours)
            beside = beside.remove(pl.col("storage") == one.number, pl.col("job").is_in(elsewhere))
    traffic, rest, beyond_calls = unprofiled(digest, neighbours, where, beside, grid_ns)
    if not beyond_calls.is_empty():
        beside = pl.concat([beside, beyond_calls]).group_by("job", "storage", "slice", maintain_order=True).sum()
    served = None
    if counted is not None:
        by_job = shared_out(counted, [digest, *neighbours], where, grid_ns)
        lives = [(one.job, one.about["start_ns"], one.about["end_ns"]) for one in (digest, *neighbours)]
        served = served_on(by_job, where, beside, lives, grid_ns)
    else:
        beside = clients_shared_out(beside, [digest, *neighbours], where, grid_ns)
        served = served_neighbours(digest, neighbours, where, beside, grid_ns)
    if served is not None:  # the servers saw all there was
        beside = beside.remove(pl.col("job").is_in(served.rows["job"].unique().implode()))
        there = pl.col("storage") == served.storage.number
        rest, beside = rest.remove(there), pl.concat([beside, served.rows.select(beside.columns)])
        traffic = [_as_servers_counted(one, served) if one.storage == served.storage else one for one in traffic]
    runs, runs_told, beside_strangers = runs_taken(digest, alone, found, where, rows, grid_ns, counted)
    names = set(beside["job"])
    from_disks = disk_parts(where, [*(one for one in (digest, *neighbours) if one.job in names), *runs])
    alone_rows = rows.of(runs, grid_ns).filter(is_used) if runs else beside.clear()
    beside, alone_rows = by_disks(beside, from_disks), by_disks(alone_rows, from_disks)
    known = {
        number: replace(one, pass_by=number in limits)
        for number, one in capacities(pl.concat([beside, alone_rows]), grid_ns).items()
    }
    traffic = [_with_exponent(one, known.get(one.storage.number)) for one in traffic]
    harmless = apart(rest, beside, known, grid_ns)
    everyone = with_nobody(beside, rest, grid_ns)
    asked = Asked(where, limits, digest, neighbours, everyone, runs, alone_rows, grid_ns)
    of_requests = limits_of_requests(asked)
    by_requests = time_of_requests(asked, of_requests, from_disks)
    others, hidden = everyone.filter(pl.col("job").ne_missing(digest.job)), moved_by_no_call(digest)
    if hidden:
        others = others.filter(pl.col("slice").is_between(job.start_ns // grid_ns, job.end_ns // grid_ns))
    else:
        others = others.join(slices, on=["storage", "slice"], how="semi", maintain_order="left")
    of_others = by_requests.filter(pl.col("job").ne_missing(digest.job))
    around = active_on(others, known, of_others, from_disks, grid_ns)
    took_nothing = pl.col("neighbour").is_null() & pl.col("storage").is_in(harmless)
    around = around.with_columns(
        pl.when(took_nothing).then(0.0).otherwise(f"{kind}_taken").alias(f"{kind}_taken") for kind in KINDS
    )
    company = around.filter(took_nothing | took_time())
    is_harmless = pl.col("job").is_null() & pl.col("storage").is_in(harmless)
    together = everyone.remove(is_harmless).group_by("storage", "slice").agg(pl.col(AMOUNTS.values()).sum())
    on_each = on_storages(slices, around.remove(took_nothing), together, known)
    counted_by_requests = in_requests(on_each, known, of_requests, by_requests, digest.job)
    scene = Scene(
        on_each, known, seconds, _unevenness(calls), in_requests=counted_by_requests, small_syncs=small_syncs(digest)
    )

    def chains_of(run: Digest) -> ProcessChains:
        return process_chains(run, grid_ns, chains_to_match(run, digest, grid_ns))

    alone_chains = [chains_of(run) for run in runs]
    by_command = [run for run in runs if job.command and run.about["command"] == job.command]
    asked_alike = {run.job for run in runs if not by_command or run in by_command or run in alone}
    standalone = [
        _standalone(run, its, waits, run.job in asked_alike) for run, its in zip(runs, alone_chains, strict=True)
    ]
    standalone += [
        _standalone(run, chains_of(run), waits, run.about["command"] == job.command, seconds)
        for run, seconds in beside_strangers
    ]
    why_not = NO_TIME if digest.is_served else ""
    scene = with_waits_of(scene, standalone)
    sure = sources.ask(scene, standalone, calls["process"].n_unique(), why_not)
    if of_seconds_alone and sure.chosen is None:
        return None
    step = next_step(job, digest, {run.job for run in (*alone, *found)})
    told = _told(
        digest,
        job,
        chains,
        company,
        _with_directions(known, on_each, seconds),
        sure,
        traffic,
        where,
        neighbours,
        grid_ns,
        step,
        of_seconds_alone,
    )
    same_work = like(digest, runs, alone, sure)
    why_hidden = "" if same_work else why_hidden_io(digest, told.io_processes, told.io_seconds, hidden)
    if why_hidden:
        if of_seconds_alone:
            return None
        told = replace(not_known(told, why_hidden), is_hidden=hidden > 0)
    told = with_time_outside(told, digest, same_work, asked_otherwise(digest, runs, sure), hidden > 0, of_seconds_alone)
    lower = lowered(where, limits, digest, runs)
    told = with_limit(told, lower)
    of_its_size = [run for run, its in zip(runs, alone_chains, strict=True) if len(its) == len(chains)]
    limited = time_limited(digest, of_its_size) if told.lost is not None else None
    is_open = limited is None and not same_work and told.lost is not None
    why = why_its_work_did_not_end_it(digest) if is_open else ""
    why = NOT_ITS_WORK.format(why=why) if why else ""
    if not why and limited is None:
        why = why_it_may_be_anything(told, digest, runs, sure)
    if why:
        if of_seconds_alone:
            return None
        told = with_waits(replace(not_known(told, why), next_step=step), digest)
    if limited is not None:
        told = with_set_time(told, limited)
    if told.lost is not None and sure.chosen is not None and sure.chosen.did_as_much:
        is_narrower = told.is_too_uncertain and limited is None and told.outside is None
        told = replace(told, next_step=NARROWER.format(step=step) if is_narrower else "")
    lost = max(0.0, told.lost.value) if told.lost else 0.0
    slowest = process_seconds(calls)["process"]
    own = (
        None
        if of_seconds_alone
        else own_processes(
            calls,
            company.select("storage", "slice"),
            [its.calls for its in alone_chains],
            None if slowest.is_empty() else int(slowest[0]),
            max(0.0, told.io_seconds - lost),
        )
    )
    runs_told = [as_other_work(one, sure, told.lost is not None, same_work) for one in runs_told]
    notes = [
        *told.notes,
        *speed_notes(sure, runs_told),
        *cache_notes(digest, runs_told),
        *why_none_taken(runs_told),
        *(limit_words(where, limits, lower) if told.io_seconds >= TRIVIAL * told.runtime_seconds else ()),
        *(request_words(where, limits, of_requests) if told.neighbours else ()),
        *(_harmless(one) for one in where if one.number in harmless),
        *estimated_words([one.job for one in told.neighbours], neighbours),
    ]
    if served is not None:
        its = beside.filter(pl.col("job") == digest.job, pl.col("storage") == served.storage.number)
        own_bytes = int(its.select(pl.sum_horizontal(BYTES).sum()).item())
        notes += served_words(served, [one.job for one in told.neighbours], own_bytes)
    turn = turn_of(digest, neighbours, beside, known, [one.number for one in where], grid_ns)
    parts = None if of_seconds_alone else split(digest)
    if parts is not None:
        in_calls = told.outside.io_seconds if told.outside else 0.0
        of_io = lost / (lost + in_calls) if lost > 0 else 1.0  # what calls waited for a processor is no I/O's
        lost_slices = told.slices.with_columns(pl.col("lost_seconds") * of_io) if told.is_claimed else None
        told = replace(told, by_waiting=cost_by_waiting(parts, digest.slice_ns, lost_slices, grid_ns))
    idle = bystanders(others, company, {storage for storage, _ in scene.places})
    told = with_turn(replace(told, own_processes=own, notes=notes, runs=runs_told, bystanders=idle), turn)
    if told.is_claimed and not of_seconds_alone:
        told = replace(told, regions=lost_in_regions(digest, told.shares, told.neighbours, grid_ns))
    # Perhaps memory held for other runs what it did not hold for this one.
    if told.is_claimed and cache_notes(digest, runs_told):
        told = replace(told, confidence="low")
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
    program = run.about["program"]
    if program != job.program:
        raise UserError(
            f"{run.path}: is no standalone run of {job.job}: it ran {program}, not {job.program}; "
            f"give a run of the same program, or, if it did the same work, --same-as {run.path}"
        )


def _storages_of(slices: pl.DataFrame, digest: Digest, neighbours: Sequence[Digest]) -> list[Storage]:
    """Those with calls, the longest ones first, by the names that they have where the job saw them: a job that servers
    counted saw none.
    """
    took = (
        slices.group_by("storage", maintain_order=True)
        .agg(seconds=pl.sum_horizontal(SECONDS.values()).sum())
        .sort("seconds", "storage", descending=[True, False])
    )
    return storages.describe_all(took["storage"].to_list(), [digest, *(neighbours if digest.is_served else ())])


def _as_servers_counted(traffic: Traffic, served: ServerCounts) -> Traffic:
    """Traffic of which the servers know every job by name."""
    return replace(traffic, profiled=served.all_bytes, counted=served.all_bytes, counter=BY_SERVERS)


def _with_directions(
    known: Mapping[int, Capacities], on_each: Mapping[int, SlicesOnStorage], seconds: float
) -> dict[int, Capacities]:
    """Capacities by which a loss is divided among neighbours: whether reads and writes pass each other by."""
    return {
        number: replace(one, pass_by=one.pass_by or (number in on_each and passes_by(on_each[number], one, seconds)))
        for number, one in known.items()
    }


def _with_exponent(traffic: Traffic, known: Capacities | None) -> Traffic:
    return replace(traffic, exponent=known.exponent, mixed=known.mixed) if known else traffic


def _unevenness(calls: pl.DataFrame) -> float:
    by_process = process_seconds(calls)["seconds"].to_numpy()
    return float(by_process.max() / by_process.mean()) if len(by_process) and by_process.mean() > 0 else 1.0


def _standalone(
    run: Digest, chains: ProcessChains, waits: Waits, is_same_command: bool, strangers: float | None = None
) -> StandaloneRows:
    uneven = to_runtime.unevenness(chains.calls, chains.phases, waits)
    processes = chains.calls["process"].n_unique()
    return StandaloneRows(run.job, processes, chains.by_itself, uneven, is_same_command, strangers)


def _told(
    digest: Digest,
    job: Job,
    chains: ProcessChains,
    company: pl.DataFrame,
    known: Mapping[int, Capacities],
    sure: Answered,
    traffic: list[Traffic],
    where: list[Storage],
    neighbours: Sequence[Digest],
    grid_ns: int,
    step: str,
    of_seconds_alone: bool,
) -> Blame:
    calls, waits, slices = chains.calls, chains.waits, chains.slices
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
        value, uneven = to_runtime.lost_runtime(calls, prices, chains.phases, waits, chosen.uneven)
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
        unknown_because="" if base else _why_unknown(digest, slices, company, sure.baselines),
        next_step="" if base and confidence in SURE else step,
        traffic=traffic,
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
    there = shares.filter(counted).group_by("neighbour").agg(
        pl.col(AMOUNTS.values()).sum(), first=pl.col("slice").min(), last=pl.col("slice").max(),
        count=pl.col("slice").n_unique(),
    )  # fmt: skip
    its = {row["neighbour"]: row for row in there.iter_rows(named=True)}
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
                meta_ops=round(its[name]["meta_ops"] * (1 - (share_of_seeks(digest) if digest else 0.0))),
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


def _why_unknown(digest: Digest, slices: pl.DataFrame, company: pl.DataFrame, sources: Sequence[Baseline]) -> str:
    """Why no source tells what the job's I/O would have taken alone: one clause each that adds something."""
    if digest.processes.filter(is_profiled()).is_empty():
        return "its processes were sampled from outside, and how long their calls took is not known"
    if slices.is_empty():
        return "it made no calls on files"
    if company.is_empty():
        return f"no standalone run is known, and {uncontended.NOBODY}"
    clauses = dict.fromkeys(source.refused for source in sources if source.source != "other sizes")
    return "; ".join(clauses)
