"""Holds what blame tells against what was recorded: the section of docs/validation.md on lost time.

A recording is a directory that `testbed.blame_campaign` made: profiles, and truth.jsonl with what each job's own clock
said. True is the difference to the job's standalone runs by that clock; nothing of the profiles is in it.
"""

from __future__ import annotations

import functools
import json
import statistics
from dataclasses import dataclass
from pathlib import Path

from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.result import Blame, Source
from slicewise.digest.digest import Digest, several
from slicewise.profile.many import read_profiles

from testbed.blame_plans import JOBS, STORAGES, recording_of
from testbed.markdown import table

# Losses below this share of the time in calls are not counted among the errors: a per cent of such a loss is little.
LEAST_LOSS = 0.20
# Mean and largest error that are aimed at, in per cent of the true loss.
AIMS: dict[Source, tuple[float, float]] = {
    "standalone runs": (1.5, 8),
    "quiet slices": (4, 10),
    "line": (6, 12),
    "envelope": (4, 15),
}
POINTS_AIM = 15
MIB = 1 << 20
LEAST_CLAIM = 0.02
# What whoever recorded them says of them, beside the archives.
NOTES = "BLAME.md"
UNPROFILED_AIM = 10
TITLE = """## Lost time and blame

Jobs alone and in company under `slicewise run`, 20 to 75 s long (`python -m testbed.blame_campaign`), on GlusterFS and
sshfs behind a link of 200 Mbit/s, and on a disk whose reading and writing a control group limits to 23 MiB/s each. A
run is named by its jobs (`tests/testbed/blame_plans.py`); `four@8` begins 8 s later. What a job truly lost is the
difference to its standalone runs by the job's own clock: of its runtime, and of the time in calls of the process with
most. Nothing of the profiles is in that. Errors are in per cent of the true loss in calls, for losses of 20 % of the
time in calls and more; all runs are here, and every source that did not refuse. Without standalone runs: what is told
when they are withheld, by the source that is chosen then.
"""

OF_NEIGHBOURS = """### Whose it is

The part of a loss that is ascribed to a neighbour, and the part that is gone in the runs without that neighbour, both
in per cent of the true loss. Each is in the tables below.
"""
QUIET = """### Silence where nobody hurt

Jobs that were alone, or had company on another storage only. Each was asked about twice. The second table has those for
which a loss was claimed with high or medium confidence, all by comparison with the job's other standalone runs.
"""
UNPROFILED = f"""### A neighbour without a profile

Pairs whose other profile is withheld: what the neighbour moved while the job ran, and what is told as traffic without a
profile (aim {UNPROFILED_AIM} %). Only a disk's counters, and those of a server that a collector samples, show it: the
nodes of the testbed do not see each other's bytes.
"""


@dataclass(frozen=True)
class Truth:
    """What a job's own clock said. in_calls: of the process with most; bytes: that it moved."""

    job: str
    profile: str
    seconds: float
    in_calls: float | None
    bytes: int | None


@dataclass(frozen=True)
class Recorded:
    """A run: its jobs, in their places. members: JOB or JOB@DELAY of each, as the plans have it."""

    name: str
    storage: str
    members: list[str]
    slice_seconds: float
    jobs: list[Truth]

    @property
    def text(self) -> str:
        return " + ".join(self.members)


@dataclass(frozen=True)
class Case:
    """A job of a run that was recorded alone too: what it truly lost, and what blame tells of it.

    lost: seconds of the runtime; io_lost: in the calls of the process with most, None where the job has no clock of its
    own for that. told: with its standalone runs; told_without: where they are withheld.
    """

    run: Recorded
    job: Truth
    lost: float
    io_lost: float | None
    told: Blame
    told_without: Blame

    @property
    def is_counted(self) -> bool:
        """Whether its loss is among those whose errors are summed up."""
        return self.io_lost is not None and self.io_lost >= LEAST_LOSS * (self.job.in_calls or 0)

    @property
    def part_of_calls(self) -> str:
        """The loss in per cent of the time in calls; empty where there is no clock for it."""
        return (
            "" if self.io_lost is None or not self.job.in_calls else f"{100 * self.io_lost / self.job.in_calls:.0f} %"
        )

    def error(self, source: Source) -> float | None:
        """Per cent of the true loss in calls that a source is off; None where it refuses."""
        told = self.told if source == "standalone runs" else self.told_without
        found = next(each.seconds for each in told.sources if each.source == source)
        if found is None or self.io_lost is None:
            return None
        return 100 * ((self.told.io_seconds - found.value) / self.io_lost - 1)


