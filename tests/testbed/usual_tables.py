"""Recordings as users meet them (`testbed.usual_plans`), and what predictions say of them, as tables.

Both models are held against them: that of sharing (`slicewise study model`, `campaign`), fitted without the combination
of jobs that it predicts, and `slicewise predict`, by a law that has not seen these jobs together.
"""

import functools
import json
import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from slicewise.analysis.campaign.result import result_of
from slicewise.analysis.predict import predict as foretold
from slicewise.analysis.predict.fitted import seen_runs
from slicewise.analysis.runs.campaign import Campaign, campaign
from slicewise.analysis.runs.on_storage import AloneRun, run_there
from slicewise.analysis.runs.storage import storage_of
from slicewise.analysis.sharing.fitted_model import check, doubts, fit_model, predict
from slicewise.analysis.sharing.model import model_job
from slicewise.digest.digest import Digest
from slicewise.digest.shared import several
from slicewise.estimate import Estimate
from slicewise.profile.files import job_places
from slicewise.text import words
from support import told as figures
from support.held_out import held_out
from support.told import Aims, Missed, figures_of_told, repeats

from testbed.campaign import IN_NAMES
from testbed.placement import placement
from testbed.server_counters import BY_NODES, RUNS, TCP
from testbed.tables import Table, table
from testbed.usual_plans import PLANS

# Jobs of which all write all the time, or all read, in calls of one size: what the model of sharing is for.
SHARED_OUT = ("usual-nodes", "usual-shared", "usual-seeks", "usual-servers", "usual-reads", "usual-large")
HELD_OUT = tuple(name for name, plan in PLANS.items() if plan.is_held_out)
READS, WRITES = "~reads", "~writes"
# Largest and mean |RE| that are aimed at.
AIMS: dict[str, tuple[float, float | None]] = {
    "usual-nodes": (0.10, 0.03), "usual-shared": (0.15, None), "usual-seeks": (0.15, None), "usual-sizes": (0.20, 0.07),
    "usual-checkpoints": (0.20, 0.07), "usual-servers": (0.20, 0.07), "usual-reads": (0.20, 0.07),
    "usual-large": (0.10, 0.03), "usual-disk": (0.20, 0.07), "usual-synced": (0.20, 0.07),
}  # fmt: skip
MORE_JOBS_AIM = 0.15
# Of observed times within their intervals.
COVERAGE_AIM = 0.90
# Of those outside with a warning before the job ends.
WARNED_AIM = 0.90
# An error that whoever plans by it would notice.
BAD = 0.20
# Recordings on several servers, and how many these were.
SEVERAL_SERVERS, SERVERS = ("usual-servers",), 2
AIM_WORDS: dict[Missed, str] = {
    "largest": "the largest error",
    "mean": "the mean error",
    "largest of more jobs": "the largest error of three and four jobs",
}


@dataclass(frozen=True)
class Told(figures.Told):
    """A job's predicted and observed time in a run of several; runs: what ran together, as plans write it."""

    @property
    def has_bystander(self) -> bool:
        return self.runs.endswith("!")

    @property
    def is_both_ways(self) -> bool:
        return READS in self.runs and WRITES in self.runs


@functools.cache
def digests(directory: Path) -> list[Digest]:
    """Every profiled job of a recording."""
    return several(job_places(sorted(path for path in directory.iterdir() if path.is_dir())))


@functools.cache
def read(directory: Path) -> Campaign:
    """A recording as a campaign of writes; of one with reads, what its readers did without writers."""
    direction = PLANS[directory.name].direction
    found = [one for one in digests(directory) if direction == "write" or WRITES not in _names(one.job)[0]]
    return campaign(found, direction)


@functools.cache
def shared_out(directory: Path) -> list[Told]:
    """What the model of sharing says of every run of several jobs."""
    data, found = read(directory), []
    for pair in data.jobs.filter(pl.len().over("run") > 1)["pair"].unique(maintain_order=True):
        other, own = pl.col("pair") != pair, pl.col("pair") == pair
        model = fit_model(data.jobs.filter(other), data.slices.filter(other))
        for (_,), run in data.jobs.filter(own).group_by("run", maintain_order=True):
            members = [model_job(model, row) for row in run.iter_rows(named=True)]
            if model.weight.chosen is None:
                continue
            told = "; ".join(doubts(model, members, predict(model, members)))
            for row in check(model, run, data.slices.filter(own), data.progress).iter_rows(named=True):
                seconds = Estimate(row["predicted"], row["low"], row["high"], "")
                said = (told, row["misfit"] is not None, _is_off_in_time(row))
                found.append(Told(*_names(row["job"]), len(run), row["observed"], seconds, *said, _repeat(row["job"])))
    return found


