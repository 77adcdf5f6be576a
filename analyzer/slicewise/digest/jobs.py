"""Jobs in one row each: what follows from their processes."""

from __future__ import annotations

import polars as pl

from slicewise.digest import processes as members
from slicewise.digest import slices

# What a job's source is called that nothing else is said of: it was profiled by ourselves.
COUNTED = "profile"
# And that of a job that file servers counted, and nobody profiled.
SERVED = "servers"


def job_rows(processes: pl.DataFrame, about: pl.DataFrame, launches: pl.DataFrame) -> pl.DataFrame:
    """The columns of the digest's frame `jobs` that follow from the jobs' own processes, a row a job.

    processes: the frame `processes`, of one job or several. about: process, user, account, source, of all processes.
    launches: the profiles' table, with job.
    """
    told = about.lazy().join(processes.lazy().select("process", "job"), on="process").group_by("job")
    own = members.with_first_program(processes, ("job", "node", "pid")).filter("is_of_job")
    found = (
        own.lazy()
        .group_by("job", maintain_order=True)
        .agg(
            is_mpi=members.has_rank().any(),
            processes=pl.col("first_program").filter("matters").n_unique(),
            nodes=pl.col("node").filter("matters").n_unique(),
            start_ns=pl.col("start_ns").min(),
            end_ns=pl.col("end_ns").max(),
            is_running=(pl.col("ending") == "running").any(),
            **{name: members.of_first(name) for name in members.WHAT_IT_WAS_ASKED},
            **{name: pl.col(name).max() for name in (slices.SPREAD, "clock_error_ns")},
            **dict(zip(slices.SUMS, slices.sums(), strict=True)),
        )
    )
    whose = told.agg(
        pl.col("user").max().fill_null(0),
        pl.col("account").max().fill_null(""),
        pl.col("source").max().fill_null("").replace("", COUNTED),
    )
    programs = members.main_programs(own).lazy()
    timed = members.with_times_of_launches(found.collect(), launches).lazy()
    return timed.join(programs, on="job").join(whose, on="job", maintain_order="left").collect()
