"""When a job would have ended without one of its neighbours, by the model of sharing.

Frames in, estimates out. It stands beside the blame and is never added up: each neighbour's absence is counted as if
all the others stayed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from slicewise.analysis.sharing.proportional import SharingJob, share_out
from slicewise.constants import MOSTLY_ACTIVE
from slicewise.estimate import Estimate
from slicewise.scalars import zero_between

# The model holds if, with the weight that fits best, it has the job end within this part of its loss of when it did.
MOST_MISFIT = 0.10
WEIGHTS = (1e-3, 1e3)
# With several neighbours it does not know how much more those who stay would take: simulated jobs ended so much of
# their loss earlier or later than it says.
ERROR_OF_SEVERAL = 0.2


@dataclass(frozen=True)
class Load:
    """What somebody asks of a storage, in seconds of its time. start: s after the job's; cap: the most of the storage's
    time that it takes, 0 to 1. active: the share of the slices from its first to its last one in which it was active.
    cost: seconds of the job's runtime that are ascribed to it, if that is known.
    """

    seconds: float
    start: float
    cap: float
    active: float = 1.0
    cost: Estimate | None = None


def ends_without(span: float, lost: Estimate, io_alone: float, neighbours: Sequence[Load]) -> list[Estimate | str]:
    """For each neighbour: how long the job's I/O would have taken without it, in s from its first call to its last one;
    or why that is not known.

    By the model of sharing, if it has the job end when it did; else without what the neighbour cost it.
    """
    modelled = _by_model(span, lost, io_alone, neighbours)
    if not isinstance(modelled, str):
        return modelled
    return [_without_cost(span, lost, load, len(neighbours) > 1) or modelled for load in neighbours]


def _without_cost(span: float, lost: Estimate, load: Load, has_company: bool) -> Estimate | None:
    """The time without what a neighbour cost; None where that is not known to within the loss."""
    if load.cost is None or load.cost.value <= 0 or lost.value <= 0:
        return None
    error = max(load.cost.high - load.cost.value, load.cost.value - load.cost.low)
    error += ERROR_OF_SEVERAL * load.cost.value if has_company else 0.0
    if 2 * error > lost.value:
        return None
    value = span - load.cost.value
    return Estimate(value, value - error, value + error, "without what that neighbour cost, with all else unchanged")


def without_its_part(end: Estimate | None, not_its_seconds: float) -> Estimate | None:
    """The end without a neighbour that cost so many seconds less than `end` takes it for: whether they would all have
    stayed without it is not known.
    """
    if end is None or not_its_seconds <= 0:
        return end
    return Estimate(end.value + not_its_seconds, end.low, end.high + 2 * not_its_seconds, end.how)


def _by_model(span: float, lost: Estimate, io_alone: float, neighbours: Sequence[Load]) -> list[Estimate | str] | str:
    """The same by the model of sharing; why not, where it does not say it.

    span: that it took; lost: of it; io_alone: the time in calls alone. The job's weight against its neighbours is the
    one with which it ends when it did.
    """
    alone = span - lost.value
    cap = min(1.0, io_alone / alone) if alone > 0 else 0.0
    if cap <= 0 or lost.value <= 0:
        return "the job did not lose any time"
    if any(load.seconds <= 0 or load.cap <= 0 for load in neighbours):
        return "how much of the storage a neighbour took is not known"

    if len(neighbours) > 1 and any(load.active < MOSTLY_ACTIVE for load in neighbours):
        return "its neighbours paused, and the model cannot tell when they would have paused without each other"

    def end(weight: float, loads: Sequence[Load]) -> float:
        job = SharingJob("", io_alone, weight, cap, 0.0)
        others = [
            SharingJob(str(place), load.seconds, load.cap, load.cap, load.start) for place, load in enumerate(loads)
        ]
        return share_out(1.0, [job, *others]).jobs[0].t_co

    bounds = [math.log(weight) for weight in WEIGHTS]
    slowest, fastest = (end(weight, neighbours) for weight in WEIGHTS)
    allowed = MOST_MISFIT * lost.value
    if not fastest - allowed <= span <= slowest + allowed:
        return "the model of sharing cannot explain, with any weight, when the job ended"
    if fastest < span < slowest:
        weight = math.exp(zero_between(lambda log: end(math.exp(log), neighbours) - span, *bounds))
    else:
        weight = WEIGHTS[0] if span >= slowest else WEIGHTS[1]
    misfit = abs(end(weight, neighbours) - span)
    error = misfit + max(lost.high - lost.value, lost.value - lost.low) + 0.01 * io_alone
    if len(neighbours) > 1:
        error += ERROR_OF_SEVERAL * lost.value
    found: list[Estimate | str] = []
    for left_out in range(len(neighbours)):
        without = end(weight, [load for place, load in enumerate(neighbours) if place != left_out])
        found.append(
            Estimate(without, without - error, without + error, "by the model of sharing, with all else unchanged")
        )
    return found
