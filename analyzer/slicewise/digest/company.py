"""Who had company, what a run of the same work is, and which runs are taken as standalone runs; of files or a catalog.
Two jobs had company on a storage where both made calls while both were active there.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import polars as pl

from slicewise.constants import LEAST_OF_JOB, SECOND_NS
from slicewise.digest.processes import DIRECTIONS
from slicewise.profile.plausible import MOST_SLICES_ON_AXIS

# Runs of one program that differ by more than this factor do something else.
SPEEDS_APART = 2.0
# Runs of a program whose length is set by time differ by less: by its beginning and its end. With one command line it
# is the same program for sure, of which more or less may have to be loaded first (of Python 0.2 s more).
LIKE_RUNTIME, LIKE_RUNTIME_NS = 0.01, 100_000_000
LIKE_RUNTIME_OF_COMMAND, LIKE_RUNTIME_OF_COMMAND_NS = 0.03, 250_000_000
# A program that begins others anew (xargs, make) has not the same number of them in each run: of so many one more or
# fewer is as many. Numbers of ranks differ by more.
MANY_PROCESSES = 20
# So many standalone runs of the job's size, and as many of other sizes: those on its storages, and nearest in time.
MOST_RUNS = 5
# Bytes: who fetches more than calls read, a second of its life, does so throughout. What loads a program is less of a
# job that is worth a word: 30 MiB of a minute's.
BEYOND_A_SECOND = 512 << 10
# Processes' calls on a storage that are looked at at once, each in hundreds of slices, so that memory does not grow.
CALLS_AT_ONCE = 512
# `active` of jobs that never were.
NEVER = pl.DataFrame(schema={"job": pl.Int64, "storage": pl.UInt64, "begin_ns": pl.Int64, "end_ns": pl.Int64})


T_Row = TypeVar("T_Row", bound=Mapping[str, Any])
T_Frame = TypeVar("T_Frame", pl.DataFrame, pl.LazyFrame)


def as_many(processes: int, others: int) -> bool:
    """Whether two runs have as many processes, so that they are of one size."""
    return processes == others or (abs(processes - others) == 1 and max(processes, others) >= MANY_PROCESSES)


def is_same_work(own: Mapping[str, Any], run: Mapping[str, Any]) -> bool:
    """Whether two jobs (processes and, for each direction, bytes and ops) do the same kind of work, which one program
    (an interpreter, a shell) need not: as large calls in the same directions, and, with as many processes, as many
    bytes, or as many as they could in the same time.
    """
    whole = [max(sum(job[f"{way}_bytes"] for way in DIRECTIONS), 1) for job in (own, run)]
    for way in DIRECTIONS:
        counts = [job[f"{way}_bytes"] for job in (own, run)]
        shares = [count / total for count, total in zip(counts, whole, strict=True)]
        if max(shares) < LEAST_OF_JOB:
            continue
        sizes = [count / max(job[f"{way}_ops"], 1) for count, job in zip(counts, (own, run), strict=True)]
        if (
            _differ(sizes)
            or _differ(shares)
            or (as_many(own["processes"], run["processes"]) and _differ(counts) and not ran_as_long(own, run))
        ):
            return False
    return True


def ran_as_long(own: Mapping[str, Any], run: Mapping[str, Any]) -> bool:
    """Whether two jobs (start_ns, end_ns; without them it is not known) took the same time, as if it was set."""
    if not all("end_ns" in job for job in (own, run)):
        return False
    longer, shorter = sorted((job["end_ns"] - job["start_ns"] for job in (own, run)), reverse=True)
    is_same_command = bool(own.get("command")) and own["command"] == run.get("command")
    part, least = (
        (LIKE_RUNTIME_OF_COMMAND, LIKE_RUNTIME_OF_COMMAND_NS) if is_same_command else (LIKE_RUNTIME, LIKE_RUNTIME_NS)
    )
    return bool(longer - shorter <= max(part * longer, least) and shorter > 0)


def runs_like(
    own: Mapping[str, Any], runs: Iterable[T_Row], is_quiet: Callable[[T_Row], bool] = lambda _: True
) -> list[T_Row]:
    """Runs of a job's program that did the same kind of work and are quiet, of its size and of others: MOST_RUNS each.
    Those on most of the job's storages come first, since a run elsewhere says nothing of these; then those with its
    command line; then those nearest in time. Rows are as of `is_same_work`, with start_ns and command, and runs with
    shared: on how many of the job's storages.
    """
    found: tuple[list[T_Row], list[T_Row]] = ([], [])
    for run in sorted(runs, key=lambda run: _nearness(own, run)):
        some = found[not as_many(run["processes"], own["processes"])]
        if len(some) < MOST_RUNS and is_same_work(own, run) and is_quiet(run):
            some.append(run)
    return [*found[0], *found[1]]


def _nearness(own: Mapping[str, Any], run: Mapping[str, Any]) -> tuple[int, bool, int]:
    is_other_command = not run["command"] or run["command"] != own["command"]
    return -run["shared"], is_other_command, abs(run["start_ns"] - own["start_ns"])


def active(calls: pl.DataFrame, processes: pl.DataFrame) -> pl.DataFrame:
    """When each job's processes that matter made calls on each storage: job, storage, begin_ns, end_ns. A row is a
    slice, as far as the processes that made calls in it lived. calls: process, storage, slice (a list of them).
    processes: job, process, slice_ns, matters, start_ns, end_ns.
    """
    lived = processes.filter("matters").select("job", "process", "slice_ns", "start_ns", ended_ns="end_ns")
    begin_ns = pl.col("slice").cast(pl.Int64) * pl.col("slice_ns")
    rows = calls.select("process", "storage", "slice").join(lived, on="process")
    parts = [  # so that memory does not grow with the job
        _at_once(
            while_alive(some.explode("slice").with_columns(begin_ns=begin_ns, end_ns=begin_ns + pl.col("slice_ns")))
        )
        for some in (rows.iter_slices(CALLS_AT_ONCE) if rows.height else [rows])
    ]
    return _at_once(pl.concat(parts)).drop("slice")


def _at_once(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by("job", "storage", "slice").agg(pl.col("begin_ns").min(), pl.col("end_ns").max())


def beyond_calls(processes: pl.DataFrame, counts: pl.DataFrame, fetched: pl.Expr, called: pl.Expr) -> pl.DataFrame:
    """Those of the processes (process, start_ns, end_ns) that use storages without calls: they map files, or read by no
    call that can be seen. counts: process, and what the expressions take: bytes that the kernel fetched for it from
    storage, and that its calls read.
    """
    more = fetched.sum().cast(pl.Int64) - called.sum().cast(pl.Int64)
    sums = counts.group_by("process").agg(more=more)
    lived = (pl.col("end_ns") - pl.col("start_ns")) / SECOND_NS
    is_beyond = pl.col("more") >= BEYOND_A_SECOND * lived.clip(lower_bound=1.0)
    return processes.join(sums, on="process").filter(is_beyond).drop("more")


def with_slices_beyond_calls(calls: pl.DataFrame, processes: pl.DataFrame) -> pl.DataFrame:
    """calls (see `active`), with all slices from the first call on a storage to the end of processes of
    `beyond_calls`.
    """
    places = ("process", "storage")
    spans = (
        calls.group_by(places)
        .agg(first=pl.col("slice").list.min().min().cast(pl.Int64))
        .join(processes.select("process", last=pl.col("end_ns") // pl.col("slice_ns")), on="process")
        .filter((pl.col("last") - pl.col("first")).is_between(0, MOST_SLICES_ON_AXIS))
    )
    more = spans.select(*places, slice=pl.int_ranges("first", pl.col("last") + 1))
    return pl.concat([calls.select(*places, "slice"), more.cast({"slice": calls.schema["slice"]})])


def while_alive(rows: T_Frame) -> T_Frame:
    """Rows of slices (begin_ns, end_ns) as far as who made calls in them lived (start_ns, ended_ns)."""
    return rows.with_columns(
        begin_ns=pl.max_horizontal("begin_ns", "start_ns"), end_ns=pl.min_horizontal("end_ns", "ended_ns")
    ).filter(pl.col("begin_ns") < pl.col("end_ns"))


def in_company(rows: pl.DataFrame) -> pl.Series:
    """Of all jobs at once: those that were active on a storage while another one was. rows: `active` of each."""
    before = pl.col("end_ns").cum_max().shift(1).over("storage") > pl.col("begin_ns")
    after = pl.col("begin_ns").shift(-1).over("storage") < pl.col("end_ns")
    return rows.sort("storage", "begin_ns").filter(before | after)["job"].unique().sort()


def without_overlaps(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of `active`, with those of a job on a storage that overlap made one: no job is its own company."""
    of = ["job", "storage"]
    latest_ns = pl.col("end_ns").cum_max().shift(1).over(of)
    span = (pl.col("begin_ns") >= latest_ns).fill_null(True).cum_sum().over(of)
    spans = rows.sort(*of, "begin_ns").group_by(*of, span=span)
    return spans.agg(pl.col("begin_ns").min(), pl.col("end_ns").max()).drop("span").sort(*of, "begin_ns")


