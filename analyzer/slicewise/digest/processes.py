"""Who a job's processes are, and which of them matter: decided here and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

import polars as pl

from slicewise.constants import LEAST_DIRECTION
from slicewise.digest import slices
from slicewise.kinds import KINDS
from slicewise.profile.sampled_only import ENDING as SAMPLED_ENDING

DIRECTIONS = ("read", "write")

# A process matters from this fraction of the bytes of the job's process that moved most in that direction, ...
LEAST_SHARE_OF_BYTES = 0.01
# ... or from this fraction of the time in calls of the process that spent most, if that is worth a word at all: this
# fraction of the job's runtime.
LEAST_SHARE_OF_TIME = 0.05
LEAST_SHARE_OF_RUNTIME = 0.01
# Worlds of one size began one after the other if so much time lies between: less may be worlds that began at once.
LEAST_GAP_NS, LEAST_GAP = 10_000_000, 4
WHAT_IT_WAS_ASKED = ("command", "directory")
WITHOUT_PATH = r"[^/]*$"
# Columns of `usage` that are of a process's first thread; older versions counted fewer.
OF_FIRST_THREAD = ("delayed_ns", "first_thread_ns")
# What imports call the node of a process of which their log does not say on which node it ran, with what else tells
# the nodes of one log apart from those of another behind it.
UNKNOWN_NODE = "unknown"


def has_rank() -> pl.Expr:
    """Whether a row of processes is an MPI rank's."""
    return pl.col("rank") >= 0


def are_ranks() -> pl.Expr:
    """Whether rows of one job's processes are ranks that wait for each other: more than one of them has a rank."""
    return has_rank().sum() > 1


def is_of_job() -> pl.Expr:
    """Whether a row of processes is the job's: it has a rank, or no process of the job has one. mpirun and its helpers
    have no rank, and their files are not the job's.
    """
    return has_rank() | ~has_rank().any().over("job")


def with_world(processes: pl.DataFrame) -> pl.DataFrame:
    """Rows of one job's processes with `world`: which MPI_COMM_WORLD it is of, numbered in the order of their begins. A
    world has one process of each rank, and all its processes know its size. Several worlds of one size are told apart
    by when their processes began. This needs two things: each world has all its ranks, and there is a gap between the
    last begin of one world and the first begin of the next. The gap must be at least LEAST_GAP_NS, and LEAST_GAP times
    as long as the begins of any one world are apart. Otherwise, and for processes without a rank, `world` is null.
    """
    order = pl.col("start_ns").rank("ordinal").over("ranks", "rank")
    ranked = processes.with_row_index("row").filter(has_rank()).with_columns(turn=order)
    of_turn = ranked.group_by("ranks", "turn").agg(
        first=pl.col("start_ns").min(), last=pl.col("start_ns").max(), is_whole=pl.len() == pl.col("ranks").first()
    )
    gap = pl.col("first") - pl.col("last").shift(1)
    longest = (pl.col("last") - pl.col("first")).max()
    is_after = (gap >= pl.max_horizontal(LEAST_GAP_NS, LEAST_GAP * longest)).fill_null(True)
    sure = of_turn.sort("ranks", "turn").with_columns(
        is_sure=((pl.len() == 1) | (pl.col("ranks") <= 1) | (pl.col("is_whole") & is_after).all()).over("ranks")
    )
    numbered = sure.sort("first", "ranks").with_columns(
        world=pl.when("is_sure").then(pl.int_range(pl.len(), dtype=pl.Int64))
    )
    worlds = ranked.join(numbered.select("ranks", "turn", "world"), on=["ranks", "turn"]).select("row", "world")
    return processes.with_row_index("row").join(worlds, on="row", how="left", maintain_order="left").drop("row")


def is_profiled() -> pl.Expr:
    """Whether a row of processes was profiled: in a job without any that was, rows stand for those that a node's
    collector sampled."""
    return pl.col("ending") != SAMPLED_ENDING


def unknown_node(log: str = "") -> str:
    """The name that stands for a node that an imported log does not name. log: what tells it from other logs' nodes."""
    return f"{UNKNOWN_NODE}-{log}" if log else UNKNOWN_NODE


def known_nodes(processes: pl.DataFrame) -> list[str]:
    """The nodes of rows of processes, sorted. None where any of these ran on a node that is not known."""
    nodes = processes["node"].unique().sort().to_list()
    is_known = all(node != UNKNOWN_NODE and not node.startswith(f"{UNKNOWN_NODE}-") for node in nodes)
    return nodes if is_known else []


