"""Where a job's time went: its runtime as one bar, its throughput beside what it would have been, who cost it what."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure
from slicewise.charts.throughput import HEADROOM, add_steps, edges_of, per_slice

COMPUTING, UNEXPLAINED, EACH_OTHER, OUTSIDE = "#b9bfc7", "#8a6d3b", "#7fb2dc", "#b56576"
IDLE, MOVING = "#e4e7eb", "#5f9e6e"


@dataclass(frozen=True)
class RuntimePart:
    """A part of the runtime: who it went to, seconds, colour."""

    name: str
    seconds: float
    colour: str


def runtime_bar(parts: Sequence[RuntimePart]) -> Figure:
    """Parts that add up to a runtime, side by side. One without length keeps its place: a chosen time may have it."""
    # Room for a legend of two names a line, as on a narrow page.
    legend_pixels = 24 + 21 * -(-len(parts) // 2)
    chart = style.figure(height=82 + legend_pixels, barmode="stack", bargap=0.2)
    for part in parts:
        style.add_bars(
            chart, [part.seconds], [""], part.colour, name=style.safe(style.shortened(part.name, 40)), orientation="h",
            marker={"line": {"width": 0}}, hovertemplate="%{x:.4~g} s", showlegend=True,
        )  # fmt: skip
    chart.update_layout(margin={"l": 12, "r": 18, "t": legend_pixels, "b": 40}, hovermode="closest")
    chart.update_xaxes(title_text="seconds", rangemode="tozero", title_standoff=4)
    chart.update_yaxes(visible=False, fixedrange=True)
    return chart


def throughput_beside_alone(frame: pl.DataFrame, colour: str, slices: range, slice_ns: int, unit: str) -> Figure:
    """What the job moved in each slice, and what it would have in the same time in calls alone. frame: slice, moved,
    would_have (in `unit` a second)."""
    moved, would_have = (per_slice(frame, column, slices) for column in ("moved", "would_have"))
    highest = max(moved.max(initial=0.0), would_have.max(initial=0.0))
    limits = {"range": [0, HEADROOM * (highest or 1.0)], "rangemode": "normal"}
    chart = style.over_clock(280, slices, slice_ns, unit, showlegend=True, **limits)
    times, hover = edges_of(slices, slice_ns), f"%{{y:.4~g}} {unit}"
    fill = {"fill": "tozeroy", "fillcolor": style.transparent(colour, 0.3)}
    add_steps(chart, times, moved, "as it was", colour, 1.6, hovertemplate=hover, **fill)
    if would_have.any():
        known = np.where(would_have > 0, would_have, np.nan)
        add_steps(chart, times, known, "at the speed that it has alone", style.INK, 1.6, "dash", hovertemplate=hover)
    return chart


@dataclass(frozen=True)
class LoadShare:
    """A neighbour by slice: rows with slice and value, in the chart's unit."""

    name: str
    colour: str
    rows: pl.DataFrame


def stacked_loads(loads: Sequence[LoadShare], slices: range, slice_ns: int, title: str, unit: str) -> Figure:
    chart = style.over_clock(240, slices, slice_ns, title, showlegend=True)
    times = edges_of(slices, slice_ns)
    for load in loads:
        values = per_slice(load.rows, "value", slices)
        add_steps(
            chart, times, values, style.safe(style.shortened(load.name)), load.colour, 1.4, stackgroup="neighbours",
            fillcolor=style.transparent(load.colour, 0.38), hovertemplate=f"%{{y:.3~g}} {unit}",
        )  # fmt: skip
    return chart


def lost_by_slice(loads: Sequence[LoadShare], slices: range, slice_ns: int) -> Figure:
    """Seconds that each slice lost, by who it is blamed on, as bars: what was made up lies below the axis."""
    chart = style.over_clock(240, slices, slice_ns, "seconds lost a slice", rangemode="normal")
    chart.update_layout(barmode="relative", bargap=0, showlegend=True)
    # A bar stands in the middle of its slice.
    times = style.clock_times(range(slices.start, slices.stop), slice_ns) + np.timedelta64(slice_ns // 2_000_000, "ms")
    for load in loads:
        style.add_bars(
            chart, times, per_slice(load.rows, "value", slices), load.colour, width=slice_ns / 1e6,
            name=style.safe(style.shortened(load.name)), marker={"line": {"width": 0}}, hovertemplate="%{y:.3~g} s",
        )  # fmt: skip
    return chart
