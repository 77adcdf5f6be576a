"""The flame graph of call sites: data that the page's script draws by time, bytes or calls, of any slices."""

from typing import Any

import polars as pl

from slicewise.analysis.job.sites import Sites
from slicewise.text import words

MOST_COLUMNS = 1000


def flame(found: Sites, slices: range, slice_ns: int) -> dict[str, Any]:
    """What flame.js takes: frames (name, file or module), stacks (numbers of frames, the outermost first), rows (stack,
    column, microseconds, bytes, calls) and the axis: first_ns, column_ns, columns, last_ns.

    Slices are put together to at most so many columns.
    """
    per_column = max(1, -(-len(slices) // MOST_COLUMNS))
    frames: dict[tuple[str, str], int] = {}
    stacks = [
        [frames.setdefault((place.function, place.file or place.module), len(frames)) for place in stack]
        for stack in found.stacks
    ]
    rows = (
        found.samples.with_columns(column=(pl.col("slice") - slices.start) // per_column)
        .group_by("stack", "column")
        .agg(
            (pl.col("seconds").sum() * 1e6).round().cast(pl.Int64),
            pl.col("bytes").sum().round().cast(pl.Int64),
            pl.col("calls").sum().round(1),
        )
        .sort("stack", "column")
    )
    return {
        "frames": list(frames),
        "stacks": stacks,
        "rows": [list(row) for row in rows.iter_rows()],
        "columns": -(-len(slices) // per_column),
        "first_ms": slices.start * slice_ns / 1e6,
        "column_ms": per_column * slice_ns / 1e6,
        "end_ms": slices.stop * slice_ns / 1e6,
        "offset_ms": words.utc_offset_ns(slices.start * slice_ns) / 1e6,
    }
