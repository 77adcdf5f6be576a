"""Boxes of what may be expected, jobs as points in them, and how long phases took over the runs."""

from collections.abc import Callable, Iterable, Sequence

import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure

BOX_COLOUR, ANOMALY_COLOUR = style.JOB_COLOURS[0], style.JOB_COLOURS[1]
OTHER_AXIS = {"bandwidth": "metadata", "metadata": "bandwidth"}
TAIL_COLOURS = {"median": style.JOB_COLOURS[2], "95 %": style.JOB_COLOURS[4], "99 %": style.JOB_COLOURS[1]}
# From this ratio of the largest to the smallest value on, an axis is logarithmic.
LOG_RATIO = 30.0


def boxes(
    runs: pl.DataFrame, strips: Sequence[tuple[float, float, Sequence[tuple[float, float]]]], points: pl.DataFrame
) -> Figure:
    """Every run's box as an outline, the union filled, anomalies dashed, jobs as points.

    runs: name, hard_bandwidth, hard_metadata, easy_bandwidth, easy_metadata, is_anomaly. strips: the union, from left
    to right (`analysis.expect`). points: name, bandwidth, metadata, axis (the only one that judges it, or empty), said;
    what judges it is above 0.
    """
    chart = style.figure(height=460)
    xs, ys = _outlines([(left, right, *stretch) for left, right, stretches in strips for stretch in stretches])
    if xs:
        chart.add_scatter(
            x=xs, y=ys, mode="lines", line={"width": 0}, fill="toself", name="union: what to expect",
            fillcolor=style.transparent(BOX_COLOUR, 0.22), hoverinfo="skip",
        )  # fmt: skip
    for is_anomaly, name, colour, dash in (
        (False, "a run's box", BOX_COLOUR, "solid"),
        (True, "anomaly: hard better than easy", ANOMALY_COLOUR, "dash"),
    ):
        rows = runs.filter(pl.col("is_anomaly") == is_anomaly)
        if rows.is_empty():
            continue
        corners = rows.select("hard_bandwidth", "easy_bandwidth", "hard_metadata", "easy_metadata")
        outlines = _outlines(corners.iter_rows())
        style.add_line(chart, *outlines, name, colour, 1.3, dash, legendgroup=name, hoverinfo="skip")
        for level, symbol in (("hard", "circle-open"), ("easy", "circle")):
            style.add_marks(
                chart, rows[f"{level}_bandwidth"], rows[f"{level}_metadata"], 6, colour, symbol,
                legendgroup=name, showlegend=False, text=[style.safe(run) for run in rows["name"]],
                hovertemplate=f"%{{text}} {level}: %{{x:.3~g}} GiB/s, %{{y:.3~g}} kIOPS<extra></extra>",
            )  # fmt: skip
    _draw_points(chart, runs, points)
    judged = {axis: points.filter(pl.col("axis") != other)[axis].to_list() for axis, other in OTHER_AXIS.items()}
    _use_axis(chart.update_xaxes, [*_values(runs, "bandwidth"), *judged["bandwidth"]], "bandwidth (GiB/s)")
    _use_axis(chart.update_yaxes, [*_values(runs, "metadata"), *judged["metadata"]], "metadata rate (kIOPS)")
    return chart


def _outlines(rectangles: Iterable[tuple[float, ...]]) -> tuple[list[float | None], list[float | None]]:
    xs: list[float | None] = []
    ys: list[float | None] = []
    for left, right, low, high in rectangles:
        xs += [left, right, right, left, left, None]
        ys += [low, low, high, high, low, None]
    return xs, ys


def _draw_points(chart: Figure, runs: pl.DataFrame, points: pl.DataFrame) -> None:
    """Points as stars. What is judged by one axis alone is a line across the boxes: its other rate says nothing."""
    for number, point in enumerate(points.iter_rows(named=True)):
        spans = {
            axis: (min(_values(runs, axis), default=0.0), max(_values(runs, axis), default=1.0)) for axis in OTHER_AXIS
        }
        here = {axis: [point[axis]] for axis in OTHER_AXIS}
        if point["axis"] in OTHER_AXIS:
            other = OTHER_AXIS[point["axis"]]
            here = {point["axis"]: [point[point["axis"]]] * 2, other: list(spans[other])}
        is_line = len(here["bandwidth"]) > 1
        colour = style.JOB_COLOURS[(2 + number) % len(style.JOB_COLOURS)]
        chart.add_scatter(
            x=here["bandwidth"], y=here["metadata"], name=style.safe(style.shortened(point["name"])),
            mode="lines" if is_line else "markers", text=style.safe(point["said"]),
            line={"width": 2.5, "color": colour, "dash": "dot"},
            marker={"size": 13, "color": colour, "symbol": "star", "line": {"width": 1, "color": style.INK}},
            hovertemplate="%{text}<br>%{x:.3~g} GiB/s, %{y:.3~g} kIOPS<extra></extra>", cliponaxis=False,
        )  # fmt: skip


def _values(runs: pl.DataFrame, axis: str) -> list[float]:
    return [value for level in ("hard", "easy") for value in runs[f"{level}_{axis}"].to_list()]


def _use_axis(update: Callable[..., None], values: Sequence[float], title: str) -> None:
    known = [value for value in values if value > 0]
    is_log = bool(known) and max(known) > LOG_RATIO * min(known)
    update(title_text=f"{title}, logarithmic" if is_log else title, type="log" if is_log else "linear")


def growth(areas: Sequence[float], settled_after: int | None) -> Figure:
    chart = style.figure(height=260)
    chart.add_scatter(
        x=list(range(1, len(areas) + 1)), y=list(areas), mode="lines+markers", line={"width": 2, "color": BOX_COLOUR},
        marker={"size": 6}, hovertemplate="%{x} runs: area %{y:.3~g}<extra></extra>", showlegend=False,
    )  # fmt: skip
    if settled_after is not None:
        chart.add_vline(
            x=settled_after, line={"width": 1.2, "color": style.INK, "dash": "dash"},
            annotation={"text": "no more growth", "font": {"size": 11, "color": style.INK}},
        )  # fmt: skip
    style.title_axes(chart, "runs", "area of the union (GiB/s x kIOPS)", dtick=max(1, len(areas) // 12))
    return chart


def tails(frame: pl.DataFrame, ends: pl.DataFrame) -> Figure:
    """A strip a phase: each run's time as a tick, with the median and the tail. frame: phase, run, seconds. ends:
    phase, median, p95, p99."""
    phases = ends["phase"].to_list()
    chart = style.figure(height=90 + 30 * len(phases))
    style.add_marks(
        chart, frame["seconds"], frame["phase"], 11, BOX_COLOUR, "line-ns", name="a run",
        text=[style.safe(run) for run in frame["run"]], hovertemplate="%{text}: %{x:.3~g} s in %{y}<extra></extra>",
        marker={"opacity": 0.7, "line": {"width": 1.5, "color": BOX_COLOUR}},
    )  # fmt: skip
    for column, name in (("median", "median"), ("p95", "95 %"), ("p99", "99 %")):
        hover = f"{name} of %{{y}}: %{{x:.3~g}} s<extra></extra>"
        style.add_marks(chart, ends[column], phases, 8, TAIL_COLOURS[name], "diamond", name=name, hovertemplate=hover)
    _use_axis(chart.update_xaxes, frame["seconds"].to_list(), "seconds")
    chart.update_yaxes(categoryorder="array", categoryarray=list(reversed(phases)), rangemode="normal")
    return chart