def together(calls: pl.DataFrame, sampled: pl.DataFrame) -> pl.DataFrame:
    """When jobs were active by their calls, and by what was sampled of them: `active` of both."""
    if sampled.is_empty():
        return calls
    of_both = pl.col("job").is_in(sampled["job"].unique().implode())
    sampled = sampled.select(pl.col(name).cast(dtype) for name, dtype in calls.schema.items())
    rows = without_overlaps(pl.concat([calls.filter(of_both), sampled]))
    return pl.concat([calls.filter(~of_both), rows.select(calls.columns)])


def company_of(own: pl.DataFrame, others: pl.DataFrame) -> pl.Series:
    """Those of many jobs that were active on a storage while one was. own, others: `active`."""
    mine = own.select("storage", "begin_ns", own_end_ns="end_ns").sort("begin_ns")
    nearest = others.sort("end_ns").join_asof(
        mine,
        left_on="end_ns",
        right_on="begin_ns",
        by="storage",
        allow_exact_matches=False,
        check_sortedness=False,
        suffix="_own",
    )
    return nearest.filter(pl.col("own_end_ns") > pl.col("begin_ns"))["job"].unique().sort()


def later_copies(processes: pl.DataFrame) -> pl.Series:
    """The jobs with a process that an earlier one has, too (a copy counts once). processes: job, process, place."""
    return processes.filter(pl.col("place") > pl.col("place").min().over("process"))["job"].unique().sort()


def groups_in_time(spans: Sequence[tuple[float, float]]) -> list[int]:
    """The number of each span's group, of spans that overlap directly or through others, by their begins."""
    numbers, number, latest = [0] * len(spans), -1, -math.inf
    for place in sorted(range(len(spans)), key=spans.__getitem__):
        number += spans[place][0] >= latest
        numbers[place] = number
        latest = max(latest, spans[place][1])
    return numbers


def _differ(values: Sequence[float]) -> bool:
    return max(values) > SPEEDS_APART * min(values)
