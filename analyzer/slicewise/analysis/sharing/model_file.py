"""A fitted model of sharing as a file: a small JSON object that carries where it came from."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from slicewise.analysis.capacity.by_clients import CapacityCurve, CostLine, CurvePoint
from slicewise.analysis.sharing.model import AloneRate, EndWait, FittedModel, HeldOut, Scatter
from slicewise.analysis.sharing.weights import WEIGHT_KINDS, Candidate, WeightFit, Weighting
from slicewise.errors import UserError
from slicewise.estimate import Estimate
from slicewise.text.safe_text import json_text

FORMAT = "slicewise study model 1"


def model_record(model: FittedModel) -> dict[str, Any]:
    """The model as what a file of it holds."""
    return {"format": FORMAT} | asdict(model)


def write_model(model: FittedModel, path: Path) -> None:
    """Write the model. Raises UserError where that cannot be."""
    try:
        path.write_text(json_text(model_record(model), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}; give another file to -o") from error


def read_model(path: Path) -> FittedModel:
    """Read a model that `slicewise study model fit` wrote. Raises UserError where there is none."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read: {error.strerror}; slicewise study model fit -o {path} makes one"
        ) from error
    except ValueError as error:
        raise UserError(f"{path}: is no fitted model; slicewise study model fit -o {path} makes one") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise UserError(f"{path}: is no fitted model of this version; slicewise study model fit -o {path} makes one")
    try:
        return _model(record)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{path}: is a damaged fitted model ({error}); slicewise study model fit makes a new one"
        ) from error


def _model(record: dict[str, Any]) -> FittedModel:
    weight = record["weight"]
    capacity = record["capacity"]
    if weight["chosen"] is not None and weight["chosen"]["kind"] not in WEIGHT_KINDS:
        raise ValueError(f"no weight {weight['chosen']['kind']}")
    return FittedModel(
        weight=WeightFit(
            **weight
            | {
                "chosen": weight["chosen"] and Weighting(**weight["chosen"]),
                "candidates": [Candidate(**candidate) for candidate in weight["candidates"]],
                "beta": _estimate(weight["beta"]),
            }
        ),
        capacity=capacity
        and CapacityCurve(
            capacity["by"],
            [CurvePoint(point["clients"], Estimate(**point["rate"]), point["runs"]) for point in capacity["points"]],
            capacity["held_out_error"],
            CostLine(**capacity["line"]) if capacity.get("line") else None,
            capacity.get("is_line", False),
        ),
        basis=record["basis"],
        process_demand=_estimate(record["process_demand"]),
        alone=[AloneRate(**rate | {"rate": _estimate(rate["rate"])}) for rate in record["alone"]],
        end_wait=EndWait(**record["end_wait"]) if record.get("end_wait") else None,
        scatter=Scatter(**record["scatter"]) if record.get("scatter") else None,
        held_out=record["held_out"] and HeldOut(**record["held_out"]),
        provenance=record["provenance"],
        disturbed=record.get("disturbed", []),
    )


def _estimate(record: dict[str, Any] | None) -> Estimate | None:
    return Estimate(**record) if record else None
