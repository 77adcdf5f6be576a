"""Expectations as JSON, with the keys that docs/commands.md documents: GiB/s, kIOPS, seconds; shares as fractions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slicewise.analysis.expect.box import Point, hull
from slicewise.analysis.expect.expectation import Boxes, Expectation, RunBox
from slicewise.analysis.expect.place import Placed, PlacedWork, Position
from slicewise.report.expect import place_words


def expectation_record(found: Expectation, point: Point | None, page: Path | None) -> dict[str, Any]:
    """What `slicewise storage expect --json` prints."""
    first = found.first
    return {
        "benchmark": first.benchmark if first else None,
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


def places_record(found: Expectation, placed: Sequence[Placed], page: Path | None) -> dict[str, Any]:
    """What `slicewise storage place --json` prints: the keys of the box, and `jobs`."""
    return {**expectation_record(found, None, page), "jobs": [_placed(one) for one in placed]}


def _placed(placed: Placed) -> dict[str, Any]:
    seconds = (placed.start - placed.measured).total_seconds() if placed.measured else None
    return {
        "job": placed.job,
        "storage": placed.storage,
        "api": placed.api,
        "box_api": placed.boxes.api,
        "bandwidth": placed.whole.bandwidth,
        "metadata": placed.whole.metadata,
        "metadata_per_wall": placed.whole.metadata_per_wall,
        "is_inside": placed.is_inside,
        **_position(placed.position),
        "work": _work(placed.whole),
        "busiest_phase": (
            {**_work(placed.phase), **_position(placed.phase_position)}
            if placed.phase and placed.phase_position
            else None
        ),
        "one_direction": {"of": placed.direction.kind, **_position(placed.direction)} if placed.direction else None,
        "is_cached": placed.is_cached,
        "cache": placed.cache,
        "opens": placed.opens,
        "box_age_seconds": seconds,
        "others": placed.company,
        "is_news": placed.is_news,
        "verdict": place_words.verdict(placed),
    }


def _position(position: Position) -> dict[str, Any]:
    return {
        "is_point_inside": position.is_inside,
        "judged_by": list(position.sides),
        "sides": position.sides,
        "share_of_easy": position.share_of_easy,
        "held_back_by": position.held_back,
    }


def _work(work: PlacedWork) -> dict[str, Any]:
    return {
        "bandwidth": work.bandwidth,
        "metadata": work.metadata,
        "metadata_per_wall": work.metadata_per_wall,
        "seconds": work.seconds,
        "data_seconds": work.data_seconds,
        "metadata_seconds": work.metadata_seconds,
        "read_bytes": work.read_bytes,
        "write_bytes": work.write_bytes,
        "metadata_operations": work.operations,
    }


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
        "benchmark": boxes.benchmark,
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
