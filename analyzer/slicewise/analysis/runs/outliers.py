"""Repeats of one measurement that stand out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slicewise.constants import FEWEST_REPEATS

MOST_DEVIATIONS = 1.5
# A spread below this fraction of the mean is the same figure: dropping one of such repeats would only be arithmetic.
NO_SPREAD = 0.01


def outliers(values: Sequence[float]) -> list[bool]:
    """Which values lie more than 1.5 standard deviations (of the population) off their mean; looked at once (Kuo et
    al., section 2.4). Values within 1 % of each other have none.
    """
    found = np.asarray(values, dtype=np.float64)
    if len(found) < FEWEST_REPEATS:
        return [False] * len(found)
    deviation = float(found.std())
    if deviation <= NO_SPREAD * abs(float(found.mean())):
        return [False] * len(found)
    return [bool(is_far) for is_far in np.abs(found - found.mean()) > MOST_DEVIATIONS * deviation]
