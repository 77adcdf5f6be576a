"""Delta-graphs: how long two jobs take beside each other, by how much later the second one began (docs/models.md;
Dorier et al., section II.C; Yildiz et al., section III.B).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl

from slicewise.analysis.nodes.causes import EVIDENCE, Window, evidence_of, levels, window_of
from slicewise.analysis.runs.campaign import ALONE, SIZE, Campaign, rates_of_runs
from slicewise.analysis.runs.rates import is_like, mean_of_repeats, outliers
from slicewise.analysis.sharing.proportional import SharingJob, share_out
from slicewise.analysis.sharing.weights import Weighting
from slicewise.errors import UserError
from slicewise.scalars import real
from slicewise.text import words

NAMES = ("A", "B")
# Runs whose measured offsets lie closer together than this (s) are repeats of one point.
SAME_OFFSET = 0.5
# Jobs count as equal if what they take alone differs by no more than this fraction.
EQUAL_TIMES = 0.1
# Jobs that lose less than this fraction of their time alone, on average, give no ground for an index.
LEAST_LOST = 0.1
CURVE_POINTS = 201

POINTS_SCHEMA = pl.Schema(
    {"run": pl.String, "point": pl.Float64, "dt": pl.Float64, "name": pl.String, "job": pl.String}
    | dict.fromkeys(("seconds", "bytes_per_second", "interference"), pl.Float64)
    | {"is_outlier": pl.Boolean}
)

RESOURCES_SCHEMA = pl.Schema(
    {"signal": pl.String, "run": pl.String, "dt": pl.Float64, "value": pl.Float64, "alone": pl.Float64}
)


@dataclass(frozen=True)
class DeltaGraph:
    """A Delta-graph of one configuration. points (`POINTS_SCHEMA`): a row a run and job; dt is the measured offset of
    B's first byte from A's (s), point the mean of the repeats that it is one of, interference the time over the time
    alone. expected: dt, name, seconds, bytes_per_second, interference by proportional shares of `weights`.
    alone_seconds: by name. asymmetry: 0 fair sharing, 1 first come, first served; None where asymmetry_reason says why.
    peak, expected_peak: the largest interference of each job, of points' means. dropped: runs that stood out (1.5
    standard deviations). apart: empty; where the jobs share no storage, what A's and B's are, by name: then nothing is
    expected to slow them down.
    """

    configuration: str
    points: pl.DataFrame
    expected: pl.DataFrame
    weights: tuple[float, float]
    alone_seconds: dict[str, float]
    asymmetry: float | None
    asymmetry_reason: str
    peak: dict[str, float]
    expected_peak: dict[str, float]
    dropped: list[str]
    apart: dict[str, str] = field(default_factory=dict)


def graph_and_evidence(configuration: str, data: Campaign, weighting: Weighting) -> tuple[DeltaGraph, pl.DataFrame]:
    """`delta_graph` of a campaign, and the evidence for causes (`causes.EVIDENCE_SCHEMA`) that its jobs' nodes hold."""
    jobs = data.jobs
    sizes = jobs.filter(jobs["run"].is_duplicated()).sort("run", "job").head(2)
    weights = [weighting.of(row["processes"], row["nodes"], row["mounts"], 0.0) for row in sizes.iter_rows(named=True)]
    of_both = (weights[0], weights[1]) if len(weights) == 2 else (1.0, 1.0)
    storages = {job: f"{own.host}:{own.point}" if own.host else own.source for job, own in data.apart.items()}
    graph = delta_graph(configuration, jobs, of_both, storages)
    alone = set(jobs.filter(jobs["run"].is_unique())["job"])
    windows: dict[bool, list[Window]] = {True: [], False: []}
    for digest in data.digests:
        windows[digest.job in alone].append(window_of(digest))
    return graph, evidence_of(windows[True], windows[False], graph.asymmetry)


def resources_by_offset(points: pl.DataFrame, windows: Mapping[str, Window]) -> pl.DataFrame:
    """What the nodes' signals were in each run of two (`RESOURCES_SCHEMA`), by offset; alone: their mean over all jobs
    that are in no run of two. Signals that were 0 throughout, or that not all runs have, are left out. points:
    `POINTS_SCHEMA`; windows: of all jobs, by name.
    """
    together = set(points["job"])
    alone = levels([window for job, window in windows.items() if job not in together])
    rows = []
    for (run,), jobs in points.group_by("run", maintain_order=True):
        found = levels([windows[job] for job in jobs["job"]])
        rows += [(signal, run, jobs["dt"][0], value, alone.get(signal)) for signal, value in found.items()]
    frame = pl.DataFrame(rows, schema=RESOURCES_SCHEMA, orient="row")
    is_everywhere = pl.len().over("signal") == points["run"].n_unique()
    order = {name: place for place, name in enumerate(EVIDENCE)}
    return frame.filter(is_everywhere, (pl.col("value") > 0).any().over("signal")).sort(
        pl.col("signal").replace_strict(order, return_dtype=pl.Int64), "dt", "run"
    )


