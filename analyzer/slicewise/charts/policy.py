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
            chart.add_bar(
                orientation="h",
                base=part["start"].to_list(),
                x=(part["end"] - part["start"]).to_list(),
                y=[rows[policy, job] for policy in part["policy"]],
                width=COMPUTING_WIDTH if doing == "computing" else IO_WIDTH,
                marker={
                    "color": colours[job] if doing == "io" else faint,
                    "line": {"width": 0},
                    **({"pattern": {"shape": "/", "size": 5, "solidity": 0.35}} if doing == "waiting" else {}),
                },
                name=style.safe(style.shortened(job)),
                showlegend=doing == "io",
                customdata=(part["end"]).to_list(),
                hovertemplate=f"{style.safe(job)}: {said[doing]} %{{base:.4~g}} to %{{customdata:.4~g}} s"
                "<extra></extra>",
            )
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
        chart.add_bar(
            x=[metrics[metric] for metric in part["metric"]],
            y=(part["share"] * 100).to_list(),
            name=policy,
            marker={"color": POLICY_COLOURS[policy]},
            customdata=part["value"].to_list(),
            hovertemplate=f"{policy}: %{{customdata:,.4~g}} (%{{y:.3~g}} %)<extra></extra>",
        )
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
        chart.add_scatter(
            x=part["dt"].to_list(),
            y=part[column].to_list(),
            mode="lines",
            name=policy,
            line={"width": 2.4 if policy == "dynamic" else 1.6, "color": POLICY_COLOURS[policy],
                  "dash": POLICY_DASHES[policy]},
            hovertemplate=f"{policy}: %{{y:,.4~g}} at %{{x:.3~g}} s<extra></extra>",
        )  # fmt: skip
    if actual is not None:
        chart.add_vline(x=actual, line={"width": 1, "color": style.INK, "dash": "dot"})
    names = [style.safe(style.shortened(name, 18)) for name in (moved, against)]
    chart.update_xaxes(title_text=f"{names[0]} begins after {names[1]} by (s)", title_standoff=6)
    chart.update_yaxes(title_text=title)
    return chart


def job_sizes(frame: pl.DataFrame) -> Figure:
    """Shares of jobs and of jobs' time by size, as bars, and both added up, as lines. frame: size (text), of_jobs,
    of_time (fractions), from the smallest on."""
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
