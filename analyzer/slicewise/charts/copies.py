"""What copies of a job lose, over how many there are."""

from __future__ import annotations

import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure

LOSS_COLOUR, IN_STEP_COLOUR = style.JOB_COLOURS[0], style.JOB_COLOURS[1]


def loss_over_copies(frame: pl.DataFrame, most_loss: float) -> Figure:
    """The loss of each copy, with its interval as a band, and the loss in step, against the limit.

    frame: copies, loss, low, high, in_step (fractions of the runtime). most_loss: the limit.
    """
    chart = style.figure(height=340)
    copies = frame["copies"].to_list()
    chart.add_scatter(
        x=[*copies, *reversed(copies)],
        y=[*(frame["high"] * 100).to_list(), *reversed((frame["low"] * 100).to_list())],
        fill="toself",
        fillcolor=style.transparent(LOSS_COLOUR, 0.2),
        line={"width": 0},
        name="interval",
        hoverinfo="skip",
    )
    for column, name, colour, dash in (
        ("loss", "expected, random phases", LOSS_COLOUR, "solid"),
        ("in_step", "all in step", IN_STEP_COLOUR, "dot"),
    ):
        chart.add_scatter(
            x=copies,
            y=(frame[column] * 100).to_list(),
            mode="lines+markers",
            name=name,
            line={"width": 2, "color": colour, "dash": dash},
            marker={"size": 7, "color": colour},
            hovertemplate=f"%{{x}} copies lose %{{y:.3~g}} % ({name})<extra></extra>",
        )
    chart.add_hline(
        y=most_loss * 100,
        line={"width": 1.2, "color": style.INK, "dash": "dash"},
        annotation={"text": f"{most_loss * 100:g} %", "font": {"size": 11, "color": style.INK}},
    )
    chart.update_xaxes(title_text="copies side by side", dtick=max(1, len(copies) // 12), title_standoff=6)
    chart.update_yaxes(title_text="runtime lost by each (%)")
    return chart
