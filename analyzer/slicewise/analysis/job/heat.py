"""A job's processes by slices as a matrix that fits a screen: neighbours are averaged where there are too many.

Frames of the digest in, arrays out; nothing is drawn or printed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from slicewise.digest.activity import Direction, members
from slicewise.digest.digest import Digest

# A screen holds no more.
MOST_ROWS, MOST_COLUMNS = 200, 1500


@dataclass(frozen=True)
class Heat:
    """One job's part of a heat map.

    rates: (rows, columns) bytes/s of a process, averaged over a cell's processes and slices. labels: the rows' names.
    nodes: (first row, node's name) in the rows' order. processes: how many processes all rows stand for.
    first_slice, slices_per_column: column j is slices first_slice + j * slices_per_column and on.
    """

    job: str
    rates: np.ndarray
    labels: list[str]
    nodes: list[tuple[int, str]]
    processes: int
    processes_per_row: int
    first_slice: int
    slices_per_column: int


def heats(
    activity: pl.DataFrame, slices: range, slice_ns: int, most_rows: int = MOST_ROWS, most_columns: int = MOST_COLUMNS
) -> list[Heat]:
    """Every job's heat, in the jobs' order of appearance, on the common axis `slices`.

    activity: job, process, node, rank (-1 without MPI), slice, bytes. All jobs together get about `most_rows` rows,
    each job at least one, and the same number of processes a row; rows never mix nodes. Nodes come by lowest rank.
    """
    processes = activity.select("job", "process", "node", "rank").unique(maintain_order=True)
    return _heats(processes, activity, slices, slice_ns, most_rows, most_columns)


def heats_of(digest: Digest, direction: Direction, slices: range, slice_ns: int) -> list[Heat]:
    """The heat of one job, as `heats` of its activity in that direction; none where it moved nothing."""
    moved = (
        digest.process_slices.lazy()
        .select("process", "slice", pl.col(f"{direction}_bytes").alias("bytes"))
        .filter(pl.col("bytes") > 0)
        .join(members(digest).lazy(), on="process", how="semi")
        .collect()
    )
    processes = members(digest).join(moved.select(pl.col("process").unique()), on="process", how="semi")
    return _heats(processes.select("job", "process", "node", "rank"), moved, slices, slice_ns)


def _heats(
    processes: pl.DataFrame,
    moved: pl.DataFrame,
    slices: range,
    slice_ns: int,
    most_rows: int = MOST_ROWS,
    most_columns: int = MOST_COLUMNS,
) -> list[Heat]:
    per_row = max(1, -(-len(processes) // most_rows))
    per_column = max(1, -(-len(slices) // most_columns))
    columns = -(-len(slices) // per_column)
    # The last column may stand for fewer slices than the others; its rate is over those that it has.
    column_slices = np.diff(np.minimum(np.arange(columns + 1) * per_column, len(slices)))
    return [
        _heat(processes.filter(pl.col("job") == job), moved, job, slices, slice_ns, per_row, per_column, column_slices)
        for job in processes["job"].unique(maintain_order=True)
    ]


def _heat(
    processes: pl.DataFrame,
    moved: pl.DataFrame,
    job: str,
    slices: range,
    slice_ns: int,
    per_row: int,
    per_column: int,
    column_slices: np.ndarray,
) -> Heat:
    placed = (
        processes.select("process", "node", "rank")
        .sort(pl.col("rank").min().over("node"), "node", "rank", "process")
        .with_columns(of_node=pl.int_range(pl.len()).over("node") // per_row)
        .with_columns(row=pl.struct("node", "of_node").rle_id())
    )
    rows = placed.group_by("row", maintain_order=True).agg(
        pl.col("node").first(),
        pl.col("rank").min().alias("first_rank"),
        pl.col("rank").max().alias("last_rank"),
        pl.len().alias("members"),
    )
    cells = (
        moved.lazy()
        .filter(pl.col("slice").is_between(slices[0], slices[-1]))
        .join(placed.lazy().select("process", "row"), on="process")
        .select("row", "bytes", column=(pl.col("slice") - slices.start) // per_column)
        .group_by("row", "column")
        .agg(pl.col("bytes").sum())
        .collect()
    )
    summed = np.zeros((len(rows), len(column_slices)))
    summed[cells["row"].to_numpy(), cells["column"].to_numpy()] = cells["bytes"].to_numpy()
    seconds = column_slices * slice_ns / 1e9
    first_of_node = rows.with_row_index("at").group_by("node", maintain_order=True).agg(pl.col("at").first())
    return Heat(
        job=job,
        rates=summed / rows["members"].to_numpy()[:, None] / seconds,
        labels=[_label(row) for row in rows.iter_rows(named=True)],
        nodes=list(zip(first_of_node["at"].to_list(), first_of_node["node"].to_list(), strict=True)),
        processes=len(placed),
        processes_per_row=per_row,
        first_slice=slices.start,
        slices_per_column=per_column,
    )


def _label(row: Mapping[str, Any]) -> str:
    if row["first_rank"] >= 0:
        ranks = (
            f"rank {row['first_rank']}" if row["members"] == 1 else f"ranks {row['first_rank']} to {row['last_rank']}"
        )
    else:
        ranks = f"process {row['row'] + 1}" if row["members"] == 1 else f"{row['members']} processes ({row['row'] + 1})"
    return f"{ranks} on {row['node']}"