@functools.cache
def by_servers(directory: Path) -> list[Told]:
    """What the model of sharing says of each server by itself, where it is known which file is on which."""
    data = read(directory)
    paths = pl.concat([digest.files["path"] for digest in data.digests]).unique()
    checked = result_of(data, placement(paths, SERVERS)).checked
    sizes = dict(checked.group_by("run").len().iter_rows())
    return [
        Told(
            *_names(row["job"]), sizes[row["run"]], row["observed"],
            Estimate(row["predicted"], row["low"], row["high"], ""), "",
            row["misfit"] is not None, _is_off_in_time(row), _repeat(row["job"]),
        )
        for row in checked.iter_rows(named=True)
    ]  # fmt: skip


def _is_off_in_time(row: dict[str, Any]) -> bool:
    return bool(row["is_warned_halfway"]) and row["halfway_seconds"] is not None


@functools.cache
def there(directory: Path) -> list[AloneRun]:
    """What each job did on the storage that all use."""
    storage = storage_of(digests(directory)[:2], "this is no campaign")
    found = (run_there(digest, storage) for digest in digests(directory))
    return [one for one in found if one is not None]


@functools.cache
def foretold_runs(directory: Path) -> list[Told]:
    """What `slicewise predict` says of every run of several jobs."""
    own = _own_clock(directory)
    quiet, runs = seen_runs(there(directory))
    found = []
    storage = storage_of(digests(directory)[:2], "this is no campaign")
    for one in held_out(storage, runs, foretold.served_by(quiet), quiet):
        for job in one.jobs:
            name = job.seen.job
            said = (job.doubt, job.is_warned, job.is_off_in_time)
            took = own.get(name, job.seen.seconds)
            found.append(Told(*_names(name), len(one.jobs), took, job.seconds, *said, _repeat(name)))
    return found


@functools.cache
def _own_clock(directory: Path) -> dict[str, float]:
    """Seconds of each job by its own clock, without what it computes after its last I/O."""
    found = {}
    for run in map(json.loads, (directory / RUNS).read_text().splitlines()):
        for place, seconds in enumerate(run["seconds"], 1):
            name = f"{run['run']}-{place}"
            found[name] = seconds - _computes(directory.name, _names(name)[0].split("+")[place - 1])
    return found


def _computes(recording: str, job: str) -> float:
    """Seconds that a job computes after its last phase."""
    kind = re.search(r"~([a-z]+)", job)
    options = [text for text in PLANS[recording].options if kind and text.startswith(f"--kind={kind[1]}=")]
    said = re.search(r"--compute (\d+)", options[0]) if options else None
    return float(said[1]) if said else 0.0


def _clocks(directory: Path) -> list[str]:
    """How far the profiles' times are off the jobs' own clocks, in the mean and at most."""
    off = figures.off_clock(((one.digest.job, one.seconds) for one in there(directory)), _own_clock(directory))
    return [f"{100 * off.mean:.2f} %", f"{100 * off.largest:.2f} %"]


def _names(job: str) -> tuple[str, str]:
    """What ran together, as plans write it, and the job's place in it."""
    run, _, place = job.rsplit("-", 2)
    for written, named in IN_NAMES.items():
        run = run.replace(named, written) if named else run
    return re.sub(r"(?<=\d)([a-z])", r"~\1", run), place


def _repeat(job: str) -> int:
    return int(job.rsplit("-", 2)[1])


def tables(campaigns: Path) -> list[Table]:
    """What was recorded; what each model says, in figures; and all runs."""
    found = [campaigns / name for name in PLANS]
    return [
        *_recorded(found),
        *_figures("model of sharing", [one for one in found if one.name in SHARED_OUT], shared_out),
        *_figures("model of sharing, placed", [one for one in found if one.name in SEVERAL_SERVERS], by_servers),
        *_figures("foretell", found, foretold_runs),
        _combinations(found),
    ]


