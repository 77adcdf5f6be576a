"""Who slowed a job, by how much, and how sure that is.

Digests in, a `Blame` out. The formulas are in docs/models.md.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from slicewise.analysis.blame import sources, to_runtime
from slicewise.analysis.blame.active import bystanders
from slicewise.analysis.blame.answer import answer
from slicewise.analysis.blame.limits import limit_words, lowered, request_words
from slicewise.analysis.blame.meanwhile import Meanwhile, TimeTaken, meanwhile, time_taken
from slicewise.analysis.blame.memory import moved_by_no_call
from slicewise.analysis.blame.next_step import NARROWER, next_step
from slicewise.analysis.blame.outside import cost_by_waiting
from slicewise.analysis.blame.own_processes import own_processes
from slicewise.analysis.blame.regions import lost_in_regions
from slicewise.analysis.blame.result import Blame, LowerLimit, RunTaken
from slicewise.analysis.blame.runs_taken import (
    as_other_work,
    asked_otherwise,
    cache_notes,
    like,
    runs_taken,
    speed_notes,
    why_none_taken,
)
from slicewise.analysis.blame.servers import served_words, with_time
from slicewise.analysis.blame.sources import Answered
from slicewise.analysis.blame.standalone import StandaloneRows, with_waits_of
from slicewise.analysis.blame.time_limited import time_limited, why_its_work_did_not_end_it
from slicewise.analysis.blame.to_runtime import ProcessChains, Waits, chains_to_match, process_chains
from slicewise.analysis.blame.turn import turn_of, with_turn
from slicewise.analysis.blame.unprofiled import estimated_words
from slicewise.analysis.blame.weighed import (
    not_known,
    why_hidden_io,
    why_it_may_be_anything,
    with_limit,
    with_set_time,
    with_time_outside,
    with_waits,
)
from slicewise.analysis.calls import Rows, process_seconds
from slicewise.analysis.job.split import split
from slicewise.analysis.runs.matching import Job, run_of
from slicewise.analysis.runs.storage import Storage
from slicewise.constants import TRIVIAL, WORTH_NAMING_BYTES
from slicewise.digest.activity import common_slice_ns
from slicewise.digest.digest import Digest
from slicewise.digest.quality import imported, with_late_counts
from slicewise.digest.slices import BYTES
from slicewise.errors import UserError
from slicewise.kinds import LESS_SURE
from slicewise.text import words

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
    job = run_of(digest).job
    for other in alone:
        if other.path not in same_as:
            _require_same_program(other, job)
    chains = process_chains(digest, grid_ns)
    there = meanwhile(digest, neighbours, chains.slices, rows, counted, grid_ns)
    runs, runs_told, beside_strangers = runs_taken(digest, alone, found, there.where, rows, grid_ns, counted)
    taken = time_taken(there, runs, chains, rows)

    def chains_of(run: Digest) -> ProcessChains:
        return process_chains(run, grid_ns, chains_to_match(run, digest, grid_ns))

    alone_chains = [chains_of(run) for run in runs]
    by_command = [run for run in runs if job.command and run.about["command"] == job.command]
    asked_alike = {run.job for run in runs if not by_command or run in by_command or run in alone}
    standalone = [
        _standalone(run, its, chains.waits, run.job in asked_alike) for run, its in zip(runs, alone_chains, strict=True)
    ]
    standalone += [
        _standalone(run, chains_of(run), chains.waits, run.about["command"] == job.command, seconds)
        for run, seconds in beside_strangers
    ]
    scene = with_waits_of(taken.scene, standalone)
    sure = sources.ask(scene, standalone, chains.calls["process"].n_unique(), NO_TIME if digest.is_served else "")
    if of_seconds_alone and sure.chosen is None:
        return None
    step = next_step(job, digest, {run.job for run in (*alone, *found)})
    told = answer(sure, there, taken, chains, step, of_seconds_alone)
    same_work = like(digest, runs, alone, sure)
    lower = lowered(there.where, there.limits, digest, runs)
    of_its_size = [run for run, its in zip(runs, alone_chains, strict=True) if len(its) == len(chains)]
    weighed = _weighed(told, digest, runs, of_its_size, same_work, sure, lower, step, of_seconds_alone)
    if weighed is None:
        return None
    told = weighed
    if not of_seconds_alone:
        lost = max(0.0, told.lost.value) if told.lost else 0.0
        slowest = process_seconds(chains.calls)["process"]
        own = own_processes(
            chains.calls,
            taken.active.select("storage", "slice"),
            [its.calls for its in alone_chains],
            None if slowest.is_empty() else int(slowest[0]),
            max(0.0, told.io_seconds - lost),
        )
        told = replace(_with_waiting(told, digest, grid_ns), own_processes=own)
    runs_told = [as_other_work(one, sure, told.lost is not None, same_work) for one in runs_told]
    idle = bystanders(taken.others, taken.active, {storage for storage, _ in scene.places})
    notes = _notes(told, there, taken, sure, runs_told, lower)
    told = replace(told, notes=notes, runs=runs_told, bystanders=idle)
    where = [one.number for one in there.where]
    told = with_turn(told, turn_of(digest, there.neighbours, taken.rows, scene.known, where, grid_ns))
    if told.is_claimed and not of_seconds_alone:
        told = replace(told, regions=lost_in_regions(digest, told.shares, told.neighbours, grid_ns))
    # Perhaps memory held for other runs what it did not hold for this one.
    if told.is_claimed and cache_notes(digest, runs_told):
        told = replace(told, confidence="low")
    return _as_sure_as_slices(told, [digest, *there.neighbours])


def _weighed(
    told: Blame,
    digest: Digest,
    runs: Sequence[Digest],
    of_its_size: Sequence[Digest],
    same_work: Sequence[Digest],
    sure: Answered,
    lower: Sequence[LowerLimit],
    step: str,
    of_seconds_alone: bool,
) -> Blame | None:
    """The answer after all that speaks against it; None: what it lost is not known, and no more was asked. runs: those
    that count as alone; of these, with as many processes, of_its_size; that did the same, same_work. lower: limits.
    """
    hidden = moved_by_no_call(digest)
    why = "" if same_work else why_hidden_io(digest, told.io_processes, told.io_seconds, hidden)
    if why:
        if of_seconds_alone:
            return None
        told = replace(not_known(told, why), is_hidden=hidden > 0)
    told = with_time_outside(told, digest, same_work, asked_otherwise(digest, runs, sure), hidden > 0, of_seconds_alone)
    told = with_limit(told, lower)
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
    return told


def _with_waiting(told: Blame, digest: Digest, grid_ns: int) -> Blame:
    """The answer with what I/O cost other ranks, which waited for it in MPI."""
    parts = split(digest)
    if parts is None:
        return told
    lost = max(0.0, told.lost.value) if told.lost else 0.0
    in_calls = told.outside.io_seconds if told.outside else 0.0
    of_io = lost / (lost + in_calls) if lost > 0 else 1.0  # what calls waited for a processor is no I/O's
    lost_slices = told.slices.with_columns(pl.col("lost_seconds") * of_io) if told.is_claimed else None
    return replace(told, by_waiting=cost_by_waiting(parts, digest.slice_ns, lost_slices, grid_ns))


def _notes(
    told: Blame,
    there: Meanwhile,
    taken: TimeTaken,
    sure: Answered,
    runs_told: Sequence[RunTaken],
    lower: Sequence[LowerLimit],
) -> list[str]:
    """A sentence each on what else there is to know."""
    digest, served = there.digest, there.served
    notes = [
        *told.notes,
        *speed_notes(sure, runs_told),
        *cache_notes(digest, runs_told),
        *why_none_taken(runs_told),
        *(limit_words(there.where, there.limits, lower) if told.io_seconds >= TRIVIAL * told.runtime_seconds else ()),
        *(request_words(there.where, there.limits, taken.of_requests) if told.neighbours else ()),
        *(_harmless(one) for one in there.where if one.number in taken.harmless),
        *(_unasked(one) for one in there.where if one.number in taken.unasked and _is_used(one, taken.others)),
        *estimated_words([one.job for one in told.neighbours], there.neighbours),
    ]
    if served is not None:
        its = taken.rows.filter(pl.col("job") == digest.job, pl.col("storage") == served.storage.number)
        own_bytes = int(its.select(pl.sum_horizontal(BYTES).sum()).item())
        notes += served_words(served, [one.job for one in told.neighbours], own_bytes)
    return notes


def _as_sure_as_slices(told: Blame, jobs: Sequence[Digest]) -> Blame:
    """The blame, less sure where the job's slices, or those of a neighbour that it names, are known in part only."""
    named = {told.job.job, *(neighbour.job for neighbour in told.neighbours)}
    jobs = [job for job in jobs if job.job in named]
    logs = [job.job for job in jobs if (how := imported(job)) is not None and how.is_blurred(told.slice_ns / 1e9)]
    late = with_late_counts(jobs)
    for who, why in ((logs, "imported from logs that do not say exactly in which slices bytes were moved"),
                     (late, "counted in part a slice late, since memory was full")):  # fmt: skip
        if who:
            are = "is" if len(who) == 1 else "are"
            note = f"{words.listing(who)} {are} {why}, so it is less sure who was active with whom"
            told = replace(told, confidence=LESS_SURE[told.confidence], notes=[*told.notes, note])
    return told


