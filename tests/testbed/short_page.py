"""The first half page of docs/validation.md: where predictions can be trusted, where not, and by how much.

Its figures are those of the section on recordings as users meet them (`testbed.usual_page`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slicewise.analysis.campaign.told import Aims, figures_of_told
from slicewise.text import words

from testbed.markdown import table
from testbed.usual_page import COVERAGE_AIM, SHARED_OUT, Told, by_servers, foretold_runs, shared_out

# Who plans by a time that is off by no more than this, at most and in the mean, plans well.
MOST, MEAN = 0.20, 0.07
INTRO = """## In short

How long will my jobs take side by side? Two commands answer that. `slicewise model` is for jobs that all write, or all
read, all the time. `slicewise foretell` is for other jobs, too: readers beside writers, mixed sizes of calls, jobs that
compute in between. Both were asked about runs that they had not seen. Nothing is left out here.

- *Times:* how many runtimes of jobs were predicted.
- *Off by:* a job that takes 100 s where 93 s were predicted is off by 7 %.
- *Within the 95 % interval:* how many of the runtimes lie in the interval that was predicted with the time.
- *Outside, told before the end:* of the runtimes outside of their intervals, those for which Slicewise gave a warning
  beforehand or while the job ran.
- *So trust:* what to rely on, as the list below the table says.
"""
OUTRO = """\
- **The time** stands where predicted times are off by 20 % at most, and by 7 % in the mean. Under conditions that are
  kind to a model (short jobs, nobody else, a queue that never drops) it is off by half a percent to two in the mean:
  see [kind conditions](#kind-conditions).
- **The interval** stands where times are further off, but 90 % or more lie within their intervals. With TCP as it
  comes, connections share unequally for seconds and more. So the very same run, repeated, differs by a tenth,
  sometimes by a third. No model predicts that.
- **Neither** stands where fewer lie within. There are two reasons for it here:
  a job that nobody profiled, and files that lie on one of several servers. Slicewise cannot know beforehand of a job
  without a profile, and says so while the run goes on. Profile all jobs of a storage, or let the collector sample the
  others. The next list says more about several servers.

Three things to know beside that:

- **Say where files lie** if a storage has several servers. If that is known, errors are a fifth of those without, in
  the mean. But intervals are too narrow then: of the times outside, none was told before the job ended.
- **Expect doubts** where writes go into memory first, the client's (sshfs) or the server's. Whose data are stored first
  does not depend on shares then. `foretell` says beforehand that it does not know.
- **If a prediction is wrong**, Slicewise mostly says so before the job ends. It tells nearly all others after the run.

All of this ran on one machine, with namespaces as nodes and jobs of up to 32 processes. Check it on your own storage:
`slicewise campaign DIR` makes such tables from any directory of profiles. How well `slicewise blame`
finds the time that a job lost is [below](#lost-time-and-blame).
"""


@dataclass(frozen=True)
class Ground:
    """What is asked about. recordings: that show it; is_in: which of their times count; is_placed: whether it is known
    which file is on which server.
    """

    what: str
    recordings: tuple[str, ...]
    is_in: Callable[[Told], bool] = lambda one: not one.has_bystander
    is_placed: bool = False


GROUNDS = (
    Ground(
        "jobs that write all the time on one server, TCP and clients as they come",
        ("usual-nodes", "usual-shared", "usual-seeks", "usual-large"),
    ),
    Ground("readers beside readers and writers", ("usual-reads",)),
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
    rows = []
    for ground in GROUNDS:
        there = [campaigns / name for name in ground.recordings if (campaigns / name).is_dir()]
        by = {
            "model": [one for each in there if each.name in SHARED_OUT for one in shared_out(each)],
            "foretell": [one for each in there for one in foretold_runs(each)[0]],
        }
        if ground.is_placed:
            by = {"campaign --placement": [one for each in there for one in by_servers(each)]}
        for which, found in by.items():
            told = [one for one in found if ground.is_in(one)]
            if told:
                rows.append([ground.what, which, *_figures(told)])
    headings = [
        "jobs side by side", "asked", "times", "off by, mean", "off by, most", "within the 95 % interval",
        "outside, told before the end", "so trust",
    ]  # fmt: skip
    return [INTRO, table(headings, rows), OUTRO] if rows else []


def _figures(told: list[Told]) -> list[str]:
    found = figures_of_told(told, MOST)
    if not Aims(MOST, MEAN).missed(told):
        trust = "the time"
    else:
        trust = "the interval" if found.within_share >= COVERAGE_AIM else "neither"
    return [
        str(found.count),
        words.percent(found.mean),
        words.percent(found.largest),
        f"{found.within} of {found.count}",
        f"{found.of_outside.in_time} of {found.outside}" if found.outside else "",
        trust,
    ]