def delta_graph(
    configuration: str,
    jobs: pl.DataFrame,
    weights: tuple[float, float] = (1.0, 1.0),
    storages: Mapping[str, str] | None = None,
) -> DeltaGraph:
    """The Delta-graph of a campaign's jobs: runs of two, A being the first by name, and of each alone. storages: where
    jobs share none, what each job's is. Jobs of a run that have the same one share it all the same. Raises UserError
    where there are no runs of two, or one of the jobs never ran alone.
    """
    together = jobs.filter(pl.len().over("run") == 2)
    if together.is_empty():
        raise UserError(f"{configuration}: holds no run of two jobs together; give the profiles of a Delta-graph")
    named = together.sort("run", "job").with_columns(
        name=pl.when(pl.int_range(pl.len()).over("run") == 0).then(pl.lit("A")).otherwise(pl.lit("B"))
    )
    apart = _apart(configuration, named, storages or {})
    alone, dropped = _alone(configuration, jobs.filter(ALONE), named, storages or {})
    points = _points(named, alone)
    dropped += points.filter("is_outlier")["run"].unique(maintain_order=True).to_list()
    volumes = {name: real(named.filter(pl.col("name") == name)["bytes"].mean()) for name in NAMES}
    expected = expected_curve(alone, volumes, weights, _reach(points, alone), is_shared=not apart)
    asymmetry, reason = asymmetry_index(points, alone)
    means = points.filter(~pl.col("is_outlier")).group_by("point", "name").agg(pl.col("interference").mean())
    return DeltaGraph(
        configuration,
        points,
        expected,
        weights,
        alone,
        asymmetry,
        reason,
        _largest(means),
        _largest(expected),
        dropped,
        apart,
    )


def expected_curve(
    alone: dict[str, float],
    volumes: dict[str, float],
    weights: tuple[float, float],
    offsets: Sequence[float],
    *,
    is_shared: bool = True,
) -> pl.DataFrame:
    """Times of two jobs at each offset by proportional shares: dt, name, seconds, bytes_per_second, interference.
    alone: what each takes alone (s); so much of a capacity of 1 is its volume. Jobs that share nothing (is_shared) take
    what they take alone.
    """
    rows = []
    for offset in offsets:
        each = zip(NAMES, weights, (0.0, offset), strict=True)
        jobs = [SharingJob(name, alone[name], weight, start=start) for name, weight, start in each]
        # Of jobs that share nothing each has a capacity of its own.
        served = share_out(1.0, jobs).jobs if is_shared else [share_out(1.0, [job]).jobs[0] for job in jobs]
        rows += [(offset, job.job, job.t_co, volumes[job.job] / job.t_co, job.interference) for job in served]
    schema = {"dt": float, "name": str, "seconds": float, "bytes_per_second": float, "interference": float}
    return pl.DataFrame(rows, schema=schema, orient="row")


def asymmetry_index(points: pl.DataFrame, alone: dict[str, float]) -> tuple[float | None, str]:
    """Who comes first wins: sum |T_first - T_second| / sum (T_first + T_second - 2 T_alone), over the runs in which one
    of two equal jobs began clearly before the other, which began before the first would have ended alone; with the
    reason where there is none.
    """
    times = [alone[name] for name in NAMES]
    if max(times) > (1 + EQUAL_TIMES) * min(times):
        return None, "the jobs are not equal: alone they take " + " and ".join(f"{time:.3g} s" for time in times)
    each = sum(times) / 2
    runs = (
        _one_after_the_other(points, alone)
        .group_by("run")
        .agg(apart=(pl.col("seconds").max() - pl.col("seconds").min()), both=pl.col("seconds").sum())
    )
    if runs.is_empty():
        return None, "in no run one job began clearly before the other, and met it"
    lost = float((runs["both"] - 2 * each).clip(0.0).sum())
    if lost <= LEAST_LOST * 2 * each * len(runs):
        return None, "where one job began clearly before the other, and met it, they lost next to nothing"
    return float(runs["apart"].sum()) / lost, ""


def _one_after_the_other(points: pl.DataFrame, alone: dict[str, float]) -> pl.DataFrame:
    """The points at which one of two equal jobs begins clearly before the other, and has not ended by then."""
    ends = sum(alone[name] for name in NAMES) / len(NAMES)
    return points.filter(~pl.col("is_outlier"), pl.col("point").abs().is_between(SAME_OFFSET, ends, closed="none"))


