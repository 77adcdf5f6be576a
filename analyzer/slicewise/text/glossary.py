"""Our own terms, each with its meaning in a sentence or two: the one list, for tooltips of pages and docs/glossary.md.

A meaning holds on every page. Forms are what a text may say instead of the term; case does not matter.
"""

import re
from collections.abc import Iterator
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
        return f"term-{re.sub(r'[^a-z0-9]+', '-', self.name.lower()).strip('-')}"


# Terms with their other forms and what they mean; those in brackets are not marked on pages.
GLOSSARY = """
alone: A job runs alone if no other job uses its file system. A standalone run measures how long it takes then;
  without one Slicewise estimates it.
asymmetry index: How much more one of two equal jobs loses than the other while both run. 0: both lose the same,
  whichever starts first. 1: one job waits until the other has ended.
(burst): For jobs that take turns: writes of one process without a pause of a second, from 16 MiB on.
call site | call sites: The place in a program that made an I/O call: the chain of functions that called each other.
  Slicewise records the call site each time that a thread has spent another 10 ms in I/O calls.
capacity: The most bytes per second that the file system serves to all jobs together.
(catalog): A directory of Parquet files with the figures of many jobs.
(claim): For jobs that take turns: how many bytes a job says that its phase will transfer.
(collector): `slicewise-collect`, a small program that runs on a node beside its jobs. It records what the node as a
  whole does, completes the profiles of killed processes, and counts processes without the library.
confidence: How sure a result is. High: you can act on it. Medium: it is probably right, within its interval. Low: it
  is a hint, since it rests on something that these runs cannot check. Unknown: the profiles do not show it.
(contention): Two jobs use one file system at the same time, and at least one of them waits longer because of the
  other.
(coordinator): A small program that says when jobs may do their I/O, so that they take turns: `slicewise-collect
  coordinate`.
(coverage): How much of a job's I/O Slicewise covered: what share of the bytes that the kernel counted. Killed
  processes, mapped files and io_uring are not in it. Below 95 % take the figures for a lower bound: docs/limits.md
  says what Slicewise cannot see.
Delta-graph | Delta-graphs: A chart for two jobs, A and B. From left to right: how long after A's start B started
  (negative: before it). Upwards: how long each of them took.
(digest): The tables that Slicewise makes from a job's profile. All commands compute with these tables.
(doubt): A reason, known before jobs run, why a prediction may be wrong.
(envelope): The most that a storage gave to all profiled jobs together in a slice: an estimate of its capacity.
fair share | fair shares: The part of the bandwidth that a job would get if the file system served every process (or
  every node) equally.
(frame): A word with three meanings. In Python and in a catalog: one of a job's tables (a data frame). In a profile's
  file, and in messages about its damage: a piece of the file. In a call stack: one of the functions.
full slice | full slices: A slice in which at least 90 % of a job's reading or writing processes transferred bytes. A
  job's first and last slice with bytes do not count, since the job may fill them in part only. Only full slices show
  how fast a job is.
I/O calls | in I/O calls | in I/O: Calls that read, write, look up, open, close or sync files. All time in such a call
  counts as I/O, also where the processor only copies memory.
interference factor | interference factors | interference: How many times as long the I/O took beside other jobs as it
  takes alone. Only the time in I/O counts. 1: nothing was lost. 2: it took twice as long.
interval | intervals: Two numbers in brackets. The true value lies between them in 95 of 100 cases, as far as the
  measurements show.
Jain's index: How evenly the file system served a job's processes. 1: all transferred the same number of bytes. 1/N,
  with N processes: one process transferred all bytes.
IO500 phase | IO500 phases | hard phase | hard phases | easy phase | easy phases: One of the benchmarks of IO500, such
  as ior-easy-write. In easy phases each process transfers large pieces in its own files. In hard phases all processes
  transfer small pieces in one shared file or directory.
(lane): The place in memory where one thread counts during the present slice.
latency | latencies: How long a single call took.
(layer): The interface by which a program does I/O: POSIX (`write`), stdio (`fwrite`) or MPI-IO (`MPI_File_write`).
  MPI-IO calls POSIX underneath: do not add both.
load balance: The mean computing time of all ranks, divided by that of the rank that computes longest. 100 %: all
  compute equally long.
(lost): How many seconds longer the job took than it takes alone. Where the text names one process, or I/O, the
  seconds are those of that process, or of I/O.
(makespan): From the start of the first of several jobs to the end of the last one.
mean process: The average over the job's processes.
metadata call | metadata calls: A call that works on names, attributes or descriptors of files, such as open, stat or
  truncate. No bytes are counted with it. Seeks count with them.
neighbour | neighbours: A job that used the same file system at the same time.
not profiled: Traffic that nodes or file servers counted, and that no profiled job caused.
phase | phases: A stretch of time in which a job does I/O without a long pause.
(policy): A rule that says which of several jobs may do I/O now.
(problem | problems): Something that went wrong while Slicewise counted, for instance a full table. The profile counts
  problems (in its table `mishaps`), and `slicewise report --detail` lists them with advice.
(process that matters): A process of the job that transferred at least 1 % of what the busiest one transferred, or
  spent at least 5 % of the time in calls that the busiest one spent, and 1 % of the runtime. Only such processes are
  counted and compared.
(profile): What Slicewise recorded of one job: a directory with one file for each node. It has the job's name.
(quiet run): A past run of the same program, with as many bytes and calls of the same size, both within a factor of 2,
  while nobody else used its file systems (or its control group's limit, if that held it up). Slicewise finds it by
  itself. On the job's file system, and with as many processes, it counts as a standalone run; with other numbers of
  processes, as a run of another size.
(rank): A process's number in an MPI job.
(rate): Bytes per second, in MiB/s unless it says otherwise. 1 MiB is 1,048,576 bytes. Throughput is the same;
  bandwidth is what a file system gives.
RE: Relative error of a prediction: (predicted time - observed time) / observed time.
region | regions | active overlapping region: The longest stretch of time in which all of the compared jobs
  transferred bytes with all their processes; if there is none, with at least one process of each, and the report says
  so.
(request): Asynchronous I/O (POSIX aio, libaio, io_uring): its time overlaps with other requests and with computing.
RSD: Relative standard deviation: how much repeated measurements differ from each other, in per cent of their mean.
runtime: From the start of the job's first process to the end of its last one.
(segment): The piece of shared memory where a process keeps its counts. It remains when the process is killed.
(signal): A figure of a node or of one of its devices, such as how busy a disk is, by slice. (SIGTERM and the like are
  signals of Unix.)
slice | slices: A short stretch of the clock, 4 s unless set otherwise. Slices begin at the same moments on all nodes,
  so profiles of different jobs line up.
slowdown: How many times as long the job took as it takes alone. 1.5: it took 50 % longer. The whole runtime counts in
  answers of `blame`; in those of `campaign` and `predict` the time from the job's first to its last I/O.
standalone run | standalone runs: A run of the same program and size with nobody else on its file system.
(storage): One file system. A network file system is the same storage on all nodes. The disks of two nodes are two
  storages.
storage's time: The share of a slice in which the file system was busy with a job: the bytes that the job transferred,
  over the most bytes that the file system can transfer in a slice. At 100 % the file system can serve nobody else.
sync call | sync calls: A call that waits until data are on stable storage, such as fsync. Calls that submit or await
  asynchronous requests count here, too.
transfer size | transfer sizes: The number of bytes that a single read or write call transferred.
unexplained: Time that the job lost, and for which neither a neighbour nor any other measurement gives a reason.
waiting for its turn: Time in which Slicewise's coordinator let another job do its I/O first. No I/O call was running.
(warning): What Slicewise says, while jobs run, if a prediction of theirs seems to be off.
weight | weights: What decides how much of a file system a job gets: mostly the number of its processes or of its
  nodes. On some file systems it is the number of its mounts; on others all jobs have the same weight.
"""


def _terms() -> Iterator[Term]:
    for entry in re.split(r"\n(?=\S)", GLOSSARY.strip()):
        head, _, meaning = entry.partition(": ")
        name, *forms = head.strip("()").split(" | ")
        yield Term(name, " ".join(meaning.split()), tuple(forms), not head.startswith("("))


TERMS = tuple(_terms())


@cache
def by_form() -> dict[str, Term]:
    """The term of each form, in lower case."""
    return {form.lower(): term for term in TERMS if term.is_marked for form in (term.name, *term.forms)}


@cache
def pattern() -> re.Pattern[str]:
    """Finds forms as whole words, the longest first. What stands in a path or a name with signs is none."""
    forms = sorted(by_form(), key=len, reverse=True)
    return re.compile(rf"(?<![\w/.@+-])(?:{'|'.join(map(re.escape, forms))})(?![\w/@+-]|\.\w)", re.IGNORECASE)