def _harmless(storage: Storage) -> str:
    return (
        f"Programs without a profile also moved bytes on {storage.point} and slowed nobody down: together "
        "the jobs were as fast with that traffic as without it"
    )


def _is_used(storage: Storage, others: pl.DataFrame) -> bool:
    moved = others.filter(pl.col("storage") == storage.number).select(pl.sum_horizontal(BYTES).sum()).item()
    return int(moved) >= WORTH_NAMING_BYTES


def _unasked(storage: Storage) -> str:
    return (
        f"What it read on {storage.point} was in memory, and it wrote next to nothing there: "
        "those who used that disk meanwhile did not slow it down"
    )


def _require_same_program(run: Digest, job: Job) -> None:
    program = run.about["program"]
    if program != job.program:
        raise UserError(
            f"{run.path}: is no standalone run of {job.job}: it ran {program}, not {job.program}; "
            f"give a run of the same program, or, if it did the same work, --same-as {run.path}"
        )


def _standalone(
    run: Digest, chains: ProcessChains, waits: Waits, is_same_command: bool, strangers: float | None = None
) -> StandaloneRows:
    uneven = to_runtime.unevenness(chains.calls, chains.phases, waits)
    processes = chains.calls["process"].n_unique()
    return StandaloneRows(run.job, processes, chains.by_itself, uneven, is_same_command, strangers)
