"""How well `slicewise blame` finds lost time: what `testbed.blame_validation` computes, as tables."""

import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

from slicewise.analysis.blame.result import Blame, Source
from slicewise.analysis.blame.sources import SURE
from slicewise.estimate import Estimate

from testbed import blame_validation as recorded
from testbed.blame_validation import AIMS, POINTS_AIM, Case, cases, quiet, shares
from testbed.tables import Table, table

MIB = 1 << 20
# Jobs that wait as long as their calls leave them.
PACED = ("paced", "steady")
# Standalone runs repeat if the longest is no longer than the shortest by this share.
REPEATS_TO = 0.02
# A job with fewer whole slices of its own than that cannot say what it is like alone.
FEWEST_QUIET = 5
# The first clause of every refusal where standalone runs are withheld.
WITHHELD = "no standalone run of the same program and size is known; "


def tables(campaigns: Path) -> list[Table]:
    """Figures of all recordings, then every job in company of each."""
    found = recorded.directories(campaigns)
    return [
        *_lost_runtime(found),
        _by_source(found),
        _beyond(found),
        _by_slices(found),
        *_by_chain(found),
        _of_neighbours(found),
        *_quiet(found),
        _unprofiled(found),
        _recorded(found),
        _standalone(found),
        *(table for directory in found for table in _by_run(directory)),
    ]


def _recorded(found: list[Path]) -> Table:
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
        "recording", "standalone runs", "lasted", "runs in company", "longest job", "with 4 s slices", "done again",
    ]  # fmt: skip
    return table("recorded", headings, rows)


def _in_company(found: list[Path]) -> list[Case]:
    return [case for directory in found for case in cases(directory)]


def _counted(found: list[Path]) -> list[Case]:
    return [case for case in _in_company(found) if case.is_counted]


def _lost_runtime(found: list[Path]) -> list[Table]:
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
    return [table("lost runtime", headings, rows), table("lost runtime", answered, answers)]


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


def _beyond(found: list[Path]) -> Table:
    """Each error above its aim."""
    rows = []
    for source, (_, most) in AIMS.items():
        told = [(case, error) for case in _counted(found) if (error := case.error(source)) is not None]
        off = [(case, error) for case, error in told if abs(error) > most]
        rows += [
            [source, case.run.storage, case.run.text, f"{case.run.slice_seconds:g} s", case.job.job, f"{error:+.1f} %",
             f"{most} %"]
            for case, error in off
        ]  # fmt: skip
    parts = [share for directory in found for share in shares(directory)]
    apart = [share for share in parts if abs(share.points) > POINTS_AIM]
    rows += [
        [f"part of {share.neighbour}", share.case.run.storage, share.case.run.text,
         f"{share.case.run.slice_seconds:g} s", share.case.job.job, f"{share.points:+.0f} points",
         f"{POINTS_AIM} points"]
        for share in apart
    ]  # fmt: skip
    headings = ["told by", "storage", "run", "slices", "job", "error", "aim, most"]
    return table("above the aims", headings, rows)


def _standalone(found: list[Path]) -> Table:
    """Runtimes of standalone runs that differ."""
    rows = []
    for directory in found:
        jobs = dict.fromkeys(run.jobs[0].job for run in recorded.runs_of(directory) if len(run.jobs) == 1)
        for job in jobs:
            alone = recorded.alone_of(directory, job)
            if len(alone) < 2:
                continue
            seconds = [one.seconds for one in alone]
            in_calls = [one.in_calls for one in alone if one.in_calls is not None]
            if all(_is_alike(values) for values in (seconds, in_calls)):
                continue
            columns = (", ".join(f"{one:.2f}" for one in values) for values in (seconds, in_calls))
            rows.append([directory.name, job, *columns])
    return table("standalone runs that differ", ["recording", "job", "runtime, s", "in calls, s"], rows)


def _is_alike(values: list[float]) -> bool:
    return not values or max(values) <= (1 + REPEATS_TO) * min(values)