@functools.cache
def runs_of(directory: Path) -> list[Recorded]:
    """The runs of a recording."""
    found = []
    for line in (directory / "truth.jsonl").read_text().splitlines():
        run = json.loads(line)
        jobs = [
            Truth(job["job"], job["profile"], job["seconds"], job.get("in_calls"), job.get("bytes"))
            for job in run["jobs"]
        ]
        members = [job["job"] + (f"@{job['delay']:g}" if job["delay"] else "") for job in run["jobs"]]
        found.append(Recorded(run["run"], run["storage"], members, run["slice_seconds"], jobs))
    return found


@functools.cache
def digest_of(profile: Path) -> Digest:
    """A job's digest."""
    [digest] = several(read_profiles([profile]))
    return digest


def alone_of(directory: Path, job: str) -> list[Truth]:
    """A job's standalone runs."""
    return [run.jobs[0] for run in runs_of(directory) if [truth.job for truth in run.jobs] == [job]]


@functools.cache
def cases(directory: Path) -> list[Case]:
    """Every job that had company, if it was recorded alone too."""
    return [
        _case(directory, run, job, alone)
        for run in runs_of(directory)
        for job in run.jobs
        if len(run.jobs) > 1 and (alone := alone_of(directory, job.job))
    ]


def _case(directory: Path, run: Recorded, job: Truth, alone: list[Truth]) -> Case:
    digest, others = _with_others(directory, run, job)
    return Case(
        run,
        job,
        job.seconds - statistics.median(truth.seconds for truth in alone),
        _more_in_calls(job, alone),
        blame(digest, others, [digest_of(directory / truth.profile) for truth in alone]),
        blame(digest, others),
    )


def _more_in_calls(job: Truth, alone: list[Truth]) -> float | None:
    """Seconds in calls more than in the middle one of its standalone runs; None without a clock."""
    known = [truth.in_calls for truth in alone if truth.in_calls is not None]
    return None if job.in_calls is None or not known else job.in_calls - statistics.median(known)


def _with_others(directory: Path, run: Recorded, job: Truth) -> tuple[Digest, list[Digest]]:
    others = [digest_of(directory / other.profile) for other in run.jobs if other is not job]
    return digest_of(directory / job.profile), others


def errors(directory: Path, source: Source) -> list[float]:
    """|error| of a source, in per cent, for the losses that count and that it does not refuse."""
    found = [case.error(source) for case in cases(directory) if case.is_counted]
    return [abs(error) for error in found if error is not None]


@dataclass(frozen=True)
class Share:
    """A neighbour's part of a loss, in per cent of the true loss: as told, and as the runs without it show."""

    case: Case
    neighbour: str
    told: float
    shown: float

    @property
    def points(self) -> float:
        """How far both are apart."""
        return self.told - self.shown


@functools.cache
def shares(directory: Path) -> list[Share]:
    """The part of each neighbour in each loss that counts, where the run without that neighbour was recorded."""
    found = []
    for case in cases(directory):
        if not case.is_counted or case.io_lost is None or case.job.in_calls is None:
            continue
        told = {one.job: one.lost.value for one in case.told.neighbours}
        for other in case.run.jobs:
            without = None if other is case.job else _in_calls_without(directory, case, other)
            if without is None:
                continue
            name = digest_of(directory / other.profile).job
            shown = 100 * (case.job.in_calls - without) / case.io_lost
            found.append(Share(case, other.job, 100 * told.get(name, 0.0) / case.io_lost, shown))
    return found


def _in_calls_without(directory: Path, case: Case, other: Truth) -> float | None:
    """The job's seconds in calls in the runs that lack another job; None where there is none."""
    place = case.run.jobs.index(other)
    own = case.run.jobs.index(case.job) - (place < case.run.jobs.index(case.job))
    members = [member for at, member in enumerate(case.run.members) if at != place]
    if len(members) == 1:
        members = [case.job.job]
    like = [run.jobs[own].in_calls for run in runs_of(directory) if run.members == members]
    known = [seconds for seconds in like if seconds is not None]
    return statistics.median(known) if known else None


