"""Recordings as users meet them (`testbed.usual_plans`), and what predictions say of them, as tables.

Both models are held against them: that of sharing (`slicewise study model`, `campaign`), fitted without the combination
of jobs that it predicts, and `slicewise predict`, by a law that has not seen these jobs together.
"""

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl
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
from support.told import figures_of_told, repeats

from testbed.campaign import IN_NAMES, RUNS
from testbed.tables import Table, table
from testbed.usual_plans import PLANS

# Jobs of which all write all the time, or all read, in calls of one size: what the model of sharing is for.
SHARED_OUT = ("usual-nodes", "usual-shared", "usual-seeks", "usual-servers", "usual-reads", "usual-large")
HELD_OUT = tuple(name for name, plan in PLANS.items() if plan.is_held_out)
READS, WRITES = "~reads", "~writes"
# Of observed times within their intervals.
COVERAGE_AIM = 0.90
# Of those outside with a warning afterwards.
WARNED_AIM = 0.90
# An error that whoever plans by it would notice.
BAD = 0.20


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
            for row in check(model, run, data.slices.filter(own)).iter_rows(named=True):
                seconds = Estimate(row["predicted"], row["low"], row["high"], "")
                said = (told, row["misfit"] is not None)
                found.append(Told(*_names(row["job"]), len(run), row["observed"], seconds, *said, _repeat(row["job"])))
    return found


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
            said = (job.doubt, job.is_warned)
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


def _names(job: str) -> tuple[str, str]:
    """What ran together, as plans write it, and the job's place in it."""
    run, _, place = job.rsplit("-", 2)
    for written, named in IN_NAMES.items():
        run = run.replace(named, written) if named else run
    return re.sub(r"(?<=\d)([a-z])", r"~\1", run), place


def _repeat(job: str) -> int:
    return int(job.rsplit("-", 2)[1])


def tables(campaigns: Path) -> list[Table]:
    """What each model says, in figures; and all runs."""
    found = [campaigns / name for name in PLANS]
    return [
        _figures("model of sharing", [one for one in found if one.name in SHARED_OUT], shared_out),
        _figures("foretell", found, foretold_runs),
        _combinations(found),
    ]


def _figures(section: str, found: list[Path], told_of: Callable[[Path], list[Told]]) -> Table:
    """A row a recording, of all runs and of some kinds; then of those that were new."""
    kinds: dict[str, Callable[[Told], bool]] = {
        "all runs": lambda _: True,
        "three and four jobs": lambda one: one.jobs > 2,
        "beside one that nobody profiled": lambda one: one.has_bystander,
        "readers beside writers": lambda one: one.is_both_ways,
    }
    rows = {
        (directory.name, kind): list(filter(is_of, told_of(directory)))
        for directory in found
        for kind, is_of in kinds.items()
    }
    new = {
        "held out": lambda recording, _: recording in HELD_OUT,
        # Nothing, warnings included, was chosen with it in view.
        "warnings held out": lambda recording, one: (
            recording == "usual-synced" or (recording in HELD_OUT and one.repeat > 1)
        ),
    }
    for kind, is_new in new.items():
        rows["all", kind] = [one for each in found for one in told_of(each) if is_new(each.name, one)]
    return figures_table(section, ["recording", "runs"], rows)


def figures_table(section: str, of: Sequence[str], told: Mapping[tuple[str, ...], Sequence[figures.Told]]) -> Table:
    """The figures of each group of times (`support.told.ToldFigures`). of: the headings of what names a group."""
    found = {named: _flat(asdict(figures_of_told(some, BAD))) for named, some in told.items() if some}
    headings = next(iter(found.values()))
    return table(section, [*of, *headings], ([*named, *values.values()] for named, values in found.items()))


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """With what is counted by kind of warning in columns of its own."""
    return {
        f"{name} {kind}".strip(): one
        for name, value in values.items()
        for kind, one in (value.items() if isinstance(value, dict) else [("", value)])
    }


def _combinations(found: list[Path]) -> Table:
    """Every combination of jobs, by both predictions."""
    rows = []
    for directory in found:
        by_model = repeats(shared_out(directory)) if directory.name in SHARED_OUT else {}
        for key, group in sorted(repeats(foretold_runs(directory)).items()):
            took = ", ".join(f"{one.took:.1f}" for one in group)
            rows.append([directory.name, *key, took, *_predicted(by_model.get(key, [])), *_predicted(group)])
    headings = [f"{model}: {what}" for model in ("model", "foretell") for what in ("predicted, s", "RE", "within")]
    return table("by run", ["recording", "run", "job", "took, s", *headings], rows)


def _predicted(group: Sequence[figures.Told]) -> list[str]:
    if not group:
        return ["", "", ""]
    first, found = group[0].seconds, figures_of_told(group, BAD)
    within = f"{found.within} of {found.count}"
    return [f"{first.value:.1f} ({first.low:.0f}-{first.high:.0f})", words.signed_percent(found.bias), within]
