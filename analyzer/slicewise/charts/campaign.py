"""A campaign's jobs alone and together, and one run slice by slice, as Kuo et al. draw them (Figs. 2 to 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure
from slicewise.charts.throughput import steps
from slicewise.text import words

ROW_HEIGHT = 30
ALONE, TOGETHER = "alone", "beside the others"


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
        chart.add_bar(
            x=(together[column] / scale).to_list(),
            y=list(range(len(labels))),
            orientation="h",
            name=name,
            marker={"color": style.transparent(colour, 0.6), "line": {"width": 1, "color": colour}},
            customdata=labels,
            hovertemplate=f"%{{customdata}}<br>{name} %{{x:.4~g}}<extra></extra>",
        )
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
            x=[slice_seconds * place for place in range(len(values))],
            y=values,
            name=style.safe(name),
            mode="lines",
            line={"shape": "hv", "width": 1.8, "color": colour},
            hovertemplate="%{y:.4~g} MiB/s",
        )
    chart.update_layout(hovermode="x unified")
    chart.update_yaxes(title_text="throughput (MiB/s)")
    chart.update_xaxes(title_text="seconds since the first byte's slice")
    return chart
