"""The model of sharing where a storage is several servers: each shares itself out, and a job ends with its last part.

A file lies on one server whole, as on GlusterFS without stripes, or on Lustre with one stripe. Profiles do not say on
which: the placement comes from whoever knows it (`getfattr -n trusted.glusterfs.pathinfo`, `lfs getstripe`).
docs/models.md says what the model takes for granted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from slicewise.analysis.job.io_span import io_span
from slicewise.analysis.runs.campaign import TOGETHER, Campaign, campaign_of, runs_that_stood_out
from slicewise.analysis.runs.matching import run_of
from slicewise.analysis.runs.on_storage import RunOnStorage, on_storage
from slicewise.analysis.sharing.fitted_model import CHECK_SCHEMA, check, fit_model, predict
from slicewise.analysis.sharing.model import FittedModel, ModelledRuntime, model_job
from slicewise.digest.activity import Direction
from slicewise.errors import UserError
from slicewise.text import words

# By a file's path: the name of the server that it lies on.
Placement = Mapping[str, str]
# Between a job's name and that of a server: in no name of a job.
AT = "\x1f"
COUNTED = ("bytes", "ops", "ns", "io_ns")


@dataclass(frozen=True)
class Parts:
    """jobs, slices, progress: those of `Campaign`, of parts: what a job did on one server. The parts that met at a
    server are a run. of: part, job, delay (of the part, s after the job's beginning), the job's run, pair and seconds.
    """

    jobs: pl.DataFrame
    slices: pl.DataFrame
    progress: pl.DataFrame
    of: pl.DataFrame


def by_server(data: Campaign, placement: Placement) -> Parts:
    """The parts of a campaign's jobs. Raises UserError for a process of which the placement knows no file."""
    key, grid_ns = data.storage.number, round(data.slice_seconds * 1e9)
    runs = [on_storage(run_of(digest), key, data.direction) for digest in data.digests]
    shares = {run.name: _shares(run, data.direction, placement) for run in runs}
    found, delays = [], list[tuple[str, str, float]]()
    for server in sorted({name for own in shares.values() for name in own["server"]}):
        parts = [(run, part) for run in runs if (part := _part(run, shares[run.name], server)) is not None]
        found.append((server, campaign_of([part for _, part in parts], key, data.direction, grid_ns, "by time")))
        for run, part in parts:
            assert run.span is not None
            assert part.span is not None
            delays.append((f"{run.name}{AT}{server}", run.name, (part.span.start_ns - run.span.start_ns) / 1e9))
    of = pl.DataFrame(delays, schema={"part": pl.String, "job": pl.String, "delay": pl.Float64}, orient="row")
    jobs, slices, progress = (  # with jobs and runs named after the server
        pl.concat(getattr(one, name).with_columns(pl.col("job", "run") + f"{AT}{server}") for server, one in found)
        for name in ("jobs", "slices", "progress")
    )
    return Parts(
        jobs,
        slices,
        progress,
        of.join(data.jobs.select("job", "run", "pair", "seconds"), on="job", maintain_order="left"),
    )


def _shares(run: RunOnStorage, direction: Direction, placement: Placement) -> pl.DataFrame:
    """process, server, share: the part of each process's bytes of files that the placement knows."""
    count = pl.col(f"{direction}_bytes")
    moved = pl.col("moved")
    files = run.run.digest.files.filter(count > 0).select("process", "path", moved=count)
    servers = pl.Series([placement.get(path) for path in files["path"]], dtype=pl.String)
    known = files.with_columns(server=servers).drop_nulls("server").group_by("process", "server")
    shares = known.agg(moved.sum()).with_columns(share=moved / moved.sum().over("process"))
    unknown = run.processes.join(shares, on="process", how="anti")
    if len(unknown):
        raise UserError(
            f"{run.run.digest.path}: the placement names no file of {words.count(len(unknown), 'process')} that moved "
            "bytes; give the server of each file"
        )
    return shares


def _part(run: RunOnStorage, shares: pl.DataFrame, server: str) -> RunOnStorage | None:
    """What a run did on a server; None where it was not there."""
    own = shares.filter(pl.col("server") == server).select("process", "share")
    rows = run.activity.join(own, on="process", how="inner", maintain_order="left")
    if rows.is_empty():
        return None
    moved = rows.with_columns((pl.col(COUNTED) * pl.col("share")).round().cast(pl.Int64)).drop("share")
    processes = run.processes.join(own, on="process", how="semi")
    return replace(run, processes=processes, activity=moved, span=io_span(moved, processes, run.run.digest.slice_ns))


def cross_check_by_server(parts: Parts, jobs: pl.DataFrame) -> pl.DataFrame:
    """`cross_check` of whole jobs, each by a model of a server fitted without its combination of jobs."""
    stood_out = runs_that_stood_out(jobs)
    rows = []
    for pair in jobs.filter(TOGETHER)["pair"].unique(maintain_order=True):
        own = parts.of.filter(pl.col("pair") == pair)
        is_own = pl.col("job").is_in(own["part"].to_list())
        model = fit_model(parts.jobs.filter(~is_own), parts.slices.filter(~is_own))
        if model.weight.chosen is None:
            continue
        found = _predicted(model, parts.jobs.filter(is_own))
        checked = check(model, parts.jobs.filter(is_own), parts.slices.filter(is_own), parts.progress)
        shown = {row["job"]: row for row in checked.iter_rows(named=True)}
        for _, ends in own.group_by("job", maintain_order=True):
            row = _of_job(ends, found, shown)
            known = {"weight": model.weight.chosen.kind, "basis": model.basis, "is_outlier": row["run"] in stood_out}
            rows.append(row | known)
    return pl.DataFrame(rows, schema=CHECK_SCHEMA)


def _predicted(model: FittedModel, jobs: pl.DataFrame) -> dict[str, ModelledRuntime]:
    found = dict[str, ModelledRuntime]()
    for _, rows in jobs.group_by("run", maintain_order=True):
        members = [model_job(model, row) for row in rows.iter_rows(named=True)]
        found |= {one.job: one for one in predict(model, members)}
    return found


def _of_job(parts: pl.DataFrame, found: dict[str, ModelledRuntime], shown: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A row of a job, by its part that ends last. found, shown: what is predicted of each part, and observed."""
    delays = dict(parts.select("part", "delay").iter_rows())
    last = max(delays, key=lambda part: found[part].t_co.value + delays[part])
    low = max(found[part].t_co.low + delay for part, delay in delays.items())
    high = max(found[part].t_co.high + delay for part, delay in delays.items())
    predicted, observed = found[last].t_co.value + delays[last], parts["seconds"][0]
    row = {"run": parts["run"][0], "pair": parts["pair"][0], "job": parts["job"][0], "observed": observed}
    row |= {"predicted": predicted, "low": low, "high": high, "relative_error": predicted / observed - 1}
    said = shown.get(last, {})
    warned = ("is_warned_halfway", "halfway_seconds")
    row |= {"is_at_stake": found[last].is_at_stake} | {name: said.get(name) for name in warned}
    if low <= observed <= high:
        return row
    shares = ("own_seconds", "own_share", "model_share", "capacity_ratio")
    # Nothing shows the share of a part that had its server to itself, or was as predicted.
    return row | {"misfit": said.get("misfit") or "no share law"} | {name: said.get(name) for name in shares}
