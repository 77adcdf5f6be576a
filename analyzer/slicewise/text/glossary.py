"""Our own terms, each with its meaning in a sentence or two: the one list, for tooltips of pages and docs/glossary.md.

A meaning holds on every page. Forms are what a text may say instead of the term; case does not matter.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Term:
    """A term, what it means, and its other forms. is_marked: on pages; in all of them it would be too much."""

    name: str
    meaning: str
    forms: tuple[str, ...] = ()
    is_marked: bool = True

    @property
    def id(self) -> str:
        """The anchor of its meaning on a page."""
        return f"term-{re.sub(r'[^a-z0-9]+', '-', self.name.lower()).strip('-')}"


TERMS = (
    Term(
        "alone",
        "With nobody else on the same file system. The time alone is measured in a standalone run, or estimated "
        "as the page says.",
    ),
    Term(
        "asymmetry index",
        "How differently two equal jobs fare when they overlap. 0: the file system shares fairly, whoever comes "
        "first. 1: one job waits until the other is done.",
    ),
    Term(
        "call site",
        "The place in a program from which an I/O call was made, as a chain of functions. Slicewise takes a "
        "sample of it each time a thread has spent another 10 ms in I/O calls.",
        ("call sites",),
    ),
    Term(
        "capacity",
        "The most bytes per second that the file system serves to all jobs together.",
    ),
    Term(
        "catalog",
        "A directory of Parquet files that has the digests of many jobs.",
        is_marked=False,
    ),
    Term(
        "collector",
        "`slicewise-collect`, a small program beside the jobs of a node. It samples the node, finishes the "
        "profiles of killed processes, and names processes that no library profiles.",
        is_marked=False,
    ),
    Term(
        "confidence",
        "How sure a result is. High: decide by it. Medium: probably right, an interval says how far off it may "
        "be. Low: a hint. Unknown: the profiles cannot tell.",
    ),
    Term(
        "contention",
        "Two jobs use one file system at the same time, and at least one of them waits longer for that.",
        is_marked=False,
    ),
    Term(
        "coverage",
        "The share of the kernel's own count of bytes that the library saw.",
        is_marked=False,
    ),
    Term(
        "Delta-graph",
        "A chart of what two jobs lose to each other, against how long after the one the other starts.",
        ("Delta-graphs",),
    ),
    Term(
        "fair share",
        "The part of the bytes that a job would get if the file system gave every process (or every node) the same.",
        ("fair shares",),
    ),
    Term(
        "full slice",
        "A slice, neither the first nor the last of a job, in which at least 90 % of the processes that ever "
        "moved bytes did. Only such slices tell how fast a job is.",
        ("full slices",),
    ),
    Term(
        "I/O calls",
        "Calls that read, write, look up, open, close or sync files. Time in I/O calls is time that a process "
        "waited for them.",
        (
            "in I/O calls",
            "in I/O",
        ),
    ),
    Term(
        "interference factor",
        "How many times as long the I/O took as alone. 1: nothing was lost. 2: it took twice as long.",
        (
            "interference factors",
            "interference",
        ),
    ),
    Term(
        "interval",
        "The true value lies in it, as far as the measurements tell. It is written in brackets.",
        ("intervals",),
    ),
    Term(
        "Jain's index",
        "How evenly processes were served. 1: all moved the same. 1 divided by their number: one process moved "
        "everything.",
    ),
    Term(
        "IO500 phase",
        "One benchmark of IO500, such as ior-easy-write. Each runs by itself and is timed by itself. Easy phases move "
        "large pieces, each process in files of its own; hard phases move small ones in a file or directory of all.",
        ("IO500 phases", "hard phase", "hard phases", "easy phase", "easy phases"),
    ),
    Term(
        "lane",
        "One thread's counters of the open slice.",
        is_marked=False,
    ),
    Term(
        "latency",
        "How long a single call took.",
        ("latencies",),
    ),
    Term(
        "layer",
        "Where in the I/O stack a call was seen: POSIX, stdio, MPI-IO. One lies on the other, so layers are not "
        "simply added up.",
        is_marked=False,
    ),
    Term(
        "load balance",
        "How evenly ranks compute: the mean of their times outside MPI and I/O, over that of the rank with most. 100 %:"
        " all compute equally long. It is one of the efficiencies of the POP project.",
    ),
    Term(
        "mean process",
        "The average over the job's processes: its seconds are their sum divided by their number.",
    ),
    Term(
        "metadata call",
        "A call that opens, closes, creates, looks up or removes files, and moves no bytes of theirs.",
        ("metadata calls",),
    ),
    Term(
        "neighbour",
        "A job that used the same file system at the same time.",
        ("neighbours",),
    ),
    Term(
        "not profiled",
        "Traffic that the nodes or servers counted and that belongs to no job with a profile.",
    ),
    Term(
        "phase",
        "A stretch of time in which a job does I/O without a long pause.",
        ("phases",),
    ),
    Term(
        "profile",
        "What is known of one job: a directory with a file for each node.",
        is_marked=False,
    ),
    Term(
        "rank",
        "A process's number in an MPI job.",
        is_marked=False,
    ),
    Term(
        "RE",
        "Relative error: predicted time minus observed time, over observed time.",
    ),
    Term(
        "region",
        "The longest stretch of slices in which every process of every job moved bytes. There the jobs really "
        "competed.",
        (
            "regions",
            "active overlapping region",
        ),
    ),
    Term(
        "RSD",
        "Relative standard deviation: how much values differ from each other, in per cent of their mean.",
    ),
    Term(
        "runtime",
        "From the start of the job's first process to the end of its last one.",
    ),
    Term(
        "segment",
        "A process's counts in shared memory. It outlives the process.",
        is_marked=False,
    ),
    Term(
        "slice",
        "A short stretch of the clock, 4 s unless set otherwise. Slices begin at the same moments on all nodes, "
        "so profiles of different jobs line up.",
        ("slices",),
    ),
    Term(
        "slowdown",
        "How many times as long as alone the job took.",
    ),
    Term(
        "standalone run",
        "A run of the same program and size with nobody else on its file system.",
        ("standalone runs",),
    ),
    Term(
        "storage",
        "A file system, on whichever nodes it is mounted.",
        is_marked=False,
    ),
    Term(
        "storage's time",
        "What a job moved in a slice, over the most that the file system can move in it. At 100 % the file system"
        " is full.",
    ),
    Term(
        "sync call",
        "A call that waits until data are on stable storage, such as fsync.",
        ("sync calls",),
    ),
    Term(
        "transfer size",
        "The number of bytes that a single read or write call moved.",
        ("transfer sizes",),
    ),
    Term(
        "unexplained",
        "Time that the job lost and that no neighbour and nothing that was measured accounts for.",
    ),
    Term(
        "waiting for its turn",
        "Time in which Slicewise's coordinator let another job go first. No I/O call was running.",
    ),
    Term(
        "weight",
        "By what the file system shares itself out among jobs: by their processes, or by their nodes.",
        ("weights",),
    ),
)


@cache
def by_form() -> dict[str, Term]:
    """The term of each form, in lower case."""
    return {form.lower(): term for term in TERMS if term.is_marked for form in (term.name, *term.forms)}


@cache
def pattern() -> re.Pattern[str]:
    """Finds forms as whole words, the longest first. What stands in a path or a name with signs is none."""
    forms = sorted(by_form(), key=len, reverse=True)
    return re.compile(rf"(?<![\w/.@+-])(?:{'|'.join(map(re.escape, forms))})(?![\w/@+-]|\.\w)", re.IGNORECASE)


def page() -> str:
    """docs/glossary.md."""
    lines = [
        "# Glossary",
        "",
        "The terms of Slicewise. Its pages explain them where the mouse or the keyboard stops at a dotted word.",
        "`make docs` makes this page from `analyzer/slicewise/text/glossary.py`.",
    ]
    for term in TERMS:
        lines += ["", f"#### {term.name[:1].upper()}{term.name[1:]}", *textwrap.wrap(term.meaning, 100)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
