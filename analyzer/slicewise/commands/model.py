"""Predict and fit how jobs share a file system."""

import math
from pathlib import Path
from typing import Any, Literal

from slicewise.analysis.runs.campaign import Campaign, campaign
from slicewise.analysis.sharing import fitted_model as fitted
from slicewise.analysis.sharing.model import ModelJob, model_record, read_model, write_model
from slicewise.analysis.sharing.proportional import SharingJob, share_out
from slicewise.catalog.sources import read_digests
from slicewise.errors import UserError
from slicewise.kinds import CampaignDirection
from slicewise.profile.files import job_places
from slicewise.report.model import model_report as tables
from slicewise.report.model.model_report import answer
from slicewise.report.tables import for_terminal
from slicewise.terminal import job_options
from slicewise.terminal.output import write_answer
from slicewise.text.amounts import amount

PredictWeight = Literal["processes", "nodes", "given"]
JOB_KEYS = ("volume", "processes", "nodes", "start", "cap", "weight")
FITTED_KEYS = ("volume", "processes", "nodes", "mounts", "outstanding", "start", "cap")
# What the value of --weight asks of a job.
WEIGHT_KEYS: dict[PredictWeight, str] = {"processes": "processes", "nodes": "nodes", "given": "weight"}


def fit(profiles: list[Path], direction: CampaignDirection, output: Path | None) -> None:
    data = campaign(read_digests(job_places(profiles)), direction)
    model = fitted.fit_model(data.jobs, data.slices, _provenance(data))
    model = fitted.with_held_out(model, fitted.cross_check(data.jobs, data.slices))
    if output is not None:
        write_model(model, output)
    write_answer(lambda: model_record(model),
        [
            answer(model.weight),
            *tables.capacity_lines(model),
            "",
            for_terminal(tables.candidates_table(model.weight)),
            *(["", f"Fitted model: {output}        Next: slicewise study model predict --fitted {output} --job ..."]
              if output else []),
        ]
    )  # fmt: skip


def predict(job: list[str], capacity: str | None, weight: PredictWeight | None, model: Path | None) -> None:
    if model is not None:
        if capacity is not None or weight is not None:
            raise UserError(f"--fitted {model}: has capacity and weight; leave out --capacity and --weight")
        _predict_fitted(model, job)
        return
    if capacity is None:
        raise UserError("--capacity is missing; give one such as 100MiB/s, or a model by --fitted M")
    weight = weight or "processes"
    rate, has_unit = amount(capacity, "--capacity", is_rate=True)
    options = [job_options.job_option(text, JOB_KEYS, job_options.MODEL_FORM) for text in job]
    jobs = [_sharing_job(option, weight, has_unit) for option in options]
    job_options.require_names_of_their_own([sharing_job.job for sharing_job in jobs])
    try:
        schedule = share_out(rate, jobs)
    except ValueError as error:
        raise UserError(f"--capacity {capacity}: {error}") from error
    record = {"capacity": rate, "weight": weight, "jobs": schedule.jobs}
    write_answer(lambda: record, [for_terminal(tables.schedule_table(jobs, schedule))])


def _predict_fitted(path: Path, job: list[str]) -> None:
    known = read_model(path)
    jobs = [_model_job(job_options.job_option(text, FITTED_KEYS, job_options.FITTED_FORM)) for text in job]
    job_options.require_names_of_their_own([model_job.job for model_job in jobs])
    try:
        found = fitted.predict(known, jobs)
    except ValueError as error:
        raise UserError(f"--fitted {path}: {error}") from error
    doubtful = fitted.doubts(known, jobs, found)
    record = {"model": path, "weight": known.weight.chosen, "basis": known.basis, "jobs": found, "doubts": doubtful}
    table = for_terminal(tables.modelled_table(jobs, found))
    write_answer(lambda: record, [table, *(f"Doubtful: {why}." for why in doubtful)])


def _sharing_job(option: job_options.JobOption, weight: PredictWeight, has_unit: bool) -> SharingJob:
    key = WEIGHT_KEYS[weight]
    option.require("volume")
    option.require(key, f" (--weight {weight} goes by it)")
    for count in job_options.COUNTS:
        option.count(count)
    volume = option.amount_like_capacity("volume", has_unit, is_rate=False)
    cap = option.amount_like_capacity("cap", has_unit, is_rate=True) if "cap" in option.given else math.inf
    try:
        start = option.number("start", "0")
        return SharingJob(option.name, volume, option.number(key), cap, start)
    except ValueError as error:
        raise UserError(f"{option.option}: {error}") from error


def _model_job(option: job_options.JobOption) -> ModelJob:
    option.require("volume")
    option.require("processes")
    nodes = option.count("nodes") or 1
    amounts = {key: _bytes(option, key) for key in ("volume", "outstanding", "cap") if key in option.given}
    return ModelJob(
        option.name,
        amounts["volume"],
        option.count("processes") or 1,
        nodes,
        option.count("mounts") or nodes,
        amounts.get("outstanding"),
        option.number("start", "0"),
        amounts.get("cap"),
    )


def _bytes(option: job_options.JobOption, key: str) -> float:
    found, has_unit = option.amount(key, is_rate=key == "cap")
    if not has_unit or found <= 0:
        example = "80MiB/s" if key == "cap" else "16GiB"
        raise UserError(
            f"{option.option}: {key}={option.given[key]} must be more than 0, with a unit, such as {example}"
        )
    return found


def _provenance(data: Campaign) -> dict[str, Any]:
    return {
        "direction": data.direction,
        "storage": {"type": data.storage.type, "source": data.storage.source, "point": data.storage.point},
        "slice_seconds": data.slice_seconds,
        "jobs": data.jobs.select("run", "pair", "job", "processes", "nodes", "mounts", "bytes").to_dicts(),
        "profiles": [str(digest.path) for digest in data.digests],
    }
