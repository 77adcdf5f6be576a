"""What whole nodes did over the clock: signals of the nodes' collectors as steps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure
from slicewise.charts.throughput import add_steps, edges_of, per_slice

CHART_DECIMALS = 3
LEGEND_LINE_HEIGHT = 18


@dataclass(frozen=True)
class NodeLine:
    """rows: slice (of the samples), value, in the chart's unit; where a slice was sampled and has no row it is 0."""

    name: str
    colour: str
    rows: pl.DataFrame
    is_second: bool = False  # of the two of one colour the one that is drawn thinner, and dotted


def over_time(
    lines: Sequence[NodeLine], sampled: Sequence[int], sample_ns: int, slices: range, slice_ns: int, unit: str
) -> Figure:
    """Lines over the axis of the job's `slices`. sampled: the slices, of `sample_ns`, that have samples; elsewhere the
    lines have gaps."""
    # On a narrow page each line of the chart is a line of its legend, which takes its room from the plot.
    height = 200 + LEGEND_LINE_HEIGHT * max(0, len(lines) - 2)
    chart = style.over_clock(height, slices, slice_ns, unit, showlegend=True)
    begin, end = slices.start * slice_ns // sample_ns, -(-slices.stop * slice_ns // sample_ns)
    axis = range(begin, end)
    times = edges_of(axis, sample_ns)
    is_sampled = np.isin(np.arange(begin, end), np.asarray(sampled))
    for line in lines:
        values = np.where(is_sampled, per_slice(line.rows, "value", axis).round(CHART_DECIMALS), np.nan)
        width, dash = (1.2, "dot") if line.is_second else (1.6, "solid")
        hover = f"%{{y:.4~g}} {unit}"
        add_steps(chart, times, values, line.name, line.colour, width, dash, hovertemplate=hover)
    return chart
