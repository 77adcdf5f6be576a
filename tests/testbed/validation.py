"""Writes docs/validation.md from campaigns: `python -m testbed.validation CAMPAIGNS PAGE`.

CAMPAIGNS holds a directory of profiles for each of `PLANS` and of `blame_plans.STORAGES`, as
`python -m testbed.validation --run BUILD CAMPAIGNS` makes them: what is there already is not run again.
`--pack CAMPAIGNS ARCHIVES` makes an archive of each, and a directory of archives is as good as CAMPAIGNS for the page.
Every figure of it is computed from those profiles, and from published ones.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import polars as pl
from slicewise.analysis.campaign.figures import ALL_JOBS, ALL_RUNS, figures_of_all
from slicewise.analysis.campaign.figures import MORE as MORE_JOBS
from slicewise.analysis.campaign.figures import PAIRS as PAIRS_OF_JOBS
from slicewise.analysis.campaign.result import CampaignResult, Conditions, result_of
from slicewise.analysis.delta import DeltaGraph, graph_and_evidence
from slicewise.analysis.runs.campaign import Campaign, campaign
from slicewise.analysis.runs.outliers import FEWEST_REPEATS, MOST_DEVIATIONS, NO_SPREAD
from slicewise.analysis.sharing.fitted_model import check, cross_check, fit_model, misfit_of
from slicewise.analysis.sharing.weights import ABOUT_AS_GOOD, NEGLIGIBLE_ERROR, Weighting
from slicewise.digest.describe import folded
from slicewise.digest.digest import Digest
from slicewise.digest.shared import several
from slicewise.profile.many import read_profiles
from slicewise.report.campaign import campaign_tables as report
from slicewise.report.delta.delta_page import peaks, points_table, verdict
from slicewise.report.model import outlier_words
from slicewise.report.model.misfit_words import misfit_words
from slicewise.report.model.model_tables import capacity_lines
from slicewise.report.model.weight_words import answer
from slicewise.report.nodes.evidence import evidence_table, evidence_words
from slicewise.text import words
from support import published
from support.folders import folder_for_life
from support.told import coverage_missed, missed_by

from testbed import blame_page, blame_plans, servers, short_page, usual_page, usual_plans
from testbed.markdown import of_report, safe, table
from testbed.nodes import ENDS_WITH_PARENT, is_installed
from testbed.server_counters import done_again, own_clock, server_counters
from testbed.slim import slim

PAIRS = "1+4 1+12 2+6 2+10 4+12 6+10 10+12"
ALONE = "1 2 4 6 10 12"
ON_NODES = "2/1 4/2 6/3 10/5 2/1+6/3 4/2+10/5 2/1+10/5"
MORE = "1+4+6@1 2+4*0.5@1+6+10*1.5@2"
OFFSETS = "4 4@4+4 4@2+4 4+4 4+4@2 4+4@4"
# So much that a job alone takes some seconds, and all campaigns an hour; and small calls, so that 22 of them wait in
# the link's queue for less time than TCP gives an answer (200 ms).
SIZES = ["--volume", "128", "--load", "--fsync --transfer 256K"]
DELTA = ["--load", "--fsync --transfer 256K", "--server-samples"]
SHARED = ["--volume", "128", "--load", "--fsync --transfer 256K --shared"]
# name: server, runs, repeats, further options
PLANS: dict[str, tuple[str, str, int, list[str]]] = {
    "glusterfs": ("glusterfs", f"{ALONE} {PAIRS} {ON_NODES} {MORE}", 5, SIZES),
    "sshfs": ("sshfs", f"{ALONE} {PAIRS} {ON_NODES} {MORE}", 5, SIZES),
    "glusterfs-shared": ("glusterfs", f"{ALONE} {PAIRS} {ON_NODES}", 5, SHARED),
    "sshfs-shared": ("sshfs", f"{ALONE} {PAIRS} {ON_NODES}", 5, SHARED),
    "one-size": ("glusterfs", "4 4+4", 3, SIZES),
    "delta-glusterfs": ("glusterfs", OFFSETS, 3, DELTA),
    "delta-turns": ("sshfs-turns", OFFSETS, 3, DELTA),
    "delta-slow": ("sshfs-slow", OFFSETS, 3, ["--volume", "96", *DELTA]),
    "cephfs": ("cephfs", f"{ALONE} {PAIRS} {MORE}", 3, SIZES),
}
# Left out where their servers are not installed.
OPTIONAL = {"cephfs"}
# Largest and mean |RE| of runtimes that are aimed at.
AIMS = {
    "glusterfs": (0.05, 0.025),
    "sshfs": (0.09, 0.05),
    "glusterfs-shared": (0.15, None),
    "sshfs-shared": (0.15, None),
}
MORE_JOBS_AIM = 0.10
# Of observed times within their intervals of 95 %.
COVERAGE_AIM = (0.90, 0.98)
# Of `campaign_tables.figures_table`.
FIGURES = ["jobs", "runtimes", "mean |RE|", "largest |RE|", "bias", "within the interval"]
TITLE = """# Validation

