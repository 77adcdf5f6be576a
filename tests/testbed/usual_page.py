"""The section of docs/validation.md on recordings as users meet them (`testbed.usual_plans`), and its figures.

Both models are held against them: that of sharing (`slicewise model`, `campaign`), fitted without the combination of
jobs that it predicts, and `slicewise foretell`, by a law that has not seen these jobs together.
"""

from __future__ import annotations

import functools
import json
import re
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from slicewise.analysis.foretell import foretold
from slicewise.analysis.foretell.foretold import AloneRun
from slicewise.analysis.foretell.halfway import halfway
from slicewise.analysis.foretell.laws import laws_of
from slicewise.analysis.runs.campaign import Campaign, campaign
from slicewise.analysis.sharing.doubts import doubts
from slicewise.analysis.sharing.fitted_model import check, fit_model, predict
from slicewise.analysis.sharing.model import model_job
from slicewise.digest.digest import Digest, several
from slicewise.estimate import Estimate
from slicewise.profile.many import read_profiles
from slicewise.report.foretell.foretell_words import law_words
from slicewise.report.model.weight_words import answer
from slicewise.text import words

from testbed.against import Against
from testbed.campaign import IN_NAMES
from testbed.markdown import safe, table
from testbed.nodes import NETWORKS
from testbed.server_counters import BY_NODES, RUNS, TCP
from testbed.usual_plans import PLANS

# Jobs of which all write all the time, or all read, in calls of one size: what the model of sharing is for.
SHARED_OUT = ("usual-nodes", "usual-shared", "usual-seeks", "usual-servers", "usual-reads", "usual-large")
HELD_OUT = tuple(name for name, plan in PLANS.items() if plan.is_held_out)
READS, WRITES = "~reads", "~writes"
# Largest and mean |RE| that are aimed at, and the largest of three and four jobs.
AIMS: dict[str, tuple[float, float | None]] = {
    "usual-nodes": (0.10, 0.03),
    "usual-shared": (0.15, None),
    "usual-seeks": (0.15, None),
    "usual-sizes": (0.20, 0.07),
    "usual-checkpoints": (0.20, 0.07),
    "usual-servers": (0.20, 0.07),
    "usual-reads": (0.20, 0.07),
    "usual-large": (0.10, 0.03),
    "usual-disk": (0.20, 0.07),
}
MORE_JOBS_AIM = 0.15
# Of observed times within their intervals.
COVERAGE_AIM = 0.90
# Of those outside with a warning before the job ends.
WARNED_AIM = 0.90
# An error that whoever plans by it would notice.
BAD = 0.20
HEADING = "## As users meet it"
INTRO = f"""{HEADING}

All that was made kind above is left as it comes here: TCP is cubic and slows down after idle times, the link's queue
drops, clients are GlusterFS's with the layers that a volume has as it comes (write-behind among them) or sshfs with its
defaults, jobs have up to three nodes each, and one run of a recording has a neighbour that nobody profiled. Jobs are
scaled down from minutes: 1 s slices where production has 4 s, and so as many slices a job; the checkpoints and the last
three recordings have 4 s slices and a minute. `make usual-page` shows these tables alone.

The last three are a true test: {words.listing(HELD_OUT)}.
They were recorded after all laws, intervals and warnings had been fixed, and nothing was changed because of them. The
rules were chosen with the other recordings in view.

Two predictions are held against each run: that of the model of sharing (weight and capacity fitted to the other
combinations of jobs), and that of `slicewise foretell` (from a run alone of each, by a law that has not seen these jobs
together). *Repeats apart* is how far repeats of the very same run lie from their mean at most: nobody who has not seen
that run can be expected to do better. Nothing is left out: of three repeats no outlier can be told.
"""


@dataclass(frozen=True)
class Told(Against):
    """A job's predicted and observed time (s) in a run of several. runs: what ran together, as plans write it; place:
    the job's there; doubt: what was said against it beforehand; is_warned: what the run itself shows, said afterwards;
    is_off_halfway: said when half of the run's bytes had been moved, which it had not all by then.
    """

    runs: str
    place: str
    jobs: int
    took: float
    seconds: Estimate
    doubt: str
    is_warned: bool
    is_off_halfway: bool = False

    @property
    def has_bystander(self) -> bool:
        return self.runs.endswith("!")

    @property
    def is_both_ways(self) -> bool:
        return READS in self.runs and WRITES in self.runs


