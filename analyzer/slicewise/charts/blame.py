"""Where a job's time went: its runtime as one bar, its throughput beside what it would have been, who cost it what."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure
from slicewise.charts.throughput import HEADROOM, per_slice, steps

COMPUTING, UNEXPLAINED, EACH_OTHER = "#b9bfc7", "#8a6d3b", "#7fb2dc"
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
        chart.add_bar(
            x=[part.seconds],
            y=[""],
            name=style.safe(style.shortened(part.name, 40)),
            orientation="h",
            marker={"color": part.colour, "line": {"width": 0}},
            hovertemplate="%{x:.4~g} s",
            showlegend=True,
        )
    chart.update_layout(margin={"l": 12, "r": 18, "t": legend_pixels, "b": 40}, hovermode="closest")
    chart.update_xaxes(title_text="seconds", rangemode="tozero", title_standoff=4)
    chart.update_yaxes(visible=False, fixedrange=True)
    return chart


def throughput_beside_alone(frame: pl.DataFrame, colour: str, slices: range, slice_ns: int, unit: str) -> Figure:
    """What the job moved in each slice, and what it would have in the same time in calls alone.

    frame: slice, moved, would_have (in `unit` a second).
    """
    chart = style.figure(height=280)
    times = style.clock_times(range(slices.start, slices.stop + 1), slice_ns)
    moved, would_have = (per_slice(frame, column, slices) for column in ("moved", "would_have"))
    chart.add_scatter(
        x=times,
        y=steps(moved),
        name="as it was",
        mode="lines",
        fill="tozeroy",
        fillcolor=style.transparent(colour, 0.3),
        line={"shape": "hv", "width": 1.6, "color": colour},
        hovertemplate=f"%{{y:.4~g}} {unit}",
    )
    if would_have.any():
        chart.add_scatter(
            x=times,
            y=steps(np.where(would_have > 0, would_have, np.nan)),
            name="at the speed that it has alone",
            mode="lines",
            line={"shape": "hv", "width": 1.6, "color": style.INK, "dash": "dash"},
            hovertemplate=f"%{{y:.4~g}} {unit}",
        )
    highest = max(moved.max(initial=0.0), would_have.max(initial=0.0))
    chart.update_layout(hovermode="x unified", showlegend=True)
    chart.update_yaxes(title_text=unit, range=[0, HEADROOM * (highest or 1.0)], rangemode="normal")
    style.use_clock_axis(chart, slices, slice_ns)
    return chart


@dataclass(frozen=True)
class LoadShare:
    """A neighbour by slice: rows with slice and value, in the chart's unit."""

    name: str
    colour: str
    rows: pl.DataFrame


def stacked_loads(loads: Sequence[LoadShare], slices: range, slice_ns: int, title: str, unit: str) -> Figure:
    """Neighbours by slice, stacked."""
    chart = style.figure(height=240)
    times = style.clock_times(range(slices.start, slices.stop + 1), slice_ns)
    for load in loads:
        chart.add_scatter(
            x=times,
            y=steps(per_slice(load.rows, "value", slices)),
            name=style.safe(style.shortened(load.name)),
            stackgroup="neighbours",
            mode="lines",
            line={"shape": "hv", "width": 1.4, "color": load.colour},
            fillcolor=style.transparent(load.colour, 0.38),
            hovertemplate=f"%{{y:.3~g}} {unit}",
        )
    chart.update_layout(hovermode="x unified", showlegend=True)
    chart.update_yaxes(title_text=title)
    style.use_clock_axis(chart, slices, slice_ns)
    return chart


def lost_by_slice(loads: Sequence[LoadShare], slices: range, slice_ns: int) -> Figure:
    """Seconds that each slice lost, by who it is blamed on, as bars: what was made up lies below the axis."""
    chart = style.figure(height=240, barmode="relative", bargap=0)
    # A bar stands in the middle of its slice.
    times = style.clock_times(range(slices.start, slices.stop), slice_ns) + np.timedelta64(slice_ns // 2_000_000, "ms")
    for load in loads:
        chart.add_bar(
            x=times,
            y=per_slice(load.rows, "value", slices),
            width=slice_ns / 1e6,
            name=style.safe(style.shortened(load.name)),
            marker={"color": load.colour, "line": {"width": 0}},
            hovertemplate="%{y:.3~g} s",
        )
    chart.update_layout(hovermode="x unified", showlegend=True)
    chart.update_yaxes(title_text="seconds lost a slice", rangemode="normal")
    style.use_clock_axis(chart, slices, slice_ns)
    return chart