How far predicted runtimes can be trusted, and where not. `make validation` wrote this page from recorded profiles.
"""
SUMMARY = """## Kind conditions

The jobs of this section really compete, on one machine (`tests/testbed`): network namespaces are the compute nodes, and
a file server lies behind one link of 400 Mbit/s. The jobs are `slicewise-load` under `slicewise run`. Each job ran
alone, and jobs ran together, round robin. The jobs write all the time, on a storage that shares its time fairly by
process or by node.

Each runtime is predicted by a model that has not seen its combination of jobs: weight, capacity and all else are fitted
to the other runs. RE, the relative error, is (predicted - observed) / observed. All figures are those of `slicewise
campaign`.

Look at the rows *share at stake*. They have the jobs that end while others go on: how long these take depends on their
share. Each of the other jobs is the last one of its run to end. Such a job takes as long as the storage takes for the
bytes of all, whatever the shares are. That is easy to predict, so these jobs make the means look better. This table has
every runtime of jobs that ran together, outliers included.
"""
LIMITS = """What these figures do not show:

- *Other jobs.* Jobs alone took {alone} here, and jobs beside others {together}. They move {moved} in calls of 256 KiB,
  in slices of 0.25 s. All of them write all the time. For readers, mixed directions and sizes, and jobs that compute in
  between, ask `slicewise foretell`, a wider model: [foretold.md](foretold.md) compares it with runs of a minute and
  more, in slices of 1 and 4 s.
