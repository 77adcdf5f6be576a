"""Throughput of jobs alone and together, over runs and over processes: tables 1 to 3 of Kuo et al. (2013).

A campaign in, frames out; rates are bytes/s. A mean is over the runs without those that stood out among their repeats;
a column all_NAME is over all of them. RSD: relative standard deviation, that of the population over the mean; null of
one value.
"""

import math

import numpy as np
import polars as pl

from slicewise.analysis.overlap.region import Region, regions, uniformity
from slicewise.analysis.runs.campaign import ALONE, TOGETHER, Campaign, runs_that_stood_out
from slicewise.analysis.runs.on_storage import file_sharing
from slicewise.analysis.runs.rates import outliers
from slicewise.scalars import real

# What files a job of one process shares does not matter.
ONE_PROCESS = "one process"

# One process first, for it belongs to both tables of the others.
FILES_FIRST = (pl.col("files") != ONE_PROCESS, pl.col("files"))

# Runs that are alike in these are repeats of one combination of jobs.
COMBINATION = ["files", "pair", "programs", "setting"]
OF_JOB = ("pair", "run", "job", "program", "processes", "nodes", "mounts", "start", "bytes")

RUNS_SCHEMA = pl.Schema(
    {
        "files": pl.String,
        "own_files": pl.String,
        "pair": pl.String,
        "programs": pl.String,
        "setting": pl.String,
        "run": pl.String,
        "job": pl.String,
        "place": pl.Int64,
        "program": pl.String,
        "processes": pl.Int64,
        "nodes": pl.Int64,
        "mounts": pl.Int64,
        "start": pl.Float64,
        "bytes": pl.Int64,
        "seconds": pl.Float64,
        "overall": pl.Float64,
        "overlap": pl.Float64,
        "overlap_seconds": pl.Float64,
        "region": pl.String,
        "process_rsd": pl.Float64,
        "run_process_rsd": pl.Float64,
        "stood_out": pl.Boolean,
    }
)


def runs_of(data: Campaign) -> pl.DataFrame:
    """A row a job of a run (`RUNS_SCHEMA`), of one job alone and of several together.

    own_files: whether most bytes of the job are in files that several of its processes share; files: of the run's jobs,
    those of one process left out. programs: of all jobs; setting: their starts (to a second) and volumes (to 10 %), so
    that only repeats are alike. place: of a job among those of its run, by size. overall: bytes over the I/O time span.
    overlap: in the active overlapping region, that of every process or, where there is none, of any process (`region`);
    null where jobs never met in a slice. process_rsd: of the bytes of the job's processes there, run_process_rsd of
    those of all jobs' processes; alone, in its own region.
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
    """A job's figures, of its rows' processes and bytes in the region."""
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
    """Means over runs, and the RSD over runs of the column `spread`."""
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
    known = values.drop_nulls()
    return real(known.mean()) if len(known) else None


def _rsd(values: pl.Series) -> float | None:
    known = values.drop_nulls().to_numpy()
    return float(np.std(known) / np.mean(known)) if len(known) > 1 else None
