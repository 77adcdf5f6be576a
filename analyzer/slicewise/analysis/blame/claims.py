"""Whether a job's loss is told, and how much of its runtime it is.

Numbers in, numbers out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from slicewise.analysis.blame.sources import Answered
from slicewise.kinds import SURE, Confidence

# Counting and placing times in slices is not better than this fraction of the I/O time.
LEAST_ERROR = 0.01
# A loss below this fraction of the I/O time is no loss that is told.
LEAST_LOSS = 0.02


@dataclass(frozen=True)
class Claim:
    """A loss of I/O time as one of runtime. less, more: how far below and above its value the I/O time may be. low,
    high: bounds of the runtime that was lost, s. factor: from I/O time of the mean process to runtime.
    """

    less: float
    more: float
    low: float
    high: float
    factor: float
    is_claimed: bool
    confidence: Confidence


def claim(
    known: Answered, io_seconds: float, io_lost: float, to_others: float, value: float, uneven: float
) -> Claim | None:
    """What is told; None where no source gives the job's time alone.

    io_seconds: of its slowest process in calls. io_lost: by the mean process; to_others: the part of that which
    neighbours can have caused. value, uneven: of `to_runtime.lost_runtime`.
    """
    if known.chosen is None or known.base is None or known.base.seconds is None:
        return None
    seconds, least, factor = known.base.seconds, LEAST_ERROR * io_seconds, 1.0
    less, more = (least + seconds.high - seconds.value, least + seconds.value - seconds.low)
    if io_lost > LEAST_ERROR * io_seconds:
        # The slowest process lost more than the mean one in so far as it has more to do. If the job fills the storage
        # alone, all of it waits for the same bytes; and if runs alone say how uneven its processes are then, what
        # company adds to that is its neighbours', too.
        is_known = known.chosen.source == "envelope" or known.chosen.uneven is not None
        factor = min(max(value, 0.0) / io_lost, math.inf if is_known else max(1.0, uneven))
    low, high = min(value, io_lost) - less, max(value, io_lost) + more
    is_claimed = low > 0 and value > LEAST_LOSS * io_seconds
    confidence = known.confidence
    if is_claimed and to_others < LEAST_LOSS * io_seconds and confidence in SURE:
        # Nobody did it: this is one more run alone, and how far such runs differ is not known as well as it seemed.
        confidence = "low"
    return Claim(less, more, low, high, factor, is_claimed, confidence)
