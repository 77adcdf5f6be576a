"""The section of docs/validation.md on recordings as users meet them (`testbed.usual_plans`), and its figures.

Both models are held against them: that of sharing (`slicewise model`, `campaign`), fitted without the combination of
jobs that it predicts, and `slicewise foretell`, by a law that has not seen these jobs together.
"""

from __future__ import annotations

import functools
import json
import math
import re
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from slicewise.analysis.campaign.result import result_of
from slicewise.analysis.foretell import foretold
from slicewise.analysis.foretell.foretold import AloneRun
from slicewise.analysis.foretell.held_out import held_out
from slicewise.analysis.runs.campaign import Campaign, campaign
from slicewise.analysis.sharing.doubts import doubts
from slicewise.analysis.sharing.fitted_model import check, fit_model, predict
from slicewise.analysis.sharing.model import model_job
from slicewise.digest.digest import Digest
from slicewise.digest.shared import several
from slicewise.estimate import Estimate
from slicewise.profile.many import read_profiles
from slicewise.report.foretell.foretell_words import law_words
from slicewise.report.model.weight_words import answer
from slicewise.text import words
from support import told as figures
from support.told import Aims, Missed, figures_of_told, repeats

from testbed.campaign import IN_NAMES
from testbed.markdown import safe, table
from testbed.nodes import NETWORKS
from testbed.placement import placement
from testbed.server_counters import BY_NODES, RUNS, TCP
from testbed.usual_plans import PLANS

# Jobs of which all write all the time, or all read, in calls of one size: what the model of sharing is for.
SHARED_OUT = ("usual-nodes", "usual-shared", "usual-seeks", "usual-servers", "usual-reads", "usual-large")
HELD_OUT = tuple(name for name, plan in PLANS.items() if plan.is_held_out)
READS, WRITES = "~reads", "~writes"
# Largest and mean |RE| that are aimed at.
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
    "usual-synced": (0.20, 0.07),
}
MORE_JOBS_AIM = 0.15
# Of observed times within their intervals.
COVERAGE_AIM = 0.90
# Of those outside with a warning before the job ends.
WARNED_AIM = 0.90
# An error that whoever plans by it would notice.
BAD = 0.20
# What the last recordings showed when they were new, before intervals and warnings were changed because of it: times,
# those within; times outside, and those with a warning before the end.
AT_FIRST = (80, 70, 10, 7)
# Recordings on several servers, and how many these were.
SEVERAL_SERVERS, SERVERS = ("usual-servers",), 2
AIM_WORDS: dict[Missed, str] = {
    "largest": "the largest error",
    "mean": "the mean error",
    "largest of more jobs": "the largest error of three and four jobs",
}
HEADING = "## As users meet it"
INTRO = f"""{HEADING}

Here all that was made kind above is left as it comes. TCP is cubic, and slows down after idle times. The link's queue
drops. Clients are sshfs's with its defaults, or GlusterFS's with the layers that a volume has by default (write-behind
among them). Jobs have up to four nodes each. In usual-nodes and usual-shared, one combination of jobs has a neighbour
that nobody profiled.

The jobs of half the recordings take less than half a minute alone. Their slices are 1 s long, and not 4 s as in
production: a job then has as many slices as a job of minutes there. The other recordings have slices of 4 s. `make
usual-page` shows these tables alone.

**Which predictions are made?** Two are compared with each run:

- the model of sharing: weight and capacity are fitted to the other combinations of jobs
- `slicewise foretell`: from a run alone of each job, by a law that has not seen these jobs together

All runs are in the tables: three repeats do not show which one is an outlier. Only the fits of the model of sharing
leave out the runs beside a job that nobody profiled. `slicewise model fit` finds these runs by itself: the storage gave
less than in their repeats.

**What is held out?** The last four recordings ({words.listing(HELD_OUT)}) were made after laws and intervals had been
fixed. The rules were chosen with the other recordings in view. Afterwards three things were changed, and a fourth was
chosen with some of the last four in view. So for the last four recordings, too, the tables below are no true test:

- *A law.* It says that reads may wait in one queue behind writes, and was added because of usual-synced. The older
  recordings of foretold.md choose this law, too.
- *What a storage serves whose memory takes writes first.* This was changed because of usual-disk.
- *How wide the intervals of `slicewise foretell` are.* This was changed because too few of the times were within. All
  recordings had been seen by then; the new widths were chosen by what the first six show. A warning while jobs run
  depends on the interval: so warnings changed, too.
- *By which rules `slicewise foretell` doubts and warns.* They were chosen with the first repeats of all but the last
  recording in view. So only the last recording and the second repeats of the three before it are new to the rules. None
  of their times lies outside of its interval. They show how often a warning is false, and not whether a time that is
  outside comes with one.

Before the second and the third of these changes, {AT_FIRST[1]} of the {AT_FIRST[0]} times of the last four recordings
were within their intervals: {100 * AT_FIRST[1] / AT_FIRST[0]:g} %, where the aim is {100 * COVERAGE_AIM:.0f} % or
more. {AT_FIRST[3]} of the other {AT_FIRST[2]} came with a warning before the job ended, where the aim is
{100 * WARNED_AIM:.0f} %. So both aims were missed when these recordings were new.
"""
NOTATION = """**How are runs named?** `2+6/3+4@10!` are three jobs that run together, divided by `+`:

| sign | meaning |
|---|---|
| `6` | a job of 6 processes on one node |
| `6/3` | a job of 6 processes on 3 nodes |
| `4~small` | a job of 4 processes, of the kind *small*: `tests/testbed/usual_plans.py` says what a kind does |
| `4@10` | a job of 4 processes that begins 10 s after the others |
| `4!` | a job of 4 processes that nobody profiled |
"""
COLUMNS = f"""### How do I read the next tables?

Each kind of prediction has three tables: of errors, of intervals and warnings, and of the aims.

| column | meaning |
|---|---|
| runs | which of the recording's runs. *All recordings* has all of them together; *held out*, those of the last four \
recordings; *warnings held out*, those that nobody had seen when the rules for doubts and warnings were chosen |
| RE, bias | the relative error: (predicted - observed) / observed. The bias is its mean |
| repeats apart | how far a run is from the mean of its repeats at most. Nobody who has not seen that run can be \
expected to predict it better |
| off the mean of repeats | the largest error if each run had taken the mean of its repeats: what is left without \
scatter |
| of these, within or doubted | of the times that are off by more than {100 * BAD:.0f} %, those that lie within \
their (wide) interval or were doubted beforehand |
| within the interval | the aim is {100 * COVERAGE_AIM:.0f} % or more |
| end / end | how wide intervals are: the upper end over the lower end, in the median (and at most) |
| may be 95 % | whether so many within are possible by chance if each interval holds 95 % (binomial, 2.5 % to each \
side) |
| told beforehand, while it ran, afterwards | of the times outside, those with a doubt before the run, with a warning \
before its end, and those of which the finished run shows that they are off |
| told before the end, told at all | of the times outside, those with a doubt or a warning before the job's end (the \
aim is {100 * WARNED_AIM:.0f} %), and those with any of the three |
| within, but doubted beforehand, but told while it ran | false warnings: the time lies within its interval. There is \
no aim for them |
| aims | for the largest error, the mean error, and the largest error of three and four jobs |
| missed without scatter | the aims for errors that would be missed if each run had taken the mean of its repeats, and \
without the runs beside a job that nobody profiled. A better law could help with these only |

Lines such as "A job's share goes by its processes" are explained [above](#how-do-i-read-the-next-sections).
"""
RUN_BY_RUN = """### Run by run

*Took* has a time for each repeat, by the job's own clock. The model of sharing is compared with the I/O time span of
the job's profile in place of that, which may be shorter or longer by some percent. So a time may seem to lie outside of
the model's interval, and be counted as within. The columns *predicted* have the prediction for the first repeat, with
its interval. Predictions for the other repeats differ a little, because their jobs do not begin at exactly the same
moments. RE is the mean of the errors of all repeats, and *within* counts the repeats that lie in their intervals.
"""
PLACED = """### The model of sharing, with the place of each file known

If a storage has two servers, each file lies on one of them, by its name. If you say on which (`slicewise campaign
--placement`), the model takes each server as a storage of its own. A job ends when its last part ends. Here the servers
are those that GlusterFS's hash of names gives. This way was chosen after this recording had been seen. Weight and
capacity are held out as before: fitted to the other combinations of jobs.
"""


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
    storage = foretold.storage_of(digests(directory)[:2])
    found = (foretold.run_there(digest, storage) for digest in digests(directory))
    return [one for one in found if one is not None]