@functools.cache
def digests(directory: Path) -> list[Digest]:
    """Every profiled job of a recording."""
    return list(several(read_profiles(sorted(path for path in directory.iterdir() if path.is_dir()))))


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
            for row in check(model, run, None, data.slices.filter(own), data.progress).iter_rows(named=True):
                seconds = Estimate(row["predicted"], row["low"], row["high"], "")
                said = (told, row["misfit"] is not None, _is_off_in_time(row))
                found.append(Told(*_names(row["job"]), len(run), row["observed"], seconds, *said))
    return found


def _is_off_in_time(row: dict[str, Any]) -> bool:
    return bool(row["is_warned_halfway"]) and row["halfway_seconds"] is not None


@functools.cache
def there(directory: Path) -> list[AloneRun]:
    """What each job did on the storage that all use."""
    storage = foretold.storage_of(digests(directory)[:2])
    found = (foretold.run_there(digest, storage) for digest in digests(directory))
    return [one for one in found if one is not None]


@functools.cache
def foretold_runs(directory: Path) -> tuple[list[Told], list[str]]:
    """What `slicewise foretell` says of every run of several jobs, and the laws that it takes."""
    own = _own_clock(directory)
    quiet, runs = foretold.seen_runs(there(directory))
    served = foretold.serves(quiet)
    tried = foretold.tried_on(runs, served)
    found, taken = [], set()
    for run in runs:
        kept = [place for place, other in enumerate(runs) if other.sizes != run.sizes]
        others = {law: [errors[place] for place in kept] for law, errors in tried.items()}
        laws = laws_of(others, [runs[place].sizes for place in kept])
        taken.add(law_words(laws.chosen))
        plans = [(one.alone, one.start) for one in run.jobs]
        seconds = foretold.foretold_seconds(plans, served, laws, foretold.times_of(run, runs, tried))
        then = halfway(run, served, laws.chosen, seconds)
        for place, (one, value) in enumerate(zip(run.jobs, seconds, strict=True)):
            beside = [other.alone for other in run.jobs if other is not one]
            doubt = foretold.doubt_of(one.alone, beside, laws)
            took = own.get(one.job, one.seconds)
            is_off = then.is_off and then.t_co[place] is not None
            found.append(Told(*_names(one.job), len(run.jobs), took, value, doubt, False, is_off))
    return found, sorted(taken)


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


def _clocks(directory: Path) -> str:
    """How far the profiles' times are off the jobs' own clocks."""
    own = _own_clock(directory)
    times = ((one.digest.job, one.seconds) for one in there(directory))
    off = [abs(seconds / own[job] - 1) for job, seconds in times if job in own]
    return f"{100 * statistics.mean(off):.2f} % in the mean, {100 * max(off):.2f} % at most"


def _names(job: str) -> tuple[str, str]:
    """What ran together, as plans write it, and the job's place in it."""
    run, _, place = job.rsplit("-", 2)
    for written, named in IN_NAMES.items():
        run = run.replace(named, written) if named else run
    return re.sub(r"(?<=\d)([a-z])", r"~\1", run), place


def section(campaigns: Path) -> list[str]:
    """The section's parts; none without recordings."""
    found = [campaigns / name for name in PLANS if (campaigns / name).is_dir()]
    if not found:
        return []
    notes = campaigns / "USUAL.md"
    return [
        INTRO,
        _conditions(found),
        "### The model of sharing\n",
        _figures(found, lambda one: shared_out(one) if one.name in SHARED_OUT else [], is_warned_afterwards=True),
        *(
            f"{one.name}: {answer(fit_model(read(one).jobs, read(one).slices).weight)}\n"
            for one in found
            if one.name in SHARED_OUT
        ),
        "### Foretold from runs alone\n",
        _figures(found, lambda one: foretold_runs(one)[0], is_warned_afterwards=False),
        *(f"{one.name}, laws taken: {'; or '.join(foretold_runs(one)[1])}.\n" for one in found),
        _combinations(found),
        *([notes.read_text(encoding="utf-8")] if notes.exists() else []),
    ]


