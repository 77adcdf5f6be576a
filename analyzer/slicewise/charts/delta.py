"""Delta-graphs: time, throughput and interference factor of two jobs over the offset of the second."""

from collections.abc import Mapping

import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure
from slicewise.scalars import real

# A line's pattern for each configuration, so that several lie side by side; colours are the jobs'.
DASHES = ("solid", "dash", "dot", "dashdot")
SYMBOLS = ("circle", "square", "diamond", "cross")


def over_offset(
    points: Mapping[str, pl.DataFrame],
    expected: Mapping[str, pl.DataFrame],
    column: str,
    title: str,
    scale: float = 1.0,
) -> Figure:
    """`column` over dt: a mark a run, hollow where it is an outlier, and the expected curve as a thin line.

    points, expected: by configuration, frames of dt, name ("A", "B") and the column; points also has is_outlier and
    run. What is drawn is value / scale.
    """
    chart = style.figure(height=320)
    for place, (configuration, frame) in enumerate(points.items()):
        for colour, name in zip(style.JOB_COLOURS, ("A", "B"), strict=False):
            said = f"{style.safe(style.shortened(configuration))}: {name}" if len(points) > 1 else name
            rows = frame.filter(pl.col("name") == name)
            chart.add_scatter(
                x=rows["dt"].to_list(),
                y=(rows[column] / scale).to_list(),
                mode="markers",
                name=said,
                marker={
                    "size": 8,
                    "color": colour,
                    "symbol": [
                        SYMBOLS[place % len(SYMBOLS)] + ("-open" if is_outlier else "")
                        for is_outlier in rows["is_outlier"]
                    ],
                },
                text=[style.safe(run) for run in rows["run"]],
                hovertemplate="%{text}: %{y:.4~g} at %{x:.3~g} s<extra></extra>",
            )
            line = expected[configuration].filter(pl.col("name") == name)
            chart.add_scatter(
                x=line["dt"].to_list(),
                y=(line[column] / scale).to_list(),
                mode="lines",
                name=f"{said}, expected",
                line={"width": 1.2, "color": colour, "dash": DASHES[place % len(DASHES)]},
                hoverinfo="skip",
            )
    chart.update_xaxes(title_text="B began after A by (s)")
    chart.update_yaxes(title_text=title)
    return chart


def resource(levels: pl.DataFrame, title: str, limit: float | None) -> Figure:
    """What one resource did in each run over the offset (frame: run, dt, value, alone), beside its mean alone, and its
    limit where the runs come near it."""
    chart = style.figure(height=210, showlegend=True)
    ends = [real(levels["dt"].min()), real(levels["dt"].max())]
    chart.add_scatter(
        x=levels["dt"].to_list(),
        y=levels["value"].to_list(),
        mode="markers",
        name="together",
        marker={"size": 8, "color": style.JOB_COLOURS[0]},
        text=[style.safe(run) for run in levels["run"]],
        hovertemplate="%{text}: %{y:.4~g} at %{x:.3~g} s<extra></extra>",
    )
    lines = [("alone", levels["alone"][0], "dash")]
    if limit is not None and real(levels["value"].max()) >= limit / 2:
        lines.append(("its limit", limit, "dot"))
    for name, height, dash in lines:
        if height is not None:
            chart.add_scatter(
                x=ends, y=[height] * 2, mode="lines", name=name, line={"width": 1.2, "dash": dash}, hoverinfo="skip"
            )
    chart.update_xaxes(title_text="B began after A by (s)")
    chart.update_yaxes(title_text=title, rangemode="tozero")
    return chart
