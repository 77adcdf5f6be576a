"""A campaign's jobs alone and together, and one run slice by slice, as Kuo et al. draw them (Figs. 2 to 5)."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure
from slicewise.charts.throughput import steps
from slicewise.text import words

WIDTH_SECONDS = "seconds together"
# With more runs than this their names would not fit: each combination of jobs is one place, the mean of its runs.
MOST_RUNS = 16
ROW_HEIGHT = 30
ALONE, TOGETHER = "alone", "beside the others"


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
        style.add_bars(
            chart, labels, rows["observed"], style.transparent(colour, 0.38), name=f"job {place + 1}, observed",
            marker={"line": {"width": 1, "color": colour}}, hovertemplate="observed %{y:.4~g} s<extra></extra>",
            offsetgroup=str(place),
        )  # fmt: skip
        style.add_marks(
            chart, labels, rows["predicted"], 9, colour, "diamond-open", name=f"job {place + 1}, predicted",
            marker={"line": {"width": 2, "color": colour}}, error_y=style.intervals(rows, "predicted"),
            hovertemplate="predicted %{y:.4~g} s<extra></extra>", offsetgroup=str(place),
        )  # fmt: skip
    chart.update_layout(barmode="group", scattermode="group")
    chart.update_xaxes(automargin=True)
    chart.update_yaxes(title_text=WIDTH_SECONDS)
    return chart


def alone_and_together(together: pl.DataFrame, columns: tuple[str, str], scale: float, title: str) -> Figure:
    """Bars of every job of every combination: what it was alone and beside the others.

    together: files, pair, programs, setting, start, place, processes and the two columns, alone and together (null: not
    known); drawn is value / scale.
    """
    chart = style.figure(height=110 + ROW_HEIGHT * len(together), barmode="group", bargap=0.25)
    of_size = together.select("files", "pair", "programs", "setting", "start", "place", "processes").with_columns(
        is_twin=pl.struct("files", "pair", "programs", "setting", "processes").is_duplicated(),
        by_start=pl.col("setting").n_unique().over("files", "pair", "programs") > 1,
    )
    labels = [style.safe(_label(row)) for row in of_size.iter_rows(named=True)]
    for name, column, colour in zip((ALONE, TOGETHER), columns, style.JOB_COLOURS, strict=False):
        style.add_bars(
            chart, together[column] / scale, list(range(len(labels))), style.transparent(colour, 0.6), orientation="h",
            marker={"line": {"width": 1, "color": colour}}, name=name, customdata=labels,
            hovertemplate=f"%{{customdata}}<br>{name} %{{x:.4~g}}<extra></extra>",
        )  # fmt: skip
    chart.update_xaxes(title_text=title)
    chart.update_yaxes(tickvals=list(range(len(labels))), ticktext=labels, autorange="reversed", automargin=True)
    return chart


def _label(row: Mapping[str, Any]) -> str:
    begins = f", at {row['start']:.0f} s" if row["by_start"] else ""
    which = f" (job {row['place'] + 1})" if row["is_twin"] else ""
    return f"{row['pair']}: {row['processes']}{begins}{which}"


def by_slice(runs: Sequence[tuple[str, Sequence[float]]], slice_seconds: float) -> Figure:
    """Throughput slice by slice from the first of a run on: (name of a line, bytes of each slice)."""
    chart = style.figure(height=280)
    for (name, moved), colour in zip(runs, style.JOB_COLOURS * (1 + len(runs) // len(style.JOB_COLOURS)), strict=False):
        values = steps(pl.Series(moved, dtype=pl.Float64).to_numpy() / slice_seconds / words.MIB)
        chart.add_scatter(
            x=[slice_seconds * place for place in range(len(values))], y=values, name=style.safe(name), mode="lines",
            line={"shape": "hv", "width": 1.8, "color": colour}, hovertemplate="%{y:.4~g} MiB/s",
        )  # fmt: skip
    chart.update_layout(hovermode="x unified")
    style.title_axes(chart, "seconds since the first byte's slice", "throughput (MiB/s)")
    return chart