@dataclass(frozen=True)
class Quiet:
    """A job that nobody can have cost anything: alone, or with others on another storage. told: with the standalone
    runs that are not this run, or without any. slower: seconds in calls more than in those, by its own clock.
    """

    run: Recorded
    job: Truth
    has_standalone: bool
    slower: float | None
    told: Blame

    @property
    def is_false_alarm(self) -> bool:
        """Whether a loss above 2 % of the I/O time is claimed with confidence high or medium."""
        lost = self.told.lost
        is_sure = self.told.confidence in ("high", "medium")
        return self.told.is_claimed and is_sure and lost is not None and lost.value > LEAST_CLAIM * self.told.io_seconds


@functools.cache
def quiet(directory: Path) -> list[Quiet]:
    """All runs of jobs that nobody can have cost anything."""
    found = []
    for run in runs_of(directory):
        for job in run.jobs:
            elsewhere = JOBS[job.job].is_elsewhere
            if any(JOBS[other.job].is_elsewhere == elsewhere for other in run.jobs if other is not job):
                continue
            digest, others = _with_others(directory, run, job)
            found.append(Quiet(run, job, False, None, blame(digest, others)))
            alone = [truth for truth in alone_of(directory, job.job) if truth is not job]
            if alone:
                told = blame(digest, others, [digest_of(directory / truth.profile) for truth in alone])
                found.append(Quiet(run, job, True, _more_in_calls(job, alone), told))
    return found


@dataclass(frozen=True)
class Unprofiled:
    """A neighbour whose profile is withheld. moved: bytes that it moved while the job ran; told: how many more the
    storage's counter shows than the job's profile.
    """

    case: Case
    moved: int
    told: int


@functools.cache
def unprofiled(directory: Path) -> list[Unprofiled]:
    """Pairs on one storage of which the counters tell, seen by one job's profile and the counters alone."""
    found = []
    for case in cases(directory):
        both = case.told_without.traffic[0]
        lone = blame(_with_others(directory, case.run, case.job)[0], []).traffic[0]
        moved = both.profiled - lone.profiled
        if len(case.run.jobs) == 2 and moved > 0 and lone.counted is not None:
            found.append(Unprofiled(case, moved, lone.counted - lone.profiled))
    return found


@functools.cache
def directories(campaigns: Path) -> list[Path]:
    """The recordings among campaigns, as the plans name them."""
    return [found for storage in STORAGES if (found := campaigns / recording_of(storage)).is_dir()]


def section(campaigns: Path) -> list[str]:
    """The section's parts; none where nothing was recorded."""
    found = directories(campaigns)
    if not found:
        return []
    notes = [(campaigns / NOTES).read_text(encoding="utf-8")] if (campaigns / NOTES).exists() else []
    return [
        TITLE,
        *notes,
        _by_source(found),
        _of_neighbours(found),
        _quiet(found),
        _unprofiled(found),
        *map(_recording, found),
    ]


def _by_source(found: list[Path]) -> str:
    rows = []
    for source, (mean, most) in AIMS.items():
        for name, chosen in [*((directory.name, [directory]) for directory in found), ("all", found)]:
            off = [error for directory in chosen for error in errors(directory, source)]
            losses = sum(case.is_counted for directory in chosen for case in cases(directory))
            row = [source, name, str(losses), str(len(off))]
            if off:
                is_met = statistics.mean(off) <= mean and max(off) <= most
                row += [f"{statistics.mean(off):.1f} %", f"{max(off):.1f} %", "met" if is_met else "missed"]
            rows.append(row[:6] + [""] * (6 - len(row)) + [f"{mean:g} / {most} %"] + (row[6:] or [""]))
    headings = ["source", "recording", "losses", "told", "error, mean", "error, most", "aim, mean / most", ""]
    return f"### How well the loss is told, by source\n\n{table(headings, rows)}"


def _of_neighbours(found: list[Path]) -> str:
    parts = [share for directory in found for share in shares(directory)]
    rows = []
    for what, few in (("one neighbour", True), ("two neighbours", False)):
        apart = [abs(share.points) for share in parts if (len(share.case.run.jobs) == 2) == few]
        within = f"{sum(points <= POINTS_AIM for points in apart)} of {len(apart)}"
        if apart:
            rows.append([what, f"{statistics.mean(apart):.1f}", f"{max(apart):.1f}", within])
    headings = ["runs with", "points apart, mean", "most", f"within the aim ({POINTS_AIM})"]
    return f"{OF_NEIGHBOURS}\n{table(headings, rows)}"


