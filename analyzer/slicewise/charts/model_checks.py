"""Predicted and observed runtimes of a campaign's runs, as Kuo et al. draw them (Figs. 6 and 7)."""

from __future__ import annotations

import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure

WIDTH_SECONDS = "seconds together"
# With more runs than this their names would not fit: each combination of jobs is one place, the mean of its runs.
MOST_RUNS = 16


def shows_means(frame: pl.DataFrame) -> bool:
    """Whether there are so many runs that the chart shows means of repeats, without those that stood out among them."""
    return frame["run"].n_unique() > MOST_RUNS


def predicted_and_observed(frame: pl.DataFrame) -> Figure:
    """Every run a place on the x axis, grouped by the jobs' sizes (see `shows_means`): bars for what was observed,
    marks with intervals for what was predicted, a colour for each place of a job in its run.

    frame: run, pair, job, predicted, low, high (null: not predicted), observed, is_outlier; jobs of a run in the order
    of rows.
    """
    chart = style.figure(height=360)
    placed = frame.with_columns(place=pl.int_range(pl.len()).over("run"))
    if shows_means(frame):
        times = pl.col("predicted", "low", "high", "observed").mean()
        placed = placed.filter(~pl.col("is_outlier")).group_by("pair", "place", maintain_order=True).agg(times)
    for (place,), rows in placed.group_by("place", maintain_order=True):
        colour = style.JOB_COLOURS[place % len(style.JOB_COLOURS)]
        pairs = [style.safe(pair) for pair in rows["pair"]]
        labels: list[str] | list[list[str]] = pairs
        if "run" in rows.columns:
            labels = [pairs, [style.safe(style.shortened(run, 24)) for run in rows["run"]]]
        chart.add_bar(
            x=labels,
            y=rows["observed"].to_list(),
            name=f"job {place + 1}, observed",
            marker={"color": style.transparent(colour, 0.38), "line": {"width": 1, "color": colour}},
            hovertemplate="observed %{y:.4~g} s<extra></extra>",
            offsetgroup=str(place),
        )
        chart.add_scatter(
            x=labels,
            y=rows["predicted"].to_list(),
            name=f"job {place + 1}, predicted",
            mode="markers",
            marker={"size": 9, "symbol": "diamond-open", "color": colour, "line": {"width": 2, "color": colour}},
            error_y={
                "type": "data",
                "symmetric": False,
                "thickness": 1.2,
                "width": 3,
                "array": (rows["high"] - rows["predicted"]).fill_null(0).to_list(),
                "arrayminus": (rows["predicted"] - rows["low"]).fill_null(0).to_list(),
            },
            hovertemplate="predicted %{y:.4~g} s<extra></extra>",
            offsetgroup=str(place),
        )
    chart.update_layout(barmode="group", scattermode="group")
    chart.update_xaxes(automargin=True)
    chart.update_yaxes(title_text=WIDTH_SECONDS)
    return chart