@functools.cache
def foretold_runs(directory: Path) -> tuple[list[Told], list[str]]:
    """What `slicewise foretell` says of every run of several jobs, and the laws that it takes."""
    own = _own_clock(directory)
    quiet, runs = foretold.seen_runs(there(directory))
    found, taken = [], set()
    for one in held_out(runs, foretold.serves(quiet)):
        taken.add(law_words(one.laws.chosen))
        for job in one.jobs:
            name = job.seen.job
            said = (job.doubt, job.is_warned, job.is_off_in_time)
            took = own.get(name, job.seen.seconds)
            found.append(Told(*_names(name), len(one.jobs), took, job.seconds, *said, _repeat(name)))
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


def section(campaigns: Path) -> list[str]:
    """The section's parts; none without recordings."""
    found = [campaigns / name for name in PLANS if (campaigns / name).is_dir()]
    if not found:
        return []
    notes = campaigns / "USUAL.md"
    return [
        INTRO,
        _conditions(found),
        COLUMNS,
        "### The model of sharing\n",
        _figures(found, lambda one: shared_out(one) if one.name in SHARED_OUT else []),
        *(
            f"{one.name}: {answer(fit_model(read(one).jobs, read(one).slices).weight)}\n"
            for one in found
            if one.name in SHARED_OUT
        ),
        *_placed(found),
        "### Foretold from runs alone\n",
        _figures(found, lambda one: foretold_runs(one)[0]),
        _laws(found),
        _combinations(found),
        *([notes.read_text(encoding="utf-8")] if notes.exists() else []),
    ]


