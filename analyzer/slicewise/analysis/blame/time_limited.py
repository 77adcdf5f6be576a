"""Programs whose length is set by time (a benchmark, a server): they do less in the same seconds, and take no longer.

Digests in, dataclass out.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

import polars as pl

from slicewise.analysis.blame.memory import loading_of
from slicewise.analysis.blame.outside import runtime_alone
from slicewise.analysis.blame.result import TimeLimited
from slicewise.analysis.coverage import KILLED
from slicewise.constants import EQUAL_VOLUMES, MAINLY
from slicewise.digest.activity import runtime_of
from slicewise.digest.company import ran_as_long
from slicewise.digest.digest import Digest
from slicewise.digest.slices import TIMES
from slicewise.scalars import real

# What a job did, the first of these that it did at all.
DONE = (("read_bytes", "write_bytes"), ("meta_ops",))

# How programs are told for how long to run: fio, IOR, iperf, stress, sysbench, timeout.
ASKED = re.compile(
    r"(?:^| )(--?(?:runtime|time|timeout|duration|seconds|max-time)[= ]|timeout )(\d+(?:\.\d+)?)s?(?= |$)"
)
# Or by a number alone, as loops of one's own are: a job that took so long, and no less, may have been asked to. Of
# numbers below 5 too many are counts.
LEAST_NUMBER = 5
# Of a runtime that was asked for, and seconds: what begins and ends such a program.
AROUND, AROUND_SECONDS = 0.05, 1.0
# Of the runtime: a loop that looks at its clock after each step ends later by what the last one takes, which is longer
# beside others (a checkpoint of 0.13 s alone, of 0.6 s in a run of 8 s).
LAST_STEP = 0.1


def asked_to_run_for(digest: Digest) -> str:
    """The option of its command line, or of the command that was launched (timeout makes no calls), that says for how
    long a job runs, if that is what it took; else empty.
    """
    runtime = runtime_of(digest) - loading_of(digest)
    launched = [] if "launches" in digest.not_kept else digest.launches["command"].to_list()
    commands = (str(command or "") for command in (digest.about["command"], *launched))
    for asked in (found for command in commands for found in ASKED.finditer(command)):
        seconds = float(asked[2])
        if (1 - AROUND) * seconds <= runtime <= seconds + max(AROUND * seconds, AROUND_SECONDS):
            return asked[0].strip()
    return ""


def why_its_work_did_not_end_it(digest: Digest) -> str:
    """Such as: it was killed. Empty where a job ended when its work was done, as far as is known."""
    asked = asked_to_run_for(digest)
    if asked:
        return f"it runs for a set time ({asked})"
    took = digest.process_slices.group_by("process").agg(ns=pl.sum_horizontal(pl.col(TIMES).sum()))
    # Who goes on ended its workers itself, as a pool of Python's does. When a killed one ended is known to a slice.
    by_itself = pl.col("end_ns").filter(pl.col("ending") != KILLED).max().over("command").fill_null(0)
    was_killed = (pl.col("ending") == KILLED) & (pl.col("end_ns") > by_itself + digest.slice_ns)
    ended = digest.processes.select("process", "command", was_killed=was_killed).join(took, on="process")
    killed, whole = (real(rows["ns"].sum()) for rows in (ended.filter("was_killed"), ended))
    if killed > MAINLY * whole and not digest.about["is_running"]:
        return "it was killed"
    runtime = runtime_of(digest) - loading_of(digest)
    commands = [digest.about["command"], *ended.sort("ns", "process")["command"].cast(pl.String).tail(1)]
    for number in (number for command in commands for number in _numbers(str(command or ""))):
        if number <= runtime <= number + max(AROUND * number, AROUND_SECONDS):
            return f"it may run for a set time ({number} s)"
    return ""


def _numbers(command: str) -> list[int]:
    """Words of a command line that are numbers, and no option's, as those of processes, steps and sizes are."""
    words = pairwise(command.split())
    found = [int(word) for before, word in words if word.isdecimal() and not before.startswith("-")]
    return [number for number in found if number >= LEAST_NUMBER]


def _was_asked_for_as_long(digest: Digest, run: Digest) -> bool:
    """Where processors were busy, a program may begin so late that only its run shows how long it was to run."""
    is_same = digest.about["command"] == run.about["command"] and asked_to_run_for(run) != ""
    return is_same and runtime_of(digest) >= (1 - AROUND) * runtime_of(run)


def _ended_a_step_later(digest: Digest, run: Digest) -> bool:
    is_same = digest.about["command"] != "" and digest.about["command"] == run.about["command"]
    return is_same and runtime_of(run) <= runtime_of(digest) <= (1 + LAST_STEP) * runtime_of(run)


def time_limited(digest: Digest, runs: Sequence[Digest]) -> TimeLimited | None:
    """What a job did less than its standalone runs in as many seconds; None where its length goes by its work.

    All runs took as long as the job (or as their command line, the job's too, says, and no longer), and did more or
    less than it; or they took little less, and did more. runs: of its size; a loop that begins processes until a
    deadline begins fewer of them beside others.
    """
    own = digest.about
    if not runs:
        return None
    is_set = all(ran_as_long(own, run.about) or _was_asked_for_as_long(digest, run) for run in runs)
    if not is_set and not all(_ended_a_step_later(digest, run) for run in runs):
        return None
    for names in DONE:
        done = sum(own[name] for name in names)
        alone = fmean(sum(run.about[name] for name in names) for run in runs)
        if max(done, alone) > 0:
            if abs(done - alone) <= EQUAL_VOLUMES * max(done, alone) or (not is_set and done > alone):
                return None
            took = runtime_alone(digest, runs)
            return TimeLimited(took, names, done, alone)
    return None
