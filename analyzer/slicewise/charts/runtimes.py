"""Observed against predicted runtimes, with intervals."""

from collections.abc import Mapping, Sequence

import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure
from slicewise.text import words

SYMBOLS = {"observed": "circle", "alone": "circle-open", "predicted": "diamond-open", "doubtful": "diamond-open"}
ROW_PIXELS = 26
LOSS_COLOUR, IN_STEP_COLOUR = style.JOB_COLOURS[0], style.JOB_COLOURS[1]
PIXELS_A_DIFFERENCE = 34
# What each part of a difference is called, and its colour.
PARTS = {
    "computing": ("outside I/O calls", "#9AA1A9"),
    "waiting": ("waiting for its turn", style.TURN),
    "own_io": ("own I/O", "#1A80C4"),
    "lost": ("lost to neighbours", "#D55E00"),
    "unexplained": ("unexplained", "#E69F00"),
}


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
        drawn = [style.transparent(style.INK, 0.5) if kind == "doubtful" else colours[job] for kind in rows["kind"]]
        style.add_marks(
            chart, rows["seconds"], rows["name"], 10, drawn, [SYMBOLS[kind] for kind in rows["kind"]],
            marker={"line": {"width": 2, "color": drawn}}, error_x=style.intervals(rows, "seconds", 1.4, 4),
            hovertemplate="%{y}: %{x:.4~g} s<extra></extra>", cliponaxis=False,
        )  # fmt: skip
    chart.update_xaxes(
        automargin=True, title_standoff=6, title_text="seconds", rangemode="tozero", showgrid=True, gridwidth=1
    )
    chart.update_yaxes(type="category", autorange="reversed", showgrid=True, fixedrange=True, rangemode="normal")
    return chart


def loss_over_copies(frame: pl.DataFrame, most_loss: float) -> Figure:
    """The loss of each copy, with its interval as a band, and the loss in step, against the limit. frame: copies, loss,
    low, high, in_step (fractions of the runtime). most_loss: the limit."""
    chart = style.figure(height=340)
    copies = frame["copies"].to_list()
    chart.add_scatter(
        x=[*copies, *reversed(copies)],
        y=[*(frame["high"] * 100).to_list(), *reversed((frame["low"] * 100).to_list())], name="interval",
        fill="toself", fillcolor=style.transparent(LOSS_COLOUR, 0.2), line={"width": 0}, hoverinfo="skip",
    )  # fmt: skip
    for column, name, colour, dash in (
        ("loss", "expected, random phases", LOSS_COLOUR, "solid"),
        ("in_step", "all in step", IN_STEP_COLOUR, "dot"),
    ):
        style.add_line(
            chart, copies, frame[column] * 100, name, colour, 2, dash, mode="lines+markers",
            marker={"size": 7, "color": colour},
            hovertemplate=f"%{{x}} copies lose %{{y:.3~g}} % ({name})<extra></extra>",
        )  # fmt: skip
    chart.add_hline(
        most_loss * 100, {"text": f"{most_loss * 100:g} %", "font": {"size": 11, "color": style.INK}},
        line={"width": 1.2, "color": style.INK, "dash": "dash"},
    )  # fmt: skip
    ticks = max(1, len(copies) // 12)
    style.title_axes(chart, "copies side by side", "runtime lost by each (%)", dtick=ticks, title_standoff=6)
    return chart


def steps(first: tuple[str, float], last: tuple[str, float], parts: Sequence[tuple[str, float]]) -> Figure:
    """Bars from the first run's runtime over each part of the difference to the last one's, a row each. first, last: a
    run's name and its seconds. parts: of `PARTS`, in order, with seconds."""
    rows = [(style.safe(style.shortened(first[0], 24)), 0.0, first[1], style.INK, words.seconds(first[1]))]
    reached = first[1]
    for part, seconds in parts:
        name, colour = PARTS[part]
        said = f"{'+' if seconds > 0 else '-' if seconds else ''}{words.seconds(abs(seconds))}"
        rows.append((name, min(reached, reached + seconds), abs(seconds), colour, said))
        reached += seconds
    rows.append((style.safe(style.shortened(last[0], 24)), 0.0, last[1], style.INK, words.seconds(last[1])))
    chart = style.figure(height=64 + PIXELS_A_DIFFERENCE * len(rows), showlegend=False)
    chart.update_layout(margin=style.CHART_MARGIN | {"t": 8, "r": 84}, bargap=0.3)
    names, bases, lengths, colours, told = map(list, zip(*rows, strict=True))
    # Runs of one name, or one called as a part is, are rows of their own.
    style.add_bars(
        chart, lengths, list(range(len(rows))), colours, base=bases, orientation="h", text=told, textposition="outside",
        cliponaxis=False, customdata=[list(row) for row in zip(names, told, strict=True)],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
    )  # fmt: skip
    longest = max(base + length for _, base, length, _, _ in rows)
    chart.update_xaxes(title_text="seconds", range=[0, longest * 1.12], showgrid=True, gridwidth=1, title_standoff=6)
    style.name_rows(chart, names)
    return chart


def by_run(frame: pl.DataFrame) -> Figure:
    """A bar a run, stacked of what made it take longer (right) or less long (left) than the one compared with. frame:
    run, part (of `PARTS`), seconds; runs in order."""
    runs = frame["run"].unique(maintain_order=True).to_list()
    chart = style.figure(height=96 + PIXELS_A_DIFFERENCE * len(runs))
    chart.update_layout(barmode="relative", bargap=0.3)
    for part, (name, colour) in PARTS.items():
        rows = frame.filter(pl.col("part") == part)
        if rows.is_empty():
            continue
        style.add_bars(
            chart, rows["seconds"], [runs.index(run) for run in rows["run"]], colour, orientation="h", name=name,
            customdata=[[style.safe(run)] for run in rows["run"]],
            hovertemplate=f"%{{customdata[0]}}: %{{x:.3~g}} s {name}<extra></extra>",
        )  # fmt: skip
    chart.update_xaxes(
        title_text="seconds more than the run compared with", rangemode="normal", showgrid=True, gridwidth=1,
        zeroline=True, zerolinewidth=1, title_standoff=6,
    )  # fmt: skip
    style.name_rows(chart, [style.safe(style.shortened(run, 24)) for run in runs])
    return chart
