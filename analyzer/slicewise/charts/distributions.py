"""Bars: transfer sizes and latencies by bin, time in I/O by rank."""

import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure
from slicewise.scalars import whole

MOST_LEVEL_NAMES = 10


def by_bin(frame: pl.DataFrame, x_title: str) -> Figure:
    """Calls by bin, a group of bars a kind of call. frame: kind ("read", "write", "meta"), bin (the bin's name, in
    order), calls."""
    chart = style.figure(height=250, showlegend=True, barmode="group", bargap=0.18, bargroupgap=0.05)
    for (kind,), rows in frame.group_by("kind", maintain_order=True):
        hover = f"{kind}, %{{x}}: %{{y:,}} calls<extra></extra>"
        style.add_bars(chart, rows["bin"], rows["calls"], style.KIND_COLOURS[kind], name=kind, hovertemplate=hover)
    tickangle = 0 if frame["bin"].n_unique() <= MOST_LEVEL_NAMES else -45
    chart.update_xaxes(title_text=x_title, type="category", tickangle=tickangle, automargin=True, title_standoff=6)
    chart.update_yaxes(title_text="calls", tickformat="~s")
    return chart


def io_time_by_rank(frame: pl.DataFrame) -> Figure:
    """Seconds that each process spent in I/O calls, stacked by kind; kinds without any are left out. frame: rank (-1
    without MPI), label, read_seconds, write_seconds, meta_seconds, sync_seconds; in the order to draw."""
    chart = style.figure(height=240, barmode="stack", bargap=0.1 if len(frame) < 100 else 0, showlegend=True)
    has_ranks = bool(len(frame)) and whole(frame["rank"].min()) >= 0
    places = frame["rank"].to_list() if has_ranks else list(range(1, len(frame) + 1))
    for kind, colour in style.KIND_COLOURS.items():
        seconds = frame[f"{kind}_seconds"]
        if not seconds.sum():
            continue
        style.add_bars(
            chart, places, seconds, colour, name=kind, text=[style.safe(label) for label in frame["label"]],
            textposition="none", marker={"line": {"width": 0}},
            hovertemplate=f"%{{text}}, {kind}: %{{y:.3~g}} s<extra></extra>",
        )  # fmt: skip
    x_title = "rank" if has_ranks else "process"
    style.title_axes(chart, x_title, "time in calls (s)", automargin=True, title_standoff=6, tickformat=",d")
    return chart
