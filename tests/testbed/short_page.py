"""The first half page of docs/validation.md: where predictions can be trusted, where not, and by how much.

Its figures are those of the section on recordings as users meet them (`testbed.usual_page`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slicewise.text import words
from support.told import Aims, figures_of_told

from testbed.markdown import table
from testbed.usual_page import (
    AT_FIRST,
    COVERAGE_AIM,
    SEVERAL_SERVERS,
    SHARED_OUT,
    WARNED_AIM,
    Told,
    by_servers,
    foretold_runs,
    shared_out,
    width,
)
from testbed.usual_plans import PLANS

# What is asked where it is known which file is on which server.
PLACED = "campaign --placement"
# What is to be known of the figures of all times.
AFTERWARDS = {
    "foretell": (
        f" All of this is after intervals and warnings had been changed: before, {100 * AT_FIRST[1] / AT_FIRST[0]:g} % "
        f"of {AT_FIRST[0]} new times were within (aim missed). None of the times that were new to the rules for "
        "warnings lies outside of its interval, so these times only show how often a warning is false."
    ),
    PLACED: " This way was chosen after the recording had been seen.",
}
# Who plans by a time that is off by no more than this, at most and in the mean, plans well.
MOST, MEAN = 0.20, 0.07
TIME = "the time"
WHERE = """## In short

