"""How every chart looks: one colour a job, the layout, the clock axis, and names made safe for Plotly's text.

Charts are functions from a frame to a figure; they compute no result, and they read no profile.
"""

import html
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from slicewise.charts.figure import Figure
from slicewise.text import safe_text, words

# After Okabe and Ito, told apart with any colour vision; blue is lighter, for dark pages, and yellow is left out.
JOB_COLOURS = ("#1A80C4", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
KIND_COLOURS = {"read": "#009E73", "write": "#1A80C4", "meta": "#CC79A7", "sync": "#E69F00"}
# Waiting for a turn at I/O.
TURN = "#8E6BBF"
# Reads on white and on black; text, grid and hover boxes are painted by the page's script in its colour scheme.
INK = "#7a828c"
REGION_FILL = "rgba(125, 135, 150, 0.13)"

CHART_MARGIN = {"l": 66, "r": 18, "t": 34, "b": 38}
CLOCK_MARGIN_LEFT = 84
# maxheight: without it a legend that is more than half as high as its chart gets a scroll bar, though there is room.
LEGEND = {
    "orientation": "h", "x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom", "traceorder": "normal",
    "maxheight": 1,
}  # fmt: skip


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """A colour for each job, by its place; more jobs than colours begin again."""
    return {name: JOB_COLOURS[place % len(JOB_COLOURS)] for place, name in enumerate(names)}


def transparent(colour: str, alpha: float) -> str:
    """`#rrggbb` as an rgba() of that opacity."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {alpha:g})"


def safe(name: object) -> str:
    """A name as Plotly's text: its pseudo-HTML and its %{templates} stay what they are, characters."""
    return html.escape(safe_text.visible(str(name))).replace("%{", "%&#123;")


def shortened(name: str, most: int = 28) -> str:
    """A name cut in its middle, where ends tell more than middles (job ids, paths)."""
    if len(name) <= most:
        return name
    head = (most - 1) // 2
    return f"{name[:head]}…{name[len(name) - (most - 1 - head) :]}"


def clock_times(slices: Sequence[int] | np.ndarray, slice_ns: int) -> np.ndarray:
    """The start of each slice as a time of day for a clock axis: datetime64[ms] in the reader's time zone."""
    slices = np.asarray(slices, dtype=np.int64)
    if not len(slices):
        return np.empty(0, dtype="datetime64[ms]")
    starts_ms = slices * slice_ns // 1_000_000
    offset_ms = words.utc_offset_ns(int(starts_ms[0]) * 1_000_000) // 1_000_000
    times: np.ndarray = (starts_ms + offset_ms).astype("datetime64[ms]")
    return times


def figure(height: int, **layout: object) -> Figure:
    """An empty figure in the house's style, `height` pixels tall and as wide as its place on the page."""
    chart = Figure()
    chart.update_layout(
        height=height,
        autosize=True,
        margin=CHART_MARGIN,
        legend=LEGEND,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif", "size": 12.5},
        hoverlabel={"align": "left", "namelength": -1},
        dragmode="zoom",
    )
    chart.update_layout(**layout)
    chart.update_xaxes(
        showgrid=False, zeroline=False, ticks="outside", ticklen=4, linewidth=1, showline=True, title_font_size=12.5
    )
    chart.update_yaxes(
        gridwidth=1, zeroline=False, automargin=True, title_standoff=10, title_font_size=12.5, rangemode="tozero"
    )
    return chart


def use_clock_axis(chart: Figure, slices: range, slice_ns: int) -> None:
    """Make x the time of day of `slices`; the page links all charts with such an axis, whose plots are of one width."""
    chart.update_layout(margin={"l": CLOCK_MARGIN_LEFT})
    chart.update_yaxes(automargin=False)
    chart.update_xaxes(
        type="date",
        range=clock_times([slices.start, slices.stop], slice_ns),
        hoverformat="%H:%M:%S",
        tickformatstops=[
            {"dtickrange": [None, 1000], "value": "%H:%M:%S.%1f"},
            {"dtickrange": [1000, 60000], "value": "%H:%M:%S"},
            {"dtickrange": [60000, None], "value": "%H:%M"},
        ],
        nticks=9,
        spikethickness=1,
        spikedash="solid",
        spikecolor=INK,
    )


def over_clock(
    height: int, slices: range, slice_ns: int, title: str, showlegend: object = None, **yaxes: object
) -> Figure:
    """An empty figure over the time of day of `slices`, whose lines are read together. yaxes: of the y axis."""
    chart = figure(height, hovermode="x unified", showlegend=showlegend)
    chart.update_yaxes(title_text=title, **yaxes)
    use_clock_axis(chart, slices, slice_ns)
    return chart


def add_line(chart: Figure, x: Any, y: Any, name: str, colour: str, width: float, dash: str = "", **more: Any) -> None:
    """A line through points. x, y: series, arrays or lists. more: with `mode`, marks on it."""
    line = {"width": width, "color": colour, **({"dash": dash} if dash else {})}
    chart.add_scatter(**({"mode": "lines"} | more), x=_listed(x), y=_listed(y), name=name, line=line)


def add_marks(chart: Figure, x: Any, y: Any, size: float, colour: Any, symbol: Any = None, **more: Any) -> None:
    """Points, each as a mark. more: with `marker`, how else marks look."""
    marker = {"size": size, "color": colour, **({"symbol": symbol} if symbol else {}), **more.pop("marker", {})}
    chart.add_scatter(x=_listed(x), y=_listed(y), mode="markers", marker=marker, **more)


def add_bars(chart: Figure, x: Any, y: Any, colour: Any, **more: Any) -> None:
    """Bars of one colour, or of one each. more: with `marker`, how else they look."""
    marker = {"color": colour, **more.pop("marker", {})}
    chart.add_bar(x=_listed(x), y=_listed(y), marker=marker, **more)


def _listed(values: Any) -> Any:
    return values.to_list() if isinstance(values, pl.Series) else values


def title_axes(chart: Figure, x: str, y: str, **xaxes: object) -> None:
    """What the axes show. xaxes: of the x axis, more."""
    chart.update_xaxes(title_text=x, **xaxes)
    chart.update_yaxes(title_text=y)


def intervals(rows: pl.DataFrame, value: str, thickness: float = 1.2, width: int = 3) -> dict[str, object]:
    """Error bars from the columns `low` to `high` around `value`; null: no bar."""
    above, below = rows["high"] - rows[value], rows[value] - rows["low"]
    return error_bars(above.fill_null(0), below.fill_null(0), thickness, width)


def error_bars(above: pl.Series, below: pl.Series, thickness: float = 1.2, width: int = 3) -> dict[str, object]:
    arrays = {"array": above.to_list(), "arrayminus": below.to_list()}
    return {"type": "data", "symmetric": False, "thickness": thickness, "width": width, **arrays}


def name_rows(chart: Figure, names: Sequence[str]) -> None:
    """Name the places 0, 1, ... of a chart of bars, from top to bottom."""
    chart.update_yaxes(
        tickvals=list(range(len(names))), ticktext=list(names), autorange="reversed", fixedrange=True,
        rangemode="normal", showgrid=False,
    )  # fmt: skip


def shade_region(chart: Figure, region: tuple[int, int] | None, slice_ns: int, text: str = "") -> None:
    """Shade a stretch of the clock axis, if there is one, over the chart's full height, with a word at its head.
    region: first and end slice."""
    if not region:
        return
    start, end = clock_times(region, slice_ns)
    chart.add_shape(
        type="rect", x0=start, x1=end, y0=0, y1=1, yref="paper", fillcolor=REGION_FILL, line_width=0, layer="below"
    )
    if text:
        where = {"x": start, "y": 1, "yref": "paper", "xanchor": "left", "yanchor": "top"}
        chart.add_annotation(**where, showarrow=False, text=safe(text), font={"size": 11, "color": INK})
