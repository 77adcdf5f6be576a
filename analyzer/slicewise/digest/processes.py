"""Who a job's processes are, and which of them matter: decided here and nowhere else."""

from __future__ import annotations

from functools import reduce
from operator import add

import polars as pl

from slicewise.kinds import KINDS
from slicewise.profile.sampled_only import ENDING as SAMPLED_ENDING

DIRECTIONS = ("read", "write")

# A process matters from this fraction of the bytes of the job's process that moved most in that direction, ...
LEAST_SHARE_OF_BYTES = 0.01
# ... or from this fraction of the time in calls of the process that spent most, if that is worth a word at all: this
# fraction of the job's runtime.
LEAST_SHARE_OF_TIME = 0.05
LEAST_SHARE_OF_RUNTIME = 0.01
# A direction in which a job moved less than this fraction of its bytes is not what the job is about.
LEAST_SHARE_OF_JOB = 0.01
WITHOUT_PATH = r"[^/]*$"


def has_rank() -> pl.Expr:
    """Whether a row of processes is an MPI rank's."""
    return pl.col("rank") >= 0


def are_ranks() -> pl.Expr:
    """Whether rows of one job's processes are ranks that wait for each other: more than one of them has a rank."""
    return has_rank().sum() > 1


def is_of_job() -> pl.Expr:
    """Whether a row of processes is the job's: it has a rank, or no process of the job has one.

    mpirun and its helpers have no rank, and their files are not the job's.
    """
    return has_rank() | ~has_rank().any().over("job")


def is_profiled() -> pl.Expr:
    """Whether a row of processes was profiled: in a job without any that was, rows stand for those that a node's
    collector sampled."""
    return pl.col("ending") != SAMPLED_ENDING


def program() -> pl.Expr:
    """The name of a row's program, without its path."""
    return pl.col("program").cast(pl.String).str.extract(f"({WITHOUT_PATH})")


def end_ns(slice_ns: pl.Expr) -> pl.Expr:
    """When a row's process ended; of one whose end nobody wrote, when the last slice began that it did anything in."""
    last_seen = (pl.col("slice") * slice_ns).fill_null(0)
    return pl.max_horizontal("end_ns", pl.when(pl.col("end_ns") == 0).then(last_seen).otherwise(0))


def matters() -> pl.Expr:
    """Whether the I/O of a row of processes, with its sums on files, is what the job does.

    A process of the job matters if it moved at least 1 % of what the process that read (or wrote) most moved in that
    direction. It also matters if it spent at least 5 % of the time in calls of the process that spent most, and 1 % of
    the job's runtime; in a job that moved no bytes the former is enough. Directions with less than 1 % of the job's
    bytes are passed over. So a parent that writes a log beside its workers, or a rank that reads a line of settings,
    changes no region, no ratio and no count of processes.
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
        is_used = of_all(moved) >= LEAST_SHARE_OF_JOB * job_bytes
        by_bytes = by_bytes | (is_used & (moved > 0) & (moved >= LEAST_SHARE_OF_BYTES * most(moved)))
    spent = reduce(add, (pl.col(f"{kind}_ns") for kind in KINDS))
    runtime = most(pl.col("end_ns")) - pl.col("start_ns").filter(of_job).min().over("job")
    is_long = (spent >= LEAST_SHARE_OF_RUNTIME * runtime) | (job_bytes == 0)
    by_time = (spent > 0) & (spent >= LEAST_SHARE_OF_TIME * most(spent)) & is_long
    return (of_job & (by_bytes | by_time)).fill_null(False)


def main_programs(processes: pl.DataFrame) -> pl.DataFrame:
    """job, program: whose processes moved most bytes; of several such the one that most processes ran."""
    by_program = processes.group_by("job", "program").agg(
        bytes=(pl.col("read_bytes") + pl.col("write_bytes")).sum(), processes=pl.len()
    )
    ordered = by_program.sort("bytes", "processes", "program", descending=[True, True, False])
    return ordered.unique("job", keep="first", maintain_order=True).select("job", "program")


def count_processes(processes: pl.DataFrame) -> int:
    """How many processes rows of `processes` are: a program that another one replaced by exec was the same process."""
    successors = processes.filter(pl.col("ending") != "exec")
    replaced = processes.filter(pl.col("ending") == "exec").join(successors, on=["node", "pid"], how="anti")
    return len(successors) + replaced.select("node", "pid").n_unique()
