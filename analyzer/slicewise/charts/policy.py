"""Policies: who did what when under each, what each costs, and how that goes with the offset of a job."""

from collections.abc import Mapping, Sequence

import polars as pl

from slicewise.charts import style
from slicewise.charts.figure import Figure

POLICY_DASHES = {"interfere": "dot", "fcfs": "dash", "interrupt": "dashdot", "delay": "longdash", "dynamic": "solid",
                 "set10": "longdashdot", "set10_shares": "dot"}  # fmt: skip
POLICY_COLOURS = dict(
    zip(POLICY_DASHES, (style.INK, *(style.JOB_COLOURS[place] for place in (4, 3, 2, 0, 1, 5))), strict=True)
)
ROW_PIXELS, STRIP_PIXELS = 20, 30
COMPUTING_WIDTH, IO_WIDTH = 0.16, 0.72
# Between the strips of two policies, in rows.
GAP = 1.3
MOST_TICKS = 20


def strips(stretches: pl.DataFrame, policies: Sequence[str], jobs: Sequence[str]) -> Figure:
    """One strip a policy, in it one row a job: computing thin, I/O full, waiting hatched. stretches: policy, job, doing
    (computing, io, waiting), start, end (s)."""
    rows: dict[tuple[str, str], float] = {}
    at = 0.0
    heads = []
    for policy in policies:
        heads.append((policy, at - 0.75))
        for job in jobs:
            rows[policy, job] = at
            at += 1
        at += GAP
    height = int(90 + len(rows) * ROW_PIXELS + len(policies) * STRIP_PIXELS)
    chart = style.figure(height=height, barmode="overlay", bargap=0)
    colours = style.colours_of(jobs)
    said = {"computing": "computes", "io": "I/O", "waiting": "waits for its turn"}
    for job in jobs:
        for doing in ("io", "waiting", "computing"):
            part = stretches.filter((pl.col("job") == job) & (pl.col("doing") == doing))
            if part.is_empty():
                continue
            faint = style.transparent(colours[job], 0.35 if doing == "waiting" else 0.6)
            hatched = {"pattern": {"shape": "/", "size": 5, "solidity": 0.35}} if doing == "waiting" else {}
            hover = f"{style.safe(job)}: {said[doing]} %{{base:.4~g}} to %{{customdata:.4~g}} s<extra></extra>"
            style.add_bars(
                chart, part["end"] - part["start"], [rows[policy, job] for policy in part["policy"]],
                colours[job] if doing == "io" else faint, base=part["start"].to_list(), orientation="h",
                width=COMPUTING_WIDTH if doing == "computing" else IO_WIDTH, marker={"line": {"width": 0}, **hatched},
                name=style.safe(style.shortened(job)), showlegend=doing == "io", customdata=part["end"].to_list(),
                hovertemplate=hover,
            )  # fmt: skip
    for policy, height_of_head in heads:
        chart.add_annotation(
            x=0, xref="paper", xanchor="left", y=height_of_head, yanchor="middle", showarrow=False,
            text=f"<b>{policy}</b>", font={"size": 12.5},
        )  # fmt: skip
    chart.update_yaxes(
        tickmode="array",
        tickvals=list(rows.values()),
        ticktext=[style.safe(style.shortened(job, 14)) for _, job in rows],
        range=[at - GAP + 0.1, -1.4],
        showgrid=False,
    )
    chart.update_xaxes(title_text="seconds from the first start", title_standoff=6)
    return chart


def costs(rows: pl.DataFrame, metrics: Mapping[str, str]) -> Figure:
    """Every metric under every policy, as percent of what it is where jobs interfere; 0 is no cost. rows: policy,
    metric, value, share (of the value under `interfere`). metrics: their names in prose."""
    chart = style.figure(height=300, barmode="group")
    for policy in rows["policy"].unique(maintain_order=True):
        part = rows.filter(pl.col("policy") == policy)
        style.add_bars(
            chart, [metrics[metric] for metric in part["metric"]], part["share"] * 100, POLICY_COLOURS[policy],
            name=policy, customdata=part["value"].to_list(),
            hovertemplate=f"{policy}: %{{customdata:,.4~g}} (%{{y:.3~g}} %)<extra></extra>",
        )  # fmt: skip
    chart.add_hline(y=100, line={"width": 1, "color": style.INK, "dash": "dot"})
    chart.update_xaxes(automargin=True)
    chart.update_yaxes(title_text="% of interfering")
    return chart


def over_offset(rows: pl.DataFrame, column: str, title: str, moved: str, against: str, actual: float | None) -> Figure:
    """A line a policy over dt. rows: policy, dt, and the column. moved: the job that begins dt after `against`. actual:
    the dt that the jobs really have."""
    chart = style.figure(height=300)
    for policy in rows["policy"].unique(maintain_order=True):
        part = rows.filter(pl.col("policy") == policy).sort("dt")
        style.add_line(
            chart, part["dt"], part[column], policy, POLICY_COLOURS[policy], 2.4 if policy == "dynamic" else 1.6,
            POLICY_DASHES[policy], hovertemplate=f"{policy}: %{{y:,.4~g}} at %{{x:.3~g}} s<extra></extra>",
        )  # fmt: skip
    if actual is not None:
        chart.add_vline(x=actual, line={"width": 1, "color": style.INK, "dash": "dot"})
    names = [style.safe(style.shortened(name, 18)) for name in (moved, against)]
    style.title_axes(chart, f"{names[0]} begins after {names[1]} by (s)", title, title_standoff=6)
    return chart


def job_sizes(frame: pl.DataFrame) -> Figure:
    """Shares of jobs and of jobs' time by size, as bars, and both added up, as lines. frame: size (text), of_jobs,
    of_time (fractions), from the smallest on."""
    chart = style.figure(height=320, barmode="group")
    said = (("of_jobs", "of jobs", style.JOB_COLOURS[0]), ("of_time", "of jobs' time", style.JOB_COLOURS[1]))
    for column, name, colour in said:
        hover = f"%{{x}} processes: %{{y:.3~g}} % {name}<extra></extra>"
        style.add_bars(chart, frame["size"], frame[column] * 100, colour, name=f"share {name}", hovertemplate=hover)
        up_to, summed = f"{name}, up to that size", frame[column].cum_sum() * 100
        style.add_line(chart, frame["size"], summed, up_to, colour, 1.6, "dot", hovertemplate=f"up to {hover}")
    style.title_axes(chart, "processes", "share (%)", type="category", title_standoff=6, automargin=True)
    return chart


def concurrent_jobs(frame: pl.DataFrame) -> Figure:
    """The share of the time in which so many jobs ran. frame: jobs, share (a fraction)."""
    chart = style.figure(height=300)
    hover = "%{x} jobs: %{y:.3~g} % of the time<extra></extra>"
    style.add_bars(chart, frame["jobs"], frame["share"] * 100, style.JOB_COLOURS[0], hovertemplate=hover)
    ticks = {"dtick": 1} if len(frame) <= MOST_TICKS else {}
    style.title_axes(
        chart, "jobs that run at one time", "share of the time (%)", title_standoff=6, tickformat="d", **ticks
    )
    return chart