def _conditions(found: list[Path]) -> str:
    usual = NETWORKS["usual"]
    said = [
        ["TCP", ", ".join(f"{name} {value}" for name, value in usual.tcp.items())],
        ["queue of each server's link", f"{usual.limit}, what does not fit is dropped"],
        ["clients", "as they come"],
        [
            "what jobs do",
            "write with an fsync at the end of each repeat, or read what no client has in memory, on mounts that have "
            "carried data before",
        ],
    ]
    rows = []
    for directory in found:
        plan = PLANS[directory.name]
        again = [
            run[BY_NODES] for run in map(json.loads, (directory / TCP).read_text().splitlines()) if "+" in run["run"]
        ]
        alone, together = _by_company(directory)
        seconds = [_seconds([one.seconds for run in runs for one in run]) for runs in (alone, together)]
        rows.append([
            directory.name, plan.server, plan.link, plan.what, f"{len(alone)}, {len(together)}",
            str(max(map(len, together))), f"{plan.slice_seconds:g} s", *seconds, f"{statistics.mean(again):.0f}",
            str(_repeated(directory)), _clocks(directory),
        ])  # fmt: skip
    headings = [
        "recording", "file system", "link", "what is not kind", "runs of one job, of several", "jobs at a time",
        "slices", "alone", "beside others", "segments sent again, mean of a run of several",
        "done again, since jobs began apart", "off the jobs' own clock",
    ]  # fmt: skip
    return "\n".join([table(["condition", "in all of these runs"], said), table(headings, rows)])


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


def _figures(found: list[Path], told_of: Callable[[Path], list[Told]], *, is_warned_afterwards: bool) -> str:
    """A row a recording, of all runs, and of those of three and four jobs; then the aims."""
    rows, aims, every = [], [], []
    for directory in found:
        told = told_of(directory)
        if not told:
            continue
        every += told
        kinds = {
            "all runs": told,
            "three and four jobs": [one for one in told if one.jobs > 2],
            "beside one that nobody profiled": [one for one in told if one.has_bystander],
            "readers beside writers": [one for one in told if one.is_both_ways],
        }
        rows += [_row(directory.name, which, some, is_warned_afterwards) for which, some in kinds.items() if some]
        aims.append(_aim(directory.name, told))
    headings = [
        "recording", "runs", "times", safe("mean |RE|"), safe("largest |RE|"), "bias", "repeats apart",
        "within the interval", "outside", "doubt told beforehand",
        "told halfway", "one of both", *(["told afterwards"] if is_warned_afterwards else []),
        "within, but doubted", "told halfway, but within",
        f"off by more than {100 * BAD:.0f} %",
        "doubted, or within",
    ]  # fmt: skip
    said = [_in_all(f"Of all {len(every)} times", every)]
    if held_out := [one for told in (told_of(one) for one in found if one.name in HELD_OUT) for one in told]:
        said.append(_in_all(f"Of the {len(held_out)} that were held out ({words.listing(HELD_OUT)})", held_out))
    return "\n".join([table(headings, rows), "\n".join(aims), "", "\n\n".join(said), ""])


def _in_all(of_which: str, every: list[Told]) -> str:
    within = statistics.mean(one.is_within for one in every)
    bad = [one for one in every if abs(one.error) > BAD]
    covered = sum(bool(one.doubt) or one.is_within for one in bad)
    return (
        f"{of_which} {words.percent(within)} lie within their intervals (aim "
        f"{100 * COVERAGE_AIM:.0f} % or more). {len(bad)} are off by more than {100 * BAD:.0f} %; {covered} of these "
        "lie within an interval that is as wide, or a doubt was told beforehand."
    ) + _warnings(every)


