"""Boxes in the plane of bandwidth and metadata rate: their union, what it covers, and when it has stopped growing.

Numbers in, numbers out. The expectation is the union of the runs' boxes, which is not its hull: the hull is the one
rectangle around all of them. A point is (bandwidth, metadata rate).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Point = tuple[float, float]
Axis = Literal["bandwidth", "metadata"]
AXES: tuple[Axis, ...] = ("bandwidth", "metadata")

# A union has stopped growing after the first runs to which at least LATER_RUNS later ones add no more than LEAST_GROWTH
# of its area, all together.
LATER_RUNS = 3
LEAST_GROWTH = 0.05


@dataclass(frozen=True)
class Box:
    """From the rates of the hard phases to those of the easy ones. Where hard is better than easy, it is no box."""

    hard: Point
    easy: Point

    @property
    def anomalies(self) -> list[Axis]:
        """The axes on which hard is better than easy."""
        return [axis for axis, hard, easy in zip(AXES, self.hard, self.easy, strict=True) if hard > easy]

    def holds(self, point: Point) -> bool:
        """Whether a point lies in the box, its edges included."""
        return all(low <= value <= high for low, value, high in zip(self.hard, point, self.easy, strict=True))


def hull(boxes: Sequence[Box]) -> Box | None:
    """The smallest rectangle around all boxes."""
    if not boxes:
        return None
    hard, easy = zip(*((box.hard, box.easy) for box in boxes), strict=True)
    return Box(
        (min(point[0] for point in hard), min(point[1] for point in hard)),
        (max(point[0] for point in easy), max(point[1] for point in easy)),
    )


def area(box: Box | None) -> float:
    """The area of one box; 0 without one."""
    return (box.easy[0] - box.hard[0]) * (box.easy[1] - box.hard[1]) if box else 0.0


def union_area(boxes: Sequence[Box]) -> float:
    """The area that the boxes cover together."""
    return sum((right - left) * sum(high - low for low, high in covered) for left, right, covered in strips(boxes))


def strips(boxes: Sequence[Box]) -> list[tuple[float, float, list[Point]]]:
    """The union as upright strips, left to right: from, to, and the stretches of metadata rate that it covers there."""
    edges = sorted({edge for box in boxes for edge in (box.hard[0], box.easy[0])})
    found = []
    for left, right in pairwise(edges):
        inside = [(box.hard[1], box.easy[1]) for box in boxes if box.hard[0] <= left and right <= box.easy[0]]
        found.append((left, right, merged(inside)))
    return found


def merged(stretches: Sequence[Point]) -> list[Point]:
    """Stretches of a line without overlaps, in order."""
    found: list[Point] = []
    for low, high in sorted(stretches):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


@dataclass(frozen=True)
class Growth:
    """areas: that of the union after each run. settled_after: how many runs it took until it stopped growing; None: it
    still grows, or there are too few runs to tell. added: by what share of its area the last LATER_RUNS runs made it
    larger (None: there are not more runs than that).
    """

    areas: list[float]
    settled_after: int | None
    added: float | None


def growth(boxes: Sequence[Box]) -> Growth:
    """How the union grew from run to run."""
    areas = [union_area(boxes[: number + 1]) for number in range(len(boxes))]
    if len(areas) <= LATER_RUNS or areas[-1] <= 0:
        return Growth(areas, None, None)
    candidates = range(1, len(areas) - LATER_RUNS + 1)
    settled = next((runs for runs in candidates if areas[-1] - areas[runs - 1] <= LEAST_GROWTH * areas[-1]), None)
    return Growth(areas, settled, 1 - areas[-1 - LATER_RUNS] / areas[-1])
