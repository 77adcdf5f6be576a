"""The section of docs/validation.md on lost time, from what `testbed.blame_validation` computes."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path

from slicewise.analysis.blame.result import Blame, Source
from slicewise.analysis.blame.sources import SURE
from slicewise.estimate import Estimate
from slicewise.text import words

from testbed import blame_validation as recorded
from testbed.blame_validation import (
    AIMS,
    LEAST_CLAIM,
    LEAST_LOSS,
    POINTS_AIM,
    UNPROFILED_AIM,
    Case,
    cases,
    quiet,
    shares,
)
from testbed.markdown import table

MIB = 1 << 20
# What whoever recorded them says of them, beside the archives.
NOTES = "BLAME.md"
HEADING = "## Lost time and blame"
TITLE = f"""{HEADING}

Does `slicewise blame` find the time that a job lost? Jobs ran alone and in company under `slicewise run`, alone for
about a minute (`python -m testbed.blame_campaign`): on GlusterFS and sshfs behind a link of 200 Mbit/s, and on a disk
whose reads and writes a control group limits to 23 MiB/s each. The links are kind: their queues never drop, TCP does
not slow down by itself, and GlusterFS has no write-behind. A run is named by its jobs (`tests/testbed/blame_plans.py`):
in `four + four@20` two jobs named `four` ran, and the second began 20 s after the first.
[foretold.md](foretold.md) says what the names mean; besides, `idle` does next to nothing, and `away` writes on another
storage.

- *What did a job truly lose?* Its own clock says how much longer it took than its standalone runs. There are two true
  losses: of its runtime, and of its time in calls (of the process that spent most time in calls). Nothing of a profile
  is in them.
- *What does `blame` tell?* Lost runtime, with a confidence. The first section says how far that is off, for every job
  in company.
- *What is a source?* What tells `blame` how long the job's calls take alone. A source refuses if it cannot tell.
  [models.md](models.md) has the rules of each. The aims are for sources: for the error of the lost time in calls, in
  percent of the true loss in calls. There, losses below {100 * LEAST_LOSS:g} % of the time in calls do not count: a
  percent of a small loss says little.

| source | how it knows what the job is like alone |
|---|---|
| standalone runs | other runs of the same job without company |
| quiet slices | the slices of this run in which no neighbour was active |
| line | a straight line through the slices: the more the neighbours move, the slower the job. The line says how fast \
the job is if they move nothing |
| envelope | the most that the storage gave to all jobs together: a job that fills the storage would get all of it \
alone |

[models.md](models.md) has a fifth source, runs of other sizes. No recording here tests it.

If the standalone runs are withheld from `blame` (*without standalone runs*), it takes the best of the other sources.
"""
RUNTIME = """### In short: how far off is the lost runtime that is told?

The table has all jobs that had company, those with small losses, too. *Off* is by how many seconds the lost runtime
that `blame` tells is off the true one, as the tables by run have them.

Some rows leave out jobs that keep a pace: `paced` and `steady` wait between their calls so that they move so many bytes
a second. If a call takes longer, they wait for less. So they lose time in calls and no runtime. `blame` does not know
of the pace, and tells a loss of runtime for them, with medium confidence. The confidence does not warn of that.
So *medium* can be further off than *low*.
"""
ANSWERED = f"""Is there an answer at all? Of the losses of {100 * LEAST_LOSS:g} % of the time in calls or more:
"""
# Jobs that wait as long as their calls leave them.
PACED = ("paced", "steady")
# Standalone runs repeat if the longest is no longer than the shortest by this share.
REPEATS_TO = 0.02
# A job with fewer whole slices of its own than that cannot say what it is like alone.
FEWEST_QUIET = 5
CHAIN = f"""### What is chosen without standalone runs

The best source that does not refuse is chosen. If all refuse, `blame` gives no figure. The errors of the first table
are of the lost time in calls.

The second table has the reasons of refusals, one of each source: of quiet slices, of the line and of the envelope.
*Right to refuse* counts the losses of jobs that had fewer than {FEWEST_QUIET} slices without company, by the jobs' own
clocks: nothing in such a run shows what the job is like alone. The other refusals may be too careful.
"""
MISSED = """### Which errors are larger than aimed at?

{counts}
"""
REMARKS = """Reasons that are known:

- `steady` beside `paced`: processes that keep a pace drift apart during a run. So their calls cost less late in a run
  than early, also if the job is alone.
