"""The jobs of a comparison: which profiles they are, who their processes are, which standalone run is whose.

Profiles in, dataclasses out. What cannot be compared is refused here, in one line each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from slicewise.analysis.activity import DIRECTIONS, bytes_by_mount, members
from slicewise.analysis.storage import file_mounts
from slicewise.errors import UserError
from slicewise.profile.reader import Profile


@dataclass(frozen=True)
class Job:
    """A job: name, program (the executable's name whose processes moved most bytes), processes and nodes (counts),
    start_ns and end_ns (CLOCK_REALTIME).

    Processes are those with a rank in an MPI job, and those that moved bytes of files in another one.
    """

    job: str
    program: str
    processes: int
    nodes: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Run:
    """A profile with what comparisons need of it: the job, whether it has ranks, its processes (`members`), its
    `file_mounts`.
    """

    profile: Profile
    job: Job
    is_mpi: bool
    members: pl.DataFrame
    mounts: pl.DataFrame

    @property
    def name(self) -> str:
        return self.job.job


def runs_to_compare(profiles: Sequence[Profile]) -> list[Run]:
    """The runs of two or more jobs that overlap in time; of jobs with one name the later ones get a number.

    Raises UserError for fewer than two profiles, for one that is given twice, and for one that no other overlaps in
    time.
    """
    if len(profiles) < 2:
        raise UserError("overlap needs the profiles of two jobs or more; for a single one: slicewise report PROFILE")
    runs: list[Run] = []
    for profile in profiles:
        for earlier in runs:
            if set(earlier.profile.processes["process"]) & set(profile.processes["process"]):
                raise UserError(
                    f"{profile.path} and {earlier.profile.path} are profiles of the same processes; give each job once"
                )
        namesakes = sum(run.profile.job == profile.job for run in runs)
        runs.append(run_of(profile, f"{profile.job} ({namesakes + 1})" if namesakes else profile.job))
    for run in runs:
        if not any(_overlap_in_time(run.job, other.job) for other in runs if other is not run):
            raise UserError(_apart(run.job, [other.job for other in runs if other is not run]))
    return runs


def run_of(profile: Profile, name: str) -> Run:
    """A profile as a run of that name."""
    processes = members(profile).with_columns(job=pl.lit(name))
    known = processes if len(processes) else profile.processes.with_columns(node="host")
    # A process that still runs has no end yet: it lived at least until the last slice that it counted in began.
    last_slice = profile.slices["slice"].max()
    end_ns = max(int(known["end_ns"].max()), 0 if last_slice is None else int(last_slice) * profile.slice_ns)
    job = Job(
        job=name,
        program=_main_program(profile, known),
        processes=len(processes),
        nodes=processes["node"].n_unique(),
        start_ns=int(known["start_ns"].min()),
        end_ns=end_ns,
    )
    return Run(profile, job, bool((processes["rank"] >= 0).any()), processes, file_mounts(profile))


def _main_program(profile: Profile, processes: pl.DataFrame) -> str:
    """The name of the program that moved most bytes of files; of several such the one that most processes ran."""
    moved = pl.concat([bytes_by_mount(profile, processes, direction) for direction in DIRECTIONS])
    by_program = (
        processes.select("process", pl.col("program").str.split("/").list.last())
        .join(moved.group_by("process").agg(pl.col("bytes").sum()), on="process", how="left")
        .group_by("program")
        .agg(pl.col("bytes").sum(), pl.len().alias("processes"))
    )
    return by_program.sort("bytes", "processes", "program", descending=[True, True, False])["program"][0]


def match_standalone(alone: Sequence[Profile], jobs: Sequence[Job]) -> dict[str, list[Run]]:
    """Job's name -> its standalone runs: those of the same program with as many processes.

    Raises UserError for a standalone run that is none of the jobs'.
    """
    matched: dict[str, list[Run]] = {job.job: [] for job in jobs}
    for profile in alone:
        run = run_of(profile, profile.job)
        fitting = [job for job in jobs if (job.program, job.processes) == (run.job.program, run.job.processes)]
        if not fitting:
            count = "1 process" if run.job.processes == 1 else f"{run.job.processes} processes"
            theirs = " or ".join(f"{job.program} with {job.processes}" for job in jobs)
            raise UserError(
                f"{profile.path}: fits none of the jobs as a standalone run: it ran {run.job.program} with {count}, "
                f"not {theirs}; give runs of the same program with as many processes"
            )
        for job in fitting:
            matched[job.job].append(run)
    return matched


def _overlap_in_time(one: Job, other: Job) -> bool:
    return one.start_ns < other.end_ns and other.start_ns < one.end_ns


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
