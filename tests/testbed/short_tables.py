"""Where predictions can be trusted, where not, and by how much, as tables.

The figures are those of the recordings as users meet them (`testbed.usual_tables`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slicewise.text import words
from support.told import Aims, figures_of_told

from testbed.tables import Table, table
from testbed.usual_tables import COVERAGE_AIM, SHARED_OUT, Told, by_servers, foretold_runs, shared_out, width

# What is asked where it is known which file is on which server.
PLACED = "campaign --placement"
# Who plans by a time that is off by no more than this, at most and in the mean, plans well.
MOST, MEAN = 0.20, 0.07


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


def tables(campaigns: Path) -> list[Table]:
    """By what is asked: how far off times are, and the warnings."""
    errors, warned = list[list[str]](), list[list[str]]()
    for ground in GROUNDS:
        there = [campaigns / name for name in ground.recordings]
        by = {
            "model": [one for each in there if each.name in SHARED_OUT for one in shared_out(each)],
            "foretell": [one for each in there for one in foretold_runs(each)],
        }
        if ground.is_placed:
            by = {PLACED: [one for each in there for one in by_servers(each)]}
        for which, found in by.items():
            told = [one for one in found if ground.is_in(one)]
            what = ground.of_model if which == "model" and ground.of_model else ground.what
            if told:
                errors.append([what, which, *_figures(told)])
                warned.append([what, which, *_warned(told)])
    of_jobs = ["jobs side by side", "asked"]
    of_errors = ["times", "off by, mean", "off by, most", "within", "end / end", "so trust"]
    of_warnings = ["outside", "doubted", "warned", "within", "doubted, falsely", "warned, falsely"]
    return [table("errors", of_jobs + of_errors, errors), table("warnings", of_jobs + of_warnings, warned)]


def _figures(told: list[Told]) -> list[str]:
    found = figures_of_told(told, MOST)
    if not Aims(MOST, MEAN).missed(told):
        trust = "the time"
    else:
        trust = "the interval" if found.within_share >= COVERAGE_AIM else "neither"
    return [
        str(found.count), words.percent(found.mean), words.percent(found.largest), f"{found.within} of {found.count}",
        width(found), trust,
    ]  # fmt: skip


def _warned(told: list[Told]) -> list[str]:
    """How many times there are outside and within, how many were doubted, and how many were warned of."""
    found = figures_of_told(told, MOST)
    cells = []
    for count, warned in ((found.outside, found.of_outside), (found.within, found.of_within)):
        cells += [str(count), *(str(one) if count else "" for one in (warned.beforehand, warned.running))]
    return cells
