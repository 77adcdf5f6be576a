"""Whether a job's processes write one file, or each its own."""

from __future__ import annotations

import polars as pl

from slicewise.digest.activity import Direction, members
from slicewise.digest.digest import Digest

# Of bytes in files that several processes use: more is sharing.
SHARED = 0.5


def file_sharing(digest: Digest, direction: Direction, point: str) -> str:
    """Whether most bytes below the mount point are in files that several processes moved bytes of."""
    files = digest.files.join(members(digest), on="process", how="semi").filter(
        pl.col(f"{direction}_bytes") > 0, pl.col("path").str.starts_with(point)
    )
    by_path = files.group_by("path").agg(
        processes=pl.col("process").n_unique(), bytes=pl.col(f"{direction}_bytes").sum()
    )
    shared = by_path.filter(pl.col("processes") > 1)["bytes"].sum()
    return "shared file" if shared > SHARED * float(by_path["bytes"].sum()) else "file per process"