def program(processes: pl.DataFrame) -> pl.Expr:
    """The name of a row's program, without its path; of an interpreter with what it runs, for two scripts are two
    programs; and of whatever its user called a run of something (SLICEWISE_LABEL) "label" with that. processes: the
    profile's, of which those of older versions do not say all of that.
    """
    name = pl.col("program").cast(pl.String).str.extract(f"({WITHOUT_PATH})")
    script = text(processes, "script").str.extract(f"({WITHOUT_PATH})").fill_null("")
    named = pl.when(script != "").then(pl.concat_str(name, script, separator=" ")).otherwise(name)
    label = text(processes, "label")
    return pl.when(label != "").then(pl.concat_str(pl.lit("label"), label, separator=" ")).otherwise(named)


def text(processes: pl.DataFrame, name: str) -> pl.Expr:
    """A text of each of a profile's processes, which profiles of older versions and other profilers' logs lack."""
    return (pl.col(name).cast(pl.String).fill_null("") if name in processes.columns else pl.lit("")).alias(name)


def of_first(name: str) -> pl.Expr:
    """What a job's first process has in a column: what began the others, or one of ranks that are all alike."""
    return pl.col(name).sort_by("start_ns", "process").first()


def usage_in_sum(usage: pl.DataFrame, of: Sequence[str] = ("process",)) -> pl.DataFrame:
    """One row a process, of all looks at it. of: what tells processes apart."""
    counted = pl.exclude(*of, "slice", "late_ns", "peak_bytes", *OF_FIRST_THREAD)
    of_first = {name: pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum()) for name in OF_FIRST_THREAD}
    sums = usage.group_by(of, maintain_order=True).agg(
        pl.col("slice", "late_ns").first(), counted.sum(), pl.col("peak_bytes").max(), **of_first
    )
    return sums.select(usage.columns)


def end_ns(slice_ns: pl.Expr) -> pl.Expr:
    """When a row's process ended; of one that still ran, when the last slice began in which it did anything."""
    last_seen = (pl.col("slice") * slice_ns).fill_null(0)
    return pl.max_horizontal("end_ns", pl.when(pl.col("end_ns") == 0).then(last_seen).otherwise(0))


def with_times_of_launches(jobs: pl.DataFrame, launches: pl.DataFrame) -> pl.DataFrame:
    """Rows of jobs (job, is_mpi, start_ns, end_ns), of which those without ranks last as long as the commands that
    `slicewise run` began: programs that could not be profiled, or that counted nothing, may have come first or last,
    and the profile knows a killed process's last slice alone. launches: job, and the table's columns; those of older
    profiles have no times.
    """
    if launches.is_empty() or "end_ns" not in launches.columns:
        return jobs
    known = launches.cast({"start_ns": pl.Int64, "end_ns": pl.Int64}).filter(pl.col("end_ns") > 0)
    times = known.group_by("job").agg(pl.col("start_ns").min().alias("began"), pl.col("end_ns").max().alias("ended"))
    has_times = pl.col("began").is_not_null() & ~pl.col("is_mpi")
    return (
        jobs.join(times, on="job", how="left", maintain_order="left")
        .with_columns(
            pl.when(has_times).then(pl.min_horizontal("start_ns", "began")).otherwise("start_ns").alias("start_ns"),
            pl.when(has_times).then(pl.max_horizontal("end_ns", "ended")).otherwise("end_ns").alias("end_ns"),
        )
        .drop("began", "ended")
    )


def matters() -> pl.Expr:
    """Whether the I/O of a row of processes, with its sums on files, is what the job does. A process of the job matters
    if it moved at least 1 % of what the process that read (or wrote) most moved in that direction. It also matters if
    it spent at least 5 % of the time in calls of the process that spent most, and 1 % of the job's runtime; in a job
    that moved no bytes the 5 % are enough. A direction with less than 1 % of the job's bytes does not count. So a
    parent that writes a log beside its workers, or a rank that reads a line of settings, changes no region, no ratio
    and no count of processes.
    """
    of_job = pl.col("is_of_job")

    def of_all(amount: pl.Expr) -> pl.Expr:
        return amount.filter(of_job).sum().over("job")

    def most(amount: pl.Expr) -> pl.Expr:
        return amount.filter(of_job).max().over("job")

    job_bytes = reduce(add, (of_all(pl.col(f"{direction}_bytes")) for direction in DIRECTIONS))
    by_bytes = pl.lit(False)
    for direction in DIRECTIONS:
        moved = pl.col(f"{direction}_bytes")
        is_used = of_all(moved) >= LEAST_DIRECTION * job_bytes
        by_bytes = by_bytes | (is_used & (moved > 0) & (moved >= LEAST_SHARE_OF_BYTES * most(moved)))
    spent = reduce(add, (pl.col(f"{kind}_ns") for kind in KINDS))
    runtime = most(pl.col("end_ns")) - pl.col("start_ns").filter(of_job).min().over("job")
    is_long = (spent >= LEAST_SHARE_OF_RUNTIME * runtime) | (job_bytes == 0)
    by_time = (spent > 0) & (spent >= LEAST_SHARE_OF_TIME * most(spent)) & is_long
    return (of_job & (by_bytes | by_time)).fill_null(False)


