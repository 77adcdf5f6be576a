"""The section of docs/validation.md on lost time, from what `testbed.blame_validation` computes."""

from __future__ import annotations

import statistics
from pathlib import Path

from testbed import blame_validation as recorded
from testbed.blame_validation import AIMS, LEAST_CLAIM, POINTS_AIM, UNPROFILED_AIM, Case, cases, quiet, shares
from testbed.markdown import table

MIB = 1 << 20
# What whoever recorded them says of them, beside the archives.
NOTES = "BLAME.md"
HEADING = "## Lost time and blame"
TITLE = f"""{HEADING}

Does `slicewise blame` find the time that a job lost? Jobs ran alone and in company under `slicewise run`, alone for
about a minute (`python -m testbed.blame_campaign`): on GlusterFS and sshfs behind a link of 200 Mbit/s, and on a disk
whose reads and writes a control group limits to 23 MiB/s each. A run is named by its jobs
(`tests/testbed/blame_plans.py`): in `four + four@20` two jobs named `four` ran, and the second began 20 s after the
first.

- *What did a job truly lose?* Its own clock says how much longer it took than its standalone runs. There are two such
  losses: of its runtime, and of its time in calls (of the process that spent most time in calls). The true losses take
  nothing from the profiles.
- *What is an error?* By how much `blame` is off the true loss of time in calls, in percent of this loss. Small losses
  are left out: those below 20 % of the time in calls. All runs are here.
- *What is a source?* What tells `blame` how long the job takes alone. A source refuses if it cannot tell.
  [models.md](models.md) has the rules of each:

| source | how it knows what the job is like alone |
|---|---|
| standalone runs | other runs of the same job without company |
| quiet slices | the slices of this run in which no neighbour was active |
| line | the more its neighbours move, the slower the job is: a straight line through these points is read off where \
neighbours move nothing |
| envelope | the most that the storage gave to all jobs together: a job that fills the storage would get all of it \
alone |

If the standalone runs are withheld from `blame` (*without standalone runs*), it takes the best of the other sources.
"""

# A job with fewer whole slices of its own than that cannot say what it is like alone.
FEWEST_QUIET = 5
CHAIN = f"""### What is chosen without standalone runs

The best source that does not refuse is chosen. If all refuse, `blame` gives no figure. The second table has all reasons
for that, one of each source. A refusal is right if the job had fewer than {FEWEST_QUIET} slices without company (by the
jobs' own clocks): then nothing in the run shows what the job is like alone. The other refusals may be too careful.
"""
OF_NEIGHBOURS = """### Whose it is

Which part of a loss does a neighbour cause? `blame` tells one part. A run of the same jobs without this neighbour
shows the true part: what the job loses less there. Both are in percent of the true loss. *Points apart* is how far the
two are from each other. If `blame` refuses the loss, it tells no parts either. The tables of each recording have all
parts.
"""
QUIET = f"""### Silence where nobody hurt

These jobs were alone, or had company on another storage only. `blame` was asked about each of them without its other
standalone runs, and once more with them if there are any. A job counts as claimed if `blame` tells a loss of more than
{100 * LEAST_CLAIM:g} % of its I/O time. The aim holds for claims with high and medium confidence: there should be
none.
"""
CLAIMED = "Each of them:\n"
UNPROFILED = f"""### A neighbour without a profile

The profile of one job of each pair is withheld. The table compares two numbers: what this neighbour moved while the
other job ran, and what `blame` tells as traffic without a profile (the aim is an error of {UNPROFILED_AIM} % at most).
Only the counters of a disk, and those of a server that a collector samples, show such traffic: the nodes of the
testbed do not see each other's bytes.
"""


def section(campaigns: Path) -> list[str]:
    """The section's parts; none where nothing was recorded."""
    found = recorded.directories(campaigns)
    if not found:
        return []
    notes = [(campaigns / NOTES).read_text(encoding="utf-8")] if (campaigns / NOTES).exists() else []
    return [
        TITLE,
        *notes,
        _conditions(found),
        _by_source(found),
        _by_slices(found),
        _by_chain(found),
        _of_neighbours(found),
        _quiet(found),
        _unprofiled(found),
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


def _counted(found: list[Path]) -> list[Case]:
    return [case for directory in found for case in cases(directory) if case.is_counted]


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
    rows.append(["none: refused", str(len(refused)), "", ""])
    why: dict[str, list[Case]] = {}
    for case in refused:
        why.setdefault(case.told_without.unknown_because, []).append(case)
    reasons = [
        [reason, str(len(of)), str(sum(case.quiet_seconds < FEWEST_QUIET * case.run.slice_seconds for case in of)),
         f"{max(case.quiet_seconds for case in of):.0f} s"]
        for reason, of in why.items()
    ]  # fmt: skip
    headings = ["chosen source", "losses", "error, mean", "error, most"]
    columns = [
        "refused because",
        "losses",
        f"fewer than {FEWEST_QUIET} slices without company",
        "most time without company",
    ]
    return "\n".join([CHAIN, table(headings, rows), table(columns, reasons)])


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
        f"By their own clocks {slower} of these {len(claimed)} jobs were indeed slower than their other runs. So the "
        "loss is real, but no neighbour caused it, and `blame` names none.\n"
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