def _errors(off: list[float]) -> list[str]:
    """Mean and largest; empty where there are none."""
    return [f"{statistics.mean(off):.1f} %", f"{max(off):.1f} %"] if off else ["", ""]


def _by_slices(found: list[Path]) -> Table:
    rows = []
    for source in AIMS:
        for length in sorted({case.run.slice_seconds for case in _counted(found)}):
            chosen = [case for case in _counted(found) if case.run.slice_seconds == length]
            off = [abs(error) for case in chosen if (error := case.error(source)) is not None]
            rows.append([source, f"{length:g} s", str(len(chosen)), str(len(off)), *_errors(off)])
    headings = ["source", "slices", "losses", "told", "error, mean", "error, most"]
    return table("by slices", headings, rows)


def _by_chain(found: list[Path]) -> list[Table]:
    """What is chosen where standalone runs are withheld, and why all sources refuse."""
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
    return [table("chosen", headings, rows), table("refused", columns, reasons)]


def _why(case: Case) -> str:
    """Why all sources refuse where standalone runs are withheld."""
    return case.told_without.unknown_because.removeprefix(WITHHELD)


def _by_source(found: list[Path]) -> Table:
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
    return table("by source", headings, rows)


def _of_neighbours(found: list[Path]) -> Table:
    parts = [share for directory in found for share in shares(directory)]
    rows = []
    for what, few in (("one neighbour (true part always 100 %)", True), ("two neighbours", False)):
        apart = [abs(share.points) for share in parts if (len(share.case.run.jobs) == 2) == few]
        within = f"{sum(points <= POINTS_AIM for points in apart)} of {len(apart)}"
        if apart:
            rows.append([what, f"{statistics.mean(apart):.1f}", f"{max(apart):.1f}", within])
    headings = ["runs with", "points apart, mean", "most", f"within the aim ({POINTS_AIM})"]
    return table("neighbours", headings, rows)


def _quiet(found: list[Path]) -> list[Table]:
    """Losses claimed where nobody hurt."""
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
    return [table("nobody hurt", headings, rows), table("nobody hurt", columns, claimed)]


def _unprofiled(found: list[Path]) -> Table:
    """Traffic of neighbours whose profile is withheld."""
    rows = [
        [
            one.case.run.storage, one.case.run.text, f"{one.case.run.slice_seconds:g} s", one.case.job.job,
            f"{one.moved / MIB:.0f}", f"{one.told / MIB:.0f}", f"{100 * (one.told / one.moved - 1):+.1f} %",
        ]
        for directory in found
        for one in recorded.unprofiled(directory)
    ]  # fmt: skip
    headings = ["storage", "run", "slices", "job", "the neighbour moved, MiB", "told, MiB", "error"]
    return table("without a profile", headings, rows)


def _by_run(directory: Path) -> Iterator[Table]:
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
    yield table(f"{directory.name}, standalone runs given", headings, given)
    yield table(f"{directory.name}, standalone runs withheld", columns, withheld)
    yield table(directory.name, ["told by", "refused because"], [[f"({number})", text] for text, number in why.items()])
    of_neighbours = [
        [
            share.case.run.text, f"{share.case.run.slice_seconds:g} s", share.case.job.job, share.neighbour,
            f"{share.told:.0f} %", f"{share.shown:.0f} %", f"{share.points:+.0f}",
        ]
        for share in shares(directory)
    ]  # fmt: skip
    headings = ["run", "slices", "job", "neighbour", "its part, told", "its true part", "points apart"]
    yield table(f"{directory.name}, neighbours", headings, of_neighbours)


def _seconds(lost: Estimate | None) -> str:
    return "" if lost is None else f"{lost.value:.2f}"


def _error(case: Case, source: Source) -> str:
    return _percent(case.error(source)) if case.is_counted else ""


def _percent(error: float | None) -> str:
    return "refused" if error is None else f"{error:+.1f} %"