def _recorded(found: list[Path]) -> list[Table]:
    what, ran = [], []
    for directory in found:
        plan = PLANS[directory.name]
        again = [
            run[BY_NODES] for run in map(json.loads, (directory / TCP).read_text().splitlines()) if "+" in run["run"]
        ]
        alone, together = _by_company(directory)
        seconds = [_seconds([one.seconds for run in runs for one in run]) for runs in (alone, together)]
        what.append([
            directory.name, plan.server, plan.link, plan.what, f"{plan.slice_seconds:g} s",
            str(max(map(len, together))), *seconds,
        ])  # fmt: skip
        ran.append([
            directory.name, str(len(alone)), str(len(together)), _repeats(directory), str(_repeated(directory)),
            f"{statistics.mean(again):.0f}", *_clocks(directory),
        ])  # fmt: skip
    headings = [
        "recording", "file system", "link", "what is not kind", "slices", "profiled jobs at a time", "jobs alone took",
        "jobs beside others took",
    ]  # fmt: skip
    counts = [
        "recording", "runs of one job", "runs of several", "repeats of each", "done again, since jobs began apart",
        "TCP segments sent again in a run of several, mean", "profiles off the jobs' own clock, mean", "most",
    ]  # fmt: skip
    return [table("recorded", headings, what), table("recorded", counts, ran)]


def _repeats(directory: Path) -> str:
    """How many repeats there are of the combinations of jobs."""
    counts = [len(group) for group in repeats(foretold_runs(directory)).values()]
    return f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{max(counts)}"


def _repeated(directory: Path) -> int:
    return sum(run["attempts"] - 1 for run in map(json.loads, (directory / RUNS).read_text().splitlines()))


def _by_company(directory: Path) -> tuple[list[list[AloneRun]], list[list[AloneRun]]]:
    """The profiled jobs of each run of one, and of each run of several."""
    runs: dict[str, list[AloneRun]] = {}
    for one in there(directory):
        runs.setdefault(one.digest.job.rpartition("-")[0], []).append(one)
    alone = [jobs for run, jobs in runs.items() if "+" not in run]
    return alone, [jobs for run, jobs in runs.items() if "+" in run]


def _seconds(of_jobs: Sequence[float]) -> str:
    return f"{min(of_jobs):.0f} to {max(of_jobs):.0f} s"


def _figures(section: str, found: list[Path], told_of: Callable[[Path], list[Told]]) -> list[Table]:
    """A row a recording, of all runs, and of those of three and four jobs; then the aims."""
    rows, aims, every = [], list[list[str]](), list[Told]()
    for directory in found:
        told = told_of(directory)
        every += told
        kinds = {
            "all runs": told,
            "three and four jobs": [one for one in told if one.jobs > 2],
            "beside one that nobody profiled": [one for one in told if one.has_bystander],
            "readers beside writers": [one for one in told if one.is_both_ways],
        }
        rows += [_row(directory.name, which, some) for which, some in kinds.items() if some]
        aims.append(_aim(directory.name, told))
    errors = [
        "recording", "runs", "times", "mean |RE|", "largest |RE|", "bias", "repeats apart", "off the mean of repeats",
        f"off by more than {100 * BAD:.0f} %", "of these, within or doubted",
    ]  # fmt: skip
    warnings = [
        "recording", "runs", "times", "within the interval", "end / end", "may be 95 %", "outside", "told beforehand",
        "told while it ran", "told before the end", "told afterwards", "told at all", "within, but doubted beforehand",
        "within, but told while it ran",
    ]  # fmt: skip
    together = {("all recordings", "all runs"): every} if len(aims) > 1 else {}
    if unseen := [one for each in found if each.name in HELD_OUT for one in told_of(each)]:
        together["all recordings", "held out"] = unseen
    if fresh := [one for each in found for one in told_of(each) if _is_fresh(each.name, one)]:
        together["all recordings", "warnings held out"] = fresh
    warned = [row[1] for row in rows] + [_row(*which, some)[1] for which, some in together.items()]
    return [
        table(section, errors, [row[0] for row in rows]),
        table(section, warnings, warned),
        table(section, ["recording", "aims", "missed", "missed without scatter"], aims),
    ]


