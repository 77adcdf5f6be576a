"""What whole nodes did over the clock: signals of the nodes' collectors as steps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure
from slicewise.charts.throughput import per_slice, steps

DECIMALS = 3
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
    lines have gaps.
    """
    # On a narrow page each line of the chart is a line of its legend, which takes its room from the plot.
    chart = style.figure(height=200 + LEGEND_LINE_HEIGHT * max(0, len(lines) - 2))
    begin, end = slices.start * slice_ns // sample_ns, -(-slices.stop * slice_ns // sample_ns)
    axis = range(begin, end)
    times = style.clock_times(range(begin, end + 1), sample_ns)
    is_sampled = np.isin(np.arange(begin, end), np.asarray(sampled))
    for line in lines:
        values = np.where(is_sampled, per_slice(line.rows, "value", axis).round(DECIMALS), np.nan)
        chart.add_scatter(
            x=times,
            y=steps(values),
            name=line.name,
            mode="lines",
            line={
                "shape": "hv",
                "width": 1.2 if line.is_second else 1.6,
                "dash": "dot" if line.is_second else "solid",
                "color": line.colour,
            },
            hovertemplate=f"%{{y:.4~g}} {unit}",
        )
    chart.update_layout(hovermode="x unified", showlegend=True)
    chart.update_yaxes(title_text=unit)
    style.use_clock_axis(chart, slices, slice_ns)
    return chart