def _quiet(found: list[Path]) -> str:
    runs = [one for directory in found for one in quiet(directory)]
    rows = []
    for what, has_standalone in (("withheld", False), ("given", True)):
        asked = [one for one in runs if one.has_standalone == has_standalone]
        rows.append([what, str(len(asked)), str(sum(one.is_false_alarm for one in asked))])
    headings = ["its other standalone runs", "jobs", f"claimed: more than {100 * LEAST_CLAIM:g} % of the I/O time"]
    claimed = [
        [
            one.run.storage, one.run.text, one.job.job, f"{one.told.lost.value if one.told.lost else 0:.2f}",
            "" if one.slower is None else f"{one.slower:.2f}", f"{one.told.io_seconds:.2f}", one.told.confidence,
        ]
        for one in runs if one.is_false_alarm
    ]  # fmt: skip
    columns = ["storage", "run", "job", "told, s", "truly slower in calls, s", "in calls, s", "confidence"]
    slower = sum(one.slower is not None and one.slower > 0 for one in runs if one.is_false_alarm)
    said = (
        f"By its own clock {slower} of these {len(claimed)} jobs were slower than those runs, for the recording "
        "machine had other work: the loss is there, but it is no neighbour's, and no neighbour is named.\n"
    )
    return "\n".join([QUIET, table(headings, rows), table(columns, claimed), said])


def _unprofiled(found: list[Path]) -> str:
    rows = [
        [
            one.case.run.storage, one.case.run.text, f"{one.case.run.slice_seconds:g} s", one.case.job.job,
            f"{one.moved / MIB:.0f}", f"{one.told / MIB:.0f}", f"{100 * (one.told / one.moved - 1):+.1f} %",
        ]
        for directory in found
        for one in unprofiled(directory)
    ]  # fmt: skip
    headings = ["storage", "run", "slices", "job", "the neighbour moved, MiB", "told, MiB", "error"]
    return f"{UNPROFILED}\n{table(headings, rows)}" if rows else ""


def _recording(directory: Path) -> str:
    why: dict[str, int] = {}
    rows = []
    for case in cases(directory):
        without = case.told_without
        if without.lost is None:
            number = why.setdefault(without.unknown_because, len(why) + 1)
            told = ["refused", f"({number})", "", ""]
        else:
            base = without.baseline.source if without.baseline else ""
            off = _percent(100 * (without.lost.value / case.io_lost - 1)) if case.is_counted and case.io_lost else ""
            told = [base, f"{without.lost.value:.2f}", off, without.confidence]
        rows.append(
            [
                case.run.text, f"{case.run.slice_seconds:g} s", case.job.job, f"{case.job.seconds:.2f}",
                f"{case.lost:.2f}", "" if case.io_lost is None else f"{case.io_lost:.2f}",
                case.part_of_calls,
                "" if case.told.lost is None else f"{case.told.lost.value:.2f}", case.told.confidence,
                *(_percent(case.error(source)) if case.is_counted else "" for source in AIMS), *told,
            ]
        )  # fmt: skip
    headings = [
        "run", "slices", "job", "runtime, s", "lost, s", "lost in calls, s", "of the time in calls", "told, s",
        "confidence", *(f"error by {source}" for source in AIMS), "without standalone runs by", "told, s",
        "error", "confidence",
    ]  # fmt: skip
    parts = [f"### {directory.name}\n", table(headings, rows)]
    parts += [f"({number}) {text}.\n" for text, number in why.items()]
    of_neighbours = [
        [
            share.case.run.text, f"{share.case.run.slice_seconds:g} s", share.case.job.job, share.neighbour,
            f"{share.told:.0f} %", f"{share.shown:.0f} %", f"{share.points:+.0f}",
        ]
        for share in shares(directory)
    ]  # fmt: skip
    if of_neighbours:
        headings = ["run", "slices", "job", "neighbour", "its part, told", "by the run without it", "points apart"]
        parts.append(table(headings, of_neighbours))
    return "\n".join(parts)


def _percent(error: float | None) -> str:
    return "refused" if error is None else f"{error:+.1f} %"
