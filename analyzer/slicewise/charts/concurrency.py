"""Jobs of a machine: how large they are, and how many run at one time (Dorier et al., figure 1)."""

from __future__ import annotations

import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure

MOST_TICKS = 20


def job_sizes(frame: pl.DataFrame) -> Figure:
    """Shares of jobs and of jobs' time by size, as bars, and both added up, as lines.

    frame: size (text), of_jobs, of_time (fractions), from the smallest on.
    """
    chart = style.figure(height=320, barmode="group")
    said = (("of_jobs", "of jobs", style.JOB_COLOURS[0]), ("of_time", "of jobs' time", style.JOB_COLOURS[1]))
    for column, name, colour in said:
        chart.add_bar(
            x=frame["size"].to_list(),
            y=(frame[column] * 100).to_list(),
            name=f"share {name}",
            marker={"color": colour},
            hovertemplate=f"%{{x}} processes: %{{y:.3~g}} % {name}<extra></extra>",
        )
        chart.add_scatter(
            x=frame["size"].to_list(),
            y=(frame[column].cum_sum() * 100).to_list(),
            mode="lines",
            name=f"{name}, up to that size",
            line={"width": 1.6, "color": colour, "dash": "dot"},
            hovertemplate=f"up to %{{x}} processes: %{{y:.3~g}} % {name}<extra></extra>",
        )
    chart.update_xaxes(title_text="processes", type="category", title_standoff=6, automargin=True)
    chart.update_yaxes(title_text="share (%)")
    return chart


def concurrent_jobs(frame: pl.DataFrame) -> Figure:
    """The share of the time in which so many jobs ran. frame: jobs, share (a fraction)."""
    chart = style.figure(height=300)
    chart.add_bar(
        x=frame["jobs"].to_list(),
        y=(frame["share"] * 100).to_list(),
        marker={"color": style.JOB_COLOURS[0]},
        hovertemplate="%{x} jobs: %{y:.3~g} % of the time<extra></extra>",
    )
    chart.update_xaxes(title_text="jobs that run at one time", title_standoff=6, tickformat="d")
    if len(frame) <= MOST_TICKS:
        chart.update_xaxes(dtick=1)
    chart.update_yaxes(title_text="share of the time (%)")
    return chart
