"""Expectations as JSON, with the keys that docs/commands.md documents: GiB/s, kIOPS, seconds; shares as fractions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slicewise.analysis.expect.box import Point, hull
from slicewise.analysis.expect.expectation import Boxes, Expectation, RunBox
from slicewise.report.expect import expect_words


def expectation_record(found: Expectation, point: Point | None, page: Path | None) -> dict[str, Any]:
    """What `slicewise expect box --json` prints."""
    first = found.first
    return {
        "benchmark": expect_words.said_benchmarks(found) or None,
        "api": first.api if first else None,
        "runs": [
            _run(run, boxes) for boxes in found.boxes if boxes.kind == "aggregate" for run in boxes.runs
        ],
        "union_area": first.union_area if first else 0.0,
        "hull_area": first.hull_area if first else 0.0,
        "settled_after": first.growth.settled_after if first else None,
        "boxes": [_boxes(boxes) for boxes in found.boxes],
        "point": _point(first, point) if point else None,
        "lagging": [
            {"who": who, "runs": sorted({lag.run for lag in lags}), "phases": sorted({lag.phase for lag in lags}),
             "slowness": max(lag.slowness for lag in lags)}
            for who, lags in found.lagging.items()
        ],
        "tails": found.tails,
        "percentiles": [
            {"of": place.name, "value": place.value, "percentile": place.below * 100, "results": place.of}
            for place in found.places
        ],
        "unreadable": found.results.unreadable,
        "page": str(page) if page else None,
    }  # fmt: skip


def _run(run: RunBox, boxes: Boxes) -> dict[str, Any]:
    return {
        "name": run.run.name,
        "path": str(run.run.directory),
        "api": boxes.api,
        "benchmark": run.run.benchmark,
        "start": run.run.start.isoformat() if run.run.start else None,
        "hard": list(run.box.hard),
        "easy": list(run.box.easy),
        "is_anomaly": run.is_anomaly,
        "why": run.why or None,
        "axes": run.box.anomalies,
        "laggards": run.laggards,
        "invalid_phases": run.run.invalid,
    }


def _boxes(boxes: Boxes) -> dict[str, Any]:
    around = hull(boxes.union)
    return {
        "api": boxes.api,
        "of": boxes.kind,
        "hard": list(around.hard) if around else None,
        "easy": list(around.easy) if around else None,
        "union_area": boxes.union_area,
        "hull_area": boxes.hull_area,
        "areas": boxes.growth.areas,
        "settled_after": boxes.growth.settled_after,
        "runs": [
            {"name": run.run.name, "hard": list(run.box.hard), "easy": list(run.box.easy),
             "is_anomaly": run.is_anomaly, "why": run.why or None}
            for run in boxes.runs
        ],
    }  # fmt: skip


def _point(boxes: Boxes | None, point: Point) -> dict[str, Any]:
    around = hull(boxes.union) if boxes else None
    within = boxes.within(point) if boxes else []
    return {
        "bandwidth": point[0],
        "metadata": point[1],
        "is_inside": bool(within),
        "is_in_hull": bool(around and around.holds(point)),
        "runs": within,
    }
