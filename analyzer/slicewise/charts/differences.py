"""Why runs took different times: from one runtime to another in steps, or a bar a run."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure
from slicewise.text import words

ROW_PIXELS = 34
# What each part of a difference is called, and its colour.
PARTS = {
    "computing": ("outside I/O calls", "#9AA1A9"),
    "waiting": ("waiting for its turn", style.TURN),
    "own_io": ("own I/O", "#1A80C4"),
    "lost": ("lost to neighbours", "#D55E00"),
    "unexplained": ("unexplained", "#E69F00"),
}


def steps(first: tuple[str, float], last: tuple[str, float], parts: Sequence[tuple[str, float]]) -> Figure:
    """Bars from the first run's runtime over each part of the difference to the last one's, a row each.

    first, last: a run's name and its seconds. parts: of `PARTS`, in order, with seconds.
    """
    rows = [(style.safe(style.shortened(first[0], 24)), 0.0, first[1], style.INK, words.seconds(first[1]))]
    reached = first[1]
    for part, seconds in parts:
        name, colour = PARTS[part]
        said = f"{'+' if seconds > 0 else '-' if seconds else ''}{words.seconds(abs(seconds))}"
        rows.append((name, min(reached, reached + seconds), abs(seconds), colour, said))
        reached += seconds
    rows.append((style.safe(style.shortened(last[0], 24)), 0.0, last[1], style.INK, words.seconds(last[1])))
    # Runs of one name, or one called as a part is, are rows of their own.
    places = list(range(len(rows)))
    chart = style.figure(height=64 + ROW_PIXELS * len(rows), showlegend=False)
    chart.update_layout(margin=style.CHART_MARGIN | {"t": 8, "r": 84}, bargap=0.3)
    chart.add_bar(
        x=[length for _, _, length, _, _ in rows],
        y=places,
        base=[base for _, base, _, _, _ in rows],
        orientation="h",
        marker={"color": [colour for _, _, _, colour, _ in rows]},
        text=[said for _, _, _, _, said in rows],
        textposition="outside",
        cliponaxis=False,
        customdata=[[name, said] for name, _, _, _, said in rows],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
    )
    longest = max(base + length for _, base, length, _, _ in rows)
    chart.update_xaxes(title_text="seconds", range=[0, longest * 1.12], showgrid=True, gridwidth=1, title_standoff=6)
    chart.update_yaxes(
        tickvals=places,
        ticktext=[name for name, _, _, _, _ in rows],
        autorange="reversed",
        fixedrange=True,
        rangemode="normal",
        showgrid=False,
    )
    return chart


def by_run(frame: pl.DataFrame) -> Figure:
    """A bar a run, stacked of what made it take longer (right) or less long (left) than the one compared with.

    frame: run, part (of `PARTS`), seconds; runs in order.
    """
    runs = frame["run"].unique(maintain_order=True).to_list()
    chart = style.figure(height=96 + ROW_PIXELS * len(runs))
    chart.update_layout(barmode="relative", bargap=0.3)
    for part, (name, colour) in PARTS.items():
        rows = frame.filter(pl.col("part") == part)
        if rows.is_empty():
            continue
        chart.add_bar(
            x=rows["seconds"].to_list(),
            y=[runs.index(run) for run in rows["run"]],
            orientation="h",
            name=name,
            marker={"color": colour},
            customdata=[[style.safe(run)] for run in rows["run"]],
            hovertemplate=f"%{{customdata[0]}}: %{{x:.3~g}} s {name}<extra></extra>",
        )
    chart.update_xaxes(
        title_text="seconds more than the run compared with",
        rangemode="normal",
        showgrid=True,
        gridwidth=1,
        zeroline=True,
        zerolinewidth=1,
        title_standoff=6,
    )
    chart.update_yaxes(
        tickvals=list(range(len(runs))),
        ticktext=[style.safe(style.shortened(run, 24)) for run in runs],
        autorange="reversed",
        fixedrange=True,
        rangemode="normal",
        showgrid=False,
    )
    return chart
