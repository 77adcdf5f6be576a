"""The model of sharing where a storage is several servers: each shares itself out, and a job ends with its last part.

Frames in (`runs.servers.Parts`), frames out. docs/models.md says what it takes for granted.
"""

from collections.abc import Iterable
from typing import Any

import polars as pl

from slicewise.analysis.runs.campaign import TOGETHER, runs_that_stood_out
from slicewise.analysis.runs.servers import Parts
from slicewise.analysis.sharing.fitted_model import CHECK_SCHEMA, check, fit_model, predict
from slicewise.analysis.sharing.model import FittedModel, ModelledRuntime, model_job


def model_of_a_server(parts: Parts) -> FittedModel:
    """The model of one server, from what all jobs did on each."""
    return fit_model(parts.jobs, parts.slices)


def cross_check_by_server(parts: Parts, jobs: pl.DataFrame) -> pl.DataFrame:
    """`fitted_model.cross_check` (`CHECK_SCHEMA`) of whole jobs: each by a model of a server that was fitted without
    any part of its combination of jobs. jobs: the campaign's (`campaign.JOBS_SCHEMA`).
    """
    stood_out = runs_that_stood_out(jobs)
    rows = []
    for pair in jobs.filter(TOGETHER)["pair"].unique(maintain_order=True):
        own = parts.of.filter(pl.col("pair") == pair)
        is_own = pl.col("job").is_in(own["part"].to_list())
        model = fit_model(parts.jobs.filter(~is_own), parts.slices.filter(~is_own))
        if model.weight.chosen is None:
            continue
        found = _predicted(model, parts.jobs.filter(is_own))
        checked = check(model, parts.jobs.filter(is_own), None, parts.slices.filter(is_own), parts.progress)
        shown = {row["job"]: row for row in checked.iter_rows(named=True)}
        for _, ends in own.group_by("job", maintain_order=True):
            row = _of_job(ends, found, shown)
            known = {"weight": model.weight.chosen.kind, "basis": model.basis, "is_outlier": row["run"] in stood_out}
            rows.append(row | known)
    return pl.DataFrame(rows, schema=CHECK_SCHEMA)


def _predicted(model: FittedModel, jobs: pl.DataFrame) -> dict[str, ModelledRuntime]:
    """How long each part takes beside the others at its server."""
    found = dict[str, ModelledRuntime]()
    for _, rows in jobs.group_by("run", maintain_order=True):
        members = [model_job(model, row) for row in rows.iter_rows(named=True)]
        found |= {one.job: one for one in predict(model, members)}
    return found


def _of_job(parts: pl.DataFrame, found: dict[str, ModelledRuntime], shown: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A row of a job, by its part that ends last. parts: its rows of `Parts.of`; found, shown: what is predicted of
    each part, and what its run shows.
    """
    delays = dict(parts.select("part", "delay").iter_rows())
    last = max(delays, key=lambda part: found[part].t_co.value + delays[part])
    low, high = (_latest(delays, found, end) for end in ("low", "high"))
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


def _latest(delays: dict[str, float], found: dict[str, ModelledRuntime], end: str) -> float:
    ends: Iterable[float] = (getattr(found[part].t_co, end) + delay for part, delay in delays.items())
    return max(ends)