All but the published pairs ran on one machine with two processors: GlusterFS, sshfs and CephFS, network namespaces as
nodes, and jobs of up to {processes} processes. The programs were load generators; for lost time fio, IOR, tar and
others ran, too. The slow disk is a loop device in memory whose speed is limited. NFS, Lustre, GPFS and BeeGFS were not
tried.
"""
INTRO = f"""How long will my jobs take side by side? Two commands answer that. `slicewise model fit` and `predict` are
for jobs that all write, or all read, all the time. `slicewise foretell` is for other jobs, too: readers beside writers,
mixed sizes of calls, jobs that compute in between. (Which job slowed mine down, and how well `slicewise blame` tells
that, is [further below](#in-short-how-far-off-is-the-lost-runtime-that-is-told).)

How new were the runs to what predicted them?

- No prediction has seen the combination of jobs that it predicts. But most of these recordings were in view when rules
  were chosen.
- Four recordings were made after that. When they were new, `foretell` missed both of its aims on them: {AT_FIRST[1]} of
  {AT_FIRST[0]} times ({100 * AT_FIRST[1] / AT_FIRST[0]:g} %) were within their intervals, and {AT_FIRST[3]} of the
  other {AT_FIRST[2]} came with a warning. Then intervals and warnings were changed. The figures here are of `foretell`
  as it is now. On runs that are new to it they may be worse.
- `campaign --placement` was chosen after its only recording had been seen.
- [As users meet it](#as-users-meet-it) has the details, and all runs of the two tables here.

In the first table, a job that takes 100 s where 93 s were predicted is *off by* 7 %. *Within* says how many of the
times lie in the 95 % interval that was predicted with them (the aim is {100 * COVERAGE_AIM:.0f} % or more). *End / end*
says how wide these intervals are: the upper end over the lower end, in the median (and at most). An interval of 20 to
40 s has 2.0. *So trust* is explained below.
"""
WARNED = f"""In the second table, *outside* and *within* are the times outside of their intervals and within.
*Doubted* says how many of these came with a doubt before the jobs began, and *warned* how many with a warning while
they ran. A doubt or warning about a time outside counts as right, about a time within as false. The aim is that
{100 * WARNED_AIM:.0f} % of the times outside have one or the other. There is no aim for false ones.
"""
OUTRO = """\
- **The time** means: predicted times are off by {most:.0f} % at most, and by {mean:.0f} % in the mean. These rows have
  few times ({few}). Under conditions that are kind to a model (short jobs, nobody else, a queue that never drops) they
  are off by less in the mean: see [kind conditions](#kind-conditions).
- **The interval** means: times are further off, but {coverage:.0f} % or more lie within their intervals. Look at *end /
  end* first: a wide interval is right easily, and says little. With TCP as it comes, connections share unequally for
  seconds and more. So the very same run, repeated, was up to {apart} off the mean of its repeats with files on two
  servers, and up to {apart_one} with jobs that write all the time on one server. No model predicts that.
- **Neither** means: fewer lie within. There are two reasons for it here. (1) A job that nobody profiled: Slicewise
  cannot know of it beforehand, and says so while the run goes on. Only profiles of all jobs of a storage help. (2)
  Files that lie on one of several servers, even if it is known on which.

{aims}

Three things to know beside that:

- **Say where files lie** if a storage has several servers. {placed}
- **Expect doubts** where writes go into memory first, the client's (sshfs) or the server's. Whose data are stored first
  does not depend on shares then. `foretell` says beforehand that it does not know, for nearly every time: such a doubt
  does not tell which of the times are off.
- **After the run** Slicewise knows the time that the job took, and says if that was outside of its interval:
  {afterwards}.

Check it on your own storage: `slicewise campaign DIR` predicts the runs in a directory of profiles as `model` does, and
says how far off these predictions are. No command does that for `foretell`.
"""


@dataclass(frozen=True)
class Ground:
    """What is asked about. recordings: that show it; is_in: which of their times count; is_placed: whether it is known
    which file is on which server; of_model: what it is for the model of sharing, if it looks at a part of it.
    """

    what: str
    recordings: tuple[str, ...]
    is_in: Callable[[Told], bool] = lambda one: not one.has_bystander
    is_placed: bool = False
    of_model: str = ""


GROUNDS = (
    Ground(
        "jobs that write all the time on one server, TCP and clients as they come",
        ("usual-nodes", "usual-shared", "usual-seeks", "usual-large"),
    ),
    Ground("readers beside readers and writers", ("usual-reads",), of_model="readers beside readers"),
    Ground("calls of 4 KiB beside calls of 64 KiB and 4 MiB", ("usual-sizes",)),
    Ground("jobs that compute between checkpoints", ("usual-checkpoints",)),
    Ground("a server with a slow disk that is written at once", ("usual-synced",)),
    Ground("the same, but the server takes writes into memory first", ("usual-disk",)),
    Ground("files spread over two servers", ("usual-servers",)),
    Ground("the same, with the server of each file known", ("usual-servers",), is_placed=True),
    Ground("beside a job that nobody profiled", ("usual-nodes", "usual-shared"), lambda one: one.has_bystander),
)


def short(campaigns: Path) -> list[str]:
    """The half page's parts; none without recordings."""
    rows, warned, told_of = list[list[str]](), list[list[str]](), dict[str, list[Told]]()
    for ground in GROUNDS:
        there = [campaigns / name for name in ground.recordings if (campaigns / name).is_dir()]
        by = {
            "model": [one for each in there if each.name in SHARED_OUT for one in shared_out(each)],
            "foretell": [one for each in there for one in foretold_runs(each)[0]],
        }
        if ground.is_placed:
            by = {PLACED: [one for each in there for one in by_servers(each)]}
        for which, found in by.items():
            told = [one for one in found if ground.is_in(one)]
            told_of.setdefault(which, []).extend(told)
            what = ground.of_model if which == "model" and ground.of_model else ground.what
            if told:
                rows.append([what, which, *_figures(told)])
                warned.append([what, which, *_warned(told)])
    of_jobs = ["jobs side by side", "asked"]
    headings = [*of_jobs, "times", "off by, mean", "off by, most", "within", "end / end", "so trust"]
    warnings = [*of_jobs, "outside", "doubted", "warned", "within", "doubted, falsely", "warned, falsely"]
    tables = [WHERE.format(processes=_most_processes()), INTRO, table(headings, rows), WARNED, table(warnings, warned)]
    few = words.listing(row[2] for row in rows if row[-1] == TIME)
    return [*tables, _outro(campaigns, told_of, few)] if rows else []


def _outro(campaigns: Path, told_of: dict[str, list[Told]], few: str) -> str:
    """What to rely on, and what of the aims is missed."""
    found = {which: figures_of_told(told, MOST) for which, told in told_of.items() if told}
    aims = []
    for which, figures in found.items():
        outside, within = figures.of_outside, figures.of_within
        is_covered, is_warned = figures.within_share >= COVERAGE_AIM, outside.in_time >= WARNED_AIM * figures.outside
        aims.append(
            f"- `{which}`: {words.percent(figures.within_share)} are within ({_met(is_covered)}). {outside.in_time} of "
            f"{words.count(figures.outside, 'time')} outside came with a doubt or a warning ({_met(is_warned)})."
            f"{_of_them('doubts beforehand', outside.beforehand, within.beforehand)}"
            f"{_of_them('warnings while the job ran', outside.running, within.running)}{AFTERWARDS.get(which, '')}"
        )
    recordings = [campaigns / name for name in PLANS if (campaigns / name).is_dir()]
    unknown = [one for each in recordings if each.name in SEVERAL_SERVERS for one in shared_out(each)]
    placed = ""
    if unknown and PLACED in found:
        known = found[PLACED]
        placed = (
            f"If that is known, the model is off by {words.percent(known.mean)} in the mean, where it was "
            f"{words.percent(figures_of_told(unknown, MOST).mean)}. {known.within} of {known.count} times are within, "
            f"which is too few. {known.of_outside.in_time or 'None'} of the other {known.outside} came with a warning "
            "before the job ended."
        )
    afterwards = words.listing(
        f"`{which}` told {figures.of_outside.afterwards} of {figures.outside}" for which, figures in found.items()
    )
    return OUTRO.format(
        most=100 * MOST, mean=100 * MEAN, coverage=100 * COVERAGE_AIM,
        apart=words.percent(max(_apart(each) for each in recordings)),
        apart_one=words.percent(max(_apart(each) for each in recordings if each.name in GROUNDS[0].recordings)),
        aims="Are the aims met, over all of these times?\n\n" + "\n".join(aims),
        placed=placed, afterwards=afterwards, few=few,
    )  # fmt: skip


def _of_them(what: str, right: int, false: int) -> str:
    """How many of these were right, and how many false."""
    return f" {right} of its {right + false} {what} were right." if right + false else ""


def _apart(recording: Path) -> float:
    return figures_of_told(foretold_runs(recording)[0], MOST).apart


def _met(is_met: bool) -> str:
    return "aim met" if is_met else "aim missed"


def _most_processes() -> int:
    """Of a job of these recordings, by their plans."""
    runs = " ".join(plan.runs for plan in PLANS.values()).replace("+", " ")
    return max(int(found[0]) for job in runs.split() if (found := re.match(r"\d+", job)))


def _figures(told: list[Told]) -> list[str]:
    found = figures_of_told(told, MOST)
    if not Aims(MOST, MEAN).missed(told):
        trust = TIME
    else:
        trust = "the interval" if found.within_share >= COVERAGE_AIM else "neither"
    return [
        str(found.count),
        words.percent(found.mean),
        words.percent(found.largest),
        f"{found.within} of {found.count}",
        width(found),
        trust,
    ]


def _warned(told: list[Told]) -> list[str]:
    """Of the times outside and within: how many, those that were doubted, those that were warned of."""
    found = figures_of_told(told, MOST)
    cells = []
    for count, warned in ((found.outside, found.of_outside), (found.within, found.of_within)):
        cells += [str(count), *(str(one) if count else "" for one in (warned.beforehand, warned.running))]
    return cells