def _is_fresh(recording: str, one: Told) -> bool:
    """Whether nothing, warnings included, was chosen with it in view."""
    return recording == "usual-synced" or (recording in HELD_OUT and one.repeat > 1)


def _row(name: str, which: str, told: list[Told]) -> tuple[list[str], list[str]]:
    """A row of the table of errors, and of that of intervals and warnings."""
    found = figures_of_told(told, BAD)
    outside = found.of_outside
    which_times = [name, which, str(len(told))]
    counts = [
        found.outside, outside.beforehand, outside.running, outside.in_time, outside.afterwards, outside.at_all,
        found.of_within.beforehand, found.of_within.running,
    ]  # fmt: skip
    errors = [
        words.percent(found.mean), words.percent(found.largest), words.signed_percent(found.bias),
        words.percent(found.apart), words.percent(found.largest_of_means), str(found.bad), str(found.bad_covered),
    ]  # fmt: skip
    within = [words.percent(found.within_share), width(found), "yes" if found.is_as_intervals_say else "no"]
    return [*which_times, *errors], [*which_times, *within, *map(str, counts)]


def width(found: figures.ToldFigures) -> str:
    """How many times as large the upper end of intervals is as the lower one: the median, and the most."""
    return f"{found.width:.1f} ({_times(found.widest)})"


def _times(ratio: float) -> str:
    return "no lower end" if math.isinf(ratio) else f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"


def _aim(name: str, told: list[Told]) -> list[str]:
    """A row: the aims for errors, which of all aims are missed, and what of that is no scatter."""
    largest, mean = AIMS[name]
    aims = [
        f"{100 * largest:.0f} %",
        "no aim" if mean is None else f"{100 * mean:.0f} %",
        f"{100 * MORE_JOBS_AIM:.0f} %",
    ]
    return [name, " / ".join(aims), _missed(name, told) or "none", _scatter(name, told)]


def _aims_of(name: str) -> Aims:
    return Aims(*AIMS[name], MORE_JOBS_AIM)


def _missed(name: str, told: list[Told]) -> str:
    """The aims that times miss, in words; empty: none."""
    missed = [AIM_WORDS[which] for which in _aims_of(name).missed(told)]
    found = figures_of_told(told, BAD)
    if found.within_share < COVERAGE_AIM:
        missed.append(f"within the interval ({100 * COVERAGE_AIM:.0f} %)")
    if found.of_outside.in_time < WARNED_AIM * found.outside:
        missed.append(f"told before the end ({100 * WARNED_AIM:.0f} %)")
    return words.listing(missed)


def _scatter(name: str, told: list[Told]) -> str:
    """Which missed aims for errors neither scatter explains nor a job that nobody profiled: a better law may help."""
    if not _aims_of(name).missed(told):
        return ""
    if max(map(len, repeats(told).values())) == 1:
        return "not known: one repeat"
    left = _aims_of(name).missed_by_means(one for one in told if not one.has_bystander)
    return words.listing(AIM_WORDS[which] for which in left) or "none"


def _combinations(found: list[Path]) -> Table:
    """Every combination of jobs, by both predictions."""
    rows = []
    for directory in found:
        by_model = repeats(shared_out(directory)) if directory.name in SHARED_OUT else {}
        for key, group in sorted(repeats(foretold_runs(directory)).items()):
            other = by_model.get(key, [])
            rows.append([
                directory.name, key[0], key[1], ", ".join(f"{one.took:.1f}" for one in group), *_predicted(other),
                *_predicted(group),
            ])  # fmt: skip
    headings = [
        "recording", "run", "job", "took, s", "model: predicted, s", "model: RE", "model: within",
        "foretell: predicted, s", "foretell: RE", "foretell: within",
    ]  # fmt: skip
    return table("by run", headings, rows)


def _predicted(group: Sequence[figures.Told]) -> list[str]:
    if not group:
        return ["", "", ""]
    first, found = group[0].seconds, figures_of_told(group, BAD)
    within = f"{found.within} of {found.count}"
    return [f"{first.value:.1f} ({first.low:.0f}-{first.high:.0f})", words.signed_percent(found.bias), within]
