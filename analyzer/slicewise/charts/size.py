"""Bandwidth and latency over transfer size, and against each other; what models predict against what was observed."""

import math

import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure
from slicewise.text import words

DASHES = ("solid", "dot", "dash", "dashdot")
BANDWIDTH_PANEL, LATENCY_PANEL = (0.56, 1.0), (0.0, 0.44)
HEADROOM, BELOW_AND_ABOVE = 1.25, 0.3  # of the largest bandwidth; decades of latency


def bandwidth_and_latency(frame: pl.DataFrame, marked: int | None) -> Figure:
    """Bandwidth above latency over transfer size, a line each; the paper's Figs. 2 and 3.

    frame: line, size (bytes), bandwidth, bandwidth_error_above, bandwidth_error_below (MiB/s), latency,
    latency_error_above, latency_error_below (ms). marked: a size to be marked; None: none.
    """
    chart = style.figure(height=520)
    names = frame["line"].unique(maintain_order=True).to_list()
    for place, name in enumerate(names):
        rows = frame.filter(pl.col("line") == name)
        colour = style.JOB_COLOURS[place % len(style.JOB_COLOURS)]
        dash = DASHES[place // len(style.JOB_COLOURS) % len(DASHES)]
        for figure, axis, unit in (("bandwidth", "y", "MiB/s"), ("latency", "y2", "ms")):
            style.add_line(
                chart, rows["size"], rows[figure], style.safe(name), colour, 2, dash, mode="lines+markers",
                error_y=style.error_bars(rows[f"{figure}_error_above"], rows[f"{figure}_error_below"]),
                customdata=[words.size(size) for size in rows["size"]], marker={"size": 6, "color": colour},
                legendgroup=str(place), showlegend=figure == "bandwidth", yaxis=axis,
                hovertemplate=f"%{{customdata}}: %{{y:.3~g}} {unit}<extra>{style.safe(name)}</extra>",
            )  # fmt: skip
    sizes = sorted(frame["size"].unique().to_list())
    style.title_axes(
        chart, "transfer size", "bandwidth (MiB/s)", type="log", title_standoff=6, tickvals=sizes,
        ticktext=[words.size(size) for size in sizes], anchor="y2",
    )  # fmt: skip
    # Intervals of few repeats can be far wider than all means are apart: they are cut, for the means must be seen.
    least, most = (math.log10(float(str(end))) for end in (frame["latency"].min(), frame["latency"].max()))
    chart.update_layout(
        yaxis={"domain": BANDWIDTH_PANEL, "range": [0, HEADROOM * float(str(frame["bandwidth"].max()))]},
        yaxis2={
            "domain": LATENCY_PANEL, "type": "log", "range": [least - BELOW_AND_ABOVE, most + BELOW_AND_ABOVE],
            "title": {"text": "a call takes (ms)", "standoff": 10, "font": {"size": 12.5}}, "automargin": True,
            "gridwidth": 1, "exponentformat": "none", "dtick": 1, "tickformat": "~g",
        },
    )  # fmt: skip
    if marked is not None:
        chart.add_vline(x=marked, line={"width": 1.2, "color": style.INK, "dash": "dash"})
    return chart


def trade_off(frame: pl.DataFrame, marked: int | None) -> Figure:
    """What a size gives against what it costs: bandwidth over latency, the sizes along a line. frame: as of
    `bandwidth_and_latency`. marked: the size whose point is drawn large."""
    chart = style.figure(height=360)
    for place, name in enumerate(frame["line"].unique(maintain_order=True).to_list()):
        rows = frame.filter(pl.col("line") == name)
        colour = style.JOB_COLOURS[place % len(style.JOB_COLOURS)]
        style.add_line(
            chart, rows["latency"], rows["bandwidth"], style.safe(name), colour, 2, showlegend=True,
            mode="lines+markers+text" if place == 0 else "lines+markers", textposition="top left",
            text=[words.size(size) for size in rows["size"]], textfont={"size": 11},
            marker={"size": [13 if size == marked and place == 0 else 7 for size in rows["size"]], "color": colour},
            hovertemplate=f"%{{text}}: %{{y:.3~g}} MiB/s, %{{x:.3~g}} ms a call<extra>{style.safe(name)}</extra>",
        )  # fmt: skip
    style.title_axes(
        chart, "a call takes (ms)", "bandwidth (MiB/s)", type="log", title_standoff=6, exponentformat="none", dtick=1,
        tickformat="~g",
    )  # fmt: skip
    return chart


def predicted_over_observed(frame: pl.DataFrame) -> Figure:
    """Predictions of configurations that were not learnt from against what was observed; the paper's Fig. 4. frame:
    model, observed, predicted (MiB/s)."""
    chart = style.figure(height=340)
    ends = [0.0, float(str(frame["observed"].max()))]
    style.add_line(chart, ends, ends, "exact", style.INK, 1.2, "dash")
    for place, name in enumerate(frame["model"].unique(maintain_order=True).to_list()):
        rows = frame.filter(pl.col("model") == name)
        colour = style.transparent(style.JOB_COLOURS[place % len(style.JOB_COLOURS)], 0.7)
        hover = f"%{{x:.3~g}} MiB/s observed, %{{y:.3~g}} predicted<extra>{name}</extra>"
        style.add_marks(chart, rows["observed"], rows["predicted"], 6, colour, name=name, hovertemplate=hover)
    style.title_axes(chart, "observed (MiB/s)", "predicted (MiB/s)", title_standoff=6)
    chart.update_yaxes(rangemode="normal")
    return chart