def _laws(found: list[Path]) -> str:
    """The laws that were taken: several for a recording, if the law depends on what is left out."""
    lines = [
        "Laws taken. For each combination of jobs, the law is chosen without its runs. So a recording can have several "
        "laws (*1 of 2*):\n"
    ]
    for one in found:
        taken = foretold_runs(one)[1]
        for number, law in enumerate(taken, 1):
            lines.append(f"- {one.name}{f' ({number} of {len(taken)})' if len(taken) > 1 else ''}: {law}")
    return "\n".join([*lines, ""])


def _placed(found: list[Path]) -> list[str]:
    """The same of recordings on several servers, with the place of each file known."""
    known = [one for one in found if one.name in SEVERAL_SERVERS]
    return [PLACED, _figures(known, by_servers)] if known else []


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
    clock = (
        "The last two columns say how far the I/O time span of a profile is off what the job itself measured. What a "
        "job *took* is by its own clock in the tables of foretold times, and by its profile in those of the model of "
        "sharing.\n"
    )
    return "\n".join(
        [table(["condition", "in all of these runs"], said), NOTATION, table(headings, what), table(counts, ran), clock]
    )


def _repeats(directory: Path) -> str:
    """How many repeats there are of the combinations of jobs."""
    counts = [len(group) for group in repeats(foretold_runs(directory)[0]).values()]
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


def _figures(found: list[Path], told_of: Callable[[Path], list[Told]]) -> str:
    """A row a recording, of all runs, and of those of three and four jobs; then the aims."""
    rows, aims, every = [], list[list[str]](), list[Told]()
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
        rows += [_row(directory.name, which, some) for which, some in kinds.items() if some]
        aims.append(_aim(directory.name, told))
    errors = [
        "recording", "runs", "times", safe("mean |RE|"), safe("largest |RE|"), "bias",
        "repeats apart", "off the mean of repeats", f"off by more than {100 * BAD:.0f} %",
        "of these, within or doubted",
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
    tables = [table(errors, [row[0] for row in rows]), table(warnings, warned), "Are the aims met?\n"]
    tables.append(table(["recording", "aims", "missed", "missed without scatter"], aims))
    return "\n".join([*tables, *([f"All recordings together: {_in_all(every)}\n"] if len(aims) > 1 else [])])


def _is_fresh(recording: str, one: Told) -> bool:
    """Whether nothing, warnings included, was chosen with it in view."""
    return recording == "usual-synced" or (recording in HELD_OUT and one.repeat > 1)


def _in_all(every: list[Told]) -> str:
    """The two aims for all recordings, and the warnings that are false."""
    found = figures_of_told(every, BAD)
    outside, within = found.of_outside, found.of_within
    covered = (
        f"{words.percent(found.within_share)} of the times lie within their intervals (the aim is "
        f"{100 * COVERAGE_AIM:.0f} % or more: {_met(found.within_share >= COVERAGE_AIM)})."
    )
    warned = (
        f" {outside.in_time} of the {found.outside} outside came with a warning before the job ended (the aim is "
        f"{100 * WARNED_AIM:.0f} %: {_met(outside.in_time >= WARNED_AIM * found.outside)})."
        if found.outside else ""
    )  # fmt: skip
    bad = (
        f" {found.bad or 'None'} are off by more than {100 * BAD:.0f} %"
        + (f"; {found.bad_covered} of these lie within or were doubted beforehand." if found.bad else ".")
    )  # fmt: skip
    return (
        f"{covered}{bad}{warned} False warnings, of the {found.within} within: {within.beforehand} beforehand, "
        f"{within.running} while the job ran."
    )


def _met(is_met: bool) -> str:
    return "met" if is_met else "missed"


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


def _combinations(found: list[Path]) -> str:
    """Every combination of jobs, by both predictions."""
    rows = []
    for directory in found:
        by_model = repeats(shared_out(directory)) if directory.name in SHARED_OUT else {}
        for key, group in sorted(repeats(foretold_runs(directory)[0]).items()):
            other = by_model.get(key, [])
            rows.append([
                directory.name, key[0], key[1], ", ".join(f"{one.took:.1f}" for one in group), *_predicted(other),
                *_predicted(group),
            ])  # fmt: skip
    headings = [
        "recording", "run", "job", "took, s", "model: predicted, s", "model: RE", "model: within",
        "foretell: predicted, s", "foretell: RE", "foretell: within",
    ]  # fmt: skip
    return "\n".join([RUN_BY_RUN, table(headings, rows)])


def _predicted(group: Sequence[figures.Told]) -> list[str]:
    if not group:
        return ["", "", ""]
    first, found = group[0].seconds, figures_of_told(group, BAD)
    within = f"{found.within} of {found.count}"
    return [f"{first.value:.1f} ({first.low:.0f}-{first.high:.0f})", words.signed_percent(found.bias), within]


def main() -> None:
    """Prints the section."""
    from testbed import validation  # which makes the whole page, this section of it too

    print("\n".join(section(validation.unpacked(Path(sys.argv[1])))))


if __name__ == "__main__":
    main()
