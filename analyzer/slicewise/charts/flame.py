"""The flame graph of call sites: data that the page's script draws by time, bytes or calls, of any slices."""

from typing import Any

import polars as pl

from slicewise.analysis.job.sites import Sites, is_of_calls
from slicewise.text import words

MOST_COLUMNS = 1000


def flame(
    found: Sites, slices: range, slice_ns: int, against: tuple[str, Sites] | None = None
) -> dict[str, Any]:  # fmt: skip
    """What flame.js takes: frames (name, file or module), stacks (numbers of frames, the outermost first), rows (stack,
    column, microseconds, bytes, calls) and the axis: first_ns, column_ns, columns, last_ns.

    Slices are put together to at most so many columns. against: another run by its name, whose stacks and rows (all in
    column 0) are in `against`, too: calls are coloured by the difference.
    """
    per_column = max(1, -(-len(slices) // MOST_COLUMNS))
    frames: dict[tuple[str, str], int] = {}
    drawn = _drawn(found, (pl.col("slice") - slices.start) // per_column, frames)
    other = {"against": {"name": against[0], **_drawn(against[1], pl.lit(0), frames)}} if against else {}
    return {
        "frames": list(frames),
        **drawn,
        **other,
        "columns": -(-len(slices) // per_column),
        "first_ms": slices.start * slice_ns / 1e6,
        "column_ms": per_column * slice_ns / 1e6,
        "end_ms": slices.stop * slice_ns / 1e6,
        "offset_ms": words.utc_offset_ns(slices.start * slice_ns) / 1e6,
    }


def estimated_from(found: Sites) -> str:
    samples = words.count(int(found.samples["samples"].sum()), "sample")
    every = words.duration(found.sample_seconds)
    beside = "" if is_of_calls(found) else ", and of waiting or computing where that was sampled"
    return (
        f"{samples}, one for every {every} of a thread's time in I/O calls{beside}; times, bytes and calls are "
        "estimated from them."
    )


def _drawn(found: Sites, column: pl.Expr, frames: dict[tuple[str, str], int]) -> dict[str, Any]:
    """stacks and rows; new frames get a number."""
    stacks = [
        [frames.setdefault((place.function, place.file or place.module), len(frames)) for place in stack]
        for stack in found.stacks
    ]
    rows = (
        found.samples.with_columns(column=column)
        .group_by("stack", "column")
        .agg(
            (pl.col("seconds").sum() * 1e6).round().cast(pl.Int64),
            pl.col("bytes").sum().round().cast(pl.Int64),
            pl.col("calls").sum().round(1),
        )
        .sort("stack", "column")
    )
    return {"stacks": stacks, "rows": [list(row) for row in rows.iter_rows()]}
