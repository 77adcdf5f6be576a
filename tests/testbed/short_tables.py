"""Where predictions can be trusted, where not, and by how much, as tables.

The figures are those of the recordings as users meet them (`testbed.usual_tables`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from testbed.tables import Table
from testbed.usual_tables import SHARED_OUT, Told, figures_table, foretold_runs, shared_out


@dataclass(frozen=True)
class Ground:
    """What is asked about. recordings: that show it; is_in: which of their times count; of_model: what it is for the
    model of sharing, if it looks at a part of it.
    """

    what: str
    recordings: tuple[str, ...]
    is_in: Callable[[Told], bool] = lambda one: not one.has_bystander
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
    Ground("beside a job that nobody profiled", ("usual-nodes", "usual-shared"), lambda one: one.has_bystander),
)


def tables(campaigns: Path) -> list[Table]:
    """By what is asked: how far off times are, and the warnings."""
    told = {}
    for ground in GROUNDS:
        there = [campaigns / name for name in ground.recordings]
        by = {
            "model": [one for each in there if each.name in SHARED_OUT for one in shared_out(each)],
            "foretell": [one for each in there for one in foretold_runs(each)],
        }
        for which, found in by.items():
            what = ground.of_model if which == "model" and ground.of_model else ground.what
            told[what, which] = list(filter(ground.is_in, found))
    return [figures_table("grounds", ["jobs side by side", "asked"], told)]
