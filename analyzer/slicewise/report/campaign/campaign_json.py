"""A campaign as JSON, with the keys that docs/commands.md documents: rates in bytes/s, times in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slicewise.analysis.campaign.result import CampaignResult
from slicewise.analysis.sharing.model_file import model_record


def campaign_record(result: CampaignResult, page: Path | None) -> dict[str, Any]:
    """What `slicewise study campaign --json` prints."""
    return {
        "direction": result.data.direction,
        "storage": result.data.storage,
        "conditions": result.conditions,
        "alone": result.alone.to_dicts(),
        "together": result.together.to_dicts(),
        "runs": result.runs.to_dicts(),
        "model": {key: value for key, value in model_record(result.model).items() if key != "provenance"},
        "figures": result.figures.to_dicts(),
        "combinations": result.combinations.to_dicts(),
        "checked": result.checked.to_dicts(),
        "page": page,
    }
