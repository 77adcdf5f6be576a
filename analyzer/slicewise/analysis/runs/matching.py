"""The jobs of a comparison: which profiles, who their processes are, which standalone run is whose; else refused."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from slicewise.analysis.runs.limits import synced_writes
from slicewise.constants import LITTLE_OF_RUNTIME, MAINLY, SECOND_NS
from slicewise.digest.activity import members, runtime_of
from slicewise.digest.company import (
    NEVER,
    active,
    as_many,
    beyond_calls,
    company_of,
    together,
    with_slices_beyond_calls,
)
from slicewise.digest.digest import Digest
from slicewise.digest.sampled import active as sampled_active
from slicewise.digest.sampled import on_storages
from slicewise.errors import UserError
from slicewise.text import words

# Numbers of sync calls further apart than this factor are another way to write.
OTHER_SYNCS = 2.0


@dataclass(frozen=True)
class Job:
    """A job: name, program (the executable's name whose processes moved most bytes), processes and nodes (counts),
    start_ns and end_ns (CLOCK_REALTIME), command (line) and directory (both empty where they are not known). Processes
    are those that matter (see docs/models.md).
    """

    job: str
    program: str
    processes: int
    nodes: int
    start_ns: int
    end_ns: int
    command: str = ""
    directory: str = ""


@dataclass(frozen=True)
class Run:
    """A job's digest with what comparisons need of it: the job in short, and its processes that matter."""

    digest: Digest
    job: Job
    members: pl.DataFrame

    @property
    def name(self) -> str:
        return self.job.job


def require_different(digests: Sequence[Digest], command: str, one: str) -> None:
    """Raises UserError for fewer than two, and for profiles of the same processes. one: what each is to the command."""
    if len(digests) < 2:
        raise UserError(
            f"{command} needs the profiles of two {one}s or more; for a single one: slicewise report PROFILE"
        )
    for earlier, digest in combinations(digests, 2):
        if set(earlier.processes["process"]) & set(digest.processes["process"]):
            raise UserError(
                f"{digest.path} and {earlier.path} are profiles of the same processes; give each {one} once"
            )


def runs_to_compare(digests: Sequence[Digest]) -> list[Run]:
    """The runs of jobs that overlap in time. Raises UserError for fewer than two, doubles, and one apart."""
    require_different(digests, "overlap", "job")
    runs = [run_of(digest) for digest in digests]
    for run in runs:
        others = [other.job for other in runs if other is not run]
        if not any(run.job.start_ns < other.end_ns and other.start_ns < run.job.end_ns for other in others):
            raise UserError(_apart(run.job, others))
    return runs


def each_once(digests: Sequence[Digest]) -> list[Digest]:
    """The digests without those of a process that an earlier one has: a copy of a profile is the same job."""
    kept, known = list[Digest](), set[int]()
    for digest in digests:
        own = set(digest.processes["process"])
        if known.isdisjoint(own):
            kept.append(digest)
        known |= own
    return kept


def run_of(digest: Digest) -> Run:
    row = digest.about
    job = Job(row["job"], row["program"], row["processes"], row["nodes"], row["start_ns"], row["end_ns"],
              row["command"] or "", row["directory"] or "")  # fmt: skip
    return Run(digest, job, members(digest))


def company(digest: Digest, others: Sequence[Digest]) -> list[Digest]:
    known = [other for other in others if other is not digest]
    rows = pl.concat([NEVER, *(_active(other, place) for place, other in enumerate(known))])
    return [known[place] for place in company_of(_active(digest), rows)]


def _active(digest: Digest, place: int = 0) -> pl.DataFrame:
    processes = digest.processes.with_columns(job=pl.lit(place, pl.Int64), slice_ns=pl.lit(digest.slice_ns, pl.Int64))
    calls = digest.process_slices.group_by("process", "storage", maintain_order=True).agg("slice")
    if "coverage" not in digest.not_kept:
        called = pl.sum_horizontal("read_seen", "read_requested")
        beyond = beyond_calls(processes, digest.coverage, pl.col("read_storage"), called)
        calls = with_slices_beyond_calls(calls, beyond)
    return together(active(calls, processes), _sampled(digest, place))


def _sampled(digest: Digest, place: int) -> pl.DataFrame:
    if digest.sampled_storages.is_empty():
        return NEVER
    moved = on_storages(digest.sampled_slices, digest.sampled_storages)
    columns = {"job": pl.lit(place, pl.Int64), "slice_ns": pl.lit(digest.node_slice_ns, pl.Int64)}
    return sampled_active(moved.with_columns(**columns), digest.sampled_processes)


def that_fit(found: Sequence[Sequence[Digest]], jobs: Sequence[Digest]) -> list[Digest]:
    """The runs that were found, and not given, for each of the jobs and are of its size; each run once."""
    known: dict[Path, Digest] = {}
    for job, runs in zip(jobs, found, strict=True):
        known |= {run.path: run for run in runs if _is_of_size(run.about, job.about)}
    return list(known.values())


def _is_of_size(run: Mapping[str, Any], job: Mapping[str, Any]) -> bool:
    return bool(run["program"] == job["program"] and as_many(run["processes"], job["processes"]))


def are_other_syncs(one: int, other: int) -> bool:
    """Whether two numbers of sync calls are two ways to write."""
    return max(one, other) > OTHER_SYNCS * min(one, other)


def synced_otherwise(job: Digest, run: Digest) -> str:
    """Why a run of a job's size did other work than it, though it wrote as much: one of them waited in sync calls for
    what the other left in the cache. Empty: it did not, or both have one command line, which may sync now and then.
    """
    is_one_command = job.about["command"] and job.about["command"] == run.about["command"]
    if is_one_command or not as_many(job.about["processes"], run.about["processes"]):
        return ""
    own, its = (one.process_slices.select(pl.col("sync_ops", "sync_ns").sum()).row(0) for one in (job, run))
    own_writes, its_writes = (synced_writes(one) for one in (job, run))
    if not are_other_syncs(own[0] + own_writes, its[0] + its_writes):
        return ""
    waited_little = all(
        ns / SECOND_NS <= LITTLE_OF_RUNTIME * runtime_of(one) for (_, ns), one in ((own, job), (its, run))
    )
    if (waited_little and not own_writes + its_writes) or _is_direct(job if own[0] < its[0] else run):
        return ""
    return f"it {_in_syncs(its[0], its[1], its_writes)}, and this job {_in_syncs(own[0], own[1], own_writes)}"


def _is_direct(run: Digest) -> bool:
    """Whether most of what a run wrote was never in the cache, and needs no syncs, though it made none (O_DIRECT)."""
    past, wrote = run.mounts.select(pl.col("past_cache_bytes", "write_bytes").sum()).row(0)
    return bool(past > MAINLY * wrote and not synced_writes(run))


def _in_syncs(calls: int, waited_ns: int, writes: int) -> str:
    """writes: that waited as syncs do."""
    waited = f"waited {words.duration(waited_ns / SECOND_NS)} in {words.count(calls, 'sync call')}"
    made = waited if calls else "made no sync call"
    return f"made {words.count(writes, 'synchronous write')}" if writes > calls else made


def match_standalone(alone: Sequence[Digest], jobs: Sequence[Job]) -> dict[str, list[Run]]:
    """Each job's runs of its program with as many processes, by name. Raises UserError for one of no job."""
    matched: dict[str, list[Run]] = {job.job: [] for job in jobs}
    for digest in alone:
        run = run_of(digest)
        fitting = [job for job in jobs if _is_of_size(asdict(run.job), asdict(job))]
        if not fitting:
            count = "1 process" if run.job.processes == 1 else f"{run.job.processes} processes"
            theirs = " or ".join(f"{job.program} with {job.processes}" for job in jobs)
            raise UserError(
                f"{digest.path}: fits none of the jobs as a standalone run: it ran {run.job.program} with {count}, "
                f"not {theirs}; give runs of the same program with as many processes"
            )
        for job in fitting:
            matched[job.job].append(run)
    return matched


def _apart(job: Job, others: Sequence[Job]) -> str:
    """Says of a job and the one nearest in time that they do not overlap."""
    pairs = [(job, other) if job.end_ns <= other.start_ns else (other, job) for other in others]
    earlier, later = min(pairs, key=lambda pair: pair[1].start_ns - pair[0].end_ns)
    ended, began = (datetime.fromtimestamp(ns / 1e9) for ns in (earlier.end_ns, later.start_ns))
    form = "%H:%M:%S" if ended.date() == began.date() else "%Y-%m-%d %H:%M:%S"
    return (
        f"these profiles do not overlap in time: {earlier.job} ended at {ended:{form}}, "
        f"{later.job} began at {began:{form}}"
    )
