"""Transfer sizes as JSON, with the keys that docs/commands.md documents: rates in MiB/s, times in seconds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from slicewise.analysis.size.points import Mean, SizePoint
from slicewise.analysis.size.recommend import Advice
from slicewise.analysis.size.size import CurveAdvice, SizeResult
from slicewise.report.size import size_words
from slicewise.text import words


def size_record(found: SizeResult, page: Path | None) -> dict[str, Any]:
    """What `slicewise storage size --json` prints."""
    return {
        "curves": [_curve(told) for told in found.advices],
        "own_size": found.own,
        "bounds": {
            "latency_below_seconds": found.bounds.latency,
            "bandwidth_above_mib_s": None if found.bounds.bandwidth is None else found.bounds.bandwidth / words.MIB,
        },
        "company": [
            {
                **asdict(effect.curve),
                "size": effect.size,
                "bandwidth_ratio": _mean(effect.bandwidth, 1.0),
                "latency_ratio": _mean(effect.latency, 1.0),
            }
            for effect in found.effects
        ],
        "predictions": {
            "features": found.predictions.features,
            "configurations": found.predictions.configurations,
            "folds": found.predictions.folds,
            "refused": found.predictions.refused or None,
            "models": [
                {
                    "model": model.model,
                    "target": model.target,
                    "rmse": model.rmse / (words.MIB if model.target == "bandwidth" else 1),
                }
                for model in found.predictions.models
            ],
        },
        "runs": found.points.height,
        "notes": size_words.notes(found),
        "page": str(page) if page else None,
    }


def _curve(told: CurveAdvice) -> dict[str, Any]:
    has_advice = len(told.curve.points) > 1
    return {
        **asdict(told.curve.curve),
        "points": [_point(point) for point in told.curve.points],
        "throughput": _advice(told.throughput) if has_advice else None,
        "latency": _advice(told.latency) if has_advice else None,
        "confidence": size_words.confidence(told),
    }


def _point(point: SizePoint) -> dict[str, Any]:
    return {
        "size": point.size,
        "runs": point.bandwidth.runs,
        "bandwidth": _mean(point.bandwidth, words.MIB),
        "latency": _mean(point.latency, 1.0),
        "latency_p99": point.latency_p99,
        "in_flight": point.in_flight,
        "law_ratio": point.little,
        "equation_1_seconds": point.equation_1,
    }


def _advice(advice: Advice | None) -> dict[str, Any] | None:
    if advice is None:
        return None
    return {
        "size": advice.point.size,
        "best_size": advice.best.size,
        "as_good": list(advice.as_good),
        "most_loss": advice.most_loss,
        "runs": advice.runs,
        "confidence": advice.confidence,
        "keeps_bounds_surely": advice.is_sure_of_bounds,
        "is_largest": advice.is_largest,
        "is_smallest": advice.is_smallest,
    }


def _mean(mean: Mean, unit: float) -> dict[str, Any]:
    """A mean of repeats with its interval; `low` and `high` are null where there was one run."""
    interval = mean.estimate
    return {
        "value": interval.value / unit, "low": interval.low / unit, "high": interval.high / unit, "how": interval.how
    }  # fmt: skip