def _warnings(every: list[Told]) -> str:
    """How many errors outside of their intervals come with a warning before the job ends, and how many warnings are
    false.
    """
    outside, within = ([one for one in every if one.is_within == is_in] for is_in in (False, True))
    both = sum(bool(one.doubt) or one.is_off_halfway for one in outside)
    return (
        f" {both} of {len(outside)} errors outside came with a warning before the job ended (aim "
        f"{100 * WARNED_AIM:.0f} %): "
        f"{sum(bool(one.doubt) for one in outside)} with a doubt beforehand, "
        f"{sum(one.is_off_halfway for one in outside)} when half of the run's bytes had been moved. False warnings, of "
        f"{len(within)} times within: {sum(bool(one.doubt) for one in within)} beforehand, "
        f"{sum(one.is_off_halfway for one in within)} halfway."
    )


def _row(name: str, which: str, told: list[Told], is_warned_afterwards: bool) -> list[str]:
    errors = [one.error for one in told]
    outside, within = ([one for one in told if one.is_within == is_in] for is_in in (False, True))
    bad = [one for one in told if abs(one.error) > BAD]
    return [
        name, which, str(len(told)), words.percent(statistics.mean(map(abs, errors))),
        words.percent(max(map(abs, errors))), words.signed_percent(statistics.mean(errors)),
        words.percent(_apart(told)), words.percent(statistics.mean(one.is_within for one in told)), str(len(outside)),
        str(sum(bool(one.doubt) for one in outside)),
        str(sum(one.is_off_halfway for one in outside)),
        str(sum(one.is_off_halfway or bool(one.doubt) for one in outside)),
        *([str(sum(one.is_warned for one in outside))] if is_warned_afterwards else []),
        str(sum(bool(one.doubt) for one in within)),
        str(sum(one.is_off_halfway for one in within)),
        str(len(bad)), str(sum(bool(one.doubt) or one.is_within for one in bad)),
    ]  # fmt: skip


def _aim(name: str, told: list[Told]) -> str:
    largest, mean = AIMS[name]
    more = [abs(one.error) for one in told if one.jobs > 2]
    errors = [abs(one.error) for one in told]
    missed = [
        *([f"the largest ({100 * largest:.0f} %)"] if max(errors) > largest else []),
        *([f"the mean ({100 * mean:.0f} %)"] if mean is not None and statistics.mean(errors) > mean else []),
        *(
            [f"the largest of three and four jobs ({100 * MORE_JOBS_AIM:.0f} %)"]
            if max(more, default=0) > MORE_JOBS_AIM
            else []
        ),
    ]
    return f"- {name}: {'missed by ' + words.listing(missed) if missed else 'aims met'}."


def _repeats(told: Iterable[Told]) -> dict[tuple[str, str], list[Told]]:
    groups: dict[tuple[str, str], list[Told]] = {}
    for one in told:
        groups.setdefault((one.runs, one.place), []).append(one)
    return groups


def _apart(told: Iterable[Told]) -> float:
    """The most that a time is off the mean of its repeats."""
    return max(
        (
            abs(one.took / statistics.mean(other.took for other in group) - 1)
            for group in _repeats(told).values()
            for one in group
        ),
        default=0.0,
    )


def _combinations(found: list[Path]) -> str:
    """Every combination of jobs, by both predictions."""
    rows = []
    for directory in found:
        by_model = _repeats(shared_out(directory)) if directory.name in SHARED_OUT else {}
        for key, group in sorted(_repeats(foretold_runs(directory)[0]).items()):
            other = by_model.get(key, [])
            rows.append([
                directory.name, key[0], key[1], ", ".join(f"{one.took:.1f}" for one in group), *_predicted(other),
                *_predicted(group),
            ])  # fmt: skip
    headings = [
        "recording", "run", "job", "took, s", "model of sharing, s", "RE, mean", "within", "foretold, s", "RE, mean",
        "within",
    ]  # fmt: skip
    return f"### Run by run\n\n{table(headings, rows)}"


def _predicted(group: list[Told]) -> list[str]:
    if not group:
        return ["", "", ""]
    first = group[0].seconds
    mean = words.signed_percent(statistics.mean(one.error for one in group))
    within = f"{sum(one.is_within for one in group)} of {len(group)}"
    return [f"{first.value:.1f} ({first.low:.0f}-{first.high:.0f})", mean, within]


def main() -> None:
    """Prints the section."""
    from testbed import validation  # which makes the whole page, this section of it too

    print("\n".join(section(validation.unpacked(Path(sys.argv[1])))))


if __name__ == "__main__":
    main()