- `phases` beside `four` on the disk: speeds scatter with what serves the disk.
- Parts of the neighbours of `loader`: standalone runs of `loader` differ a lot (see
  [how standalone runs repeat](#how-well-do-standalone-runs-repeat)).
"""
REPEATS = """### How well do standalone runs repeat?

A true loss is known no better than standalone runs repeat. The table has the runtimes of all jobs of which standalone
runs differ by more than 2 %, in their runtime or in their time in calls.
"""
OF_NEIGHBOURS = """### Which neighbour caused it?

`blame` tells for each neighbour which part of the loss it caused. A run of the same jobs without this neighbour shows
the true part: what the job loses less there. Both are in percent of the true loss in calls. *Points apart* is how far
the two are from each other. If `blame` refuses the loss, it tells no parts either. The tables of each recording have
all parts.

With one neighbour the true part is 100 % in every run: without this neighbour the job is alone. So these rows show how
much of the loss `blame` finds, and not whether it finds who caused it. Only runs with two neighbours ask that: {parts}
parts of the losses of {losses} in {runs}. An aim of {aim} points is wide for a neighbour whose true part is small.
"""
QUIET = f"""### Silence where nobody hurt

These jobs were alone, or had company on another storage only. `blame` was asked about each of them without its other
standalone runs, and once more with them if there are any. A job counts as claimed if `blame` tells a loss above
its interval and above {100 * LEAST_CLAIM:g} % of its I/O time. The aim holds for claims with high and medium
confidence: there should be none.
"""
CLAIMED = "Each of them:\n"
UNPROFILED = f"""### A neighbour without a profile

The profile of one job of each pair is withheld. The table compares two numbers: what this neighbour moved while the
other job ran, and what `blame` tells as traffic without a profile. The aim is an error of {UNPROFILED_AIM} % at most.
Only the counters of a disk, and those of a server that a collector samples, show such traffic: the nodes of the
testbed do not see each other's bytes. The disk reads ahead of what jobs ask for, and the counters have that, too.
"""
# The first clause of every refusal where standalone runs are withheld.
WITHHELD = "no standalone run of the same program and size is known; "
BY_RUN = f"""### How do I read the tables by run?

Each recording has three tables: what `blame` tells with the standalone runs, what it tells without them, and the parts
of the neighbours. A run that was recorded twice has a row for each repeat. The tables have all jobs in company, also
those with small losses, whose errors are in no other table.

| column | meaning |
|---|---|
| slices | how long a slice was. The default of `slicewise run` is 4 s |
| runtime, lost | how long the job took, and how much longer than its standalone runs, by its own clock |
| told | the lost runtime that `blame` tells: compare it with *lost*. Empty: `blame` tells none |
| confidence | how sure `blame` says it is of the lost runtime |
| lost in calls, part of the calls | the true loss of time in calls, and how much of the time in calls this is. Below \
0: calls took less time than alone |
| error in calls by ... | the error of the lost time in calls, as this source tells it, in percent of the true loss in \
calls. Empty: the true loss is below {100 * LEAST_LOSS:g} % |
| told by | the source that was chosen. A number in brackets: all sources refuse, for the reasons below the table |
| its part, told | what `blame` tells of this neighbour, in percent of the true loss in calls |
| its true part | the same by the run without this neighbour |
"""


def section(campaigns: Path) -> list[str]:
    """The section's parts; none where nothing was recorded."""
    found = recorded.directories(campaigns)
    if not found:
        return []
    notes = [(campaigns / NOTES).read_text(encoding="utf-8")] if (campaigns / NOTES).exists() else []
    return [
        TITLE,
        _in_short(found),
        _by_source(found),
        _beyond(found),
        _by_slices(found),
        _by_chain(found),
        _of_neighbours(found),
        _quiet(found),
        _unprofiled(found),
        *notes,
        _conditions(found),
        _standalone(found),
        BY_RUN,
        *map(_recording, found),
    ]


def _conditions(found: list[Path]) -> str:
    rows = []
    for directory in found:
        runs = recorded.runs_of(directory)
        alone = sorted(run.jobs[0].seconds for run in runs if len(run.jobs) == 1)
        together = sorted(max(job.seconds for job in run.jobs) for run in runs if len(run.jobs) > 1)
        spans = [f"{seconds[0]:.0f} to {seconds[-1]:.0f} s" if seconds else "" for seconds in (alone, together)]
        long = sum(run.slice_seconds > 1 for run in runs)
        again = sum(run.attempts - 1 for run in runs)
        rows.append([directory.name, str(len(alone)), spans[0], str(len(together)), spans[1], str(long), str(again)])
    headings = [
        "recording",
        "standalone runs",
        "lasted",
        "runs in company",
        "longest job",
        "with 4 s slices",
        "done again",
    ]
    return f"### What was recorded\n\n{table(headings, rows)}"


def _in_company(found: list[Path]) -> list[Case]:
    return [case for directory in found for case in cases(directory)]


def _counted(found: list[Path]) -> list[Case]:
    return [case for case in _in_company(found) if case.is_counted]


def _in_short(found: list[Path]) -> str:
    """How far the lost runtime that is told is off, by what was given and how sure it says it is; and who is told."""
    rows, answers = [], []
    for given, told_of in (("given", _told_with), ("withheld", _told_without)):
        for confidence in ("high", "medium", "low"):
            sure = [
                case for case in _in_company(found) if told_of(case).lost and told_of(case).confidence == confidence
            ]
            unpaced = [case for case in sure if case.job.job not in PACED]
            kinds = {"all": sure, "all but those that keep a pace": unpaced if len(unpaced) < len(sure) else []}
            rows += [[given, confidence, which, *_off_runtime(some, told_of)] for which, some in kinds.items() if some]
        refused = sum(told_of(case).lost is None for case in _in_company(found))
        rows += [[given, "no answer", "all", str(refused), "", "", ""]] if refused else []
        for length in sorted({case.run.slice_seconds for case in _counted(found)}):
            asked = [told_of(case) for case in _counted(found) if case.run.slice_seconds == length]
            told = [one for one in asked if one.lost is not None]
            counts = (len(asked), len(told), sum(one.confidence in SURE for one in told), len(asked) - len(told))
            answers.append([given, f"{length:g} s", *map(str, counts)])
    headings = [
        "standalone runs", "confidence", "jobs", "how many", "off, mean", "off, most", "off, most, of the runtime",
    ]  # fmt: skip
    answered = ["standalone runs", "slices", "losses", "told", "of these with high or medium confidence", "no answer"]
    given = [case for case in _counted(found) if case.told.lost is not None]
    others = sum(case.error("standalone runs") is None for case in given)
    by_others = f"{others} of the {len(given)} that are told with standalone runs given are told by another source.\n"
    return "\n".join([RUNTIME, table(headings, rows), ANSWERED, table(answered, answers), by_others])


def _told_with(case: Case) -> Blame:
    return case.told


def _told_without(case: Case) -> Blame:
    return case.told_without


def _off_runtime(some: list[Case], told_of: Callable[[Case], Blame]) -> list[str]:
    """How many jobs; by how much the lost runtime that is told is off, by the figures of the tables by run."""
    off = [
        (abs(_shown(lost.value) - _shown(case.lost)), _shown(case.job.seconds))
        for case in some
        if (lost := told_of(case).lost) is not None
    ]
    seconds = [one for one, _ in off]
    most = max(100 * one / runtime for one, runtime in off)
    return [str(len(some)), f"{statistics.mean(seconds):.2f} s", f"{max(seconds):.2f} s", f"{most:.1f} %"]


def _shown(seconds: float) -> float:
    return float(f"{seconds:.2f}")


def _beyond(found: list[Path]) -> str:
    """Each error above its aim."""
    rows, counts = [], []
    for source, (_, most) in AIMS.items():
        told = [(case, error) for case in _counted(found) if (error := case.error(source)) is not None]
        off = [(case, error) for case, error in told if abs(error) > most]
        by = source if source.endswith("s") else f"the {source}"
        counts.append(f"{len(off)} of the {len(told)} that are told by {by}")
        rows += [
            [source, case.run.storage, case.run.text, f"{case.run.slice_seconds:g} s", case.job.job, f"{error:+.1f} %",
             f"{most} %"]
            for case, error in off
        ]  # fmt: skip
    parts = [share for directory in found for share in shares(directory)]
    apart = [share for share in parts if abs(share.points) > POINTS_AIM]
    counts.append(f"{len(apart)} of the {len(parts)} parts of neighbours")
    rows += [
        [f"part of {share.neighbour}", share.case.run.storage, share.case.run.text,
         f"{share.case.run.slice_seconds:g} s", share.case.job.job, f"{share.points:+.0f} points",
         f"{POINTS_AIM} points"]
        for share in apart
    ]  # fmt: skip
    headings = ["told by", "storage", "run", "slices", "job", "error", "aim, most"]
    said = MISSED.format(counts=f"Larger are {words.listing(counts)}.")
    return "\n".join([said, table(headings, rows), REMARKS])


def _standalone(found: list[Path]) -> str:
    """Runtimes of standalone runs that differ, and how many jobs repeat."""
    rows, alike = [], 0
    for directory in found:
        jobs = dict.fromkeys(run.jobs[0].job for run in recorded.runs_of(directory) if len(run.jobs) == 1)
        for job in jobs:
            alone = recorded.alone_of(directory, job)
            if len(alone) < 2:
                continue
            seconds = [one.seconds for one in alone]
            in_calls = [one.in_calls for one in alone if one.in_calls is not None]
            if all(_is_alike(values) for values in (seconds, in_calls)):
                alike += 1
                continue
            columns = (", ".join(f"{one:.2f}" for one in values) for values in (seconds, in_calls))
            rows.append([directory.name, job, *columns])
    said = f"The other {alike} jobs repeat to 2 % or better. (A job counts once for each recording.)\n"
    return "\n".join([REPEATS, table(["recording", "job", "runtime, s", "in calls, s"], rows), said])


def _is_alike(values: list[float]) -> bool:
    return not values or max(values) <= (1 + REPEATS_TO) * min(values)


def _errors(off: list[float]) -> list[str]:
    """Mean and largest; empty where there are none."""
    return [f"{statistics.mean(off):.1f} %", f"{max(off):.1f} %"] if off else ["", ""]


def _by_slices(found: list[Path]) -> str:
    rows = []
    for source in AIMS:
        for length in sorted({case.run.slice_seconds for case in _counted(found)}):
            chosen = [case for case in _counted(found) if case.run.slice_seconds == length]
            off = [abs(error) for case in chosen if (error := case.error(source)) is not None]
            rows.append([source, f"{length:g} s", str(len(chosen)), str(len(off)), *_errors(off)])
    headings = ["source", "slices", "losses", "told", "error, mean", "error, most"]
    return f"### By the length of slices\n\n{table(headings, rows)}"


def _by_chain(found: list[Path]) -> str:
    rows = []
    for source in AIMS:
        chosen = [case for case in _counted(found) if case.told_without.baseline and case.error_of_chosen is not None]
        off = [abs(case.error_of_chosen or 0) for case in chosen if case.told_without.baseline.source == source]
        if off:
            rows.append([source, str(len(off)), *_errors(off)])
    refused = [case for case in _counted(found) if case.told_without.lost is None]
    rows.append(["none: all refuse", str(len(refused)), "", ""])
    why: dict[str, list[Case]] = {}
    for case in refused:
        why.setdefault(_why(case), []).append(case)
    reasons = [
        [reason, str(len(of)), str(sum(case.quiet_seconds < FEWEST_QUIET * case.run.slice_seconds for case in of)),
         f"{max(case.quiet_seconds for case in of):.0f} s"]
        for reason, of in why.items()
    ]  # fmt: skip
    columns = ["refused because", "losses", "right to refuse", "most time without company"]
    headings = ["chosen source", "losses", "error, mean", "error, most"]
    return "\n".join([CHAIN, table(headings, rows), table(columns, reasons)])


def _why(case: Case) -> str:
    """Why all sources refuse where standalone runs are withheld."""
    return case.told_without.unknown_because.removeprefix(WITHHELD)


def _by_source(found: list[Path]) -> str:
    rows = []
    for source, (mean, most) in AIMS.items():
        for name, chosen in [*((directory.name, [directory]) for directory in found), ("all", found)]:
            off = [error for directory in chosen for error in recorded.errors(directory, source)]
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
    for what, few in (("one neighbour (true part always 100 %)", True), ("two neighbours", False)):
        apart = [abs(share.points) for share in parts if (len(share.case.run.jobs) == 2) == few]
        within = f"{sum(points <= POINTS_AIM for points in apart)} of {len(apart)}"
        if apart:
            rows.append([what, f"{statistics.mean(apart):.1f}", f"{max(apart):.1f}", within])
    headings = ["runs with", "points apart, mean", "most", f"within the aim ({POINTS_AIM})"]
    asked = [share for share in parts if len(share.case.run.jobs) > 2]
    said = OF_NEIGHBOURS.format(
        parts=len(asked),
        losses=words.count(len({id(share.case) for share in asked}), "job"),
        runs=words.count(len({id(share.case.run) for share in asked}), "run"),
        aim=POINTS_AIM,
    )
    return f"{said}\n{table(headings, rows)}"


def _quiet(found: list[Path]) -> str:
    runs = [one for directory in found for one in quiet(directory)]
    rows = []
    for what, has_standalone in (("withheld", False), ("given", True)):
        asked = [one for one in runs if one.has_standalone == has_standalone]
        sure, told = (sum(each) for each in zip(*((one.is_false_alarm, one.is_told) for one in asked), strict=True))
        rows.append([what, str(len(asked)), str(sure), str(told - sure)])
    headings = ["its other standalone runs", "jobs", "claimed with high or medium confidence", "with low confidence"]
    claimed = [
        [
            one.run.storage, one.run.text, one.job.job, f"{one.told.lost.value if one.told.lost else 0:.2f}",
            "" if one.slower is None else f"{one.slower:.2f}", f"{one.told.io_seconds:.2f}", one.told.confidence,
        ]
        for one in runs if one.is_told
    ]  # fmt: skip
    columns = ["storage", "run", "job", "told, s", "truly slower in calls, s", "in calls, s", "confidence"]
    if not claimed:
        return "\n".join([QUIET, table(headings, rows)])
    slower = sum(one.slower is not None and one.slower > 0 for one in runs if one.is_told)
    said = (
        f"By their own clocks {slower} of these {words.count(len(claimed), 'job')} were indeed slower than their other "
        "runs. So the loss is real, but no neighbour caused it.\n"
    )
    return "\n".join([QUIET, table(headings, rows), CLAIMED, table(columns, claimed), said])


def _unprofiled(found: list[Path]) -> str:
    rows = [
        [
            one.case.run.storage, one.case.run.text, f"{one.case.run.slice_seconds:g} s", one.case.job.job,
            f"{one.moved / MIB:.0f}", f"{one.told / MIB:.0f}", f"{100 * (one.told / one.moved - 1):+.1f} %",
        ]
        for directory in found
        for one in recorded.unprofiled(directory)
    ]  # fmt: skip
    headings = ["storage", "run", "slices", "job", "the neighbour moved, MiB", "told, MiB", "error"]
    off = sum(
        abs(one.told / one.moved - 1) > UNPROFILED_AIM / 100
        for directory in found
        for one in recorded.unprofiled(directory)
    )
    said = f"{off or 'None'} of the {len(rows)} are off by more than the aim.\n"
    return "\n".join([UNPROFILED, said, table(headings, rows)]) if rows else ""


def _recording(directory: Path) -> str:
    """What is told of each job with standalone runs, what without, and of whom."""
    why: dict[str, int] = {}
    given, withheld = [], []
    for case in cases(directory):
        which = [case.run.text, f"{case.run.slice_seconds:g} s", case.job.job]
        told, without = case.told, case.told_without
        given.append([
            *which, f"{case.job.seconds:.2f}", f"{case.lost:.2f}", _seconds(told.lost), told.confidence,
            "" if case.io_lost is None else f"{case.io_lost:.2f}", case.part_of_calls, _error(case, "standalone runs"),
        ])  # fmt: skip
        if without.lost is None:
            by, confidence = f"({why.setdefault(_why(case), len(why) + 1)})", ""
        else:
            by, confidence = without.baseline.source if without.baseline else "", without.confidence
        withheld.append([
            *which, f"{case.lost:.2f}", _seconds(without.lost), confidence, by,
            *(_error(case, source) for source in AIMS if source != "standalone runs"),
        ])  # fmt: skip
    headings = [
        "run", "slices", "job", "runtime, s", "lost, s", "told, s", "confidence", "lost in calls, s",
        "part of the calls", "error in calls by standalone runs",
    ]  # fmt: skip
    sources = (f"error in calls by {source}" for source in AIMS if source != "standalone runs")
    columns = ["run", "slices", "job", "lost, s", "told, s", "confidence", "told by", *sources]
    parts = [f"### {directory.name}\n", "With the standalone runs:\n", table(headings, given)]
    parts += ["Without the standalone runs:\n", table(columns, withheld)]
    parts += [f"({number}) {text}.\n" for text, number in why.items()]
    of_neighbours = [
        [
            share.case.run.text, f"{share.case.run.slice_seconds:g} s", share.case.job.job, share.neighbour,
            f"{share.told:.0f} %", f"{share.shown:.0f} %", f"{share.points:+.0f}",
        ]
        for share in shares(directory)
    ]  # fmt: skip
    if of_neighbours:
        headings = ["run", "slices", "job", "neighbour", "its part, told", "its true part", "points apart"]
        parts += ["Parts of the neighbours:\n", table(headings, of_neighbours)]
    return "\n".join(parts)


def _seconds(lost: Estimate | None) -> str:
    return "" if lost is None else f"{lost.value:.2f}"


def _error(case: Case, source: Source) -> str:
    return _percent(case.error(source)) if case.is_counted else ""


def _percent(error: float | None) -> str:
    return "refused" if error is None else f"{error:+.1f} %"
