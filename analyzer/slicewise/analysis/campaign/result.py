"""All that a campaign shows of competition for a storage."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from slicewise.analysis.overlap.direction import Region, regions, uniformity
from slicewise.analysis.runs.campaign import ALONE, TOGETHER, Campaign, campaign, runs_that_stood_out
from slicewise.analysis.runs.on_storage import file_sharing
from slicewise.analysis.runs.rates import outliers
from slicewise.analysis.sharing.fitted_model import cross_check, fit_model, with_held_out
from slicewise.analysis.sharing.model import FittedModel
from slicewise.digest.digest import Digest
from slicewise.kinds import CampaignDirection
from slicewise.scalars import real, real_or_none, whole

# What files a job of one process shares does not matter.
ONE_PROCESS = "one process"

# One process first, for it belongs to both tables of the others.
FILES_FIRST = (pl.col("files") != ONE_PROCESS, pl.col("files"))

# Runs that are alike in these are repeats of one combination of jobs.
COMBINATION = ["files", "pair", "programs", "setting"]
OF_JOB = ("pair", "run", "job", "program", "processes", "nodes", "mounts", "start", "bytes")

RUNS_SCHEMA = pl.Schema(
    dict.fromkeys(("files", "own_files", "pair", "programs", "setting", "run", "job"), pl.String)
    | {"place": pl.Int64, "program": pl.String}
    | dict.fromkeys(("processes", "nodes", "mounts"), pl.Int64)
    | {"start": pl.Float64, "bytes": pl.Int64}
    | dict.fromkeys(("seconds", "overall", "overlap", "overlap_seconds"), pl.Float64)
    | {"region": pl.String, "process_rsd": pl.Float64, "run_process_rsd": pl.Float64, "stood_out": pl.Boolean}
)


def runs_of(data: Campaign) -> pl.DataFrame:
    """A row a job of a run (`RUNS_SCHEMA`), of one job alone and of several together. own_files: whether most bytes of
    the job are in files that several of its processes share; files: of the run's jobs, those of one process left out.
    programs: of all jobs; setting: their starts (to a second) and volumes (to 10 %), so that only repeats are alike.
    place: of a job among those of its run, by size. overall: bytes over the I/O time span. overlap: in the active
    overlapping region, that of every process or, where there is none, of any process (`region`); null where jobs never
    met in a slice. process_rsd: of the bytes of the job's processes there, run_process_rsd of those of all jobs'
    processes; alone, in its own region.
    """
    sharing = {digest.job: file_sharing(digest, data.direction, data.storage.point) for digest in data.digests}
    sharing |= dict.fromkeys(data.jobs.filter(pl.col("processes") == 1)["job"], ONE_PROCESS)
    late = runs_that_stood_out(data.jobs)
    rows = []
    every = data.activity.join(data.jobs.select("job", "run"), on="job", maintain_order="left")
    by_run = every.partition_by("run", as_dict=True)
    for (run,), table in data.jobs.group_by("run", maintain_order=True):
        jobs = table.sort("processes", "nodes", "mounts", "program", "job").to_dicts()
        told = sorted({sharing[job["job"]] for job in jobs} - {ONE_PROCESS})
        moved = by_run.get((run,), every.clear())
        met = regions(moved, {job["job"]: job["processes"] for job in jobs}, round(data.slice_seconds * 1e9))
        region = met.every_process or met.any_process
        processes, there = moved["process"].to_numpy(), _bytes_there(moved, region)
        evenness = _rsd_of_processes(processes, there)
        setting = "/".join(f"{job['start']:.0f} s {math.log(max(job['bytes'], 1)):.1f}" for job in jobs)
        for place, job in enumerate(jobs):
            own = (moved["job"] == job["job"]).to_numpy()
            rows.append(
                {name: job[name] for name in OF_JOB}
                | {
                    "programs": " + ".join(each["program"] for each in jobs),
                    "setting": setting,
                    "files": " and ".join(told) or ONE_PROCESS,
                    "own_files": sharing[job["job"]],
                    "place": place,
                    "seconds": job["seconds"],
                    "stood_out": run in late,
                }
                | {"overall": job["bytes"] / job["seconds"], "run_process_rsd": evenness}
                | _in_region(region, processes[own], there[own])
            )
    return _with_alone_outliers(pl.DataFrame(rows, schema=RUNS_SCHEMA))


def _bytes_there(moved: pl.DataFrame, region: Region | None) -> np.ndarray:
    """The bytes of each row that it moved in a region without holes: of all slices outside of it, 0."""
    if region is None:
        return np.zeros(len(moved), dtype=np.int64)
    slices = moved["slice"].to_numpy()
    return np.where((region.first_slice <= slices) & (slices < region.end_slice), moved["bytes"].to_numpy(), 0)


def _in_region(region: Region | None, processes: np.ndarray, there: np.ndarray) -> dict[str, object]:
    if region is None:
        return {}
    return {
        "overlap": int(there.sum()) / region.seconds,
        "overlap_seconds": region.seconds,
        "region": region.kind,
        "process_rsd": _rsd_of_processes(processes, there),
    }


def _rsd_of_processes(processes: np.ndarray, there: np.ndarray) -> float | None:
    """The relative standard deviation of processes' bytes in the region, over all processes that ever moved some.
    processes, there: of each row the process, and the bytes that it moved there. None if that is only one process, or
    if none moved any in the region.
    """
    _, first, which = np.unique(processes, return_index=True, return_inverse=True)
    sums = np.zeros(len(first), dtype=np.int64)
    np.add.at(sums, which, there)
    even = uniformity(sums[np.argsort(first)])
    return None if even is None or len(sums) == 1 else even.rsd


def _with_alone_outliers(runs: pl.DataFrame) -> pl.DataFrame:
    """Runs of one job that stood out by their throughput are marked as well."""
    found: set[str] = set()
    for _, repeats in runs.filter(ALONE).group_by("files", "program", "pair"):
        stood_out = outliers(repeats["overall"].to_list())
        found |= set(repeats.filter(pl.Series(stood_out, dtype=pl.Boolean))["run"])
    return runs.with_columns(stood_out=pl.col("stood_out") | pl.col("run").is_in(list(found)))


def alone_table(runs: pl.DataFrame) -> pl.DataFrame:
    """Tables 1 and 2: a row a size of job that ran alone: files, program, pair, processes, nodes, mounts, runs,
    dropped, overall, run_rsd, process_rsd, bytes, seconds, all_overall, all_run_rsd.
    """
    alone = runs.filter(ALONE).sort(*FILES_FIRST, "program", "processes", "nodes", "mounts")
    return _means(alone, ["files", "program", "pair", "processes", "nodes", "mounts"], "overall")


def together_table(runs: pl.DataFrame) -> pl.DataFrame:
    """Table 3: a row a job of a combination: `COMBINATION`, place, own_files, program, processes, nodes, mounts, runs,
    dropped, overall, overlap, run_rsd (of overlap), process_rsd, run_process_rsd, start, bytes, seconds,
    overlap_seconds, all_overall, all_overlap, all_run_rsd; overall_ratio and overlap_ratio: over the first job's;
    alone_seconds, slowdown: what the job's bytes take alone, where jobs of its size ran alone, and how many times as
    long it took.
    """
    sizes = pl.col("processes").over("run", mapping_strategy="join")
    together = runs.filter(TOGETHER).sort(
        *FILES_FIRST,
        sizes.list.len(),
        sizes.list.min(),
        sizes.list.max(),
        pl.col("nodes").sum().over("run"),
        pl.col("start").max().over("run").round(),
        *COMBINATION,
        "place",
    )
    size = ["program", "processes", "nodes", "mounts"]
    means = _means(together, [*COMBINATION, "place", "own_files", *size], "overlap")
    rates = alone_table(runs).select(*size, own_files="files", alone="overall")

    def over_first(column: str) -> pl.Expr:
        return pl.col(column) / pl.col(column).first().over(COMBINATION)

    return (
        means.join(rates, on=["own_files", *size], how="left", maintain_order="left")
        .with_columns(
            overall_ratio=over_first("overall"),
            overlap_ratio=over_first("overlap"),
            alone_seconds=pl.col("bytes") / pl.col("alone"),
        )
        .with_columns(slowdown=pl.col("seconds") / pl.col("alone_seconds"))
        .drop("alone")
    )


def _means(runs: pl.DataFrame, by: list[str], spread: str) -> pl.DataFrame:
    rows = []
    averaged = ("overall", "overlap", "process_rsd", "run_process_rsd", "start", "bytes", "seconds", "overlap_seconds")
    for key, table in runs.group_by(by, maintain_order=True):
        kept = table.filter(~pl.col("stood_out"))
        rows.append(
            dict(zip(by, key, strict=True))
            | {"runs": kept["run"].n_unique(), "dropped": table["run"].n_unique() - kept["run"].n_unique()}
            | {column: _mean(kept[column]) for column in averaged}
            | {"run_rsd": _rsd(kept[spread]), "all_run_rsd": _rsd(table[spread])}
            | {f"all_{column}": _mean(table[column]) for column in ("overall", "overlap")}
        )
    floats = [*averaged, "run_rsd", "all_run_rsd", "all_overall", "all_overlap"]
    schema = {name: runs.schema[name] for name in by} | {"runs": pl.Int64, "dropped": pl.Int64}
    return pl.DataFrame(rows, schema=pl.Schema(schema | dict.fromkeys(floats, pl.Float64)))


def _mean(values: pl.Series) -> float | None:
    return real_or_none(values.mean())


def _rsd(values: pl.Series) -> float | None:
    known = values.drop_nulls().to_numpy()
    return float(np.std(known) / np.mean(known)) if len(known) > 1 else None


FIGURES_SCHEMA = pl.Schema(
    dict.fromkeys(("group", "jobs", "runs"), pl.String)
    | dict.fromkeys(("count", "run_count", "not_predicted"), pl.Int64)
    | dict.fromkeys(
        ("mean", "largest", "bias", "within", "largest_outside", "warned"),
        pl.Float64,
    )
)
PAIRS, MORE = "pairs", "three jobs and more"
ALL_JOBS, AT_STAKE = "all", "share at stake"
ALL_RUNS, WITHOUT = "all", "without outliers"


def figures(checked: pl.DataFrame) -> pl.DataFrame:
    """`FIGURES_SCHEMA`: of pairs and of more jobs (`group`), of all and of those whose share is at stake (`jobs`), of
    all runs and without those that stood out (`runs`).

    count, run_count: jobs and runs that could be predicted. mean, largest: of |relative error|; bias: mean of the
    relative error, below 0 where predictions are too fast; within: the part whose observed time lies in its interval,
    null where there are no intervals; largest_outside: of |relative error| of the others; warned: the part of these
    that the model says do not follow it, by the time that was observed.
    """
    return figures_of(checked, {PAIRS: pl.len().over("run") == 2, MORE: pl.len().over("run") > 2})


def figures_of(checked: pl.DataFrame, groups: dict[str, pl.Expr]) -> pl.DataFrame:
    """`figures` of the rows in each of these groups."""
    rows = []
    for group, is_in in groups.items():
        chosen = checked.filter(is_in)
        for jobs, is_counted in ((ALL_JOBS, pl.lit(True)), (AT_STAKE, pl.col("is_at_stake").fill_null(False))):
            for runs, is_kept in ((ALL_RUNS, pl.lit(True)), (WITHOUT, ~pl.col("is_outlier"))):
                some = chosen.filter(is_counted & is_kept)
                if len(some):
                    rows.append({"group": group, "jobs": jobs, "runs": runs} | _figures_of(some))
    return pl.DataFrame(rows, schema=FIGURES_SCHEMA)


def by_combination(checked: pl.DataFrame) -> pl.DataFrame:
    """A row a combination of jobs, of all runs: pair, weight, runs, outliers, mean, largest, bias, within;
    largest_without: without those that stood out; at_stake_mean: of jobs whose share is at stake.
    """
    rows = []
    for (pair,), runs in checked.group_by("pair", maintain_order=True):
        of_all = _figures_of(runs)
        at_stake = _figures_of(runs.filter(pl.col("is_at_stake").fill_null(False)))
        kept = _figures_of(runs.filter(~pl.col("is_outlier")))
        weights = sorted({str(kind) for kind in runs["weight"].drop_nulls()})
        rows.append(
            {"pair": str(pair), "weight": " / ".join(weights), "runs": runs["run"].n_unique()}
            | {"outliers": runs.filter("is_outlier")["run"].n_unique(), "at_stake_mean": at_stake["mean"]}
            | {"largest_without": kept["largest"]}
            | {name: of_all[name] for name in ("mean", "largest", "bias", "within")}
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def _figures_of(checked: pl.DataFrame) -> dict[str, object]:
    known = checked.filter(pl.col("relative_error").is_not_null()).with_columns(
        off=pl.col("relative_error").abs(), is_within=pl.col("observed").is_between("low", "high")
    )
    outside = known.filter(~pl.col("is_within"))
    return {
        "count": len(known),
        "run_count": known["run"].n_unique(),
        "not_predicted": len(checked) - len(known),
        "mean": known["off"].mean(),
        "largest": known["off"].max(),
        "bias": known["relative_error"].mean(),
        "within": known["is_within"].mean() if (known["high"] > known["low"]).any() else None,
        "largest_outside": outside["off"].max(),
        "warned": outside["misfit"].is_not_null().mean() if len(outside) else None,
    }


@dataclass(frozen=True)
class Conditions:
    """On what ground the figures stand: counts, and the least and the most of what runs were like."""

    runs_alone: int
    runs_together: int
    most_jobs: int
    dropped: list[str]
    slice_seconds: float
    processes: tuple[int, int]
    nodes: tuple[int, int]
    seconds_alone: tuple[float, float] | None
    seconds_together: tuple[float, float] | None
    bytes: tuple[int, int]
    call_bytes: tuple[float, float]
    files: list[str]


@dataclass(frozen=True)
class CampaignResult:
    """runs, alone, together: see `runs_of`, `alone_table`, `together_table`. checked: every run of several jobs against
    a model that was fitted without its combination of jobs (`fitted_model.CHECK_SCHEMA`); figures, combinations: see
    `figures`. model: fitted to all of them.
    """

    data: Campaign
    conditions: Conditions
    runs: pl.DataFrame
    alone: pl.DataFrame
    together: pl.DataFrame
    model: FittedModel
    checked: pl.DataFrame
    figures: pl.DataFrame
    combinations: pl.DataFrame


def campaign_result(digests: Sequence[Digest], direction: CampaignDirection = "auto") -> CampaignResult:
    """What profiles of jobs that ran alone and together show. Raises UserError as `campaign` does."""
    return result_of(campaign(digests, direction))


def result_of(data: Campaign) -> CampaignResult:
    runs = runs_of(data)
    model, checked = fit_model(data.jobs, data.slices), cross_check(data.jobs, data.slices)
    return CampaignResult(
        data=data,
        conditions=_conditions(data, runs),
        runs=runs,
        alone=alone_table(runs),
        together=together_table(runs),
        model=with_held_out(model, checked),
        checked=checked,
        figures=figures(checked),
        combinations=by_combination(checked),
    )


def _conditions(data: Campaign, runs: pl.DataFrame) -> Conditions:
    """On what ground a campaign's figures stand. runs: of `runs_of`."""
    alone = runs.filter(ALONE)
    together = runs.filter(TOGETHER)
    calls = data.activity.group_by("job").agg(call=pl.col("bytes").sum() / pl.col("ops").sum().clip(1))
    return Conditions(
        runs_alone=alone["run"].n_unique(),
        runs_together=together["run"].n_unique(),
        most_jobs=whole(runs["place"].max()) + 1,
        dropped=runs.filter("stood_out")["run"].unique(maintain_order=True).to_list(),
        slice_seconds=data.slice_seconds,
        processes=_from_to(runs["processes"]),
        nodes=_from_to(runs["nodes"]),
        seconds_alone=_from_to_seconds(alone["seconds"]),
        seconds_together=_from_to_seconds(together["seconds"]),
        bytes=_from_to(runs["bytes"]),
        call_bytes=(real(calls["call"].min()), real(calls["call"].max())),
        files=runs["files"].unique().sort().to_list(),
    )


def _from_to(values: pl.Series) -> tuple[int, int]:
    return whole(values.min()), whole(values.max())


def _from_to_seconds(values: pl.Series) -> tuple[float, float] | None:
    return (real(values.min()), real(values.max())) if len(values) else None
