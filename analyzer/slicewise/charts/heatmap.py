"""Processes by slices as a heat map: who moved bytes when, all jobs on one clock axis."""

from collections.abc import Mapping, Sequence

import numpy as np

from slicewise.analysis.job.heat import Heat
from slicewise.charts import style
from slicewise.charts.figure import Figure
from slicewise.text import words

ROW_PIXELS = 14
LEAST_PIXELS, MOST_PIXELS = 42, 380
TITLE_PIXELS = 24


def processes_by_slices(
    heats: Sequence[Heat],
    colours: Mapping[str, str],
    slices: range,
    slice_ns: int,
    region: tuple[int, int] | None = None,
) -> Figure:
    """One panel a job, by node and rank, in the colour that `colours` has for it. All colours have one range, so that
    panels compare. region: first and end slice."""
    pixels = [min(MOST_PIXELS, max(LEAST_PIXELS, ROW_PIXELS * len(heat.labels))) for heat in heats]
    inner = sum(pixels) + TITLE_PIXELS * len(heats)
    chart = style.figure(height=inner + style.CHART_MARGIN["b"] + 8, margin=style.CHART_MARGIN | {"t": 8})
    hottest = max((float(heat.rates.max(initial=0.0)) for heat in heats), default=0.0) / words.MIB or 1.0
    top = inner
    for place, (heat, height) in enumerate(zip(heats, pixels, strict=True), start=1):
        top -= TITLE_PIXELS
        domain = [(top - height) / inner, top / inner]
        _add_panel(chart, heat, place, domain, slice_ns, hottest, colours[heat.job])
        top -= height
    if region:
        line = {"width": 1, "dash": "dot", "color": style.INK}
        for edge in style.clock_times(region, slice_ns):
            chart.add_shape(type="line", x0=edge, x1=edge, y0=0, y1=1, yref="paper", line=line)
    if heats:
        chart.update_xaxes(anchor=_axis(len(heats)))
    style.use_clock_axis(chart, slices, slice_ns)
    return chart


def _axis(place: int) -> str:
    return "y" if place == 1 else f"y{place}"


def _add_panel(
    chart: Figure, heat: Heat, place: int, domain: list[float], slice_ns: int, hottest: float, colour: str
) -> None:
    columns = heat.rates.shape[1]
    labels = [style.safe(label) for label in heat.labels]
    chart.add_heatmap(
        x=style.clock_times(heat.first_slice + np.arange(columns + 1) * heat.slices_per_column, slice_ns),
        y=labels,
        z=np.round(heat.rates / words.MIB, 3).astype(np.float32),
        zmin=0,
        zmax=hottest,
        # From nothing, which lies on a light page as well as on a dark one.
        colorscale=[[alpha, style.transparent(colour, alpha)] for alpha in (0.0, 1.0)],
        yaxis=_axis(place),
        name="",
        hovertemplate="%{y}<br>%{x}: %{z:.4~g} MiB/s",
        showscale=False,
    )
    axis = {
        "domain": domain, "anchor": "x", "type": "category", "autorange": "reversed", "fixedrange": True,
        "tickmode": "array", "tickvals": [at for at, _ in heat.nodes],
        "ticktext": [style.safe(style.shortened(node, 10)) for _, node in heat.nodes], "showgrid": False,
        "ticks": "outside", "ticklen": 4, "automargin": True, "zeroline": False, "showline": True,
    }  # fmt: skip
    chart.update_layout({f"yaxis{'' if place == 1 else place}": axis})
    group = f", {heat.processes_per_row} to a row" if heat.processes_per_row > 1 else ""
    scale = "".join(f'<span style="color: {style.transparent(colour, step / 6)}">■</span>' for step in range(1, 7))
    chart.add_annotation(
        x=0, xref="paper", y=domain[1], yref="paper", xanchor="left", yanchor="bottom", showarrow=False,
        text=f"<b>{style.safe(style.shortened(heat.job))}</b>  {words.count(heat.processes, 'process')}{group}   "
        f"0 {scale} {words.number(hottest)} MiB/s a process",
        font={"size": 12, "color": colour},
    )  # fmt: skip
