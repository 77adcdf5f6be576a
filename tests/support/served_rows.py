"""What servers counted of jobs, as their logs are read."""

import polars as pl
from slicewise.imports.served_counts import SERVED_SCHEMA

MIB, SECOND = 1 << 20, 10**9
BEGIN = 1_795_000_000


def rows(*jobs: tuple[str, str, int, int, int]) -> pl.DataFrame:
    """Of each (job, target, first second, last second, MiB a second): a reading every second."""
    made = [
        (target, job, (BEGIN + at) * SECOND, (BEGIN + at + 1) * SECOND, 0, rate * MIB, 0, 0, 1, 0, False)
        for job, target, first, last, rate in jobs
        for at in range(first, last)
    ]
    return pl.DataFrame(made, schema=SERVED_SCHEMA, orient="row")