- *TCP and clients as they come.* Errors are much larger then, in the mean: [as users meet it](#as-users-meet-it).
- *Disks.* The server keeps data in memory, behind a link with a queue that never drops. The published pairs below are
  of real disks with a shared file, where capacity falls with the number of clients. There the model is off by
  {published}.
- *More than two jobs.* On sshfs three and four jobs have a node each, so shares by node and equal shares are the same
  there. With a shared file there are never more than two jobs here. [As users meet it](#as-users-meet-it) there are.
- *Jobs on several nodes, on sshfs with a shared file.* Few combinations show their share. So intervals are wide there.
- *A stalled connection*, as in one GlusterFS run. No model has it; Slicewise tells it after the run.
"""
READING = f"""## How do I read the next sections?

**Shares.** By what does a file system share itself out among jobs? A line such as "A job's share goes by its processes:
held-out shares are off by 0.2 %, by nodes 63.5 %, ..." compares six answers. The figure behind each says how far that
answer is off the shares of runs that it has not seen: here 0.2 % if shares go by processes, and 63.5 % if they go by
nodes. The first answer is the one that the model takes, no more: the other answers may fit as well. Its error need not
be the smallest. The answers are tried in the order of the following table, and the model takes the first one whose
error is about as small as the smallest (up to {ABOUT_AS_GOOD:g} times as large, or {100 * NEGLIGIBLE_ERROR:g} point
more):

| word | a job gets a share in proportion to |
|---|---|
| processes | the number of its processes |
| nodes | the number of its compute nodes |
| mounts | the number of its mounts of the storage |
| equal | nothing: each job gets as much |
| outstanding | the bytes of its calls that are under way |
| processes^beta | a power of the number of its processes. The line has this exponent and its interval |

"These data do not tell it from ..." names the answers that these runs do not refute: chance may decide between them and
the first one. With few runs, answers that are far off are not refuted either. If answers for processes and for nodes
are both among these, the line ends with "cannot tell whether the file system is fair to processes or to nodes",
although one of them comes first.

**Columns of the recordings.**

| column | meaning |
|---|---|
| runs that stood out | runs in which a job took much more or less than in the repeats (over {MOST_DEVIATIONS:g} \
standard deviations off their mean, and not all within {100 * NO_SPREAD:g} % of each other). They count in the rows \
*all*, and not in the rows *without outliers*. This takes {FEWEST_REPEATS} repeats: recordings with fewer always have \
*none* |
| runs, left out | how many runs the means of this row are of, and how many that stood out they leave out |
| overall | bytes of a job over its time |
| ratio | this rate over that of the first job |
| in the overlap, ratio there | the same in the slices in which all processes of all jobs moved bytes. Jobs begin and \
end within the first and last of these slices, so a small job gets more there than its share. The share laws look at \
full slices only |
| RSD over runs | the relative standard deviation of throughput over repeats of the run |
| over its processes, over all processes | the same over the job's processes, and over the processes of all jobs |
| alone | what the job's bytes take alone: its bytes, over the mean rate of jobs alone with as many processes. A job \
that moves half the bytes (in 2 + 4 + 6 + 10 the one of 4 processes) has half the time |
| largest outside | the largest error of the times outside of their intervals |
| of these told afterwards, told halfway | the part of the times outside of which the finished run shows that they \
are off, and of which that was seen when half of the bytes had been moved |
| told halfway, but within | the part of the times within with such a warning: false ones |

**Names.** `2on1+6on3-1-2` is a job of the run of 2 processes on 1 node beside 6 processes on 3 nodes: of its first
repeat, the second job.

**Lines below a table of conditions.** *Capacity* is what the storage serves. *Runtimes of ... combinations of jobs* has
the errors without the runs that stood out. *Left out: 1 run in which the storage gave less ...*: the model is fitted
without this run. The column *left out* counts other runs: those that stood out.

**Delta-graphs.** Two equal jobs begin at different offsets. "A takes up to 1.62 times as long as alone (sharing
explains 2.00)": the second number is what A would take if both shared the storage fairly. If the first number is
smaller, A lost less than its fair share costs. The asymmetry index is 0 if both jobs lose as much, and 1 if one job has
all of the loss.
The tables of causes have the columns that [causes-measured.md](causes-measured.md#all-evidence) explains. A counter has
"changed" if it grew. "At its limit alone and together" means that this resource is the bottleneck already when one job
is alone. Its counter may even fall when two jobs run.
"""
PUBLISHED = """The pairs are those of Kuo 2013 ([models.md](models.md) has the reference): two jobs that wrote a file a
process (*private mode*), or one file a job (*shared mode*).

*All by the other pairs* means that the model has not seen the pair that it predicts. Three things are
fitted to the other pairs: weight, capacity, and how long a job's last calls wait behind those of the other job. In
shared mode capacity falls with the number of processes. For more processes than the other pairs have, the fit is
extended.

The pair of 36 and 60 processes contradicts itself in shared mode: {inside:.1f} MiB/s while both wrote, but
{overall:.1f} MiB/s over all, though both ended together. No share law gives both figures. So there is a row without
that pair, too.

How does capacity depend on processes? The model chooses between two forms: the time for a byte grows with the number of
processes, or with its square, too. It takes the form that is off by less for combinations that it has not seen. Here
that is the second one. Some others were tried and were no better than the second: the universal scalability law, with
both terms and with one, an exponential and a power law, and isotonic regression.
"""
# What each recording of `PLANS` is.
WHAT = {
    "glusterfs": "GlusterFS without write-behind: each process has one request under way. A file a process.\n",
    "sshfs": "sshfs as it comes: its clients take writes into memory first. A file a process.\n",
    "glusterfs-shared": "GlusterFS without write-behind. All processes of a job write one file.\n",
    "sshfs-shared": "sshfs as it comes. All processes of a job write one file.\n",
    "one-size": ("A campaign that is too small: all jobs are alike, so nothing tells by what the storage is shared.\n"),
    "delta-glusterfs": "Two jobs of 4 processes on GlusterFS without write-behind: the jobs share.\n",
    "delta-turns": (
        "Two jobs of 4 processes on sshfs, whose server serves one connection after the other: first come, first "
        "served.\n"
    ),
    "delta-slow": (
        "Two jobs of 4 processes on sshfs, whose server reads no faster than a slow device behind it. So the TCP "
        "windows close.\n"
    ),
    "cephfs": ("CephFS with an object store in memory, and clients that take little into memory. A file a process.\n"),
}
CLOSED = """If a server takes data more slowly than they come, it closes the window of a connection: the sender must
wait. How often did that happen in the recordings of delta-graphs, with one job alone and with two together?
"""
# The pair of Kuo's that contradicts itself.
ODD_PAIR = (36, 60)


def main() -> None:
    """Runs campaigns, or writes the page."""
    if sys.argv[1] == "--run":
        run_campaigns(Path(sys.argv[2]), Path(sys.argv[3]))
    elif sys.argv[1] == "--pack":
        pack(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        Path(sys.argv[2]).write_text(page(unpacked(Path(sys.argv[1]))), encoding="utf-8")


def run_campaigns(build: Path, campaigns: Path) -> None:
    """Runs those campaigns whose profiles are not there; stops at the first that cannot be run."""
    for name, arguments in _commands(build, campaigns).items():
        if (campaigns / name / "complete").exists():
            continue
        if name in OPTIONAL and not all(map(is_installed, servers.needs(name))):
            print(f"validation: {name}: left out, for it needs {', '.join(servers.needs(name))}", flush=True)
            continue
        command = [*ENDS_WITH_PARENT, sys.executable, "-m", *arguments, "--timeout", "7200"]
        if subprocess.run(command, check=False).returncode != 0:
            sys.exit(f"validation: {name}: the campaign failed")
        (campaigns / name / "complete").touch()


def _commands(build: Path, campaigns: Path) -> dict[str, list[str]]:
    """The module that records each campaign, and its arguments."""
    found = {}
    for name, (server, runs, repeats, options) in PLANS.items():
        found[name] = ["testbed.campaign", str(build), str(campaigns / name), "--server", server]
        found[name] += ["--runs", runs, "--repeats", str(repeats), *options]
    for name, plan in usual_plans.PLANS.items():
        repeats = ["--repeats", str(usual_plans.REPEATS)]
        found[name] = ["testbed.campaign", str(build), str(campaigns / name), *plan.arguments(plan.runs), *repeats]
    for storage in blame_plans.STORAGES:
        name = blame_plans.recording_of(storage)
        found[name] = ["testbed.blame_campaign", str(build), str(campaigns / name), "--storage", storage]
    return found


def pack(campaigns: Path, archives: Path) -> None:
    """Makes an archive of each campaign that is complete; of those of `usual_plans`, of what is looked at there."""
    for name in _commands(Path(), campaigns):
        if not (campaigns / name / "complete").exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            packed = Path(shutil.copytree(campaigns / name, Path(folder) / name))
            if name in usual_plans.PLANS:
                slim(packed)
            shutil.make_archive(str(archives / name), "xztar", folder, name)


@functools.cache
def unpacked(directory: Path) -> Path:
    """Where campaigns lie that `directory` has archives of, as long as this process lives; itself if it has none."""
    archives = sorted(directory.glob("*.tar.xz"))
    if not archives:
        return directory
    target = folder_for_life("slicewise-campaigns-")
    for archive in archives:
        shutil.unpack_archive(archive, target)
    for notes in directory.glob("*.md"):
        shutil.copy(notes, target)
    return target


def page(campaigns: Path) -> str:
    """The page's text."""
    return "\n".join(filter(None, (part(campaigns) for part in (short, sharing, usual, blame))))


def short(campaigns: Path) -> str:
    """The title, and half a page for who asks whether to trust a prediction."""
    return folded("\n".join([TITLE, *short_page.short(campaigns)]))


def sharing(campaigns: Path) -> str:
    """The share model, held against the campaigns of `PLANS`."""
    parts = [_summary(campaigns), *_notes(campaigns), READING, _published()]
    for name in PLANS:
        directory = campaigns / name
        if not directory.is_dir():
            parts.append(f"## {name}\n\nThis campaign was not run.\n")
        elif name.startswith("delta-"):
            parts.append(_delta(name, directory))
        else:
            parts.append(_shares(name, directory))
    return folded("\n".join([*parts, *_closed_windows(campaigns)]))


def usual(campaigns: Path) -> str:
    """Recordings as users meet them."""
    return folded("\n".join(usual_page.section(campaigns)))


def blame(campaigns: Path) -> str:
    """The last part: lost time and blame."""
    return folded("\n".join(blame_page.section(campaigns)))


def _notes(campaigns: Path) -> list[str]:
    """What whoever recorded the campaigns says of them."""
    notes = campaigns / "NOTES.md"
    return [notes.read_text(encoding="utf-8")] if notes.exists() else []


def _published() -> str:
    rates = published.TOGETHER["shared"][ODD_PAIR]
    odd = PUBLISHED.format(inside=sum(rates[2:]), overall=sum(rates[:2]))
    lines = ["## Published pairs (Kuo 2013, tables 1 to 3, typed in)\n", odd]
    rows = []
    for mode in ("private", "shared"):
        jobs, slices = published.jobs_of(mode), published.slices_of(mode)
        model = replace(fit_model(jobs, slices), basis="standalone times")
        checks = {f"{mode}, shares by {kind}": check(model, jobs, Weighting(kind)) for kind in ("processes", "nodes")}
        checks[f"{mode}, all by the other pairs"] = cross_check(jobs, slices)
        if mode == "shared":
            is_odd = pl.col("pair") == published.pair_name(ODD_PAIR)
            kept = checks[f"{mode}, all by the other pairs"].filter(~is_odd)
            checks[f"{mode}, all by the other pairs, without {words.listing(map(str, ODD_PAIR))}"] = kept
        for name, checked in checks.items():
            rows += _figures_rows(name, checked)
        lines.append(f"In {mode} mode: {answer(model.weight)}\n")
    return "\n".join([*lines, table(["runtimes of six pairs", *map(safe, FIGURES)], rows)])


def _figures_rows(name: str, checked: pl.DataFrame) -> list[list[str]]:
    """All runs, of all jobs and of those whose share is at stake."""
    found = report.figures_table(figures_of_all(checked).filter(pl.col("runs") == ALL_RUNS))
    places = {column.heading: place for place, column in enumerate(found.columns)}
    return [[name, *(row[places[heading]].text for heading in FIGURES)] for row in found.rows]


def _summary(campaigns: Path) -> str:
    """Where predictions can be trusted, where not, by how much: all runs of each campaign, nothing left out."""
    rows, outside, coverage, conditions = [], [], list[tuple[str, bool]](), list[Conditions]()
    held_errors = list[str]()
    for name in PLANS:
        directory = campaigns / name
        if name.startswith("delta-") or not directory.is_dir():
            continue
        result = read_result(directory)
        if result.model.weight.chosen is not None:
            rows += _figures_rows(name, result.checked)
            conditions.append(result.conditions)
            coverage += _coverage_missed(name, result.checked)
            held_errors += _errors_missed(name, result.figures)
            outside.append(result.checked.filter(pl.col("misfit").is_not_null()))
    if not rows:
        return ""
    off = pl.concat(outside)
    kinds = dict(off["misfit"].value_counts().iter_rows())
    said = (
        f"{len(off)} times lie outside of their intervals. Slicewise says so of each, but only after the run: it "
        "compares the prediction with the time that was observed. It also says what is wrong about it. "
        f"*Other shares* ({kinds.get('other shares', 0)} times): the prediction is right if jobs get the shares that "
        f"were observed. *No share law* ({kinds.get('no share law', 0)} times): it is wrong even then, so time was "
        "lost in some other way.\n"
    )
    low, high = (f"{100 * share:.0f}" for share in COVERAGE_AIM)
    held = (
        f"The aim is {low} to {high} % of the times within the interval. {_held(coverage)}\n\nAims for errors are set "
        f"for {words.listing(AIMS)}. "
        + (f"Missed: {words.listing(held_errors)}. All others are met.\n" if held_errors else "All are met.\n")
    )
    limits = LIMITS.format(published=_published_errors(), **_sizes(conditions))
    return "\n".join([SUMMARY, table(["all runs, held out", *map(safe, FIGURES)], rows), held, said, limits])


def _sizes(conditions: list[Conditions]) -> dict[str, str]:
    """How long the jobs of some campaigns took, and what they moved: from, to."""
    alone = [seconds for one in conditions for seconds in one.seconds_alone or ()]
    together = [seconds for one in conditions for seconds in one.seconds_together or ()]
    moved = [moved for one in conditions for moved in one.bytes]
    return {
        "alone": f"{words.seconds(min(alone))} to {words.seconds(max(alone))}",
        "together": f"{words.seconds(min(together))} to {words.seconds(max(together))}",
        "moved": f"{words.size(min(moved))} to {words.size(max(moved))}",
    }


def _coverage_missed(name: str, checked: pl.DataFrame) -> list[tuple[str, bool]]:
    """Which rows of a campaign have too few or too many observed times in their intervals, and whether as few or as
    many may be chance where an interval holds 95 %.
    """
    missed = coverage_missed(figures_of_all(checked).filter(pl.col("runs") == ALL_RUNS), COVERAGE_AIM)
    return [
        (f"{name}, {row['jobs']} ({words.percent(row['within'])} of {row['count']})", row["may_be_chance"])
        for row in missed.iter_rows(named=True)
    ]


def _errors_missed(name: str, found: pl.DataFrame) -> list[str]:
    """The aims for errors that all runs of a campaign miss."""
    missed = []
    for group, aims in ((PAIRS_OF_JOBS, AIMS.get(name, (None, None))), (MORE_JOBS, (MORE_JOBS_AIM, None))):
        row = found.filter(pl.col("group") == group, pl.col("jobs") == ALL_JOBS, pl.col("runs") == ALL_RUNS)
        for what, aim in zip(("largest", "mean"), aims, strict=True):
            if name in AIMS and aim is not None and len(row) and row[what][0] > aim:
                words_of = "at most" if what == "largest" else "in the mean"
                missed.append(f"{name}, {group}: {words.percent(row[what][0])} {words_of} (aim {words.percent(aim)})")
    return missed


def _held(coverage: list[tuple[str, bool]]) -> str:
    """The rows whose coverage is not as aimed at, those apart whose count is too small to tell."""
    by_chance, others = ([name for name, is_chance in coverage if is_chance == is_so] for is_so in (True, False))
    if not coverage:
        return "All rows meet the aim."
    return " ".join([
        *([f"Not met by {words.listing(others)}."] if others else []),
        *(
            [
                f"These rows do not meet it, but have so few times that this may be chance (binomial, 2.5 % to each "
                f"side): {words.listing(by_chance)}."
            ]
            if by_chance else []
        ),
        "All other rows meet the aim.",
    ])  # fmt: skip


def _published_errors() -> str:
    """How far off the published pairs in shared mode are, each by the others."""
    found = figures_of_all(cross_check(published.jobs_of("shared"), published.slices_of("shared"))).row(0, named=True)
    return f"{words.percent(found['mean'])} in the mean, {words.percent(found['largest'])} at most"


@functools.cache
def _digests(directory: Path) -> list[Digest]:
    """A directory of profiles, read once."""
    return several(read_profiles([directory]))


@functools.cache
def read_campaign(directory: Path) -> Campaign:
    """What a directory of profiles holds, of writing."""
    return campaign(_digests(directory), "write")


@functools.cache
def read_result(directory: Path) -> CampaignResult:
    """What `slicewise campaign` shows of a directory of profiles."""
    return result_of(read_campaign(directory))


@functools.cache
def read_delta(directory: Path) -> tuple[DeltaGraph, pl.DataFrame]:
    """The Delta-graph of a directory's profiles, and the evidence for causes in them."""
    data = campaign(_digests(directory), "write", is_by_name=True, may_be_apart=True)
    return graph_and_evidence(directory.name, data, Weighting("processes"))


def _shares(name: str, directory: Path) -> str:
    result = read_result(directory)
    shown = report.tables(result)
    parts = [f"## {name}\n", WHAT[name], of_report(shown["conditions"])]
    parts += [f"{done_again(directory)} {own_clock(directory, result.data.jobs)}\n"]
    parts += [f"{answer(result.model.weight)}\n", "\n".join(capacity_lines(result.model)) + "\n"]
    parts += [
        of_report(shown[kind], ["program", "files"]) for kind in ("alone", "together", "slowdown") if kind in shown
    ]
    parts += [of_report(shown[kind]) for kind in ("predictions", "combinations") if kind in shown]
    if "predictions" in shown:
        parts += [f"{line}\n" for line in [*_judged(name, result.figures), *_told_apart(result.checked)]]
    return "\n".join([*parts, server_counters(directory)])


def _judged(name: str, found: pl.DataFrame) -> list[str]:
    """The aims, held against all runs and against those that did not stand out."""
    lines = []
    for group, (largest, mean) in ((PAIRS_OF_JOBS, AIMS.get(name, (None, None))), (MORE_JOBS, (MORE_JOBS_AIM, None))):
        for row in found.filter(pl.col("group") == group, pl.col("jobs") == ALL_JOBS).iter_rows(named=True):
            if largest is None:
                continue
            missed = [f"{100 * by:.3g} points" for by in missed_by(row, largest, mean)]
            of_runs = "all runs" if row["runs"] == ALL_RUNS else row["runs"]
            of_mean = f" (aim {words.percent(mean)})" if mean is not None else ""
            lines.append(
                f"{group.capitalize()}, {of_runs}: |RE| {words.percent(row['largest'])} at most "
                f"(aim {words.percent(largest)}), {words.percent(row['mean'])} in the mean{of_mean}. "
                f"{'Missed by ' + ' and '.join(missed) + '.' if missed else 'Met.'}"
            )
    return lines


def _told_apart(checked: pl.DataFrame) -> list[str]:
    """Runs that stood out, each with what was observed and what the model says of it."""
    lines = []
    for (pair, _), runs in checked.filter("is_outlier").group_by("pair", "run", maintain_order=True):
        observed = " / ".join(f"{seconds:.2f} s" for seconds in runs["observed"])
        lines.append(f"Stood out among its repeats ({outlier_words.BY_HOW_MUCH}): {pair}, observed {observed}.")
        off = runs.filter(pl.col("misfit").is_not_null())
        lines += [misfit_words(misfit_of(row)) for row in off.iter_rows(named=True)]
    return lines


def _delta(name: str, directory: Path) -> str:
    graph, evidence = read_delta(directory)
    alone = ", ".join(f"{job} {seconds:.2f} s" for job, seconds in graph.alone_seconds.items())
    shown = of_report(points_table([graph]), ["configuration"])
    said = f"{verdict(graph)} {peaks(graph)} Alone: {alone}."
    parts = [f"## {name}\n", WHAT[name], f"{said}\n", shown, server_counters(directory)]
    if len(evidence):
        parts += [f"{evidence_words(evidence)}\n", of_report(evidence_table(evidence))]
    return "\n".join(parts)


def _closed_windows(campaigns: Path) -> list[str]:
    """How often windows of TCP closed in each Delta-graph, by the collectors' samples."""
    rows = []
    for name in PLANS:
        if not name.startswith("delta-") or not (campaigns / name).is_dir():
            continue
        _, evidence = read_delta(campaigns / name)
        for found in evidence.filter(pl.col("signal") == "tcp_zero_windows").iter_rows(named=True):
            rows.append([name, f"{found['alone']:.1f}", f"{found['together']:.1f}"])
    shown = table(["windows closed, opened or wanted closed, times/s", "alone", "together"], rows)
    return ["## Closed windows\n", CLOSED, shown] if rows else []


if __name__ == "__main__":
    main()
