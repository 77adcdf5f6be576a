"""Observed against predicted runtimes, with intervals."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure

SYMBOLS = {"observed": "circle", "alone": "circle-open", "predicted": "diamond-open", "doubtful": "diamond-open"}
ROW_PIXELS = 26


def observed_and_predicted(frame: pl.DataFrame, colours: Mapping[str, str]) -> Figure:
    """Every runtime as a mark on one axis of seconds, a row each, grouped by job.

    frame: job, kind ("observed", "alone", "predicted", "doubtful": greyed), label (what the row says), seconds, low,
    high (None where there is no interval).
    """
    chart = style.figure(height=64 + ROW_PIXELS * len(frame), showlegend=False)
    chart.update_layout(margin=style.CHART_MARGIN | {"t": 8})
    names = [
        f"{style.safe(style.shortened(job, 20))} · {style.safe(label)}"
        for job, label in frame.select("job", "label").iter_rows()
    ]
    for (job,), rows in frame.with_columns(name=pl.Series(names, dtype=pl.String)).group_by("job", maintain_order=True):
        chart.add_scatter(
            x=rows["seconds"].to_list(),
            y=rows["name"].to_list(),
            mode="markers",
            cliponaxis=False,
            marker={
                "size": 10,
                "color": [_colour(colours[job], kind) for kind in rows["kind"]],
                "symbol": [SYMBOLS[kind] for kind in rows["kind"]],
                "line": {"width": 2, "color": [_colour(colours[job], kind) for kind in rows["kind"]]},
            },
            error_x={
                "type": "data",
                "symmetric": False,
                "thickness": 1.4,
                "width": 4,
                "array": (rows["high"] - rows["seconds"]).fill_null(0).to_list(),
                "arrayminus": (rows["seconds"] - rows["low"]).fill_null(0).to_list(),
            },
            hovertemplate="%{y}: %{x:.4~g} s<extra></extra>",
        )
    chart.update_xaxes(
        automargin=True, title_standoff=6, title_text="seconds", rangemode="tozero", showgrid=True, gridwidth=1
    )
    chart.update_yaxes(type="category", autorange="reversed", showgrid=True, fixedrange=True, rangemode="normal")
    return chart


def _colour(colour: str, kind: str) -> str:
    return style.transparent(style.INK, 0.5) if kind == "doubtful" else colour
