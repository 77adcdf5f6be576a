"""Over the clock: jobs stacked against the capacity, shares and fair shares, one job's directions, nodes' signals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure
from slicewise.estimate import Estimate
from slicewise.text import words

# Room above the highest point, for the region's name.
HEADROOM = 1.15


def per_slice(frame: pl.DataFrame, column: str, slices: range) -> np.ndarray:
    """`column` of a frame with `slice` added up per slice of the axis, zeros where there is no row, as float64."""
    values = np.zeros(len(slices))
    summed = frame.group_by("slice").agg(pl.col(column).sum()).filter(pl.col("slice").is_between(slices[0], slices[-1]))
    values[summed["slice"].to_numpy() - slices.start] = summed[column].to_numpy()
    return values


def _by_slice(frame: pl.DataFrame) -> pl.DataFrame:
    """All rows of a job and slice as one: what is asked job by job is short then."""
    return frame.group_by("job", "slice").agg(pl.col("bytes").sum())


def steps(values: np.ndarray) -> np.ndarray:
    """Values of slices as points of a step line: a value holds until its slice ends, also where none (NaN) follows."""
    points = np.append(values, np.nan)
    ends = np.isnan(points[1:]) & ~np.isnan(points[:-1])
    points[1:][ends] = points[:-1][ends]
    return points


def add_steps(
    chart: Figure,
    times: np.ndarray,
    values: np.ndarray,
    name: str,
    colour: str,
    width: float,
    dash: str = "",
    **more: Any,
) -> None:
    """A line of values of slices; times: where each begins, and the last one ends."""
    line = {"shape": "hv", "width": width, "color": colour, **({"dash": dash} if dash else {})}
    chart.add_scatter(x=times, y=steps(values), name=name, mode="lines", line=line, **more)


def edges_of(slices: range, slice_ns: int) -> np.ndarray:
    return style.clock_times(range(slices.start, slices.stop + 1), slice_ns)


def stacked(
    frame: pl.DataFrame,
    colours: Mapping[str, str],
    slices: range,
    slice_ns: int,
    fair: pl.DataFrame | None = None,
    fair_by: str = "processes",
    capacity: Estimate | None = None,
    region: tuple[int, int] | None = None,
    region_text: str = "",
) -> Figure:
    """Throughput of all jobs, stacked in the order of `colours` (job: colour).

    frame: job, slice, bytes (any number of rows a job and slice). fair: the same columns: what each job's fair share
    by `fair_by` would have been; drawn are the lines between jobs. capacity: bytes/s. region: first and end slice.
    """
    frame, times = _by_slice(frame), edges_of(slices, slice_ns)
    to_mib_s = 1e9 / slice_ns / words.MIB
    below = np.zeros(len(slices))
    last = list(colours)[-1]
    stacked_rate = per_slice(frame, "bytes", slices) * to_mib_s
    highest = max(stacked_rate.max(initial=0.0), capacity.high / words.MIB if capacity is not None else 0.0)
    limits = {"range": [0, HEADROOM * (highest or 1.0)], "rangemode": "normal"}
    chart = style.over_clock(340, slices, slice_ns, "throughput (MiB/s)", **limits)
    for place, (job, colour) in enumerate(colours.items()):
        rate = per_slice(frame.filter(pl.col("job") == job), "bytes", slices) * to_mib_s
        add_steps(
            chart, times, rate, style.safe(style.shortened(job)), colour, 1.6, stackgroup="jobs",
            fillcolor=style.transparent(colour, 0.38), hovertemplate="%{y:.4~g} MiB/s",
        )  # fmt: skip
        if fair is not None and job != last:
            below = below + per_slice(fair.filter(pl.col("job") == job), "bytes", slices) * to_mib_s
            add_steps(
                chart, times, np.where(below > 0, below, np.nan), f"fair share by {fair_by}", colour, 1.2, "dot",
                legendrank=1001, legendgroup="fair", hoverinfo="skip", showlegend=place == 0,
            )  # fmt: skip
    if capacity is not None:
        low, value, high = (rate / words.MIB for rate in (capacity.low, capacity.value, capacity.high))
        chart.add_hrect(low, high, fillcolor=style.REGION_FILL, line_width=0, layer="below")
        name = f"capacity {words.rate(capacity.value)}"
        style.add_line(
            chart, times[[0, -1]], [value] * 2, name, style.INK, 1.2, "dash", hoverinfo="skip", legendrank=1002
        )
    style.shade_region(chart, region, slice_ns, region_text)
    return chart


def shares(
    frame: pl.DataFrame, colours: Mapping[str, str], slices: range, slice_ns: int, region: tuple[int, int] | None = None
) -> Figure:
    """Each job's share of the bytes of a slice against its fair share there. frame: job, slice, share, fair_by_process,
    fair_by_node (fractions; rows only where several jobs were active)."""
    limits = {"range": [0, 100], "rangemode": "normal", "fixedrange": True}
    chart = style.over_clock(260, slices, slice_ns, "share of the bytes (%)", **limits)
    times = edges_of(slices, slice_ns)
    for place, (job, colour) in enumerate(colours.items()):
        rows = frame.filter(pl.col("job") == job)
        name = style.safe(style.shortened(job))
        for column, said, width, dash in (
            ("share", name, 2, ""),
            ("fair_by_node", "fair by node", 1.2, "dash"),
            ("fair_by_process", "fair by process", 1.2, "dot"),
        ):
            values = per_slice(rows, column, slices)
            present = per_slice(rows.with_columns(there=pl.lit(1)), "there", slices) > 0
            add_steps(
                chart, times, np.where(present, 100 * values, np.nan), said, colour, width, dash,
                legendgroup=said, showlegend=column == "share" or place == 0,
                hovertemplate=f"{name}, {said}: %{{y:.3~g}} %<extra></extra>" if column != "share" else "%{y:.3~g} %",
            )  # fmt: skip
    style.shade_region(chart, region, slice_ns)
    return chart


def progress(
    frame: pl.DataFrame, colours: Mapping[str, str], slices: range, slice_ns: int, region: tuple[int, int] | None = None
) -> Figure:
    """How much of each job's bytes had been moved by then; flat where its transfer stood still.

    frame: job, slice, bytes (any number of rows a job and slice).
    """
    limits = {"range": [0, 100], "rangemode": "normal", "fixedrange": True}
    chart, frame = style.over_clock(260, slices, slice_ns, "moved by then (%)", **limits), _by_slice(frame)
    for job, colour in colours.items():
        moved = np.append(0.0, np.cumsum(per_slice(frame.filter(pl.col("job") == job), "bytes", slices)))
        # From the slice in which it begins to the one in which it ends.
        is_under_way = np.append(moved[1:] > 0, True) & (np.append(0.0, moved[:-1]) < moved[-1])
        part = np.where(is_under_way, 100 * moved / (moved[-1] or 1.0), np.nan)
        name = style.safe(style.shortened(job))
        style.add_line(chart, edges_of(slices, slice_ns), part, name, colour, 2, hovertemplate="%{y:.3~g} %")
    style.shade_region(chart, region, slice_ns)
    return chart


def directions(
    frame: pl.DataFrame,
    slices: range,
    slice_ns: int,
    lines: Mapping[str, tuple[str, str]],
    unit: str,
    scale: float,
    waits: pl.DataFrame | None = None,
) -> Figure:
    """One job's columns over the clock as filled steps, one line a column.

    frame: slice and the columns that `lines` names (column: (name, colour)); columns without any are left out. What is
    drawn, in `unit`, is value / scale / seconds of a slice. waits: slice, seconds that the job waited for its turn,
    drawn on an axis of its own.
    """
    chart = style.over_clock(240, slices, slice_ns, unit, showlegend=True)
    times = edges_of(slices, slice_ns)
    for column, (name, colour) in lines.items():
        if not frame[column].sum():
            continue
        values = per_slice(frame, column, slices) / scale * 1e9 / slice_ns
        fill = {"fill": "tozeroy", "fillcolor": style.transparent(colour, 0.22)}
        add_steps(chart, times, values, name, colour, 1.5, hovertemplate=f"%{{y:.4~g}} {unit}", **fill)
    if waits is not None and not waits.is_empty():
        seconds = per_slice(waits, "seconds", slices)
        add_steps(
            chart, times, np.where(seconds > 0, seconds, np.nan), "waiting for its turn", style.TURN, 1, fill="tozeroy",
            yaxis="y2", fillcolor=style.transparent(style.TURN, 0.3), hovertemplate="%{y:.3~g} s",
        )  # fmt: skip
        limits = {"range": [0, HEADROOM * slice_ns / 1e9], "visible": False, "fixedrange": True}
        chart.update_layout(yaxis2={"overlaying": "y", "side": "right", **limits})
    return chart


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
