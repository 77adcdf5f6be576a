"""What large neighbours did, without their rows: `slicewise.digest.large` has it as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from slicewise.analysis.calls import OF_JOBS, Rows, job_rows
from slicewise.digest import large
from slicewise.digest.digest import Digest
from slicewise.digest.large import LargeNeighbour


def large_neighbour(place: Path) -> LargeNeighbour | None:
    """The digest of a neighbour that is large; None of any other."""
    return large.large_neighbour(place, lambda digest: job_rows([digest], digest.slice_ns).drop("job"))


class RowsOfNeighbours(Rows):
    """What jobs did, of large neighbours as it is known. Where nodes were sampled, what they counted changes it."""

    def of(self, digests: Sequence[Digest], grid_ns: int) -> pl.DataFrame:
        """As `job_rows`."""
        known = {
            digest.job: digest.together
            for digest in digests
            if isinstance(digest, LargeNeighbour) and digest.slice_ns == grid_ns
        }
        if not known or any(not digest.node_slices.is_empty() for digest in digests):
            return job_rows(digests, grid_ns)
        read = job_rows([digest for digest in digests if digest.job not in known], grid_ns).partition_by(
            "job", as_dict=True
        )
        nothing = job_rows([], grid_ns)
        return pl.concat(
            known[one.job].select(pl.lit(one.job).alias("job"), *OF_JOBS)
            if one.job in known
            else read.get((one.job,), nothing)
            for one in digests
        )
