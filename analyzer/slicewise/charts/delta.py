"""Delta-graphs: time, throughput and interference factor of two jobs over the offset of the second."""

from collections.abc import Mapping, Sequence

import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure
from slicewise.scalars import real

# A line's pattern for each configuration, so that several lie side by side; colours are the jobs'.
DASHES = ("solid", "dash", "dot", "dashdot")
OFFSET = "B began after A by (s)"
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
            symbol = SYMBOLS[place % len(SYMBOLS)]
            symbols = [f"{symbol}-open" if is_outlier else symbol for is_outlier in rows["is_outlier"]]
            _mark_runs(chart, rows, rows[column] / scale, said, colour, symbols)
            line, dash = expected[configuration].filter(pl.col("name") == name), DASHES[place % len(DASHES)]
            style.add_line(
                chart, line["dt"], line[column] / scale, f"{said}, expected", colour, 1.2, dash, hoverinfo="skip"
            )
    style.title_axes(chart, OFFSET, title)
    return chart


def _mark_runs(
    chart: Figure, rows: pl.DataFrame, values: pl.Series, name: str, colour: str, symbol: Sequence[str] = ()
) -> None:
    text, hover = [style.safe(run) for run in rows["run"]], "%{text}: %{y:.4~g} at %{x:.3~g} s<extra></extra>"
    style.add_marks(chart, rows["dt"], values, 8, colour, symbol, name=name, text=text, hovertemplate=hover)


def resource(levels: pl.DataFrame, title: str, limit: float | None) -> Figure:
    """What one resource did in each run over the offset (frame: run, dt, value, alone), beside its mean alone, and its
    limit where the runs come near it."""
    chart = style.figure(height=210, showlegend=True)
    ends = [real(levels["dt"].min()), real(levels["dt"].max())]
    _mark_runs(chart, levels, levels["value"], "together", style.JOB_COLOURS[0])
    lines = [("alone", levels["alone"][0], "dash")]
    if limit is not None and real(levels["value"].max()) >= limit / 2:
        lines.append(("its limit", limit, "dot"))
    for name, height, dash in lines:
        if height is not None:
            chart.add_scatter(
                x=ends, y=[height] * 2, mode="lines", name=name, line={"width": 1.2, "dash": dash}, hoverinfo="skip"
            )
    style.title_axes(chart, OFFSET, title)
    return chart