def who_gains(points: pl.DataFrame, alone: dict[str, float]) -> Literal["first", "second"]:
    """Which of two equal jobs took less time in sum: the one that began first, or the other."""
    apart = _one_after_the_other(points, alone)
    is_first = (pl.col("dt") > 0) == (pl.col("name") == "A")
    first, second = (real(apart.filter(which)["seconds"].sum()) for which in (is_first, ~is_first))
    return "first" if first <= second else "second"


def _apart(configuration: str, named: pl.DataFrame, storages: Mapping[str, str]) -> dict[str, str]:
    """What A's and B's storages are where they are two in all runs; empty where they share one. Raises UserError where
    they share one in some runs and none in others.
    """
    if not storages:
        return {}
    own = named.select("run", "name", storage=pl.col("job").replace_strict(storages, return_dtype=pl.String))
    is_shared = own.group_by("run").agg(pl.col("storage").n_unique() == 1)["storage"]
    if not is_shared.any():
        of_name = own.group_by("name").agg(pl.col("storage").unique().sort())
        return {name: words.listing(used) for name, used in of_name.sort("name").iter_rows()}
    if is_shared.all():
        return {}
    raise UserError(
        f"{configuration}: its jobs share a file system in some runs and in others not; give each kind a directory"
    )


def _alone(
    configuration: str, runs: pl.DataFrame, named: pl.DataFrame, storages: Mapping[str, str]
) -> tuple[dict[str, float], list[str]]:
    """What A and B take alone for the volume that they move together, and the standalone runs that stood out. Of
    standalone runs of the same program and size, on the same storage (see `delta_graph`), those whose name begins with
    "a-" or "b-" are the job's, and those of its volume, where there are such.
    """
    alone: dict[str, float] = {}
    dropped: list[str] = []
    for name in NAMES:
        like = named.filter(pl.col("name") == name).row(0, named=True)
        fitting = runs.filter(pl.all_horizontal(pl.col(key) == like[key] for key in SIZE))
        where = storages.get(like["job"])
        is_there = [storages.get(job) == where for job in fitting["job"]]
        fitting = fitting.filter(pl.Series(is_there, dtype=pl.Boolean))
        fitting = _if_any(fitting, pl.col("job").str.starts_with(f"{name.lower()}-"))
        is_of_volume = [is_like(volume, like["bytes"]) for volume in fitting["bytes"]]
        fitting = _if_any(fitting, pl.Series(is_of_volume, dtype=pl.Boolean))
        if fitting.is_empty():
            there = f" on {where}" if where else ""
            raise UserError(
                f"{configuration}: holds no run of {like['job']}'s program alone{there}; profile it alone too"
            )
        rate, stood_out = mean_of_repeats(rates_of_runs(fitting))
        alone[name] = like["bytes"] / rate.value
        dropped += fitting.filter(pl.Series(stood_out, dtype=pl.Boolean))["run"].to_list()
    return alone, list(dict.fromkeys(dropped))


def _if_any(runs: pl.DataFrame, wanted: pl.Expr | pl.Series) -> pl.DataFrame:
    found = runs.filter(wanted)
    return found if len(found) else runs


def _points(named: pl.DataFrame, alone: dict[str, float]) -> pl.DataFrame:
    first, second = (pl.col("start").filter(pl.col("name") == name).first().over("run") for name in NAMES)
    table = named.with_columns(
        dt=second - first,
        bytes_per_second=pl.col("bytes") / pl.col("seconds"),
        interference=pl.col("seconds") / pl.col("name").replace_strict(alone, return_dtype=pl.Float64),
    ).sort("dt", "run", "name")
    number = (pl.col("dt").diff().fill_null(0.0) > SAME_OFFSET).cum_sum()
    table = table.with_columns(number=number).with_columns(point=pl.col("dt").mean().over("number"))
    rows = []
    for (_,), repeats in table.group_by("number", maintain_order=True):
        runs = repeats.group_by("run", maintain_order=True).agg(pl.col("bytes_per_second").sum())
        marked = dict(zip(runs["run"], outliers(runs["bytes_per_second"].to_list()), strict=True))
        rows.append(repeats.with_columns(is_outlier=pl.col("run").replace_strict(marked, return_dtype=pl.Boolean)))
    return pl.concat(rows).select(pl.col(name).cast(dtype) for name, dtype in POINTS_SCHEMA.items())


def _reach(points: pl.DataFrame, alone: dict[str, float]) -> list[float]:
    """Offsets for a curve: from the first point to the last, and all at which it has a corner."""
    low, high = real(points["dt"].min()), real(points["dt"].max())
    corners = {corner for corner in (-alone["B"], 0.0, alone["A"]) if low <= corner <= high}
    return sorted({*np.linspace(low, high, CURVE_POINTS).tolist(), *corners})


def _largest(frame: pl.DataFrame) -> dict[str, float]:
    return dict(frame.group_by("name").agg(pl.col("interference").max()).sort("name").iter_rows())