def program_names(processes: pl.DataFrame) -> list[str]:
    """The names of a job's programs, those of interpreters with what they ran."""
    return processes.filter("is_of_job")["program"].unique().sort().to_list()


def main_programs(processes: pl.DataFrame) -> pl.DataFrame:
    """job, program: of each job, the program whose processes moved most bytes; of equal ones that of most processes."""
    by_program = processes.group_by("job", "program").agg(
        bytes=(pl.col("read_bytes") + pl.col("write_bytes")).sum(), processes=pl.len()
    )
    ordered = by_program.sort("bytes", "processes", "program", descending=[True, True, False])
    return ordered.unique("job", keep="first", maintain_order=True).select("job", "program")


def number_in_life(of: Sequence[str] = ("node", "pid")) -> pl.Expr:
    """How many processes with the node and process id of a row came before its own: 0, or more where an id came again.
    A row of processes is a program. One that another replaced by exec was the same process: it ends by "exec", and the
    next program with its node and process id goes on. of: what tells processes that run at one time apart.
    """
    is_next = (pl.col("ending") != "exec").shift(1, fill_value=False)
    return is_next.cast(pl.Int64).cum_sum().over(of, order_by=("start_ns", "process"))


def with_first_program(processes: pl.DataFrame, of: Sequence[str] = ("node", "pid")) -> pl.DataFrame:
    """Rows of processes (programs) with `first_program`: the `process` of the first program that the row's process ran.
    Programs of one process have it in common, and no others do: whoever counts processes counts these.
    """
    first = pl.col("process").sort_by("start_ns", "process").first().over(*of, "life")
    numbered = processes.with_columns(life=number_in_life(of))
    return numbered.with_columns(first_program=first).drop("life")


def count_processes(processes: pl.DataFrame) -> int:
    """How many processes rows of `processes` are: a program that another one replaced by exec was the same process."""
    return with_first_program(processes)["first_program"].n_unique()


def in_processes(processes: pl.DataFrame) -> pl.Expr:
    """A column `process` of rows as processes, not as programs, to be counted by `n_unique`."""
    firsts = with_first_program(processes)
    replaced = firsts.filter(pl.col("process") != pl.col("first_program"))
    return pl.col("process").replace(replaced["process"], replaced["first_program"])


# What a job's source is called that nothing else is said of: it was profiled by ourselves.
COUNTED = "profile"
# And that of a job that file servers counted, and nobody profiled.
SERVED = "servers"


def job_rows(processes: pl.DataFrame, about: pl.DataFrame, launches: pl.DataFrame) -> pl.DataFrame:
    """The columns of the digest's frame `jobs` that follow from the jobs' own processes, a row a job. processes: the
    frame `processes`, of one job or several. about: process, user, account, source, of all processes. launches: the
    profiles' table, with job.
    """
    told = about.lazy().join(processes.lazy().select("process", "job"), on="process").group_by("job")
    own = with_first_program(processes, ("job", "node", "pid")).filter("is_of_job")
    found = (
        own.lazy()
        .group_by("job", maintain_order=True)
        .agg(
            is_mpi=has_rank().any(),
            processes=pl.col("first_program").filter("matters").n_unique(),
            nodes=pl.col("node").filter("matters").n_unique(),
            start_ns=pl.col("start_ns").min(),
            end_ns=pl.col("end_ns").max(),
            is_running=(pl.col("ending") == "running").any(),
            **{name: of_first(name) for name in WHAT_IT_WAS_ASKED},
            **{name: pl.col(name).max() for name in (slices.SPREAD, "clock_error_ns")},
            **dict(zip(slices.SUMS, slices.sums(), strict=True)),
        )
    )
    whose = told.agg(
        pl.col("user").max().fill_null(0),
        pl.col("account").max().fill_null(""),
        pl.col("source").max().fill_null("").replace("", COUNTED),
    )
    programs = main_programs(own).lazy()
    timed = with_times_of_launches(found.collect(), launches).lazy()
    return timed.join(programs, on="job").join(whose, on="job", maintain_order="left").collect()
